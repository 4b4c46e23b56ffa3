//! A database and a store in a temporary folder, and shorthand to fill them.

use db::artifacts::{self, Store};
use db::{
    BuildId, BuildOutput, Campaign, Commit, Conn, Db, Fingerprinted, NewBuild, NewJudgement,
    NewRun, RunBuild, RunEvent, RunId, Sample, Seed,
};
use tempfile::TempDir;

/// A day in milliseconds; run `n` takes place on day `n`.
pub const DAY: i64 = 24 * 60 * 60 * 1000;

pub struct World {
    _dir: TempDir,
    pub db: Db,
    pub store: Store,
}

impl World {
    pub async fn new() -> World {
        let dir = tempfile::tempdir().unwrap();
        let db = Db::open(&dir.path().join("roundhouse.db")).await.unwrap();
        let store = Store::open(&dir.path().join("artifacts")).unwrap();
        World {
            _dir: dir,
            db,
            store,
        }
    }

    /// A run of commit `head` against commit `base`, begun on day `head`.
    pub async fn run(&self, base: u32, head: u32) -> RunId {
        let mut tx = self.db.write().await.unwrap();
        let run = insert_run(&mut tx, base, head).await;
        tx.commit().await.unwrap();
        run
    }

    pub async fn event(&self, run: RunId, kind: &str) {
        let mut tx = self.db.write().await.unwrap();
        db::run_event_append(&mut tx, run, &event(kind))
            .await
            .unwrap();
        tx.commit().await.unwrap();
    }

    /// A pair sample with its log in the store.
    pub async fn sample(&self, run: RunId, side: &str, pair: u32, value: f64) {
        let mut sample = sample(side, pair, value);
        let mut tx = self.db.write().await.unwrap();
        let text = format!("run {run} {side} {pair}: {value} tok/s");
        sample.log_artifact = Some(self.put(&mut tx, &text).await);
        db::sample_append(&mut tx, run, &sample).await.unwrap();
        tx.commit().await.unwrap();
    }

    pub async fn judge(&self, run: RunId, verdict: &str) {
        let mut tx = self.db.write().await.unwrap();
        db::judgement_insert(&mut tx, run, &judgement(verdict))
            .await
            .unwrap();
        tx.commit().await.unwrap();
    }

    /// A build under a key with one output, `engine`, used as a side of the run.
    pub async fn build(&self, run: RunId, side: &str, key: &str) -> BuildId {
        let mut tx = self.db.write().await.unwrap();
        let output = self.put(&mut tx, &format!("engine of {key}")).await;
        let mut new = build(&mut tx, key).await;
        new.log_artifact = Some(self.put(&mut tx, &format!("log of {key}")).await);
        let build = db::build_insert(&mut tx, &new).await.unwrap();
        let outputs = [BuildOutput {
            path: "engine".into(),
            artifact: output,
            bytes: 10,
            executable: true,
        }];
        db::build_outputs_insert(&mut tx, build, &outputs)
            .await
            .unwrap();
        let used = RunBuild {
            side: side.into(),
            build_id: build,
            cached: false,
        };
        db::run_build_insert(&mut tx, run, &used).await.unwrap();
        tx.commit().await.unwrap();
        build
    }

    /// Stores content as on day 0.
    pub async fn put(&self, conn: &mut Conn, text: &str) -> String {
        let stored = self.store.put_bytes(text.as_bytes()).unwrap();
        artifacts::record(conn, &self.store, &stored, 0)
            .await
            .unwrap();
        stored.sha256
    }
}

/// A full object name that begins with eight digits of `n`.
pub fn sha(n: u32) -> String {
    format!("{n:08x}{}", "0".repeat(32))
}

/// Commit `n`: tree `n` + 0x1000, patch-id `n` + 0x2000.
pub fn commit(n: u32) -> Commit {
    Commit {
        sha: sha(n),
        tree: sha(n + 0x1000),
        patch_id: Some(sha(n + 0x2000)),
        parent: None,
        subject: format!("mmq: lever {n}"),
        message: format!("mmq: lever {n}\n\nRound: r{n}\n"),
        author: "A. Person".into(),
        committed_at: i64::from(n) * DAY,
        pack_artifact: None,
        pack_base: None,
    }
}

