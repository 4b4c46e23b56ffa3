//! Scenarios for the driver with the machine being watched by scripted sensors: which pairs are
//! rejected and replaced, when it stops, and what is stored.

use std::cell::Cell;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::*;
use crate::config::DEFAULT_PROTOCOL;
use crate::judge::rejected_pairs;
use crate::machine::sensors::scripted::{Scripted, lost, of_gpu, of_host, wait_for_reading};
use crate::machine::sensors::{Moment, Taken};
use crate::measure::fake::{FakeLauncher, FakeRecorder, bench, config, finished};
use crate::model::{GpuReading, GpuUser, HeldTo, HostReading, Throttle, UnixMillis};

/// What came of a run.
struct Ran {
    evidence: Vec<BenchEvidence>,
    recorder: FakeRecorder,
    notes: Vec<String>,
}

impl Ran {
    fn samples(&self) -> &[Sample] {
        &self.evidence[0].samples
    }

    /// `BHbh…` in the order of launches: throw-aways in capitals.
    fn letters(&self) -> String {
        let letter = |s: &Sample| match (s.role, s.side) {
            (SampleRole::ThrowAway, Side::Base) => 'B',
            (SampleRole::ThrowAway, Side::Head) => 'H',
            (SampleRole::Pair, Side::Base) => 'b',
            (SampleRole::Pair, Side::Head) => 'h',
        };
        self.samples().iter().map(letter).collect()
    }

    fn rejected(&self) -> Vec<String> {
        let rejected = rejected_pairs(self.samples());
        rejected
            .iter()
            .map(|r| format!("{}: {}", r.pair, r.words()))
            .collect()
    }
}

/// Measures with seed 1, whose order is BHbhhbhbbhbh; every launch lasts until the sensors were
/// read once.
async fn run(
    config: &Config,
    held_to: HeldTo,
    script: impl FnMut(u32, Moment) -> Taken + Send + 'static,
) -> Ran {
    let (sensors, announced) = Scripted::new(script);
    let interval = Duration::from_millis(1);
    let watch = Watch::start_with(Box::new(sensors), held_to, interval).expect("a thread");
    let mut launcher = FakeLauncher::commands(move |_, _| {
        wait_for_reading(&announced);
        finished("100 tok/s\n", None)
    });
    let notes = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&notes);
    let progress = Progress::new(move |event| {
        if let Event::Note { text } = event {
            noted.lock().expect("nobody panicked").push(text);
        }
    });
    let mut recorder = FakeRecorder::default();
    let measurement = Measurement {
        config,
        registration: &Registration::default(),
        seed: 1,
        progress: &progress,
        launches: &KnownLaunches::new(),
        watch: Some(&watch),
    };
    let evidence = measure(&measurement, &mut launcher, &mut recorder)
        .await
        .expect("the recorder never fails");
    let notes = notes.lock().expect("nobody panicked").clone();
    Ran {
        evidence,
        recorder,
        notes,
    }
}

fn three_pairs() -> Config {
    config(vec![bench("a"), bench("b")])
}

fn calm() -> GpuReading {
    GpuReading {
        sm_clock_mhz: Some(1500),
        throttle: Some(vec![Throttle::SoftwarePowerCap]),
        temperature_c: Some(50.0),
        power_w: Some(300.0),
        foreign: Some(Vec::new()),
        own_memory_bytes: Some(1 << 30),
        ecc_uncorrected: Some(0),
        xids: Some(Vec::new()),
        ..GpuReading::default()
    }
}

/// A script in which launch `which` is changed, all of its readings but that before it.
fn one_launch(
    which: u32,
    change: impl Fn(&mut GpuReading) + Send + 'static,
) -> impl FnMut(u32, Moment) -> Taken + Send + 'static {
    move |launch, moment| {
        let mut gpu = calm();
        if launch == which && moment != Moment::Before {
            change(&mut gpu);
        }
        of_gpu(gpu)
    }
}

const UNBOUND: HeldTo = HeldTo {
    sm_clock_mhz: None,
    foreign_cpu: None,
};

