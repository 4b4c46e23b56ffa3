//! Garbage collection: what goes, what stays, and that it can be interrupted.

use std::collections::BTreeSet;
use std::fs::File;
use std::time::{Duration, SystemTime};

use db::artifacts;
use db::gc::{self, Plan, Policy};
use db::{Commit, Decision, RunId};

use crate::world::{DAY, World, commit};

fn now() -> i64 {
    let since = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap();
    i64::try_from(since.as_millis()).unwrap()
}

fn policy() -> Policy {
    Policy {
        now: now(),
        min_age_ms: DAY,
        keep_verdicts: vec!["landed".into(), "landed-sub-bar".into()],
        keep_decisions: vec!["land".into()],
        keep_bases: true,
    }
}

/// Makes every file of the store look as if it had been put three days ago.
fn age(world: &World) {
    let then = SystemTime::now() - Duration::from_secs(3 * 24 * 3600);
    for entry in world.store.iter().unwrap() {
        let (a, b) = (&entry.sha256[..2], &entry.sha256[2..4]);
        let path = world
            .store
            .root()
            .join(a)
            .join(b)
            .join(format!("{}.zst", entry.sha256));
        File::options()
            .append(true)
            .open(path)
            .unwrap()
            .set_modified(then)
            .unwrap();
    }
}

/// A run with base build `base`, head build `head`, a base sample and a head sample; closed and
/// judged.
async fn judged(world: &World, n: u32, verdict: &str) -> RunId {
    let run = world.run(1, n).await;
    world.build(run, "base", &format!("base of {n}")).await;
    world.build(run, "head", &format!("head of {n}")).await;
    world.sample(run, "base", 0, 1.0).await;
    world.sample(run, "head", 0, 2.0).await;
    world.event(run, "ended").await;
    world.judge(run, verdict).await;
    run
}

async fn plan(world: &World, policy: &Policy) -> Plan {
    let mut conn = world.db.read().await.unwrap();
    gc::plan(&mut conn, &world.store, policy).await.unwrap()
}

/// The contents that a plan removes.
fn going(world: &World, plan: &Plan) -> BTreeSet<String> {
    plan.remove
        .iter()
        .map(|removal| {
            let content = world.store.get_bytes(&removal.sha256, 1000).unwrap();
            String::from_utf8(content).unwrap()
        })
        .collect()
}

fn texts(all: &[&str]) -> BTreeSet<String> {
    all.iter().map(|&text| text.to_owned()).collect()
}

#[tokio::test]
async fn what_a_landed_round_or_a_base_needs_stays() {
    let world = World::new().await;
    judged(&world, 2, "landed").await;
    let dropped = judged(&world, 3, "reverted").await;
    judged(&world, 4, "landed-sub-bar").await;
    let mut tx = world.db.write().await.unwrap();
    let pack = world.put(&mut tx, "the pack of commit 3").await;
    db::commit_set_pack(&mut tx, &commit(3).sha, &crate::world::whole(&pack))
        .await
        .unwrap();
    tx.commit().await.unwrap();
    age(&world);

    let found = plan(&world, &policy()).await;
    let samples = [
        format!("run {dropped} base 0: 1 tok/s"),
        format!("run {dropped} head 0: 2 tok/s"),
    ];
    let head_only = [
        "engine of head of 3",
        "log of head of 3",
        &samples[0],
        &samples[1],
    ];
    assert_eq!(going(&world, &found), texts(&head_only));
    assert!(found.freed_bytes() > 0);
    let why: BTreeSet<_> = found.remove.iter().map(|r| r.reason.clone()).collect();
    assert!(why.contains(&format!("only needed as sample log of run {dropped}")));
    // Told to, it lets bases go, too; never those of a kept run, and never a commit.
    let without_bases = Policy {
        keep_bases: false,
        ..policy()
    };
    let found = plan(&world, &without_bases).await;
    let mut both = head_only.to_vec();
    both.extend(["engine of base of 3", "log of base of 3"]);
    assert_eq!(going(&world, &found), texts(&both));
}

