//! Whether this machine's noise is known, and supports the bars.

use super::{Finding, Request};
use crate::calibration::{Expectation, Known, NoiseRecord};
use crate::config::Config;
use crate::machine::Environment;
use crate::record::Records;

const TOPIC: &str = "noise";

/// A finding for each bench with a profile, and one for those without. Nothing where no bench is
/// there to be noisy.
pub(super) async fn noise(config: &Config, request: &Request<'_>) -> Vec<Finding> {
    if config.benches.is_empty() {
        return Vec::new();
    }
    let profiles = match profiles(config, request).await {
        Ok(profiles) => profiles,
        Err(error) => {
            let found = format!("the noise profiles cannot be read: {error:#}");
            let remedy = "see what is said about the database; `runner calibrate` makes new ones";
            return vec![Finding::warn(TOPIC, found, remedy)];
        }
    };
    let machine = Environment::read().fingerprint;
    let known = Known {
        profiles: &profiles,
        machine: &machine,
    };
    let registration = crate::registration::from_commit("", config);
    findings(&Expectation::of(config, &registration, known))
}

/// The campaign's profiles; none where nothing was recorded yet.
async fn profiles(config: &Config, request: &Request<'_>) -> anyhow::Result<Vec<NoiseRecord>> {
    let dirs = crate::cli::Dirs {
        data: request.data.to_owned(),
        cache: request.cache.to_owned(),
        locks: request.locks.to_owned(),
    };
    if !dirs.database().exists() {
        return Ok(Vec::new());
    }
    let records = Records::open_existing(&dirs).await?;
    Ok(records.noise_of(&config.campaign.name).await?)
}

fn findings(expected: &Expectation) -> Vec<Finding> {
    let warnings = expected.warnings();
    let mut found: Vec<Finding> = expected
        .benches
        .iter()
        .zip(expected.lines())
        .map(|(bench, line)| {
            let own = format!("{}: ", bench.bench);
            match warnings.iter().find(|warning| warning.starts_with(&own)) {
                Some(warning) => Finding::warn(
                    TOPIC,
                    warning.clone(),
                    "make the bench longer, raise its bar, or quieten the machine and calibrate \
                     again",
                ),
                None => Finding::ok(TOPIC, line),
            }
        })
        .collect();
    if !expected.unknown.is_empty() {
        found.push(Finding::warn(
            TOPIC,
            format!(
                "no noise profile of {} on this machine, so it is not known how many pairs a run \
                 takes",
                expected.unknown.join(", ")
            ),
            "`runner calibrate` measures one commit against itself",
        ));
    }
    found
}