#[tokio::test]
async fn a_calm_machine_is_stored_with_every_sample() {
    let ran = run(&three_pairs(), UNBOUND, one_launch(99, |_| {})).await;
    assert_eq!(ran.letters(), "BHbhhbhb");
    assert!(ran.notes.is_empty(), "{:?}", ran.notes);
    assert_eq!(ran.recorder.samples.len(), 16);
    for sample in &ran.recorder.samples {
        let state = sample.state.as_ref().expect("a state");
        assert!(state.during.readings >= 1);
        assert_eq!(state.during.sm_clock_mhz.map(|c| c.median), Some(1500.0));
        assert_eq!(state.during.peak_memory_bytes, Some(1 << 30));
    }
}

/// Launch 3 is head's half of the first pair.
#[tokio::test]
async fn every_rule_rejects_the_pair_and_takes_another_in_its_order() {
    type Change = fn(&mut GpuReading);
    let rules: [(Change, &str); 7] = [
        (
            |g| g.throttle = Some(vec![Throttle::HardwareSlowdown]),
            "0: hardware slowdown on head",
        ),
        (
            |g| g.throttle = Some(vec![Throttle::SoftwareThermal]),
            "0: thermal slowdown on head",
        ),
        (
            |g| g.throttle = Some(vec![Throttle::SyncBoost]),
            "0: sync boost on head",
        ),
        (
            |g| {
                g.foreign = Some(vec![GpuUser {
                    pid: 4711,
                    name: Some("python".to_owned()),
                    memory_bytes: None,
                    is_visible: true,
                }]);
            },
            "0: foreign process 4711 (python) on head",
        ),
        (
            |g| g.ecc_uncorrected = Some(1),
            "0: 1 new uncorrected ECC error on head",
        ),
        (
            |g| g.sm_clock_mhz = Some(1300),
            "0: SM clock at 1300 MHz, locked to 1500 MHz on head",
        ),
        (
            |g| g.temperature_c = Some(56.0),
            "0: temperatures 6 °C apart",
        ),
    ];
    let locked = HeldTo {
        sm_clock_mhz: Some(1500),
        foreign_cpu: None,
    };
    for (change, expected) in rules {
        let ran = run(&three_pairs(), locked, one_launch(3, change)).await;
        assert_eq!(ran.rejected(), [expected]);
        assert_eq!(ran.letters(), "BHbhbhhbhb", "{expected}");
        let numbers: Vec<u32> = ran.samples()[2..].iter().map(|s| s.pair).collect();
        assert_eq!(numbers, [0, 0, 1, 1, 2, 2, 3, 3]);
        let note = format!("pair 1 of a: {}; another one", &expected[3..]);
        assert!(ran.notes[0].starts_with(&note), "{:?}", ran.notes);
        assert_eq!(ran.evidence[1].samples.len(), 8, "the next bench is taken");
    }
}

#[tokio::test]
async fn xids_reject_the_launch_in_which_they_came() {
    let once = Cell::new(false);
    let script = move |launch, moment| {
        let mut gpu = calm();
        if launch == 4 && moment == Moment::During && !once.replace(true) {
            gpu.xids = Some(vec![31]);
        }
        of_gpu(gpu)
    };
    let ran = run(&three_pairs(), UNBOUND, script).await;
    assert_eq!(ran.rejected(), ["1: Xid 31 on head"]);
    assert_eq!(ran.letters(), "BHbhhbhbhb");
}

#[tokio::test]
async fn a_power_cap_idle_and_throw_aways_reject_nothing() {
    let script = |launch, _| {
        let mut gpu = calm();
        gpu.throttle = Some(match launch {
            0 | 1 => vec![Throttle::PowerBrake, Throttle::HardwareSlowdown],
            _ => vec![
                Throttle::SoftwarePowerCap,
                Throttle::Idle,
                Throttle::ApplicationClocks,
            ],
        });
        of_gpu(gpu)
    };
    let ran = run(&three_pairs(), UNBOUND, script).await;
    assert_eq!(ran.letters(), "BHbhhbhb");
    assert!(ran.rejected().is_empty());
}

