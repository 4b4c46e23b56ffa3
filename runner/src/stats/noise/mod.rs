//! What base against base says about a machine: how its samples scatter, and what they cost.
//!
//! Pure, and about noise only: what a profile means for a lever is `crate::judge`'s business.
//! Values are taken as 100 times their logarithm (percent), turned so that up is better. How well
//! each figure is recovered where the truth is known is in this module's tests
//! and in `docs/calibrate.md`.

use serde::{Deserialize, Serialize};

use super::median;
use super::simulate::{CLUSTER_LENGTH, Noise, SKEWED_VARIANCE};
use crate::model::Better;

mod estimators;

pub use estimators::{median_factor, run_cost, run_variance};

use estimators::{Cleaned, cost, drift, inside, percent_log, sigma, slot};

/// The fewest pairs from which a profile is made.
pub const LEAST_PAIRS: usize = 6;

/// One launch that counts.
#[derive(Debug, Clone, PartialEq)]
pub struct Launch {
    /// Its value; finite and positive.
    pub value: f64,
    /// The values of the runs inside it; empty where they are not known.
    pub inner: Vec<f64>,
    /// What the whole launch took, seconds.
    pub wall_s: f64,
    /// What a harness took to answer, seconds.
    pub answer_s: Option<f64>,
}

/// A bench's pairs as they were taken: the first slot's launch and the second's.
#[derive(Debug, Clone)]
pub struct Calibration<'a> {
    /// The pairs, in order.
    pub pairs: &'a [(Launch, Launch)],
    /// Which way the unit counts.
    pub better: Better,
    /// Untimed runs of a launch, before the timed ones.
    pub warmup: u32,
}

/// An estimate with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// The interval's lower end.
    pub low: f64,
    /// The interval's upper end.
    pub high: f64,
}

/// What the runs inside a launch say.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Inside {
    /// Timed runs of a launch.
    pub runs: u32,
    /// Standard deviation of the runs of one launch, percent.
    pub run_sd: f64,
    /// Standard deviation between launches beyond what their runs explain, percent: the launch
    /// offset. 0 where their runs explain all of it.
    pub launch_sd: f64,
}

/// How the pairs' means move.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Drift {
    /// Correlation of a pair's mean with the one before, corrected for the bias of short series.
    pub autocorrelation: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// The drift as an AR(1) series over samples: standard deviation, percent, and what a sample
    /// hands to the next; `None` where the pairs do not tell it from scatter.
    pub series: Option<Series>,
}

/// An AR(1) series.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Standard deviation, percent.
    pub sd: f64,
    /// What a sample hands to the next, 0..1.
    pub phi: f64,
}

/// Samples that stand out from their neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Outliers {
    /// Their share of all samples.
    pub share: f64,
    /// What they are off by on average, percent; `None` where there are none.
    pub mean: Option<f64>,
}

/// What samples cost.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// A launch as a whole, seconds; the median.
    pub launch_s: f64,
    /// One run inside a launch, seconds; `None` where it is not known.
    pub run_s: Option<f64>,
}

/// A bench's noise on a machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NoiseProfile {
    /// The pairs that it rests on.
    pub pairs: usize,
    /// The samples' median, in the bench's unit.
    pub median: f64,
    /// Standard deviation of a sample within its pair, percent, launch offset included, outliers
    /// left out; the interval covers 90 %.
    pub sigma: Estimate,
    /// Within and between launches, where the runs' values are known.
    pub inside: Option<Inside>,
    /// What the second slot gains, percent, with a 95 % interval; negative: it is slower.
    pub slot: Estimate,
    /// Drift.
    pub drift: Drift,
    /// Outliers.
    pub outliers: Outliers,
    /// Costs.
    pub cost: Cost,
}

/// Why there is no profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoProfile {
    /// Not enough pairs.
    #[error("{pairs} valid pairs are too few for a noise profile: it takes {LEAST_PAIRS}")]
    TooFew {
        /// Those there are.
        pairs: usize,
    },
    /// A value that is not finite and positive.
    #[error("a sample's value is not a positive number")]
    NotPositive,
}

impl NoiseProfile {
    /// Estimates a bench's noise.
    ///
    /// # Errors
    /// Too few pairs, or a value that is none.
    pub fn estimate(calibration: &Calibration<'_>) -> Result<NoiseProfile, NoProfile> {
        let pairs = calibration.pairs;
        if pairs.len() < LEAST_PAIRS {
            return Err(NoProfile::TooFew { pairs: pairs.len() });
        }
        let values: Vec<f64> = pairs.iter().flat_map(|(a, b)| [a.value, b.value]).collect();
        if !values.iter().all(|value| value.is_finite() && *value > 0.0) {
            return Err(NoProfile::NotPositive);
        }
        let logs: Vec<f64> = values
            .iter()
            .map(|value| percent_log(*value / values[0], calibration.better))
            .collect();
        let cleaned = Cleaned::of(&logs);
        let sigma = sigma(&cleaned);
        Ok(NoiseProfile {
            pairs: pairs.len(),
            median: median(&values).ok_or(NoProfile::NotPositive)?,
            sigma,
            inside: inside(pairs, sigma.value),
            slot: slot(&logs).ok_or(NoProfile::NotPositive)?,
            drift: drift(&cleaned, sigma.value),
            outliers: cleaned.outliers(&logs),
            cost: cost(calibration),
        })
    }

    /// The noise as the simulation takes it. Sigma holds the launch offset already; the shape of
    /// the skew and the length of clusters are the simulation's own, a profile does not tell them.
    pub fn noise(&self) -> Noise {
        let drift = self.drift.series.unwrap_or(Series { sd: 0.0, phi: 0.0 });
        Noise {
            sigma: self.sigma.value,
            launch: 0.0,
            drift: drift.sd,
            drift_phi: drift.phi,
            slot_bias: self.slot.value,
            skewed: SKEWED_VARIANCE,
            cluster_rate: self.outliers.share / CLUSTER_LENGTH,
            cluster_length: CLUSTER_LENGTH,
        }
    }
}

#[cfg(test)]
mod tests;
