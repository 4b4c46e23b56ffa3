//! Lesson 30: nothing that was recorded can be changed, by any statement, in any evidence table.

use crate::world::{World, commit, event, sample};
use db::{
    BuildListing, Claim, Confirmation, Correction, Decision, Error, Fingerprinted, Gate, Kernel,
    RunArtifact,
};

/// A database in which every table has a row.
async fn full() -> World {
    let world = World::new().await;
    let run = world.run(1, 2).await;
    let build = world.build(run, "base", "k").await;
    let mut tx = world.db.write().await.unwrap();
    let log = world.put(&mut tx, "a log").await;
    let toolchain = Fingerprinted {
        fingerprint: "t".into(),
        json: "{}".into(),
    };
    db::toolchain_id(&mut tx, &toolchain).await.unwrap();
    db::kernels_insert(&mut tx, build, &[kernel()])
        .await
        .unwrap();
    let listing = BuildListing {
        container: "engine#0".into(),
        artifact: log.clone(),
    };
    db::build_listings_insert(&mut tx, build, &[listing])
        .await
        .unwrap();
    db::run_event_append(&mut tx, run, &event("note"))
        .await
        .unwrap();
    db::run_document_insert(&mut tx, run, "code", "{}")
        .await
        .unwrap();
    let file = RunArtifact {
        name: "sass".into(),
        artifact: log.clone(),
    };
    db::run_artifact_insert(&mut tx, run, &file).await.unwrap();
    db::gate_append(&mut tx, run, &gate(&log)).await.unwrap();
    db::claims_insert(&mut tx, run, &[claim()]).await.unwrap();
    db::counter_profiles_insert(&mut tx, run, &[crate::world::profile("base")])
        .await
        .unwrap();
    let seq = db::sample_append(&mut tx, run, &sample("base", 0, 1.0))
        .await
        .unwrap();
    db::sample_facts_insert(&mut tx, run, seq, "{}")
        .await
        .unwrap();
    db::judgement_insert(&mut tx, run, &crate::world::judgement("landed"))
        .await
        .unwrap();
    let decision = Decision {
        at: 1,
        action: "land".into(),
        reason: "it helps".into(),
        by: "me".into(),
    };
    db::decision_insert(&mut tx, run, &decision).await.unwrap();
    let correction = Correction {
        at: 1,
        field: "verdict".into(),
        old_value: "landed".into(),
        new_value: "reverted".into(),
        reason: "wrong base".into(),
        by: "me".into(),
        source_run_id: None,
    };
    db::correction_insert(&mut tx, run, &correction)
        .await
        .unwrap();
    tx.commit().await.unwrap();
    let confirming = world.run(1, 2).await;
    let mut tx = world.db.write().await.unwrap();
    db::confirmation_insert(&mut tx, confirming, &confirmation(run))
        .await
        .unwrap();
    tx.commit().await.unwrap();
    world.event(confirming, "ended").await;
    world
}

fn confirmation(confirms: db::RunId) -> Confirmation {
    Confirmation {
        confirms,
        at: 1,
        reason: "open".into(),
    }
}

#[tokio::test]
async fn a_confirmation_is_declared_first_and_alone() {
    let world = World::new().await;
    let (first, late, open, second) = (
        world.run(1, 2).await,
        world.run(1, 2).await,
        world.run(1, 2).await,
        world.run(1, 2).await,
    );
    world.sample(late, "base", 0, 1.0).await;
    let mut tx = world.db.write().await.unwrap();
    let declared = confirmation(first);
    let refused = |result: db::Result<()>| match result {
        Err(Error::Refused { rule, .. }) => rule,
        other => panic!("{other:?}"),
    };
    let rule = refused(db::confirmation_insert(&mut tx, late, &declared).await);
    assert!(rule.contains("before its first sample"), "{rule}");
    db::confirmation_insert(&mut tx, open, &declared)
        .await
        .unwrap();
    let rule = refused(db::confirmation_insert(&mut tx, second, &declared).await);
    assert!(rule.contains("in progress"), "{rule}");
    let stored = db::confirmation_get(&mut tx, open).await.unwrap();
    assert_eq!(stored, Some(declared));
    assert_eq!(db::confirmation_get(&mut tx, first).await.unwrap(), None);
}

