//! Runs that travel: exported from one database, imported into another.

use serde_json::Value;

use crate::scenario::{Outcome, Scenario};

/// A scenario with a faster head, measured once.
fn measured() -> Scenario {
    let scenario = Scenario::engine();
    scenario.edit("engine.c", "#define SPEED 100.0", "#define SPEED 110.0");
    scenario.commit("engine: faster\n\nLever: faster\nBar: speed +1%");
    scenario.run(&[]).expect_verdict("LANDED");
    scenario
}

fn export(from: &Scenario, run: &str, name: &str) -> String {
    let path = from.path(name).to_string_lossy().into_owned();
    from.runner(&["export", run, "--out", &path]).expect_code(0);
    path
}

fn import(to: &Scenario, file: &str) -> Outcome {
    to.runner(&["import", file])
}

/// Every row of every table, as text.
fn dump(scenario: &Scenario) -> String {
    scenario.database(
        "for (name,) in db.execute(\"select name from sqlite_schema where type = 'table' order by 1\").fetchall():\n    \
         print(name, db.execute(f'select * from {name}').fetchall())",
    )
}

/// Changes a table behind the triggers' back.
fn forge(scenario: &Scenario, table: &str, change: &str) {
    scenario.database(&format!(
        "for (name,) in db.execute(\"select name from sqlite_schema where type = 'trigger' and tbl_name = '{table}'\").fetchall():\n    \
         db.execute(f'drop trigger {{name}}')\n\
         db.execute(\"\"\"{change}\"\"\")"
    ));
}

#[test]
fn a_run_travels_whole_and_importing_it_twice_changes_nothing() {
    let here = measured();
    let there = Scenario::empty();
    let file = export(&here, "1", "a.tar.zst");
    import(&there, &file)
        .expect_code(0)
        .expect_text("run 1 is new here: campaign toy")
        .expect_text("judged again from its evidence: the same");
    let before = dump(&there);
    import(&there, &file)
        .expect_code(0)
        .expect_text("run 1 was here already: nothing changed");
    assert_eq!(before, dump(&there));
    // Nothing was lost or changed on the way: what comes out there is what went in, byte by byte.
    let again = export(&there, "1", "again.tar.zst");
    let bytes = |path: &str| std::fs::read(path).expect("a bundle");
    assert!(bytes(&file) == bytes(&again), "the bundles differ");

    there
        .runner(&["show", "1"])
        .expect_code(0)
        .expect_text("LANDED")
        .expect_text("from a bundle of runner");
    let shown = there.runner(&["show", "1", "--json"]).json();
    let own = here.runner(&["show", "1", "--json"]).json();
    assert_eq!(shown["imports"][0]["judged"], "same");
    assert_eq!(own["imports"], Value::Array(Vec::new()));
    assert_eq!(shown["judgement"], own["judgement"]);
    assert_eq!(shown["evidence"], own["evidence"]);
}

#[test]
fn an_imported_run_is_replayed_without_its_repository_and_its_binaries() {
    let here = measured();
    let there = Scenario::empty();
    let path = here.path("small.tar.zst").to_string_lossy().into_owned();
    here.runner(&["export", "1", "--without-binaries", "--out", &path])
        .expect_code(0)
        .expect_text("binaries were left out");
    import(&there, &path).expect_code(0);
    let replayed = there.runner(&["replay", "1", "--json"]).json();
    assert_eq!(
        replayed["comparison"]["outputs"]["outcome"], "SAME",
        "{replayed:#}"
    );
    // The whole bundle brings what the small one left out.
    let third = Scenario::empty();
    import(&third, &path).expect_code(0);
    let whole = export(&here, "1", "whole.tar.zst");
    import(&third, &whole)
        .expect_code(0)
        .expect_text("of artifact");
}

/// A bundle may claim any key for its builds: a file of its would be measured as if built here.
#[test]
fn an_imported_build_is_never_taken_for_one_that_was_made_here() {
    let scenario = measured();
    let file = export(&scenario, "1", "a.tar.zst");
    let folder = |name: &str| scenario.path(name).to_string_lossy().into_owned();
    let (data, cache) = (folder("other-data"), folder("other-cache"));
    let elsewhere = ["--data", &data, "--cache", &cache];
    scenario
        .runner(&[&elsewhere[..], &["import", &file]].concat())
        .expect_code(0);
    let run = scenario.run(&elsewhere).expect_verdict("LANDED");
    for side in ["base", "head"] {
        assert_eq!(run.at(&format!("/evidence/builds/{side}/cached")), false);
    }
    // What was built here is: the cache itself works in this place.
    let run = scenario.run(&elsewhere).expect_verdict("LANDED");
    assert_eq!(run.at("/evidence/builds/head/cached"), true);
}