#[tokio::test]
async fn unjudged_runs_decisions_and_either_side_of_a_correction_keep_theirs() {
    let world = World::new().await;
    let open = world.run(1, 2).await;
    world.build(open, "head", "open").await;
    let unjudged = world.run(1, 2).await;
    world.build(unjudged, "head", "unjudged").await;
    world.event(unjudged, "ended").await;
    let interrupted = world.run(1, 2).await;
    world.sample(interrupted, "head", 0, 1.0).await;
    world.event(interrupted, "interrupted").await;
    let decided = judged(&world, 3, "inconclusive").await;
    let corrected = judged(&world, 4, "landed").await;
    let raised = judged(&world, 5, "reverted").await;
    let mut tx = world.db.write().await.unwrap();
    let decision = Decision {
        at: 1,
        action: "land".into(),
        reason: "simpler code".into(),
        by: "owner".into(),
    };
    db::decision_insert(&mut tx, decided, &decision)
        .await
        .unwrap();
    for (run, old, new) in [
        (corrected, "landed", "reverted"),
        (raised, "reverted", "landed"),
    ] {
        let correction = db::Correction {
            at: 1,
            field: "verdict".into(),
            old_value: old.into(),
            new_value: new.into(),
            reason: "measured again".into(),
            by: "owner".into(),
            source_run_id: None,
        };
        db::correction_insert(&mut tx, run, &correction)
            .await
            .unwrap();
    }
    tx.commit().await.unwrap();
    age(&world);
    // Of the interrupted run, the log of its sample; the sample itself is a row and stays.
    let log = format!("run {interrupted} head 0: 1 tok/s");
    assert_eq!(
        going(&world, &plan(&world, &policy()).await),
        texts(&[&log])
    );
}

#[tokio::test]
async fn a_build_shared_with_a_kept_run_stays() {
    let world = World::new().await;
    let kept = judged(&world, 2, "landed").await;
    let dropped = judged(&world, 3, "reverted").await;
    let mut tx = world.db.write().await.unwrap();
    // Both runs use the content of one file.
    let shared = world.put(&mut tx, "shared").await;
    for run in [kept, dropped] {
        let file = db::RunArtifact {
            name: "sass".into(),
            artifact: shared.clone(),
        };
        db::run_artifact_insert(&mut tx, run, &file).await.unwrap();
    }
    tx.commit().await.unwrap();
    age(&world);
    assert!(!going(&world, &plan(&world, &policy()).await).contains("shared"));
}

#[tokio::test]
async fn young_content_stays_by_the_record_and_by_the_file() {
    let world = World::new().await;
    judged(&world, 3, "reverted").await;
    // The files are young, the rows are old.
    assert_eq!(plan(&world, &policy()).await.remove, []);
    age(&world);
    assert_eq!(plan(&world, &policy()).await.remove.len(), 4);
    // Put again, a file is young again, although its row is old.
    world.store.put_bytes(b"engine of head of 3").unwrap();
    assert_eq!(plan(&world, &policy()).await.remove.len(), 3);
    let careful = Policy {
        min_age_ms: 10 * DAY,
        ..policy()
    };
    assert_eq!(plan(&world, &careful).await.remove, []);
}

#[tokio::test]
async fn no_policy_can_endanger_a_run_in_progress() {
    let world = World::new().await;
    let mut tx = world.db.write().await.unwrap();
    world
        .put(&mut tx, "put a moment ago, not yet referred to")
        .await;
    tx.commit().await.unwrap();
    let reckless = Policy {
        min_age_ms: 0,
        keep_verdicts: Vec::new(),
        keep_decisions: Vec::new(),
        keep_bases: false,
        ..policy()
    };
    assert_eq!(plan(&world, &reckless).await.remove, []);
}

