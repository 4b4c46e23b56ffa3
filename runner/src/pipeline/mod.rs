//! One run from commits to a stored verdict: the order of the stages, and nothing else.
//!
//! Evidence is taken cheapest first and stored as it is taken; the run ends as soon as its
//! verdict is settled. What a verdict means is decided in [`crate::judge`], how things are done
//! in the modules called here.

mod calibrate;
mod code;
mod comparison;
mod counters;
mod device;
mod expect;
mod interrupted;
mod launches;
mod prepare;
mod profile;
mod references;
mod runtime;
mod stages;
mod stored;
mod window;

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Context as _;

use crate::cli::Dirs;
use crate::config::Toolchain;
use crate::model::{CommitInfo, DeviceState, PerSide, Side};
use crate::progress::Progress;
use crate::record::{AnchorSeries, CommitPack, Records, RunId, RunStart};
use crate::{machine, toolchain};

pub use crate::record::Confirms;
pub use calibrate::{CalibrationPlan, CalibrationRequest, CalibrationRun, calibrate};
pub use comparison::{Compared, compared, config_of, measured_alone};
pub use counters::claims_with;
pub use prepare::{Prepared, Recipe, prepare};
pub use profile::{Profiling, profile};

/// What was asked for.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// A folder in the repository.
    pub repo: PathBuf,
    /// The base; found where none is given.
    pub base: Option<String>,
    /// The head; HEAD where none is given.
    pub head: Option<String>,
    /// A config for both sides, instead of the commits' own.
    pub config: Option<PathBuf>,
    /// A toolchain for both sides, instead of the configs'.
    pub toolchain: Option<Toolchain>,
    /// How the run proceeds.
    pub options: Options,
}

/// How a run proceeds, whatever it is about.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The seed of everything that is drawn; drawn itself where none is given.
    pub seed: Option<u64>,
    /// Wait for the device where another run holds it.
    pub wait: bool,
    /// Go on to gates and samples where a claim does not hold, though they cannot save the lever.
    pub measure_anyway: bool,
    /// The run that is repeated.
    pub replay_of: Option<RunId>,
    /// What the run is for.
    pub purpose: db::Purpose,
    /// What a calibration measures; `None` for any other run.
    pub calibration: Option<CalibrationPlan>,
    /// The timed runs that the repeated run's benches had, where the config does not give them.
    pub inner: BTreeMap<String, u32>,
    /// What the run is declared to confirm.
    pub confirms: Option<Confirms>,
    /// Build both sides again, also where they are in the cache.
    pub rebuild: bool,
    /// Stored builds to use instead of building.
    pub stored_builds: PerSide<Option<crate::model::BuildEvidence>>,
    /// The series of measurements against an anchor that the run is part of.
    pub series: Option<AnchorSeries>,
}

impl Options {
    /// Whether this is a lever that was not run before.
    fn is_lever(&self) -> bool {
        self.purpose == db::Purpose::Lever && self.replay_of.is_none()
    }
}

/// Runs a lever; gives the run under which it was recorded.
///
/// Fails only where there is nothing to record: a request that makes no sense, a database or a
/// campaign that is in use. Everything that goes wrong later is part of the record.
pub async fn run(
    request: &Request,
    records: &Records,
    dirs: &Dirs,
    progress: &Progress,
) -> anyhow::Result<RunId> {
    let mut prepared = prepare(request, &dirs.cache).await?;
    if let Some(toolchain) = &request.toolchain {
        prepared.replace_toolchain(toolchain);
    }
    execute(prepared, &request.options, records, dirs, progress).await
}

