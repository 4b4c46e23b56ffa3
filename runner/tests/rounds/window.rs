//! Whole runs on a stand-in for an NVIDIA card: a drained device is waited for, clocks are locked
//! and undone however the run ends, and the canary has its say.

#[path = "../support/nvml.rs"]
#[expect(dead_code, reason = "each test program uses its part of the support")]
mod support;

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::scenario::{Outcome, Scenario};
use support::{Nvml, UUID};

/// An engine's campaign for a CUDA device, with a `[machine]` of its own.
struct Rig {
    scenario: Scenario,
    nvml: Nvml,
}

impl Rig {
    fn new(machine: &str) -> Rig {
        let scenario = Scenario::engine();
        scenario.edit(
            "campaign.toml",
            "cuda = \"none\"\n",
            "cuda = \"none\"\narch = [\"sm_90\"]\n\n[device]\nkind = \"cuda\"\n",
        );
        let file = scenario.repo().join("campaign.toml");
        let text = std::fs::read_to_string(&file).expect("the file");
        scenario.write("campaign.toml", &format!("{text}\n[machine]\n{machine}\n"));
        scenario.commit("engine: on a card");
        let nvml = Nvml::idle();
        nvml.with_cuda();
        Rig { scenario, nvml }
    }

    /// A commit that makes the engine faster.
    fn faster(&self, speed: &str) {
        let file = self.scenario.repo().join("engine.c");
        let text = std::fs::read_to_string(&file).expect("the file");
        let now = text
            .lines()
            .find(|line| line.starts_with("#define SPEED"))
            .expect("a speed");
        self.scenario
            .edit("engine.c", now, &format!("#define SPEED {speed}"));
        self.scenario.commit(&format!("engine: {speed}"));
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.scenario.command();
        self.nvml.on(&mut command).args(args);
        command
    }

    fn run(&self) -> (Outcome, Value) {
        let args = ["run", "--json"];
        let output = self.command(&args).output().expect("runner starts");
        let outcome = Outcome::of(output, &args);
        let document = outcome.json();
        (outcome, document)
    }

    fn marker(&self) -> String {
        let path = self.scenario.path("locks").join(format!("{UUID}.clocks"));
        std::fs::read_to_string(path).unwrap_or_default()
    }
}

fn verdict(document: &Value) -> &str {
    document["judgement"]["verdict"].as_str().unwrap_or("none")
}

fn said(document: &Value, words: &str) -> bool {
    document["judgement"]["reasons"]
        .as_array()
        .is_some_and(|reasons| {
            reasons
                .iter()
                .any(|reason| reason["text"].as_str().is_some_and(|t| t.contains(words)))
        })
}

#[test]
fn clocks_are_locked_for_the_window_and_the_canary_watches_it() {
    let rig = Rig::new("lock_clocks = true");
    rig.faster("105.0");
    let (outcome, document) = rig.run();
    assert_eq!(verdict(&document), "LANDED", "{}", outcome.text());
    assert!(said(&document, "locked at 1590 MHz"), "{document:#}");
    assert!(
        said(&document, "0 of the 5 earlier windows"),
        "{document:#}"
    );
    assert_eq!(rig.nvml.changes(), ["lock 1590", "reset 0"]);
    assert_eq!(rig.marker(), "");
    let rows = rig.scenario.database(
        "for row in db.execute('select phase, work, locked_mhz, compute_us, copy_us from \
         canary_reading order by at'): print(*row)",
    );
    assert_eq!(
        rows,
        "before cuda-1 1590 5000.0 100.0\nafter cuda-1 1590 5000.0 100.0"
    );
}

