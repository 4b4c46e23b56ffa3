//! Anchors and the runs against them.

use crate::world::{World, insert_run_for, sha};
use db::{AnchorId, BuildId, NewAnchor, Purpose, RunId};

fn pinning(commit: u32, build: BuildId) -> NewAnchor {
    NewAnchor {
        campaign: "mmqr".into(),
        at: 7,
        commit_sha: sha(commit),
        build_id: build,
        config_json: "{}".into(),
        by: "me".into(),
    }
}

/// Pins commit 1 by the base's build of a run on it; gives the anchor.
pub async fn pinned(world: &World) -> AnchorId {
    let run = world.run(1, 2).await;
    let build = world.build(run, "base", "of the anchor").await;
    let mut tx = world.db.write().await.unwrap();
    let anchor = db::anchor_insert(&mut tx, &pinning(1, build))
        .await
        .unwrap();
    tx.commit().await.unwrap();
    anchor
}

/// A run of commit 3 against an anchor.
pub async fn measured(world: &World, anchor: AnchorId) -> RunId {
    let mut tx = world.db.write().await.unwrap();
    let run = insert_run_for(&mut tx, 1, 3, Purpose::Anchor).await;
    db::anchor_run_insert(&mut tx, run, anchor, "[]")
        .await
        .unwrap();
    tx.commit().await.unwrap();
    run
}

#[tokio::test]
async fn an_anchor_replaces_the_newest_and_keeps_its_own_series() {
    let world = World::new().await;
    let first = pinned(&world).await;
    let run = measured(&world, first).await;
    let second = pinned(&world).await;
    let mut conn = world.db.read().await.unwrap();
    let anchors = db::anchors_by_campaign(&mut conn, "mmqr").await.unwrap();
    let ids: Vec<_> = anchors.iter().map(|a| (a.id, a.replaces)).collect();
    assert_eq!(ids, [(second, Some(first)), (first, None)]);
    let runs = db::runs_by_anchor(&mut conn, first).await.unwrap();
    assert_eq!(runs.len(), 1);
    assert_eq!((runs[0].run_id, &runs[0].head_sha), (run, &sha(3)));
    assert_eq!(runs[0].verdict, None);
    assert!(
        db::runs_by_anchor(&mut conn, second)
            .await
            .unwrap()
            .is_empty()
    );
}

#[tokio::test]
async fn only_a_run_for_it_and_against_it_is_of_its_series() {
    let world = World::new().await;
    let anchor = pinned(&world).await;
    for (base, purpose) in [(1, Purpose::Lever), (2, Purpose::Anchor)] {
        let mut tx = world.db.write().await.unwrap();
        let run = insert_run_for(&mut tx, base, 3, purpose).await;
        let refused = db::anchor_run_insert(&mut tx, run, anchor, "[]").await;
        let error = refused.unwrap_err().to_string();
        assert!(error.contains("store a run against an anchor"), "{error}");
    }
    let mut tx = world.db.write().await.unwrap();
    let forged = sqlx::query(
        "INSERT INTO anchor (campaign, at, commit_sha, build_id, config_json, by, replaces)
         SELECT campaign, at, commit_sha, build_id, config_json, by, NULL FROM anchor",
    );
    let error = forged.execute(&mut *tx).await.unwrap_err();
    assert!(error.to_string().contains("the newest one"), "{error}");
}

#[tokio::test]
async fn the_build_of_a_commit_is_one_that_is_whole() {
    let world = World::new().await;
    let run = world.run(1, 2).await;
    let older = world.build(run, "base", "a").await;
    let newer = world.build(run, "head", "b").await;
    let mut tx = world.db.write().await.unwrap();
    let build = db::build_get(&mut tx, newer).await.unwrap().unwrap();
    let found = db::build_of_commit(&mut tx, &build.commit_sha)
        .await
        .unwrap();
    assert_eq!(found.map(|b| b.id), Some(newer));
    let output = db::outputs_by_build(&mut tx, newer).await.unwrap();
    db::artifacts::mark_lost(&mut tx, &output[0].artifact, 9, "a test")
        .await
        .unwrap();
    let found = db::build_of_commit(&mut tx, &build.commit_sha)
        .await
        .unwrap();
    assert_eq!(found.map(|b| b.id), Some(older));
    let none = db::build_of_commit(&mut tx, &sha(99)).await.unwrap();
    assert_eq!(none, None);
}
