//! The pairs of a bench as they came out.

use super::bench::usable;
use crate::model::{Better, Sample, SampleRole, Side};
use crate::stats::pair_effect;

/// One planned pair as it came out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PairEffect {
    /// The pair's index from 0.
    pub pair: u32,
    /// Throw-away or judged.
    pub role: SampleRole,
    /// The effect in percent, positive is better; `None` where a side has no value.
    pub effect: Option<f64>,
}

/// The effect of every pair in order, throw-aways first; the last attempt with a value counts.
pub(super) fn pair_effects(samples: &[Sample], better: Better) -> Vec<PairEffect> {
    let mut places: Vec<(SampleRole, u32)> = Vec::new();
    for sample in samples {
        let pair = match sample.role {
            SampleRole::ThrowAway => 0,
            SampleRole::Pair => sample.pair,
        };
        if !places.contains(&(sample.role, pair)) {
            places.push((sample.role, pair));
        }
    }
    places.sort_by_key(|(role, pair)| (*role == SampleRole::Pair, *pair));
    let value = |role, pair, side| {
        samples
            .iter()
            .filter(|s| s.role == role && s.side == side)
            .filter(|s| role == SampleRole::ThrowAway || s.pair == pair)
            .filter_map(usable)
            .next_back()
    };
    places
        .into_iter()
        .map(|(role, pair)| {
            let base = value(role, pair, Side::Base);
            let head = value(role, pair, Side::Head);
            let effect = base.zip(head).map(|(b, h)| pair_effect(b, h, better));
            PairEffect { pair, role, effect }
        })
        .collect()
}

/// The judged pairs' effects, for fixtures.
#[cfg(test)]
pub(in crate::render) fn valid_pair_effects(samples: &[Sample], better: Better) -> Vec<f64> {
    let judged = pair_effects(samples, better);
    let judged = judged.iter().filter(|p| p.role == SampleRole::Pair);
    judged.filter_map(|p| p.effect).collect()
}
