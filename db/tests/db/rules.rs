//! What the schema does not accept, whatever the program does: lessons 12, 13, 28, 32.

use db::{Claim, Error, Gate, RunState, Sample};

use crate::world::{World, event, profile, sample};

async fn refused(world: &World, run: db::RunId, sample: &Sample) -> String {
    let mut tx = world.db.write().await.unwrap();
    match db::sample_append(&mut tx, run, sample).await {
        Err(Error::Constraint { constraint, .. }) => constraint,
        other => panic!("{other:?} for {sample:?}"),
    }
}

#[tokio::test]
async fn lesson_12_a_missing_measurement_is_its_own_state() {
    let world = World::new().await;
    let run = world.run(1, 2).await;
    let good = sample("base", 0, 1350.0);
    for value in [0.0, -0.0, -3.5, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let bad = Sample {
            value: Some(value),
            ..good.clone()
        };
        refused(&world, run, &bad).await;
    }
    let neither = Sample {
        value: None,
        ..good.clone()
    };
    refused(&world, run, &neither).await;
    let both = Sample {
        failure_json: Some(r#"{"kind":"no-value"}"#.into()),
        ..good.clone()
    };
    refused(&world, run, &both).await;

    let missing = Sample {
        value: None,
        failure_json: Some(r#"{"kind":"no-value"}"#.into()),
        ..good.clone()
    };
    let repeated = Sample { attempt: 2, ..good };
    let mut tx = world.db.write().await.unwrap();
    assert_eq!(db::sample_append(&mut tx, run, &missing).await.unwrap(), 0);
    assert_eq!(db::sample_append(&mut tx, run, &repeated).await.unwrap(), 1);
    let stored = db::samples_by_run(&mut tx, run).await.unwrap();
    assert_eq!(stored, [missing, repeated]);
}

#[tokio::test]
async fn the_same_place_cannot_be_sampled_twice_in_one_attempt() {
    let world = World::new().await;
    let run = world.run(1, 2).await;
    world.sample(run, "base", 0, 10.0).await;
    let why = refused(&world, run, &sample("base", 0, 11.0)).await;
    assert!(why.contains("UNIQUE"), "{why}");
}

#[tokio::test]
async fn lesson_13_not_run_and_no_data_are_not_passed_and_need_a_reason() {
    let world = World::new().await;
    let run = world.run(1, 2).await;
    let gate = |outcome: &str, reason: Option<&str>| Gate {
        kind: "parity".into(),
        name: "KD=4".into(),
        side: None,
        outcome: outcome.into(),
        reason: reason.map(Into::into),
        figures_json: r#"[{"name":"nmse","value":null,"max":0.1}]"#.into(),
        failure_json: None,
        logs: Vec::new(),
    };
    let mut tx = world.db.write().await.unwrap();
    for outcome in ["flaky", "failed", "no-data", "not-run", "ok", ""] {
        let error = db::gate_append(&mut tx, run, &gate(outcome, None)).await;
        assert!(matches!(error, Err(Error::Constraint { .. })), "{outcome}");
    }
    let mut expected = vec![gate("passed", None)];
    for outcome in ["flaky", "failed", "no-data", "not-run"] {
        expected.push(gate(outcome, Some("because")));
    }
    for gate in &expected {
        db::gate_append(&mut tx, run, gate).await.unwrap();
    }
    assert_eq!(db::gates_by_run(&mut tx, run).await.unwrap(), expected);
}

#[tokio::test]
async fn gates_keep_their_logs_in_order() {
    let world = World::new().await;
    let run = world.run(1, 2).await;
    let mut tx = world.db.write().await.unwrap();
    let mut logs = Vec::new();
    for text in ["first", "second", "third"] {
        logs.push(world.put(&mut tx, text).await);
    }
    logs.reverse();
    let gate = Gate {
        kind: "identity".into(),
        name: "greedy-32".into(),
        side: None,
        outcome: "passed".into(),
        reason: None,
        figures_json: "[]".into(),
        failure_json: None,
        logs,
    };
    assert_eq!(db::gate_append(&mut tx, run, &gate).await.unwrap(), 0);
    assert_eq!(db::gate_append(&mut tx, run, &gate).await.unwrap(), 1);
    assert_eq!(
        db::gates_by_run(&mut tx, run).await.unwrap(),
        [gate.clone(), gate]
    );
}

#[tokio::test]
async fn a_claim_that_was_not_evaluated_says_why() {
    let world = World::new().await;
    let run = world.run(1, 2).await;
    let claim = |outcome: &str, reason: Option<&str>| Claim {
        text: "counter mmq_wide shared_ld_conflicts == 0".into(),
        source: "file".into(),
        outcome: outcome.into(),
        expected: "== 0".into(),
        observed: String::new(),
        reason: reason.map(Into::into),
    };
    let mut tx = world.db.write().await.unwrap();
    for bad in [claim("not-evaluated", None), claim("passed", None)] {
        let error = db::claims_insert(&mut tx, run, std::slice::from_ref(&bad)).await;
        assert!(matches!(error, Err(Error::Constraint { .. })), "{bad:?}");
    }
    let good = [
        claim("not-evaluated", Some("needs counters")),
        claim("fails", None),
    ];
    db::claims_insert(&mut tx, run, &good).await.unwrap();
    assert_eq!(db::claims_by_run(&mut tx, run).await.unwrap(), good);
    let again = [claim("holds", None), claim("fails", None)];
    db::claims_insert(&mut tx, run, &again).await.unwrap();
    assert_eq!(db::claims_by_run(&mut tx, run).await.unwrap(), again);
}

#[tokio::test]
async fn counters_come_back_as_they_were_and_the_newest_taking_counts() {
    let world = World::new().await;
    let run = world.run(1, 2).await;
    let other = world.run(1, 3).await;
    let mut tx = world.db.write().await.unwrap();
    let first = [profile("base"), profile("head")];
    db::counter_profiles_insert(&mut tx, run, &first)
        .await
        .unwrap();
    let read = db::counter_profiles_by_run(&mut tx, run).await.unwrap();
    assert_eq!(read, first);
    let mut later = [profile("base")];
    later[0].launches[0].values[0].value = 0.0;
    db::counter_profiles_insert(&mut tx, run, &later)
        .await
        .unwrap();
    let read = db::counter_profiles_by_run(&mut tx, run).await.unwrap();
    assert_eq!(read, later);
    let none = db::counter_profiles_by_run(&mut tx, other).await.unwrap();
    assert_eq!(none, []);
    for wrong in [f64::NAN, f64::INFINITY, -1.0] {
        let mut bad = [profile("head")];
        bad[0].launches[0].values[0].value = wrong;
        let error = db::counter_profiles_insert(&mut tx, other, &bad).await;
        assert!(matches!(error, Err(Error::Constraint { .. })), "{wrong}");
    }
}

#[tokio::test]
async fn lesson_32_json_with_infinity_or_nan_is_not_stored() {
    let world = World::new().await;
    let run = world.run(1, 2).await;
    let mut tx = world.db.write().await.unwrap();
    for json in [r#"{"delta": Infinity}"#, r#"{"delta": NaN}"#, "", "{"] {
        let error = db::run_document_insert(&mut tx, run, "code", json).await;
        assert!(matches!(error, Err(Error::Constraint { .. })), "{json}");
    }
    let inner = Sample {
        inner_json: "[1.0, NaN]".into(),
        ..sample("base", 0, 1.0)
    };
    let error = db::sample_append(&mut tx, run, &inner).await;
    assert!(matches!(error, Err(Error::Constraint { .. })), "{error:?}");
}

#[tokio::test]
async fn lesson_28_a_runs_state_is_what_its_events_say() {
    let world = World::new().await;
    let (killed, running, done) = (
        world.run(1, 2).await,
        world.run(2, 3).await,
        world.run(3, 4).await,
    );
    world.event(running, "stage-started").await;
    world.event(running, "fault").await;
    world.event(done, "ended").await;
    let mut conn = world.db.read().await.unwrap();
    let open = db::runs_open(&mut conn).await.unwrap();
    let ids: Vec<_> = open.iter().map(|run| run.id).collect();
    assert_eq!(ids, [running, killed]);
    drop(conn);

    world.event(killed, db::EVENT_INTERRUPTED).await;
    let mut tx = world.db.write().await.unwrap();
    let state = |run: Option<db::Run>| run.map(|run| (run.state, run.closed_at));
    let found = db::run_get(&mut tx, killed).await.unwrap();
    assert_eq!(state(found), Some((RunState::Interrupted, Some(5))));
    let found = db::run_get(&mut tx, done).await.unwrap();
    assert_eq!(state(found), Some((RunState::Ended, Some(5))));
    // Closed once: an interrupted run cannot end as well.
    let twice = db::run_event_append(&mut tx, killed, &event("ended")).await;
    assert!(matches!(twice, Err(Error::Constraint { .. })), "{twice:?}");
    let events = db::events_by_run(&mut tx, running).await.unwrap();
    let kinds: Vec<_> = events.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds, ["stage-started", "fault"]);
}

#[tokio::test]
async fn a_row_cannot_refer_to_content_that_was_not_noted() {
    let world = World::new().await;
    let run = world.run(1, 2).await;
    let dangling = Sample {
        log_artifact: Some("a".repeat(64)),
        ..sample("base", 0, 1.0)
    };
    let why = refused(&world, run, &dangling).await;
    assert!(why.contains("FOREIGN KEY"), "{why}");
}
