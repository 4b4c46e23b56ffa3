//! Snapshots of every output from every fixture, and what must hold for all of them.

use super::*;
use crate::render::comment::{COMMENT_LIMIT, characters};

#[test]
fn comments() {
    for (name, fixture) in fixtures::all() {
        let lever = lever_view(&fixture.input());
        let made = comment(&lever, &CommentOptions::default()).expect("renders");
        if let Some(dir) = std::env::var_os("ROUNDHOUSE_RENDER_OUT") {
            let dir = std::path::Path::new(&dir);
            std::fs::write(dir.join(format!("{name}.md")), &made.markdown).expect("writes");
        }
        insta::assert_snapshot!(format!("comment_{name}"), made.markdown);
    }
}
