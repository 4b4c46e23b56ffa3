//! The stages of a run.

use std::path::Path;

use super::{Options, OwnProgram, Prepared, is_present};
use crate::build::{BuildError, Workbench, WorkbenchPlan};
use crate::cli::Dirs;
use crate::inspect;
use crate::machine::{self, Holder};
use crate::measure::Measurement;
use crate::model::{
    BuildEvidence, CommitInfo, DeviceState, Evidence, Failure, Fault, PerSide, RevertEvidence,
    Side, Stage,
};
use crate::progress::{Event, Progress};
use crate::record::{BuildRecord, Recorder, now};
use crate::toolchain::{self, Toolchain, ToolchainError};

/// A run under way: what has been observed so far, and what the stages work with.
pub(super) struct Stages<'a> {
    pub(super) evidence: Evidence,
    pub(super) prepared: &'a Prepared,
    pub(super) options: &'a Options,
    pub(super) seed: u64,
    pub(super) dirs: &'a Dirs,
    pub(super) recorder: Recorder,
    pub(super) progress: &'a Progress,
}

/// The process that carries out a run.
#[derive(Debug)]
pub(super) struct Process<'a> {
    /// Its folders.
    pub(super) dirs: &'a Dirs,
    /// The run's identity.
    pub(super) uuid: &'a str,
    /// The program.
    pub(super) runner: &'a OwnProgram,
    /// What it measures on.
    pub(super) device: &'a DeviceState,
}

/// What is known before the first stage.
pub(super) fn first_evidence(prepared: &Prepared, device: DeviceState) -> Evidence {
    Evidence {
        config: prepared.config.clone(),
        registration: prepared.registration.clone(),
        commits: prepared.commits.clone(),
        builds: PerSide::default(),
        code: None,
        revert: None,
        gates: Vec::new(),
        claims: Vec::new(),
        device,
        benches: Vec::new(),
        faults: Vec::new(),
        interrupted: false,
        decision: None,
    }
}

/// Finds or installs the toolchain.
pub(super) async fn toolchain(
    prepared: &Prepared,
    cache: &Path,
    progress: &Progress,
) -> Result<Toolchain, ToolchainError> {
    toolchain::prepare(&prepared.config.toolchain.cuda, cache, progress).await
}

/// The toolchain as the record keeps it.
pub(super) fn fingerprinted(toolchain: &Toolchain) -> db::Fingerprinted {
    crate::record::fingerprinted(&toolchain.fingerprint.fingerprint, &toolchain.fingerprint)
}

/// Takes the campaign's workbench. Another run at work there is an error to the user; anything
/// else wrong with it becomes part of the record.
pub(super) fn open_workbench(
    prepared: &Prepared,
    options: &Options,
    toolchain: &Result<Toolchain, ToolchainError>,
    process: &Process<'_>,
) -> anyhow::Result<Option<Result<Workbench, BuildError>>> {
    let Ok(toolchain) = toolchain else {
        return Ok(None);
    };
    let visible_devices = match process.device {
        DeviceState::Present { id, .. } if id.starts_with("GPU-") => Some(id.clone()),
        DeviceState::Present { .. } | DeviceState::Absent { .. } => None,
    };
    let opened = Workbench::open(WorkbenchPlan {
        repository: prepared.repository.clone(),
        config: prepared.config.clone(),
        toolchain: toolchain.clone(),
        cache: process.dirs.cache.clone(),
        run_id: process.uuid.to_owned(),
        runner_exe: process.runner.path.clone(),
        visible_devices,
        what: format!("run of {}", prepared.commits.head.sha.short()),
        rebuild: options.rebuild,
    });
    match opened {
        Err(busy @ BuildError::Busy(_)) => Err(busy.into()),
        other => Ok(Some(other)),
    }
}

