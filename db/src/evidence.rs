//! Gates and claims of a run, in the order in which they were evaluated.

use crate::error::{Doing, Result};
use crate::{Conn, RunId};

/// A gate's result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gate {
    /// `parity` or `identity`.
    pub kind: String,
    /// Its name in the config.
    pub name: String,
    /// The side on which it ran; `None` for a comparison of both.
    pub side: Option<String>,
    /// `passed`, `flaky`, `failed`, `no-data` or `not-run`.
    pub outcome: String,
    /// Why; needed for all but `passed`.
    pub reason: Option<String>,
    /// Measured figures with their limits.
    pub figures_json: String,
    /// How a command ended badly.
    pub failure_json: Option<String>,
    /// Output of its commands.
    pub logs: Vec<String>,
}

/// Adds a gate with its logs to a run; returns its place in the order, from 0. Several
/// statements: call it in a [`crate::Tx`].
pub async fn gate_append(conn: &mut Conn, run: RunId, gate: &Gate) -> Result<i64> {
    let seq = sqlx::query_scalar!(
        r#"INSERT INTO gate (run_id, seq, kind, name, side, outcome, reason, figures_json,
                             failure_json)
           SELECT ?1, coalesce(max(seq) + 1, 0), ?2, ?3, ?4, ?5, ?6, ?7, ?8
           FROM gate WHERE run_id = ?1
           RETURNING seq AS "seq!: i64""#,
        run,
        gate.kind,
        gate.name,
        gate.side,
        gate.outcome,
        gate.reason,
        gate.figures_json,
        gate.failure_json
    )
    .fetch_one(&mut *conn)
    .await
    .doing("store a gate")?;
    for (position, log) in (0i64..).zip(&gate.logs) {
        sqlx::query!(
            "INSERT INTO gate_log (run_id, gate_seq, position, artifact) VALUES (?, ?, ?, ?)",
            run,
            seq,
            position,
            log
        )
        .execute(&mut *conn)
        .await
        .doing("store a gate's log")?;
    }
    Ok(seq)
}

/// A run's gates, in order.
pub async fn gates_by_run(conn: &mut Conn, run: RunId) -> Result<Vec<Gate>> {
    let rows = sqlx::query!(
        "SELECT seq, kind, name, side, outcome, reason, figures_json, failure_json
         FROM gate WHERE run_id = ? ORDER BY seq",
        run
    )
    .fetch_all(&mut *conn)
    .await
    .doing("list a run's gates")?;
    let logs = sqlx::query!(
        "SELECT gate_seq, artifact FROM gate_log WHERE run_id = ? ORDER BY gate_seq, position",
        run
    )
    .fetch_all(conn)
    .await
    .doing("list a run's gate logs")?;
    let gates = rows.into_iter().map(|row| Gate {
        logs: logs
            .iter()
            .filter(|log| log.gate_seq == row.seq)
            .map(|log| log.artifact.clone())
            .collect(),
        kind: row.kind,
        name: row.name,
        side: row.side,
        outcome: row.outcome,
        reason: row.reason,
        figures_json: row.figures_json,
        failure_json: row.failure_json,
    });
    Ok(gates.collect())
}

/// A claim's result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The claim as written.
    pub text: String,
    /// Where it was declared.
    pub source: String,
    /// `holds`, `fails` or `not-evaluated`.
    pub outcome: String,
    /// What was expected.
    pub expected: String,
    /// What was observed.
    pub observed: String,
    /// Why it was not evaluated.
    pub reason: Option<String>,
}

/// Adds an evaluation of all of a run's claims; from now on it counts, and an earlier one stays.
/// Several statements: call it in a [`crate::Tx`].
pub async fn claims_insert(conn: &mut Conn, run: RunId, claims: &[Claim]) -> Result<()> {
    let evaluation = sqlx::query_scalar!(
        r#"SELECT coalesce(max(evaluation) + 1, 1) AS "evaluation!: i64"
           FROM claim WHERE run_id = ?"#,
        run
    )
    .fetch_one(&mut *conn)
    .await
    .doing("number an evaluation of claims")?;
    for claim in claims {
        sqlx::query!(
            "INSERT INTO claim (run_id, seq, text, source, outcome, expected, observed, reason,
                                evaluation)
             SELECT ?1, coalesce(max(seq) + 1, 0), ?2, ?3, ?4, ?5, ?6, ?7, ?8
             FROM claim WHERE run_id = ?1",
            run,
            claim.text,
            claim.source,
            claim.outcome,
            claim.expected,
            claim.observed,
            claim.reason,
            evaluation
        )
        .execute(&mut *conn)
        .await
        .doing("store a claim")?;
    }
    Ok(())
}

/// The newest evaluation of a run's claims, in order.
pub async fn claims_by_run(conn: &mut Conn, run: RunId) -> Result<Vec<Claim>> {
    sqlx::query_as!(
        Claim,
        "SELECT text, source, outcome, expected, observed, reason
         FROM claim
         WHERE run_id = ?1
           AND evaluation = (SELECT max(evaluation) FROM claim WHERE run_id = ?1)
         ORDER BY seq",
        run
    )
    .fetch_all(conn)
    .await
    .doing("list a run's claims")
}
