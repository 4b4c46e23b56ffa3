//! Checks of the window against what is known from earlier runs: a base outside its own history,
//! and results that are too equal to be true.

use crate::model::{BenchEvidence, BenchJudgement, Evidence, Sha, Verdict};
use crate::numbers;
use crate::stats::median;

use super::benches::valid_pairs;
use super::reasons::{Reasons, Ruling};

/// Fewer earlier medians make no band.
const LEAST_HISTORY: usize = 3;

/// Makes the median absolute deviation of normal noise its standard deviation.
const MAD_TO_SD: f64 = 1.4826;

/// Half the band's width in such standard deviations.
const BAND_SD: f64 = 3.0;

/// Half the band's width at least, as a share of the median.
const BAND_LEAST: f64 = 0.02;

/// Estimates this close (percentage points) count as equal.
const EQUAL_ESTIMATES: f64 = 0.05;

/// Smaller estimates are equal by chance too often to be suspicious, percent.
const SUSPICIOUS_FROM: f64 = 1.0;

/// Earlier levers with the same estimate that make this one suspicious.
const EQUAL_BEFORE: usize = 2;

/// The range in which the base side's median is expected; `None` without enough history.
pub(super) fn band(history: &[f64]) -> Option<(f64, f64)> {
    if history.len() < LEAST_HISTORY {
        return None;
    }
    let center = median(history)?;
    let deviations: Vec<f64> = history.iter().map(|v| (v - center).abs()).collect();
    let half = (BAND_SD * MAD_TO_SD * median(&deviations)?).max(BAND_LEAST * center);
    Some((center - half, center + half))
}

/// A base outside its own history: something else than the lever is different today.
pub(super) fn history(
    evidence: &Evidence,
    benches: &[BenchJudgement],
    reasons: &mut Reasons,
) -> Option<Ruling> {
    benches.iter().find_map(|bench| {
        let samples = samples_of(evidence, bench)?;
        let (low, high) = band(&samples.base_history)?;
        let base = bench.base_median?;
        if (low..=high).contains(&base) {
            return None;
        }
        let edge = if base < low { low } else { high };
        let value =
            |v: f64, beside: f64| format!("{} {}", numbers::value_beside(v, &[beside]), bench.unit);
        let text = format!(
            "base is outside its own history on `{}`: {}, where {} earlier runs of the same build \
             lead to expect {} … {}; find out what changed on the machine and run again",
            bench.bench,
            value(base, edge),
            samples.base_history.len(),
            value(low, base),
            value(high, base),
        );
        reasons.rule(Verdict::EnvInvalid, text)
    })
}

/// Warns of a base that was not measured afresh, and of levers that all have the same effect.
pub(super) fn too_equal(evidence: &Evidence, benches: &[BenchJudgement], reasons: &mut Reasons) {
    for bench in benches {
        let Some(samples) = samples_of(evidence, bench) else {
            continue;
        };
        let own: Vec<f64> = valid_pairs(&samples.samples)
            .iter()
            .map(|pair| pair.0)
            .collect();
        for past in &samples.past_estimates {
            if !own.is_empty() && past.base_values == own {
                reasons.warn(format!(
                    "the base samples of `{}` are the same, number by number, as in the run of \
                     {}: a cached or constant base?",
                    bench.bench,
                    past.head.short()
                ));
            }
        }
        warn_of_equal_estimates(samples, bench, reasons);
    }
}

fn warn_of_equal_estimates(samples: &BenchEvidence, bench: &BenchJudgement, reasons: &mut Reasons) {
    let Some(estimate) = bench.effect.map(|e| e.estimate) else {
        return;
    };
    if estimate.abs() < SUSPICIOUS_FROM {
        return;
    }
    let mut heads: Vec<&Sha> = samples
        .past_estimates
        .iter()
        .filter(|past| (past.estimate - estimate).abs() <= EQUAL_ESTIMATES)
        .map(|past| &past.head)
        .collect();
    heads.sort();
    heads.dedup();
    if heads.len() >= EQUAL_BEFORE {
        let names: Vec<&str> = heads.iter().map(|sha| sha.short()).collect();
        reasons.warn(format!(
            "{} other levers have the same effect on `{}` as this one, {} within {EQUAL_ESTIMATES} \
             points ({}): a cached or constant base?",
            heads.len(),
            bench.bench,
            numbers::percent(estimate, None),
            names.join(", ")
        ));
    }
}

fn samples_of<'a>(evidence: &'a Evidence, bench: &BenchJudgement) -> Option<&'a BenchEvidence> {
    evidence.benches.iter().find(|b| b.bench == bench.bench)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_band_is_three_deviations_or_two_percent() {
        assert_eq!(band(&[100.0, 101.0]), None);
        let (low, high) = band(&[100.0, 100.0, 100.0, 500.0]).expect("enough history");
        assert_eq!((low, high), (98.0, 102.0));
        let (low, high) = band(&[90.0, 100.0, 110.0]).expect("enough history");
        assert!((low - (100.0 - 44.478)).abs() < 1e-9 && (high - 144.478).abs() < 1e-9);
    }

    /// `docs/verdicts.md` says by which numbers verdicts come about.
    #[test]
    fn the_document_gives_the_constants() {
        let document = include_str!("../../../docs/verdicts.md").replace('\n', " ");
        assert_eq!((LEAST_HISTORY, BAND_SD), (3, 3.0));
        for said in [
            format!("covers at least {} %", crate::stats::CONFIDENCE * 100.0),
            format!("ends below {} %", crate::stats::SMALLEST_WORTHWHILE),
            format!(
                "more than {} % of the pairs",
                super::super::faults::MOST_MISSING * 100.0
            ),
            format!("({MAD_TO_SD} times the median absolute deviation)"),
            format!("at least ± {} %", BAND_LEAST * 100.0),
            "from three earlier windows".to_owned(),
            "± three deviations".to_owned(),
        ] {
            assert!(
                document.contains(&said),
                "docs/verdicts.md does not say `{said}`"
            );
        }
    }
}
