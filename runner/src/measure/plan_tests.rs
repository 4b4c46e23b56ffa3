//! Plans from throw-aways that are known.

use super::*;
use crate::measure::fake;
use crate::model::{SampleRole, Side, UnixMillis};

fn by_harness(inner: Option<u32>) -> Bench {
    Bench {
        probe: Probe::Harness("prefill".to_owned()),
        value: None,
        inner,
        timeout_s: 100,
        ..fake::bench("prefill")
    }
}

/// A launch of 10 s, 4.5 s of which the harness answered in: one untimed and eight timed runs.
fn thrown_away(inner: &[f64]) -> Sample {
    Sample {
        bench: "prefill".to_owned(),
        side: Side::Base,
        role: SampleRole::ThrowAway,
        pair: 0,
        slot: 0,
        attempt: 1,
        started_at: UnixMillis(0),
        wall_ms: 10_000.0,
        answer_ms: Some(4_500.0),
        value: Some(100.0),
        inner: inner.to_vec(),
        facts: crate::model::Facts::default(),
        failure: None,
        log: None,
        state: None,
    }
}

const RUNS: [f64; 8] = [99.0, 100.0, 101.0, 100.0, 99.0, 101.0, 100.0, 100.0];
const PROFILE: Scatter = Scatter::Profile { run: 3 };

fn plan(bench: &Bench, samples: &[Sample], known: Option<Known>) -> BenchPlan {
    draw_up(bench, samples, known).expect("a harness has a plan")
}

#[test]
fn the_rule_takes_costs_from_the_first_launches_and_scatter_from_before() {
    let samples = [thrown_away(&RUNS), thrown_away(&RUNS)];
    let drawn = plan(
        &by_harness(None),
        &samples,
        Some(Known::Variance(0.04, PROFILE)),
    );
    let PlanReason::Rule {
        ingredients,
        scatter,
        by_time,
    } = drawn.reason
    else {
        panic!("{drawn:?}");
    };
    assert_eq!((scatter, by_time), (PROFILE, false));
    assert_eq!((ingredients.launch_s, ingredients.run_s), (5.5, 0.5));
    // 5.5 s a launch against .5 s a run, .76 % between runs against .2 % between launches: 13 runs.
    let expected = (11.0 * ingredients.run_variance / 0.04).sqrt().ceil();
    assert_eq!(f64::from(drawn.inner), expected);
    assert!((12..=15).contains(&drawn.inner), "{}", drawn.inner);
}

#[test]
fn a_launch_stays_well_within_its_time_limit() {
    let bench = Bench {
        timeout_s: 10,
        ..by_harness(None)
    };
    let known = Some(Known::Variance(1e-6, PROFILE));
    let drawn = plan(&bench, &[thrown_away(&RUNS)], known);
    // Half of 10 s are ten runs of .5 s, one of them untimed.
    assert_eq!(drawn.inner, 9);
    assert!(matches!(
        drawn.reason,
        PlanReason::Rule { by_time: true, .. }
    ));
}

#[test]
fn a_number_that_is_given_counts_and_commands_have_no_plan() {
    let known = Some(Known::Variance(0.04, PROFILE));
    let samples = [thrown_away(&RUNS)];
    let given = plan(&by_harness(Some(5)), &samples, known);
    assert_eq!((given.inner, given.reason), (5, PlanReason::Config));
    let replayed = plan(&by_harness(None), &samples, Some(Known::Runs(21)));
    assert_eq!(
        (replayed.inner, replayed.reason),
        (21, PlanReason::Replayed)
    );
    assert_eq!(draw_up(&fake::bench("prefill"), &samples, known), None);
}

#[test]
fn without_what_the_rule_needs_the_default_stands_with_the_reason() {
    let bench = by_harness(None);
    let known = Some(Known::Variance(0.04, PROFILE));
    let silent = [thrown_away(&[])];
    let constant = [thrown_away(&[100.0; 8])];
    let failed = Sample {
        value: None,
        ..thrown_away(&RUNS)
    };
    for (samples, known, says) in [
        (&[thrown_away(&RUNS)][..], None, "runner calibrate"),
        (&silent[..], known, "do not tell"),
        (&[failed][..], known, "do not tell"),
        (&constant[..], Some(Known::Variance(0.0, PROFILE)), "differ"),
    ] {
        let drawn = plan(&bench, samples, known);
        assert_eq!(drawn.inner, DEFAULT_INNER);
        assert!(drawn.text().contains(says), "{}", drawn.text());
    }
}
