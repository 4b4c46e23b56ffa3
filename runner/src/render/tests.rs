//! Snapshots of every output from every fixture, and what must hold for all of them.

use super::*;
use crate::model::Bar;
use crate::render::comment::{COMMENT_LIMIT, characters};

#[test]
fn comments() {
    for (name, fixture) in fixtures::all() {
        let lever = lever_view(&fixture.input());
        let made = comment(&lever, &CommentOptions::default()).expect("renders");
        write_out(&format!("{name}.md"), &made.markdown);
        insta::assert_snapshot!(format!("comment_{name}"), made.markdown);
    }
}

#[test]
fn lever_pages() {
    for (name, fixture) in fixtures::all() {
        let page = lever_page(&fixture.input()).expect("renders");
        write_out(&format!("lever_{name}.html"), &page);
        // The page of 300 kernels shows nothing that the others do not.
        if name != "many_kernels" {
            insta::assert_snapshot!(format!("lever_{name}"), without_style(&page));
        }
    }
}

#[test]
fn index_pages() {
    let landed = fixtures::landed();
    let mut rounds = fixtures::history();
    rounds.push(RoundRow::from_run(
        "41",
        fixtures::START,
        &landed.evidence,
        &landed.judgement,
    ));
    let not_measured = fixtures::not_measured();
    let (evidence, judgement) = (&not_measured.evidence, &not_measured.judgement);
    rounds.push(RoundRow::from_run(
        "42",
        fixtures::START,
        evidence,
        judgement,
    ));
    for (name, rounds) in [("rounds", rounds.as_slice()), ("empty", &[])] {
        let page = index_page(&IndexInput {
            campaign: "mmqr",
            title: "q4_K MMQ on GB10",
            rounds,
            generated_at: fixtures::START,
        })
        .expect("renders");
        write_out(&format!("index_{name}.html"), &page);
        insta::assert_snapshot!(format!("index_{name}"), without_style(&page));
    }
}

/// The sentence of the judge and the table of the outputs show the same figures.
#[test]
fn headlines_and_tables_agree() {
    let mut absolute = fixtures::landed();
    absolute.evidence.registration.bars[0].bar = Bar::Absolute { value: 1320.0 };
    for fixture in [fixtures::landed(), absolute] {
        let judgement = crate::judge::judge(&fixture.evidence);
        let said: Vec<&str> = judgement.reasons.iter().map(|r| r.text.as_str()).collect();
        let said = said.join("\n");
        let input = LeverInput {
            judgement: &judgement,
            ..fixture.input()
        };
        let lever = lever_view(&input);
        let measured: Vec<_> = lever
            .benches
            .iter()
            .filter(|b| b.effect.is_some())
            .collect();
        assert!(!measured.is_empty());
        for bench in measured {
            let effect = bench.effect.as_ref().expect("filtered");
            let shown = format!("{} {} {}", bench.name, effect.estimate, effect.interval);
            assert!(said.contains(&shown), "{shown} is not in {said}");
            for bar in [&bench.bar, &effect.bar].into_iter().flatten() {
                assert!(said.contains(bar.as_str()), "{bar} is not in {said}");
            }
        }
    }
}

/// A run that ended before measuring began misses nothing.
#[test]
fn nothing_is_missing_where_nothing_was_measured() {
    for (name, fixture) in fixtures::all() {
        let lever = lever_view(&fixture.input());
        let measured = fixture
            .evidence
            .benches
            .iter()
            .any(|b| !b.samples.is_empty());
        assert_eq!(lever.not_measured.is_none(), measured, "{name}");
        let markdown = comment(&lever, &CommentOptions::default()).expect("renders");
        let markdown = markdown.markdown;
        assert_eq!(
            markdown.contains("**Benches not measured:** prefill"),
            !measured
        );
        let page = lever_page(&fixture.input()).expect("renders");
        let page = without_style(&page);
        assert_eq!(page.contains("Not measured: prefill"), !measured, "{name}");
        if !measured {
            for text in [markdown.as_str(), page] {
                assert!(
                    !text.contains("0 of 0") && !text.contains(" missing"),
                    "{name}: {text}"
                );
            }
        }
    }
}

#[test]
fn documents() {
    for (name, fixture) in fixtures::all() {
        let text = json::run_document(&lever_view(&fixture.input())).expect("serialises");
        if matches!(name, "missing_samples" | "broken_build") {
            insta::assert_snapshot!(format!("json_{name}"), text);
        }
    }
}

