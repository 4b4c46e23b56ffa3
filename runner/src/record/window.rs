//! What was done about the machine around a window, to rows and back.

use super::convert::tag;
use super::load::{document, word};
use super::{Recorder, Result, RunId};
use crate::model::{
    CanaryEvidence, CanaryOutcome, CanaryReading, CanaryTimes, ClockState, PastCanary, UnixMillis,
    Window,
};

/// How many earlier windows of the canary are looked at.
const HISTORY: u32 = 40;

impl Recorder {
    /// Stores what became of the wish to lock the clock.
    pub async fn clocks(&self, clocks: &ClockState) -> Result<()> {
        self.document("clocks", clocks).await
    }

    /// Stores a reading of the canary.
    pub async fn canary(&self, reading: &CanaryReading) -> Result<()> {
        let times = reading.times();
        let row = db::CanaryReading {
            phase: tag(&reading.phase, ""),
            at: reading.at.0,
            work: reading.work.clone(),
            device: reading.device.clone(),
            locked_mhz: reading.locked_mhz.map(i64::from),
            compute_us: times.map(|times| times.compute_us),
            copy_us: times.map(|times| times.copy_us),
            failure: match &reading.outcome {
                CanaryOutcome::Measured(_) => None,
                CanaryOutcome::Failed { reason } => Some(reason.clone()),
            },
        };
        let mut tx = self.records().db().write().await?;
        db::canary_reading_insert(&mut tx, self.run(), &row).await?;
        Ok(tx.commit().await?)
    }
}

/// Loads a run's window.
pub(super) async fn load(conn: &mut db::Conn, run: &db::Run) -> Result<Window> {
    Ok(Window {
        clocks: document(conn, run.id, "clocks").await?,
        canary: canary(conn, run).await?,
    })
}

async fn canary(conn: &mut db::Conn, run: &db::Run) -> Result<Option<CanaryEvidence>> {
    let rows = db::canary_readings_by_run(conn, run.id).await?;
    let Some(first) = rows.first() else {
        return Ok(None);
    };
    let query = db::CanaryQuery {
        machine_id: run.machine_id,
        device: first.device.clone(),
        work: first.work.clone(),
        locked_mhz: first.locked_mhz,
        before: run.id,
        limit: HISTORY,
    };
    let history = db::canary_history(conn, &query).await?;
    let readings = rows.into_iter().map(|row| reading(run.id, row));
    Ok(Some(CanaryEvidence {
        readings: readings.collect::<Result<_>>()?,
        history: history.into_iter().map(past).collect(),
    }))
}

fn reading(run: RunId, row: db::CanaryReading) -> Result<CanaryReading> {
    Ok(CanaryReading {
        phase: word(run, "phase of the canary", &row.phase)?,
        at: UnixMillis(row.at),
        work: row.work,
        device: row.device,
        locked_mhz: row.locked_mhz.and_then(|mhz| u32::try_from(mhz).ok()),
        outcome: match (row.compute_us, row.copy_us) {
            (Some(compute_us), Some(copy_us)) => CanaryOutcome::Measured(CanaryTimes {
                compute_us,
                copy_us,
            }),
            _ => CanaryOutcome::Failed {
                reason: row.failure.unwrap_or_default(),
            },
        },
    })
}

fn past(window: db::CanaryWindow) -> PastCanary {
    PastCanary {
        at: UnixMillis(window.at),
        before: CanaryTimes {
            compute_us: window.compute_before_us,
            copy_us: window.copy_before_us,
        },
        after: CanaryTimes {
            compute_us: window.compute_after_us,
            copy_us: window.copy_after_us,
        },
    }
}
