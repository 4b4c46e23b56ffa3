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

/// How to profile.
#[derive(Debug, Clone, Default)]
pub struct ProfileOptions {
    /// Stored builds to use instead of building.
    pub stored_builds: Option<PerSide<BuildEvidence>>,
    /// Wait for the device where another run holds it.
    pub wait: bool,
}

/// Profiles both sides of what is prepared, by its config's `[[counters]]`.
///
/// # Errors
/// Where there is nothing to profile: no `[[counters]]`, no device, a side that does not build.
/// What profiler and commands do is part of the profiles.
pub async fn profile(
    prepared: &Prepared,
    options: &ProfileOptions,
    records: &Records,
    dirs: &Dirs,
    progress: &Progress,
) -> anyhow::Result<Vec<CounterProfile>> {
    prepared.check()?;
    if prepared.config.counters.is_empty() {
        bail!(
            "the config has no [[counters]], which say what to launch and which kernels to watch \
             (docs/counters.md); add one, or give a file that has one with --config"
        );
    }
    tokio::select! {
        profiles = both_sides(prepared, options, records, dirs, progress) => profiles,
        reason = stopped() => bail!(reason),
    }
}

async fn both_sides(
    prepared: &Prepared,
    options: &ProfileOptions,
    records: &Records,
    dirs: &Dirs,
    progress: &Progress,
) -> anyhow::Result<Vec<CounterProfile>> {
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
        ready(&mut bench, prepared, options, (side, records, progress)).await?;
    }
    let holder = Holder::this_process(&uuid, "counters");
    let wait = options.wait.then_some(progress);
    let _lock = machine::lock_device(&dirs.locks, id, &holder, wait).await?;
    let asked = crate::claims::counters_named(&prepared.registration.claims);
    let profiler = counters::find_profiler(bench.toolchain_bin()).await;
    let what = Taking {
        entries: &prepared.config.counters,
        asked: &asked,
        profiler: &profiler,
        progress,
    };
    let vault = Arc::clone(records.vault());
    let mut keep = |bytes: Vec<u8>| Ok(Some(vault.put_bytes(&bytes)?));
    let profiles = counters::take(&what, &mut bench, &mut keep).await?;
    records.note_artifacts().await?;
    Ok(profiles)
}

/// Builds a side, or restores its stored build.
async fn ready(
    bench: &mut Workbench,
    prepared: &Prepared,
    options: &ProfileOptions,
    (side, records, progress): (Side, &Records, &Progress),
) -> anyhow::Result<()> {
    let commit = prepared.commits.get(side);
    let vault = Arc::clone(records.vault());
    if let Some(stored) = &options.stored_builds {
        bench
            .restore(side, commit, stored.get(side), &*vault)
            .await?;
        return Ok(());
    }
    let source = prepared.recipes.get(side).source(commit);
    let build = bench.build(side, &source, &*vault, progress).await?;
    // A build that stays in the cache refers to what it stored.
    records.note_artifacts().await?;
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
