//! Says before a run starts what it will take by this machine's noise profile.

use super::Prepared;
use crate::calibration::{Expectation, Known};
use crate::progress::Progress;
use crate::record::Records;

/// Tells the user how many pairs and minutes to expect. Where the machine does not support a bar,
/// that becomes part of the record.
pub(super) async fn announce(
    prepared: &mut Prepared,
    records: &Records,
    machine: &str,
    progress: &Progress,
) -> anyhow::Result<()> {
    let config = &prepared.config;
    if config.benches.is_empty() {
        return Ok(());
    }
    let profiles = records.noise_of(&config.campaign.name).await?;
    let known = Known {
        profiles: &profiles,
        machine,
    };
    let expected = Expectation::of(config, &prepared.registration, known);
    for line in expected.lines() {
        progress.note(line);
    }
    prepared.notes.extend(expected.warnings());
    Ok(())
}
