//! The faults of LESSONS that a round must rule out, each played on the whole program with a
//! real repository, a real compiler and a real database. The number is the lesson's.

use crate::scenario::{Run, Scenario};

const FASTER: (&str, &str) = ("#define SPEED 100.0", "#define SPEED 105.0");

fn with_head(message: &str, from: &str, to: &str) -> Scenario {
    let scenario = Scenario::engine();
    scenario.edit("engine.c", from, to);
    scenario.commit(message);
    scenario
}

#[test]
fn a_real_gain_lands_and_a_real_loss_does_not() {
    let scenario = with_head("engine: faster", FASTER.0, FASTER.1);
    let run = scenario.run(&[]).expect_verdict("LANDED");
    run.outcome.expect_code(0);

    let scenario = with_head("engine: slower", FASTER.0, "#define SPEED 95.0");
    let run = scenario.run(&[]).expect_verdict("REVERTED");
    run.outcome.expect_code(1);
}

#[test]
fn lesson_1_base_is_built_from_its_commit_not_taken_from_the_checkout() {
    let scenario = with_head("engine: faster", FASTER.0, FASTER.1);
    // A slow binary left over in the checkout, newer than its source.
    scenario.write("engine", "#!/bin/sh\necho 'speed: 1.0 tok/s'\n");
    let run = scenario.run(&[]).expect_verdict("LANDED");
    let base = run.at("/evidence/builds/base");
    assert_eq!(base["cached"], false);
    assert_eq!(base["outputs"][0]["path"], "engine");
    let sha = base["outputs"][0]["artifact"].as_str().expect("a hash");
    assert_eq!(sha.len(), 64);
    assert_ne!(run.at("/evidence/builds/head/outputs/0/artifact"), sha);
    let left = std::fs::read_to_string(scenario.repo().join("engine")).expect("the file");
    assert!(
        left.contains("1.0 tok/s"),
        "the user's checkout was touched"
    );
}

#[test]
fn lesson_2_each_side_is_the_commit_it_says() {
    let scenario = with_head("engine: faster", FASTER.0, FASTER.1);
    // The checkout stands on another branch, with uncommitted changes.
    scenario.git(&["checkout", "-q", "-b", "other", "HEAD~1"]);
    scenario.edit("engine.c", FASTER.0, "#define SPEED 1.0");
    let run = scenario
        .run(&["--base", "main~1", "--head", "main"])
        .expect_verdict("LANDED");
    for (side, name) in [("base", "main~1"), ("head", "main")] {
        let sha = run.at(&format!("/evidence/commits/{side}/sha"));
        assert_eq!(
            sha.as_str(),
            Some(scenario.git(&["rev-parse", name]).as_str())
        );
        let tree = run.at(&format!("/evidence/commits/{side}/tree"));
        let expected = scenario.git(&["rev-parse", &format!("{name}^{{tree}}")]);
        assert_eq!(tree.as_str(), Some(expected.as_str()));
    }
    let status = scenario.git(&["status", "--porcelain"]);
    assert_eq!(
        status.trim(),
        "M engine.c",
        "the user's checkout was touched"
    );
}

#[test]
fn lesson_3_base_is_measured_again_in_every_window_but_built_once() {
    let scenario = with_head("engine: faster", FASTER.0, FASTER.1);
    let first = scenario.run(&[]).expect_verdict("LANDED");
    let second = scenario.run(&[]).expect_verdict("LANDED");
    assert_eq!(first.at("/evidence/builds/base/cached"), false);
    assert_eq!(second.at("/evidence/builds/base/cached"), true);
    let base_values = |run: &Run| -> Vec<String> {
        let samples = run
            .at("/evidence/benches/0/samples")
            .as_array()
            .cloned()
            .expect("samples");
        let base = samples
            .iter()
            .filter(|s| s["side"] == "base" && s["role"] == "pair");
        base.map(|s| s["value"].to_string()).collect()
    };
    assert_eq!(base_values(&first).len(), 6);
    assert_eq!(base_values(&second).len(), 6);
    assert_ne!(
        base_values(&first),
        base_values(&second),
        "samples were reused"
    );
}