impl Stages<'_> {
    /// All stages, until the verdict is settled. Errors are the record's own.
    pub(super) async fn all(
        &mut self,
        bench: Option<Result<Workbench, BuildError>>,
        toolchain: Result<Toolchain, ToolchainError>,
    ) -> anyhow::Result<()> {
        self.recorder.device(&self.evidence.device).await?;
        if !self.evidence.registration.errors.is_empty() {
            return Ok(());
        }
        let toolchain = match toolchain {
            Ok(toolchain) => toolchain,
            Err(error) => {
                let failure =
                    matches!(error, ToolchainError::DiskFull { .. }).then_some(Failure::DiskFull);
                return self
                    .fault(Stage::Toolchain, None, failure, &error.into())
                    .await;
            }
        };
        let mut bench = match bench {
            Some(Ok(bench)) => bench,
            Some(Err(error)) => {
                let failure = error.failure();
                return self
                    .fault(Stage::Checkout, None, Some(failure), &error.into())
                    .await;
            }
            None => return Ok(()),
        };
        let Some(reports) = self.build_both(&mut bench, &toolchain).await? else {
            return Ok(());
        };
        self.compare(reports).await?;
        self.look_at_revert(&mut bench, &toolchain).await?;
        self.evaluate_claims().await?;
        if crate::judge::settled_by_code(&self.evidence) || !is_present(&self.evidence.device) {
            return Ok(());
        }
        self.on_device(&mut bench).await
    }

    /// Builds and inspects base, then head; `None` when a side has no code to compare.
    async fn build_both(
        &mut self,
        bench: &mut Workbench,
        toolchain: &Toolchain,
    ) -> anyhow::Result<Option<PerSide<sass::Report>>> {
        let mut reports = PerSide::default();
        for side in Side::BOTH {
            let report = self.build(bench, toolchain, side).await?;
            *reports.get_mut(side) = report;
            if !self.evidence.faults.is_empty() {
                return Ok(None);
            }
        }
        match (reports.base, reports.head) {
            (Some(base), Some(head)) => Ok(Some(PerSide { base, head })),
            _ => Ok(None),
        }
    }

    async fn build(
        &mut self,
        bench: &mut Workbench,
        toolchain: &Toolchain,
        side: Side,
    ) -> anyhow::Result<Option<sass::Report>> {
        self.begin(Stage::Build, Some(side)).await?;
        let prepared = self.prepared;
        let commit = prepared.commits.get(side);
        let started_at = now();
        let built = match &self.options.stored_builds {
            Some(stored) => self.restore(bench, side, stored.get(side)).await,
            None => {
                let source = prepared.recipes.get(side).source(commit);
                let vault = std::sync::Arc::clone(self.recorder.records().vault());
                bench.build(side, &source, &*vault, self.progress).await
            }
        };
        let build = match built {
            Ok(build) => build,
            Err(error) => {
                self.end(Stage::Build, Some(side), error.to_string(), false);
                let failure = error.failure();
                self.fault(Stage::Build, Some(side), Some(failure), &error.into())
                    .await?;
                return Ok(None);
            }
        };
        let (summary, ok) = build_summary(&build);
        self.end(Stage::Build, Some(side), summary, ok);
        let report = self.report(bench, toolchain, side, &build).await?;
        let recipe = prepared.recipes.get(side);
        let record = BuildRecord {
            side,
            commit,
            recipe_json: serde_json::to_string(recipe)?,
            started_at,
            build: &build,
            report: report.as_ref(),
        };
        self.recorder.build(&record).await?;
        *self.evidence.builds.get_mut(side) = Some(build);
        Ok(report)
    }

    async fn restore(
        &self,
        bench: &mut Workbench,
        side: Side,
        stored: &BuildEvidence,
    ) -> Result<BuildEvidence, BuildError> {
        let vault = std::sync::Arc::clone(self.recorder.records().vault());
        let commit = self.prepared.commits.get(side);
        bench.restore(side, commit, stored, &*vault).await?;
        Ok(BuildEvidence {
            cached: true,
            ..stored.clone()
        })
    }

    /// What a built side's outputs hold: from the record where the same build was inspected
    /// before, else by reading them.
    async fn report(
        &mut self,
        bench: &Workbench,
        toolchain: &Toolchain,
        side: Side,
        build: &BuildEvidence,
    ) -> anyhow::Result<Option<sass::Report>> {
        if build.failure.is_some() {
            return Ok(None);
        }
        if build.cached
            && let Some(report) = self.recorder.known_report(build).await?
        {
            return Ok(Some(report));
        }
        self.begin(Stage::Inspect, Some(side)).await?;
        let commit = self.prepared.commits.get(side);
        let files = bench.files(side);
        match inspect_files(bench, toolchain, commit, files).await {
            Ok(report) => {
                let summary = match report.kernels.len() {
                    1 => "1 kernel".to_owned(),
                    n => format!("{n} kernels"),
                };
                self.end(Stage::Inspect, Some(side), summary, true);
                Ok(Some(report))
            }
            Err(error) => {
                self.end(Stage::Inspect, Some(side), error.to_string(), false);
                self.fault(Stage::Inspect, Some(side), None, &error).await?;
                Ok(None)
            }
        }
    }

    /// Compares the sides' code and the files that commands read.
    async fn compare(&mut self, reports: PerSide<sass::Report>) -> anyhow::Result<()> {
        let prepared = self.prepared;
        let commits = &prepared.commits;
        let changed = prepared
            .repository
            .tree_diff(&commits.base.sha, &commits.head.sha)
            .await?;
        let read = super::runtime::changed(&prepared.config, &changed);
        let code = inspect::compare(reports, &prepared.config.kernels, read)?;
        self.recorder.code(&code).await?;
        self.evidence.code = Some(code);
        Ok(())
    }

    /// Where head reverts an earlier commit: whether its code equals the state before that one.
    async fn look_at_revert(
        &mut self,
        bench: &mut Workbench,
        toolchain: &Toolchain,
    ) -> anyhow::Result<()> {
        let repository = &self.prepared.repository;
        let Some(reverts) = repository.reverted(&self.prepared.commits.head).await? else {
            return Ok(());
        };
        let mut revert = RevertEvidence {
            reverts: reverts.clone(),
            before: None,
            equal: None,
            detail: Vec::new(),
        };
        match self.state_before(bench, toolchain, &reverts).await {
            Ok((before, report)) => {
                let head = self.evidence.code.as_ref().map(|code| &code.reports.head);
                if let Some(head) = head {
                    let delta = sass::diff(&report, head);
                    revert.equal = Some(delta.is_identical());
                    revert.detail = inspect::differences(&delta);
                }
                revert.before = Some(before);
            }
            Err(error) => revert.detail = vec![format!("{error:#}")],
        }
        self.recorder.revert(&revert).await?;
        self.evidence.revert = Some(revert);
        Ok(())
    }

    async fn state_before(
        &mut self,
        bench: &mut Workbench,
        toolchain: &Toolchain,
        reverts: &crate::model::Sha,
    ) -> anyhow::Result<(crate::model::Sha, sass::Report)> {
        let repository = &self.prepared.repository;
        let experiment = repository.commit_info(reverts).await?;
        let parent = experiment.parent.ok_or_else(|| {
            anyhow::anyhow!("the reverted commit {} has no parent", reverts.short())
        })?;
        let before = repository.commit_info(&parent).await?;
        let recipe =
            super::prepare::recipe_of(repository, &parent, &self.prepared.recipes.head).await?;
        let vault = std::sync::Arc::clone(self.recorder.records().vault());
        let (build, files) = bench
            .build_aside(&recipe.source(&before), &*vault, self.progress)
            .await?;
        if let Some(failure) = &build.failure {
            let words = crate::judge::failure_words(failure);
            anyhow::bail!(
                "the state before the experiment, {}, does not build: {words}",
                parent.short()
            );
        }
        let report = inspect_files(bench, toolchain, &before, files).await?;
        Ok((parent, report))
    }

    async fn evaluate_claims(&mut self) -> anyhow::Result<()> {
        let Some(code) = &self.evidence.code else {
            return Ok(());
        };
        let facts: &[_] = &self.prepared.config.kernels;
        let launches = inspect::LaunchFacts::new(facts)?;
        let context = crate::claims::ClaimContext {
            reports: &code.reports,
            facts: PerSide {
                base: facts,
                head: facts,
            },
            occupancy: &|_, kernel| inspect::kernel_occupancy(kernel, &launches),
        };
        let claims = crate::claims::evaluate(&self.evidence.registration.claims, &context);
        self.recorder.claims(&claims).await?;
        self.evidence.claims = claims;
        Ok(())
    }

    /// Gates and benches, with the device to ourselves.
    async fn on_device(&mut self, bench: &mut Workbench) -> anyhow::Result<()> {
        let DeviceState::Present { id, .. } = &self.evidence.device else {
            return Ok(());
        };
        let holder = Holder::this_process(
            self.recorder.uuid(),
            &format!(
                "run {} of {}",
                self.recorder.run(),
                self.prepared.config.campaign.name
            ),
        );
        let wait = self.options.wait.then_some(self.progress);
        let _lock = match machine::lock_device(&self.dirs.locks, id, &holder, wait).await {
            Ok(lock) => lock,
            Err(error) => return self.fault(Stage::Gates, None, None, &error.into()).await,
        };
        self.begin(Stage::Gates, None).await?;
        let config = &self.prepared.config;
        let gates = crate::gates::run(config, bench, &mut self.recorder, self.progress).await?;
        self.recorder.gates(&gates).await?;
        self.evidence.gates = gates;
        let stopped = crate::judge::settled_by_gates(&self.evidence);
        self.end(Stage::Gates, None, gates_summary(&self.evidence), !stopped);
        if stopped {
            return Ok(());
        }
        self.begin(Stage::Measure, None).await?;
        let plan = crate::stats::plan(&config.benches, config.protocol, self.seed);
        let what = Measurement {
            config,
            plan: &plan,
            progress: self.progress,
        };
        let benches = crate::measure::measure(&what, bench, &mut self.recorder).await?;
        let taken: usize = benches.iter().map(|bench| bench.samples.len()).sum();
        self.evidence.benches = benches;
        self.end(Stage::Measure, None, format!("{taken} samples"), true);
        Ok(())
    }

    async fn begin(&mut self, stage: Stage, side: Option<Side>) -> anyhow::Result<()> {
        self.progress.emit(Event::StageStarted { stage, side });
        Ok(self.recorder.stage(stage, side).await?)
    }

    fn end(&self, stage: Stage, side: Option<Side>, summary: String, ok: bool) {
        self.progress.emit(Event::StageEnded {
            stage,
            side,
            summary,
            ok,
        });
    }

    async fn fault(
        &mut self,
        stage: Stage,
        side: Option<Side>,
        failure: Option<Failure>,
        error: &anyhow::Error,
    ) -> anyhow::Result<()> {
        let fault = Fault {
            stage,
            side,
            failure,
            message: format!("{error:#}"),
        };
        self.recorder.fault(&fault).await?;
        self.evidence.faults.push(fault);
        Ok(())
    }
}

