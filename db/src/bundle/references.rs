//! References to other runs, by uuid: also to those that are not here.

use serde_json::Value;

use super::Result;
use crate::error::Doing as _;
use crate::{Conn, RunId};

/// The uuid of a run.
pub(super) async fn uuid_of(conn: &mut Conn, run: i64) -> Result<Option<String>> {
    Ok(
        sqlx::query_scalar!("SELECT uuid FROM run WHERE id = ?", run)
            .fetch_optional(conn)
            .await
            .doing("look up a run's uuid")?,
    )
}

/// The run of that uuid.
pub(super) async fn run_of(conn: &mut Conn, uuid: &str) -> Result<Option<RunId>> {
    Ok(
        sqlx::query_scalar!(r#"SELECT id AS "id: RunId" FROM run WHERE uuid = ?"#, uuid)
            .fetch_optional(conn)
            .await
            .doing("look up a run by its uuid")?,
    )
}

/// A place from which a run is referred to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) table: &'a str,
    pub(super) column: &'a str,
    /// The rowid.
    pub(super) row: i64,
}

/// The uuid that a place refers to though the run is not here.
pub(super) async fn absent(conn: &mut Conn, place: Place<'_>) -> Result<Option<String>> {
    Ok(sqlx::query_scalar!(
        "SELECT uuid FROM run_reference WHERE of_table = ? AND of_column = ? AND of_row = ?",
        place.table,
        place.column,
        place.row
    )
    .fetch_optional(conn)
    .await
    .doing("look up a reference to a run")?)
}

/// Notes that a place refers to a run that is not here.
pub(super) async fn note(
    conn: &mut Conn,
    place: Place<'_>,
    of_run: RunId,
    uuid: &str,
) -> Result<()> {
    sqlx::query!(
        "INSERT INTO run_reference (of_table, of_column, of_row, run_id, uuid)
         VALUES (?, ?, ?, ?, ?)",
        place.table,
        place.column,
        place.row,
        of_run,
        uuid
    )
    .execute(conn)
    .await
    .doing("store a reference to a run")?;
    Ok(())
}

/// Fills in the run as the original of those that repeat it and came before it; how many.
pub(super) async fn fill_originals(conn: &mut Conn, run: RunId, uuid: &str) -> Result<u64> {
    let done = sqlx::query!(
        "UPDATE run SET replay_of = ?1
         WHERE replay_of IS NULL
           AND id IN (SELECT of_row FROM run_reference
                      WHERE of_table = 'run' AND of_column = 'replay_of' AND uuid = ?2)",
        run,
        uuid
    )
    .execute(conn)
    .await
    .doing("fill in a run's original")?;
    Ok(done.rows_affected())
}

/// The rows of a table that wait for another run, as they were in the bundle.
pub(super) async fn waiting(
    conn: &mut Conn,
    of_run: RunId,
    table: &str,
) -> Result<Vec<super::Row>> {
    let texts = sqlx::query_scalar!(
        "SELECT row_json FROM bundle_waiting WHERE run_id = ? AND of_table = ? ORDER BY row_json",
        of_run,
        table
    )
    .fetch_all(conn)
    .await
    .doing("look up rows that wait for a run")?;
    Ok(texts
        .iter()
        .filter_map(|text| serde_json::from_str(text).ok())
        .collect())
}

/// Keeps a row that cannot be stored without a run that is not here.
pub(super) async fn keep_waiting(
    conn: &mut Conn,
    of_run: RunId,
    table: &str,
    row: &super::Row,
) -> Result<()> {
    let text = Value::Object(row.clone()).to_string();
    sqlx::query!(
        "INSERT INTO bundle_waiting (run_id, of_table, row_json) VALUES (?, ?, ?)",
        of_run,
        table,
        text
    )
    .execute(conn)
    .await
    .doing("keep a row that waits for a run")?;
    Ok(())
}
