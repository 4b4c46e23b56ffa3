//! What earlier runs measured, for the checks of a new one. Only runs that ended count: an
//! interrupted run's samples are never pooled. No statistics here: values as they were stored.

use crate::error::{Doing, Result};
use crate::{Conn, MachineId, RunId};

/// Which earlier windows of a base to look up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseHistoryQuery {
    /// The bench.
    pub bench: String,
    /// The machine.
    pub machine_id: MachineId,
    /// The key of the build that served as base.
    pub base_build_key: String,
    /// Only runs before this one, so that a repeated judgement sees what the first one saw.
    pub before: RunId,
    /// At most so many, the newest.
    pub limit: u32,
}

/// A base's values in one earlier window.
#[derive(Debug, Clone, PartialEq)]
pub struct BaseWindow {
    /// The run.
    pub run_id: RunId,
    /// When it began.
    pub started_at: i64,
    /// Its config's hash: where it differs, the bench's command may have been another.
    pub config_sha256: String,
    /// What tables show as its verdict; `None` when it was not judged. (A window that was judged
    /// ENV-INVALID says nothing about the base.)
    pub verdict: Option<String>,
    /// The base side's values in pairs, in the order in which they were taken.
    pub values: Vec<f64>,
}

/// The values of a base build on a machine in earlier runs, oldest first. Runs without a value
/// are left out.
pub async fn base_history(conn: &mut Conn, query: &BaseHistoryQuery) -> Result<Vec<BaseWindow>> {
    let limit = i64::from(query.limit);
    let runs = sqlx::query!(
        r#"SELECT r.id AS "id: RunId", r.started_at, r.config_sha256,
                  (SELECT j.verdict FROM judgement_newest j WHERE j.run_id = r.id)
                      AS "verdict: String"
           FROM run r
           JOIN run_state s ON s.run_id = r.id AND s.state = 'ended'
           JOIN run_build u ON u.run_id = r.id AND u.side = 'base'
           JOIN build b ON b.id = u.build_id AND b.key = ?1
           WHERE r.id < ?2 AND r.machine_id = ?3
             AND EXISTS (SELECT 1 FROM sample x
                         WHERE x.run_id = r.id AND x.bench = ?4 AND x.side = 'base'
                           AND x.role = 'pair' AND x.value IS NOT NULL)
           ORDER BY r.id DESC LIMIT ?5"#,
        query.base_build_key,
        query.before,
        query.machine_id,
        query.bench,
        limit
    )
    .fetch_all(&mut *conn)
    .await
    .doing("look up the base's history")?;
    let mut windows = Vec::with_capacity(runs.len());
    for run in runs.into_iter().rev() {
        windows.push(BaseWindow {
            values: base_values(conn, run.id, &query.bench).await?,
            run_id: run.id,
            started_at: run.started_at,
            config_sha256: run.config_sha256,
            verdict: run.verdict,
        });
    }
    Ok(windows)
}

/// The base side's values in a run's pairs, in order.
pub async fn base_values(conn: &mut Conn, run: RunId, bench: &str) -> Result<Vec<f64>> {
    sqlx::query_scalar!(
        r#"SELECT value AS "value!: f64" FROM sample
           WHERE run_id = ? AND bench = ? AND side = 'base' AND role = 'pair'
             AND value IS NOT NULL
           ORDER BY seq"#,
        run,
        bench
    )
    .fetch_all(conn)
    .await
    .doing("look up the base's values")
}

/// Which earlier judgements to look up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastQuery {
    /// The campaign.
    pub campaign: String,
    /// The machine.
    pub machine_id: MachineId,
    /// A bench of which they have samples.
    pub bench: String,
    /// Only runs before this one.
    pub before: RunId,
    /// At most so many, the newest.
    pub limit: u32,
}

/// An earlier run as it was judged.
#[derive(Debug, Clone, PartialEq)]
pub struct PastJudgement {
    /// The run.
    pub run_id: RunId,
    /// Its head commit.
    pub head_sha: String,
    /// What tables show as its verdict.
    pub verdict: String,
    /// Its newest judgement, estimates included.
    pub json: String,
    /// The base side's values in the bench's pairs, in order.
    pub base_values: Vec<f64>,
}

/// Judged earlier runs of a campaign on a machine that measured a bench, oldest first.
pub async fn past_judgements(conn: &mut Conn, query: &PastQuery) -> Result<Vec<PastJudgement>> {
    let limit = i64::from(query.limit);
    let runs = sqlx::query!(
        r#"SELECT r.id AS "id: RunId", r.head_sha, j.verdict AS "verdict!: String", j.json
           FROM run r
           JOIN run_state s ON s.run_id = r.id AND s.state = 'ended'
           JOIN judgement_newest j ON j.run_id = r.id
           WHERE r.campaign = ?1 AND r.machine_id = ?2 AND r.id < ?3 AND r.purpose = 'lever'
             AND EXISTS (SELECT 1 FROM sample x
                         WHERE x.run_id = r.id AND x.bench = ?4 AND x.value IS NOT NULL)
           ORDER BY r.id DESC LIMIT ?5"#,
        query.campaign,
        query.machine_id,
        query.before,
        query.bench,
        limit
    )
    .fetch_all(&mut *conn)
    .await
    .doing("look up earlier judgements")?;
    let mut past = Vec::with_capacity(runs.len());
    for run in runs.into_iter().rev() {
        past.push(PastJudgement {
            base_values: base_values(conn, run.id, &query.bench).await?,
            run_id: run.id,
            head_sha: run.head_sha,
            verdict: run.verdict,
            json: run.json,
        });
    }
    Ok(past)
}
