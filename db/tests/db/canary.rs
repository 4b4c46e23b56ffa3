//! The canary's readings and what earlier windows tell.

use db::{CanaryQuery, CanaryReading};

use crate::world::World;

pub fn reading(phase: &str, compute_us: Option<f64>) -> CanaryReading {
    CanaryReading {
        phase: phase.into(),
        at: if phase == "before" { 10 } else { 20 },
        work: "cuda-1".into(),
        device: "GPU-1".into(),
        locked_mhz: None,
        compute_us,
        copy_us: compute_us.map(|us| us / 50.0),
        failure: match compute_us {
            Some(_) => None,
            None => Some("the device is lost".into()),
        },
    }
}

#[tokio::test]
async fn history_is_of_the_same_work_device_lock_and_machine_before_the_run() {
    let world = World::new().await;
    let mut runs = Vec::new();
    for n in 1..=7 {
        runs.push(world.run(n, n + 1).await);
    }
    let mut tx = world.db.write().await.unwrap();
    for (n, run) in runs.iter().enumerate() {
        let mut both = [
            reading("before", Some(100.0 + n as f64)),
            reading("after", Some(200.0 + n as f64)),
        ];
        for one in &mut both {
            match n {
                1 => one.work = "cuda-2".into(),
                2 => one.device = "GPU-2".into(),
                3 => one.locked_mhz = Some(1500),
                _ => {}
            }
        }
        if n == 4 {
            both[1] = reading("after", None);
        }
        for one in &both {
            db::canary_reading_insert(&mut tx, *run, one).await.unwrap();
        }
    }
    tx.commit().await.unwrap();
    // The sixth did not end.
    for run in runs.iter().take(5) {
        world.event(*run, "ended").await;
    }
    let last = runs[6];
    let mut conn = world.db.read().await.unwrap();
    let machine_id = db::run_get(&mut conn, last)
        .await
        .unwrap()
        .unwrap()
        .machine_id;
    let mut query = CanaryQuery {
        machine_id,
        device: "GPU-1".into(),
        work: "cuda-1".into(),
        locked_mhz: None,
        before: last,
        limit: 10,
    };
    let history = db::canary_history(&mut conn, &query).await.unwrap();
    let compute: Vec<(f64, f64)> = history
        .iter()
        .map(|window| (window.compute_before_us, window.compute_after_us))
        .collect();
    assert_eq!(compute, [(100.0, 200.0)]);
    query.locked_mhz = Some(1500);
    let locked = db::canary_history(&mut conn, &query).await.unwrap();
    assert_eq!(locked.len(), 1);
    assert_eq!(locked[0].copy_before_us, 103.0 / 50.0);

    let own = db::canary_readings_by_run(&mut conn, runs[4])
        .await
        .unwrap();
    assert_eq!(own.len(), 2);
    assert_eq!(own[0], reading("before", Some(104.0)));
    assert_eq!(own[1].failure.as_deref(), Some("the device is lost"));
}

#[tokio::test]
async fn a_reading_has_times_or_a_reason() {
    let world = World::new().await;
    let run = world.run(1, 2).await;
    for wrong in [
        CanaryReading {
            copy_us: None,
            ..reading("before", Some(1.0))
        },
        CanaryReading {
            failure: None,
            ..reading("before", None)
        },
        reading("before", Some(0.0)),
        reading("during", Some(1.0)),
    ] {
        let mut tx = world.db.write().await.unwrap();
        let refused = db::canary_reading_insert(&mut tx, run, &wrong).await;
        assert!(refused.is_err(), "{wrong:?}");
    }
}
