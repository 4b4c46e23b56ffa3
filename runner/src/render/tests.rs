//! Snapshots of every output from every fixture, and what must hold for all of them.

use super::*;
use crate::model::{Bar, GateEvidence, GateOutcome, Interval, LookReading};
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

/// Many gates that passed are one line; what did not pass stays in sight.
#[test]
fn comments_fold_many_gates_that_passed() {
    let mut fixture = fixtures::landed();
    let passed = fixture.evidence.gates[0].clone();
    let named = |name: &str, outcome: GateOutcome| GateEvidence {
        name: name.to_owned(),
        outcome,
        ..passed.clone()
    };
    let many = ["a", "b", "c", "d", "e"].map(|name| named(name, GateOutcome::Passed));
    let first = "nmse 2e-3".to_owned();
    fixture.evidence.gates = [
        many.to_vec(),
        vec![named("f", GateOutcome::Flaky { first })],
    ]
    .concat();
    let lever = lever_view(&fixture.input());
    let made = comment(&lever, &CommentOptions::default()).expect("renders");
    let begin = made.markdown.find("#### Gates").expect("gates");
    let end = made.markdown[begin..].find("</details>").expect("folded");
    insta::assert_snapshot!(
        "comment_part_many_gates",
        &made.markdown[begin..begin + end]
    );
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
    rounds.push(RoundRow::from_run(&landed.input()));
    rounds.push(RoundRow {
        run_id: "42".to_owned(),
        ..RoundRow::from_run(&fixtures::not_measured().input())
    });
    let drift = view::drift_views(&fixtures::drift::standings(), "1f0c2a9000");
    for (name, rounds, drift) in [
        ("rounds", rounds.as_slice(), &[][..]),
        ("empty", &[], &[]),
        ("drift", &rounds[..1], &drift),
    ] {
        let page = index_page(&IndexInput {
            campaign: "mmqr",
            title: "q4_K MMQ on GB10",
            rounds,
            drift,
            generated_at: fixtures::START,
        })
        .expect("renders");
        write_out(&format!("index_{name}.html"), &page);
        insta::assert_snapshot!(format!("index_{name}"), without_style(&page));
    }
}

/// Every output leads with what counts, marks it, and keeps the first figure beside it (lesson 30).
#[test]
fn lesson_30_a_correction_is_shown_everywhere_with_what_it_replaced() {
    let fixture = fixtures::corrected();
    let lever = lever_view(&fixture.input());
    assert_eq!(lever.verdict.word, "REVERTED");
    assert_eq!(lever.verdict.was, Some("LANDED"));
    assert_eq!(
        lever.headline_was.as_ref(),
        Some(&fixture.judgement.headline)
    );
    let judged = fixture.judgement.benches[0].effect.expect("an effect");
    let was = crate::numbers::percent(judged.estimate, None);
    let markdown = comment(&lever, &CommentOptions::default()).expect("renders");
    let own = RoundRow::from_run(&fixture.input());
    let index = index_page(&IndexInput {
        campaign: "mmqr",
        title: "q4_K MMQ on GB10",
        rounds: std::slice::from_ref(&own),
        drift: &[],
        generated_at: fixtures::START,
    })
    .expect("renders");
    let page = lever_page(&fixture.input()).expect("renders");
    let terminal = crate::term::show_summary(&lever, crate::term::Layout::plain(120));
    let list = crate::term::run_summary(&lever, crate::term::Layout::plain(80));
    for (name, text) in [
        ("comment", markdown.markdown.as_str()),
        ("index", without_style(&index)),
        ("page", without_style(&page)),
        ("show", &terminal),
        ("run", &list),
    ] {
        let reverted = text.find("REVERTED").expect("the verdict that counts");
        let landed = text.find("LANDED").expect("the verdict that was");
        assert!(reverted < landed, "{name} leads with the old verdict");
        assert!(text.contains("corrected, was LANDED"), "{name}: {text}");
        // What led to the judgement stands above, marked as judged.
        let text = text.split("Benches").last().unwrap_or(text);
        let estimate = text.find("+0.40").expect("the estimate that counts");
        let old = text.find(&was[1..5]).expect("the estimate that was");
        assert!(estimate < old, "{name} leads with the old estimate");
    }
    assert!(
        markdown
            .markdown
            .starts_with("### ↩️ REVERTED: corrected, was LANDED, by ada because")
    );
    assert!(terminal.contains("not judged"), "{terminal}");
    let tally = without_style(&index)
        .split("<h2>Rounds")
        .next()
        .expect("a head");
    assert!(tally.contains("No round has landed yet"), "{tally}");
    assert!(
        page.contains("the figures were corrected since"),
        "the plot says so"
    );
}

/// What a person decided to revert is not where the campaign stands.
#[test]
fn the_newest_landed_round_is_one_that_stays() {
    let mut rounds = fixtures::history();
    let landed = RoundRow::from_run(&fixtures::landed().input());
    let lead = |rounds: &[RoundRow]| {
        let page = index_page(&IndexInput {
            campaign: "mmqr",
            title: "q4_K MMQ on GB10",
            rounds,
            drift: &[],
            generated_at: fixtures::START,
        })
        .expect("renders");
        let lead = page.split("<p class=\"lead\">").nth(1).expect("a lead");
        lead.split("</p>").next().unwrap_or_default().to_owned()
    };
    rounds.push(landed);
    assert!(lead(&rounds).contains("lever/41.html"), "{}", lead(&rounds));
    let decide = |action| crate::model::Decision {
        action,
        reason: "it blocks r33".to_owned(),
        by: "ada".to_owned(),
        at: fixtures::START,
    };
    rounds[4].decision = Some(decide(crate::model::DecisionAction::Land));
    assert!(lead(&rounds).contains("lever/41.html"), "{}", lead(&rounds));
    rounds[4].decision = Some(decide(crate::model::DecisionAction::Revert));
    assert!(lead(&rounds).contains("lever/22.html"), "{}", lead(&rounds));
}