#[tokio::test]
async fn applying_removes_the_files_and_says_so_in_the_record() {
    let world = World::new().await;
    let dropped = judged(&world, 3, "reverted").await;
    age(&world);
    world.store.put_bytes(b"left by a killed process").unwrap();
    age(&world);
    let policy = policy();
    let found = plan(&world, &policy).await;
    assert_eq!((found.remove.len(), found.orphans.len()), (4, 1));
    let kept = found.kept;
    let done = gc::apply(&world.db, &world.store, &found).await.unwrap();
    assert_eq!((done.files, done.kept_after_all), (5, 0));
    assert_eq!(done.bytes, found.freed_bytes());
    assert_eq!(world.store.iter().unwrap().len() as u64, kept);

    let mut conn = world.db.read().await.unwrap();
    let samples = db::samples_by_run(&mut conn, dropped).await.unwrap();
    assert_eq!(samples.len(), 2, "the evidence itself stays");
    let log = samples[0].log_artifact.clone().unwrap();
    let row = artifacts::get(&mut conn, &log).await.unwrap().unwrap();
    assert_eq!(row.lost_at, Some(policy.now));
    assert_eq!(row.lost_reason.as_deref(), Some("removed by gc"));
    drop(conn);
    let again = plan(&world, &policy).await;
    assert_eq!((again.remove.len(), again.orphans.len()), (0, 0));
    assert!(world.db.integrity_check().await.unwrap().is_empty());
}

#[tokio::test]
async fn what_became_needed_after_the_plan_is_kept() {
    let world = World::new().await;
    let run = judged(&world, 3, "reverted").await;
    age(&world);
    let found = plan(&world, &policy()).await;
    assert_eq!(found.remove.len(), 4);
    world.judge(run, "landed").await;
    let done = gc::apply(&world.db, &world.store, &found).await.unwrap();
    assert_eq!((done.files, done.kept_after_all), (0, 4));
    assert_eq!(plan(&world, &policy()).await.missing.len(), 0);
}

#[tokio::test]
async fn a_collection_killed_between_noting_and_removing_is_finished_by_the_next() {
    let world = World::new().await;
    judged(&world, 3, "reverted").await;
    age(&world);
    let found = plan(&world, &policy()).await;
    let mut tx = world.db.write().await.unwrap();
    for removal in &found.remove {
        artifacts::mark_lost(&mut tx, &removal.sha256, 5, "removed by gc")
            .await
            .unwrap();
    }
    tx.commit().await.unwrap();
    let next = plan(&world, &policy()).await;
    assert_eq!((next.remove.len(), next.orphans.len()), (0, 4));
    // Meanwhile one of them was stored again.
    let mut tx = world.db.write().await.unwrap();
    world.put(&mut tx, "engine of head of 3").await;
    tx.commit().await.unwrap();
    let done = gc::apply(&world.db, &world.store, &next).await.unwrap();
    assert_eq!((done.files, done.kept_after_all), (3, 1));
    let text = world.store.put_bytes(b"engine of head of 3").unwrap();
    assert!(world.store.contains(&text.sha256).unwrap());
}

#[tokio::test]
async fn files_that_are_missing_are_found_and_noted() {
    let world = World::new().await;
    let mut tx = world.db.write().await.unwrap();
    let pack = world.put(&mut tx, "a pack").await;
    let with_pack = Commit {
        pack_artifact: Some(pack.clone()),
        pack_base: None,
        ..commit(1)
    };
    db::commit_upsert(&mut tx, &with_pack).await.unwrap();
    tx.commit().await.unwrap();
    world.store.remove(&pack).unwrap();
    let found = plan(&world, &policy()).await;
    assert_eq!(found.missing, [pack.as_str()]);
    gc::apply(&world.db, &world.store, &found).await.unwrap();
    let mut conn = world.db.read().await.unwrap();
    let row = artifacts::get(&mut conn, &pack).await.unwrap().unwrap();
    assert_eq!(row.lost_reason.as_deref(), Some("found missing by gc"));
}

#[tokio::test]
async fn half_written_files_of_killed_processes_are_swept() {
    let world = World::new().await;
    let tmp = world.store.root().join("tmp");
    let then = SystemTime::now() - Duration::from_secs(3 * 24 * 3600);
    let old = File::create(tmp.join("put-old")).unwrap();
    old.set_modified(then).unwrap();
    File::create(tmp.join("put-new")).unwrap();
    let found = plan(&world, &policy()).await;
    let done = gc::apply(&world.db, &world.store, &found).await.unwrap();
    assert_eq!(done.files, 1);
    assert!(tmp.join("put-new").exists());
    assert!(!tmp.join("put-old").exists());
}
