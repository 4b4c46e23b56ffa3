//! One bench: its judged figures, and every sample that was taken.

use serde::Serialize;

use super::failure::failure_text;
use super::looks::{LookView, look_views};
use super::machine::{MachineView, machine_view};
use crate::model::{
    BenchEvidence, BenchJudgement, Better, Effect, Finding, Role, Sample, SampleRole, Side,
};
use crate::numbers::{self, EffectText, Finite};
use crate::render::corrected::ShownBench;

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
    /// The finding in words: `reaches the bar`; after a correction, that it was not judged again.
    pub finding_text: String,
    /// The effect in words; `None` without a valid pair.
    pub effect: Option<EffectText>,
    /// The effect as judged, where it was corrected: `+4.88 % [+4.61, +5.15]`, or `none`.
    pub effect_was: Option<String>,
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
    /// The medians as judged, where one was corrected: `1,311.8 -> 1,352.4`.
    pub medians_was: Option<String>,
    /// The looks of the sequential protocol, as judged; empty under a fixed one.
    pub looks: Vec<LookView>,
    /// The machine meanwhile; `None` where nobody watched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineView>,
    /// The raw numbers that count.
    pub raw: BenchNumbers,
    /// Values that are missing, with the reason.
    pub missing: Vec<MissingView>,
    /// How the samples were taken, where a harness took them.
    pub plan: Option<String>,
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
    /// How the samples were taken, where a harness took them.
    pub plan: Option<String>,
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

pub(super) fn bench_view(
    judged: &BenchJudgement,
    shown: &ShownBench,
    taken: Option<&BenchEvidence>,
) -> BenchView {
    let samples = taken.map_or(&[][..], |t| t.samples.as_slice());
    let declared = judged
        .bar
        .map(|b| numbers::declared_bar(b, judged.better, &judged.unit));
    let finite = finite_effect(judged);
    let as_judged = finite.filter(|_| !shown.effect_corrected());
    let effect = effect_words(shown.estimate.get(), shown.interval(), judged.bar_percent);
    let medians_corrected =
        shown.has_corrected("base_median") || shown.has_corrected("head_median");
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
        finding_text: match shown.finding {
            Some(_) => finding_text(judged).to_owned(),
            None => format!("not judged again, was: {}", finding_text(judged)),
        },
        effect_was: shown.effect_corrected().then(|| effect_was(judged)),
        medians_was: medians_corrected.then(|| {
            let (base, head) = (optional(judged.base_median), optional(judged.head_median));
            format!("{base} -> {head}")
        }),
        bar: declared,
        bar_effect,
        coverage: as_judged.map(|e| numbers::coverage(e.coverage)),
        looks: look_views(judged),
        machine: machine_view(taken, Some(judged)),
        range: finite.map(|e| range_text(&e)),
        positive: positive(judged.finding, judged.pairs_positive, judged.pairs),
        base_median_text: optional(shown.base_median.get()),
        head_median_text: optional(shown.head_median.get()),
        raw: raw_numbers(judged, shown),
        missing: missing_views(samples),
        plan: taken.and_then(plan_text),
        samples: sample_views(samples),
        effect,
    }
}

pub(super) fn unjudged_view(taken: &BenchEvidence) -> UnjudgedBench {
    let launches = taken.samples.len();
    UnjudgedBench {
        name: taken.bench.clone(),
        text: format!(
            "{} was measured but not judged ({})",
            taken.bench,
            numbers::counted(launches, "launch")
        ),
        missing: missing_views(&taken.samples),
        plan: plan_text(taken),
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
    if benches.is_empty()
        || benches
            .iter()
            .any(|b| b.finding != Finding::NotMeasured || b.effect.is_some())
    {
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

fn plan_text(taken: &BenchEvidence) -> Option<String> {
    taken.plan.as_ref().map(crate::model::BenchPlan::text)
}

fn sample_views(samples: &[Sample]) -> Vec<SampleView> {
    let numbered = samples.iter().enumerate();
    numbered.map(|(i, s)| sample_view(i, s)).collect()
}

/// An effect in words; the interval is missing where it is not known for this estimate.
pub(super) fn effect_words(
    estimate: Option<f64>,
    interval: Option<(f64, f64)>,
    bar: Option<f64>,
) -> Option<EffectText> {
    let estimate = estimate.filter(|v| v.is_finite())?;
    match interval.filter(|(low, high)| low.is_finite() && high.is_finite()) {
        Some(ends) => Some(numbers::effect_text(estimate, ends, bar)),
        None => Some(EffectText {
            interval: numbers::MISSING.to_owned(),
            ..numbers::effect_text(estimate, (estimate, estimate), bar)
        }),
    }
}

fn effect_was(judged: &BenchJudgement) -> String {
    match finite_effect(judged) {
        Some(e) => {
            let words = numbers::effect_text(e.estimate, (e.low, e.high), judged.bar_percent);
            format!("{} {}", words.estimate, words.interval)
        }
        None => "none".to_owned(),
    }
}

/// The effect, unless one of its numbers is none.
pub(super) fn finite_effect(judged: &BenchJudgement) -> Option<Effect> {
    judged.effect.filter(|e| {
        [e.estimate, e.low, e.high, e.coverage, e.min, e.max]
            .iter()
            .all(|v| v.is_finite())
    })
}

/// The estimate, unless it is none.
pub(super) fn effect_estimate(judged: &BenchJudgement) -> Option<f64> {
    finite_effect(judged).map(|effect| effect.estimate)
}

fn range_text(effect: &Effect) -> String {
    let bare = |v| numbers::percent(v, None).trim_end_matches(" %").to_owned();
    format!("{} … {} %", bare(effect.min), bare(effect.max))
}

fn optional(value: Option<f64>) -> String {
    value.map_or_else(|| numbers::MISSING.to_owned(), numbers::value)
}

fn raw_numbers(judged: &BenchJudgement, shown: &ShownBench) -> BenchNumbers {
    let effect = |f: fn(&Effect) -> f64| Finite::from(judged.effect.as_ref().map(f));
    BenchNumbers {
        estimate: shown.estimate,
        low: shown.low,
        high: shown.high,
        coverage: effect(|e| e.coverage),
        min: effect(|e| e.min),
        max: effect(|e| e.max),
        bar: judged.bar_percent.into(),
        base_median: shown.base_median,
        head_median: shown.head_median,
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
        (_, Finding::NotWorse) => "not worse",
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

pub(super) fn usable(sample: &Sample) -> Option<f64> {
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