async fn inspect_files(
    bench: &Workbench,
    toolchain: &Toolchain,
    commit: &CommitInfo,
    files: Vec<(String, std::path::PathBuf)>,
) -> anyhow::Result<sass::Report> {
    let mask = sass::HostMask {
        paths: vec![bench.slot_path().to_string_lossy().into_owned()],
        commits: vec![commit.sha.to_string()],
    };
    let inputs = files
        .into_iter()
        .map(|(name, path)| sass::InspectInput { path, name })
        .collect();
    let options = sass::Options {
        nvdisasm: toolchain.nvdisasm.clone(),
        mask,
    };
    Ok(inspect::inspect(inputs, options).await?)
}

fn build_summary(build: &BuildEvidence) -> (String, bool) {
    match &build.failure {
        None if build.cached => ("cached".to_owned(), true),
        None => ("built".to_owned(), true),
        Some(failure) => (crate::judge::failure_words(failure), false),
    }
}

fn gates_summary(evidence: &Evidence) -> String {
    let passed = evidence.gates.iter().filter(|gate| {
        matches!(
            gate.outcome,
            crate::model::GateOutcome::Passed | crate::model::GateOutcome::Flaky { .. }
        )
    });
    format!("{} of {} passed", passed.count(), evidence.gates.len())
}
