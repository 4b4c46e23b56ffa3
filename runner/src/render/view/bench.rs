//! One bench: its judged figures, and every sample that was taken.

use serde::Serialize;

use super::failure::failure_text;
use crate::model::{
    BenchEvidence, BenchJudgement, Better, Effect, Finding, Role, Sample, SampleRole, Side,
};
use crate::numbers::{self, EffectText, Finite};
use crate::stats::pair_effect;

/// A bench with its result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BenchView {
    /// Its name.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// Its direction.
    pub better: Better,
    /// Target or guard.
    pub role: Role,
    /// What the numbers say.
    pub finding: Finding,
    /// The finding in words: `reaches the bar`.
    pub finding_text: &'static str,
    /// The effect in words; `None` without a valid pair.
    pub effect: Option<EffectText>,
    /// The bar as declared: `+1.5 %` or `>= 1,350 tok/s`.
    pub bar: Option<String>,
    /// The bar as an effect: `+1.5 %`.
    pub bar_effect: Option<String>,
    /// The interval's coverage: `95.1 %`.
    pub coverage: Option<String>,
    /// The range of the pairs' effects: `+0.49 … +2.38`, percent.
    pub range: Option<String>,
    /// Valid pairs in which head was better, of all valid ones: `3 of 3`; `–` where measuring
    /// never began.
    pub positive: String,
    /// Base's and head's medians: `1,311.8`.
    pub base_median_text: String,
    /// Head's.
    pub head_median_text: String,
    /// The raw numbers.
    pub raw: BenchNumbers,
    /// Values that are missing, with the reason.
    pub missing: Vec<MissingView>,
    /// Every sample in the order it was taken.
    pub samples: Vec<SampleView>,
}

/// A bench that was measured, at least in part, but not judged.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UnjudgedBench {
    /// Its name.
    pub name: String,
    /// In words: `decode was measured but not judged (20 launches)`.
    pub text: String,
    /// Values that are missing, with the reason.
    pub missing: Vec<MissingView>,
    /// Every sample in the order it was taken.
    pub samples: Vec<SampleView>,
}

/// The raw numbers of a bench; effects in percent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct BenchNumbers {
    /// The estimate.
    pub estimate: Finite,
    /// The interval's lower end.
    pub low: Finite,
    /// The interval's upper end.
    pub high: Finite,
    /// The interval's coverage, 0..1.
    pub coverage: Finite,
    /// The smallest pair effect.
    pub min: Finite,
    /// The largest pair effect.
    pub max: Finite,
    /// The bar.
    pub bar: Finite,
    /// Base's median, in the bench's unit.
    pub base_median: Finite,
    /// Head's median.
    pub head_median: Finite,
    /// Valid pairs.
    pub pairs: u32,
    /// Pairs without a valid value on both sides.
    pub pairs_missing: u32,
    /// Valid pairs in which head was better.
    pub pairs_positive: u32,
}

/// A value that is missing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MissingView {
    /// The side.
    pub side: Side,
    /// `pair 3` or `throw-away`.
    pub place: String,
    /// The attempt, from 1.
    pub attempt: u32,
    /// Why.
    pub reason: String,
}

/// One sample.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SampleView {
    /// Its position, from 1.
    pub order: usize,
    /// The side.
    pub side: Side,
    /// Throw-away or half of a pair.
    pub role: SampleRole,
    /// `pair 3` or `throw-away`.
    pub place: String,
    /// The attempt, from 1.
    pub attempt: u32,
    /// The value as text, or why there is none.
    pub text: String,
    /// The value.
    pub value: Finite,
    /// The process's wall time, milliseconds.
    pub wall_ms: Finite,
    /// The process's wall time as text.
    pub wall: String,
}

pub(super) fn bench_view(judged: &BenchJudgement, taken: Option<&BenchEvidence>) -> BenchView {
    let samples = taken.map_or(&[][..], |t| t.samples.as_slice());
    let declared = judged
        .bar
        .map(|b| numbers::declared_bar(b, judged.better, &judged.unit));
    let finite = finite_effect(judged);
    let effect =
        finite.map(|e| numbers::effect_text(e.estimate, (e.low, e.high), judged.bar_percent));
    let bar_effect = match &effect {
        Some(effect) => effect.bar.clone(),
        None => judged.bar_percent.map(numbers::bar_percent),
    };
    BenchView {
        name: judged.bench.clone(),
        unit: judged.unit.clone(),
        better: judged.better,
        role: judged.role,
        finding: judged.finding,
        finding_text: finding_text(judged),
        bar: declared,
        bar_effect,
        coverage: finite.map(|e| numbers::coverage(e.coverage)),
        range: finite.map(|e| range_text(&e)),
        positive: positive(judged.finding, judged.pairs_positive, judged.pairs),
        base_median_text: optional(judged.base_median),
        head_median_text: optional(judged.head_median),
        raw: raw_numbers(judged),
        missing: missing_views(samples),
        samples: sample_views(samples),
        effect,
    }
}

