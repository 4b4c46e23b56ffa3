//! What launches reported besides their values.

use crate::error::{Doing, Result};
use crate::{Conn, RunId};

/// Keeps what a sample reported; `seq` is the sample's place in the order.
pub async fn sample_facts_insert(
    conn: &mut Conn,
    run: RunId,
    seq: i64,
    facts_json: &str,
) -> Result<()> {
    sqlx::query!(
        "INSERT INTO sample_facts (run_id, seq, facts_json) VALUES (?, ?, ?)",
        run,
        seq,
        facts_json
    )
    .execute(conn)
    .await
    .doing("store what a sample reported")?;
    Ok(())
}

/// What a run's samples reported, with each sample's place in the order.
pub async fn sample_facts_by_run(conn: &mut Conn, run: RunId) -> Result<Vec<(i64, String)>> {
    let rows = sqlx::query!(
        "SELECT seq, facts_json FROM sample_facts WHERE run_id = ? ORDER BY seq",
        run
    )
    .fetch_all(conn)
    .await
    .doing("list what a run's samples reported")?;
    Ok(rows.into_iter().map(|r| (r.seq, r.facts_json)).collect())
}