pub async fn insert_run(conn: &mut Conn, base: u32, head: u32) -> RunId {
    insert_run_for(conn, base, head, db::Purpose::Lever).await
}

pub async fn insert_run_for(conn: &mut Conn, base: u32, head: u32, purpose: db::Purpose) -> RunId {
    let campaign = Campaign {
        name: "mmqr".into(),
        title: "q4_K MMQ".into(),
        created_at: 0,
    };
    db::campaign_upsert(conn, &campaign).await.unwrap();
    for n in [base, head] {
        db::commit_upsert(conn, &commit(n)).await.unwrap();
    }
    let known: i64 = sqlx::query_scalar("SELECT count(*) FROM run")
        .fetch_one(&mut *conn)
        .await
        .unwrap();
    let new = NewRun {
        uuid: format!("run-{known}-of-{head}"),
        campaign: "mmqr".into(),
        base_sha: sha(base),
        head_sha: sha(head),
        config_json: "{}".into(),
        config_sha256: "c".repeat(64),
        registration_json: r#"{"round":"r22"}"#.into(),
        registration_sha256: "d".repeat(64),
        registered_at: i64::from(head) * DAY,
        machine_id: machine(conn).await,
        toolchain_id: None,
        seed: Seed(u64::MAX),
        runner_version: "0.1.0".into(),
        runner_sha256: "e".repeat(64),
        started_at: i64::from(head) * DAY,
        replay_of: None,
        purpose,
    };
    db::run_insert(conn, &new).await.unwrap()
}

pub async fn machine(conn: &mut Conn) -> db::MachineId {
    let machine = Fingerprinted {
        fingerprint: "gb10".into(),
        json: r#"{"gpu":"NVIDIA GB10"}"#.into(),
    };
    db::machine_id(conn, &machine).await.unwrap()
}

/// A successful build of commit 1 to store.
pub async fn build(conn: &mut Conn, key: &str) -> NewBuild {
    db::commit_upsert(conn, &commit(1)).await.unwrap();
    NewBuild {
        key: key.into(),
        tree: sha(0x1001),
        commit_sha: sha(1),
        config_json: "{}".into(),
        toolchain_id: None,
        machine_id: machine(conn).await,
        started_at: 1,
        wall_ms: 2,
        failure_json: None,
        first_error: None,
        log_artifact: None,
        report_artifact: None,
    }
}

pub fn event(kind: &str) -> RunEvent {
    RunEvent {
        at: 5,
        kind: kind.into(),
        detail_json: "{}".into(),
    }
}

pub fn sample(side: &str, pair: u32, value: f64) -> Sample {
    Sample {
        bench: "prefill".into(),
        side: side.into(),
        role: "pair".into(),
        pair,
        slot: u8::from(side == "head"),
        attempt: 1,
        started_at: 7,
        wall_ms: 1000.5,
        answer_ms: None,
        value: Some(value),
        inner_json: "[1.5,2.5]".into(),
        failure_json: None,
        log_artifact: None,
    }
}

pub fn judgement(verdict: &str) -> NewJudgement {
    NewJudgement {
        at: 9,
        verdict: verdict.into(),
        headline: format!("it is {verdict}"),
        json: r#"{"schema":1}"#.into(),
        judge_version: "1".into(),
        reason: "measured".into(),
    }
}

/// A commit's pack that needs no other.
pub fn whole(artifact: &str) -> db::CommitPack {
    db::CommitPack {
        artifact: artifact.to_owned(),
        base: None,
    }
}

/// A profile with one launch.
pub fn profile(side: &str) -> db::CounterProfile {
    let value = |metric: &str, value: f64| db::CounterValue {
        metric: metric.into(),
        unit: "inst".into(),
        value,
    };
    db::CounterProfile {
        at: 8,
        entry: "q_proj".into(),
        side: side.into(),
        profiler: Some("Nsight Compute 2025.3.1".into()),
        absent_json: "[]".into(),
        failure_json: None,
        log_artifact: None,
        launches: vec![db::CounterLaunch {
            kernel: "mmq_wide".into(),
            arch: Some("sm_90".into()),
            grid: "(28, 21, 1)".into(),
            block: "(256, 1, 1)".into(),
            values: vec![
                value("smsp__inst_executed.sum", 189_928_256.0),
                value("sm__cycles_active.avg", 816_492.93),
            ],
        }],
    }
}
