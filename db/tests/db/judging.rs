//! Judgements, decisions, corrections, and what earlier runs tell a new one.

use db::{BaseHistoryQuery, Conn, Correction, Decision, PastQuery, RunId, RunState};

use crate::world::{World, judgement, machine, sha};

fn correction(field: &str, old: &str, new: &str) -> Correction {
    Correction {
        at: 20,
        field: field.into(),
        old_value: old.into(),
        new_value: new.into(),
        reason: "the base was left over from another branch".into(),
        by: "reviewer".into(),
        source_run_id: None,
    }
}

#[tokio::test]
async fn lesson_30_the_table_shows_the_corrected_verdict_and_that_there_was_one() {
    let world = World::new().await;
    let run = world.run(1, 2).await;
    let open = world.run(2, 3).await;
    world.event(run, "ended").await;
    world.judge(run, "inconclusive").await;
    world.judge(run, "landed").await;
    let mut tx = world.db.write().await.unwrap();
    let first = correction("bench:prefill:estimate", "26", "12");
    let second = correction("bench:prefill:estimate", "12", "11");
    let verdict = correction("verdict", "landed", "reverted");
    for c in [&first, &second, &verdict] {
        db::correction_insert(&mut tx, run, c).await.unwrap();
    }
    for (action, reason) in [("land", "looks good"), ("revert", "it was the base")] {
        let decision = Decision {
            at: 30,
            action: action.into(),
            reason: reason.into(),
            by: "owner".into(),
        };
        db::decision_insert(&mut tx, run, &decision).await.unwrap();
    }

    let table = db::campaign_table(&mut tx, "mmqr", 10).await.unwrap();
    let ids: Vec<_> = table.iter().map(|row| row.run_id).collect();
    assert_eq!(ids, [open, run]);
    let row = &table[1];
    assert_eq!(row.verdict.as_deref(), Some("reverted"));
    assert_eq!(row.judged_verdict.as_deref(), Some("landed"));
    assert_eq!(row.headline.as_deref(), Some("it is landed"));
    assert_eq!(row.corrections, 3);
    assert_eq!(row.decision.as_deref(), Some("revert"));
    assert_eq!(row.decision_by.as_deref(), Some("owner"));
    assert_eq!(row.head_subject, "mmq: lever 2");
    assert_eq!(row.state, RunState::Ended);
    let unjudged = &table[0];
    assert_eq!(unjudged.state, RunState::Open);
    assert_eq!(
        (
            &unjudged.verdict,
            &unjudged.judgement_json,
            &unjudged.decision
        ),
        (&None, &None, &None)
    );
    assert_eq!((unjudged.decision_at, unjudged.corrections), (None, 0));

    // What counts, and all that was ever said.
    let newest = db::run_corrections(&mut tx, run).await.unwrap();
    assert_eq!(newest, [second.clone(), verdict.clone()]);
    let all = db::corrections_by_run(&mut tx, run).await.unwrap();
    assert_eq!(all, [first, second, verdict]);
    let judgements = db::judgements_by_run(&mut tx, run).await.unwrap();
    let said: Vec<_> = judgements.iter().map(|j| j.verdict.as_str()).collect();
    assert_eq!(said, ["landed", "inconclusive"]);
    let decisions = db::decisions_by_run(&mut tx, run).await.unwrap();
    assert_eq!(
        (decisions.len(), decisions[0].action.as_str()),
        (2, "revert")
    );
    assert_eq!(
        db::campaign_table(&mut tx, "mmqr", 1).await.unwrap().len(),
        1
    );
    assert!(
        db::campaign_table(&mut tx, "other", 10)
            .await
            .unwrap()
            .is_empty()
    );
}

#[tokio::test]
async fn a_correction_and_a_decision_need_a_reason() {
    let world = World::new().await;
    let run = world.run(1, 2).await;
    let mut tx = world.db.write().await.unwrap();
    let silent = Correction {
        reason: "  ".into(),
        ..correction("verdict", "landed", "reverted")
    };
    let refused = db::correction_insert(&mut tx, run, &silent).await;
    assert!(matches!(refused, Err(db::Error::Constraint { .. })));
    let silent = Decision {
        at: 1,
        action: "land".into(),
        reason: String::new(),
        by: "me".into(),
    };
    let refused = db::decision_insert(&mut tx, run, &silent).await;
    assert!(matches!(refused, Err(db::Error::Constraint { .. })));
}

