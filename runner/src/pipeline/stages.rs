//! The stages of a run.

use std::path::{Path, PathBuf};

use super::{Options, OwnProgram, Prepared, is_present};
use crate::build::{BuildError, Workbench, WorkbenchPlan};
use crate::cli::Dirs;
use crate::model::{DeviceState, Evidence, Failure, Fault, PerSide, RoundKind, Side, Stage};
use crate::progress::{Event, Progress};
use crate::record::Recorder;
use crate::toolchain::{self, Toolchain, ToolchainError};

/// A run under way: what has been observed so far, and what the stages work with.
pub(super) struct Stages<'a> {
    pub(super) evidence: Evidence,
    pub(super) prepared: &'a Prepared,
    pub(super) options: &'a Options,
    pub(super) seed: u64,
    pub(super) launches: crate::measure::KnownLaunches,
    pub(super) dirs: &'a Dirs,
    pub(super) runner_exe: PathBuf,
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
        references: Vec::new(),
        counters: Vec::new(),
        window: crate::model::Window::default(),
        faults: Vec::new(),
        notes: prepared.notes.clone(),
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
    // Samples and artefacts go there: better none than half of them.
    if let Err(error) =
        crate::build::room(&process.dirs.data, prepared.config.limits.free_disk_bytes)
    {
        return Ok(Some(Err(error)));
    }
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
        self.recorder.notes(&self.evidence.notes).await?;
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
        if self.options.calibration.is_some() {
            return self.against_itself(&mut bench, &toolchain).await;
        }
        let Some(reports) = self.build_both(&mut bench, &toolchain).await? else {
            return Ok(());
        };
        self.compare(reports).await?;
        if self.evidence.registration.kind != RoundKind::Compared {
            self.look_at_revert(&mut bench, &toolchain).await?;
        }
        self.evaluate_claims().await?;
        if self.is_settled() || !is_present(&self.evidence.device) {
            return Ok(());
        }
        self.on_device(&mut bench).await
    }

    /// Whether there is nothing left to find out about.
    pub(super) fn is_settled(&self) -> bool {
        crate::judge::settled_by_code(&self.evidence)
            || (!self.options.measure_anyway && crate::judge::settled_by_claims(&self.evidence))
    }

    pub(super) async fn begin(&mut self, stage: Stage, side: Option<Side>) -> anyhow::Result<()> {
        self.progress.emit(Event::StageStarted { stage, side });
        Ok(self.recorder.stage(stage, side).await?)
    }

    pub(super) fn end(&self, stage: Stage, side: Option<Side>, summary: String, ok: bool) {
        self.progress.emit(Event::StageEnded {
            stage,
            side,
            summary,
            ok,
        });
    }

    pub(super) async fn fault(
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
