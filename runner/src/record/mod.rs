//! Between the domain's types and the database's rows.
//!
//! [`Records`] opens the database and the artefact store; a [`Recorder`] writes one run as it
//! goes on; [`Records::load`] rebuilds a run's [`crate::model::Evidence`] from rows and artefacts alone.
//! This module decides nothing: no verdict, no statistics, no commands.

mod after;
mod anchors;
mod attempts;
mod begin;
mod convert;
mod counters;
mod describe;
mod events;
mod facts;
mod find;
mod load;
mod noise;
mod origin;
mod present;
mod recorder;
mod references;
mod table;
mod vault;
mod window;

use std::path::Path;
use std::sync::Arc;

pub use after::{CorrectionRequest, FIGURES};
pub use anchors::{AnchorPin, AnchorSeries};
pub use begin::{CommitPack, Confirms, RunStart, fingerprinted, new_uuid};
pub use db::{MatchedBy, RunId};
pub(crate) use describe::facts;
pub use find::{Reference, Resolved};
pub use load::StoredRun;
pub use present::Presentable;
pub(crate) use present::run_document;
pub use recorder::{BuildRecord, Inspected, Recorder};
pub use table::TableRow;
pub use vault::Vault;

pub(crate) use crate::process::now;

use crate::cli::Dirs;

/// What can go wrong with the record.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The database.
    #[error(transparent)]
    Db(#[from] db::Error),
    /// The artefact store.
    #[error(transparent)]
    Store(#[from] db::artifacts::StoreError),
    /// Stored text that cannot be read back.
    #[error("run {run}: the stored {what} cannot be read: {detail}")]
    Unreadable {
        /// The run.
        run: RunId,
        /// What.
        what: &'static str,
        /// Why.
        detail: String,
    },
    /// A run that is not there.
    #[error("there is no run {0} in this database; `runner show` lists the runs")]
    NoSuchRun(RunId),
    /// A correction that makes no sense.
    #[error("run {run}: `{field}` cannot be corrected: {why}")]
    CannotCorrect {
        /// The run.
        run: RunId,
        /// The field.
        field: String,
        /// Why.
        why: String,
    },
    /// A verdict that is not to be measured again.
    #[error("run {run} cannot be confirmed: {why}")]
    CannotConfirm {
        /// The run.
        run: RunId,
        /// Why.
        why: String,
    },
    /// A reference that fits no run.
    #[error(
        "no recorded run fits `{0}` (a run's number, commit, tree or patch-id); `runner show` lists the runs"
    )]
    NothingFound(String),
    /// A reference that fits the base of runs, and no run.
    #[error(
        "`{text}` is no run's head, but the base of {}{}: {subject}; name a run by its number, as in `runner show {}`",
        if runs.len() == 1 { "run " } else { "runs " },
        numbers(runs),
        runs.first().map_or(0, |run| run.0)
    )]
    OnlyBase {
        /// The reference.
        text: String,
        /// The base commit's first line.
        subject: String,
        /// The runs on it, the newest first.
        runs: Vec<RunId>,
    },
    /// A reference that fits several commits.
    #[error("`{text}` is ambiguous: it fits {}", candidates.join(", "))]
    Ambiguous {
        /// The reference.
        text: String,
        /// What it fits.
        candidates: Vec<String>,
    },
}

fn numbers(runs: &[RunId]) -> String {
    let all: Vec<String> = runs.iter().map(ToString::to_string).collect();
    all.join(", ")
}

/// The result of work on the record.
pub type Result<T> = std::result::Result<T, RecordError>;

/// The database and the artefact store of one data folder.
#[derive(Debug, Clone)]
pub struct Records {
    db: db::Db,
    vault: Arc<Vault>,
}

impl Records {
    /// Opens the data folder's database and store, making them where there are none.
    pub async fn open(dirs: &Dirs) -> Result<Records> {
        let db = db::Db::open(&dirs.database()).await?;
        Records::with(db, &dirs.artifacts())
    }

    /// Opens a database that must be there, for commands that only read.
    pub async fn open_existing(dirs: &Dirs) -> Result<Records> {
        let db = db::Db::open_existing(&dirs.database()).await?;
        Records::with(db, &dirs.artifacts())
    }

    fn with(db: db::Db, artifacts: &Path) -> Result<Records> {
        let store = db::artifacts::Store::open(artifacts)?;
        Ok(Records {
            db,
            vault: Arc::new(Vault::new(store)),
        })
    }

    /// The artefact store.
    pub fn vault(&self) -> &Arc<Vault> {
        &self.vault
    }

    /// The database, for commands that work on rows only.
    pub fn db(&self) -> &db::Db {
        &self.db
    }
}
