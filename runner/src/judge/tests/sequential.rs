//! Verdicts under the sequential protocol. Effects alternate around a mean by a little, so that
//! every interval is known without arithmetic.

use super::*;
use crate::config::DEFAULT_PROTOCOL;

/// So many effects, by turns a tenth of a percent below and above.
fn around(mean: f64, pairs: usize) -> Vec<f64> {
    let sign = |i: usize| if i.is_multiple_of(2) { -0.1 } else { 0.1 };
    (0..pairs).map(|i| mean + sign(i)).collect()
}

/// A clean run with a bar of +1.5 % under the sequential protocol.
fn sequential(effects: &[f64]) -> Evidence {
    let mut evidence = lever(effects);
    evidence.config.protocol = DEFAULT_PROTOCOL;
    evidence
}

fn with_guard(target: &[f64], guard: &[f64]) -> Evidence {
    let mut evidence = sequential(target);
    evidence.config.benches.insert(0, fake::bench("decode"));
    evidence.benches.push(pairs("decode", guard));
    evidence
}

#[test]
fn every_row_of_the_table() {
    // Averages of a gain and a loss are worth having, and too many losses keep it from being real.
    let is_loss = |i: usize| i.is_multiple_of(2) || [41, 43].contains(&i);
    let wide: Vec<f64> = (0..44)
        .map(|i| if is_loss(i) { -8.0 } else { 10.0 })
        .collect();
    for (effects, verdict, finding, words) in [
        (
            around(5.0, 10),
            Verdict::Landed,
            Finding::ReachesBar,
            "10 of 10 pairs better; after 10 pairs, look 2 of 5; 80",
        ),
        (
            around(1.0, 10),
            Verdict::Inconclusive,
            Finding::BelowBar,
            "runner decide",
        ),
        (
            around(0.0, 6),
            Verdict::Reverted,
            Finding::NoEffect,
            "after 6 pairs, look 1 of 5) shows no worthwhile effect",
        ),
        (wide, Verdict::Inconclusive, Finding::Open, "look 5 of 5"),
    ] {
        let judgement = judge(&sequential(&effects));
        expect(&judgement, verdict, &[words]);
        let bench = &judgement.benches[0];
        assert_eq!(bench.finding, finding);
        assert_eq!(bench.pairs as usize, effects.len());
        assert_eq!(bench.looks.last().map(|look| look.pairs), Some(bench.pairs));
        assert!(
            !judgement
                .reasons
                .iter()
                .any(|r| r.text.contains("fixed protocol"))
        );
        expect_reason(&judgement, Weight::Note, "in at most 0.98 % of runs");
    }
}

/// The effect is that of the last look: the interval for real where there is one.
#[test]
fn the_interval_is_that_of_the_last_look_with_its_coverage() {
    let judgement = judge(&sequential(&around(5.0, 10)));
    let bench = &judgement.benches[0];
    let (effect, last) = (bench.effect.expect("an effect"), bench.looks[1]);
    let real = last.real.expect("the second look has one");
    assert_eq!(
        (effect.low, effect.high, effect.coverage),
        (real.low, real.high, real.coverage)
    );
    assert_eq!(real.coverage, crate::stats::coverage(10, 2));
    assert_eq!(last.close.coverage, crate::stats::coverage(10, 14));
    assert!(last.is_real && !bench.looks[0].is_real);
    let judgement = judge(&sequential(&around(0.0, 6)));
    let bench = &judgement.benches[0];
    assert_eq!(bench.looks[0].real, None);
    let effect = bench.effect.expect("an effect");
    assert_eq!(effect.coverage, crate::stats::coverage(6, 3));
}

#[test]
fn a_sub_bar_effect_lands_by_its_three_conditions() {
    let mut evidence = sequential(&around(1.0, 10));
    evidence.decision = Some(Decision {
        action: DecisionAction::Land,
        reason: "cheap".to_owned(),
        by: "ada".to_owned(),
        at: UnixMillis(0),
    });
    expect(&judge(&evidence), Verdict::LandedSubBar, &["cheap"]);
    evidence.claims.clear();
    expect(&judge(&evidence), Verdict::Reverted, &["no claim"]);
}

