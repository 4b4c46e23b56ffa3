//! Base against base: what a calibration's samples say about the machine, and what is to be
//! expected of a run under it.
//!
//! Pure: samples and profiles in, figures and words out. Runs are made by `crate::pipeline`,
//! profiles are kept by `crate::record`. A profile never decides about a lever.

mod aa;
mod expect;
mod words;

use serde::{Deserialize, Serialize};

use crate::config::{Bench, Config, Probe, Protocol};
use crate::model::{Better, Sample, SampleRole, Side, UnixMillis};
use crate::stats::SMALLEST_WORTHWHILE;
use crate::stats::noise::{Calibration, Launch, NoProfile, NoiseProfile};

pub use aa::{Aa, AaOutcome};
pub use expect::{Expectation, Expected, Known, Outlook};
pub use words::{about, profile_lines};

/// What is kept of a bench's calibration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredNoise {
    /// Unit of the bench.
    pub unit: String,
    /// Which way it counts.
    pub better: Better,
    /// The noise.
    pub profile: NoiseProfile,
    /// What the protocol says about base against base.
    pub aa: Aa,
}

/// A bench's calibration, or why it has none.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibrated {
    /// The bench.
    pub bench: String,
    /// What came of it.
    pub result: Result<StoredNoise, NoProfile>,
}

/// A stored profile, and where it is from.
#[derive(Debug, Clone, PartialEq)]
pub struct NoiseRecord {
    /// The calibration.
    pub run: i64,
    /// When it was made.
    pub at: UnixMillis,
    /// The machine's fingerprint.
    pub machine: String,
    /// The bench.
    pub bench: String,
    /// SHA-256 of what the bench ran, as [`what_runs`] gives it.
    pub what: String,
    /// The profile.
    pub noise: StoredNoise,
}

/// SHA-256 over what a bench runs: its command or harness with their environment, how often, and
/// where its value is. Two benches that differ in one of these have noise of their own; a commit,
/// a bar or a time limit makes no difference.
pub fn what_runs(config: &Config, bench: &Bench) -> String {
    let harness = match bench.probe {
        Probe::Harness(_) => config.harness.as_ref().map(|h| (&h.command, &h.env)),
        Probe::Command(_) => None,
    };
    crate::config::canonical::canonical_sha256(&(
        (&bench.probe, &bench.env, &bench.value, &bench.unit),
        (bench.warmup, bench.inner),
        harness,
        (&config.environment.set, config.device.kind),
    ))
}

/// The smallest effect worth having under a protocol, percent.
pub fn smallest_worthwhile(protocol: Protocol) -> f64 {
    match protocol {
        Protocol::Sequential {
            smallest_worthwhile,
        } => smallest_worthwhile,
        Protocol::Pairs(_) | Protocol::Samples(_) => SMALLEST_WORTHWHILE,
    }
}

/// What a calibration's samples of a bench say. `samples` are the bench's own.
pub fn calibrated(config: &Config, bench: &Bench, samples: &[Sample]) -> Calibrated {
    let pairs = launches(samples);
    let calibration = Calibration {
        pairs: &pairs,
        better: bench.better,
        warmup: bench.warmup,
    };
    let result = NoiseProfile::estimate(&calibration).map(|profile| StoredNoise {
        unit: bench.unit.clone(),
        better: bench.better,
        profile,
        aa: Aa::of(
            &crate::judge::valid_pairs(samples),
            bench.better,
            smallest_worthwhile(config.protocol),
        ),
    });
    Calibrated {
        bench: bench.name.clone(),
        result,
    }
}

/// The launches of the pairs that count, in the order of their slots.
fn launches(samples: &[Sample]) -> Vec<(Launch, Launch)> {
    let last = samples.iter().map(|sample| sample.pair).max();
    let mut found = Vec::new();
    for pair in 0..last.map_or(0, |last| last + 1) {
        let own: Vec<Sample> = samples
            .iter()
            .filter(|sample| sample.role == SampleRole::Pair && sample.pair == pair)
            .cloned()
            .collect();
        // Whether a pair counts is the judge's to say.
        if crate::judge::valid_pairs(&own).is_empty() {
            continue;
        }
        let measured = |side| {
            own.iter()
                .find(|sample| sample.side == side && sample.value.is_some())
        };
        let (Some(base), Some(head)) = (measured(Side::Base), measured(Side::Head)) else {
            continue;
        };
        let (first, second) = match base.slot <= head.slot {
            true => (base, head),
            false => (head, base),
        };
        if let (Some(first), Some(second)) = (launch(first), launch(second)) {
            found.push((first, second));
        }
    }
    found
}

fn launch(sample: &Sample) -> Option<Launch> {
    Some(Launch {
        value: sample.value?,
        inner: sample.inner.clone(),
        wall_s: sample.wall_ms / 1e3,
        answer_s: sample.answer_ms.map(|ms| ms / 1e3),
    })
}

#[cfg(test)]
mod tests;
