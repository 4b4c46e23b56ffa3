//! The estimators of a noise profile, each with the reason for its kind.

use super::{Calibration, Cost, Drift, Estimate, Inside, LEAST_PAIRS, Launch, Outliers, Series};
use crate::model::Better;
use crate::stats::{CONFIDENCE, hodges_lehmann, k_for, median, walsh_averages};

/// A sample so many robust standard deviations away from its neighbours' median is an outlier. With
/// six, a sample with an exponential tail is one in 150 times, which costs sigma some percent; with
/// five it costs twice that, and with eight small outliers become part of sigma.
const OUTLIER_SDS: f64 = 6.0;

/// What is closer than this to its neighbours is no outlier, percent: values that hardly ever
/// differ have no scale, and their last digit's step is not an event.
const OUTLIER_LEAST: f64 = 0.1;

/// How many samples the median spans against which an outlier is told.
const NEIGHBOURS: usize = 9;

/// Between what the estimate of phi is kept: below, there is nothing that one sample hands to the
/// next; above, the pairs do not last long enough to see it come back.
const PHI: (f64, f64) = (0.1, 0.999);

/// Turns the median of absolute deviations into a normal's standard deviation.
const MAD_TO_SD: f64 = 1.4826;

/// The kurtosis that differences of timings are taken to have for the interval of sigma: that of a
/// difference of two exponentials. With a normal's 3 the interval would be too narrow for what
/// timings are, with 6 it is rather too wide.
const KURTOSIS: f64 = 6.0;

/// The normal quantile of a two-sided 90 % interval.
const Z_90: f64 = 1.645;

pub(super) fn percent_log(value: f64, better: Better) -> f64 {
    match better {
        Better::Higher => 100.0 * value.ln(),
        Better::Lower => -100.0 * value.ln(),
    }
}

/// The samples with outliers told apart.
pub(super) struct Cleaned {
    /// Outliers replaced by their neighbours' median.
    values: Vec<f64>,
    is_outlier: Vec<bool>,
    neighbours: Vec<f64>,
}

impl Cleaned {
    pub(super) fn of(logs: &[f64]) -> Cleaned {
        let neighbours: Vec<f64> = (0..logs.len()).map(|at| local_median(logs, at)).collect();
        let residuals: Vec<f64> = logs.iter().zip(&neighbours).map(|(x, m)| x - m).collect();
        let absolute: Vec<f64> = residuals.iter().map(|r| r.abs()).collect();
        let scale = MAD_TO_SD * median(&absolute).unwrap_or(0.0);
        let limit = (OUTLIER_SDS * scale).max(OUTLIER_LEAST);
        let is_outlier: Vec<bool> = absolute.iter().map(|r| *r > limit).collect();
        let values = logs
            .iter()
            .zip(&neighbours)
            .zip(&is_outlier)
            .map(|((x, m), out)| if *out { *m } else { *x })
            .collect();
        Cleaned {
            values,
            is_outlier,
            neighbours,
        }
    }

    pub(super) fn outliers(&self, logs: &[f64]) -> Outliers {
        let off: Vec<f64> = (0..logs.len())
            .filter(|at| self.is_outlier[*at])
            .map(|at| logs[at] - self.neighbours[at])
            .collect();
        Outliers {
            share: off.len() as f64 / logs.len() as f64,
            mean: (!off.is_empty()).then(|| mean(&off)),
        }
    }

    /// Second slot less first, of the pairs without an outlier; of all pairs where that leaves too
    /// few.
    fn differences(&self) -> Vec<f64> {
        let all = |of: &dyn Fn(usize) -> bool| -> Vec<f64> {
            (0..self.values.len() / 2)
                .filter(|pair| of(*pair))
                .map(|pair| self.values[2 * pair + 1] - self.values[2 * pair])
                .collect()
        };
        let clean = all(&|pair| !self.is_outlier[2 * pair] && !self.is_outlier[2 * pair + 1]);
        match clean.len() {
            n if n >= LEAST_PAIRS => clean,
            _ => all(&|_| true),
        }
    }
}

/// The median of the [`NEIGHBOURS`] samples around a place, itself included.
fn local_median(logs: &[f64], at: usize) -> f64 {
    let width = NEIGHBOURS.min(logs.len());
    let first = at.saturating_sub(width / 2).min(logs.len() - width);
    median(&logs[first..first + width]).unwrap_or(logs[at])
}

/// The standard deviation of differences within pairs over the root of 2: what drift does between
/// pairs is not in it, and the slot bias is taken out with the mean. An ordinary standard
/// deviation of what the outlier rule leaves, since a median-based scale would understate the
/// tails that timings have. The interval is a normal one for the logarithm of a standard deviation,
/// whose error is sqrt((kurtosis - 1) / 4n).
pub(super) fn sigma(cleaned: &Cleaned) -> Estimate {
    let differences = cleaned.differences();
    let value = variance(&differences).sqrt() / std::f64::consts::SQRT_2;
    let error = ((KURTOSIS - 1.0) / (4.0 * differences.len() as f64)).sqrt();
    Estimate {
        value,
        low: value * (-Z_90 * error).exp(),
        high: value * (Z_90 * error).exp(),
    }
}

