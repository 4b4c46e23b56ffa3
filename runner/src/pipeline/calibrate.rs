//! A calibration: one build on both sides, and pairs of it. No round, no claims, no gates, and no
//! verdict; its samples are stored as any run's are.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use super::prepare::{committed, recipe, working_config};
use super::stages::Stages;
use super::{Options, Prepared, execute};
use crate::build::Workbench;
use crate::calibration::Calibrated;
use crate::cli::Dirs;
use crate::config::{Config, Protocol};
use crate::git::Repository;
use crate::model::{DeviceState, PerSide, Registration, Side, Stage};
use crate::progress::Progress;
use crate::record::{Records, RunId};
use crate::toolchain::Toolchain;

/// What was asked for.
#[derive(Debug, Clone, Default)]
pub struct CalibrationRequest {
    /// A folder in the repository.
    pub repo: PathBuf,
    /// The commit; HEAD where none is given.
    pub commit: Option<String>,
    /// A config instead of the commit's own.
    pub config: Option<PathBuf>,
    /// What is measured.
    pub plan: CalibrationPlan,
    /// The seed of the orders; drawn where none is given.
    pub seed: Option<u64>,
    /// Wait for the device where another run holds it.
    pub wait: bool,
}

/// What a calibration measures.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CalibrationPlan {
    /// These benches; all where none is named.
    pub benches: Vec<String>,
    /// So many pairs of each.
    pub pairs: u32,
}

impl CalibrationPlan {
    /// The campaign's config, narrowed to what is measured. The record keeps the whole one, so that
    /// a calibration's base counts as history of what it is base of.
    pub(super) fn narrowed(&self, config: &Config) -> Config {
        let mut config = config.clone();
        if !self.benches.is_empty() {
            let named = |bench: &crate::config::Bench| self.benches.contains(&bench.name);
            config.benches.retain(named);
        }
        // A machine is calibrated, not a comparison with another program.
        config.references.clear();
        config.protocol = Protocol::Pairs(self.pairs);
        config
    }

    fn check(&self, config: &Config) -> anyhow::Result<()> {
        let known: Vec<&str> = config.benches.iter().map(|b| b.name.as_str()).collect();
        if known.is_empty() {
            bail!("campaign.toml has no [[bench]]: there is nothing to calibrate");
        }
        for name in &self.benches {
            if !known.contains(&name.as_str()) {
                bail!(
                    "campaign.toml has no bench `{name}`; it has {}",
                    known.join(", ")
                );
            }
        }
        Ok(())
    }
}

/// A calibration that was made.
#[derive(Debug)]
pub struct CalibrationRun {
    /// Under which it is recorded.
    pub run: RunId,
    /// What came of each bench; empty where the run was cut short or measured nothing.
    pub benches: Vec<Calibrated>,
    /// Why nothing was measured, for people.
    pub why_not: Option<String>,
    /// Whether there was a device.
    pub has_device: bool,
}

/// Measures a commit against itself and stores its benches' noise profiles.
///
/// # Errors
/// A request that makes no sense, and the record's own.
pub async fn calibrate(
    request: &CalibrationRequest,
    records: &Records,
    dirs: &Dirs,
    progress: &Progress,
) -> anyhow::Result<CalibrationRun> {
    let prepared = prepared(request, &dirs.cache).await?;
    request.plan.check(&prepared.config)?;
    let options = Options {
        seed: request.seed,
        wait: request.wait,
        purpose: db::Purpose::Calibration,
        calibration: Some(request.plan.clone()),
        ..Options::default()
    };
    let run = execute(prepared, &options, records, dirs, progress).await?;
    let stored = records.load(run).await?;
    let evidence = &stored.evidence;
    let why_not = why_not(evidence);
    let benches = match (&why_not, stored.row.state) {
        (None, db::RunState::Ended) => records.profile_noise(run).await?,
        _ => Vec::new(),
    };
    Ok(CalibrationRun {
        run,
        benches,
        why_not,
        has_device: super::is_present(&evidence.device),
    })
}

