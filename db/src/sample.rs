//! Samples: one process launch each, stored as it is taken.

use crate::error::{Doing, Result};
use crate::{Conn, RunId};

/// One process launch of one side.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// The bench.
    pub bench: String,
    /// `base`, `head` or `reference`.
    pub side: String,
    /// `pair` for half of a pair; others are not judged.
    pub role: String,
    /// The pair's index, from 0.
    pub pair: u32,
    /// The place within the pair, from 0.
    pub slot: u8,
    /// The attempt at this place, from 1.
    pub attempt: u32,
    /// When it started.
    pub started_at: i64,
    /// Wall time of the process, milliseconds.
    pub wall_ms: f64,
    /// From a harness's question to its answer, milliseconds; `None` without a harness.
    pub answer_ms: Option<f64>,
    /// The value in the bench's unit: finite and positive. `None` exactly when there is a
    /// failure; the database refuses anything else, NaN and infinity included.
    pub value: Option<f64>,
    /// Values of the inner runs: a JSON array.
    pub inner_json: String,
    /// Why the value is missing.
    pub failure_json: Option<String>,
    /// The process's output.
    pub log_artifact: Option<String>,
}

/// Adds a sample to a run that is not closed; returns its place in the order, from 0.
pub async fn sample_append(conn: &mut Conn, run: RunId, sample: &Sample) -> Result<i64> {
    sqlx::query_scalar!(
        r#"INSERT INTO sample (run_id, seq, bench, side, role, pair, slot, attempt, started_at,
                               wall_ms, value, inner_json, failure_json, log_artifact, answer_ms)
           SELECT ?1, coalesce(max(seq) + 1, 0), ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13,
                  ?14
           FROM sample WHERE run_id = ?1
           RETURNING seq AS "seq!: i64""#,
        run,
        sample.bench,
        sample.side,
        sample.role,
        sample.pair,
        sample.slot,
        sample.attempt,
        sample.started_at,
        sample.wall_ms,
        sample.value,
        sample.inner_json,
        sample.failure_json,
        sample.log_artifact,
        sample.answer_ms
    )
    .fetch_one(conn)
    .await
    .doing("store a sample")
}

/// A run's samples, in the order in which they were taken; failures and throw-aways included.
pub async fn samples_by_run(conn: &mut Conn, run: RunId) -> Result<Vec<Sample>> {
    sqlx::query_as!(
        Sample,
        r#"SELECT bench, side, role, pair AS "pair: u32", slot AS "slot: u8",
                  attempt AS "attempt: u32", started_at, wall_ms, value, inner_json,
                  failure_json, log_artifact, answer_ms
           FROM sample WHERE run_id = ? ORDER BY seq"#,
        run
    )
    .fetch_all(conn)
    .await
    .doing("list a run's samples")
}
