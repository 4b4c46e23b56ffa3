//! Scenarios of commit messages.

use super::*;
use crate::config::parse;
use crate::model::Bar;

const CONFIG: &str = r#"
[campaign]
name = "mmq"
claims = ["spills * == 0"]
[toolchain]
cuda = "none"
[build]
command = "make"
outputs = ["engine"]
[[bench]]
name = "prefill"
command = "./engine"
value = { regex = '([0-9.]+) tok/s' }
unit = "tok/s"
better = "higher"
bar = "+1.5%"
[[bench]]
name = "prefill long"
command = "./engine --long"
value = { regex = '([0-9.]+) tok/s' }
unit = "tok/s"
better = "higher"
[[bench]]
name = "q_proj"
command = "./engine --q"
value = { regex = '([0-9.]+) ms' }
unit = "ms"
better = "lower"
bar = "<= 2.5 ms"
"#;

fn register(message: &str) -> Registration {
    let config = parse(CONFIG, "campaign.toml").expect("the config is right");
    from_commit(message, &config)
}

#[track_caller]
fn one_error(message: &str, parts: &[&str]) {
    let registration = register(message);
    assert_eq!(registration.errors.len(), 1, "{:?}", registration.errors);
    for part in parts {
        assert!(
            registration.errors[0].contains(part),
            "{:?}",
            registration.errors
        );
    }
}

#[test]
fn a_plain_commit_is_measured_with_the_bars_and_claims_of_the_file() {
    let registration = register("mmq: unroll twice\n\nBecause it may help.\n");
    assert_eq!(registration.lever, "mmq: unroll twice");
    assert_eq!(registration.round, None);
    assert_eq!(registration.kind, RoundKind::Lever);
    let bars: Vec<_> = registration
        .bars
        .iter()
        .map(|b| (b.bench.as_str(), b.text.as_str(), b.source))
        .collect();
    assert_eq!(
        bars,
        [
            ("prefill", "+1.5%", Source::File),
            ("q_proj", "<= 2.5 ms", Source::File)
        ]
    );
    assert_eq!(registration.claims[0].source, Source::File);
    assert_eq!(registration.errors, [] as [String; 0]);
}

#[test]
fn trailers_are_read_whole() {
    let registration = register(
        "mmq: region split\n\nWords.\n\nRound: r31\nLever: region-split\n  q-major d/ssum\n\
         hypothesis: fewer wavefronts\nBar: prefill >= 1350\nBAR: q_proj <= 2.1 ms\n\
         Claim: sass mmq_nb LDS.64 32 -> 0\nClaim: regs mmq_nb not above base\n\
         Retry-When: registers fall below 96\nRetry-When: a wider tile fits\nKind: lever\n\
         Identity: bytes\nSigned-off-by: A <a@example.org>\nCo-authored-by: B <b@example.org>\n\
         Change-Id: I1234\n",
    );
    assert_eq!(registration.errors, [] as [String; 0]);
    assert_eq!(registration.round.as_deref(), Some("r31"));
    assert_eq!(registration.lever, "region-split q-major d/ssum");
    assert_eq!(registration.hypothesis.as_deref(), Some("fewer wavefronts"));
    assert_eq!(registration.bars.len(), 2);
    assert_eq!(registration.bars[0].bar, Bar::Absolute { value: 1350.0 });
    assert_eq!(registration.bars[1].bar, Bar::Absolute { value: 2.1 });
    assert!(
        registration
            .bars
            .iter()
            .all(|bar| bar.source == Source::Trailer)
    );
    let claims: Vec<_> = registration
        .claims
        .iter()
        .map(|c| c.text.as_str())
        .collect();
    assert_eq!(
        claims,
        [
            "sass mmq_nb LDS.64 32 -> 0",
            "regs mmq_nb not above base",
            "spills * == 0"
        ]
    );
    assert_eq!(registration.retry_when.len(), 2);
}

#[test]
fn a_trailer_bar_makes_its_bench_the_only_target() {
    let registration = register("s\n\nBar: prefill +0.5%\n");
    assert_eq!(registration.bars.len(), 1);
    assert_eq!(registration.bars[0].text, "+0.5%");
}

#[test]
fn a_bench_may_have_blanks_in_its_name() {
    let registration = register("s\n\nBar: prefill long +2%\n");
    assert_eq!(registration.errors, [] as [String; 0]);
    assert_eq!(registration.bars[0].bench, "prefill long");
}

#[test]
fn trailers_of_a_squash_merge_count() {
    let registration = register(
        "Region split (#31)\n\n* mmq: naive\n\nWords: more words\n\nRound: r31\nBar: prefill +1%\n\n\
         * fix\n\nRound: r31\nBar: prefill +1.0 %\n\n---------\n\nCo-authored-by: B <b@example.org>\n",
    );
    assert_eq!(registration.errors, [] as [String; 0]);
    assert_eq!(registration.round.as_deref(), Some("r31"));
    assert_eq!(registration.bars.len(), 1);

    one_error(
        "Two rounds (#3)\n\nRound: r1\n\nmore\n\nRound: r2\n\nCo-authored-by: B <b@example.org>\n",
        &["`Round: r2`", "already `Round: r1`"],
    );
}

