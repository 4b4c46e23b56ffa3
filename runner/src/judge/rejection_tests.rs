//! Every rule, on states written by hand.

use super::*;
use crate::model::{During, GpuReading, HeldTo, Reading, Spread, UnixMillis};

fn half(side: Side, pair: u32, state: Option<SampleState>) -> Sample {
    Sample {
        bench: "prefill".to_owned(),
        side,
        role: SampleRole::Pair,
        pair,
        slot: 0,
        attempt: 1,
        started_at: UnixMillis(0),
        wall_ms: 1.0,
        answer_ms: None,
        value: Some(100.0),
        inner: Vec::new(),
        facts: crate::model::Facts::default(),
        failure: None,
        log: None,
        state,
    }
}

fn during(change: impl FnOnce(&mut During)) -> SampleState {
    let mut state = SampleState::default();
    change(&mut state.during);
    state
}

fn throttled(reasons: &[Throttle]) -> SampleState {
    during(|d| d.throttle = Some(reasons.to_vec()))
}

/// Pair 0 with this state of base's half and an ordinary one of head's.
fn judged(base: SampleState) -> Option<RejectedPair> {
    let head = during(|d| d.temperature_max_c = Some(60.0));
    let samples = [
        half(Side::Base, 0, Some(base)),
        half(Side::Head, 0, Some(head)),
    ];
    rejected_pair(&samples, 0)
}

fn words(base: SampleState) -> String {
    judged(base).map_or_else(|| "counts".to_owned(), |rejected| rejected.words())
}

#[test]
fn clocks_that_are_held_down() {
    use Throttle::*;
    for (reasons, expected) in [
        (&[][..], "counts"),
        (
            &[Idle, ApplicationClocks, SoftwarePowerCap, DisplayClocks],
            "counts",
        ),
        (&[HardwareSlowdown], "hardware slowdown on base"),
        (
            &[HardwareSlowdown, HardwareThermal],
            "thermal slowdown on base",
        ),
        (&[SoftwareThermal], "thermal slowdown on base"),
        (
            &[SoftwareThermal, HardwareSlowdown],
            "thermal slowdown on base, hardware slowdown on base",
        ),
        (&[HardwareSlowdown, PowerBrake], "power brake on base"),
        (&[SyncBoost, SoftwarePowerCap], "sync boost on base"),
    ] {
        assert_eq!(words(throttled(reasons)), expected, "{reasons:?}");
    }
}

fn user(pid: u32, name: Option<&str>) -> GpuUser {
    GpuUser {
        pid,
        name: name.map(str::to_owned),
        memory_bytes: None,
        is_visible: true,
    }
}

#[test]
fn others_on_the_gpu_and_errors_of_the_hardware() {
    let with = |users: Vec<GpuUser>| words(during(|d| d.foreign = Some(users)));
    assert_eq!(with(vec![]), "counts");
    assert_eq!(
        with(vec![user(7, Some("python"))]),
        "foreign process 7 (python) on base"
    );
    let many = (1..5).map(|pid| user(pid, None)).collect();
    assert_eq!(with(many), "foreign processes 1, 2 and 2 more on base");
    let ecc = |n| words(during(|d| d.new_ecc_uncorrected = Some(n)));
    assert_eq!(ecc(0), "counts");
    assert_eq!(ecc(1), "1 new uncorrected ECC error on base");
    assert_eq!(ecc(2), "2 new uncorrected ECC errors on base");
    let xid = |xids| words(during(|d| d.xids = Some(xids)));
    assert_eq!(xid(vec![]), "counts");
    assert_eq!(xid(vec![31, 79]), "Xid 31 and 79 on base");
}

#[test]
fn a_lock_holds_within_a_percent() {
    let at = |lock, mhz| {
        let mut state = during(|d| {
            d.sm_clock_mhz = Some(Spread {
                min: 1.0,
                median: mhz,
                max: 9999.0,
            });
        });
        state.held_to.sm_clock_mhz = lock;
        words(state)
    };
    assert_eq!(at(None, 300.0), "counts");
    for mhz in [1485.0, 1500.0, 1515.0] {
        assert_eq!(at(Some(1500), mhz), "counts", "{mhz}");
    }
    assert_eq!(
        at(Some(1500), 1484.0),
        "SM clock at 1484 MHz, locked to 1500 MHz on base"
    );
    assert_ne!(at(Some(1500), 1516.0), "counts");
    let unread = SampleState {
        held_to: HeldTo {
            sm_clock_mhz: Some(1500),
            foreign_cpu: None,
        },
        ..SampleState::default()
    };
    assert_eq!(words(unread), "counts", "an absent clock is no other clock");
}

