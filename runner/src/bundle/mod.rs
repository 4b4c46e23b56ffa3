//! Bundles: one file that holds a run with everything that belongs to it, for another database.
//!
//! The container is a zstd-compressed tar archive: `manifest.json` first, then one file of rows
//! a table, then contents named by their hash ([`docs/bundles.md`](../../../docs/bundles.md)).
//! Which rows travel, and how they are merged, is [`db::bundle`]'s part.
//!
//! A bundle is hostile input: sizes and counts are declared first and held, no name in it is ever
//! used as a path, every byte is checked against a hash, and the database changes in one
//! transaction or not at all. This module starts no command and never runs what a bundle holds.

mod check;
mod export;
mod import;
mod limits;
mod manifest;
mod read;
mod tape;
#[cfg(test)]
mod tests;
mod write;

pub use check::Judged;
pub use export::{ExportOptions, Exported, default_name, export};
pub use import::{Imported, import};
pub use manifest::{About, Manifest};
pub use read::peek;

use std::path::{Path, PathBuf};

use crate::record::RecordError;

/// Why a bundle could not be written or was not taken.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// The file system.
    #[error("could not {doing} {}", path.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// Not a bundle, or a damaged one.
    #[error("this is no whole bundle: {0}; export it again, or copy it again")]
    Damaged(String),
    /// A bundle that is larger than this program takes.
    #[error("the bundle is too large: {0}")]
    TooLarge(String),
    /// Written by a newer program.
    #[error(
        "the bundle was written by a newer version ({what} {found}; this program knows {known}): \
         use that version or a later one"
    )]
    Newer {
        /// The format or the schema.
        what: &'static str,
        /// The bundle's.
        found: i64,
        /// This program's.
        known: i64,
    },
    /// What it says contradicts itself.
    #[error("the bundle is refused: {0}")]
    Refused(String),
    /// A run that cannot be exported.
    #[error("run {run} cannot be exported: {why}")]
    CannotExport {
        /// The run.
        run: crate::record::RunId,
        /// Why, and what to do.
        why: String,
    },
    /// The record.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The rows.
    #[error(transparent)]
    Rows(#[from] db::bundle::BundleError),
}

impl BundleError {
    fn io(doing: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> BundleError {
        let path = path.to_owned();
        move |source| BundleError::Io {
            doing,
            path,
            source,
        }
    }
}

impl From<db::Error> for BundleError {
    fn from(error: db::Error) -> BundleError {
        BundleError::Record(error.into())
    }
}

impl From<db::artifacts::StoreError> for BundleError {
    fn from(error: db::artifacts::StoreError) -> BundleError {
        BundleError::Record(error.into())
    }
}

/// `Result` with [`BundleError`].
pub type Result<T> = std::result::Result<T, BundleError>;

fn damaged<T>(text: impl Into<String>) -> Result<T> {
    Err(BundleError::Damaged(text.into()))
}

fn refused<T>(text: impl Into<String>) -> Result<T> {
    Err(BundleError::Refused(text.into()))
}
