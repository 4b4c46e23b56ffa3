//! Snapshots of the summaries, and that they fit their width.

use super::*;
use crate::render::{compare_view, fixtures, lever_view};

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
