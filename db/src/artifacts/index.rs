//! The database's rows about stored content.

use super::{Store, StoreError, Stored};
use crate::error::{Doing, Result};
use crate::{BuildId, Conn, RunId};

/// A row of the index: what was stored, and whether it still is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// SHA-256 of the uncompressed content, lower-case hex.
    pub sha256: String,
    /// Size of the content, bytes.
    pub bytes: i64,
    /// Size of the compressed file, bytes.
    pub stored_bytes: i64,
    /// When it was first stored.
    pub created_at: i64,
    /// When it was removed or found damaged; `None` while it is there.
    pub lost_at: Option<i64>,
    /// Why it is not there: `removed by gc`, for example.
    pub lost_reason: Option<String>,
}

/// Notes stored content, inside the [`crate::Tx`] that adds the rows which need it. Content that
/// had been lost and was stored again counts as there from now on.
///
/// Fails with [`StoreError::Missing`] where the file has gone since it was put (the garbage
/// collector of another process was in between): put it again and repeat.
pub async fn record(conn: &mut Conn, store: &Store, stored: &Stored, now: i64) -> Result<()> {
    // The transaction keeps the garbage collector away, so what is there now stays there.
    if !store.contains(&stored.sha256)? {
        return Err(StoreError::Missing {
            sha256: stored.sha256.clone(),
        }
        .into());
    }
    let bytes = i64::try_from(stored.bytes).unwrap_or(i64::MAX);
    let stored_bytes = i64::try_from(stored.stored_bytes).unwrap_or(i64::MAX);
    sqlx::query!(
        "INSERT INTO artifact (sha256, bytes, stored_bytes, created_at) VALUES (?, ?, ?, ?)
         ON CONFLICT (sha256) DO UPDATE
         SET lost_at = NULL, lost_reason = NULL, stored_bytes = excluded.stored_bytes
         WHERE lost_at IS NOT NULL",
        stored.sha256,
        bytes,
        stored_bytes,
        now
    )
    .execute(conn)
    .await
    .doing("note an artefact")?;
    Ok(())
}

/// The row of one artefact.
pub async fn get(conn: &mut Conn, sha256: &str) -> Result<Option<Artifact>> {
    sqlx::query_as!(
        Artifact,
        "SELECT sha256, bytes, stored_bytes, created_at, lost_at, lost_reason
         FROM artifact WHERE sha256 = ?",
        sha256
    )
    .fetch_optional(conn)
    .await
    .doing("look up an artefact")
}

/// Notes that content is gone or unusable; whether it had been thought to be there.
pub async fn mark_lost(conn: &mut Conn, sha256: &str, at: i64, reason: &str) -> Result<bool> {
    let done = sqlx::query!(
        "UPDATE artifact SET lost_at = ?, lost_reason = ? WHERE sha256 = ? AND lost_at IS NULL",
        at,
        reason,
        sha256
    )
    .execute(conn)
    .await
    .doing("note the loss of an artefact")?;
    Ok(done.rows_affected() > 0)
}

/// One use of an artefact; exactly one of build, run and commit is set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Use {
    /// As what: `sample log`, `built file engine`.
    pub what: String,
    /// The build that made or needs it.
    pub build_id: Option<BuildId>,
    /// The run that made or needs it.
    pub run_id: Option<RunId>,
    /// The commit that it holds.
    pub commit_sha: Option<String>,
}

/// Everything that refers to an artefact.
pub async fn uses(conn: &mut Conn, sha256: &str) -> Result<Vec<Use>> {
    sqlx::query_as!(
        Use,
        r#"SELECT what AS "what!: String", build_id AS "build_id: BuildId",
                  run_id AS "run_id: RunId", commit_sha AS "commit_sha: String"
           FROM artifact_use WHERE artifact = ?"#,
        sha256
    )
    .fetch_all(conn)
    .await
    .doing("look up what uses an artefact")
}