#[test]
fn a_replay_finds_its_original_in_any_order() {
    let here = measured();
    here.runner(&["replay", "1"]);
    let there = Scenario::empty();
    let original = export(&here, "1", "original.tar.zst");
    let replay = export(&here, "2", "replay.tar.zst");
    import(&there, &replay)
        .expect_code(0)
        .expect_text("which is not here (yet)");
    there.runner(&["show", "--all"]).expect_text("1 (replay)");
    let lonely = dump(&there);
    import(&there, &replay).expect_text("nothing changed");
    assert_eq!(lonely, dump(&there));
    import(&there, &original)
        .expect_code(0)
        .expect_text("a replay that was here before has its original now");
    there
        .runner(&["show", "--all"])
        .expect_text("1 (replay of 2)");
    let after = dump(&there);
    import(&there, &replay).expect_text("nothing changed");
    import(&there, &original).expect_text("nothing changed");
    assert_eq!(after, dump(&there));
    // Given together, they come in the order of time.
    let third = Scenario::empty();
    third.runner(&["import", &replay, &original]).expect_code(0);
    third
        .runner(&["show", "--all"])
        .expect_text("2 (replay of 1)");
}

#[test]
fn what_was_added_later_is_added_and_the_newest_still_counts() {
    let here = measured();
    let there = Scenario::empty();
    import(&there, &export(&here, "1", "first.tar.zst")).expect_code(0);
    let decide = |on: &Scenario, how: &str, reason: &str| {
        on.runner(&["decide", "1", how, "--reason", reason, "--by", "A. Person"])
            .expect_code(0);
    };
    decide(&here, "--land", "it helps");
    decide(&there, "--revert", "later, and elsewhere");
    let second = export(&here, "1", "second.tar.zst");
    import(&there, &second)
        .expect_code(0)
        .expect_text("1 of decision")
        .expect_text("a later decision that was here still counts");
    let shown = there.runner(&["show", "1", "--json"]).json();
    assert_eq!(
        shown["evidence"]["decision"]["reason"],
        "later, and elsewhere"
    );
    let before = dump(&there);
    import(&there, &second).expect_text("nothing changed");
    assert_eq!(before, dump(&there));
    // And back where it was measured.
    import(&here, &export(&there, "1", "back.tar.zst"))
        .expect_code(0)
        .expect_text("run 1 was here; added:");
    let shown = here.runner(&["show", "1", "--json"]).json();
    assert_eq!(
        shown["evidence"]["decision"]["reason"],
        "later, and elsewhere"
    );
}

#[test]
fn another_content_under_the_same_uuid_is_refused_by_name() {
    let here = measured();
    let there = Scenario::empty();
    import(&there, &export(&here, "1", "true.tar.zst")).expect_code(0);
    forge(
        &here,
        "sample",
        "update sample set value = value + 1 where seq = 3",
    );
    let before = dump(&there);
    import(&there, &export(&here, "1", "forged.tar.zst"))
        .expect_code(2)
        .expect_text("its value is");
    assert_eq!(before, dump(&there));
    forge(&here, "sample", "delete from sample where seq = 3");
    import(&there, &export(&here, "1", "shorter.tar.zst"))
        .expect_code(2)
        .expect_text("rows of sample");
    assert_eq!(before, dump(&there));
}

#[test]
fn a_verdict_that_the_evidence_does_not_give_does_not_count() {
    let here = Scenario::engine();
    here.edit("engine.c", "#define SPEED 100.0", "#define SPEED 50.0");
    here.commit("engine: slower\n\nLever: slower\nBar: speed +1%");
    here.run(&[]).expect_verdict("REVERTED");
    forge(
        &here,
        "judgement",
        "update judgement set verdict = 'LANDED', json = json_set(json, '$.verdict', 'LANDED')",
    );
    let there = Scenario::empty();
    import(&there, &export(&here, "1", "forged.tar.zst"))
        .expect_code(0)
        .expect_text("NOT as the bundle says: it says LANDED, its evidence gives REVERTED");
    let shown = there.runner(&["show", "1", "--json"]).json();
    assert_eq!(shown["judgement"]["verdict"], "REVERTED");
    assert_eq!(shown["imports"][0]["judged"], "verdict-differs");
    let both = there
        .database("print([v for (v,) in db.execute('select verdict from judgement order by id')])");
    assert_eq!(both, "['LANDED', 'REVERTED']");
}