#[test]
fn lesson_7_poisoned_build_state_does_not_reach_the_build() {
    let scenario = with_head("engine: faster", FASTER.0, FASTER.1);
    // Ignored leftovers, a poisoned HOME and compiler settings in the environment.
    scenario.write(".git/info/exclude", "*.o\nbuild\n");
    scenario.write("build/CMakeCache.txt", "CMAKE_CUDA_COMPILER=/old/nvcc\n");
    std::fs::write(scenario.path("home/.profile"), "exit 3\n").expect("a file");
    let mut command = scenario.command();
    command
        .args(["run", "--json"])
        .env("CFLAGS", "-DSPEED=1")
        .env("MAKEFLAGS", "-n");
    command.env("CPATH", "/nonexistent").env("LD_PRELOAD", "");
    let output = command.output().expect("runner starts");
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a document");
    assert_eq!(document["judgement"]["verdict"], "LANDED", "{document:#}");
}

#[test]
fn lesson_12_a_crash_is_never_a_zero() {
    let crash = "#define SPEED (abort(), 1.0)";
    let scenario = with_head("engine: crashes", FASTER.0, crash);
    let run = scenario.run(&[]).expect_verdict("BROKEN");
    let samples = run
        .at("/evidence/benches/0/samples")
        .as_array()
        .cloned()
        .expect("samples");
    let head: Vec<_> = samples.iter().filter(|s| s["side"] == "head").collect();
    assert!(
        head.len() >= 2,
        "head is launched twice before it is called broken"
    );
    assert!(
        head.iter()
            .all(|s| s["value"].is_null() && s["failure"]["kind"] == "signal")
    );
    assert!(
        !run.outcome.text().contains("-100"),
        "{}",
        run.outcome.text()
    );

    // Base crashes too: the apparatus is at fault, not head.
    let scenario = Scenario::engine();
    scenario.edit("engine.c", FASTER.0, crash);
    scenario.commit("engine: crashes");
    scenario.edit("README.md", "toy", "small");
    scenario.edit("engine.c", "FIRST_TOKEN 7", "FIRST_TOKEN (3 + 4)");
    scenario.edit("engine.c", "return 2", "return 3");
    scenario.commit("engine: another exit status");
    scenario
        .run(&[])
        .expect_verdict("ENV-INVALID")
        .outcome
        .expect_code(3);
}

#[test]
fn lesson_12_a_head_that_does_not_compile_is_broken_with_the_first_error() {
    let scenario = with_head("engine: typo", "return 0;", "return zero;");
    let run = scenario.run(&[]).expect_verdict("BROKEN");
    assert!(run.reasons().contains("zero"), "{}", run.reasons());
    assert!(
        run.at("/evidence/benches")
            .as_array()
            .is_none_or(Vec::is_empty)
    );

    let scenario = Scenario::engine();
    scenario.edit("engine.c", "return 0;", "return zero;");
    scenario.commit("engine: typo");
    scenario.edit("engine.c", "return zero;", "return 0;");
    scenario.commit("engine: typo mended");
    let run = scenario.run(&[]).expect_verdict("ENV-INVALID");
    assert!(run.reasons().contains("base"), "{}", run.reasons());
}

#[test]
fn lesson_13_a_missing_figure_is_not_a_pass() {
    let scenario = with_head(
        "engine: says nothing",
        "printf(\"nmse %g\\n\", PARITY_ERROR)",
        "(void)0",
    );
    let run = scenario.run(&[]).expect_verdict("BROKEN");
    let gates = run.at("/evidence/gates").to_string();
    assert!(gates.contains("no-data"), "{gates}");
}

#[test]
fn lesson_14_two_empty_outputs_are_not_identical() {
    let scenario = Scenario::engine();
    scenario.edit("engine.c", "i < 32", "i < 0");
    scenario.commit("engine: no tokens");
    scenario.edit("engine.c", FASTER.0, FASTER.1);
    scenario.commit("engine: faster");
    let run = scenario.run(&[]);
    let verdict = run
        .at("/judgement/verdict")
        .as_str()
        .unwrap_or_default()
        .to_owned();
    assert!(
        ["BROKEN", "ENV-INVALID"].contains(&verdict.as_str()),
        "{verdict}"
    );
    assert!(run.reasons().contains("32"), "{}", run.reasons());
}

#[test]
fn a_changed_token_is_shown_with_its_place() {
    let scenario = with_head(
        "engine: other token",
        "FIRST_TOKEN + i",
        "FIRST_TOKEN + i + (i == 5)",
    );
    let run = scenario.run(&[]).expect_verdict("BROKEN");
    let gates = run.at("/evidence/gates").to_string();
    assert!(gates.contains("12") && gates.contains("13"), "{gates}");
}

