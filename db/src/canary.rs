//! The canary's readings around a run's window, and those of earlier windows.

use crate::error::{Doing, Result};
use crate::{Conn, MachineId, RunId};

/// One run of the canary.
#[derive(Debug, Clone, PartialEq)]
pub struct CanaryReading {
    /// `before` or `after`.
    pub phase: String,
    /// When it began.
    pub at: i64,
    /// Which fixed work.
    pub work: String,
    /// What it ran on.
    pub device: String,
    /// What the SM clock was locked at, MHz.
    pub locked_mhz: Option<i64>,
    /// How long the arithmetic took, microseconds.
    pub compute_us: Option<f64>,
    /// How long the copy took, microseconds.
    pub copy_us: Option<f64>,
    /// Why there are no times.
    pub failure: Option<String>,
}

/// Stores a reading.
pub async fn canary_reading_insert(
    conn: &mut Conn,
    run: RunId,
    reading: &CanaryReading,
) -> Result<()> {
    sqlx::query!(
        "INSERT INTO canary_reading (run_id, phase, at, work, device, locked_mhz, compute_us,
                                     copy_us, failure)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        run,
        reading.phase,
        reading.at,
        reading.work,
        reading.device,
        reading.locked_mhz,
        reading.compute_us,
        reading.copy_us,
        reading.failure
    )
    .execute(conn)
    .await
    .doing("store a reading of the canary")?;
    Ok(())
}

/// A run's readings, in order.
pub async fn canary_readings_by_run(conn: &mut Conn, run: RunId) -> Result<Vec<CanaryReading>> {
    sqlx::query_as!(
        CanaryReading,
        "SELECT phase, at, work, device, locked_mhz, compute_us, copy_us, failure
         FROM canary_reading WHERE run_id = ? ORDER BY at, phase DESC",
        run
    )
    .fetch_all(conn)
    .await
    .doing("list a run's readings of the canary")
}

/// Which earlier windows to look up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CanaryQuery {
    /// The machine.
    pub machine_id: MachineId,
    /// What the canary ran on.
    pub device: String,
    /// Which fixed work.
    pub work: String,
    /// What the clock was locked at, MHz.
    pub locked_mhz: Option<i64>,
    /// Only runs before this one, so that a repeated judgement sees what the first one saw.
    pub before: RunId,
    /// At most so many, the newest.
    pub limit: u32,
}

/// Both readings around an earlier window, microseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct CanaryWindow {
    /// When the first one began.
    pub at: i64,
    /// The arithmetic before the window.
    pub compute_before_us: f64,
    /// The copy before it.
    pub copy_before_us: f64,
    /// The arithmetic after it.
    pub compute_after_us: f64,
    /// The copy after it.
    pub copy_after_us: f64,
}

/// Earlier windows of runs that ended, with both readings, oldest first.
pub async fn canary_history(conn: &mut Conn, query: &CanaryQuery) -> Result<Vec<CanaryWindow>> {
    let limit = i64::from(query.limit);
    let mut windows = sqlx::query_as!(
        CanaryWindow,
        r#"SELECT b.at,
                  b.compute_us AS "compute_before_us!: f64", b.copy_us AS "copy_before_us!: f64",
                  a.compute_us AS "compute_after_us!: f64", a.copy_us AS "copy_after_us!: f64"
           FROM canary_reading b
           JOIN canary_reading a ON a.run_id = b.run_id AND a.phase = 'after'
                AND a.work = b.work AND a.device = b.device
                AND a.locked_mhz IS b.locked_mhz
           JOIN run r ON r.id = b.run_id
           JOIN run_state s ON s.run_id = r.id AND s.state = 'ended'
           WHERE b.phase = 'before' AND r.id < ?1 AND r.machine_id = ?2
             AND b.device = ?3 AND b.work = ?4 AND b.locked_mhz IS ?5
             AND b.compute_us IS NOT NULL AND a.compute_us IS NOT NULL
           ORDER BY r.id DESC LIMIT ?6"#,
        query.before,
        query.machine_id,
        query.device,
        query.work,
        query.locked_mhz,
        limit
    )
    .fetch_all(conn)
    .await
    .doing("look up the canary's history")?;
    windows.reverse();
    Ok(windows)
}
