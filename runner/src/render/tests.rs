//! Snapshots of every output from every fixture, and what must hold for all of them.

use super::*;
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
        let body = page.split("</style>").nth(1).expect("a body");
        insta::assert_snapshot!(format!("lever_{name}"), body);
    }
}

#[test]
fn index_pages() {
    let landed = fixtures::landed();
    let mut rounds = fixtures::history();
    rounds.push(RoundRow::from_run("41", fixtures::START, &landed.evidence, &landed.judgement));
    let not_measured = fixtures::not_measured();
    rounds.push(RoundRow::from_run("42", fixtures::START, &not_measured.evidence, &not_measured.judgement));
    for (name, rounds) in [("rounds", rounds.as_slice()), ("empty", &[])] {
        let input = IndexInput { campaign: "mmqr", title: "q4_K MMQ on GB10", rounds, generated_at: fixtures::START };
        let page = index_page(&input).expect("renders");
        write_out(&format!("index_{name}.html"), &page);
        let body = page.split("</style>").nth(1).expect("a body");
        insta::assert_snapshot!(format!("index_{name}"), body);
    }
}

/// Keeps a rendered file for the eye, where `ROUNDHOUSE_RENDER_OUT` names a folder.
fn write_out(name: &str, text: &str) {
    if let Some(dir) = std::env::var_os("ROUNDHOUSE_RENDER_OUT") {
        std::fs::write(std::path::Path::new(&dir).join(name), text).expect("writes");
    }
}
