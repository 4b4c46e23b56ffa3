//! Reference programs in earlier windows. Their samples are among the run's, on a side of their
//! own.

use crate::error::{Doing, Result};
use crate::{Conn, MachineId, RunId};

/// Which earlier windows of a reference to look up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReferenceHistoryQuery {
    /// The bench.
    pub bench: String,
    /// The role of its samples, which names the reference.
    pub role: String,
    /// The machine.
    pub machine_id: MachineId,
    /// Only runs before this one.
    pub before: RunId,
    /// At most so many values, the newest.
    pub limit: u32,
}

/// One value of a reference in an earlier window.
#[derive(Debug, Clone, PartialEq)]
pub struct ReferenceValue {
    /// The run.
    pub run_id: RunId,
    /// The value.
    pub value: f64,
    /// What the run's references were: a JSON document.
    pub references_json: String,
    /// What tables show as the run's verdict.
    pub verdict: Option<String>,
}

/// The values of a reference in earlier runs that ended, oldest first.
pub async fn reference_history(
    conn: &mut Conn,
    query: &ReferenceHistoryQuery,
) -> Result<Vec<ReferenceValue>> {
    let limit = i64::from(query.limit);
    let mut found = sqlx::query_as!(
        ReferenceValue,
        r#"SELECT s.run_id AS "run_id: RunId", s.value AS "value!: f64",
                  d.json AS references_json,
                  (SELECT j.verdict FROM judgement_newest j WHERE j.run_id = s.run_id)
                      AS "verdict: String"
           FROM sample s
           JOIN run r ON r.id = s.run_id AND r.machine_id = ?3
           JOIN run_state t ON t.run_id = s.run_id AND t.state = 'ended'
           JOIN run_document d ON d.run_id = s.run_id AND d.name = 'references'
           WHERE s.bench = ?1 AND s.side = 'reference' AND s.role = ?2 AND s.run_id < ?4
             AND s.value IS NOT NULL
           ORDER BY s.run_id DESC, s.seq DESC LIMIT ?5"#,
        query.bench,
        query.role,
        query.machine_id,
        query.before,
        limit
    )
    .fetch_all(conn)
    .await
    .doing("look up a reference's history")?;
    found.reverse();
    Ok(found)
}
