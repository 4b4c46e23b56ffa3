//! The gates that run commands: parity and identity. Pass or fail, no statistics.
//!
//! This module launches and compares. It must not say what a failed gate means for the lever:
//! it makes sure that the evidence tells who is at fault, and leaves the verdict to
//! `crate::judge`. Passed, failed, no data and not run are four different things.

mod compare;
mod identity;
mod parity;

use crate::config::Config;
use crate::judge::gate_words;
use crate::measure::Recorder;
use crate::model::{GateEvidence, Side};
use crate::process::Launcher;
use crate::progress::Progress;

pub use identity::GREEDY;

/// Runs the parity suite on head, on base too where head does not pass (to know who is at fault),
/// and then identity. Identity is not run after a failed suite.
///
/// # Errors
/// Only what the recorder reports; everything that commands do is evidence.
pub async fn run<L: Launcher, R: Recorder>(
    config: &Config,
    launcher: &mut L,
    recorder: &mut R,
    progress: &Progress,
) -> anyhow::Result<Vec<GateEvidence>> {
    let mut gates = parity::suite(config, Side::Head, launcher, recorder).await?;
    tell(&gates, progress);
    let passed = gates.iter().all(parity::passes);
    if !passed {
        let base = parity::suite(config, Side::Base, launcher, recorder).await?;
        tell(&base, progress);
        gates.extend(base);
    }
    if let Some(identity) = &config.identity {
        let gate = if passed {
            identity::run(config, identity, launcher, recorder).await?
        } else {
            identity::not_run("parity did not pass")
        };
        tell(std::slice::from_ref(&gate), progress);
        gates.push(gate);
    }
    Ok(gates)
}

/// An output without the lines that may differ, for comparing outputs of two runs. Expressions
/// that do not compile are left out; the config's parser has compiled each of them before.
pub fn kept_bytes(output: &[u8], drop_lines: &[String]) -> Vec<u8> {
    let compiled: Vec<_> = drop_lines
        .iter()
        .filter_map(|text| regex::bytes::Regex::new(text).ok())
        .collect();
    compare::Kept::of(output, &compiled).bytes()
}

fn tell(gates: &[GateEvidence], progress: &Progress) {
    for gate in gates {
        progress.note(gate_words(gate));
    }
}

#[cfg(test)]
mod tests;
