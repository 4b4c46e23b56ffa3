//! What is known of each bench's launches before a run: from the run that is repeated, the noise
//! profile, or earlier launches on this machine.

use super::{Options, Prepared};
use crate::calibration::{Known as KnownNoise, NoiseRecord, what_runs};
use crate::config::{Bench, Config, Probe};
use crate::measure::{Known, KnownLaunches};
use crate::model::Scatter;
use crate::record::Records;
use crate::stats::inner::at_least;

/// What is known of the benches whose number of timed runs is not given.
pub(super) async fn known_launches(
    prepared: &Prepared,
    options: &Options,
    records: &Records,
    machine: &str,
) -> anyhow::Result<KnownLaunches> {
    let config = &prepared.config;
    let is_free =
        |bench: &&Bench| bench.inner.is_none() && matches!(bench.probe, Probe::Harness(_));
    let mut known = KnownLaunches::new();
    let profiles = records.noise_of(&config.campaign.name).await?;
    for bench in config.benches.iter().filter(is_free) {
        let replayed = options.inner.get(&bench.name).copied().map(Known::Runs);
        let noise = KnownNoise {
            profiles: &profiles,
            machine,
        };
        let found = match replayed.or_else(|| by_profile(config, bench, noise)) {
            Some(found) => Some(found),
            None => by_launches(config, bench, records, machine).await?,
        };
        known.extend(found.map(|found| (bench.name.clone(), found)));
    }
    Ok(known)
}

fn by_profile(config: &Config, bench: &Bench, noise: KnownNoise<'_>) -> Option<Known> {
    let NoiseRecord { run, noise, .. } = noise.of(config, bench)?;
    let inside = noise.profile.inside?;
    let (launch, single) = (inside.launch_sd.powi(2), inside.run_sd.powi(2));
    let variance = at_least(launch, single, inside.runs);
    Some(Known::Variance(variance, Scatter::Profile { run: *run }))
}

async fn by_launches(
    config: &Config,
    bench: &Bench,
    records: &Records,
    machine: &str,
) -> anyhow::Result<Option<Known>> {
    let what = what_runs(config, bench);
    let found = records
        .launch_variance(&config.campaign.name, machine, &bench.name, &what)
        .await?;
    Ok(found.map(|(variance, run)| Known::Variance(variance, Scatter::Launches { run })))
}
