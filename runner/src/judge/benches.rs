//! From samples to what each bench's numbers say.

use crate::config::Bench;
use crate::model::{
    Bar, BenchEvidence, BenchJudgement, Better, Effect, Evidence, Finding, Registration, Role,
    SampleRole, Side,
};
use crate::stats::{CONFIDENCE, SMALLEST_WORTHWHILE, effect, median, pair_effect};

/// Every bench of the config, targets first.
pub(super) fn judge_all(evidence: &Evidence) -> Vec<BenchJudgement> {
    let config = &evidence.config;
    // Where nothing was launched, nothing is missing: the run ended before it came to that.
    let began = evidence.benches.iter().any(|b| !b.samples.is_empty());
    let planned = if began { config.protocol.pairs() } else { 0 };
    let without_pairs = match began {
        true => Finding::NoData,
        false => Finding::NotMeasured,
    };
    let mut all: Vec<BenchJudgement> = config
        .benches
        .iter()
        .map(|bench| {
            let samples = evidence.benches.iter().find(|b| b.bench == bench.name);
            let judged = judge_bench(bench, samples, &evidence.registration);
            BenchJudgement {
                pairs_missing: planned.saturating_sub(judged.pairs),
                finding: judged
                    .effect
                    .map_or(without_pairs, |e| find(&e, judged.bar_percent)),
                ..judged
            }
        })
        .collect();
    all.sort_by_key(|b| match b.role {
        Role::Target => 0,
        Role::Guard => 1,
    });
    all
}

/// The valid pairs of a bench as (base, head), in order. A pair is valid when both of its places
/// have a value, from the first attempt or its repetition; throw-aways never count.
pub(super) fn valid_pairs(evidence: &BenchEvidence) -> Vec<(f64, f64)> {
    let pairs = evidence.samples.iter().map(|s| s.pair + 1).max();
    let value = |side: Side, pair: u32| {
        evidence
            .samples
            .iter()
            .filter(|s| s.role == SampleRole::Pair && s.side == side && s.pair == pair)
            .find_map(|s| s.value.filter(|v| v.is_finite() && *v > 0.0))
    };
    (0..pairs.unwrap_or(0))
        .filter_map(|pair| Some((value(Side::Base, pair)?, value(Side::Head, pair)?)))
        .collect()
}

/// The figures of one bench; what they say and what is missing is still open.
fn judge_bench(
    bench: &Bench,
    evidence: Option<&BenchEvidence>,
    registration: &Registration,
) -> BenchJudgement {
    let registered = registration.bars.iter().find(|b| b.bench == bench.name);
    let role = match (registration.bars.is_empty(), registered) {
        (true, _) | (_, Some(_)) => Role::Target,
        (false, None) => Role::Guard,
    };
    let pairs = evidence.map(valid_pairs).unwrap_or_default();
    let column = |of: fn(&(f64, f64)) -> f64| -> Option<f64> {
        median(&pairs.iter().map(of).collect::<Vec<f64>>())
    };
    let base_median = column(|pair| pair.0);
    let bar = registered.map(|b| b.bar);
    let bar_percent = bar.and_then(|bar| bar_as_effect(&bar, base_median, bench.better));
    let effect = effect(&pairs, bench.better, CONFIDENCE);
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
        effect,
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
