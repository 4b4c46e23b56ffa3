//! Calibrations, their profiles, and plans.

use crate::world::{World, event, insert_run_for, machine, sample};
use db::{BenchPlan, Error, Found, InnerQuery, MatchedBy, NoiseProfile, Purpose, RunId};

fn plan(inner: u32) -> BenchPlan {
    BenchPlan {
        bench: "prefill".into(),
        inner,
        json: "{}".into(),
    }
}

fn profile(run_id: RunId, machine_id: db::MachineId, sigma: f64) -> NoiseProfile {
    NoiseProfile {
        run_id,
        bench: "prefill".into(),
        machine_id,
        campaign: "mmqr".into(),
        what: "f".repeat(64),
        at: 1,
        json: format!(r#"{{"sigma":{sigma}}}"#),
    }
}

fn rule(result: db::Result<()>) -> String {
    match result {
        Err(Error::Refused { rule, .. }) => rule,
        other => panic!("{other:?}"),
    }
}

/// A calibration that ended, with its plan and its profile.
pub async fn calibration(world: &World, sigma: f64) -> RunId {
    let mut tx = world.db.write().await.unwrap();
    let run = insert_run_for(&mut tx, 1, 1, Purpose::Calibration).await;
    db::bench_plan_insert(&mut tx, run, &plan(8)).await.unwrap();
    db::run_event_append(&mut tx, run, &event("ended"))
        .await
        .unwrap();
    let machine = machine(&mut tx).await;
    db::noise_profile_insert(&mut tx, &profile(run, machine, sigma))
        .await
        .unwrap();
    tx.commit().await.unwrap();
    run
}

#[tokio::test]
async fn the_newest_profile_of_a_bench_counts() {
    let world = World::new().await;
    calibration(&world, 1.0).await;
    let newest = calibration(&world, 2.0).await;
    let mut conn = world.db.read().await.unwrap();
    let found = db::noise_profiles(&mut conn, "mmqr").await.unwrap();
    let found: Vec<_> = found.iter().map(|(m, p)| (m.as_str(), p.run_id)).collect();
    assert_eq!(found, [("gb10", newest)]);
    let own = db::noise_profiles_by_run(&mut conn, newest).await.unwrap();
    assert_eq!(own.len(), 1);
    assert!(own[0].json.contains('2'), "{own:?}");
    assert_eq!(db::noise_profiles(&mut conn, "other").await.unwrap(), []);
}

#[tokio::test]
async fn only_a_calibration_that_ended_makes_a_profile() {
    let world = World::new().await;
    let lever = world.run(1, 2).await;
    world.event(lever, "ended").await;
    let mut tx = world.db.write().await.unwrap();
    let machine = machine(&mut tx).await;
    let open = insert_run_for(&mut tx, 1, 1, Purpose::Calibration).await;
    let cut = insert_run_for(&mut tx, 1, 1, Purpose::Calibration).await;
    db::run_event_append(&mut tx, cut, &event("interrupted"))
        .await
        .unwrap();
    for run in [lever, open, cut] {
        let rule = rule(db::noise_profile_insert(&mut tx, &profile(run, machine, 1.0)).await);
        assert!(rule.contains("a calibration that ended"), "{rule}");
    }
}

#[tokio::test]
async fn a_plan_comes_before_the_first_sample_of_a_pair() {
    let world = World::new().await;
    let run = world.run(1, 2).await;
    let mut tx = world.db.write().await.unwrap();
    let thrown_away = db::Sample {
        role: "throw-away".into(),
        ..sample("base", 0, 1.0)
    };
    db::sample_append(&mut tx, run, &thrown_away).await.unwrap();
    db::bench_plan_insert(&mut tx, run, &plan(12))
        .await
        .unwrap();
    let stored = db::bench_plans_by_run(&mut tx, run).await.unwrap();
    assert_eq!(stored, [plan(12)]);

    let late = insert_run_for(&mut tx, 1, 2, Purpose::Lever).await;
    let measured = db::Sample {
        answer_ms: Some(12.5),
        ..sample("base", 0, 1.0)
    };
    db::sample_append(&mut tx, late, &measured).await.unwrap();
    let samples = db::samples_by_run(&mut tx, late).await.unwrap();
    assert_eq!(samples[0].answer_ms, Some(12.5));
    let rule = rule(db::bench_plan_insert(&mut tx, late, &plan(12)).await);
    assert!(rule.contains("before the first sample"), "{rule}");
}

#[tokio::test]
async fn earlier_launches_with_single_values_are_found() {
    let world = World::new().await;
    let run = world.run(1, 2).await;
    world.sample(run, "base", 0, 1.0).await;
    world.sample(run, "head", 0, 1.0).await;
    let query = InnerQuery {
        campaign: "mmqr".into(),
        machine: "gb10".into(),
        bench: "prefill".into(),
        limit: 5,
    };
    let mut conn = world.db.read().await.unwrap();
    assert_eq!(db::inner_values(&mut conn, &query).await.unwrap(), []);
    drop(conn);
    world.event(run, "ended").await;
    let mut conn = world.db.read().await.unwrap();
    let found = db::inner_values(&mut conn, &query).await.unwrap();
    assert_eq!((found.len(), found[0].run_id), (1, run));
    let launch = |side: &str| (side.to_owned(), "[1.5,2.5]".to_owned());
    assert_eq!(found[0].launches, [launch("base"), launch("head")]);
}

#[tokio::test]
async fn a_calibration_is_not_found_by_its_commit() {
    let world = World::new().await;
    let calibration = calibration(&world, 1.0).await;
    let mut conn = world.db.read().await.unwrap();
    let commit = crate::world::sha(1);
    let found = db::run_find(&mut conn, &commit).await.unwrap();
    assert_eq!(found, Found::Nothing);
    let run = db::run_get(&mut conn, calibration).await.unwrap().unwrap();
    assert_eq!(run.purpose, Purpose::Calibration);
    let found = db::run_find(&mut conn, &run.uuid).await.unwrap();
    assert!(matches!(
        found,
        Found::Runs {
            by: MatchedBy::Uuid,
            ..
        }
    ));
    drop(conn);
    let lever = world.run(0, 1).await;
    let mut conn = world.db.read().await.unwrap();
    let Found::Runs { runs, .. } = db::run_find(&mut conn, &commit).await.unwrap() else {
        panic!("the lever is found");
    };
    assert_eq!(runs.iter().map(|run| run.id).collect::<Vec<_>>(), [lever]);
}