fn kernel() -> Kernel {
    Kernel {
        name: "mmq_wide".into(),
        symbol: "_Z8mmq_wide".into(),
        arch: "sm_121".into(),
        container: "engine#0".into(),
        code_hash: "h".into(),
        registers: 141,
        spill_stores: 0,
        spill_loads: 0,
        stack_bytes: 0,
        static_smem: 0,
        barriers: 1,
        max_threads: Some(256),
        required_threads: None,
        param_bytes: 64,
        code_bytes: 4096,
        census_json: Some(r#"{"total":1,"opcodes":{"LDSM":1}}"#.into()),
    }
}

fn gate(log: &str) -> Gate {
    Gate {
        kind: "parity".into(),
        name: "KD=4".into(),
        side: Some("head".into()),
        outcome: "passed".into(),
        reason: None,
        figures_json: "[]".into(),
        failure_json: None,
        logs: vec![log.into()],
    }
}

fn claim() -> Claim {
    Claim {
        text: "sass mmq_nb LDS.64 == 0".into(),
        source: "trailer".into(),
        outcome: "holds".into(),
        expected: "== 0".into(),
        observed: "0".into(),
        reason: None,
    }
}

/// Every table of the schema, from the schema itself: a new table is covered when it is made.
async fn tables(world: &World) -> Vec<String> {
    let mut conn = world.db.read().await.unwrap();
    sqlx::query_scalar(
        "SELECT name FROM sqlite_schema
         WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> '_sqlx_migrations'",
    )
    .fetch_all(&mut *conn)
    .await
    .unwrap()
}

/// Runs one statement in a transaction of its own that is rolled back.
async fn attempt(world: &World, sql: String) -> Result<u64, String> {
    let mut tx = world.db.write().await.unwrap();
    match sqlx::query(sqlx::AssertSqlSafe(sql))
        .execute(&mut *tx)
        .await
    {
        Ok(done) => Ok(done.rows_affected()),
        Err(e) => Err(e.to_string()),
    }
}

#[tokio::test]
async fn every_evidence_table_refuses_update_delete_and_replace() {
    let world = full().await;
    let tables = tables(&world).await;
    assert!(tables.iter().any(|table| table == "sample"), "{tables:?}");
    // Each holds a row: a statement that found none would succeed, and the test would fail.
    for table in tables {
        // A campaign's title may change; it is no evidence.
        if table == "campaign" {
            continue;
        }
        let mut conn = world.db.read().await.unwrap();
        let column: String = sqlx::query_scalar(sqlx::AssertSqlSafe(format!(
            "SELECT name FROM pragma_table_info('{table}') LIMIT 1"
        )))
        .fetch_one(&mut *conn)
        .await
        .unwrap();
        drop(conn);
        for sql in [
            // A value of its own where a column may be filled in once: any change is refused.
            format!("UPDATE {table} SET {column} = CAST({column} AS TEXT) || '0'"),
            format!("DELETE FROM {table}"),
            format!("INSERT OR REPLACE INTO {table} SELECT * FROM {table}"),
        ] {
            let refused = attempt(&world, sql.clone()).await.expect_err(&sql);
            assert!(refused.contains("append-only"), "{sql}: {refused}");
        }
    }
}

#[tokio::test]
async fn a_change_to_the_same_value_is_refused_too() {
    let world = full().await;
    for sql in [
        "UPDATE sample SET value = value",
        "UPDATE run SET registration_json = registration_json",
        "UPDATE judgement SET verdict = 'landed'",
        "UPDATE git_commit SET subject = 'another'",
    ] {
        let refused = attempt(&world, sql.into()).await.expect_err(sql);
        assert!(refused.contains("append-only"), "{sql}: {refused}");
    }
}

#[tokio::test]
async fn a_commit_takes_its_pack_once() {
    let world = full().await;
    let mut tx = world.db.write().await.unwrap();
    let first = world.put(&mut tx, "pack 1").await;
    let second = world.put(&mut tx, "pack 2").await;
    let sha = commit(1).sha;
    assert!(
        db::commit_set_pack(&mut tx, &sha, &crate::world::whole(&first))
            .await
            .unwrap()
    );
    assert!(
        !db::commit_set_pack(&mut tx, &sha, &crate::world::whole(&second))
            .await
            .unwrap()
    );
    let again = db::Commit {
        pack_artifact: Some(second),
        pack_base: None,
        ..commit(1)
    };
    db::commit_upsert(&mut tx, &again).await.unwrap();
    let stored = db::commit_get(&mut tx, &sha).await.unwrap().unwrap();
    assert_eq!(stored.pack_artifact, Some(first));
    tx.commit().await.unwrap();
    let sql = "UPDATE git_commit SET pack_artifact = NULL";
    let refused = attempt(&world, sql.into()).await.expect_err(sql);
    assert!(refused.contains("append-only"), "{refused}");
}

#[tokio::test]
async fn a_refusal_reaches_the_caller_as_a_rule() {
    let world = World::new().await;
    let run = world.run(1, 2).await;
    world.event(run, "interrupted").await;
    let mut tx = world.db.write().await.unwrap();
    let error = db::sample_append(&mut tx, run, &sample("base", 0, 1.0))
        .await
        .unwrap_err();
    let Error::Refused { rule, .. } = &error else {
        panic!("{error:?}");
    };
    assert!(rule.contains("closed"), "{rule}");
}