/// A run of head `n` against commit 1 that used base build `key` and ended as `end`.
async fn window(world: &World, n: u32, key: &str, end: Option<&str>) -> RunId {
    let run = world.run(1, n).await;
    world.build(run, "base", key).await;
    for pair in 0..2 {
        let value = f64::from(n * 100 + pair);
        world.sample(run, "base", pair, value).await;
        world.sample(run, "head", pair, value + 0.5).await;
    }
    let mut tx = world.db.write().await.unwrap();
    let mut throw_away = crate::world::sample("base", 0, 1.0);
    throw_away.role = "throw-away".into();
    db::sample_append(&mut tx, run, &throw_away).await.unwrap();
    tx.commit().await.unwrap();
    if let Some(kind) = end {
        world.event(run, kind).await;
    }
    run
}

async fn history(conn: &mut Conn, before: RunId, limit: u32) -> Vec<(RunId, Vec<f64>)> {
    let query = BaseHistoryQuery {
        bench: "prefill".into(),
        machine_id: machine(conn).await,
        base_build_key: "k".into(),
        before,
        limit,
    };
    let windows = db::base_history(conn, &query).await.unwrap();
    windows.into_iter().map(|w| (w.run_id, w.values)).collect()
}

#[tokio::test]
async fn a_bases_history_is_earlier_ended_windows_of_the_same_build() {
    let world = World::new().await;
    let first = window(&world, 2, "k", Some("ended")).await;
    window(&world, 3, "another build", Some("ended")).await;
    window(&world, 4, "k", Some("interrupted")).await;
    window(&world, 5, "k", None).await;
    let second = window(&world, 6, "k", Some("ended")).await;
    let present = window(&world, 7, "k", Some("ended")).await;
    let later = window(&world, 8, "k", Some("ended")).await;
    world.judge(first, "env-invalid").await;

    let mut tx = world.db.write().await.unwrap();
    let expected = vec![(first, vec![200.0, 201.0]), (second, vec![600.0, 601.0])];
    assert_eq!(history(&mut tx, present, 10).await, expected);
    assert_eq!(history(&mut tx, present, 1).await, expected[1..]);
    assert_eq!(history(&mut tx, later, 10).await.len(), 3);
    let query = BaseHistoryQuery {
        bench: "decode".into(),
        machine_id: machine(&mut tx).await,
        base_build_key: "k".into(),
        before: present,
        limit: 9,
    };
    assert!(db::base_history(&mut tx, &query).await.unwrap().is_empty());
    let query = BaseHistoryQuery {
        bench: "prefill".into(),
        ..query
    };
    let windows = db::base_history(&mut tx, &query).await.unwrap();
    let verdicts: Vec<_> = windows.into_iter().map(|w| w.verdict).collect();
    assert_eq!(verdicts, [Some("env-invalid".to_owned()), None]);
}

#[tokio::test]
async fn past_judgements_come_with_the_base_values_they_rested_on() {
    let world = World::new().await;
    let judged = window(&world, 2, "k", Some("ended")).await;
    window(&world, 3, "k", Some("ended")).await;
    let present = window(&world, 4, "k", Some("ended")).await;
    for run in [judged, present] {
        world.judge(run, "landed").await;
    }
    let mut tx = world.db.write().await.unwrap();
    let query = PastQuery {
        campaign: "mmqr".into(),
        machine_id: machine(&mut tx).await,
        bench: "prefill".into(),
        before: present,
        limit: 10,
    };
    let past = db::past_judgements(&mut tx, &query).await.unwrap();
    assert_eq!(past.len(), 1);
    assert_eq!((past[0].run_id, &past[0].head_sha), (judged, &sha(2)));
    assert_eq!(past[0].base_values, [200.0, 201.0]);
    assert_eq!(past[0].json, judgement("landed").json);
}
