//! From samples to profiles, and from profiles to what is expected.

use super::*;
use crate::config::DEFAULT_PROTOCOL;
use crate::measure::fake;
use crate::model::Failure;
use crate::stats::simulate::{Machine, Noise, Random};

fn sample(side: Side, pair: u32, slot: u8, value: f64) -> Sample {
    Sample {
        bench: "prefill".to_owned(),
        side,
        role: SampleRole::Pair,
        pair,
        slot,
        attempt: 1,
        started_at: UnixMillis(0),
        wall_ms: 2_000.0,
        answer_ms: None,
        value: Some(value),
        inner: Vec::new(),
        facts: crate::model::Facts::default(),
        failure: None,
        log: None,
        state: None,
    }
}

fn config() -> Config {
    let mut config = fake::config(vec![fake::bench("prefill"), fake::bench("decode")]);
    config.protocol = DEFAULT_PROTOCOL;
    config
}

/// Pairs of a simulated machine, one half of them with head first.
fn simulated(noise: Noise, pairs: u32) -> Vec<Sample> {
    let mut machine = Machine::new(noise, Random::new(12, 0));
    let mut next = |second| 1000.0 * (machine.sample(second) / 100.0).exp();
    let mut samples = Vec::new();
    for pair in 0..pairs {
        let sides = match pair % 2 {
            0 => [Side::Base, Side::Head],
            _ => [Side::Head, Side::Base],
        };
        samples.push(sample(sides[0], pair, 0, next(false)));
        samples.push(sample(sides[1], pair, 1, next(true)));
    }
    samples
}

fn record(config: &Config, samples: &[Sample]) -> NoiseRecord {
    let bench = &config.benches[0];
    NoiseRecord {
        run: 7,
        at: UnixMillis(0),
        machine: "here".to_owned(),
        bench: bench.name.clone(),
        what: what_runs(config, bench),
        noise: calibrated(config, bench, samples)
            .result
            .expect("a profile"),
    }
}

#[test]
fn slots_are_told_from_sides() {
    // The second slot is slower by 2 %; the sides, which take turns, are equal.
    let mut samples = Vec::new();
    for pair in 0..16 {
        let (first, second) = match pair % 2 {
            0 => (Side::Base, Side::Head),
            _ => (Side::Head, Side::Base),
        };
        samples.push(sample(second, pair, 1, 98.0));
        samples.push(sample(first, pair, 0, 100.0));
    }
    let config = config();
    let noise = record(&config, &samples).noise;
    assert!((noise.profile.slot.value - 100.0 * 0.98f64.ln()).abs() < 1e-9);
    assert_eq!(noise.profile.sigma.value, 0.0);
    assert_eq!(noise.aa.outcome, AaOutcome::NoEffect);
    assert_eq!(noise.profile.cost.launch_s, 2.0);
}

#[test]
fn pairs_that_do_not_count_and_throw_aways_are_left_out() {
    let mut samples = simulated(Noise::standard(0.3), 8);
    samples[5].value = None;
    samples[5].failure = Some(Failure::NoValue);
    let thrown_away = Sample {
        role: SampleRole::ThrowAway,
        ..sample(Side::Base, 0, 0, 5000.0)
    };
    samples.insert(0, thrown_away);
    let config = config();
    let found = calibrated(&config, &config.benches[0], &samples);
    assert_eq!(found.result.expect("a profile").profile.pairs, 7);
    let few = calibrated(&config, &config.benches[0], &samples[..7]);
    assert_eq!(few.result, Err(NoProfile::TooFew { pairs: 2 }));
}

#[test]
fn what_a_bench_runs_is_neither_its_bar_nor_its_limits() {
    let config = config();
    let bench = &config.benches[0];
    let what = what_runs(&config, bench);
    let mut same = bench.clone();
    same.bar = Some(crate::model::Bar::Relative { percent: 2.0 });
    same.timeout_s = 1;
    assert_eq!(what_runs(&config, &same), what);
    let mut other = bench.clone();
    other.env.insert("THREADS".to_owned(), "2".to_owned());
    assert_ne!(what_runs(&config, &other), what);
    let mut elsewhere = config.clone();
    elsewhere.device.kind = crate::config::DeviceKind::Cuda;
    assert_ne!(what_runs(&elsewhere, bench), what);
}

#[test]
fn a_run_is_forecast_where_the_profile_is_of_this_machine_and_of_what_runs_now() {
    let config = config();
    let profiles = [record(&config, &simulated(Noise::standard(0.5), 26))];
    let registration = crate::registration::from_commit("", &config);
    let expected = |config: &Config, machine| {
        let known = Known {
            profiles: &profiles,
            machine,
        };
        Expectation::of(config, &registration, known)
    };
    let here = expected(&config, "here");
    assert_eq!(here.unknown, ["decode"]);
    let Outlook::Target(forecast) = &here.benches[0].outlook else {
        panic!("{here:?}");
    };
    assert!(forecast.pairs_at_none > 6.0 && forecast.pairs_at_none < 20.0);
    let lines = here.lines();
    assert!(lines[0].starts_with("prefill: about "), "{lines:?}");
    assert!(lines[0].ends_with("by run 7"), "{lines:?}");
    assert!(lines[1].contains("how many pairs decode"), "{lines:?}");

    let all: &[&str] = &["prefill", "decode"];
    assert_eq!(expected(&config, "elsewhere").unknown, all);
    let mut changed = config.clone();
    changed.benches[0].warmup += 1;
    assert_eq!(expected(&changed, "here").unknown, all);

    let mut fixed = config.clone();
    fixed.protocol = Protocol::Pairs(5);
    let fixed = expected(&fixed, "here");
    assert_eq!(fixed.benches[0].outlook, Outlook::Fixed { pairs: 5 });
    // Five pairs and the throw-aways, of 2 s each.
    assert!(fixed.lines()[0].contains("5 pairs (24.0 s)"), "{fixed:?}");
}

#[test]
fn a_bar_that_the_noise_does_not_support_is_said_with_what_is() {
    let config = config();
    let profiles = [record(&config, &simulated(Noise::standard(0.9), 26))];
    let known = Known {
        profiles: &profiles,
        machine: "here",
    };
    let registration = |bar: &str| {
        let message = format!("a lever\n\nBar: prefill {bar}\n");
        crate::registration::from_commit(&message, &config)
    };
    let small = Expectation::of(&config, &registration("+0.5%"), known);
    let warnings = small.warnings();
    assert!(
        warnings[0].starts_with("prefill: a +0.5 % bar needs about "),
        "{warnings:?}"
    );
    assert!(warnings[0].contains("% of runs; +1"), "{warnings:?}");
    let large = Expectation::of(&config, &registration("+5%"), known);
    assert!(large.warnings().is_empty(), "{large:?}");
}

#[test]
fn a_false_landing_is_called_one() {
    let config = config();
    let mut samples = simulated(Noise::standard(0.3), 26);
    for sample in samples.iter_mut().filter(|s| s.side == Side::Head) {
        sample.value = sample.value.map(|value| value * 1.05);
    }
    let record = record(&config, &samples);
    assert_eq!(record.noise.aa.outcome, AaOutcome::FalseLanding);
    let lines = profile_lines(&record);
    assert!(lines[1].starts_with("  A/A: FALSE LANDING: "), "{lines:?}");
    let text = serde_json::to_string(&record.noise).expect("JSON");
    let back: StoredNoise = serde_json::from_str(&text).expect("what was stored");
    assert_eq!(back, record.noise);
}