#[test]
fn lesson_17_one_wild_base_sample_decides_nothing() {
    let scenario = Scenario::engine();
    // One launch in twelve or so is half as fast; decided by a counter that the test owns.
    let wild = "#define SPEED speed()\nstatic double speed(void) { FILE *f = fopen(getenv(\"COUNTER\"), \"a+\"); int n = 0; while (fgetc(f) != EOF) n++; fputc('x', f); fclose(f); return n == 3 ? 51.0 : 100.0; }";
    scenario.edit("engine.c", FASTER.0, "");
    scenario.edit(
        "engine.c",
        "static double noise",
        &format!("{wild}\nstatic double noise"),
    );
    let counter = scenario.path("counter");
    scenario.edit(
        "campaign.toml",
        "[protocol]",
        &format!(
            "[environment]\nset = {{ COUNTER = \"{}\" }}\n\n[protocol]",
            counter.display()
        ),
    );
    scenario.commit("engine: wild");
    scenario.edit("engine.c", "return 2", "return 3");
    scenario.commit("engine: another exit status");
    let run = scenario.run(&[]);
    let verdict = run
        .at("/judgement/verdict")
        .as_str()
        .unwrap_or_default()
        .to_owned();
    assert!(
        ["REVERTED", "INCONCLUSIVE"].contains(&verdict.as_str()),
        "{verdict}\n{}",
        run.outcome.text()
    );
}

#[test]
fn lesson_28_the_state_is_in_the_database_and_a_failed_run_does_not_block_the_next() {
    let scenario = Scenario::engine();
    scenario.edit(
        "Makefile",
        "engine: engine.c",
        "engine: engine.c $(if $(BREAK),missing)",
    );
    scenario.edit(
        "campaign.toml",
        "[protocol]",
        "[environment]\nallow = [\"BREAK\"]\n\n[protocol]",
    );
    scenario.commit("engine: breakable");
    scenario.edit("engine.c", FASTER.0, FASTER.1);
    scenario.commit("engine: faster");
    let output = scenario
        .command()
        .args(["run", "--json"])
        .env("BREAK", "1")
        .output()
        .expect("runs");
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a document");
    assert_eq!(
        document["judgement"]["verdict"], "ENV-INVALID",
        "{document:#}"
    );
    let run = scenario.run(&[]).expect_verdict("LANDED");
    assert_ne!(
        run.at("/run/id"),
        &document["run"]["id"],
        "the earlier record was overwritten"
    );
    let list = scenario.runner(&["show", "--json"]).expect_code(0);
    let list: serde_json::Value = serde_json::from_str(&list.stdout).expect("a document");
    assert_eq!(list["runs"].as_array().map(Vec::len), Some(2), "{list:#}");
}

#[test]
fn lesson_30_a_correction_keeps_what_it_corrects() {
    let scenario = with_head("engine: faster", FASTER.0, FASTER.1);
    let run = scenario.run(&[]).expect_verdict("LANDED");
    let id = run.at("/run/id").to_string();
    let reason = "the base binary was a debug build";
    scenario
        .runner(&[
            "correct",
            &id,
            "--field",
            "bench:speed:estimate",
            "--value",
            "3.1",
            "--reason",
            reason,
            "--by",
            "A Person",
        ])
        .expect_code(0);
    let shown = scenario.runner(&["show", &id]).expect_code(0).stdout;
    assert!(shown.contains("3.1") && shown.contains(reason), "{shown}");
    let again = scenario
        .runner(&["show", &id, "--json"])
        .expect_code(0)
        .stdout;
    let again: serde_json::Value = serde_json::from_str(&again).expect("a document");
    assert_eq!(
        again["judgement"]["benches"],
        *run.at("/judgement/benches"),
        "the old figure is gone"
    );
}

#[test]
fn lesson_32_documents_hold_finite_numbers_only() {
    for printed in ["nan", "inf", "0.0", "-3.0", "twelve"] {
        let from = "printf(\"speed: %.4f tok/s\\n\", SPEED * (1 + 0.004 * noise()))";
        let to = format!("(noise(), printf(\"speed: {printed} tok/s\\n\"))");
        let scenario = with_head("engine: odd value", from, &to);
        let run = scenario.run(&[]).expect_verdict("BROKEN");
        let text = &run.outcome.stdout;
        assert!(
            !text.contains("NaN") && !text.contains("Infinity"),
            "{printed}: {text}"
        );
    }
}

