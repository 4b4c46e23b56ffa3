//! The machine's state while a sample was taken: one JSON document each.

use std::collections::BTreeMap;

use crate::error::{Doing, Result};
use crate::{Conn, RunId};

/// Stores the state of the sample at place `seq`, which [`crate::sample_append`] gave. Both belong
/// into one transaction: a sample is never stored without what was seen of the machine.
pub async fn sample_state_insert(
    conn: &mut Conn,
    run: RunId,
    seq: i64,
    state_json: &str,
) -> Result<()> {
    sqlx::query!(
        "INSERT INTO sample_state (run_id, seq, state_json) VALUES (?, ?, ?)",
        run,
        seq,
        state_json
    )
    .execute(conn)
    .await
    .doing("store the machine's state")?;
    Ok(())
}

/// The states of a run's samples, by the sample's place; samples that nobody watched have none.
pub async fn sample_states_by_run(conn: &mut Conn, run: RunId) -> Result<BTreeMap<i64, String>> {
    let rows = sqlx::query!(
        "SELECT seq, state_json FROM sample_state WHERE run_id = ? ORDER BY seq",
        run
    )
    .fetch_all(conn)
    .await
    .doing("list the states of a run's samples")?;
    Ok(rows
        .into_iter()
        .map(|row| (row.seq, row.state_json))
        .collect())
}
