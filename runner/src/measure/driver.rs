//! Walks a plan: launch, store, next. Repeats a failed launch once, within a bound for the whole
//! run, and stops where a side cannot be measured.

use crate::config::Config;
use crate::judge::failure_words;
use crate::model::{BenchEvidence, Failure, Sample, SampleRole, Side};
use crate::process::Launcher;
use crate::progress::{Event, Progress};
use crate::stats::{CONTROL_LAUNCH, PlannedLaunch};

use super::launch::take;
use super::recorder::Recorder;

/// How many launches a whole run may repeat; a machine that needs more is not measured on.
pub const REPETITIONS: u32 = 6;

/// What to measure.
#[derive(Debug, Clone, Copy)]
pub struct Measurement<'a> {
    /// The effective config.
    pub config: &'a Config,
    /// The plan, as `stats::plan` made it from the config's benches.
    pub plan: &'a [PlannedLaunch],
    /// Who is told.
    pub progress: &'a Progress,
}

/// Takes every planned sample and returns them by bench, in the config's order; a bench that was
/// not reached has none. What the database knows of earlier runs (`base_history`,
/// `past_estimates`) is left empty for the caller.
///
/// A launch that fails is repeated once at its place, while [`REPETITIONS`] lasts. Where it fails
/// again the run stops: on base because nothing can be compared, on head after one more launch of
/// base ([`CONTROL_LAUNCH`]), which tells a broken head from a broken machine. A full disk stops
/// it at once.
///
/// # Errors
/// Only what the recorder reports.
pub async fn measure<L: Launcher, R: Recorder>(
    what: &Measurement<'_>,
    launcher: &mut L,
    recorder: &mut R,
) -> anyhow::Result<Vec<BenchEvidence>> {
    let mut run = Run {
        what,
        launcher,
        recorder,
        repetitions_left: REPETITIONS,
        samples: Vec::new(),
    };
    what.progress.emit(Event::SamplesPlanned {
        count: u32::try_from(what.plan.len()).unwrap_or(u32::MAX),
    });
    for planned in what.plan {
        if !run.place(planned).await? {
            break;
        }
    }
    Ok(by_bench(what.config, run.samples))
}

struct Run<'a, L, R> {
    what: &'a Measurement<'a>,
    launcher: &'a mut L,
    recorder: &'a mut R,
    repetitions_left: u32,
    samples: Vec<Sample>,
}

impl<L: Launcher, R: Recorder> Run<'_, L, R> {
    /// Fills one place of the plan; `false` where the run has to stop.
    async fn place(&mut self, planned: &PlannedLaunch) -> anyhow::Result<bool> {
        let Some(first) = self.launch(planned, 1).await? else {
            return Ok(true);
        };
        let progress = self.what.progress;
        if first == Failure::DiskFull {
            progress.note("the disk is full: measuring stops; free some space and run again");
            return Ok(false);
        }
        if self.repetitions_left > 0 {
            self.repetitions_left -= 1;
            progress.note(format!(
                "{} on {} {}; once more",
                planned.bench,
                planned.side,
                failure_words(&first)
            ));
            if self.launch(planned, 2).await?.is_none() {
                return Ok(true);
            }
        }
        progress.note(format!(
            "{} cannot be measured on {}: measuring stops",
            planned.bench, planned.side
        ));
        if planned.side == Side::Head {
            let control = PlannedLaunch {
                side: Side::Base,
                role: SampleRole::ThrowAway,
                pair: CONTROL_LAUNCH,
                slot: 0,
                ..planned.clone()
            };
            self.launch(&control, 1).await?;
        }
        Ok(false)
    }

    /// Launches once and gives the failure, if it failed.
    async fn launch(
        &mut self,
        planned: &PlannedLaunch,
        attempt: u32,
    ) -> anyhow::Result<Option<Failure>> {
        let sample = take(
            self.what.config,
            planned,
            attempt,
            self.launcher,
            self.recorder,
        )
        .await?;
        self.what.progress.emit(Event::SampleTaken {
            sample: Box::new(sample.clone()),
        });
        let failure = sample.failure.clone();
        self.samples.push(sample);
        Ok(failure)
    }
}

fn by_bench(config: &Config, mut samples: Vec<Sample>) -> Vec<BenchEvidence> {
    config
        .benches
        .iter()
        .map(|bench| BenchEvidence {
            bench: bench.name.clone(),
            samples: samples.extract_if(.., |s| s.bench == bench.name).collect(),
            base_history: Vec::new(),
            past_estimates: Vec::new(),
        })
        .collect()
}

#[cfg(test)]
#[path = "driver_tests.rs"]
mod tests;
