//! Reference programs beside the pairs: head's speed as a ratio with its interval, and the
//! reference against its own history. Nothing here decides: a third program has no say in what a
//! lever is worth, and the halves of a pair are compared within the window whatever it is like.

use serde::Serialize;

use crate::model::{Better, Evidence, ReferenceEvidence, ReferenceRole, ReferenceSample, Sample};
use crate::numbers;
use crate::stats::{CONFIDENCE, effect, median};

use super::benches::valid_pairs;
use super::checks::band;
use super::reasons::Reasons;
use super::words::{count, failure_words};

/// Head against a reference in one window.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReferenceReading {
    /// The reference's name.
    pub reference: String,
    /// The bench.
    pub bench: String,
    /// What the reference is pinned to.
    pub pinned: String,
    /// Blocks with a value of the reference and a valid pair beside it.
    pub blocks: u32,
    /// How many times as fast as the reference head is, by Hodges and Lehmann; `None` without a
    /// block.
    pub ratio: Option<f64>,
    /// The ratio's exact signed-rank interval over the blocks.
    pub interval: Option<(f64, f64)>,
    /// The interval's two-sided coverage, 0..1.
    pub coverage: Option<f64>,
    /// The reference's median, in the bench's unit.
    pub median: Option<f64>,
    /// Launches that gave no value.
    pub failed: u32,
}

/// Every reference of a run against head.
pub fn reference_readings(evidence: &Evidence) -> Vec<ReferenceReading> {
    let references = evidence.references.iter();
    references
        .map(|reference| reading(evidence, reference))
        .collect()
}

fn beside(reference: &ReferenceEvidence) -> impl Iterator<Item = &ReferenceSample> {
    let samples = reference.samples.iter();
    samples.filter(|sample| sample.role == ReferenceRole::Beside)
}

fn reading(evidence: &Evidence, reference: &ReferenceEvidence) -> ReferenceReading {
    let identity = &reference.identity;
    let declared = evidence.config.benches.iter();
    let better = declared
        .filter(|bench| bench.name == identity.bench)
        .map(|bench| bench.better)
        .next()
        .unwrap_or(Better::Higher);
    let taken = evidence.benches.iter().find(|b| b.bench == identity.bench);
    let samples = taken.map_or(&[][..], |taken| &taken.samples);
    let blocks: Vec<(f64, f64)> = beside(reference)
        .filter_map(|sample| Some((sample.value?, head_of(samples, sample.pair)?)))
        .collect();
    let ratio = |percent: f64| 1.0 + percent / 100.0;
    let found = effect(&blocks, better, CONFIDENCE);
    let values: Vec<f64> = beside(reference).filter_map(|s| s.value).collect();
    let failed = reference
        .samples
        .iter()
        .filter(|s| s.value.is_none())
        .count();
    ReferenceReading {
        reference: identity.name.clone(),
        bench: identity.bench.clone(),
        pinned: identity.pinned.clone(),
        blocks: u32::try_from(blocks.len()).unwrap_or(u32::MAX),
        ratio: found.map(|e| ratio(e.estimate)),
        interval: found.map(|e| (ratio(e.low), ratio(e.high))),
        coverage: found.map(|e| e.coverage),
        median: median(&values),
        failed: u32::try_from(failed).unwrap_or(u32::MAX),
    }
}

/// Head's value in a pair, where that is valid.
fn head_of(samples: &[Sample], pair: u32) -> Option<f64> {
    let own: Vec<Sample> = samples.iter().filter(|s| s.pair == pair).cloned().collect();
    valid_pairs(&own).first().map(|(_, head)| *head)
}

/// Says what the references gave.
pub(super) fn remarks(evidence: &Evidence, reasons: &mut Reasons) {
    for reference in &evidence.references {
        let identity = &reference.identity;
        let name = format!("reference {} ({})", identity.name, identity.pinned);
        for file in &identity.files {
            if let Some(fault) = &file.fault {
                let path = &file.path;
                reasons.warn(format!("{name}: `{path}` was not hashed: {fault}"));
            }
        }
        if reference.samples.is_empty() {
            continue;
        }
        let reading = reading(evidence, reference);
        if let Some(text) = ratio_words(&reading) {
            reasons.note(text);
        }
        if let Some(failed) = reference
            .samples
            .iter()
            .rev()
            .find_map(|s| s.failure.as_ref())
        {
            reasons.warn(format!(
                "{name}: {} of {} failed, the last one: it {}; the verdict does not rest on it",
                reading.failed,
                count(reference.samples.len(), "launch"),
                failure_words(failed)
            ));
        }
        against_history(evidence, reference, &reading, reasons);
    }
}

/// `` head is 1.083 [1.079, 1.088] times as fast as llama.cpp (commit b4567) on `prefill` ``.
fn ratio_words(reading: &ReferenceReading) -> Option<String> {
    let (ratio, (low, high)) = (reading.ratio?, reading.interval?);
    Some(format!(
        "head is {ratio:.3} [{low:.3}, {high:.3}] times as fast as {} ({}) on `{}` ({} interval, \
         {})",
        reading.reference,
        reading.pinned,
        reading.bench,
        numbers::coverage(reading.coverage?),
        count(reading.blocks as usize, "block")
    ))
}

/// A reference outside its own band: this window's ratio is not to be compared with earlier ones.
/// A warning and no more: what the pairs compare is inside the window.
fn against_history(
    evidence: &Evidence,
    reference: &ReferenceEvidence,
    reading: &ReferenceReading,
    reasons: &mut Reasons,
) {
    let (Some((low, high)), Some(is)) = (band(&reference.history), reading.median) else {
        return;
    };
    if (low..=high).contains(&is) {
        return;
    }
    let unit = evidence.config.benches.iter();
    let unit = unit
        .filter(|b| b.name == reading.bench)
        .map(|b| b.unit.as_str())
        .next()
        .unwrap_or_default();
    let edge = if is < low { low } else { high };
    reasons.warn(format!(
        "{} is outside its own history on `{}`: {} {unit}, where {} earlier windows lead to \
         expect {} … {} {unit}; the window is not like the earlier ones, so compare its ratio with \
         none of them",
        reading.reference,
        reading.bench,
        numbers::value_beside(is, &[edge]),
        reference.history.len(),
        numbers::value_beside(low, &[is]),
        numbers::value_beside(high, &[is]),
    ));
}