pub(super) fn unjudged_view(taken: &BenchEvidence) -> UnjudgedBench {
    let launches = taken.samples.len();
    UnjudgedBench {
        name: taken.bench.clone(),
        text: format!(
            "{} was measured but not judged ({launches} launches)",
            taken.bench
        ),
        missing: missing_views(&taken.samples),
        samples: sample_views(&taken.samples),
    }
}

/// `3 of 3`; `–` where nothing was counted.
pub(super) fn positive(finding: Finding, positive: u32, pairs: u32) -> String {
    match finding {
        Finding::NotMeasured => numbers::MISSING.to_owned(),
        _ => format!("{positive} of {pairs}"),
    }
}

/// Names the benches where none was measured: `prefill (bar +1.5 %), decode (guard)`; `None`
/// where one was.
pub(super) fn not_measured_text(benches: &[BenchView]) -> Option<String> {
    if benches.is_empty() || benches.iter().any(|b| b.finding != Finding::NotMeasured) {
        return None;
    }
    let names: Vec<String> = benches
        .iter()
        .map(|bench| match (bench.role, &bench.bar) {
            (Role::Guard, _) => format!("{} (guard)", bench.name),
            (Role::Target, Some(bar)) => format!("{} (bar {bar})", bench.name),
            (Role::Target, None) => bench.name.clone(),
        })
        .collect();
    Some(names.join(", "))
}

fn missing_views(samples: &[Sample]) -> Vec<MissingView> {
    samples.iter().filter_map(missing_view).collect()
}

fn sample_views(samples: &[Sample]) -> Vec<SampleView> {
    let numbered = samples.iter().enumerate();
    numbered.map(|(i, s)| sample_view(i, s)).collect()
}

/// The effect, unless one of its numbers is none.
pub(super) fn finite_effect(judged: &BenchJudgement) -> Option<Effect> {
    judged.effect.filter(|e| {
        [e.estimate, e.low, e.high, e.coverage, e.min, e.max]
            .iter()
            .all(|v| v.is_finite())
    })
}

fn range_text(effect: &Effect) -> String {
    let bare = |v| numbers::percent(v, None).trim_end_matches(" %").to_owned();
    format!("{} … {} %", bare(effect.min), bare(effect.max))
}

fn optional(value: Option<f64>) -> String {
    value.map_or_else(|| numbers::MISSING.to_owned(), numbers::value)
}

fn raw_numbers(judged: &BenchJudgement) -> BenchNumbers {
    let effect = |f: fn(&Effect) -> f64| Finite::from(judged.effect.as_ref().map(f));
    BenchNumbers {
        estimate: effect(|e| e.estimate),
        low: effect(|e| e.low),
        high: effect(|e| e.high),
        coverage: effect(|e| e.coverage),
        min: effect(|e| e.min),
        max: effect(|e| e.max),
        bar: judged.bar_percent.into(),
        base_median: judged.base_median.into(),
        head_median: judged.head_median.into(),
        pairs: judged.pairs,
        pairs_missing: judged.pairs_missing,
        pairs_positive: judged.pairs_positive,
    }
}

fn finding_text(judged: &BenchJudgement) -> &'static str {
    match (judged.role, judged.finding) {
        (_, Finding::ReachesBar) if judged.bar.is_none() => "improved",
        (_, Finding::ReachesBar) => "reaches the bar",
        (_, Finding::BelowBar) => "improved, below the bar",
        (Role::Target, Finding::NoEffect) => "no worthwhile effect",
        (Role::Guard, Finding::NoEffect) => "not worse",
        (_, Finding::Regression) => "worse",
        (_, Finding::Open) => "open",
        (_, Finding::NoData) => "no data",
        (_, Finding::NotMeasured) => "not measured",
    }
}

fn place(sample: &Sample) -> String {
    match sample.role {
        SampleRole::ThrowAway => "throw-away".to_owned(),
        SampleRole::Pair => format!("pair {}", sample.pair + 1),
    }
}

fn reason(sample: &Sample) -> String {
    sample
        .failure
        .as_ref()
        .map_or_else(|| "no value".to_owned(), failure_text)
}

fn usable(sample: &Sample) -> Option<f64> {
    sample.value.filter(|v| v.is_finite() && *v > 0.0)
}

fn missing_view(sample: &Sample) -> Option<MissingView> {
    usable(sample).is_none().then(|| MissingView {
        side: sample.side,
        place: place(sample),
        attempt: sample.attempt,
        reason: reason(sample),
    })
}

fn sample_view(index: usize, sample: &Sample) -> SampleView {
    let value = usable(sample);
    SampleView {
        order: index + 1,
        side: sample.side,
        role: sample.role,
        place: place(sample),
        attempt: sample.attempt,
        text: value.map_or_else(|| format!("missing: {}", reason(sample)), numbers::value),
        value: value.into(),
        wall_ms: Finite::new(sample.wall_ms),
        wall: numbers::duration(sample.wall_ms.clamp(0.0, 1e15) as u64),
    }
}

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
