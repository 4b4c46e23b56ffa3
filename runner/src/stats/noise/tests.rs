//! What the estimators give where the truth is known. Seeds are fixed; the tolerances are what
//! the estimators were seen to do over hundreds of streams, and are what the documentation says.

use super::*;
use crate::stats::simulate::{Machine, Random};

/// A launch with one value and nothing inside.
fn bare(value: f64) -> Launch {
    Launch {
        value,
        inner: Vec::new(),
        wall_s: 0.5,
        answer_s: None,
    }
}

fn estimate(pairs: &[(Launch, Launch)]) -> Result<NoiseProfile, NoProfile> {
    NoiseProfile::estimate(&Calibration {
        pairs,
        better: Better::Higher,
        warmup: 1,
    })
}

fn quiet(sigma: f64) -> Noise {
    Noise {
        launch: 0.0,
        drift: 0.0,
        slot_bias: 0.0,
        cluster_rate: 0.0,
        ..Noise::standard(sigma)
    }
}

fn stream(noise: Noise, pairs: usize, index: u64) -> Vec<(Launch, Launch)> {
    let mut machine = Machine::new(noise, Random::new(77, index));
    let mut next = |second| bare(1000.0 * (machine.sample(second) / 100.0).exp());
    (0..pairs).map(|_| (next(false), next(true))).collect()
}

/// A figure of so many streams' profiles, ascending.
fn over_streams(
    noise: Noise,
    pairs: usize,
    streams: u64,
    figure: impl Fn(&NoiseProfile) -> f64,
) -> Vec<f64> {
    let mut found: Vec<f64> = (0..streams)
        .map(|index| figure(&estimate(&stream(noise, pairs, index)).expect("a profile")))
        .collect();
    found.sort_unstable_by(f64::total_cmp);
    found
}

/// The middle and the ends between which nine streams in ten lie.
fn spread(sorted: &[f64]) -> (f64, f64, f64) {
    let at = |share: f64| sorted[((sorted.len() - 1) as f64 * share).round() as usize];
    (at(0.5), at(0.05), at(0.95))
}

#[test]
fn sigma_is_recovered_whatever_drift_and_slot_do() {
    for sigma in [0.3, 0.5, 0.8] {
        let noise = Noise::standard(sigma);
        let handed = 1.0 - noise.drift_phi;
        let truth = (sigma.powi(2) + noise.launch.powi(2) + handed * noise.drift.powi(2)).sqrt();
        let found = over_streams(noise, 26, 150, |profile| profile.sigma.value);
        let (middle, low, high) = spread(&found);
        assert!(
            (middle / truth - 1.0).abs() < 0.10,
            "{sigma}: {middle} {truth}"
        );
        assert!(
            low > 0.60 * truth && high < 1.45 * truth,
            "{sigma}: {low} {high}"
        );
    }
}

#[test]
fn the_interval_of_sigma_covers_it_about_as_often_as_it_says() {
    let noise = quiet(0.5);
    let covered = (0..150)
        .filter(|index| {
            let sigma = estimate(&stream(noise, 26, *index))
                .expect("a profile")
                .sigma;
            (sigma.low..=sigma.high).contains(&0.5)
        })
        .count();
    assert!((123..=147).contains(&covered), "{covered} of 150");
}

#[test]
fn the_slot_bias_is_recovered_with_its_interval() {
    let noise = Noise {
        slot_bias: -0.5,
        ..Noise::standard(0.3)
    };
    let found = over_streams(noise, 26, 100, |profile| profile.slot.value);
    let (middle, low, high) = spread(&found);
    assert!((middle + 0.5).abs() < 0.04, "{middle}");
    assert!(low > -0.75 && high < -0.25, "{low} {high}");
    let covers =
        |profile: &NoiseProfile| f64::from(profile.slot.low <= -0.5 && -0.5 <= profile.slot.high);
    let covered: f64 = over_streams(noise, 26, 100, covers).iter().sum();
    assert!((90.0..=100.0).contains(&covered), "{covered} of 100");
}

