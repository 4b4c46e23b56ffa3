//! What a profiler counted: profiles of a run with their launches and values.

use crate::error::{Doing, Result};
use crate::{Conn, RunId};

/// A command that was run once under the profiler on one side.
#[derive(Debug, Clone, PartialEq)]
pub struct CounterProfile {
    /// When it was started.
    pub at: i64,
    /// Its name in the config.
    pub entry: String,
    /// `base` or `head`.
    pub side: String,
    /// The profiler with its version; `None` where there is none.
    pub profiler: Option<String>,
    /// Metrics without a value, with the reasons: a JSON array.
    pub absent_json: String,
    /// Why there are no launches.
    pub failure_json: Option<String>,
    /// What was printed.
    pub log_artifact: Option<String>,
    /// The launches, in order.
    pub launches: Vec<CounterLaunch>,
}

/// One profiled launch of a kernel.
#[derive(Debug, Clone, PartialEq)]
pub struct CounterLaunch {
    /// The kernel's demangled name.
    pub kernel: String,
    /// The device's architecture, where it is known.
    pub arch: Option<String>,
    /// The grid, as printed.
    pub grid: String,
    /// The block, as printed.
    pub block: String,
    /// The values, in order.
    pub values: Vec<CounterValue>,
}

/// The value of one metric.
#[derive(Debug, Clone, PartialEq)]
pub struct CounterValue {
    /// The profiler's name for it.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// The value: finite and not negative.
    pub value: f64,
}

/// Adds profiles to a run; from now on they count, and those of an earlier taking stay. Several
/// statements: call it in a [`crate::Tx`].
pub async fn counter_profiles_insert(
    conn: &mut Conn,
    run: RunId,
    profiles: &[CounterProfile],
) -> Result<()> {
    let taking = sqlx::query_scalar!(
        r#"SELECT coalesce(max(taking) + 1, 1) AS "taking!: i64"
           FROM counter_profile WHERE run_id = ?"#,
        run
    )
    .fetch_one(&mut *conn)
    .await
    .doing("number a taking of counters")?;
    for profile in profiles {
        let seq = sqlx::query_scalar!(
            r#"INSERT INTO counter_profile (run_id, seq, taking, at, entry, side, profiler,
                                            absent_json, failure_json, log_artifact)
               SELECT ?1, coalesce(max(seq) + 1, 0), ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9
               FROM counter_profile WHERE run_id = ?1
               RETURNING seq AS "seq!: i64""#,
            run,
            taking,
            profile.at,
            profile.entry,
            profile.side,
            profile.profiler,
            profile.absent_json,
            profile.failure_json,
            profile.log_artifact
        )
        .fetch_one(&mut *conn)
        .await
        .doing("store a profile")?;
        for (number, launch) in (0i64..).zip(&profile.launches) {
            launch_insert(conn, (run, seq, number), launch).await?;
        }
    }
    Ok(())
}

async fn launch_insert(
    conn: &mut Conn,
    (run, seq, number): (RunId, i64, i64),
    launch: &CounterLaunch,
) -> Result<()> {
    sqlx::query!(
        "INSERT INTO counter_launch (run_id, profile_seq, launch, kernel, arch, grid, block)
         VALUES (?, ?, ?, ?, ?, ?, ?)",
        run,
        seq,
        number,
        launch.kernel,
        launch.arch,
        launch.grid,
        launch.block
    )
    .execute(&mut *conn)
    .await
    .doing("store a profiled launch")?;
    for (position, value) in (0i64..).zip(&launch.values) {
        sqlx::query!(
            "INSERT INTO counter_value (run_id, profile_seq, launch, position, metric, unit,
                                        value)
             VALUES (?, ?, ?, ?, ?, ?, ?)",
            run,
            seq,
            number,
            position,
            value.metric,
            value.unit,
            value.value
        )
        .execute(&mut *conn)
        .await
        .doing("store a counter")?;
    }
    Ok(())
}

/// The profiles of a run's newest taking, in order.
pub async fn counter_profiles_by_run(conn: &mut Conn, run: RunId) -> Result<Vec<CounterProfile>> {
    let rows = sqlx::query!(
        "SELECT seq, at, entry, side, profiler, absent_json, failure_json, log_artifact
         FROM counter_profile
         WHERE run_id = ?1
           AND taking = (SELECT max(taking) FROM counter_profile WHERE run_id = ?1)
         ORDER BY seq",
        run
    )
    .fetch_all(&mut *conn)
    .await
    .doing("list a run's profiles")?;
    let mut profiles = Vec::with_capacity(rows.len());
    for row in rows {
        profiles.push(CounterProfile {
            launches: launches(conn, run, row.seq).await?,
            at: row.at,
            entry: row.entry,
            side: row.side,
            profiler: row.profiler,
            absent_json: row.absent_json,
            failure_json: row.failure_json,
            log_artifact: row.log_artifact,
        });
    }
    Ok(profiles)
}

async fn launches(conn: &mut Conn, run: RunId, profile: i64) -> Result<Vec<CounterLaunch>> {
    let launches = sqlx::query!(
        "SELECT launch, kernel, arch, grid, block FROM counter_launch
         WHERE run_id = ? AND profile_seq = ? ORDER BY launch",
        run,
        profile
    )
    .fetch_all(&mut *conn)
    .await
    .doing("list a profile's launches")?;
    let values = sqlx::query!(
        "SELECT launch, metric, unit, value FROM counter_value
         WHERE run_id = ? AND profile_seq = ? ORDER BY launch, position",
        run,
        profile
    )
    .fetch_all(conn)
    .await
    .doing("list a profile's counters")?;
    let of = |launch: i64| {
        values
            .iter()
            .filter(move |value| value.launch == launch)
            .map(|value| CounterValue {
                metric: value.metric.clone(),
                unit: value.unit.clone(),
                value: value.value,
            })
            .collect()
    };
    Ok(launches
        .into_iter()
        .map(|row| CounterLaunch {
            values: of(row.launch),
            kernel: row.kernel,
            arch: row.arch,
            grid: row.grid,
            block: row.block,
        })
        .collect())
}