#[test]
fn slips_in_keys_are_errors_and_other_peoples_trailers_are_not() {
    for (key, meant) in [
        ("Bars", "Bar"),
        ("Claims", "Claim"),
        ("Hypotesis", "Hypothesis"),
        ("Rounds", "Round"),
        ("Retry_When", "Retry-When"),
        ("Retry", "Retry-When"),
        ("RetryWhen", "Retry-When"),
        ("Levers", "Lever"),
        ("Identiy", "Identity"),
        ("Kinds", "Kind"),
        ("Cliam", "Claim"),
    ] {
        one_error(
            &format!("s\n\n{key}: x\n"),
            &[&format!("did you mean `{meant}`?")],
        );
    }
    for key in [
        "Signed-off-by",
        "Co-authored-by",
        "Change-Id",
        "Reviewed-by",
        "Link",
        "Fixes",
        "Cc",
        "Bug",
        "Refs",
        "Level",
        "Tested",
        "Branch",
        "Issue",
        "Clang-Version",
        "Ran",
    ] {
        let registration = register(&format!("s\n\n{key}: x\n"));
        assert_eq!(registration.errors, [] as [String; 0], "{key}");
    }
}

#[test]
fn prose_is_not_taken_for_trailers() {
    for message in [
        "s\n\nRounds: three of them were run.\n\nMore words.\n",
        "s\n\nThe hypothesis: reads\nare slow.\n\nRound: r1\n",
        "s\n\nKind: of slow,\nthis one.\n\nRound: r1\n",
    ] {
        let registration = register(message);
        assert_eq!(registration.errors, [] as [String; 0], "{message}");
        assert_eq!(registration.kind, RoundKind::Lever);
    }
}

#[test]
fn a_bar_or_claim_amid_other_text_is_not_lost_in_silence() {
    one_error(
        "s\n\nHypothesis: reads\nare slow\nBar: prefill +1%\n",
        &["paragraph of their own"],
    );
    one_error(
        "s\n\nWe say\nClaim: spills * == 0\n\nRound: r1\n",
        &["`Claim: spills * == 0`"],
    );
}

#[test]
fn what_cannot_be_read_says_what_to_write() {
    for (trailer, parts) in [
        (
            "Bar: prefil >= 1350",
            &["no bench `prefil`", "did you mean `prefill`?"][..],
        ),
        ("Bar: decode +1%", &["no bench `decode`", "`q_proj`"]),
        ("Bar: prefill", &["names no bar"]),
        ("Bar: >= 1350", &["names no bench"]),
        ("Bar: prefill <= 1350", &["points the wrong way"]),
        ("Bar: prefill -1.5%", &["negative"]),
        ("Bar: q_proj <= 2100 us", &["is in `us`", "`ms`"]),
        ("Bar: prefill +0%", &["is zero"]),
        (
            "Claim: sass mmq LDS.64 = 0",
            &["`Claim: sass mmq LDS.64 = 0`", "column 17", "`==`"],
        ),
        ("Kind: measure", &["did you mean `measured`?"]),
        ("Identity: tolerance", &["not supported yet"]),
        ("Identity: hash", &["`bytes`"]),
        ("Round:", &["empty"]),
    ] {
        one_error(
            &format!("s\n\n{trailer}\nSigned-off-by: A <a@example.org>\n"),
            parts,
        );
    }
    one_error(
        "s\n\nBar: prefill +1%\nBar: prefill +2%\n",
        &["already has the bar `+1%`"],
    );
    one_error(
        "s\n\nKind: measured\nBar: prefill +1%\n",
        &["keep one of them"],
    );
    one_error(
        "s\n\nKind: measured\nKind: analysed\n",
        &["another `Kind:`"],
    );
}

#[test]
fn rounds_without_a_lever_have_no_bars() {
    for (word, kind) in [
        ("measured", RoundKind::Measured),
        ("Analysed", RoundKind::Analysed),
        ("analyzed", RoundKind::Analysed),
    ] {
        let registration = register(&format!("s\n\nKind: {word}\n"));
        assert_eq!(registration.kind, kind);
        assert_eq!(registration.bars, []);
    }
}

#[test]
fn the_hash_follows_the_meaning() {
    let a = register("s\n\nRound: r1\nBar: prefill +1%\n");
    let b = register("s\n\nother body\n\nBar: prefill +1%\nRound: r1\n");
    let c = register("s\n\nRound: r1\nBar: prefill +1.1%\n");
    assert_eq!(a.sha256(), b.sha256());
    assert_ne!(a.sha256(), c.sha256());
    assert_eq!(a.sha256().len(), 64);
}

#[test]
fn the_document_lists_exactly_the_trailers_that_are_read() {
    let document = include_str!("../../../docs/campaign-toml.md");
    let documented: Vec<&str> = document
        .lines()
        .filter_map(|line| {
            line.strip_prefix("| `")?
                .split('`')
                .next()?
                .strip_suffix(':')
        })
        .collect();
    assert_eq!(documented, KEYS);
}

proptest::proptest! {
    #[test]
    fn no_message_makes_it_panic(message in "((Bar|Claim|Round|Kind|Bars|x)?[:=<>+% \\-µ]{0,3}(prefill|q_proj|1.5)?\\PC{0,6}\n{0,2}){0,8}") {
        register(&message).sha256();
    }
}