#[test]
fn equal_values_and_effects_at_the_bar_are_no_matter_of_rounding() {
    let judgement = judge(&sequential(&[0.0; 6]));
    expect(&judgement, Verdict::Reverted, &["no worthwhile effect"]);
    expect(
        &judge(&sequential(&[1.5; 10])),
        Verdict::Landed,
        &["+1.50 %"],
    );
    let mut absolute = sequential(&[0.0; 10]);
    for sample in &mut absolute.benches[0].samples {
        sample.value = Some(if sample.side == Side::Base {
            1300.0
        } else {
            1350.0
        });
    }
    absolute.registration.bars = vec![bar("prefill", Bar::Absolute { value: 1350.0 })];
    expect(&judge(&absolute), Verdict::Landed, &[">= 1,350 tok/s"]);
    absolute.registration.bars = vec![bar("prefill", Bar::Absolute { value: 1351.0 })];
    assert_eq!(judge(&absolute).benches[0].finding, Finding::BelowBar);
}

#[test]
fn a_guard_is_asked_whether_it_got_worse() {
    for (guard, pairs, verdict, finding) in [
        (-5.0, 10, Verdict::Reverted, Finding::Regression),
        (0.0, 6, Verdict::Landed, Finding::NotWorse),
        (5.0, 6, Verdict::Landed, Finding::NotWorse),
    ] {
        let judgement = judge(&with_guard(&around(5.0, 10), &around(guard, pairs)));
        assert_eq!(judgement.verdict, verdict, "{}", judgement.headline);
        assert_eq!(judgement.benches[1].finding, finding);
        let estimate = judgement.benches[1].effect.expect("an effect").estimate;
        assert!(
            (estimate - guard).abs() < 0.2,
            "positive is better: {estimate}"
        );
    }
}

#[test]
fn benches_after_a_lost_target_are_not_missed() {
    let judgement = judge(&with_guard(&around(0.0, 6), &[]));
    expect(&judgement, Verdict::Reverted, &["prefill"]);
    assert_eq!(judgement.benches[1].finding, Finding::NotMeasured);
    expect_reason(
        &judgement,
        Weight::Note,
        "decode was not measured: the verdict was settled",
    );
    let judgement = judge(&with_guard(&around(5.0, 10), &[]));
    expect(
        &judgement,
        Verdict::EnvInvalid,
        &["`decode` has 0 of the 6"],
    );
}

#[test]
fn a_run_that_ended_between_two_looks_has_too_few_pairs() {
    let judgement = judge(&sequential(&around(5.0, 8)));
    expect(
        &judgement,
        Verdict::EnvInvalid,
        &["`prefill` has 8 of the 10 of its next look"],
    );
}

/// Loses the pairs with these numbers on head, twice each.
fn losing(effects: &[f64], lost: &[u32]) -> Judgement {
    let mut evidence = sequential(effects);
    for sample in &mut evidence.benches[0].samples {
        if sample.side == Side::Head && lost.contains(&sample.pair) {
            sample.value = None;
            sample.failure = Some(Failure::Signal { signal: 11 });
        }
    }
    judge(&evidence)
}

#[test]
fn a_lost_pair_that_was_replaced_is_told_and_too_many_are_no_verdict() {
    let judgement = losing(&around(5.0, 11), &[3]);
    expect(&judgement, Verdict::Landed, &["10 of 10 pairs better"]);
    assert_eq!(judgement.benches[0].pairs_missing, 1);
    expect_reason(
        &judgement,
        Weight::Warning,
        "another pair was measured in the place of its own",
    );
    let judgement = losing(&around(5.0, 13), &[3, 5, 7]);
    expect(
        &judgement,
        Verdict::EnvInvalid,
        &["`prefill` lost 3 of 13 that were begun"],
    );
    let judgement = losing(&around(5.0, 11), &[10]);
    expect(&judgement, Verdict::Broken, &["on head"]);
}

#[test]
fn judgements_from_before_there_were_looks_still_load() {
    let fixed = judge(&lever(&REAL));
    let text = serde_json::to_string(&fixed).expect("plain data");
    assert!(!text.contains("looks"), "as it always was: {text}");
    let again: Judgement = serde_json::from_str(&text).expect("reads back");
    assert_eq!(again, fixed);
    let looked = judge(&sequential(&around(5.0, 10)));
    let text = serde_json::to_string(&looked).expect("plain data");
    let again: Judgement = serde_json::from_str(&text).expect("reads back");
    assert_eq!(again, looked);
}