/// The Hodges-Lehmann estimate of second less first, with its exact interval.
pub(super) fn slot(logs: &[f64]) -> Option<Estimate> {
    let differences: Vec<f64> = logs.chunks_exact(2).map(|pair| pair[1] - pair[0]).collect();
    let walsh = walsh_averages(&differences);
    let k = k_for(differences.len(), (1.0 - CONFIDENCE) / 2.0).unwrap_or(0);
    Some(Estimate {
        value: hodges_lehmann(&walsh)?,
        low: walsh[k],
        high: walsh[walsh.len() - 1 - k],
    })
}

pub(super) fn inside(pairs: &[(Launch, Launch)], sigma: f64) -> Option<Inside> {
    let launches = || pairs.iter().flat_map(|(a, b)| [a, b]);
    let counts: Vec<f64> = launches().map(|l| l.inner.len() as f64).collect();
    let runs = median(&counts)? as u32;
    let run_variance = run_variance(launches().map(|launch| launch.inner.as_slice()))?;
    let explained = run_variance * median_factor(runs);
    Some(Inside {
        runs,
        run_sd: run_variance.sqrt(),
        launch_sd: (sigma * sigma - explained).max(0.0).sqrt(),
    })
}

/// The variance of the runs within a launch, of 100 times their logarithm: the median over
/// launches, so that a disturbed launch does not count for many, over what the median of a
/// chi-square variable is of its mean (Wilson and Hilferty 1931). `None` where no launch has two
/// usable values.
pub fn run_variance<'a>(launches: impl Iterator<Item = &'a [f64]>) -> Option<f64> {
    let each: Vec<f64> = launches
        .filter(|inner| inner.len() >= 2 && inner.iter().all(|v| v.is_finite() && *v > 0.0))
        .map(|inner| {
            let logs: Vec<f64> = inner
                .iter()
                .map(|value| 100.0 * (value / inner[0]).ln())
                .collect();
            let freedom = (inner.len() - 1) as f64;
            variance(&logs) / (1.0 - 2.0 / (9.0 * freedom)).powi(3)
        })
        .collect();
    median(&each)
}

/// The variance of the median of m runs as a share of one run's: pi/2 over m for many runs. The
/// few that are added to m bring it within 5 % of a normal's exact value for m from 1, and within
/// 2 % from 3; the median of an even number lies between two runs and scatters less.
pub fn median_factor(runs: u32) -> f64 {
    let half_pi = std::f64::consts::FRAC_PI_2;
    let added = if runs.is_multiple_of(2) {
        1.3
    } else {
        half_pi - 1.0
    };
    half_pi / (f64::from(runs.max(1)) + added)
}

/// Moments. With an AR(1) series of variance D2 over samples, the variance of the pairs' means less
/// half the variance within pairs is D2 phi, and their first autocovariance D2 phi (1 + phi)^2 / 4.
pub(super) fn drift(cleaned: &Cleaned, sigma: f64) -> Drift {
    let means: Vec<f64> = cleaned
        .values
        .chunks_exact(2)
        .map(|pair| f64::midpoint(pair[0], pair[1]))
        .collect();
    let n = means.len() as f64;
    let total = variance(&means);
    let centre = mean(&means);
    let products = means.windows(2).map(|w| (w[0] - centre) * (w[1] - centre));
    let covariance = products.sum::<f64>() / n;
    let raw = if total > 0.0 { covariance / total } else { 0.0 };
    // Kendall 1954: the estimate from a short series with an unknown mean is too low by this.
    let corrected = if total > 0.0 {
        (raw + (1.0 + 4.0 * raw) / n).clamp(-1.0, 1.0)
    } else {
        0.0
    };
    let is_told = raw > 2.0 / n.sqrt();
    Drift {
        autocorrelation: corrected,
        standard_error: ((1.0 - raw * raw).max(0.0) / n).sqrt(),
        series: is_told.then(|| {
            let moved = (total - sigma * sigma / 2.0).max(covariance);
            let phi = (2.0 * (covariance / moved).sqrt() - 1.0).clamp(PHI.0, PHI.1);
            Series {
                sd: (moved / phi).sqrt(),
                phi,
            }
        }),
    }
}

pub(super) fn cost(calibration: &Calibration<'_>) -> Cost {
    let launches = || calibration.pairs.iter().flat_map(|(a, b)| [a, b]);
    let walls: Vec<f64> = launches().map(|launch| launch.wall_s).collect();
    let runs: Vec<f64> = launches()
        .filter_map(|launch| run_cost(launch, calibration.warmup))
        .collect();
    Cost {
        launch_s: median(&walls).unwrap_or(0.0),
        run_s: median(&runs),
    }
}

/// What one run of a launch took, seconds: the answer's time shared among its runs. What a harness
/// does besides them, such as drawing inputs, counts as theirs.
pub fn run_cost(launch: &Launch, warmup: u32) -> Option<f64> {
    let runs = launch.inner.len() as f64 + f64::from(warmup);
    let answer = launch.answer_s?;
    (!launch.inner.is_empty()).then(|| answer / runs)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The unbiased variance; 0 of fewer than two.
fn variance(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let centre = mean(values);
    let squares: f64 = values.iter().map(|v| (v - centre).powi(2)).sum();
    squares / (values.len() - 1) as f64
}
