//! Runs that are stopped, killed, or not alone: nothing recorded is torn, nothing is left
//! running, and the next run can begin.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rand::{RngExt, SeedableRng};

use crate::scenario::Scenario;

/// How often the runner is killed at some moment.
const KILLS: u32 = 10;
/// From the start of the program to shortly before the end of a run, milliseconds.
const MOMENTS: std::ops::Range<u64> = 0..1_800;

/// An engine that takes its time to measure, and whose build leaves its session.
pub fn slow(milliseconds: u32) -> Scenario {
    let wait = format!("if (!strcmp(mode, \"bench\")) usleep({milliseconds} * 1000);");
    Scenario::engine_pair(
        &[
            (
                "engine.c",
                "if (!strcmp(mode, \"bench\"))",
                &format!("{wait}\n    if (!strcmp(mode, \"bench\"))"),
            ),
            (
                "Makefile",
                "engine: engine.c\n",
                "engine: engine.c\n\t(setsid sleep 4741 >/dev/null 2>&1 &); sleep 0.3\n",
            ),
        ],
        &[("engine.c", "SPEED 100.0", "SPEED 105.0")],
    )
}

pub fn send(signal: &str, child: &Child) {
    let sent = Command::new("/bin/kill")
        .args([&format!("-{signal}"), &child.id().to_string()])
        .status();
    assert!(sent.is_ok_and(|status| status.success()), "kill -{signal}");
}

/// The runs that are recorded and how they ended, such as `1 ended`.
fn states(scenario: &Scenario) -> Vec<String> {
    let text = scenario.database(
        "for row in db.execute('select run_id, state from run_state order by run_id'): print(*row)",
    );
    text.lines().map(str::to_owned).collect()
}

fn assert_whole(scenario: &Scenario) {
    let said = scenario.database(
        "print(db.execute('pragma integrity_check').fetchall(), \
         db.execute('pragma foreign_key_check').fetchall())",
    );
    assert_eq!(said, "[('ok',)] []");
}

pub fn samples(scenario: &Scenario) -> u32 {
    if !scenario.path("data/roundhouse.db").exists() {
        return 0;
    }
    let count = "print(db.execute(\"select count(*) from sqlite_schema, sample \
                 where name = 'sample'\").fetchone()[0])";
    scenario.database(count).parse().expect("a number")
}

#[test]
fn a_run_that_is_killed_at_any_moment_tears_nothing() {
    let scenario = slow(200);
    let mut coin = rand_chacha::ChaCha8Rng::seed_from_u64(12);
    for kill in 0..KILLS {
        scenario.edit("engine.c", "SPEED 105.0", &format!("SPEED 105.0{kill}"));
        scenario.edit("README.md", "toy", &format!("toy {kill}"));
        scenario.commit("engine: something to build");
        let mut child = scenario.start(&["run", "--base", "HEAD~1"]);
        // However slow the machine is, half of the runs are killed while they measure.
        if kill % 2 == 1 {
            let taken = samples(&scenario);
            scenario.until("it measures", || samples(&scenario) > taken);
        } else {
            std::thread::sleep(Duration::from_millis(coin.random_range(MOMENTS)));
        }
        child.kill().expect("killed");
        child.wait().expect("waited for");
        if scenario.path("data/roundhouse.db").exists() {
            assert_whole(&scenario);
        }
    }
    let before = states(&scenario);
    assert!(before.len() >= 5, "those that measured: {before:?}");
    let taken = samples(&scenario);
    let outcome = scenario
        .runner(&["run", "--base", "main~11"])
        .expect_code(0);
    for line in &before {
        if let Some(run) = line.strip_suffix(" open") {
            let said = format!("run {run} was interrupted: its ");
            assert!(outcome.stderr.contains(&said), "{said}: {}", outcome.stderr);
        }
    }
    assert_eq!(scenario.processes(), [""; 0], "left by the killed ones");
    let after = states(&scenario);
    assert!(after.len() == before.len() + 1, "{after:?}");
    assert!(
        !after.iter().any(|line| line.ends_with(" open")),
        "{after:?}"
    );
    let interrupted = after.iter().filter(|line| line.ends_with(" interrupted"));
    assert!(interrupted.count() >= 5, "{after:?}");
    assert_eq!(
        samples(&scenario),
        taken + 14,
        "the samples of all are kept"
    );
    assert_whole(&scenario);
    let last = scenario
        .runner(&["show", &after.len().to_string(), "--json"])
        .json();
    let pooled = last["evidence"]["benches"][0]["samples"]
        .as_array()
        .map(Vec::len);
    assert_eq!(pooled, Some(14), "and never pooled");
    let history = &last["evidence"]["benches"][0]["base_history"];
    assert!(history.as_array().is_none_or(Vec::is_empty), "{history}");
}

