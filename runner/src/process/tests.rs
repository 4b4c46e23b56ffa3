//! Real child processes that misbehave.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::{Finished, HarnessSession, JsonLines, RUN_VARIABLE, Spec, run, sweep};
use crate::config::CommandLine;
use crate::model::Failure;

fn spec(script: &str) -> Spec {
    Spec {
        command: CommandLine::Shell(own(script)),
        cwd: PathBuf::from("/"),
        env: BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]),
        timeout: Duration::from_secs(20),
        output_limit: 1 << 20,
    }
}

/// Puts our process id where `@` stands, so that the same test run elsewhere on the machine at
/// the same time does not count.
fn own(text: &str) -> String {
    text.replace('@', &std::process::id().to_string())
}

/// Whether a process runs whose command line holds `mark`.
fn runs(mark: &str) -> bool {
    let mark = own(mark);
    let processes = std::fs::read_dir("/proc").expect("/proc is readable");
    processes.flatten().any(|process| {
        let state = std::fs::read_to_string(process.path().join("stat")).unwrap_or_default();
        let zombie = state
            .rsplit(") ")
            .next()
            .is_some_and(|s| s.starts_with('Z'));
        !zombie
            && std::fs::read(process.path().join("cmdline")).is_ok_and(|c| {
                String::from_utf8_lossy(&c)
                    .replace('\0', " ")
                    .contains(&mark)
            })
    })
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[tokio::test]
async fn a_command_ends_with_its_output_and_status() {
    let done = run(&spec("echo out; echo err >&2; cat; exit 3")).await;
    assert_eq!(text(&done.stdout), "out\n");
    assert_eq!(text(&done.stderr), "err\n");
    assert_eq!(done.failure, Some(Failure::Exit { code: 3 }));
    let killed = run(&spec("kill -SEGV $$")).await;
    assert_eq!(killed.failure, Some(Failure::Signal { signal: 11 }));
    assert_eq!(run(&spec("true")).await.failure, None);
}

#[tokio::test]
async fn nothing_is_inherited() {
    let done = run(&spec("env")).await;
    let printed = text(&done.stdout);
    let names: Vec<&str> = printed
        .lines()
        .filter_map(|line| line.split('=').next())
        .filter(|name| !["PATH", "PWD", "_", "SHLVL", "OLDPWD"].contains(name))
        .collect();
    assert_eq!(names, ["ROUNDHOUSE_COMMAND"]);
}

#[tokio::test]
async fn programs_are_found_in_the_childs_path_and_directory() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::create_dir(folder.path().join("bin")).expect("a folder");
    for name in ["bin/only-there", "engine"] {
        std::os::unix::fs::symlink("/bin/pwd", folder.path().join(name)).expect("a link");
    }
    let mut found = spec("");
    found.cwd = folder.path().canonicalize().expect("there");
    let bin = folder.path().join("bin");
    found
        .env
        .insert("PATH".into(), bin.to_string_lossy().into_owned());
    for program in ["only-there", "./engine"] {
        found.command = CommandLine::Argv(vec![program.into()]);
        let done = run(&found).await;
        assert_eq!(done.failure, None, "{program}");
        assert_eq!(text(&done.stdout).trim(), found.cwd.to_string_lossy());
    }
}

#[tokio::test]
async fn what_cannot_be_started_says_why() {
    let mut missing = spec("");
    missing.command = CommandLine::Argv(vec!["./no-such-program".into()]);
    let Finished { failure, .. } = run(&missing).await;
    let Some(Failure::NotStarted { reason }) = failure else {
        panic!("{failure:?}");
    };
    assert!(reason.contains("no-such-program"), "{reason}");
    let mut nowhere = spec("true");
    nowhere.cwd = PathBuf::from("/no/such/folder");
    let Finished { failure, .. } = run(&nowhere).await;
    assert!(
        format!("{failure:?}").contains("/no/such/folder"),
        "{failure:?}"
    );
}

#[tokio::test]
async fn a_command_that_hangs_is_killed_with_its_children() {
    let mut hangs = spec("trap '' TERM; sleep 4242@.1 & sleep 4242@.2; sleep 4242@.3");
    hangs.timeout = Duration::from_millis(300);
    let clock = Instant::now();
    let done = run(&hangs).await;
    assert_eq!(done.failure, Some(Failure::TimedOut { limit_s: 1 }));
    assert!(clock.elapsed() < Duration::from_secs(10));
    assert!(!runs("sleep 4242@."));
}

#[tokio::test]
async fn a_gentle_command_may_say_goodbye() {
    let mut hangs = spec("trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done");
    hangs.timeout = Duration::from_millis(1500);
    let done = run(&hangs).await;
    assert_eq!(text(&done.stdout), "up\nbye\n");
    assert!(matches!(done.failure, Some(Failure::TimedOut { .. })));
}

