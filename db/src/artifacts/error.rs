//! What can go wrong in the artefact store.

use std::io;
use std::path::{Path, PathBuf};

/// What can go wrong in the store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The text is not a SHA-256 in lower-case hex.
    #[error("`{name}` is not the name of an artefact (64 lower-case hex digits)")]
    NotAName {
        /// The text.
        name: String,
    },
    /// There is no such content.
    #[error("artefact {sha256} is not in the store: it was removed, or never stored here")]
    Missing {
        /// Its hash.
        sha256: String,
    },
    /// The stored content is not what its name says.
    #[error(
        "artefact {sha256} is damaged ({detail}): remove {} or restore it from a copy",
        path.display()
    )]
    Damaged {
        /// Its hash.
        sha256: String,
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        detail: String,
    },
    /// The content is larger than the caller allows.
    #[error("artefact {sha256} is larger than the {limit} bytes allowed here")]
    TooLarge {
        /// Its hash.
        sha256: String,
        /// The limit, bytes.
        limit: u64,
    },
    /// The disk is full.
    #[error("the disk is full: could not write {}; free some space and repeat", path.display())]
    DiskFull {
        /// What was being written.
        path: PathBuf,
    },
    /// Any other failure of the file system.
    #[error("could not {doing} {}", path.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// To what.
        path: PathBuf,
        /// The reason.
        #[source]
        source: io::Error,
    },
}

pub(super) type Result<T> = std::result::Result<T, StoreError>;

/// Names what failed; a full disk is a kind of its own.
pub(super) fn failed(doing: &'static str, path: &Path, source: io::Error) -> StoreError {
    let path = path.to_owned();
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::DiskFull { path },
        _ => StoreError::Io {
            doing,
            path,
            source,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_and_a_full_quota_are_told_from_other_failures() {
        for kind in [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded] {
            let error = failed("write", Path::new("a/b"), kind.into());
            assert!(matches!(error, StoreError::DiskFull { .. }), "{error:?}");
        }
        let error = failed("write", Path::new("a/b"), io::ErrorKind::BrokenPipe.into());
        assert_eq!(error.to_string(), "could not write a/b");
    }
}
