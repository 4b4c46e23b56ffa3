//! Noise profiles, and what earlier launches say about a bench.

use super::convert::{json, parse};
use super::{Records, Result, RunId, now};
use crate::calibration::{Calibrated, NoiseRecord, calibrated};
use crate::model::UnixMillis;

impl Records {
    /// Makes the profiles of a calibration that ended, stores them, and gives what came of each
    /// bench that was measured.
    pub async fn profile_noise(&self, run: RunId) -> Result<Vec<Calibrated>> {
        let all = self.calibrated(run).await?;
        let row = self.load(run).await?;
        let config = &row.evidence.config;
        let mut tx = self.db.write().await?;
        for found in &all {
            let bench = config.benches.iter().find(|b| b.name == found.bench);
            let (Some(bench), Ok(noise)) = (bench, &found.result) else {
                continue;
            };
            let profile = db::NoiseProfile {
                run_id: run,
                bench: found.bench.clone(),
                machine_id: row.row.machine_id,
                campaign: row.row.campaign.clone(),
                what: crate::calibration::what_runs(config, bench),
                at: now().0,
                json: json(noise),
            };
            db::noise_profile_insert(&mut tx, &profile).await?;
        }
        tx.commit().await?;
        Ok(all)
    }

    /// What the samples of a calibration say, bench by bench; storing nothing.
    pub async fn calibrated(&self, run: RunId) -> Result<Vec<Calibrated>> {
        let evidence = self.load(run).await?.evidence;
        let found = evidence.benches.iter().filter_map(|taken| {
            let bench = evidence
                .config
                .benches
                .iter()
                .find(|b| b.name == taken.bench)?;
            Some(calibrated(&evidence.config, bench, &taken.samples))
        });
        Ok(found.collect())
    }

    /// The newest profile of each bench of a campaign, on each machine. One that cannot be read any
    /// more is left out: a new calibration replaces it.
    pub async fn noise_of(&self, campaign: &str) -> Result<Vec<NoiseRecord>> {
        let mut read = self.db.read().await?;
        let rows = db::noise_profiles(&mut read, campaign).await?;
        Ok(rows
            .into_iter()
            .filter_map(|(machine, row)| record(machine, row).ok())
            .collect())
    }

    /// The profiles that a calibration made.
    pub async fn noise_by_run(&self, run: RunId) -> Result<Vec<NoiseRecord>> {
        let mut read = self.db.read().await?;
        let mut found = Vec::new();
        for row in db::noise_profiles_by_run(&mut read, run).await? {
            let machine = db::machine_get(&mut read, row.machine_id).await?;
            let machine = machine.map(|machine| machine.fingerprint);
            found.push(record(machine.unwrap_or_default(), row)?);
        }
        Ok(found)
    }
}

fn record(machine: String, row: db::NoiseProfile) -> Result<NoiseRecord> {
    Ok(NoiseRecord {
        run: row.run_id.0,
        at: UnixMillis(row.at),
        machine,
        noise: parse(row.run_id, "noise profile", &row.json)?,
        bench: row.bench,
        what: row.what,
    })
}
