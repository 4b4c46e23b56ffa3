//! Locked clocks are undone on every way out of the program, on a stand-in for NVIDIA's library.
//!
//! The cases that need the library are ignored tests that this program starts again as children.

#[path = "support/nvml.rs"]
#[expect(dead_code, reason = "each test program uses its part of the support")]
mod support;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use runner::machine::NvmlGpu;
use runner::machine::clocks::{
    Choice, ClockLock, Facts, LockRequest, Restored, decide, request, restore_left_behind,
};
use support::{Nvml, UUID};

fn locks() -> PathBuf {
    PathBuf::from(std::env::var_os("ROUNDHOUSE_LOCKS").expect("the folder for locks"))
}

fn lock() -> Result<ClockLock, String> {
    request(&LockRequest {
        runner_exe: PathBuf::from(env!("CARGO_BIN_EXE_runner")),
        locks: locks(),
        uuid: UUID.to_owned(),
        mhz: 1500,
        what: "a test".to_owned(),
    })
}

fn marker(locks: &Path) -> PathBuf {
    locks.join(format!("{UUID}.clocks"))
}

fn marked(locks: &Path) -> String {
    std::fs::read_to_string(marker(locks)).unwrap_or_default()
}

/// The guardian that a marker names.
fn guardian(locks: &Path) -> String {
    let mark: serde_json::Value = serde_json::from_str(&marked(locks)).expect("a marker");
    mark["guardian"].to_string()
}

fn signal(name: &str, pid: &str) {
    let sent = Command::new("kill").args(["-s", name, pid]).status();
    assert!(sent.expect("kill starts").success(), "{name} to {pid}");
}

fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let clock = Instant::now();
    while !done() {
        assert!(
            clock.elapsed() < Duration::from_secs(60),
            "waited for: {what}"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn quiet(mut command: Command) -> Command {
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// A process that holds a lock until it is killed.
fn holder(nvml: &Nvml, test: &str) -> Child {
    let child = quiet(nvml.body(test)).spawn();
    let child = child.expect("this program starts");
    wait_until("the lock is set", || {
        nvml.get("locked").as_deref() == Some("1500")
    });
    assert!(!marked(&nvml.locks()).is_empty(), "a lock has a marker");
    child
}

fn wait_for_the_reset(nvml: &Nvml) {
    wait_until("the lock is taken away", || {
        nvml.get("locked").as_deref() == Some("0") && marked(&nvml.locks()).is_empty()
    });
    assert_eq!(nvml.changes(), ["lock 1500", "reset 0"]);
}

#[test]
fn a_release_undoes_it() {
    let nvml = Nvml::idle();
    nvml.run("child_locks_and_releases");
    assert_eq!(nvml.changes(), ["lock 1500", "reset 0"]);
    assert_eq!(marked(&nvml.locks()), "");
}

#[test]
#[ignore = "the child process of a_release_undoes_it"]
fn child_locks_and_releases() {
    let held = lock().expect("locked");
    let gpu = NvmlGpu::open(UUID).expect("the stand-in");
    assert_eq!(gpu.sm_clock(), Ok(1500));
    assert!(marked(&locks()).contains("\"mhz\":1500"));
    held.release().expect("reset");
    assert_eq!(marked(&locks()), "");
}

#[test]
fn an_error_and_a_panic_undo_it() {
    for body in ["child_returns_early", "child_panics"] {
        let nvml = Nvml::idle();
        let ended = quiet(nvml.body(body)).status();
        let ended = ended.expect("this program starts");
        assert_eq!(ended.success(), body == "child_returns_early", "{body}");
        wait_for_the_reset(&nvml);
    }
}

#[test]
#[ignore = "the child process of an_error_and_a_panic_undo_it"]
fn child_returns_early() {
    let failing = || -> Result<(), String> {
        let _held = lock()?;
        Err("something else failed".to_owned())
    };
    assert!(failing().is_err_and(|error| error.starts_with("something")));
    let gpu = NvmlGpu::open(UUID).expect("the stand-in");
    gpu.sm_clock().expect("a reading");
    assert_eq!(marked(&locks()), "", "dropped is undone");
}

#[test]
#[ignore = "the child process of an_error_and_a_panic_undo_it"]
fn child_panics() {
    let _held = lock().expect("locked");
    panic!("on purpose");
}

#[test]
fn whatever_ends_the_runner_undoes_it() {
    for name in ["KILL", "TERM", "INT", "HUP"] {
        let nvml = Nvml::idle();
        let mut child = holder(&nvml, "child_holds_the_lock");
        signal(name, &child.id().to_string());
        assert!(!child.wait().expect("it ends").success(), "{name}");
        wait_for_the_reset(&nvml);
    }
}

#[test]
#[ignore = "the child process of whatever_ends_the_runner_undoes_it"]
fn child_holds_the_lock() {
    let _held = lock().expect("locked");
    std::thread::sleep(Duration::from_secs(600));
}

#[test]
fn a_guardian_is_deaf_to_signals_and_in_a_session_of_its_own() {
    let nvml = Nvml::idle();
    let mut child = holder(&nvml, "child_holds_the_lock");
    let guardian = guardian(&nvml.locks());
    let session = |pid: &str| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("it lives");
        let (_, rest) = stat.rsplit_once(") ").expect("a name");
        rest.split(' ').nth(3).expect("a session").to_owned()
    };
    assert_eq!(session(&guardian), guardian);
    for name in ["TERM", "INT", "HUP", "QUIT", "USR1"] {
        signal(name, &guardian);
    }
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(session(&guardian), guardian, "it lives");
    assert_eq!(nvml.changes(), ["lock 1500"]);
    child.kill().expect("it is ours");
    child.wait().expect("it ends");
    wait_for_the_reset(&nvml);
}

#[test]
fn where_the_guardian_was_killed_too_the_next_runner_undoes_it() {
    let nvml = Nvml::idle();
    let mut child = holder(&nvml, "child_holds_the_lock");
    // The guardian first: it would undo the lock at once.
    signal("KILL", &guardian(&nvml.locks()));
    child.kill().expect("it is ours");
    child.wait().expect("it ends");
    assert_eq!(nvml.changes(), ["lock 1500"]);
    nvml.run("child_finds_what_was_left");
    wait_for_the_reset(&nvml);
    nvml.run("child_finds_nothing");
    wait_for_the_reset(&nvml);
}

#[test]
#[ignore = "the child process of where_the_guardian_was_killed_too_the_next_runner_undoes_it"]
fn child_finds_what_was_left() {
    let restored = restore_left_behind(&locks(), UUID);
    let Restored::Reset(mark) = restored else {
        panic!("{restored:?}");
    };
    assert_eq!((mark.mhz, mark.what.as_str()), (1500, "a test"));
}

#[test]
#[ignore = "the child process of where_the_guardian_was_killed_too_the_next_runner_undoes_it"]
fn child_finds_nothing() {
    assert_eq!(restore_left_behind(&locks(), UUID), Restored::Nothing);
}

#[test]
fn a_restart_of_the_machine_has_undone_it_already() {
    let nvml = Nvml::idle();
    let mut child = holder(&nvml, "child_holds_the_lock");
    signal("KILL", &guardian(&nvml.locks()));
    child.kill().expect("it is ours");
    child.wait().expect("it ends");
    let mut mark: serde_json::Value =
        serde_json::from_str(&marked(&nvml.locks())).expect("a marker");
    mark["boot_id"] = "another start".into();
    std::fs::write(marker(&nvml.locks()), mark.to_string()).expect("the marker");
    nvml.run("child_finds_nothing");
    assert_eq!(nvml.changes(), ["lock 1500"], "somebody else's by now");
    assert_eq!(marked(&nvml.locks()), "");
}

#[test]
fn a_living_runner_undoes_it_when_its_guardian_was_killed() {
    let nvml = Nvml::idle();
    nvml.run("child_loses_its_guardian");
    wait_for_the_reset(&nvml);
}

#[test]
#[ignore = "the child process of a_living_runner_undoes_it_when_its_guardian_was_killed"]
fn child_loses_its_guardian() {
    let held = lock().expect("locked");
    signal("KILL", &held.guardian().to_string());
    held.release().expect("reset");
}

#[test]
fn what_cannot_be_undone_is_said_and_kept_for_the_next_runner() {
    let nvml = Nvml::idle();
    nvml.set("error.nvmlDeviceResetGpuLockedClocks", "15");
    nvml.run("child_cannot_undo");
    assert!(marked(&nvml.locks()).contains("\"mhz\":1500"));
    nvml.remove("error.nvmlDeviceResetGpuLockedClocks");
    nvml.run("child_finds_what_was_left");
    wait_for_the_reset(&nvml);
}

#[test]
#[ignore = "the child process of what_cannot_be_undone_is_said_and_kept_for_the_next_runner"]
fn child_cannot_undo() {
    let error = lock().expect("locked").release().expect_err("no reset");
    assert!(error.contains("may still be locked"), "{error}");
    assert!(error.contains("nvidia-smi -i GPU-"), "{error}");
    let left = restore_left_behind(&locks(), UUID);
    assert!(matches!(left, Restored::Failed { .. }), "{left:?}");
}

#[test]
fn who_may_not_is_told_and_nothing_changes() {
    let nvml = Nvml::idle();
    nvml.set("error.nvmlDeviceSetGpuLockedClocks", "4");
    nvml.run("child_may_not");
    assert_eq!(nvml.changes(), [""; 0]);
    assert_eq!(marked(&nvml.locks()), "");
}

#[test]
#[ignore = "the child process of who_may_not_is_told_and_nothing_changes"]
fn child_may_not() {
    let error = lock().expect_err("not permitted");
    assert!(error.contains("may not lock clocks"), "{error}");
    assert!(error.contains("-lgc 1500"), "{error}");
}

#[test]
fn two_guardians_do_not_meet() {
    let nvml = Nvml::idle();
    let mut child = holder(&nvml, "child_holds_the_lock");
    nvml.run("child_meets_another");
    assert_eq!(nvml.changes(), ["lock 1500"]);
    child.kill().expect("it is ours");
    child.wait().expect("it ends");
    wait_for_the_reset(&nvml);
}

#[test]
#[ignore = "the child process of two_guardians_do_not_meet"]
fn child_meets_another() {
    let error = lock().expect_err("held");
    assert!(error.contains("held by another guardian"), "{error}");
    assert_eq!(restore_left_behind(&locks(), UUID), Restored::Held);
}

#[test]
fn a_card_that_others_use_keeps_its_settings() {
    let nvml = Nvml::idle();
    nvml.add("graphics", "1 104857600");
    nvml.run("child_leaves_a_shared_card");
    assert_eq!(nvml.changes(), [""; 0]);
}

#[test]
#[ignore = "the child process of a_card_that_others_use_keeps_its_settings"]
fn child_leaves_a_shared_card() {
    let gpu = NvmlGpu::open(UUID).expect("the stand-in");
    let choice = decide(&Facts::read(&gpu, |_| false), Some(1500));
    let Choice::Leave(reason) = choice else {
        panic!("{choice:?}");
    };
    assert!(reason.contains("process 1 ("), "{reason}");
    assert!(reason.contains("100 MiB"), "{reason}");
    let ours = decide(&Facts::read(&gpu, |pid| pid == 1), None);
    assert_eq!(ours, Choice::Lock(1590));
}
