//! From readings to a state.

use super::*;
use crate::model::HostReading;

fn gpu(change: impl FnOnce(&mut GpuReading)) -> Taken {
    let mut reading = GpuReading {
        sm_clock_mhz: Some(1980),
        throttle: Some(Vec::new()),
        temperature_c: Some(50.0),
        power_w: Some(100.0),
        ..GpuReading::default()
    };
    change(&mut reading);
    Taken {
        reading: Reading {
            gpu: Some(reading),
            host: None,
        },
        absent: Vec::new(),
    }
}

fn user(pid: u32, is_visible: bool, memory_bytes: Option<u64>) -> GpuUser {
    GpuUser {
        pid,
        name: None,
        memory_bytes,
        is_visible,
    }
}

/// The state of a launch with these readings: the first before, the last after, the others every
/// 100 ms.
fn state(readings: Vec<Taken>) -> SampleState {
    let last = readings.len() - 1;
    let mut readings = readings.into_iter().enumerate();
    let (_, before) = readings.next().expect("a reading before");
    let distance = Duration::from_millis(100);
    let mut collector = Collector::begin(before, HeldTo::default(), distance);
    for (index, reading) in readings {
        let at = distance * u32::try_from(index).expect("few");
        if index == last {
            return collector.end(at, reading);
        }
        collector.push(at, reading);
    }
    panic!("a reading after");
}

#[test]
fn a_launch_is_summed_up() {
    let state = state(vec![
        gpu(|g| g.sm_clock_mhz = Some(345)),
        gpu(|g| {
            g.power_w = Some(300.0);
            g.temperature_c = Some(61.0);
            g.throttle = Some(vec![Throttle::SoftwarePowerCap]);
            g.own_memory_bytes = Some(700);
        }),
        gpu(|g| {
            g.power_w = Some(500.0);
            g.sm_clock_mhz = Some(1900);
            g.own_memory_bytes = Some(900);
        }),
        gpu(|g| {
            g.sm_clock_mhz = Some(345);
            g.throttle = Some(vec![Throttle::Idle]);
            g.own_memory_bytes = None;
        }),
        gpu(|g| g.sm_clock_mhz = Some(345)),
    ]);
    let during = state.during;
    assert_eq!(during.readings, 3);
    assert_eq!((during.span_ms, during.longest_gap_ms), (400.0, 100.0));
    let clock = during.sm_clock_mhz.expect("clocks");
    assert_eq!(
        (clock.min, clock.median, clock.max),
        (1900.0, 1940.0, 1980.0),
        "idle readings and those around the launch are left out"
    );
    let power = during.power_w.expect("power");
    assert_eq!((power.min, power.mean, power.max), (100.0, 300.0, 500.0));
    assert_eq!(during.temperature_max_c, Some(61.0));
    assert_eq!(
        during.throttle,
        Some(vec![Throttle::Idle, Throttle::SoftwarePowerCap])
    );
    assert_eq!(during.peak_memory_bytes, Some(900));
    assert_eq!(during.foreign, None, "the list could not be had");
    assert!(state.notes.is_empty());
}

#[test]
fn nothing_read_is_absent_and_not_zero() {
    let nothing = || Taken::default();
    let state = state(vec![nothing(), nothing(), nothing()]);
    let expected = During {
        readings: 1,
        span_ms: 200.0,
        longest_gap_ms: 100.0,
        ..During::default()
    };
    assert_eq!(state.during, expected);
    let text = serde_json::to_string(&state).expect("plain data");
    assert_eq!(
        text,
        r#"{"before":{},"during":{"readings":1,"span_ms":200.0,"longest_gap_ms":100.0},"after":{}}"#
    );
}

#[test]
fn a_short_launch_has_what_was_read_around_it() {
    let state = state(vec![
        gpu(|g| g.ecc_uncorrected = Some(3)),
        gpu(|g| {
            g.throttle = Some(vec![Throttle::HardwareThermal]);
            g.ecc_uncorrected = Some(4);
        }),
    ]);
    assert_eq!(state.during.readings, 0);
    assert_eq!(state.during.sm_clock_mhz, None);
    assert_eq!(state.during.throttle, Some(vec![Throttle::HardwareThermal]));
    assert_eq!(state.during.new_ecc_uncorrected, Some(1));
}

#[test]
fn a_process_that_cannot_be_seen_is_foreign_where_it_was_there_before_and_after() {
    let with = |users: Vec<GpuUser>| gpu(|g| g.foreign = Some(users));
    let found = |readings| -> Vec<(u32, Option<u64>)> {
        let users = state(readings).during.foreign.expect("a list");
        users.iter().map(|u| (u.pid, u.memory_bytes)).collect()
    };
    let (hidden, shown) = (user(7, false, Some(1)), user(8, true, None));
    // The launch's own, as another container's driver numbers it; and one that has just ended.
    let own = vec![with(vec![]), with(vec![hidden.clone()]), with(vec![])];
    assert_eq!(found(own), []);
    let ending = vec![with(vec![hidden.clone()]), with(vec![]), with(vec![])];
    assert_eq!(found(ending), []);
    let grown = user(7, false, Some(5));
    let stays = vec![
        with(vec![hidden.clone()]),
        with(vec![grown]),
        with(vec![hidden]),
    ];
    assert_eq!(found(stays), [(7, Some(5))]);
    assert_eq!(
        found(vec![with(vec![]), with(vec![shown]), with(vec![])]),
        [(8, None)]
    );
}

#[test]
fn a_device_that_vanishes_is_noted_once() {
    let lost = || Taken {
        reading: Reading::default(),
        absent: vec![Absent {
            reading: "GPU".to_owned(),
            reason: "the device is lost".to_owned(),
        }],
    };
    let state = state(vec![gpu(|_| {}), gpu(|_| {}), lost(), lost(), lost()]);
    assert_eq!(
        state.notes,
        ["the GPU's sensors stopped answering 200 ms into the launch: the device is lost"]
    );
    assert_eq!(state.absent.len(), 1);
    assert_eq!(state.during.temperature_max_c, Some(50.0));
    assert_eq!(state.after.gpu, None);
}

#[test]
fn the_host_is_summed_up_from_before_to_after() {
    let host = |mhz, foreign| Taken {
        reading: Reading {
            gpu: None,
            host: Some(HostReading {
                cpu_mhz: mhz,
                foreign_cpu: foreign,
                memory_pressure_percent: mhz.map(|mhz: f64| mhz / 1000.0),
                ..HostReading::default()
            }),
        },
        absent: Vec::new(),
    };
    let state = state(vec![
        host(None, Some(9.0)),
        host(Some(3000.0), None),
        Taken::default(),
        host(Some(2000.0), Some(0.5)),
    ]);
    assert_eq!(
        state.during.foreign_cpu,
        Some(0.5),
        "since the reading before"
    );
    assert_eq!(state.during.cpu_mhz.map(|c| c.median), Some(2500.0));
    assert_eq!(state.during.memory_pressure_percent, Some(3.0));
}

#[test]
fn a_long_time_without_a_reading_is_noted() {
    let mut collector = Collector::begin(
        Taken::default(),
        HeldTo::default(),
        Duration::from_millis(100),
    );
    collector.push(Duration::from_millis(100), Taken::default());
    let state = collector.end(Duration::from_millis(4400), Taken::default());
    assert_eq!(state.during.longest_gap_ms, 4300.0);
    assert_eq!(
        state.notes,
        ["no reading of the machine for 4.3 s of this launch"]
    );
}
