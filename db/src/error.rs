//! What can go wrong with the database, as kinds that a caller can tell apart.

use std::path::PathBuf;

/// `Result` with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failure of the database or, through [`Error::Store`], of the artefact store.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no file where the database should be.
    #[error(
        "there is no database at {}: nothing has been recorded there yet, or the path is another",
        path.display()
    )]
    Missing {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// The file is not an SQLite database at all.
    #[error(
        "{} is not a database: move it away, or restore it from a copy",
        path.display()
    )]
    NotADatabase {
        /// The file.
        path: PathBuf,
    },
    /// An SQLite database that another program made.
    #[error("{} is a database of another program: choose another path", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A newer version of this program has been here.
    #[error(
        "{} was written by a newer version (schema {found}; this program knows {known}): \
         use that version or a later one",
        path.display()
    )]
    NewerSchema {
        /// The file.
        path: PathBuf,
        /// The version found in it.
        found: i64,
        /// The newest version that this program knows.
        known: i64,
    },
    /// The file cannot be opened or its folder cannot be made.
    #[error("cannot open the database {}: check that its folder exists and may be written", path.display())]
    CannotOpen {
        /// The file.
        path: PathBuf,
        /// The reason.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A migration failed or an applied one is not the one known here.
    #[error("cannot bring the database {} to this program's schema", path.display())]
    Migrate {
        /// The file.
        path: PathBuf,
        /// The reason.
        #[source]
        source: Box<sqlx::migrate::MigrateError>,
    },
    /// The disk is full. Nothing of the transaction was written.
    #[error("the disk is full: could not {doing}; free some space and repeat")]
    DiskFull {
        /// What was being done.
        doing: &'static str,
    },
    /// Another process held the database for longer than the time limit.
    #[error("the database is held by another process: could not {doing}; repeat when it is done")]
    Busy {
        /// What was being done.
        doing: &'static str,
    },
    /// The file, its folder or the file system is read-only.
    #[error(
        "the database is read-only: could not {doing}; check the file's and its folder's permissions"
    )]
    ReadOnly {
        /// What was being done.
        doing: &'static str,
    },
    /// The file is damaged.
    #[error("the database file is damaged: could not {doing}; restore it from a copy")]
    Damaged {
        /// What was being done.
        doing: &'static str,
        /// What SQLite found.
        #[source]
        source: sqlx::Error,
    },
    /// A rule that the database keeps (append-only, closed run) forbids it.
    #[error("could not {doing}: {rule}")]
    Refused {
        /// What was being done.
        doing: &'static str,
        /// The rule, as the database states it.
        rule: String,
    },
    /// A value breaks a constraint: duplicate, dangling reference, out of range.
    #[error("could not {doing}: the database does not accept it ({constraint})")]
    Constraint {
        /// What was being done.
        doing: &'static str,
        /// The constraint, as the database states it.
        constraint: String,
    },
    /// Anything else that SQLite or the driver reports.
    #[error("could not {doing}")]
    Sql {
        /// What was being done.
        doing: &'static str,
        /// The reason.
        #[source]
        source: sqlx::Error,
    },
    /// The artefact store failed.
    #[error(transparent)]
    Store(#[from] crate::artifacts::StoreError),
}

// Primary result codes of SQLite (<https://www.sqlite.org/rescode.html>).
const BUSY: i32 = 5;
const LOCKED: i32 = 6;
const READONLY: i32 = 8;
const CORRUPT: i32 = 11;
const FULL: i32 = 13;
const CONSTRAINT: i32 = 19;
const NOTADB: i32 = 26;
// Extended result codes.
const CONSTRAINT_TRIGGER: i32 = 1811;
/// The file behind the write-ahead log's index could not be extended: no space left.
const IOERR_SHMSIZE: i32 = 4874;

/// The extended result code of an error that came from SQLite.
fn sqlite_code(error: &sqlx::Error) -> Option<i32> {
    error.as_database_error()?.code()?.parse().ok()
}

/// Whether SQLite says that the file is no database.
pub(crate) fn is_not_a_database(error: &sqlx::Error) -> bool {
    sqlite_code(error).is_some_and(|code| code & 0xff == NOTADB)
}

/// Whether another connection was in the way.
pub(crate) fn is_busy(error: &sqlx::Error) -> bool {
    sqlite_code(error).is_some_and(|code| matches!(code & 0xff, BUSY | LOCKED))
}

/// Classifies an error of the driver.
pub(crate) fn classify(doing: &'static str, source: sqlx::Error) -> Error {
    let Some(code) = sqlite_code(&source) else {
        return Error::Sql { doing, source };
    };
    let message = source
        .as_database_error()
        .map(|e| e.message().to_owned())
        .unwrap_or_default();
    match (code, code & 0xff) {
        (IOERR_SHMSIZE, _) | (_, FULL) => Error::DiskFull { doing },
        (_, BUSY | LOCKED) => Error::Busy { doing },
        (_, READONLY) => Error::ReadOnly { doing },
        (_, CORRUPT | NOTADB) => Error::Damaged { doing, source },
        (CONSTRAINT_TRIGGER, _) => Error::Refused {
            doing,
            rule: message,
        },
        (_, CONSTRAINT) => Error::Constraint {
            doing,
            constraint: message,
        },
        _ => Error::Sql { doing, source },
    }
}

/// Adds what was being done to the driver's errors.
pub(crate) trait Doing<T> {
    /// `what` completes "could not …".
    fn doing(self, what: &'static str) -> Result<T>;
}

impl<T> Doing<T> for Result<T, sqlx::Error> {
    fn doing(self, what: &'static str) -> Result<T> {
        self.map_err(|source| classify(what, source))
    }
}
