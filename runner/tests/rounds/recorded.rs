//! What is done with recorded runs afterwards: decisions, corrections, collection, repair.

use std::process::Command;

use crate::scenario::Scenario;

pub(crate) const FASTER: (&str, &str, &str) = ("engine.c", "SPEED 100.0", "SPEED 105.0");
const SLOWER: (&str, &str, &str) = ("engine.c", "SPEED 105.0", "SPEED 95.0");

/// The engine with a kernel beside it, which the claims are about; everything runs on the CPU.
pub(crate) fn with_kernel(head_edits: &[(&str, &str, &str)], trailers: &str) -> Scenario {
    let scenario = Scenario::engine();
    scenario.write(
        "kernel.cu",
        "__global__ void scale(float *x, float by) { x[threadIdx.x] *= by; }\n",
    );
    scenario.edit(
        "Makefile",
        "engine: engine.c\n",
        "all: engine kernel.cubin\n\
         kernel.cubin: kernel.cu\n\tnvcc -arch=$(CUDA_ARCH) -cubin -o $@ kernel.cu\n\
         engine: engine.c\n",
    );
    for (from, to) in [
        (
            "cuda = \"none\"",
            "cuda = \"13.0\"\narch = [\"sm_121\"]\n\n[device]\nkind = \"cpu\"",
        ),
        ("make engine", "make all"),
        ("[\"engine\"]", "[\"engine\", \"kernel.cubin\"]"),
        ("bar = \"+1.5%\"", "bar = \"+20%\""),
    ] {
        scenario.edit("campaign.toml", from, to);
    }
    scenario.commit("engine: with a kernel");
    for (file, from, to) in head_edits {
        scenario.edit(file, from, to);
    }
    scenario.commit(&format!("engine: faster\n\n{trailers}"));
    // The toolchain of the user's cache, so that it is fetched once for all tests.
    let home = std::env::var_os("HOME").expect("HOME is set");
    let shared = std::env::var_os("ROUNDHOUSE_CACHE").map_or_else(
        || std::path::Path::new(&home).join(".cache/roundhouse"),
        std::path::PathBuf::from,
    );
    let toolchains = shared.join("toolchains");
    std::fs::create_dir_all(&toolchains).expect("a folder");
    std::fs::create_dir_all(scenario.path("cache")).expect("a folder");
    std::os::unix::fs::symlink(toolchains, scenario.path("cache/toolchains")).expect("a link");
    scenario
}

#[test]
fn a_real_effect_below_the_bar_lands_by_claims_ledger_and_a_decision() {
    let claims = "Claim: spills scale == 0\nClaim: unchanged scale\n";
    let scenario = with_kernel(&[FASTER], claims);
    let run = scenario.run(&[]).expect_verdict("INCONCLUSIVE");
    assert!(
        run.reasons().contains("mechanism confirmed"),
        "{}",
        run.reasons()
    );
    run.outcome.expect_code(1);
    let land =
        |reason| scenario.runner(&["decide", "1", "--land", "--reason", reason, "--by", "P"]);
    land(" \t ")
        .expect_code(2)
        .expect_text("a reason in words is needed");
    land("it is free")
        .expect_code(0)
        .expect_text("recorded on run 1: land, by P: it is free run 1: LANDED (sub-bar)");
    scenario
        .runner(&["show", "1"])
        .expect_text("LANDED (sub-bar)")
        .expect_text("it is free");
    scenario
        .runner(&["decide", "1", "--revert", "--reason", "r", "--by", "P"])
        .expect_code(0)
        .expect_text("recorded on run 1: revert, by P: r");
    let all = "print(db.execute('select count(*) from decision').fetchone()[0])";
    assert_eq!(
        scenario.database(all),
        "2",
        "a decision is added, not changed"
    );
    scenario
        .runner(&["decide", "7", "--land", "--reason", "r", "--by", "P"])
        .expect_code(2)
        .expect_text("there is no run 7");

    // Nothing claimed: a decision alone lands nothing.
    let scenario = with_kernel(&[FASTER], "Round: r1\n");
    scenario.run(&[]).expect_verdict("REVERTED");
    scenario
        .runner(&[
            "decide",
            "1",
            "--land",
            "--reason",
            "I like it",
            "--by",
            "P",
        ])
        .expect_code(0)
        .expect_text("recorded on run 1: land, by P: I like it run 1: REVERTED");

    // A claim that does not hold ends it before anything is measured.
    let scale = ("kernel.cu", "*= by", "*= by + 1.0f");
    let scenario = with_kernel(&[FASTER, scale], claims);
    let run = scenario.run(&[]).expect_verdict("REVERTED");
    assert!(
        run.reasons().contains("unchanged scale"),
        "{}",
        run.reasons()
    );
    assert_eq!(run.at("/evidence/benches"), &serde_json::json!([]));
}