#[test]
fn a_run_that_is_stopped_is_booked_as_interrupted() {
    for (signal, words) in [("INT", "Ctrl-C"), ("TERM", "SIGTERM"), ("HUP", "SIGHUP")] {
        let scenario = slow(100);
        let mut child = scenario.start(&["run"]);
        match signal {
            "HUP" => scenario.until("it builds", || {
                scenario
                    .processes()
                    .iter()
                    .any(|line| line.contains("4741"))
            }),
            _ => scenario.until("it measures", || samples(&scenario) >= 2),
        }
        send(signal, &child);
        let status = child.wait().expect("waited for");
        assert_eq!(status.code(), Some(3), "{signal}: {status}");
        assert_eq!(scenario.processes(), [""; 0], "{signal}");
        assert_eq!(states(&scenario), ["1 interrupted"], "{signal}");
        assert_whole(&scenario);
        let shown = scenario.runner(&["show", "1"]).expect_text("interrupted; ");
        shown.expect_text("its samples are kept and never pooled");
        let event = scenario.database(
            "print(db.execute(\"select detail_json from run_event where kind = 'interrupted'\").fetchall())",
        );
        assert!(event.contains(words), "{words}: {event}");
        scenario.run(&[]).expect_verdict("LANDED");
    }
}

#[test]
fn a_demo_that_is_stopped_runs_no_further_round() {
    let scenario = Scenario::empty();
    let others = std::env::var_os("PATH").unwrap_or_default();
    let path = std::iter::once(runner::testing::cuda_bin()).chain(std::env::split_paths(&others));
    let mut child = scenario
        .command()
        .env("PATH", std::env::join_paths(path).expect("a PATH"))
        .args(["demo", "--toolchain", "system", "--arch", "sm_121"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("runner starts");
    scenario.until("it builds", || !scenario.processes().is_empty());
    send("TERM", &child);
    let status = child.wait().expect("waited for");
    assert_eq!(status.code(), Some(2), "{status}");
    assert_eq!(states(&scenario), ["1 interrupted"]);
    assert_eq!(scenario.processes(), [""; 0]);
}

#[test]
fn two_runs_at_once_do_not_disturb_each_other() {
    let scenario = slow(150);
    let other = scenario.path("other");
    let other = other.to_str().expect("UTF-8");
    scenario.git(&["clone", "-q", "--local", ".", other]);
    let config = std::fs::read_to_string(format!("{other}/campaign.toml")).expect("a file");
    let config = config.replace("name = \"toy\"", "name = \"other\"");
    let given = scenario.path("other.toml");
    std::fs::write(&given, config).expect("a file");
    let given = given.to_str().expect("UTF-8");
    let run_other = ["run", "-C", other, "--config", given];

    let mut first = scenario.start(&["run"]);
    scenario.until("the first measures", || samples(&scenario) >= 1);
    scenario
        .runner(&["run"])
        .expect_code(2)
        .expect_text("another run of this campaign is at work on this machine")
        .expect_text(&format!("process {}", first.id()));
    scenario
        .runner(&run_other)
        .expect_code(3)
        .expect_text("ENV-INVALID")
        .expect_text(&format!("is in use by process {}", first.id()));
    scenario
        .runner(&[&run_other[..], &["--wait"]].concat())
        .expect_code(0)
        .expect_text("waiting for the device");
    assert_eq!(first.wait().expect("waited for").code(), Some(0));
    assert_eq!(states(&scenario), ["1 ended", "2 ended", "3 ended"]);
}