#[test]
fn a_run_that_is_killed_or_stopped_leaves_no_lock() {
    for signal in ["KILL", "TERM", "INT"] {
        let rig = Rig::new("lock_clocks = true\nsm_clock = 1500\ncanary = false");
        rig.scenario.edit(
            "engine.c",
            "if (!strcmp(mode, \"bench\"))",
            "if (!strcmp(mode, \"bench\")) usleep(300000);\n    if (!strcmp(mode, \"bench\"))",
        );
        rig.scenario.commit("engine: takes its time");
        rig.faster("105.0");
        let mut command = rig.command(&["run"]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().expect("runner starts");
        rig.scenario.until("the clock is locked", || {
            rig.nvml.get("locked").as_deref() == Some("1500")
        });
        let pid = child.id().to_string();
        let sent = Command::new("kill").args(["-s", signal, &pid]).status();
        assert!(sent.is_ok_and(|status| status.success()));
        child.wait().expect("it ends");
        rig.scenario.until("the lock is taken away", || {
            rig.nvml.get("locked").as_deref() == Some("0") && rig.marker().is_empty()
        });
        assert_eq!(rig.nvml.changes(), ["lock 1500", "reset 0"], "{signal}");
    }
}

#[test]
fn who_may_not_lock_measures_unlocked_and_the_record_says_so() {
    let rig = Rig::new("lock_clocks = true\ncanary = false");
    rig.nvml.set("error.nvmlDeviceSetGpuLockedClocks", "4");
    rig.faster("105.0");
    let (_, document) = rig.run();
    assert_eq!(verdict(&document), "LANDED");
    assert!(said(&document, "clocks were not locked: this user may not"));
    assert_eq!(rig.nvml.changes(), [""; 0]);
}

#[test]
fn a_device_that_others_use_is_waited_for_and_never_measured_on() {
    let rig = Rig::new("drain_s = 1\ncanary = false");
    rig.nvml.add("compute", "1 9663676416");
    rig.faster("105.0");
    let (outcome, document) = rig.run();
    let outcome = outcome.expect_code(3);
    assert_eq!(verdict(&document), "ENV-INVALID");
    let headline = document["judgement"]["headline"].as_str().unwrap_or("");
    assert!(
        headline.contains("not free within 1 s") && headline.contains("process 1 ("),
        "{headline}"
    );
    assert!(headline.contains("9216 MiB"), "{headline}");
    outcome.expect_text("waiting up to 1 s until the device is free");
    // Once it is free, all is well.
    rig.nvml.remove("compute");
    rig.faster("111.0");
    assert_eq!(verdict(&rig.run().1), "LANDED");
}

#[test]
fn a_machine_that_became_slower_gives_no_verdict() {
    let rig = Rig::new("drain_s = 1");
    for speed in ["105.0", "110.0", "115.0", "120.0", "125.0"] {
        rig.faster(speed);
        assert_eq!(verdict(&rig.run().1), "LANDED", "{speed}");
    }
    rig.nvml.set("canary_copy_us", "107");
    rig.faster("131.0");
    let (outcome, document) = rig.run();
    outcome.expect_code(3);
    let headline = document["judgement"]["headline"].as_str().unwrap_or("");
    assert!(
        headline.contains("canary copy 7.0 % slower than its median over 5 windows"),
        "{headline}"
    );
    rig.nvml.set("canary_copy_us", "100");
    rig.faster("137.0");
    let (_, document) = rig.run();
    assert_eq!(verdict(&document), "LANDED");
    assert!(
        said(&document, "its band of 5 earlier windows"),
        "{document:#}"
    );
}

#[test]
fn what_two_killed_processes_left_locked_is_undone_by_the_next_run() {
    let rig = Rig::new("canary = false");
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("a boot id");
    let mark = serde_json::json!({
        "uuid": UUID, "mhz": 1200, "boot_id": boot.trim(), "guardian": 1, "what": "run 7 of toy",
        "since": 0,
    });
    std::fs::create_dir_all(rig.scenario.path("locks")).expect("a folder");
    let path = rig.scenario.path("locks").join(format!("{UUID}.clocks"));
    std::fs::write(path, mark.to_string()).expect("a marker");
    rig.nvml.set("locked", "1200");
    rig.faster("105.0");
    let (_, document) = rig.run();
    assert_eq!(verdict(&document), "LANDED");
    assert!(said(
        &document,
        "still locked at 1200 MHz by a killed runner (run 7 of toy)"
    ));
    assert_eq!(rig.nvml.changes(), ["reset 0"]);
    assert_eq!(rig.marker(), "");
}

#[test]
fn a_canary_that_cannot_run_is_said_and_decides_nothing() {
    let rig = Rig::new("drain_s = 1");
    rig.nvml.set("cuda_error", "2");
    rig.faster("105.0");
    let (_, document) = rig.run();
    assert_eq!(verdict(&document), "LANDED");
    assert!(
        said(&document, "no canary watched the machine"),
        "{document:#}"
    );
    assert!(said(&document, "out of memory"), "{document:#}");
}

#[test]
fn the_canary_runs_on_a_cpu_where_it_is_asked_for() {
    let scenario = Scenario::engine();
    scenario.edit(
        "campaign.toml",
        "[protocol]",
        "[machine]\ncanary = true\n\n[protocol]",
    );
    scenario.commit("engine: with a canary");
    scenario.edit("engine.c", "SPEED 100.0", "SPEED 105.0");
    scenario.commit("engine: faster");
    scenario.run(&[]);
    let rows = scenario.database(
        "for row in db.execute('select phase, work, compute_us > 0, copy_us > 0 from \
         canary_reading order by at'): print(*row)",
    );
    assert!(rows.starts_with("before cpu-1"), "{rows}");
    assert_eq!(rows.lines().count(), 2, "{rows}");
    assert!(rows.lines().all(|row| row.ends_with(" 1 1")), "{rows}");
}

#[test]
fn check_says_what_the_card_allows() {
    let rig = Rig::new("lock_clocks = true\nsm_clock = 1500");
    rig.nvml.add("compute", "1 9663676416");
    let check = || {
        let output = rig.command(&["check"]).output().expect("runner starts");
        Outcome::of(output, &["check"])
    };
    check()
        .expect_text(&format!("knows {UUID}"))
        .expect_text("the card is in use: process 1 (")
        .expect_text("will not be locked: others use the card");
    rig.nvml.remove("compute");
    check().expect_text("locked at 1500 MHz");
    rig.nvml.set("error.nvmlInit_v2", "9");
    check().expect_text("NVIDIA's management library (libnvidia-ml.so.1) cannot be used");
    assert_eq!(rig.nvml.changes(), [""; 0]);
}
