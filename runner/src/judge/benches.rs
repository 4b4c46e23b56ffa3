//! From samples to what each bench's numbers say.

use crate::config::{Bench, Protocol};
use crate::model::{
    Bar, BenchJudgement, Better, Effect, Evidence, Finding, Registration, Role, RoundKind, Sample,
    SampleRole, Side,
};
use crate::stats::{CONFIDENCE, SMALLEST_WORTHWHILE, effect, median, pair_effect};

use super::looks;
use super::rejection::{rejected_pair, rejected_pairs};

/// Every bench of the config, targets first.
pub(super) fn judge_all(evidence: &Evidence) -> Vec<BenchJudgement> {
    // Where nothing was launched, nothing is missing: the run ended before it came to that.
    let began = evidence.benches.iter().any(|b| !b.samples.is_empty());
    let without_pairs = match began {
        true => Finding::NoData,
        false => Finding::NotMeasured,
    };
    let mut all: Vec<BenchJudgement> = evidence
        .config
        .benches
        .iter()
        .map(|bench| {
            let taken = evidence.benches.iter().find(|b| b.bench == bench.name);
            let samples = taken.map_or(&[][..], |taken| &taken.samples);
            let mut judged = judge_bench(bench, samples, &evidence.registration);
            match evidence.config.protocol {
                Protocol::Sequential {
                    smallest_worthwhile,
                } => {
                    let registration = &evidence.registration;
                    let course = looks::course(bench, smallest_worthwhile, registration, samples);
                    let counted = judged.pairs + rejected_count(samples);
                    judged.pairs_missing = begun_pairs(samples).saturating_sub(counted);
                    judged.finding = match (course.finding(), judged.pairs) {
                        (Some(finding), _) => finding,
                        (None, 0) => without_pairs,
                        (None, _) => Finding::Open,
                    };
                    judged.effect = course.effect().or(judged.effect);
                    judged.looks = course.looks();
                }
                Protocol::Pairs(planned) | Protocol::Samples(planned) => {
                    let planned = if began { planned } else { 0 };
                    judged.pairs_missing = planned.saturating_sub(judged.pairs);
                    judged.finding = judged
                        .effect
                        .map_or(without_pairs, |e| find(&e, judged.bar_percent));
                }
            }
            judged
        })
        .collect();
    all.sort_by_key(|b| in_order(b.role));
    leave_out_settled(evidence, &mut all);
    all
}

/// Targets before guards, in measuring and in what is shown.
pub fn in_order(role: Role) -> u8 {
    match role {
        Role::Target => 0,
        Role::Guard => 1,
    }
}

/// Benches that were not begun because one before them had settled the verdict miss nothing.
fn leave_out_settled(evidence: &Evidence, all: &mut [BenchJudgement]) {
    let is_sequential = matches!(evidence.config.protocol, Protocol::Sequential { .. });
    if !is_sequential || evidence.registration.kind != RoundKind::Lever {
        return;
    }
    let is_lost = |b: &BenchJudgement| {
        b.role == Role::Target && matches!(b.finding, Finding::NoEffect | Finding::Regression)
    };
    let Some(settled) = all.iter().position(is_lost) else {
        return;
    };
    for bench in &mut all[settled + 1..] {
        let taken = evidence.benches.iter().find(|b| b.bench == bench.bench);
        if taken.is_none_or(|taken| taken.samples.is_empty()) {
            bench.finding = Finding::NotMeasured;
        }
    }
}

/// The valid pairs among a bench's samples as (base, head), in order. A pair is valid when both of
/// its places have a value, from the first attempt or its repetition, and the machine's state
/// does not speak against it; throw-aways never count.
pub fn valid_pairs(samples: &[Sample]) -> Vec<(f64, f64)> {
    let value = |side: Side, pair: u32| {
        samples
            .iter()
            .filter(|s| s.role == SampleRole::Pair && s.side == side && s.pair == pair)
            .find_map(|s| s.value.filter(|v| v.is_finite() && *v > 0.0))
    };
    (0..begun_pairs(samples))
        .filter_map(|pair| Some((pair, value(Side::Base, pair)?, value(Side::Head, pair)?)))
        .filter(|(pair, ..)| rejected_pair(samples, *pair).is_none())
        .map(|(_, base, head)| (base, head))
        .collect()
}

/// How many pairs were rejected: those have a rule of their own and are not missing.
fn rejected_count(samples: &[Sample]) -> u32 {
    u32::try_from(rejected_pairs(samples).len()).unwrap_or(u32::MAX)
}

/// How many pairs were begun.
pub(super) fn begun_pairs(samples: &[Sample]) -> u32 {
    let pairs = samples.iter().filter(|s| s.role == SampleRole::Pair);
    pairs.map(|s| s.pair + 1).max().unwrap_or(0)
}