#[tokio::test]
async fn a_bad_machine_stops_the_run_at_the_third_pair() {
    let script = |launch, _| {
        let mut gpu = calm();
        let bad = match launch % 2 {
            0 => Throttle::PowerBrake,
            _ => Throttle::HardwareThermal,
        };
        gpu.throttle = Some(vec![bad]);
        of_gpu(gpu)
    };
    let mut sequential = three_pairs();
    sequential.protocol = DEFAULT_PROTOCOL;
    for config in [three_pairs(), sequential] {
        let ran = run(&config, UNBOUND, script).await;
        assert_eq!(
            ran.letters(),
            "BHbhbhbh",
            "always in the order of the first"
        );
        assert!(ran.evidence[1].samples.is_empty(), "no other bench");
        let last = ran.notes.last().expect("a note");
        assert!(
            last.ends_with("3 of 3 pairs rejected: 3 thermal slowdown: measuring stops"),
            "{last}"
        );
    }
}

#[tokio::test]
async fn two_rejections_are_forgiven_whatever_their_share() {
    let script = |launch: u32, _| {
        let mut gpu = calm();
        if [2, 4].contains(&launch) {
            gpu.temperature_c = Some(70.0);
        }
        of_gpu(gpu)
    };
    let ran = run(&three_pairs(), UNBOUND, script).await;
    assert_eq!(ran.letters(), "BHbhbhbhhbbh");
    assert_eq!(ran.rejected().len(), 2);
}

#[tokio::test]
async fn sensors_that_vanish_are_a_fact_and_no_reason_to_stop() {
    let script = |launch, moment| match (launch, moment) {
        (0..=3, _) | (4, Moment::Before) => of_gpu(calm()),
        _ => lost(),
    };
    let ran = run(&three_pairs(), UNBOUND, script).await;
    assert_eq!(ran.letters(), "BHbhhbhb");
    let state = |index: usize| ran.samples()[index].state.as_ref().expect("a state");
    assert!(state(3).notes.is_empty());
    assert!(state(4).notes[0].contains("stopped answering"));
    assert!(state(5).notes.is_empty(), "it was not there any more");
    assert_eq!(state(5).absent[0].reason, "the device is lost");
    assert_eq!(state(5).during.temperature_max_c, None);
}

#[tokio::test]
async fn a_machine_that_tells_nothing_is_measured_on() {
    let held_to = HeldTo {
        sm_clock_mhz: Some(1500),
        foreign_cpu: Some(0.1),
    };
    let ran = run(&three_pairs(), held_to, |_, _| Taken::default()).await;
    assert_eq!(ran.letters(), "BHbhhbhb");
    assert!(ran.rejected().is_empty());
}

#[tokio::test]
async fn load_of_others_rejects_where_a_limit_was_set() {
    let script = |launch, _| {
        of_host(HostReading {
            foreign_cpu: Some(if launch == 2 { 0.75 } else { 0.25 }),
            ..HostReading::default()
        })
    };
    let ran = run(&three_pairs(), UNBOUND, script).await;
    assert!(ran.rejected().is_empty(), "recorded only");
    let state = ran.samples()[2].state.as_ref().expect("a state");
    assert_eq!(state.during.foreign_cpu, Some(0.75));
    let held_to = HeldTo {
        sm_clock_mhz: None,
        foreign_cpu: Some(0.5),
    };
    let ran = run(&three_pairs(), held_to, script).await;
    assert_eq!(ran.rejected().len(), 1);
    assert_eq!(ran.letters(), "BHbhbhhbhb");
}

#[tokio::test]
async fn a_clock_that_is_set_back_is_noted_and_counts_for_nothing() {
    let mut times = [5_000, 6_000, 7_000, 2_000].into_iter();
    let mut launcher = FakeLauncher::commands(move |_, _| {
        let mut finished = finished("100 tok/s\n", None);
        finished.started_at = UnixMillis(times.next().unwrap_or(3_000));
        finished
    });
    let config = config(vec![bench("a")]);
    let measurement = Measurement {
        config: &config,
        registration: &Registration::default(),
        seed: 1,
        progress: &Progress::silent(),
        launches: &KnownLaunches::new(),
        watch: None,
    };
    let mut recorder = FakeRecorder::default();
    let evidence = measure(&measurement, &mut launcher, &mut recorder)
        .await
        .expect("the recorder never fails");
    let samples = &evidence[0].samples;
    assert_eq!(samples.len(), 8);
    let noted: Vec<usize> = (0..8).filter(|i| samples[*i].state.is_some()).collect();
    assert_eq!(noted, [3]);
    let state = samples[3].state.as_ref().expect("a state");
    assert!(state.notes[0].contains("set back by at least 5000 ms"));
    assert_eq!(samples[3].wall_ms, 250.0);
}
