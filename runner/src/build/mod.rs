//! Builds one side in a directory that does not change the result; builds are cached.
//!
//! Both sides are built *and run* at one path, `<cache>/work/<campaign and repository>/tree`:
//! compile paths, path lengths and rpaths are the same for both, and nothing but the code
//! differs. The side that is not in use is parked under `builds/<key>` beside it; changing sides
//! is a rename. One run at a time has the slot.
//!
//! Must not judge: it says what happened, and leaves whose fault it is to the judge.

mod key;
mod launch;
mod log;
mod outputs;
mod restore;
mod slot;
#[cfg(test)]
mod tests;
mod workbench;

pub use launch::Session;
pub use log::first_error;
pub use slot::prune;
pub use workbench::{BuildSource, Workbench, WorkbenchPlan};

use std::io;
use std::path::{Path, PathBuf};

use crate::git::GitError;
use crate::machine::LockError;
use crate::model::{ArtifactHash, Failure};

/// Where built files and logs are put.
pub trait ArtifactSink: Send + Sync {
    /// Whether the store holds this content.
    fn contains(&self, hash: &ArtifactHash) -> io::Result<bool>;
    /// Stores a file's content.
    fn put_file(&self, path: &Path) -> io::Result<ArtifactHash>;
    /// Stores bytes.
    fn put_bytes(&self, bytes: &[u8]) -> io::Result<ArtifactHash>;
}

/// Where stored files come from.
pub trait ArtifactSource: Send + Sync {
    /// Writes the content to a new file.
    fn copy_to(&self, hash: &ArtifactHash, path: &Path) -> io::Result<()>;
}

/// Why there is no build, other than that the build command failed. None of these is head's
/// fault, but for a commit that cannot be checked out.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// Another run of the same campaign.
    #[error(
        "another run of this campaign is at work on this machine; wait for it to end, then run \
         again"
    )]
    Busy(#[source] LockError),
    /// The commit cannot be checked out.
    #[error("cannot check out {commit}")]
    Checkout {
        /// The commit, short.
        commit: String,
        /// Why not.
        #[source]
        source: GitError,
    },
    /// Less room than the campaign says a run needs.
    #[error(
        "not enough room in {}: {free} MiB free, {needed} needed (`free_disk_bytes` in [limits]); free \
         some space, for example with `runner gc`", path.display()
    )]
    NoRoom {
        /// Where.
        path: PathBuf,
        /// What is free, MiB.
        free: u64,
        /// What is needed, MiB.
        needed: u64,
    },
    /// A glob in `outputs` is none.
    #[error("`{pattern}` in [build] outputs is no glob: {said}")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        said: String,
    },
    /// Our own files.
    #[error("cannot {doing} {}", path.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// To what.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
}

/// Fails where a folder has less room than a run needs.
pub fn room(path: &Path, needed: u64) -> Result<(), BuildError> {
    let Ok(facts) = rustix::fs::statvfs(path) else {
        return Ok(());
    };
    let free = facts.f_bavail.saturating_mul(facts.f_frsize);
    if free < needed {
        return Err(BuildError::NoRoom {
            path: path.to_owned(),
            free: free >> 20,
            needed: needed.div_ceil(1 << 20),
        });
    }
    Ok(())
}

impl BuildError {
    fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> BuildError {
        let path = path.to_owned();
        move |source| BuildError::Io {
            doing,
            path,
            source,
        }
    }

    /// The failure to put into the record.
    pub fn failure(&self) -> Failure {
        match self {
            BuildError::NoRoom { .. } => Failure::DiskFull,
            BuildError::Checkout { source, .. } if source.is_disk_full() => Failure::DiskFull,
            BuildError::Io { source, .. } => crate::process::io_failure(source),
            other => Failure::NotStarted {
                reason: other.to_string(),
            },
        }
    }
}
