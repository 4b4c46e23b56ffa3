//! From where runs came, and what is known of them only by name.

use crate::error::{Doing as _, Result};
use crate::{Conn, RunId};

/// An import to store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewImport {
    /// When.
    pub at: i64,
    /// SHA-256 of the bundle's file.
    pub bundle_sha256: String,
    /// The schema that the bundle was written from.
    pub bundle_schema: i64,
    /// The program that wrote it, as it says.
    pub writer: String,
    /// `run`, or `additions` to a run that was here.
    pub brought: String,
    /// `same`, `details-differ`, `verdict-differs` or `never-judged`.
    pub judged: String,
}

/// A stored import.
pub type Import = NewImport;

/// Stores where a run, or an addition to it, came from.
pub async fn import_insert(conn: &mut Conn, run: RunId, new: &NewImport) -> Result<()> {
    sqlx::query!(
        "INSERT INTO bundle_import (run_id, at, bundle_sha256, bundle_schema, writer, brought,
                                    judged)
         VALUES (?, ?, ?, ?, ?, ?, ?)",
        run,
        new.at,
        new.bundle_sha256,
        new.bundle_schema,
        new.writer,
        new.brought,
        new.judged
    )
    .execute(conn)
    .await
    .doing("store where a run came from")?;
    Ok(())
}

/// The imports of a run, oldest first; none for a run that was measured here.
pub async fn imports_by_run(conn: &mut Conn, run: RunId) -> Result<Vec<Import>> {
    sqlx::query_as!(
        Import,
        "SELECT at, bundle_sha256, bundle_schema, writer, brought, judged
         FROM bundle_import WHERE run_id = ? ORDER BY id",
        run
    )
    .fetch_all(conn)
    .await
    .doing("look up where a run came from")
}

/// Notes content that a bundle names and does not bring, where nothing is known of it.
pub async fn artifact_absent(conn: &mut Conn, sha256: &str, bytes: i64, at: i64) -> Result<()> {
    sqlx::query!(
        "INSERT INTO artifact (sha256, bytes, stored_bytes, created_at, lost_at, lost_reason)
         VALUES (?1, ?2, 0, ?3, ?3, 'left out of the bundle that named it')
         ON CONFLICT (sha256) DO NOTHING",
        sha256,
        bytes,
        at
    )
    .execute(conn)
    .await
    .doing("note content that a bundle leaves out")?;
    Ok(())
}

/// The uuid of the run that a run repeats, where that one is not here.
pub async fn absent_original(conn: &mut Conn, run: RunId) -> Result<Option<String>> {
    sqlx::query_scalar!(
        "SELECT f.uuid FROM run_reference f JOIN run r ON r.id = f.of_row
         WHERE f.of_table = 'run' AND f.of_column = 'replay_of' AND f.of_row = ?
           AND r.replay_of IS NULL",
        run
    )
    .fetch_optional(conn)
    .await
    .doing("look up a run's original")
}

/// The runs of a campaign that repeat runs which are not here.
pub async fn replays_of_absent(conn: &mut Conn, campaign: &str) -> Result<Vec<RunId>> {
    sqlx::query_scalar!(
        r#"SELECT r.id AS "id: RunId" FROM run_reference f JOIN run r ON r.id = f.of_row
           WHERE f.of_table = 'run' AND f.of_column = 'replay_of' AND r.replay_of IS NULL
             AND r.campaign = ?"#,
        campaign
    )
    .fetch_all(conn)
    .await
    .doing("look up replays whose originals are not here")
}