#[test]
fn a_value_in_another_unit_is_refused() {
    let scenario = with_head("engine: other unit", "%.4f tok/s", "%.4f s");
    let run = scenario.run(&[]).expect_verdict("BROKEN");
    assert!(
        run.at("/evidence/benches")
            .to_string()
            .contains("other-unit")
    );
}

#[test]
fn lesson_34_a_change_of_documents_costs_no_launch() {
    let scenario = with_head("engine: same", "return 0;", "return 0; /* as before */");
    scenario.edit("README.md", "toy", "small");
    scenario.commit("docs: a word");
    let run = scenario
        .run(&["--base", "HEAD~2"])
        .expect_verdict("NO CHANGE");
    assert!(
        run.at("/evidence/benches")
            .as_array()
            .is_none_or(Vec::is_empty)
    );
    assert!(
        run.at("/evidence/gates")
            .as_array()
            .is_none_or(Vec::is_empty)
    );
    run.outcome.expect_code(0);
}

#[test]
fn a_changed_file_that_a_command_reads_is_a_change() {
    let scenario = Scenario::engine();
    scenario.write("prompt.txt", "one\n");
    scenario.edit(
        "campaign.toml",
        "\"./engine\", \"bench\"",
        "\"./engine\", \"bench\", \"prompt.txt\"",
    );
    scenario.commit("bench: a prompt");
    scenario.write("prompt.txt", "two\n");
    scenario.commit("bench: another prompt");
    let run = scenario.run(&[]);
    assert_ne!(run.at("/judgement/verdict"), "NO CHANGE");
    assert_eq!(
        run.at("/evidence/code/runtime_files_changed/0"),
        "prompt.txt"
    );
}

#[test]
fn a_revert_is_verified_by_its_machine_code() {
    let scenario = with_head("engine: slower", FASTER.0, "#define SPEED 95.0");
    scenario.git(&["revert", "--no-edit", "HEAD"]);
    let run = scenario.run(&[]).expect_verdict("REVERTED");
    assert_eq!(run.at("/judgement/revert_verified"), true);
    assert!(
        run.at("/evidence/benches")
            .as_array()
            .is_none_or(Vec::is_empty),
        "it was measured"
    );

    // A "revert" that is none.
    let scenario = with_head("engine: slower", FASTER.0, "#define SPEED 95.0");
    scenario.git(&["revert", "--no-commit", "HEAD"]);
    scenario.edit("engine.c", "return 2", "return 3");
    let sha = scenario.git(&["rev-parse", "HEAD"]);
    scenario.commit(&format!(
        "Revert \"engine: slower\"\n\nThis reverts commit {sha}."
    ));
    let run = scenario.run(&[]);
    assert_eq!(run.at("/judgement/revert_verified"), false);
    assert_eq!(run.at("/judgement/verdict"), "LANDED", "{}", run.reasons());
}

