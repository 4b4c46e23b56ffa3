//! Runs that were cut short: how they are noticed, and what is done about them.
//!
//! A run holds a lock on a file named after it for as long as its process lives. An open run
//! whose lock is free was killed.

use std::path::PathBuf;

use crate::cli::Dirs;
use crate::machine::{HeldLock, Holder, LockError};
use crate::progress::Progress;
use crate::record::Records;

/// Held while a run goes on.
#[derive(Debug)]
pub(super) struct Alive {
    path: PathBuf,
    _lock: HeldLock,
}

impl Alive {
    /// Marks this process as the one that carries out a run.
    pub(super) fn mark(dirs: &Dirs, uuid: &str) -> Result<Alive, LockError> {
        let path = path(dirs, uuid);
        let holder = Holder::this_process(uuid, "a run");
        Ok(Alive {
            _lock: HeldLock::take(&path, &holder, false)?,
            path,
        })
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        // Only tidiness: what counts is the lock, and that goes with the process.
        std::fs::remove_file(&self.path).ok();
    }
}

fn path(dirs: &Dirs, uuid: &str) -> PathBuf {
    dirs.data.join("running").join(format!("{uuid}.lock"))
}

/// Closes the runs that were killed, ends what they left running, and says so.
pub(super) async fn report(
    records: &Records,
    dirs: &Dirs,
    progress: &Progress,
) -> anyhow::Result<()> {
    for open in records.open_runs().await? {
        let holder = Holder::this_process(&open.uuid, "a check for killed runs");
        let file = path(dirs, &open.uuid);
        let Ok(lock) = HeldLock::take(&file, &holder, false) else {
            continue;
        };
        let swept = crate::process::sweep(&open.uuid);
        records
            .mark_interrupted(open.id, "its process was killed")
            .await?;
        let samples = records.sample_count(open.id).await?;
        let left = match swept.len() {
            0 => String::new(),
            1 => "; a process that it had left running was ended".to_owned(),
            n => format!("; {n} processes that it had left running were ended"),
        };
        progress.note(format!(
            "run {} was interrupted: its {samples} samples are kept and never pooled{left}",
            open.id
        ));
        drop(lock);
        std::fs::remove_file(&file).ok();
    }
    Ok(())
}