#[test]
fn a_page_leads_to_both_neighbours_and_to_the_other_attempts() {
    let fixture = fixtures::corrected();
    let page = lever_page(&fixture.input()).expect("renders");
    assert!(
        page.contains("<a rel=\"prev\" href=\"../lever/30.html\">"),
        "{page}"
    );
    assert!(!page.contains("rel=\"next\""), "44 is the same lever");
    assert!(
        page.contains("<a href=\"../lever/29.html\">run 29</a>, attempt 1"),
        "{page}"
    );
    assert!(page.contains(
        "Measured again since:</strong> <a href=\"../lever/44.html\">run 44</a>, attempt 3"
    ));
    let mut next = fixture;
    let other = |id: &str, registration: &str, row: &RoundRow| {
        let mut row = row.clone();
        row.run_id = id.to_owned();
        row.registered.registration = registration.to_owned();
        row
    };
    let row = other("43", "another", &next.previous[0]);
    next.later.insert(0, row);
    next.later.push(RoundRow {
        run_id: "45".to_owned(),
        ..next.later[0].clone()
    });
    let row = other("46", "a third", &next.previous[0]);
    next.later.push(row);
    let page = lever_page(&next.input()).expect("renders");
    assert!(
        page.contains("rel=\"prev\" href=\"../lever/30.html\""),
        "{page}"
    );
    assert!(
        page.contains("rel=\"next\" href=\"../lever/43.html\""),
        "{page}"
    );
    // The table of the comment has this run once, as its second attempt.
    let lever = lever_view(&next.input());
    let ids: Vec<&str> = lever
        .rounds
        .rows
        .iter()
        .map(|r| r.run_id.as_str())
        .collect();
    assert_eq!(ids, ["17", "22", "23", "30", "41"]);
    assert_eq!(lever.rounds.rows[4].attempt, 2);
    // A replay is no attempt and takes no place.
    let input = LeverInput {
        replay_of: Some("29".to_owned()),
        ..next.input()
    };
    let lever = lever_view(&input);
    assert_eq!((lever.attempt, lever.rounds.rows.len()), (1, 6));
}

#[test]
fn the_terminal_and_the_comment_show_what_matters_of_a_toolchain() {
    let lever = lever_view(&fixtures::landed().input());
    let terminal = crate::term::show_summary(&lever, crate::term::Layout::plain(120));
    let markdown = comment(&lever, &CommentOptions::default()).expect("renders");
    let page = lever_page(&fixtures::landed().input()).expect("renders");
    for shown in [
        "pinned 13.0",
        "bin/nvcc",
        "bin/nvdisasm",
        "bin/g++",
        "c0ffee00",
    ] {
        assert!(terminal.contains(shown), "{shown}: {terminal}");
        assert!(markdown.markdown.contains(shown), "{shown}");
    }
    for left in ["nvidia-cuda-nvcc", "ptxas", "bin/make"] {
        assert!(!terminal.contains(left), "{left}: {terminal}");
        assert!(!markdown.markdown.contains(left), "{left}");
        assert!(page.contains(left), "the page has all: {left}");
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

/// The looks of the sequential protocol are listed wherever a run is shown in full.
#[test]
fn looks_are_listed() {
    let mut fixture = fixtures::landed();
    let interval = |low, high, coverage| Interval {
        low,
        high,
        coverage,
    };
    let look = |pairs, real| LookReading {
        pairs,
        estimate: 4.88,
        real,
        close: interval(4.5, 5.25, 0.8125),
        is_real: real.is_some(),
    };
    fixture.judgement.benches[0].looks =
        vec![look(6, None), look(10, Some(interval(4.25, 5.5, 0.9941)))];
    let lever = lever_view(&fixture.input());
    let markdown = comment(&lever, &CommentOptions::default()).expect("renders");
    let page = lever_page(&fixture.input()).expect("renders");
    let terminal = crate::term::show_summary(&lever, crate::term::Layout::plain(160));
    for text in [&markdown.markdown, &page, &terminal] {
        let text = text.replace("&nbsp;", " ").replace('\\', "");
        for said in [
            "look 1 of 5",
            "look 2 of 5",
            "[+4.25, +5.50] (99.41 %)",
            "[+4.50, +5.25] (81.25 %)",
        ] {
            assert!(text.contains(said), "{said}: {text}");
        }
    }
    let json = json::run_document(&lever).expect("serialises");
    assert!(json.contains("\"name\": \"look 2 of 5\""));
    fixture.judgement.benches[0].looks.clear();
    let page = lever_page(&fixture.input()).expect("renders");
    assert!(!page.contains("Looks of the"), "a fixed protocol has none");
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
            json::campaign_document(&lever.rounds, &[]).expect("serialises"),
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
    let on_base = |(i, mut row): (usize, RoundRow)| {
        row.registered.base_tree = format!("{i:040x}").parse().expect("forty digits");
        row
    };
    let rows = (0..50).flat_map(|_| fixtures::history());
    fixture.previous = rows.enumerate().map(on_base).collect();
    let lever = lever_view(&fixture.input());
    assert_eq!((lever.rounds.rows.len(), lever.rounds.earlier), (21, 180));
    assert!(lever.rounds.rows[20].current);
    let made = comment(&lever, &CommentOptions::default()).expect("renders");
    assert!(
        made.markdown
            .contains("Earlier rounds, 180 of them, are in the campaign's index")
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