#[test]
fn what_contradicts_itself_is_refused_and_leaves_no_row() {
    let there = Scenario::empty();
    there.runner(&["import", "/dev/null"]).expect_code(2);
    let changes = [
        (
            "run",
            "update run set registration_sha256 = '0' || substr(registration_sha256, 2)",
            "registration",
        ),
        (
            "run",
            "update run set config_json = json_set(config_json, '$.campaign.name', 'x')",
            "is of another campaign",
        ),
        (
            "judgement",
            "update judgement set json = '{}'",
            "judgement cannot be read",
        ),
        (
            "judgement",
            "update judgement set verdict = 'BROKEN'",
            "a judgement's verdict is not",
        ),
        ("gate", "update gate set kind = 'no-such-gate'", "gate kind"),
        (
            "run_event",
            "update run_event set kind = 'note' where kind = 'ended'",
            "in progress",
        ),
        (
            "sample",
            "update sample set bench = 'a' || char(27) || 'b'",
            "is no name",
        ),
    ];
    let true_one = measured();
    for (n, (table, change, said)) in changes.into_iter().enumerate() {
        let data = true_one.path("data");
        let here = Scenario::empty();
        let copied = std::process::Command::new("cp")
            .arg("-r")
            .args([&data, &here.path("data")])
            .status();
        assert!(copied.expect("cp starts").success());
        forge(&here, table, change);
        let path = here.path("forged.tar.zst").to_string_lossy().into_owned();
        let exported = here.runner(&["export", "1", "--out", &path]);
        if exported.code != 0 {
            exported.expect_text(said);
            continue;
        }
        import(&there, &path).expect_code(2).expect_text(said);
        let rows = there.database("print(sum(db.execute(f'select count(*) from {t}').fetchone()[0] for (t,) in db.execute(\"select name from sqlite_schema where type = 'table' and name <> '_sqlx_migrations'\").fetchall()))");
        assert_eq!(rows, "0", "change {n}: {change}");
    }
}

/// What other parts of the record hang on a run: its place among attempts, a calibration's
/// profile, its machine's states.
#[test]
fn attempts_confirmations_and_noise_profiles_travel() {
    let here = crate::attempts::moody();
    here.runner(&["calibrate", "--pairs", "8", "--seed", "3"]);
    here.run(&[]).expect_verdict("REVERTED");
    here.speed("105.0");
    here.run(&[]).expect_verdict("LANDED");
    here.runner(&["confirm", "HEAD"]).expect_code(0);
    let folder = here.path("bundles");
    std::fs::create_dir(&folder).expect("a folder");
    let out = folder.to_string_lossy().into_owned();
    here.runner(&["export", "1", "2", "3", "4", "--out", &out])
        .expect_code(0);
    let files = std::fs::read_dir(&folder).expect("the folder").flatten();
    let files: Vec<String> = files
        .map(|file| file.path().to_string_lossy().into_owned())
        .collect();
    assert_eq!(files.len(), 4, "{files:?}");
    let there = Scenario::empty();
    let mut arguments = vec!["import"];
    arguments.extend(files.iter().map(String::as_str));
    there.runner(&arguments).expect_code(0);
    assert_eq!(here.index(), there.index());
    for table in [
        "confirmation",
        "noise_profile",
        "bench_plan",
        "sample_state",
        "sample_facts",
    ] {
        let rows = format!("print(db.execute('select * from {table} order by 1, 2').fetchall())");
        assert_eq!(here.database(&rows), there.database(&rows), "{table}");
    }
    let before = dump(&there);
    there.runner(&arguments).expect_code(0);
    assert_eq!(before, dump(&there));

    // Without the run that it confirms, a confirmation is kept, and has no effect.
    let alone = Scenario::empty();
    let last = export(&here, "4", "confirmation.tar.zst");
    import(&alone, &last)
        .expect_code(0)
        .expect_text("its confirmation refers to run")
        .expect_text("it is kept and has no effect");
    let before = dump(&alone);
    import(&alone, &last).expect_text("nothing changed");
    assert_eq!(before, dump(&alone));
    // From there it goes on to where that run is, and has its effect there.
    let again = export(&alone, "1", "again.tar.zst");
    let third = Scenario::empty();
    let earlier: Vec<String> = ["2", "3"]
        .into_iter()
        .map(|run| export(&here, run, &format!("{run}.tar.zst")))
        .collect();
    third
        .runner(&["import", &again, &earlier[1], &earlier[0]])
        .expect_code(0);
    let declared = "print(db.execute('select run_id, confirms from confirmation').fetchall())";
    assert_eq!(third.database(declared), "[(3, 1)]");
}

/// Kernels, reports, disassembly and claims are rows and contents like all others.
#[test]
fn compiled_kernels_travel() {
    let claims = "Claim: spills scale == 0\nClaim: unchanged scale\n";
    let here = crate::recorded::with_kernel(&[crate::recorded::FASTER], claims);
    here.run(&[]).expect_verdict("INCONCLUSIVE");
    let land = ["decide", "1", "--land", "--reason", "free", "--by", "P"];
    here.runner(&land).expect_code(0);
    let there = Scenario::empty();
    let file = export(&here, "1", "a.tar.zst");
    import(&there, &file)
        .expect_code(0)
        .expect_text("judged again from its evidence: the same");
    let again = export(&there, "1", "again.tar.zst");
    let bytes = |path: &str| std::fs::read(path).expect("a bundle");
    assert!(bytes(&file) == bytes(&again), "the bundles differ");
    for table in ["kernel", "build_listing", "claim", "decision"] {
        let rows = format!("print(db.execute('select count(*) from {table}').fetchone()[0])");
        assert_ne!(there.database(&rows), "0", "{table}");
        assert_eq!(here.database(&rows), there.database(&rows), "{table}");
    }
    there
        .runner(&["show", "1"])
        .expect_code(0)
        .expect_text("LANDED (sub-bar)");
}
