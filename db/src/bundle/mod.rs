//! A run's rows as they travel between databases: gathered for a bundle, and merged from one.
//!
//! [`TABLES`] says once which tables travel; everything else about them (columns, types, keys,
//! references) is read from the schema. Rows are JSON objects by column name. Row ids are local to
//! a database, so they are numbered anew: runs are named by uuid, machines and toolchains by
//! fingerprint, commits and artefacts by hash, builds by everything that they hold.
//!
//! What comes from a bundle is hostile: names of tables and columns are only ever compared with
//! those of the schema, values are bound, and the caller's transaction is dropped where anything
//! is refused. Nothing here reads files or judges.

mod builds;
mod check;
mod find;
mod gather;
mod logs;
mod merge;
mod origin;
mod references;
mod schema;
mod tables;

pub use gather::{contents, gather};
pub use merge::{Incoming, Merged, merge};
pub use origin::{
    Import, NewImport, absent_original, artifact_absent, import_insert, imports_by_run,
    replays_of_absent,
};
pub use tables::{NOT_AS_ROWS, TABLES, Table};

/// A row: values by column. Values are null, integers, finite numbers and text.
pub type Row = serde_json::Map<String, serde_json::Value>;

/// The rows of one table, in order.
#[derive(Debug, Clone, PartialEq)]
pub struct Rows {
    /// The table.
    pub table: String,
    /// Its rows.
    pub rows: Vec<Row>,
}

/// Why rows were not gathered or not merged.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// The database.
    #[error(transparent)]
    Db(#[from] crate::Error),
    /// The rows contradict themselves or the schema.
    #[error("{0}")]
    Malformed(String),
    /// The record has the same thing with another content.
    #[error(
        "the record has {what} already, and there its {column} is {here}, not {there}: one of the \
         two was changed after it was recorded; nothing was imported"
    )]
    Differs {
        /// What.
        what: String,
        /// In which column.
        column: String,
        /// The record's value, shortened.
        here: String,
        /// The bundle's value, shortened.
        there: String,
    },
}

/// `Result` with [`BundleError`].
pub type Result<T> = std::result::Result<T, BundleError>;

fn malformed<T>(text: impl Into<String>) -> Result<T> {
    Err(BundleError::Malformed(text.into()))
}

/// A value for an error: at most so many characters, on one line.
fn brief(value: &serde_json::Value) -> String {
    const CHARS: usize = 60;
    // As JSON: control characters are escaped.
    let text = value.to_string();
    match text.char_indices().nth(CHARS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}
