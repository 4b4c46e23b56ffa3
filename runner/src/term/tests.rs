//! Snapshots of the summaries, and that they fit their width.

use super::*;
use crate::bisect::{Comparison, Ending, Report, Said};
use crate::model::Effect;
use crate::record::RunId;
use crate::render::{compare_view, fixtures, lever_view, view};

#[test]
fn run_summaries() {
    for (name, fixture) in fixtures::all() {
        let lever = lever_view(&fixture.input());
        insta::assert_snapshot!(
            format!("run_{name}"),
            run_summary(&lever, Layout::plain(80))
        );
    }
}

#[test]
fn show_and_compare() {
    let (a, b) = (fixtures::missing_samples(), fixtures::landed());
    let mut b = b;
    b.machine[2].1 = "590.10".to_owned();
    let (a, b) = (lever_view(&a.input()), lever_view(&b.input()));
    insta::assert_snapshot!("show", show_summary(&a, Layout::plain(100)));
    let watched = lever_view(&fixtures::watched().input());
    insta::assert_snapshot!("show_watched", show_summary(&watched, Layout::plain(100)));
    let delta = fixtures::landed().evidence.code.map(|c| c.delta);
    let compare = compare_view(&a, &b, delta.as_ref(), &[]);
    insta::assert_snapshot!("compare", compare_summary(&compare, Layout::plain(80)));
}

#[test]
fn narrow_terminals_lose_columns_not_figures() {
    let lever = lever_view(&fixtures::landed().input());
    let text = run_summary(&lever, Layout::plain(60));
    assert!(text.contains("[+1.95, +2.63]"), "{text}");
    insta::assert_snapshot!("run_landed_narrow", text);
}

#[test]
fn every_summary_fits_eighty_columns() {
    for (name, fixture) in fixtures::all() {
        let lever = lever_view(&fixture.input());
        let text = run_summary(&lever, Layout::plain(80));
        for line in text.lines().filter(|line| !line.contains("xxxxxxxx")) {
            assert!(line.chars().count() <= 80, "{name}: {line}");
        }
    }
}

#[test]
fn no_terminal_sequence_of_a_hostile_text_gets_through() {
    let mut fixture = fixtures::broken_build();
    fixture.evidence.registration.lever = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m".to_owned();
    let lever = lever_view(&fixture.input());
    for text in [
        run_summary(&lever, Layout::plain(80)),
        show_summary(&lever, Layout::plain(80)),
    ] {
        assert!(
            text.chars().all(|c| c == '\n' || !c.is_control()),
            "{text:?}"
        );
        assert!(!text.contains('\u{202e}'));
    }
}

#[test]
fn anchors_and_bisections() {
    let views = view::drift_views(&fixtures::drift::standings(), "1f0c2a9000");
    let text = anchor_summary(&views, Layout::plain(80));
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    insta::assert_snapshot!("anchor", text);
    for (name, ending) in [
        ("found", Ending::Found { commit: 3 }),
        ("one_of", Ending::OneOf { first: 2, last: 3 }),
        ("not_slower", Ending::NotSlower),
    ] {
        let report = bisected(ending);
        let text = bisect_summary(&report, Layout::plain(80));
        assert!(
            text.chars().all(|c| c == '\n' || !c.is_control()),
            "{text:?}"
        );
        insta::assert_snapshot!(format!("bisect_{name}"), text);
    }
}

/// Four commits after good, of which the third does not build and the fourth is slower.
fn bisected(ending: Ending) -> Report {
    let passed = fixtures::drift::standings()[0].points[3].passed.clone();
    let comparison = |commit, run, said, effect: Option<f64>| Comparison {
        commit,
        run: Some(RunId(run)),
        said,
        effect: effect.map(|estimate| Effect {
            estimate,
            low: estimate - 0.2,
            high: estimate + 0.2,
            coverage: 0.99,
            min: estimate - 0.4,
            max: estimate + 0.4,
        }),
        pairs: if effect.is_some() { 10 } else { 0 },
        is_reused: run == 1,
    };
    let broken = Said::Untestable {
        reason: "head does not build, base does: \u{1b}[2J".to_owned(),
    };
    let mut commits = passed;
    commits[3].subject = "mmq: \u{1b}[2Ja subject that is longer than what a line of a terminal \
                          can hold, by far"
        .to_owned();
    Report {
        bench: "prefill".to_owned(),
        allowed_loss: None,
        good: commits[0].sha.clone(),
        commits,
        comparisons: vec![
            comparison(3, 1, Said::Slower, Some(-2.1)),
            comparison(1, 2, Said::NotSlower, Some(0.1)),
            comparison(2, 3, broken, None),
        ],
        ending,
    }
}