/// What a bench is to the lever, and its bar.
pub fn role_and_bar(bench: &Bench, registration: &Registration) -> (Role, Option<Bar>) {
    let registered = registration.bars.iter().find(|b| b.bench == bench.name);
    let role = match (registration.bars.is_empty(), registered) {
        _ if registration.kind == RoundKind::Compared => Role::Guard,
        (true, _) | (_, Some(_)) => Role::Target,
        (false, None) => Role::Guard,
    };
    (role, registered.map(|b| b.bar))
}

/// The figures of one bench; what they say and what is missing is still open.
fn judge_bench(bench: &Bench, samples: &[Sample], registration: &Registration) -> BenchJudgement {
    let (role, bar) = role_and_bar(bench, registration);
    let pairs = valid_pairs(samples);
    let column = |of: fn(&(f64, f64)) -> f64| -> Option<f64> {
        median(&pairs.iter().map(of).collect::<Vec<f64>>())
    };
    let base_median = column(|pair| pair.0);
    let bar_percent = bar.and_then(|bar| bar_as_effect(&bar, base_median, bench.better));
    let positive = pairs
        .iter()
        .filter(|(base, head)| pair_effect(*base, *head, bench.better) > 0.0)
        .count();
    let valid = u32::try_from(pairs.len()).unwrap_or(u32::MAX);
    BenchJudgement {
        bench: bench.name.clone(),
        unit: bench.unit.clone(),
        better: bench.better,
        role,
        bar,
        bar_percent,
        pairs: valid,
        pairs_missing: 0,
        pairs_positive: u32::try_from(positive).unwrap_or(u32::MAX),
        base_median,
        head_median: column(|pair| pair.1),
        finding: Finding::NoData,
        effect: effect(&pairs, bench.better, CONFIDENCE),
        looks: Vec::new(),
    }
}

/// A bar as an effect in percent. An absolute one is the effect of reaching it from the base side's
/// pooled median; `None` while there is no base.
fn bar_as_effect(bar: &Bar, base_median: Option<f64>, better: Better) -> Option<f64> {
    match bar {
        Bar::Relative { percent } => Some(*percent),
        Bar::Absolute { value } => Some(pair_effect(base_median?, *value, better)),
    }
}

/// The rule of the fixed protocols: real is an interval above zero, a regression one below it;
/// futile is an interval that ends under what would be worth having.
fn find(effect: &Effect, bar: Option<f64>) -> Finding {
    let reaches = bar.is_none_or(|b| effect.estimate >= b);
    let futile = effect.high < SMALLEST_WORTHWHILE || bar.is_some_and(|b| effect.high < b);
    match () {
        () if effect.low > 0.0 && reaches => Finding::ReachesBar,
        () if effect.low > 0.0 => Finding::BelowBar,
        () if effect.high < 0.0 => Finding::Regression,
        () if futile => Finding::NoEffect,
        () => Finding::Open,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(low: f64, estimate: f64, high: f64) -> Effect {
        Effect {
            estimate,
            low,
            high,
            coverage: 0.95,
            min: low,
            max: high,
        }
    }

    #[test]
    fn findings() {
        let bar = Some(1.5);
        let table = [
            ((1.2, 1.6, 2.0), bar, Finding::ReachesBar),
            ((1.2, 1.5, 2.0), bar, Finding::ReachesBar),
            ((0.1, 1.499_999, 2.0), bar, Finding::BelowBar),
            ((0.01, 0.2, 0.4), None, Finding::ReachesBar),
            ((0.0, 0.2, 0.6), None, Finding::Open),
            ((-0.1, 0.2, 0.49), None, Finding::NoEffect),
            ((-0.1, 0.8, 1.4), bar, Finding::NoEffect),
            ((-0.1, 0.8, 1.5), bar, Finding::Open),
            ((-2.0, -1.0, -0.1), None, Finding::Regression),
            ((-2.0, -1.0, 0.0), None, Finding::NoEffect),
        ];
        for ((low, estimate, high), bar, expected) in table {
            let found = find(&interval(low, estimate, high), bar);
            assert_eq!(found, expected, "{low} {estimate} {high} {bar:?}");
        }
    }

    #[test]
    fn absolute_bars_are_measured_against_base() {
        let bar = Bar::Absolute { value: 1350.0 };
        let up = bar_as_effect(&bar, Some(1300.0), Better::Higher).expect("a base");
        assert!((up - 100.0 * (1350.0f64 / 1300.0 - 1.0)).abs() < 1e-9);
        let bar = Bar::Absolute { value: 2.1 };
        let down = bar_as_effect(&bar, Some(2.2), Better::Lower).expect("a base");
        assert!((down - 100.0 * (2.2 / 2.1 - 1.0)).abs() < 1e-9);
        assert_eq!(bar_as_effect(&bar, None, Better::Lower), None);
    }
}
