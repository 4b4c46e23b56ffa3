//! Noise profiles, and what earlier launches say about a bench.

use super::convert::{json, parse};
use super::{Records, Result, RunId, now};
use crate::calibration::{Calibrated, NoiseRecord, calibrated, what_runs};
use crate::config::Config;
use crate::model::{Side, UnixMillis};
use crate::stats::inner::launch_variance;

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
                what: what_runs(config, bench),
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

    /// The variance between the launches of a bench in the newest run that tells it, squared
    /// percent, and that run; only of runs in which the bench ran the same. The mean of both sides.
    pub async fn launch_variance(
        &self,
        campaign: &str,
        machine: &str,
        bench: &str,
        what: &str,
    ) -> Result<Option<(f64, i64)>> {
        let query = db::InnerQuery {
            campaign: campaign.to_owned(),
            machine: machine.to_owned(),
            bench: bench.to_owned(),
            limit: EARLIER,
        };
        let mut read = self.db.read().await?;
        for run in db::inner_values(&mut read, &query).await? {
            let Ok(config) = parse::<Config>(run.run_id, "config", &run.config_json) else {
                continue;
            };
            let ran = config.benches.iter().find(|ran| ran.name == bench);
            if ran.is_none_or(|ran| what_runs(&config, ran) != what) {
                continue;
            }
            if let Some(variance) = variance_of(&run) {
                return Ok(Some((variance, run.run_id.0)));
            }
        }
        Ok(None)
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

/// How many earlier runs of a bench are looked at.
const EARLIER: u32 = 5;

fn variance_of(run: &db::InnerRun) -> Option<f64> {
    let of = |side: Side| {
        let own = run.launches.iter().filter(|(s, _)| s == side.as_str());
        let values: Vec<Vec<f64>> = own
            .filter_map(|(_, inner)| serde_json::from_str(inner).ok())
            .collect();
        launch_variance(&values)
    };
    Some(f64::midpoint(of(Side::Base)?, of(Side::Head)?))
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