/// Launch offset and runs' scatter apart: each launch has its own offset, each run its own error.
fn nested(launch_sd: f64, run_sd: f64, runs: usize, index: u64) -> Vec<(Launch, Launch)> {
    let mut random = Random::new(4711, index);
    let mut launch = || {
        let offset = launch_sd * random.normal();
        let inner: Vec<f64> = (0..runs)
            .map(|_| 1000.0 * ((offset + run_sd * random.normal()) / 100.0).exp())
            .collect();
        Launch {
            value: median(&inner).expect("runs"),
            inner,
            wall_s: 3.0,
            answer_s: Some(0.9),
        }
    };
    (0..26).map(|_| (launch(), launch())).collect()
}

#[test]
fn within_and_between_launches_are_told_apart() {
    let found = |launch_sd, run_sd, of: fn(&Inside) -> f64| {
        let mut all: Vec<f64> = (0..100)
            .map(|index| {
                let profile = estimate(&nested(launch_sd, run_sd, 8, index)).expect("a profile");
                of(&profile.inside.expect("runs"))
            })
            .collect();
        all.sort_unstable_by(f64::total_cmp);
        spread(&all)
    };
    let (run, low, high) = found(0.3, 0.4, |inside| inside.run_sd);
    assert!(
        (run - 0.4).abs() < 0.01 && low > 0.34 && high < 0.46,
        "{run} {low} {high}"
    );
    let (launch, low, high) = found(0.3, 0.4, |inside| inside.launch_sd);
    assert!(
        (launch - 0.3).abs() < 0.03 && low > 0.19 && high < 0.42,
        "{launch} {low} {high}"
    );
    // Without an offset of its own, what is found for it is next to nothing.
    let (launch, _, high) = found(0.0, 0.4, |inside| inside.launch_sd);
    assert!(launch < 0.06 && high < 0.12, "{launch} {high}");
}

#[test]
fn the_scatter_of_a_median_is_what_the_factor_says() {
    let mut random = Random::new(9, 9);
    for runs in [1u32, 2, 3, 4, 5, 8, 16] {
        let medians: Vec<f64> = (0..6_000)
            .map(|_| {
                let all: Vec<f64> = (0..runs).map(|_| random.normal()).collect();
                median(&all).expect("runs")
            })
            .collect();
        let found = medians.iter().map(|m| m * m).sum::<f64>() / 6_000.0;
        let ratio = found / median_factor(runs);
        assert!((0.92..1.10).contains(&ratio), "{runs}: {ratio}");
    }
}

#[test]
fn outliers_are_counted_and_do_not_make_sigma() {
    let mut pairs = stream(quiet(0.2), 26, 3);
    for at in [4, 17] {
        pairs[at].0.value *= 0.95;
        pairs[at].1.value *= 0.96;
    }
    let profile = estimate(&pairs).expect("a profile");
    assert_eq!(profile.outliers.share, 4.0 / 52.0);
    let mean = profile.outliers.mean.expect("outliers");
    assert!((-5.2..-4.0).contains(&mean), "{mean}");
    assert!(profile.sigma.value < 0.3, "{:?}", profile.sigma);
    let without = estimate(&stream(quiet(0.2), 26, 3)).expect("a profile");
    assert_eq!((without.outliers.share, without.outliers.mean), (0.0, None));
}