#[test]
fn a_replay_from_the_record_alone_is_the_same() {
    let scenario = with_head("engine: faster", FASTER.0, FASTER.1);
    let run = scenario.run(&[]).expect_verdict("LANDED");
    let sha = run
        .at("/evidence/commits/head/sha")
        .as_str()
        .expect("a sha")
        .to_owned();
    // The repository is lost, and so is everything in the cache.
    std::fs::remove_dir_all(scenario.repo()).expect("removed");
    std::fs::remove_dir_all(scenario.path("cache")).expect("removed");
    std::fs::create_dir(scenario.repo()).expect("an empty folder");
    for more in [&[][..], &["--artifacts"]] {
        let args = [&["replay", &sha, "--json"], more].concat();
        let outcome = scenario.runner(&args);
        let document: serde_json::Value = serde_json::from_str(&outcome.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", outcome.text()));
        let comparison = &document["comparison"];
        assert_eq!(comparison["code"]["outcome"], "SAME", "{comparison:#}");
        assert_eq!(comparison["outputs"]["outcome"], "SAME", "{comparison:#}");
        assert_eq!(comparison["speed"]["outcome"], "SAME", "{comparison:#}");
        outcome.expect_code(0);
    }
    let list = scenario.runner(&["show"]).expect_code(0).stdout;
    assert!(list.contains("replay of 1"), "{list}");
}

#[test]
fn what_did_not_count_is_in_the_record() {
    let scenario = with_head("engine: faster", FASTER.0, FASTER.1);
    scenario.edit("campaign.toml", "bar = \"+1.5%\"", "bar = \"+0.1%\"");
    scenario.commit("campaign: a lower bar");
    scenario.edit("README.md", "toy", "small");
    let run = scenario.run(&[]);
    let notes = run.at("/evidence/notes").to_string();
    assert!(notes.contains("base's file counts"), "{notes}");
    assert!(notes.contains("1 file of the checkout"), "{notes}");
    assert_eq!(run.at("/evidence/registration/bars/0/bar/percent"), 1.5);
    assert!(
        run.reasons().contains("base's file counts"),
        "{}",
        run.reasons()
    );
}

#[test]
fn a_changed_file_that_may_be_read_is_no_no_change() {
    let scenario = Scenario::engine();
    scenario.write("weights.bin", "1");
    scenario.commit("engine: weights");
    scenario.write("weights.bin", "2");
    scenario.commit("engine: other weights");
    let run = scenario.run(&[]);
    assert_eq!(
        run.at("/evidence/code/runtime_files_changed/0"),
        "weights.bin"
    );
    assert_ne!(run.at("/judgement/verdict"), "NO CHANGE");
    assert!(run.reasons().contains("weights.bin"), "{}", run.reasons());
}

#[test]
fn a_round_without_a_lever_is_measured_or_analysed() {
    let scenario = Scenario::engine();
    scenario.commit("engine: where it stands\n\nRound: r1\nKind: measured");
    let run = scenario.run(&[]).expect_verdict("MEASURED");
    assert_eq!(run.at("/judgement/benches/0/pairs"), 6);

    scenario.commit("engine: what it waits for\n\nRound: r2\nKind: analysed");
    let run = scenario.run(&[]).expect_verdict("ANALYSED");
    assert!(
        run.at("/evidence/benches")
            .as_array()
            .is_none_or(Vec::is_empty)
    );
}

#[test]
fn a_later_round_is_replayed_when_the_repository_is_lost() {
    let scenario = with_head("engine: faster", FASTER.0, FASTER.1);
    scenario.write("notes.md", "kept from round to round\n");
    scenario.run(&[]).expect_verdict("LANDED");
    scenario.edit("engine.c", FASTER.1, "#define SPEED 110.0");
    scenario.commit("engine: faster still");
    let run = scenario.run(&[]).expect_verdict("LANDED");
    let id = run.at("/run/id").to_string();
    std::fs::remove_dir_all(scenario.repo()).expect("removed");
    std::fs::remove_dir_all(scenario.path("cache")).expect("removed");
    // Another repository is at hand, which has nothing to do with it.
    std::fs::create_dir(scenario.repo()).expect("a folder");
    scenario.git(&["init", "-q", "-b", "main"]);
    scenario.write("other.txt", "other\n");
    scenario.commit("other: a file");
    let outcome = scenario.runner(&["replay", &id]);
    assert!(
        outcome.stdout.contains("code     SAME"),
        "{}",
        outcome.text()
    );
    outcome.expect_code(0);
}

#[test]
fn trailers_that_cannot_be_read_are_an_error_and_no_round() {
    let scenario = with_head("engine: faster\n\nBars: speed +1%", FASTER.0, FASTER.1);
    let outcome = scenario.runner(&["run"]).expect_code(2);
    assert!(outcome.stderr.contains("Bars"), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("git commit --amend"),
        "{}",
        outcome.stderr
    );
    let list = scenario.runner(&["show", "--json"]);
    assert!(!list.stdout.contains("\"id\""), "{}", list.text());
    let check = scenario.runner(&["check"]);
    assert!(check.stdout.contains("trailers: HEAD"), "{}", check.text());
}

#[test]
fn trailers_between_base_and_head_are_named() {
    let scenario = with_head("engine: faster\n\nRound: r1", FASTER.0, FASTER.1);
    scenario.edit("engine.c", FASTER.1, "#define SPEED 106.0");
    scenario.commit("engine: faster still");
    let run = scenario.run(&["--base", "HEAD~2"]).expect_verdict("LANDED");
    let notes = run.at("/evidence/notes").to_string();
    assert!(notes.contains("do not count"), "{notes}");
}

#[test]
fn a_verified_revert_may_be_kept() {
    let scenario = with_head("engine: slower", FASTER.0, "#define SPEED 95.0");
    scenario.git(&["revert", "--no-edit", "HEAD"]);
    scenario
        .run(&[])
        .expect_verdict("REVERTED")
        .outcome
        .expect_code(0);
}
