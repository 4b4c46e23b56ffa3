//! What is known of a machine's noise, and how samples were planned.

use crate::error::{Doing, Result};
use crate::{Conn, MachineId, RunId};

/// A bench's noise on a machine, from one calibration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoiseProfile {
    /// The calibration.
    pub run_id: RunId,
    /// The bench.
    pub bench: String,
    /// The machine.
    pub machine_id: MachineId,
    /// The campaign.
    pub campaign: String,
    /// SHA-256 of what the bench runs, hex.
    pub what: String,
    /// When it was made.
    pub at: i64,
    /// The profile.
    pub json: String,
}

/// Stores a profile. The database refuses one that is not of a calibration that ended.
pub async fn noise_profile_insert(conn: &mut Conn, profile: &NoiseProfile) -> Result<()> {
    sqlx::query!(
        "INSERT INTO noise_profile (run_id, bench, machine_id, campaign, what, at, json)
         VALUES (?, ?, ?, ?, ?, ?, ?)",
        profile.run_id,
        profile.bench,
        profile.machine_id,
        profile.campaign,
        profile.what,
        profile.at,
        profile.json
    )
    .execute(conn)
    .await
    .doing("store a noise profile")?;
    Ok(())
}

/// The newest profile of each bench of a campaign on each machine, whatever it runs now: the
/// machine's fingerprint with it. By bench.
pub async fn noise_profiles(
    conn: &mut Conn,
    campaign: &str,
) -> Result<Vec<(String, NoiseProfile)>> {
    let rows = sqlx::query!(
        r#"SELECT m.fingerprint, n.run_id AS "run_id: RunId", n.bench,
                  n.machine_id AS "machine_id: MachineId", n.campaign, n.what, n.at, n.json
           FROM noise_profile n
           JOIN machine m ON m.id = n.machine_id
           WHERE n.campaign = ?1
             AND n.run_id = (SELECT max(o.run_id) FROM noise_profile o
                             WHERE o.campaign = n.campaign AND o.bench = n.bench
                               AND o.machine_id = n.machine_id)
           ORDER BY n.bench, n.run_id"#,
        campaign
    )
    .fetch_all(conn)
    .await
    .doing("look up noise profiles")?;
    let mut found = Vec::with_capacity(rows.len());
    for row in rows {
        let profile = NoiseProfile {
            run_id: row.run_id,
            bench: row.bench,
            machine_id: row.machine_id,
            campaign: row.campaign,
            what: row.what,
            at: row.at,
            json: row.json,
        };
        found.push((row.fingerprint, profile));
    }
    Ok(found)
}

/// The profiles that a calibration made, by bench.
pub async fn noise_profiles_by_run(conn: &mut Conn, run: RunId) -> Result<Vec<NoiseProfile>> {
    sqlx::query_as!(
        NoiseProfile,
        r#"SELECT run_id AS "run_id: RunId", bench, machine_id AS "machine_id: MachineId",
                  campaign, what, at, json
           FROM noise_profile WHERE run_id = ? ORDER BY bench"#,
        run
    )
    .fetch_all(conn)
    .await
    .doing("look up a calibration's noise profiles")
}

/// How a bench's samples are taken in a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BenchPlan {
    /// The bench.
    pub bench: String,
    /// Timed runs of a sample.
    pub inner: u32,
    /// The whole plan.
    pub json: String,
}

/// Stores a plan, once. The database refuses one that comes after a sample of a pair.
pub async fn bench_plan_insert(conn: &mut Conn, run: RunId, plan: &BenchPlan) -> Result<()> {
    sqlx::query!(
        "INSERT INTO bench_plan (run_id, bench, inner, json) VALUES (?, ?, ?, ?)",
        run,
        plan.bench,
        plan.inner,
        plan.json
    )
    .execute(conn)
    .await
    .doing("store the plan of a bench")?;
    Ok(())
}

/// A run's plans, by bench.
pub async fn bench_plans_by_run(conn: &mut Conn, run: RunId) -> Result<Vec<BenchPlan>> {
    sqlx::query_as!(
        BenchPlan,
        r#"SELECT bench, inner AS "inner: u32", json FROM bench_plan
           WHERE run_id = ? ORDER BY bench"#,
        run
    )
    .fetch_all(conn)
    .await
    .doing("look up the plans of a run")
}

/// The launches of a bench in the newest runs that ended and whose samples have single runs'
/// values, newest run first.
pub async fn inner_values(conn: &mut Conn, query: &InnerQuery) -> Result<Vec<InnerRun>> {
    let limit = i64::from(query.limit);
    let runs = sqlx::query!(
        r#"SELECT r.id AS "id: RunId", r.config_json
           FROM run r
           JOIN run_state s ON s.run_id = r.id AND s.state = 'ended'
           JOIN machine m ON m.id = r.machine_id
           WHERE r.campaign = ?1 AND m.fingerprint = ?2
             AND EXISTS (SELECT 1 FROM sample x
                         WHERE x.run_id = r.id AND x.bench = ?3 AND x.role = 'pair'
                           AND json_array_length(x.inner_json) >= 2)
           ORDER BY r.id DESC LIMIT ?4"#,
        query.campaign,
        query.machine,
        query.bench,
        limit
    )
    .fetch_all(&mut *conn)
    .await
    .doing("look up earlier launches of a bench")?;
    let mut found = Vec::with_capacity(runs.len());
    for run in runs {
        let launches = sqlx::query!(
            r#"SELECT side, inner_json FROM sample
               WHERE run_id = ? AND bench = ? AND role = 'pair' AND value IS NOT NULL
               ORDER BY seq"#,
            run.id,
            query.bench
        )
        .fetch_all(&mut *conn)
        .await
        .doing("look up earlier launches of a bench")?;
        found.push(InnerRun {
            run_id: run.id,
            config_json: run.config_json,
            launches: launches
                .into_iter()
                .map(|launch| (launch.side, launch.inner_json))
                .collect(),
        });
    }
    Ok(found)
}

/// Which earlier launches to look up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InnerQuery {
    /// The campaign.
    pub campaign: String,
    /// The machine's fingerprint.
    pub machine: String,
    /// The bench.
    pub bench: String,
    /// At most so many runs, the newest.
    pub limit: u32,
}

/// An earlier run's launches of a bench.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InnerRun {
    /// The run.
    pub run_id: RunId,
    /// Its config.
    pub config_json: String,
    /// Each launch of a pair: its side, and the values of its single runs as JSON.
    pub launches: Vec<(String, String)>,
}