fn why_not(evidence: &crate::model::Evidence) -> Option<String> {
    if evidence.interrupted {
        return Some("it was stopped; half a calibration makes no profile".to_owned());
    }
    if let Some(fault) = evidence.faults.first() {
        return Some(fault.message.clone());
    }
    let failed = Side::BOTH
        .into_iter()
        .find_map(|side| evidence.builds.get(side).as_ref()?.failure.clone());
    if let Some(failure) = failed {
        let words = crate::judge::failure_words(&failure);
        return Some(format!("the commit does not build: {words}"));
    }
    match &evidence.device {
        DeviceState::Absent { reason } => Some(format!("there is no device: {reason}")),
        DeviceState::Present { .. } => None,
    }
}

async fn prepared(request: &CalibrationRequest, cache: &Path) -> anyhow::Result<Prepared> {
    let repository = Repository::open(&request.repo, cache).await?;
    let name = request.commit.as_deref().unwrap_or("HEAD");
    let sha = repository.resolve(name).await?;
    let commit = repository.commit_info(&sha).await?;
    let config = match &request.config {
        Some(path) => Config::from_file(path)?,
        None => match committed(&repository, &sha, Side::Base).await? {
            Some(config) => config,
            None => working_config(&repository).transpose()?.with_context(|| {
                format!(
                    "{} has no campaign.toml, and there is none in the working tree: `runner \
                         init` writes one",
                    sha.short()
                )
            })?,
        },
    };
    let recipe = recipe(&config);
    Ok(Prepared {
        repository,
        commits: PerSide {
            base: commit.clone(),
            head: commit,
        },
        recipes: PerSide {
            base: recipe.clone(),
            head: recipe,
        },
        registration: Registration::default(),
        notes: Vec::new(),
        config,
    })
}

impl Stages<'_> {
    /// Builds once, and measures that against itself.
    pub(super) async fn against_itself(
        &mut self,
        bench: &mut Workbench,
        toolchain: &Toolchain,
    ) -> anyhow::Result<()> {
        if self.build_both(bench, toolchain).await?.is_none() {
            return Ok(());
        }
        // Head's build is base's from the cache; what is not the same file is no calibration.
        let outputs = |side: Side| {
            let build = self.evidence.builds.get(side).as_ref();
            build.map(|build| &build.outputs)
        };
        if outputs(Side::Base) != outputs(Side::Head) {
            let error = anyhow::anyhow!(
                "the sides do not hold the same files: the build was made twice, and came out \
                 otherwise; check that the cache folder is kept between builds"
            );
            return self.fault(Stage::Build, None, None, &error).await;
        }
        if !super::is_present(&self.evidence.device) {
            return Ok(());
        }
        self.on_device(bench).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::fake;

    #[test]
    fn a_calibration_measures_the_benches_that_were_named() {
        let config = fake::config(vec![fake::bench("prefill"), fake::bench("decode")]);
        let plan = |benches: &[&str]| CalibrationPlan {
            benches: benches.iter().map(|name| (*name).to_owned()).collect(),
            pairs: 12,
        };
        let names = |config: &Config| -> Vec<String> {
            config.benches.iter().map(|b| b.name.clone()).collect()
        };
        let all = plan(&[]).narrowed(&config);
        assert_eq!(names(&all), ["prefill", "decode"]);
        assert_eq!(all.protocol, Protocol::Pairs(12));
        let one = plan(&["decode"]);
        assert_eq!(names(&one.narrowed(&config)), ["decode"]);
        assert!(one.check(&config).is_ok());
        let error = plan(&["decoding"])
            .check(&config)
            .expect_err("no such bench");
        assert!(error.to_string().contains("prefill, decode"), "{error}");
        assert!(plan(&[]).check(&fake::config(Vec::new())).is_err());
    }
}