#[test]
fn lesson_32_no_number_that_is_not_finite_gets_out() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut fixture = fixtures::flaky_parity();
        for bench in &mut fixture.judgement.benches {
            bench.base_median = Some(bad);
            bench.head_median = Some(bad);
            bench.bar_percent = Some(bad);
            bench.bar = Some(crate::model::Bar::Absolute { value: bad });
            let (estimate, low, high) = (bad, bad, bad);
            bench.effect = Some(crate::model::Effect {
                estimate,
                low,
                high,
                coverage: bad,
                min: bad,
                max: bad,
            });
        }
        for sample in fixture
            .evidence
            .benches
            .iter_mut()
            .flat_map(|b| &mut b.samples)
        {
            sample.value = Some(bad);
            sample.wall_ms = bad;
        }
        fixture.evidence.gates[0].figures[0].max = bad;
        fixture.previous[0].benches[0].estimate = Some(bad);
        fixture.previous[1].benches[0].interval = Some((bad, bad));
        let lever = lever_view(&fixture.input());
        let compare = compare_view(&lever, &lever, None, &[]);
        let texts = [
            json::run_document(&lever).expect("serialises"),
            json::compare_document(&compare).expect("serialises"),
            json::campaign_document(&lever.rounds).expect("serialises"),
            comment(&lever, &CommentOptions::default())
                .expect("renders")
                .markdown,
            lever_page(&fixture.input()).expect("renders"),
        ];
        for text in &texts[..3] {
            let parsed: serde_json::Value = serde_json::from_str(text).expect("is JSON");
            assert_eq!(parsed["schema"], 1);
        }
        let estimate = serde_json::from_str::<serde_json::Value>(&texts[0]).expect("is JSON");
        assert!(estimate["benches"][0]["raw"]["estimate"].is_null());
        for text in texts {
            for word in ["NaN", "Infinity", " inf", "[inf", "+inf", "-inf", ">inf"] {
                assert!(!text.contains(word), "{word} in {text}");
            }
        }
    }
}

#[test]
fn the_comment_stays_within_the_limit_and_says_what_is_missing() {
    let lever = lever_view(&fixtures::many_kernels().input());
    let whole = comment(
        &lever,
        &CommentOptions {
            limit: usize::MAX,
            record_link: None,
        },
    )
    .expect("renders");
    assert!(
        characters(&whole.markdown) > COMMENT_LIMIT,
        "the fixture is large enough"
    );
    assert!(whole.dropped.is_empty());
    for limit in [COMMENT_LIMIT, 30_000, 6_000, 2_000] {
        let link = Some("https://example.org/lever/41.html".to_owned());
        let made = comment(
            &lever,
            &CommentOptions {
                limit,
                record_link: link,
            },
        )
        .expect("renders");
        assert!(
            characters(&made.markdown) <= limit,
            "{} > {limit}",
            characters(&made.markdown)
        );
        assert!(made.markdown.starts_with("### ✅ LANDED: "));
        for title in &made.dropped {
            assert!(made.markdown.contains(title), "{title} is named");
        }
        assert!(
            made.markdown
                .contains("[whole record](https://example.org/lever/41.html)")
        );
    }
}

#[test]
fn a_huge_hostile_record_still_makes_a_comment() {
    let mut fixture = fixtures::broken_build();
    let long = "<b>`|@x\n".repeat(20_000);
    fixture.judgement.headline.clone_from(&long);
    fixture.evidence.registration.lever.clone_from(&long);
    for reason in &mut fixture.judgement.reasons {
        reason.text.clone_from(&long);
    }
    if let Some(build) = &mut fixture.evidence.builds.head {
        build.first_error = Some(long);
    }
    let made = comment(&lever_view(&fixture.input()), &CommentOptions::default()).expect("renders");
    assert!(
        characters(&made.markdown) <= COMMENT_LIMIT,
        "{}",
        characters(&made.markdown)
    );
}

#[test]
fn a_long_campaign_shows_its_latest_rounds_and_counts_the_rest() {
    let mut fixture = fixtures::landed();
    fixture.previous = (0..50).flat_map(|_| fixtures::history()).collect();
    let lever = lever_view(&fixture.input());
    assert_eq!((lever.rounds.rows.len(), lever.rounds.earlier), (21, 180));
    assert!(lever.rounds.rows[20].current);
    let made = comment(&lever, &CommentOptions::default()).expect("renders");
    assert!(
        made.markdown
            .contains("180 earlier rounds are in the campaign's index")
    );
    assert!(made.dropped.is_empty());
}

#[test]
fn pages_load_nothing_and_run_nothing() {
    for (name, fixture) in fixtures::all() {
        let page = lever_page(&fixture.input()).expect("renders");
        for word in [
            "<script",
            "<img",
            "<link rel=\"stylesheet",
            "@import",
            "url(",
            "src=\"http",
            "<iframe",
            " onerror=\"",
        ] {
            assert!(!page.contains(word), "{name}: {word}");
        }
    }
}

#[test]
fn every_verdict_has_its_own_word_and_a_mark_beside_its_colour() {
    use crate::model::Verdict::*;
    let all = [
        Landed,
        LandedSubBar,
        Reverted,
        Inconclusive,
        NoChange,
        NotExercised,
        NotComparable,
        Broken,
        EnvInvalid,
        NotMeasured,
        Measured,
        Analysed,
    ];
    let mut words = std::collections::BTreeSet::new();
    for verdict in all {
        let view = view::VerdictView::from(verdict);
        assert!(words.insert(view.word));
        assert!(!view.symbol.trim().is_empty() && !view.icon.trim().is_empty());
    }
}

fn without_style(page: &str) -> &str {
    page.split_once("</style>").expect("a style sheet").1
}

/// Keeps a rendered file for the eye, where `ROUNDHOUSE_RENDER_OUT` names a folder.
fn write_out(name: &str, text: &str) {
    if let Some(dir) = std::env::var_os("ROUNDHOUSE_RENDER_OUT") {
        std::fs::write(std::path::Path::new(&dir).join(name), text).expect("writes");
    }
}
