//! Takes pairs: launch, store, next, until the protocol has enough. Repeats a failed launch once,
//! within a bound for the whole run, and stops where a side cannot be measured.

use std::collections::BTreeMap;

use anyhow::Context as _;

use crate::config::{Bench, Config, Protocol};
use crate::judge::{
    differs_in_work, failure_words, in_order, rejected_pair, role_and_bar, settles,
    too_many_rejected, wanted_pairs,
};
use crate::machine::sensors::Watch;
use crate::model::{
    BenchEvidence, BenchPlan, Failure, Registration, RoundKind, Sample, SampleRole, Side,
};
use crate::process::Launcher;
use crate::progress::{Event, Progress};
use crate::stats::sequential::LOOKS;
use crate::stats::{CONTROL_LAUNCH, PlannedLaunch, Schedule};

use super::launch::{Attempt, take};
use super::plan::{KnownLaunches, draw_up};
use super::recorder::Recorder;
use super::reference::{Arms, Slot};

/// How many launches and pairs a whole run may repeat; a machine that needs more is not measured
/// on.
pub const REPETITIONS: u32 = 6;

/// What to measure.
#[derive(Debug, Clone, Copy)]
pub struct Measurement<'a> {
    /// The effective config.
    pub config: &'a Config,
    /// What the lever declares: its bars say which benches are targets.
    pub registration: &'a Registration,
    /// What the orders of pairs are drawn from.
    pub seed: u64,
    /// Who is told.
    pub progress: &'a Progress,
    /// Who watches the machine meanwhile; `None` where nobody does.
    pub watch: Option<&'a Watch>,
    /// What is known of each bench's launches from before.
    pub launches: &'a KnownLaunches,
}

/// Takes the samples of every bench and returns them by bench, in the config's order; a bench that
/// was not reached has none. What the database knows of earlier runs (`base_history`,
/// `past_estimates`) is left empty for the caller.
///
/// A launch that fails is repeated once at its place, while [`REPETITIONS`] lasts. Where it fails
/// again, a fixed protocol stops: on base because nothing can be compared, on head after one more
/// launch of base ([`CONTROL_LAUNCH`]), which tells a broken head from a broken machine. The
/// sequential protocol first gives up the pair for another one in the same order, which counts as
/// a repetition, and stops where that is lost as well. A full disk stops it at once.
///
/// A pair whose machine state speaks against it is followed by another one in the same order,
/// under every protocol, until the bench has lost too many of them.
///
/// Under a fixed protocol every bench is measured, in the config's order. The sequential one takes
/// targets before guards, and no more benches once a target has settled the lever's verdict.
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
        plans: Vec::new(),
    };
    what.progress.emit(planned(what.config));
    let is_sequential = matches!(what.config.protocol, Protocol::Sequential { .. });
    let mut benches: Vec<(u64, &Bench)> = (0u64..).zip(&what.config.benches).collect();
    if is_sequential {
        benches.sort_by_key(|(_, bench)| in_order(role_and_bar(bench, what.registration).0));
    }
    for (position, bench) in benches {
        if !run.bench(position, bench).await? {
            break;
        }
    }
    Ok(by_bench(what.config, run.samples, run.plans))
}

/// The most samples that may come.
fn planned(config: &Config) -> Event {
    let fixed = config.protocol.fixed_pairs();
    let pairs = fixed.map_or(LOOKS[LOOKS.len() - 1].pairs, |pairs| pairs as usize);
    let most = config.benches.len() * (2 + 2 * pairs);
    Event::SamplesPlanned {
        most: u32::try_from(most).unwrap_or(u32::MAX),
        exact: fixed.is_some(),
    }
}

struct Run<'a, L, R> {
    what: &'a Measurement<'a>,
    launcher: &'a mut L,
    recorder: &'a mut R,
    repetitions_left: u32,
    samples: Vec<Sample>,
    plans: Vec<(String, BenchPlan)>,
}

/// Where a pair is.
#[derive(Debug, Clone, Copy)]
struct InBlock {
    /// Where the bench's samples begin.
    begin: usize,
    /// Whether it is the first of its block.
    is_new_block: bool,
}