#[test]
fn load_of_others_counts_only_where_there_is_a_limit() {
    let at = |limit, load| {
        let mut state = during(|d| d.foreign_cpu = Some(load));
        state.held_to.foreign_cpu = limit;
        words(state)
    };
    assert_eq!(at(None, 40.0), "counts");
    assert_eq!(at(Some(0.5), 0.5), "counts");
    assert_eq!(
        at(Some(0.5), 0.75),
        "other processes used 0.75 processors, over the limit of 0.5 on base"
    );
}

#[test]
fn halves_at_other_temperatures() {
    let hot = |celsius| words(during(|d| d.temperature_max_c = Some(celsius)));
    assert_eq!(hot(65.0), "counts");
    assert_eq!(hot(54.9), "temperatures 5.1 °C apart");
    assert_eq!(hot(67.0), "temperatures 7 °C apart");
    // Read before and after only.
    let around = |celsius| {
        let gpu = |temperature_c| Reading {
            gpu: Some(GpuReading {
                temperature_c,
                ..GpuReading::default()
            }),
            host: None,
        };
        words(SampleState {
            before: gpu(Some(20.0)),
            after: gpu(celsius),
            ..SampleState::default()
        })
    };
    assert_eq!(around(Some(70.0)), "temperatures 10 °C apart");
    assert_eq!(around(None), "temperatures 40 °C apart");
}

#[test]
fn without_a_state_or_a_value_nothing_is_rejected() {
    let bad = throttled(&[Throttle::PowerBrake]);
    let samples = [half(Side::Base, 0, None), half(Side::Head, 0, None)];
    assert_eq!(rejected_pair(&samples, 0), None);
    let mut lost = [
        half(Side::Base, 0, Some(bad.clone())),
        half(Side::Head, 0, None),
    ];
    assert!(rejected_pair(&lost, 0).is_some());
    lost[1].value = None;
    assert_eq!(rejected_pair(&lost, 0), None, "it is lost, not rejected");
    let throw_away = [
        Sample {
            role: SampleRole::ThrowAway,
            ..half(Side::Base, 0, Some(bad))
        },
        half(Side::Base, 0, None),
        half(Side::Head, 0, None),
    ];
    assert_eq!(rejected_pair(&throw_away, 0), None);
}

/// A bench whose pairs have these causes: `b`, `h` power brake on that side, `t` temperatures
/// apart, `.` none.
fn bench(pairs: &str) -> Vec<Sample> {
    let brake = || throttled(&[Throttle::PowerBrake]);
    let at = |celsius| during(|d| d.temperature_max_c = Some(celsius));
    let both = |pair, base, head| {
        [
            half(Side::Base, pair, Some(base)),
            half(Side::Head, pair, Some(head)),
        ]
    };
    (0u32..)
        .zip(pairs.chars())
        .flat_map(|(pair, cause)| match cause {
            'b' => both(pair, brake(), at(50.0)),
            'h' => both(pair, at(50.0), brake()),
            't' => both(pair, at(50.0), at(60.0)),
            _ => both(pair, at(50.0), at(50.0)),
        })
        .collect()
}

#[test]
fn a_window_is_lost_at_three_pairs_and_a_fifth() {
    let lost = |pairs: &str| too_many_rejected(&bench(pairs));
    for kept in [
        "",
        "b",
        "bh",
        "......bh",
        "............bhb",
        "................bhbt",
    ] {
        assert_eq!(lost(kept), None, "{kept}");
    }
    assert_eq!(
        lost("bht").as_deref(),
        Some("3 of 3 pairs rejected: 2 power brake, 1 temperatures apart")
    );
    assert_eq!(
        lost("...........thb").as_deref(),
        Some("3 of 14 pairs rejected: 2 power brake, 1 temperatures apart")
    );
}

#[test]
fn rejections_on_one_side_are_uneven_from_six_on() {
    let of = |pairs: &str| uneven(&rejected_pairs(&bench(pairs)));
    for even in ["hhhhh", "hhhhhhb", "bbbhhh", "tttttttt", ""] {
        assert_eq!(of(even), None, "{even}");
    }
    assert_eq!(
        of("hhhhhhtt").as_deref(),
        Some(
            "rejections differ between the sides, 6 by head's state and 0 by base's (binomial p = \
             0.031): 6 power brake, 2 temperatures apart"
        )
    );
    assert!(of("bbbbbb").is_some());
}

/// `docs/machine.md` says by which numbers pairs are rejected.
#[test]
fn the_document_gives_the_constants() {
    let document = include_str!("../../../docs/machine.md").replace('\n', " ");
    for said in [
        format!("more than {} % of the pairs", MOST_REJECTED * 100.0),
        format!("at least {LEAST_REJECTED} "),
        format!("p < {UNEVEN}"),
        format!("more than {} % from the lock", OFF_LOCK * 100.0),
        format!("more than {APART_C} °C apart"),
    ] {
        assert!(document.contains(&said), "docs/machine.md: `{said}`");
    }
}