#[test]
fn corrections_that_make_no_sense_are_refused() {
    let scenario = Scenario::engine_pair(&[], &[FASTER]);
    scenario.run(&[]).expect_verdict("LANDED");
    let correct = |run, field, value, reason| {
        let args = ["--value", value, "--reason", reason, "--by", "A Person"];
        scenario.runner(&[&["correct", run, "--field", field][..], &args].concat())
    };
    for (run, field, value, reason, said) in [
        (
            "1",
            "bench:nope:estimate",
            "3",
            "r",
            "the run has no bench `nope`; it has speed",
        ),
        ("1", "bench:speed:mood", "3", "r", "cannot be corrected"),
        (
            "1",
            "bench:speed:estimate",
            "NaN",
            "r",
            "`NaN` is not a finite number",
        ),
        (
            "1",
            "bench:speed:estimate",
            "1e400",
            "r",
            "`1e400` is not a finite number",
        ),
        (
            "1",
            "bench:speed:estimate",
            "fast",
            "r",
            "is not a finite number",
        ),
        (
            "1",
            "bench:speed:estimate",
            "3",
            "  ",
            "a reason in words is needed",
        ),
        (
            "1",
            "verdict",
            "LOST",
            "r",
            "`LOST` is not a verdict; the verdicts are LANDED",
        ),
        (
            "1",
            "colour",
            "red",
            "r",
            "a field is `verdict` or `bench:NAME:FIGURE`",
        ),
        ("7", "verdict", "REVERTED", "r", "there is no run 7"),
    ] {
        correct(run, field, value, reason)
            .expect_code(2)
            .expect_text(said);
    }
    let all = "print(db.execute('select count(*) from correction').fetchone()[0])";
    assert_eq!(scenario.database(all), "0");
    correct("HEAD", "verdict", "REVERTED", "the base was wrong").expect_code(0);
    scenario
        .runner(&["show"])
        .expect_text("REVERTED (corrected, was");
    for sql in [
        "delete from run",
        "update sample set value = 1",
        "delete from correction",
    ] {
        let outcome =
            std::panic::catch_unwind(|| scenario.database(&format!("db.execute('{sql}')")));
        assert!(outcome.is_err(), "{sql} was accepted");
    }
}

#[test]
fn collection_keeps_what_landed_rounds_and_bases_need() {
    let scenario = Scenario::engine_pair(&[], &[FASTER]);
    scenario.run(&[]).expect_verdict("LANDED");
    scenario.edit(SLOWER.0, SLOWER.1, SLOWER.2);
    scenario.commit("engine: slower");
    scenario.run(&[]).expect_verdict("REVERTED");
    let gc = |args: &[&str]| {
        let outcome = scenario.runner(&[&["gc"], args].concat()).expect_code(0);
        let removed = outcome
            .stdout
            .lines()
            .filter(|line| line.contains("only needed as"));
        removed.map(str::to_owned).collect::<Vec<_>>()
    };
    // Younger than an hour, nothing goes, whatever is asked for.
    assert_eq!(gc(&["--keep-days", "0"]), [""; 0]);
    scenario.database(
        "for (name,) in db.execute(\"select name from sqlite_schema where type = 'trigger' and \
         tbl_name = 'artifact'\").fetchall(): db.execute('drop trigger ' + name)\n\
         db.execute('update artifact set created_at = created_at - 2 * 60 * 60 * 1000')",
    );
    let store = scenario.path("data/artifacts");
    let aged = Command::new("find")
        .arg(&store)
        .args([
            "-type",
            "f",
            "-exec",
            "touch",
            "-d",
            "2 hours ago",
            "{}",
            "+",
        ])
        .status();
    assert!(aged.is_ok_and(|status| status.success()));
    assert_eq!(gc(&["--dry-run"]), [""; 0], "thirty days are kept");
    let planned = gc(&["--dry-run", "--keep-days", "0"]);
    assert!(
        planned.iter().all(|line| line.starts_with("would remove")),
        "{planned:#?}"
    );
    assert!(
        planned
            .iter()
            .any(|line| line.contains("built file engine")),
        "{planned:#?}"
    );
    assert!(
        !planned.iter().any(|line| line.contains("run 1")),
        "{planned:#?}"
    );
    assert_eq!(
        gc(&["--keep-days", "0", "--built-trees"]).len(),
        planned.len()
    );
    assert_eq!(
        gc(&["--keep-days", "0"]),
        [""; 0],
        "all is gone that may go"
    );

    // Both are shown, and built and measured again, as before.
    for (run, verdict) in [("1", "LANDED"), ("2", "REVERTED")] {
        scenario
            .runner(&["show", run])
            .expect_code(0)
            .expect_text(verdict);
        scenario.runner(&["show", run, "--markdown"]).expect_code(0);
    }
    scenario
        .runner(&["replay", "1", "--artifacts"])
        .expect_code(0);
    scenario.runner(&["replay", "2"]).expect_code(0);
    scenario
        .runner(&["replay", "2", "--artifacts"])
        .expect_code(0);
    gc(&["--keep-days", "0", "--also-kept-rounds"]);
    scenario
        .runner(&["show", "1"])
        .expect_code(0)
        .expect_text("LANDED");
    scenario
        .runner(&["replay", "1"])
        .expect_code(0)
        .expect_text("outputs NOT COMPARED a stored output is lost");
}

#[test]
fn artefacts_that_are_lost_or_damaged_cost_no_verdict() {
    let scenario = Scenario::engine_pair(&[], &[FASTER]);
    scenario.run(&[]).expect_verdict("LANDED");
    let store = scenario.path("data/artifacts");
    let spoil = format!(
        "find {} -name '*.zst' -exec sh -c 'for f; do echo spoilt > \"$f\"; done' sh {{}} +",
        store.display()
    );
    for fresh in [false, true] {
        scenario.shell(&spoil).expect_code(0);
        if fresh {
            std::fs::remove_dir_all(scenario.path("cache")).expect("removed");
        }
        scenario
            .runner(&["show", "1"])
            .expect_code(2)
            .expect_text("is damaged")
            .expect_text("remove");
        scenario.run(&[]).expect_verdict("LANDED");
        scenario.runner(&["show", "1"]).expect_code(0);
        std::fs::remove_dir_all(&store).expect("removed");
        scenario.run(&[]).expect_verdict("LANDED");
        scenario
            .runner(&["show", "1"])
            .expect_code(0)
            .expect_text("LANDED");
        scenario.runner(&["compare", "1", "2"]).expect_code(0);
    }
}