/// How one place of a pair came out.
enum Place {
    Filled,
    /// Its launch failed, and so did the repetition, where there was one.
    Lost,
    /// Nothing more can be stored.
    Full,
}

/// Why there is no pair.
enum Lost {
    /// This launch failed for good.
    For(PlannedLaunch),
    /// Nothing more can be stored.
    Full,
}

impl<L: Launcher, R: Recorder> Run<'_, L, R> {
    /// Measures a bench until there are enough pairs; `false` where the run has to stop.
    async fn bench(&mut self, position: u64, bench: &Bench) -> anyhow::Result<bool> {
        let (config, registration) = (self.what.config, self.what.registration);
        let begin = self.samples.len();
        let mut schedule = Schedule::new(&bench.name, position, self.what.seed);
        if let Some(given) = bench.inner {
            schedule.set_inner(given);
        }
        for planned in schedule.throw_aways() {
            match self.place(&planned).await? {
                Place::Filled => {}
                Place::Lost => return self.give_up(&planned).await,
                Place::Full => return Ok(false),
            }
        }
        self.plan(bench, begin, &mut schedule).await?;
        let mut arms = Arms::new(self.what, bench, position);
        arms.throw_away(self.launcher, self.recorder).await?;
        let mut valid = 0;
        while let Some(wanted) =
            wanted_pairs(bench, config.protocol, registration, &self.samples[begin..])
        {
            while valid < wanted {
                let place = InBlock {
                    begin,
                    is_new_block: valid.is_multiple_of(2),
                };
                if !self.beside(&mut schedule, &mut arms, place).await? {
                    return Ok(false);
                }
                valid += 1;
                if differs_in_work(&self.samples[begin..]) {
                    self.what.progress.note(format!(
                        "{} did different work on the sides: measuring stops",
                        bench.name
                    ));
                    return Ok(false);
                }
            }
        }
        let own = &self.samples[begin..];
        let is_settled = registration.kind == RoundKind::Lever
            && settles(bench, config.protocol, registration, own);
        if is_settled && config.benches.len() > 1 {
            self.what.progress.note(format!(
                "{} settles that the lever does not land: no other bench is measured",
                bench.name
            ));
        }
        Ok(!is_settled)
    }

    /// Settles how the bench's samples are taken, and stores that, before the first of them. The
    /// throw-aways begin at `begin`.
    async fn plan(
        &mut self,
        bench: &Bench,
        begin: usize,
        schedule: &mut Schedule,
    ) -> anyhow::Result<()> {
        let known = self.what.launches.get(&bench.name).copied();
        let Some(plan) = draw_up(bench, &self.samples[begin..], known) else {
            return Ok(());
        };
        let stored = self.recorder.plan(&bench.name, &plan).await;
        stored.with_context(|| format!("storing the plan of bench `{}`", bench.name))?;
        schedule.set_inner(plan.inner);
        self.plans.push((bench.name.clone(), plan));
        Ok(())
    }

    /// Takes a valid pair with the references of its block, if it is a block's first; `false` where
    /// the run has to stop.
    async fn beside(
        &mut self,
        schedule: &mut Schedule,
        arms: &mut Arms<'_>,
        place: InBlock,
    ) -> anyhow::Result<bool> {
        if place.is_new_block {
            arms.toss();
            let at = (&mut *self.launcher, &mut *self.recorder);
            arms.beside(Slot::Before, schedule.next_number(), at)
                .await?;
        }
        let taken = self.pair(schedule, place.begin).await?;
        if taken && place.is_new_block {
            let newest = schedule.next_number().saturating_sub(1);
            let at = (&mut *self.launcher, &mut *self.recorder);
            arms.beside(Slot::After, newest, at).await?;
        }
        Ok(taken)
    }

    /// Takes a valid pair; `false` where the run has to stop. `begin` is where the bench's samples
    /// begin. A pair that the machine's state speaks against is taken again in the same order.
    async fn pair(&mut self, schedule: &mut Schedule, begin: usize) -> anyhow::Result<bool> {
        let mut launches = schedule.pair();
        loop {
            if !self.measured(schedule, &launches).await? {
                return Ok(false);
            }
            let own = &self.samples[begin..];
            let newest = own.last().map_or(0, |sample| sample.pair);
            let Some(rejected) = rejected_pair(own, newest) else {
                return Ok(true);
            };
            let (bench, progress) = (&launches[0].bench, self.what.progress);
            let why = format!("pair {} of {bench}: {}", newest + 1, rejected.words());
            if let Some(too_many) = too_many_rejected(own) {
                progress.note(format!("{why}; {too_many}: measuring stops"));
                return Ok(false);
            }
            progress.note(format!("{why}; another one in its place"));
            launches = schedule.replacement();
        }
    }

    /// Takes a pair with both values; `false` where the run has to stop.
    async fn measured(
        &mut self,
        schedule: &mut Schedule,
        launches: &[PlannedLaunch; 2],
    ) -> anyhow::Result<bool> {
        let Some(lost) = self.halves(launches).await? else {
            return Ok(true);
        };
        let Lost::For(lost) = lost else {
            return Ok(false);
        };
        let is_sequential = matches!(self.what.config.protocol, Protocol::Sequential { .. });
        if !is_sequential || self.repetitions_left == 0 {
            return self.give_up(&lost).await;
        }
        self.repetitions_left -= 1;
        self.what.progress.note(format!(
            "pair {} of {} is lost; another one in its place",
            lost.pair + 1,
            lost.bench
        ));
        match self.halves(&schedule.replacement()).await? {
            None => Ok(true),
            Some(Lost::For(lost)) => self.give_up(&lost).await,
            Some(Lost::Full) => Ok(false),
        }
    }

    /// Takes both halves of a pair, and gives what went wrong. Where the first is lost, the second
    /// is not launched.
    async fn halves(&mut self, launches: &[PlannedLaunch; 2]) -> anyhow::Result<Option<Lost>> {
        for planned in launches {
            match self.place(planned).await? {
                Place::Filled => {}
                Place::Lost => return Ok(Some(Lost::For(planned.clone()))),
                Place::Full => return Ok(Some(Lost::Full)),
            }
        }
        Ok(None)
    }

    /// Launches, and once more where that fails.
    async fn place(&mut self, planned: &PlannedLaunch) -> anyhow::Result<Place> {
        let Some(first) = self.launch(planned, 1).await? else {
            return Ok(Place::Filled);
        };
        if first == Failure::DiskFull {
            return Ok(self.full());
        }
        if self.repetitions_left == 0 {
            return Ok(Place::Lost);
        }
        self.repetitions_left -= 1;
        self.what.progress.note(format!(
            "{} on {} {}; once more",
            planned.bench,
            planned.side,
            failure_words(&first)
        ));
        Ok(match self.launch(planned, 2).await? {
            None => Place::Filled,
            Some(Failure::DiskFull) => self.full(),
            Some(_) => Place::Lost,
        })
    }

    fn full(&self) -> Place {
        let progress = self.what.progress;
        progress.note("the disk is full: measuring stops; free some space and run again");
        Place::Full
    }

    /// Stops the run at a launch that failed for good; always `false`.
    async fn give_up(&mut self, planned: &PlannedLaunch) -> anyhow::Result<bool> {
        self.what.progress.note(format!(
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
        let attempt = Attempt {
            planned,
            number: attempt,
            after: self.samples.last().map(|sample| sample.started_at),
        };
        let sample = take(self.what, attempt, self.launcher, self.recorder).await?;
        self.what.progress.emit(Event::SampleTaken {
            sample: Box::new(sample.clone()),
        });
        let failure = sample.failure.clone();
        self.samples.push(sample);
        Ok(failure)
    }
}

fn by_bench(
    config: &Config,
    mut samples: Vec<Sample>,
    plans: Vec<(String, BenchPlan)>,
) -> Vec<BenchEvidence> {
    let mut plans: BTreeMap<String, BenchPlan> = plans.into_iter().collect();
    config
        .benches
        .iter()
        .map(|bench| BenchEvidence {
            bench: bench.name.clone(),
            samples: samples.extract_if(.., |s| s.bench == bench.name).collect(),
            plan: plans.remove(&bench.name),
            base_history: Vec::new(),
            past_estimates: Vec::new(),
        })
        .collect()
}

#[cfg(test)]
#[path = "driver_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "watched_tests.rs"]
mod watched_tests;