#[test]
fn slow_drift_is_told_from_scatter_and_no_drift_is_not_made_up() {
    let drifting = Noise {
        drift: 1.0,
        drift_phi: 0.95,
        ..quiet(0.2)
    };
    let told = |noise, pairs| {
        let found = over_streams(noise, pairs, 100, |profile| {
            f64::from(profile.drift.series.is_some())
        });
        found.iter().sum::<f64>() / 100.0
    };
    assert!(told(drifting, 26) > 0.9, "{}", told(drifting, 26));
    // Two standard errors: one stream in forty by chance.
    assert!(told(quiet(0.5), 26) < 0.05, "{}", told(quiet(0.5), 26));

    let series = |pairs, of: fn(&Series) -> f64| {
        let found = over_streams(drifting, pairs, 100, |profile| {
            profile.drift.series.as_ref().map_or(0.0, of)
        });
        spread(&found)
    };
    // 26 pairs see less of a slow drift than there is, and hardly how slow it is.
    let (sd, low, high) = series(26, |series| series.sd);
    assert!(
        (0.5..1.0).contains(&sd) && low > 0.2 && high < 1.8,
        "{sd} {low} {high}"
    );
    let (phi, low, high) = series(26, |series| series.phi);
    assert!(
        (0.7..0.96).contains(&phi) && low > 0.4 && high <= 0.999,
        "{phi} {low} {high}"
    );
    let (sd, low, high) = series(200, |series| series.sd);
    assert!(
        (0.9..1.05).contains(&sd) && low > 0.7 && high < 1.3,
        "{sd} {low} {high}"
    );
    let (phi, low, high) = series(200, |series| series.phi);
    assert!(
        (0.93..0.96).contains(&phi) && low > 0.90,
        "{phi} {low} {high}"
    );
}

#[test]
fn constant_values_have_no_noise() {
    let pairs = vec![(bare(41.0), bare(41.0)); 10];
    let profile = estimate(&pairs).expect("a profile");
    let zero = Estimate {
        value: 0.0,
        low: 0.0,
        high: 0.0,
    };
    assert_eq!((profile.sigma, profile.slot), (zero, zero));
    assert_eq!(profile.drift.series, None);
    assert_eq!(profile.drift.autocorrelation, 0.0);
    assert_eq!(profile.outliers.share, 0.0);
    assert_eq!(profile.median, 41.0);
}

#[test]
fn values_of_two_steps_have_no_outliers() {
    let pairs: Vec<_> = (0..20)
        .map(|n| (bare(2000.0), bare(if n % 4 == 0 { 2001.0 } else { 2000.0 })))
        .collect();
    let profile = estimate(&pairs).expect("a profile");
    assert_eq!(profile.outliers.share, 0.0);
    assert!(profile.sigma.value > 0.01 && profile.sigma.value < 0.03);
}

#[test]
fn too_few_pairs_and_values_that_are_none_make_no_profile() {
    let pairs = vec![(bare(1.0), bare(1.0)); 5];
    assert_eq!(estimate(&pairs), Err(NoProfile::TooFew { pairs: 5 }));
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let mut pairs = vec![(bare(1.0), bare(1.0)); 8];
        pairs[7].1.value = bad;
        assert_eq!(estimate(&pairs), Err(NoProfile::NotPositive));
    }
}

#[test]
fn costs_come_from_the_launches_and_what_is_not_known_stays_unknown() {
    let profile = estimate(&nested(0.1, 0.1, 8, 0)).expect("a profile");
    // 0.9 s for one untimed and eight timed runs.
    let run = profile.cost.run_s.expect("a harness answered");
    assert!((run - 0.1).abs() < 1e-12 && profile.cost.launch_s == 3.0);
    let bare = estimate(&stream(quiet(0.5), 10, 0)).expect("a profile");
    assert_eq!((bare.cost.run_s, bare.inside), (None, None));
}

#[test]
fn lower_is_better_turns_the_slot_bias_round() {
    let pairs: Vec<_> = (0..10).map(|_| (bare(100.0), bare(101.0))).collect();
    let of = |better| {
        let calibration = Calibration {
            pairs: &pairs,
            better,
            warmup: 0,
        };
        NoiseProfile::estimate(&calibration)
            .expect("a profile")
            .slot
            .value
    };
    assert!(of(Better::Higher) > 0.9 && of(Better::Lower) < -0.9);
}

#[test]
fn a_profile_reads_back_as_it_was_written() {
    let profile = estimate(&nested(0.2, 0.3, 8, 5)).expect("a profile");
    let text = serde_json::to_string(&profile).expect("JSON");
    let back: NoiseProfile = serde_json::from_str(&text).expect("a profile");
    assert_eq!(back, profile);
}