#[tokio::test]
async fn gigabytes_are_cut_off() {
    for script in ["yes", "yes >&2", "yes & sleep 60"] {
        let done = run(&spec(script)).await;
        assert_eq!(
            done.failure,
            Some(Failure::TooMuchOutput {
                limit_bytes: 1 << 20
            }),
            "{script}"
        );
        assert!(done.stdout.len().max(done.stderr.len()) == 1 << 20);
        assert!(done.wall < Duration::from_secs(15));
    }
    let at_once = run(&spec("head -c 1048577 /dev/zero")).await;
    assert!(matches!(
        at_once.failure,
        Some(Failure::TooMuchOutput { .. })
    ));
    let just = run(&spec("head -c 1048576 /dev/zero")).await;
    assert_eq!((just.failure, just.stdout.len()), (None, 1 << 20));
}

#[tokio::test]
async fn those_left_behind_do_not_hang_us_and_do_not_survive() {
    let clock = Instant::now();
    let done = run(&spec(
        "sleep 4243@.1 & setsid sleep 4243@.2 & (setsid sh -c 'sleep 4243@.3; :' &) ; echo done",
    ))
    .await;
    assert_eq!(
        (text(&done.stdout).as_str(), done.failure),
        ("done\n", None)
    );
    assert!(clock.elapsed() < Duration::from_secs(10));
    assert!(!runs("sleep 4243@."));
}

#[tokio::test]
async fn a_small_fork_bomb_is_cleared_away() {
    let mut bomb = spec(
        "f() { [ $1 -gt 0 ] && { f $(($1-1)) & f $(($1-1)) & }; exec sleep 4244@.1; }; \
         setsid sh -c 'sleep 4244@.2 & sleep 4244@.3 & sleep 4244@.4' & f 5; wait",
    );
    bomb.timeout = Duration::from_millis(700);
    let done = run(&bomb).await;
    assert!(matches!(done.failure, Some(Failure::TimedOut { .. })));
    assert!(!runs("sleep 4244@."));
}

#[test]
fn an_interrupted_run_is_swept_and_no_other() {
    let start = |run: &str, seconds: &str| {
        std::process::Command::new("setsid")
            .args(["sleep", seconds])
            .env(RUN_VARIABLE, run)
            .spawn()
            .expect("setsid starts")
    };
    let mut ours = start("sweep-test-1", "4245.1");
    let mut other = start("sweep-test-10", "4245.2");
    std::thread::sleep(Duration::from_millis(200));
    let swept = sweep("sweep-test-1");
    assert_eq!(swept.len(), 1, "{swept:?}");
    assert!(!ours.wait().expect("it was started").success());
    assert!(other.try_wait().expect("it was started").is_none());
    other.kill().expect("it runs");
    other.wait().expect("it was started");
}

#[tokio::test]
async fn a_dropped_command_is_killed() {
    let sleeper = spec("sleep 4246@.1 & sleep 4246@.2");
    let cut = tokio::time::timeout(Duration::from_millis(300), run(&sleeper)).await;
    assert!(cut.is_err());
    assert!(!runs("sleep 4246@."));
}

#[tokio::test]
async fn a_harness_answers_line_by_line() {
    let mut harness = JsonLines::start(&spec(
        "while read line; do echo \"<$line>\"; done; echo bye; echo log >&2",
    ))
    .expect("it starts");
    let wait = Duration::from_secs(5);
    assert_eq!(harness.ask("{}", wait).await.expect("an answer"), "<{}>");
    assert_eq!(harness.ask("1", wait).await.expect("an answer"), "<1>");
    let done = harness.close(wait).await;
    assert_eq!(text(&done.stdout), "<{}>\n<1>\nbye\n");
    assert_eq!(text(&done.stderr), "log\n");
    assert_eq!(done.failure, None);
}

#[tokio::test]
async fn a_harness_that_fails_is_killed() {
    type Wanted = fn(&Failure) -> bool;
    let cases: [(&str, Wanted); 5] = [
        ("read l; sleep 4247@.1", |f| {
            matches!(f, Failure::TimedOut { .. })
        }),
        ("read l; exit 9", |f| *f == Failure::Exit { code: 9 }),
        ("read l; kill -KILL $$", |f| {
            *f == Failure::Signal { signal: 9 }
        }),
        ("read l; head -c 2000000 /dev/zero; sleep 4247@.2", |f| {
            matches!(f, Failure::TooMuchOutput { .. })
        }),
        (
            "read l; echo 'no memory' >&2",
            |f| matches!(f, Failure::Harness { message } if message.contains("no memory")),
        ),
    ];
    for (script, wanted) in cases {
        let hangs = script.contains("4247@.1");
        let wait = Duration::from_millis(if hangs { 300 } else { 20_000 });
        let mut harness = JsonLines::start(&spec(script)).expect("it starts");
        let failure = harness.ask("x", wait).await.expect_err(script);
        assert!(wanted(&failure), "{script}: {failure:?}");
        assert!(harness.ask("x", wait).await.is_err());
        assert_eq!(harness.close(wait).await.failure, Some(failure), "{script}");
        assert!(!runs("sleep 4247@."), "{script}");
    }
}
