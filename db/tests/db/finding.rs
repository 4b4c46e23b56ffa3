//! Runs are found again by commit, tree or patch-id; builds by key.

use db::{Candidate, CommitNames, Found, MatchedBy, RunId};

use crate::world::{World, commit, sha};

async fn find(world: &World, text: &str) -> Found {
    let mut conn = world.db.read().await.unwrap();
    db::run_find(&mut conn, text).await.unwrap()
}

fn runs(found: Found) -> (MatchedBy, Vec<RunId>) {
    match found {
        Found::Runs { by, runs } => (by, runs.into_iter().map(|run| run.id).collect()),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_run_is_found_by_its_heads_names_whole_or_abbreviated() {
    let world = World::new().await;
    let first = world.run(0x11, 0x22).await;
    let again = world.run(0x11, 0x22).await;
    world.run(0x11, 0x33).await;
    let names = commit(0x22);
    let both = vec![again, first];
    for (text, by) in [
        (names.sha.clone(), MatchedBy::Commit),
        (names.sha[..8].to_owned(), MatchedBy::Commit),
        (
            format!("  {}\n", names.sha[..10].to_uppercase()),
            MatchedBy::Commit,
        ),
        (names.tree.clone(), MatchedBy::Tree),
        (names.tree[..9].to_owned(), MatchedBy::Tree),
        (sha(0x2022), MatchedBy::PatchId),
        (sha(0x2022)[..8].to_owned(), MatchedBy::PatchId),
    ] {
        assert_eq!(
            runs(find(&world, &text).await),
            (by, both.clone()),
            "{text}"
        );
    }
    let (by, ids) = runs(find(&world, "run-1-of-34").await);
    assert_eq!((by, ids), (MatchedBy::Uuid, vec![again]));
}

#[tokio::test]
async fn the_runs_on_a_base_are_found_by_its_commit() {
    let world = World::new().await;
    let first = world.run(0x11, 0x22).await;
    let second = world.run(0x11, 0x33).await;
    world.run(0x22, 0x33).await;
    let mut conn = world.db.read().await.unwrap();
    for text in [&commit(0x11).sha[..], &commit(0x11).sha[..39]] {
        let (base, runs) = db::runs_on_base(&mut conn, text)
            .await
            .unwrap()
            .expect("it is a base");
        assert_eq!(base.name, commit(0x11).sha);
        let ids: Vec<RunId> = runs.iter().map(|run| run.id).collect();
        assert_eq!(ids, [second, first]);
    }
    // No base; several of them; too short.
    for text in [&commit(0x33).sha[..], &commit(0x11).sha[..4], "0"] {
        let found = db::runs_on_base(&mut conn, text).await.unwrap();
        assert_eq!(found, None, "{text}");
    }
}

#[tokio::test]
async fn what_is_not_there_or_too_short_finds_nothing() {
    let world = World::new().await;
    world.run(0x11, 0x22).await;
    for text in [
        "feedbeef",
        "000",
        "",
        "HEAD~1",
        "' OR 1=1 --",
        "0000002g",
        "00%",
    ] {
        assert_eq!(find(&world, text).await, Found::Nothing, "{text}");
    }
    // A base that was never a head is no lever.
    assert_eq!(find(&world, &sha(0x11)).await, Found::Nothing);
    let mut conn = world.db.read().await.unwrap();
    let known = db::commits_by_prefix(&mut conn, &sha(0x11)[..8])
        .await
        .unwrap();
    assert_eq!(known, [commit(0x11)]);
}

#[tokio::test]
async fn an_ambiguous_abbreviation_lists_what_it_fits() {
    let world = World::new().await;
    world.run(0x11, 0x22).await;
    world.run(0x11, 0x23).await;
    let candidate = |n: u32| Candidate {
        name: sha(n),
        subject: format!("mmq: lever {n}"),
    };
    assert_eq!(
        find(&world, "0000002").await,
        Found::Ambiguous {
            by: MatchedBy::Commit,
            candidates: vec![candidate(0x22), candidate(0x23)],
        }
    );
    let Found::Ambiguous { by, candidates } = find(&world, "0000102").await else {
        panic!("two trees begin so");
    };
    assert_eq!(by, MatchedBy::Tree);
    assert_eq!(candidates.len(), 2);
}

#[tokio::test]
async fn a_rewritten_commit_is_found_by_tree_else_by_patch_id() {
    let world = World::new().await;
    let run = world.run(0x11, 0x22).await;
    let amended = CommitNames {
        sha: sha(0x99),
        tree: sha(0x1022),
        patch_id: Some(sha(0x2022)),
    };
    let rebased = CommitNames {
        tree: sha(0x98),
        ..amended.clone()
    };
    let other = CommitNames {
        patch_id: None,
        ..rebased.clone()
    };
    let mut conn = world.db.read().await.unwrap();
    let found = db::runs_of_commit(&mut conn, &amended).await.unwrap();
    assert_eq!(runs(found), (MatchedBy::Tree, vec![run]));
    let found = db::runs_of_commit(&mut conn, &rebased).await.unwrap();
    assert_eq!(runs(found), (MatchedBy::PatchId, vec![run]));
    let found = db::runs_of_commit(&mut conn, &other).await.unwrap();
    assert_eq!(found, Found::Nothing);
}

#[tokio::test]
async fn the_newest_successful_build_with_all_its_files_counts() {
    let world = World::new().await;
    let run = world.run(1, 2).await;
    let mut conn = world.db.read().await.unwrap();
    assert_eq!(db::build_usable(&mut conn, "k").await.unwrap(), None);
    drop(conn);
    let good = world.build(run, "base", "k").await;

    let mut tx = world.db.write().await.unwrap();
    let mut failed = crate::world::build(&mut tx, "k").await;
    failed.failure_json = Some(r#"{"kind":"exit","code":2}"#.into());
    failed.first_error = Some("mmq.cu(3): error: expected a `;`".into());
    let failed_id = db::build_insert(&mut tx, &failed).await.unwrap();
    tx.commit().await.unwrap();

    let mut tx = world.db.write().await.unwrap();
    let usable = db::build_usable(&mut tx, "k").await.unwrap().unwrap();
    assert_eq!(usable.id, good);
    let attempts = db::builds_by_key(&mut tx, "k").await.unwrap();
    let ids: Vec<_> = attempts.iter().map(|build| build.id).collect();
    assert_eq!(ids, [failed_id, good]);
    assert_eq!(attempts[0].first_error, failed.first_error);

    let output = db::outputs_by_build(&mut tx, good).await.unwrap().remove(0);
    assert!(output.executable);
    db::artifacts::mark_lost(&mut tx, &output.artifact, 9, "damaged")
        .await
        .unwrap();
    assert_eq!(db::build_usable(&mut tx, "k").await.unwrap(), None);
    // Stored again, it is usable again.
    world.put(&mut tx, "engine of k").await;
    let usable = db::build_usable(&mut tx, "k").await.unwrap().unwrap();
    assert_eq!(usable.id, good);
    let sides = db::builds_by_run(&mut tx, run).await.unwrap();
    assert_eq!((sides[0].side.as_str(), sides[0].cached), ("base", false));
}
