//! Runs are named as people name them: number, commit, branch, a commit that was rewritten since;
//! and a base that was never a head says what it is.

use crate::scenario::Scenario;

#[test]
fn a_run_is_named_by_what_is_at_hand() {
    let scenario = Scenario::engine();
    let base = scenario.git(&["rev-parse", "HEAD"]);
    scenario.edit("engine.c", "#define SPEED 100.0", "#define SPEED 105.0");
    let head = scenario.commit("engine: faster");
    scenario.run(&[]).expect_verdict("LANDED");
    for name in ["1", "HEAD", "main", &head, &head[..8]] {
        let shown = scenario.runner(&["show", name]).expect_code(0);
        assert!(shown.stdout.contains("LANDED"), "{name}: {shown:?}");
        assert_eq!(shown.stderr, "", "{name}");
    }

    scenario.git(&["commit", "-q", "--amend", "-m", "engine: faster, reworded"]);
    let shown = scenario.runner(&["show", "HEAD"]).expect_code(0);
    assert!(shown.stdout.contains("LANDED"), "{shown:?}");
    assert!(shown.stderr.contains("found by tree"), "{shown:?}");

    for args in [
        &["show", &base][..],
        &["show", &base[..10]],
        &["show", "HEAD~1"],
        &["compare", &base, &head],
        &["compare", "1", "HEAD~1"],
    ] {
        let refused = scenario.runner(args).expect_code(2).stderr;
        assert!(
            refused.contains("is no run's head, but the base of run 1: engine"),
            "{args:?}: {refused}"
        );
        assert!(refused.contains("`runner show 1`"), "{refused}");
    }
    let unknown = scenario.runner(&["show", "nowhere"]).expect_code(2).stderr;
    assert!(
        unknown.contains("no recorded run fits `nowhere`"),
        "{unknown}"
    );
}

#[test]
fn collecting_works_with_the_folders_named() {
    let scenario = Scenario::engine();
    scenario.edit("engine.c", "#define SPEED 100.0", "#define SPEED 105.0");
    scenario.commit("engine: faster");
    scenario.run(&[]).expect_verdict("LANDED");
    let planned = scenario.runner(&["gc", "--dry-run"]).expect_code(0);
    assert_eq!(planned.stderr, "");
    scenario.runner(&["gc", "--built-trees"]).expect_code(0);
    scenario.runner(&["show", "1"]).expect_code(0);
}