/// Runs what is prepared.
pub async fn execute(
    mut prepared: Prepared,
    options: &Options,
    records: &Records,
    dirs: &Dirs,
    progress: &Progress,
) -> anyhow::Result<RunId> {
    prepared.check()?;
    interrupted::report(records, dirs, progress).await?;
    let machine = machine::Environment::read();
    let device = machine::device_state(&prepared.config, &machine);
    if options.is_lever() && is_present(&device) {
        expect::announce(&mut prepared, records, &machine.fingerprint, progress).await?;
    }
    for note in &prepared.notes {
        progress.note(note.clone());
    }
    let runner = own_program(&dirs.cache).await?;
    let uuid = crate::record::new_uuid();
    let alive = interrupted::Alive::mark(dirs, &uuid)?;
    let toolchain = stages::toolchain(&prepared, &dirs.cache, progress).await;
    let process = stages::Process {
        dirs,
        uuid: &uuid,
        runner: &runner,
        device: &device,
    };
    let bench = stages::open_workbench(&prepared, options, &toolchain, &process)?;
    let known = launches::known_launches(&prepared, options, records, &machine.fingerprint).await?;
    let start = RunStart {
        uuid: uuid.clone(),
        config: &prepared.config,
        registration: &prepared.registration,
        commits: &prepared.commits,
        packs: packs(&prepared, records).await?,
        machine: crate::record::fingerprinted(&machine.fingerprint, &machine),
        toolchain: toolchain.as_ref().ok().map(stages::fingerprinted),
        seed: options.seed.unwrap_or_else(rand::random),
        runner_sha256: runner.sha256.clone(),
        replay_of: options.replay_of,
        purpose: options.purpose,
        confirms: options.confirms.clone(),
        series: options.series.clone(),
    };
    let recorder = records.begin(&start).await?;
    let run = recorder.run();
    let seed = start.seed;
    let mut stages = stages::Stages {
        evidence: stages::first_evidence(&prepared, device),
        prepared: &prepared,
        options,
        seed,
        launches: known,
        dirs,
        runner_exe: runner.path.clone(),
        recorder,
        progress,
    };
    let ended = tokio::select! {
        outcome = stages.all(bench, toolchain) => outcome.map(|()| true),
        reason = stopped() => {
            records.mark_interrupted(run, reason).await?;
            progress.note(reason);
            Ok(false)
        }
    };
    drop(alive);
    let ended = ended.with_context(|| format!("recording run {run}"))?;
    if ended {
        records.end(run).await?;
    }
    // Base against base has no lever to judge.
    if options.calibration.is_some() {
        return Ok(run);
    }
    let stored = records.load(run).await?;
    records
        .judgement_add(run, &crate::judge::judge(&stored.evidence), "measured")
        .await?;
    Ok(run)
}

/// The running program: its file and its hash.
#[derive(Debug, Clone)]
pub struct OwnProgram {
    /// The file.
    pub path: PathBuf,
    /// SHA-256 of it.
    pub sha256: String,
}

async fn own_program(cache: &std::path::Path) -> anyhow::Result<OwnProgram> {
    let path = std::env::current_exe().context("finding the program's own file")?;
    let (file, cache) = (path.clone(), cache.to_owned());
    let sha256 = tokio::task::spawn_blocking(move || toolchain::file_sha256(&cache, &file))
        .await?
        .context("hashing the program's own file")?;
    Ok(OwnProgram { path, sha256 })
}

/// Packs of both commits in the artefact store, so that the run can be repeated when the
/// repository has lost them. Base's is whole unless it was an earlier run's head; head's leaves out
/// what base's holds.
async fn packs(
    prepared: &Prepared,
    records: &Records,
) -> anyhow::Result<PerSide<Option<CommitPack>>> {
    let mut packs = PerSide::default();
    for side in Side::BOTH {
        let commit: &CommitInfo = prepared.commits.get(side);
        if records.has_pack(commit).await? {
            continue;
        }
        let base = match side {
            Side::Base => None,
            Side::Head => Some(prepared.commits.base.sha.clone()),
        };
        let pack = prepared
            .repository
            .commit_pack(&commit.sha, base.as_ref())
            .await?;
        let artifact = records.vault().put_bytes(&pack)?;
        *packs.get_mut(side) = Some(CommitPack { artifact, base });
    }
    Ok(packs)
}

/// Waits for the user or the system to stop the run.
pub(crate) async fn stopped() -> &'static str {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate()).ok();
    let mut hang_up = signal(SignalKind::hangup()).ok();
    let wait = |stream: Option<tokio::signal::unix::Signal>| async move {
        match stream {
            Some(mut stream) => {
                stream.recv().await;
            }
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => "stopped by Ctrl-C",
        () = wait(terminate.take()) => "stopped by SIGTERM",
        () = wait(hang_up.take()) => "stopped by SIGHUP",
    }
}

/// Whether there is something to measure on.
pub(crate) fn is_present(device: &DeviceState) -> bool {
    matches!(device, DeviceState::Present { .. })
}
