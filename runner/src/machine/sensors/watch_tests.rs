//! The watching thread with scripted sensors.

use super::super::Taken;
use super::super::scripted::{Scripted, of_gpu, wait_for_reading};
use super::*;
use crate::model::GpuReading;

const SHORT: Duration = Duration::from_millis(1);

fn temperature(celsius: f64) -> Taken {
    of_gpu(GpuReading {
        temperature_c: Some(celsius),
        ..GpuReading::default()
    })
}

#[tokio::test]
async fn a_launch_is_read_before_during_and_after() {
    let (sensors, announced) = Scripted::new(|launch, moment| {
        temperature(match moment {
            Moment::Before => 10.0,
            Moment::During => 50.0 + f64::from(launch),
            Moment::After => 30.0,
        })
    });
    let held_to = HeldTo {
        sm_clock_mhz: Some(1500),
        foreign_cpu: None,
    };
    let watch = Watch::start_with(Box::new(sensors), held_to, SHORT).expect("a thread");
    for hottest in [50.0, 51.0] {
        watch.begin().await;
        wait_for_reading(&announced);
        let state = watch.end().await;
        let of = |reading: &crate::model::Reading| reading.gpu.as_ref()?.temperature_c;
        assert_eq!(of(&state.before), Some(10.0));
        assert_eq!(of(&state.after), Some(30.0));
        assert_eq!(state.during.temperature_max_c, Some(hottest));
        assert!(state.during.readings >= 1);
        assert_eq!(state.held_to, held_to);
    }
}

/// A run that is stopped drops its launch in the middle; the next one begins afresh.
#[tokio::test]
async fn a_launch_that_was_given_up_leaves_nothing_behind() {
    let (sensors, announced) = Scripted::new(|launch, _| temperature(90.0 - f64::from(launch)));
    let watch = Watch::start_with(Box::new(sensors), HeldTo::default(), SHORT).expect("a thread");
    watch.begin().await;
    wait_for_reading(&announced);
    watch.begin().await;
    wait_for_reading(&announced);
    let state = watch.end().await;
    assert_eq!(state.during.temperature_max_c, Some(89.0));
}

#[tokio::test]
async fn sensors_that_hang_or_die_are_given_up_and_the_launch_goes_on() {
    let (release, held) = std::sync::mpsc::channel::<()>();
    let hanging = Scripted::new(move |_, moment| {
        if moment == Moment::After {
            let _ = held.recv();
        }
        Taken::default()
    });
    let dying = Scripted::new(|_, moment| {
        assert_ne!(moment, Moment::After, "this thread dies, as it should");
        Taken::default()
    });
    for (sensors, _announced) in [hanging, dying] {
        let mut watch =
            Watch::start_with(Box::new(sensors), HeldTo::default(), SHORT).expect("a thread");
        watch.patience = Duration::from_millis(50);
        watch.begin().await;
        for _ in 0..2 {
            let state = watch.end().await;
            assert_eq!(state.absent.len(), 1, "{state:?}");
            assert!(state.absent[0].reason.contains("do not answer"));
        }
    }
    drop(release);
}
