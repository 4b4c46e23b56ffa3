//! Counters outside a run: both sides are built, or restored from a record, and profiled. Nothing
//! is judged and no run is recorded here.

use std::sync::Arc;

use anyhow::{Context as _, bail};

use super::{Options, Prepared, own_program, stages, stopped};
use crate::build::Workbench;
use crate::cli::Dirs;
use crate::counters::{self, Taking};
use crate::machine::{self, Holder};
use crate::model::{BuildEvidence, CounterProfile, DeviceState, PerSide, Side};
use crate::progress::Progress;
use crate::record::Records;

/// What to profile, and with what.
#[derive(Debug, Clone, Copy)]
pub struct Profiling<'a> {
    /// Commits, config and recipes.
    pub prepared: &'a Prepared,
    /// Stored builds to use instead of building.
    pub stored_builds: Option<&'a PerSide<BuildEvidence>>,
    /// Wait for the device where another run holds it.
    pub wait: bool,
    /// Where logs and built files are kept.
    pub records: &'a Records,
    /// The runner's folders.
    pub dirs: &'a Dirs,
    /// Who is told.
    pub progress: &'a Progress,
}

/// Profiles both sides by their config's `[[counters]]`.
///
/// # Errors
/// Where there is nothing to profile: no `[[counters]]`, no device, a side that does not build.
/// What profiler and commands do is part of the profiles.
pub async fn profile(what: &Profiling<'_>) -> anyhow::Result<Vec<CounterProfile>> {
    what.prepared.check()?;
    if what.prepared.config.counters.is_empty() {
        bail!(
            "the config has no [[counters]], which say what to launch and which kernels to watch \
             (docs/counters.md); add one, or give a file that has one with --config"
        );
    }
    tokio::select! {
        profiles = both_sides(what) => profiles,
        reason = stopped() => bail!(reason),
    }
}

async fn both_sides(what: &Profiling<'_>) -> anyhow::Result<Vec<CounterProfile>> {
    let Profiling {
        prepared,
        records,
        dirs,
        progress,
        ..
    } = *what;
    let runner = own_program(&dirs.cache).await?;
    let uuid = crate::record::new_uuid();
    let machine = machine::Environment::read();
    let device = machine::device_state(&prepared.config, &machine);
    let DeviceState::Present { id, .. } = &device else {
        let DeviceState::Absent { reason } = device else {
            bail!("there is no device to profile on");
        };
        bail!("there is no device to profile on: {reason}");
    };
    let toolchain = stages::toolchain(prepared, &dirs.cache, progress).await;
    let process = stages::Process {
        dirs,
        uuid: &uuid,
        runner: &runner,
        device: &device,
    };
    let opened = stages::open_workbench(prepared, &Options::default(), &toolchain, &process)?;
    toolchain?;
    let mut bench = opened.context("opening the workbench")??;
    for side in Side::BOTH {
        ready(&mut bench, what, side).await?;
    }
    let holder = Holder::this_process(&uuid, "counters");
    let wait = what.wait.then_some(progress);
    let _lock = machine::lock_device(&dirs.locks, id, &holder, wait).await?;
    let asked = crate::claims::counters_named(&prepared.registration.claims);
    let profiler = counters::find_profiler(bench.toolchain_bin()).await;
    let taking = Taking {
        entries: &prepared.config.counters,
        asked: &asked,
        profiler: &profiler,
        progress,
    };
    let vault = Arc::clone(records.vault());
    let mut keep = |bytes: Vec<u8>| Ok(Some(vault.put_bytes(&bytes)?));
    let profiles = counters::take(&taking, &mut bench, &mut keep).await?;
    records.note_artifacts().await?;
    Ok(profiles)
}

/// Builds a side, or restores its stored build.
async fn ready(bench: &mut Workbench, what: &Profiling<'_>, side: Side) -> anyhow::Result<()> {
    let prepared = what.prepared;
    let commit = prepared.commits.get(side);
    let vault = Arc::clone(what.records.vault());
    if let Some(stored) = what.stored_builds {
        bench
            .restore(side, commit, stored.get(side), &*vault)
            .await?;
        return Ok(());
    }
    let source = prepared.recipes.get(side).source(commit);
    let build = bench.build(side, &source, &*vault, what.progress).await?;
    // A build that stays in the cache refers to what it stored.
    what.records.note_artifacts().await?;
    match &build.failure {
        None => Ok(()),
        Some(failure) => bail!(
            "{side} {} does not build: its command {}{}",
            commit.sha.short(),
            crate::judge::failure_words(failure),
            build
                .first_error
                .map_or_else(String::new, |error| format!(" ({error})"))
        ),
    }
}
