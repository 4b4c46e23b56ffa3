//! `kill -9` at any moment, and several processes at once: nothing recorded is lost or torn.
//!
//! The parent starts this test binary again as a child that records samples in a loop and says
//! which ones are committed.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use db::artifacts::{self, Store};
use db::{Db, RunId};

use crate::world::{insert_run, sample};

const FOLDER: &str = "ROUNDHOUSE_TEST_CRASH_FOLDER";
const LIMIT: &str = "ROUNDHOUSE_TEST_CRASH_SAMPLES";

/// What a child writes as the log of a sample.
fn log_text(run: RunId, n: u32) -> String {
    format!("run {run}, sample {n}\n").repeat(200)
}

/// The child: a new run, then samples until it is killed or has stored the wanted number. Prints
/// `run ID`, then `sample N` after each commit.
#[tokio::test]
#[ignore = "the child process of the tests in this file"]
async fn recorder() {
    let folder = std::env::var(FOLDER).expect("this is started by the tests beside it");
    let limit: u32 = std::env::var(LIMIT).unwrap().parse().unwrap();
    let folder = Path::new(&folder);
    let db = Db::open(&folder.join("roundhouse.db")).await.unwrap();
    let store = Store::open(&folder.join("artifacts")).unwrap();
    let mut tx = db.write().await.unwrap();
    let run = insert_run(&mut tx, 1, 2).await;
    tx.commit().await.unwrap();
    println!("run {run}");
    for n in 0..limit {
        let stored = store.put_bytes(log_text(run, n).as_bytes()).unwrap();
        let mut sample = sample("base", n, f64::from(n) + 1.0);
        sample.log_artifact = Some(stored.sha256.clone());
        let mut tx = db.write().await.unwrap();
        artifacts::record(&mut tx, &store, &stored, 1)
            .await
            .unwrap();
        db::sample_append(&mut tx, run, &sample).await.unwrap();
        tx.commit().await.unwrap();
        println!("sample {n}");
    }
}

fn start(folder: &Path, samples: u32) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::recorder", "--ignored", "--nocapture"])
        .env(FOLDER, folder)
        .env(LIMIT, samples.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap()
}

/// When a child is killed.
#[derive(Debug, Clone, Copy)]
enum Kill {
    /// So many milliseconds after it was started.
    After(u64),
    /// When it has said that it stored so many samples.
    Stored(u32),
    /// Never; it ends by itself.
    Never,
}

/// What a child said: its run, and how many samples it knows to be committed. The test harness
/// writes lines of its own around them.
fn watch(child: &mut Child, kill: Kill) -> (Option<RunId>, u32) {
    if let Kill::After(ms) = kill {
        std::thread::sleep(Duration::from_millis(ms));
        child.kill().unwrap();
    }
    let (mut run, mut samples) = (None, 0);
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while lines.read_line(&mut line).unwrap() > 0 {
        // A line that was cut short by the kill says nothing certain.
        let whole = line.ends_with('\n');
        let text = line.trim_end();
        if let Some((_, id)) = text.split_once("run ").filter(|_| whole) {
            run = id.parse().map(RunId).ok().or(run);
        }
        if let Some(n) = text.strip_prefix("sample ").filter(|_| whole) {
            samples = n.parse::<u32>().unwrap() + 1;
            if matches!(kill, Kill::Stored(wanted) if samples == wanted) {
                child.kill().unwrap();
            }
        }
        line.clear();
    }
    (run, samples)
}

/// Every sample of the run is whole, and its log is in the store.
async fn check_run(db: &Db, store: &Store, run: RunId) -> u32 {
    let mut conn = db.read().await.unwrap();
    let samples = db::samples_by_run(&mut conn, run).await.unwrap();
    for (n, sample) in (0u32..).zip(&samples) {
        assert_eq!((sample.pair, sample.value), (n, Some(f64::from(n) + 1.0)));
        let log = sample.log_artifact.as_ref().unwrap();
        let content = store.get_bytes(log, 1 << 20).unwrap();
        assert_eq!(content, log_text(run, n).as_bytes());
        let row = artifacts::get(&mut conn, log).await.unwrap().unwrap();
        assert_eq!(row.lost_at, None);
    }
    u32::try_from(samples.len()).unwrap()
}

#[tokio::test]
async fn kill_9_at_any_moment_loses_nothing_that_was_committed() {
    let dir = tempfile::tempdir().unwrap();
    let mut recorded = 0;
    let mut open = 0;
    // From before the database exists, through its making, to the middle of recording.
    let early = [0, 5, 12, 20, 30, 45, 60, 83, 110, 151, 207].map(Kill::After);
    let late = [1, 2, 7, 20].map(Kill::Stored);
    for kill in early.into_iter().chain(late) {
        let mut child = start(dir.path(), u32::MAX);
        let (run, committed) = watch(&mut child, kill);
        assert!(!child.wait().unwrap().success());

        let db = Db::open(&dir.path().join("roundhouse.db")).await.unwrap();
        let store = Store::open(&dir.path().join("artifacts")).unwrap();
        let wrong = db.integrity_check().await.unwrap();
        assert!(wrong.is_empty(), "{kill:?}: {wrong:?}");
        let mut conn = db.read().await.unwrap();
        let runs = db::runs_open(&mut conn).await.unwrap();
        drop(conn);
        if let Some(run) = run {
            let found = check_run(&db, &store, run).await;
            // One more where the kill came between the commit and the word of it.
            let bounds = committed..=committed + 1;
            assert!(bounds.contains(&found), "{kill:?}: {found}, not {bounds:?}");
            recorded += found;
            assert_eq!(runs[0].id, run, "the next start sees what was interrupted");
        }
        assert!(runs.len() >= open, "an earlier run is gone");
        open = runs.len();
        db.close().await;
    }
    assert!(
        recorded > 0,
        "no child lived long enough to record a sample"
    );
}

#[tokio::test]
async fn several_processes_make_and_fill_one_database() {
    let dir = tempfile::tempdir().unwrap();
    let mut children: Vec<Child> = (0..4).map(|_| start(dir.path(), 15)).collect();
    let said: Vec<_> = children
        .iter_mut()
        .map(|child| watch(child, Kill::Never))
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let db = Db::open_existing(&dir.path().join("roundhouse.db"))
        .await
        .unwrap();
    let store = Store::open(&dir.path().join("artifacts")).unwrap();
    for (run, committed) in said {
        assert_eq!(committed, 15);
        assert_eq!(check_run(&db, &store, run.unwrap()).await, 15);
    }
    assert!(db.integrity_check().await.unwrap().is_empty());
}
