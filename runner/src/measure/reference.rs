//! The third arm: reference programs beside the pairs of a bench, once a block. Whatever becomes of
//! them, the pairs go on.

use anyhow::Context as _;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::config::{Bench, Harness, Probe, Reference, ReferenceProbe};
use crate::judge::failure_words;
use crate::model::{Failure, ReferenceRole, ReferenceSample, SampleRole, Side};
use crate::process::Launcher;
use crate::stats::PlannedLaunch;
use crate::stats::inner::DEFAULT_INNER;

use super::driver::Measurement;
use super::launch::{Outcome, launch};
use super::recorder::Recorder;

/// Failed launches in a row after which a reference is left alone.
const MOST_FAILURES: u32 = 2;

/// The streams of references begin above those of the benches' own orders.
const STREAMS: u64 = 1 << 32;

/// The references of one bench.
pub(super) struct Arms<'a> {
    what: &'a Measurement<'a>,
    bench: &'a Bench,
    rng: ChaCha8Rng,
    arms: Vec<Arm<'a>>,
}

struct Arm<'a> {
    reference: &'a Reference,
    /// The bench as the reference is asked for it.
    asked: Bench,
    harness: Option<Harness>,
    failures: u32,
    /// Whether this block's launch comes after its first pair.
    after: bool,
}

/// Where a launch stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slot {
    Before,
    After,
}

impl<'a> Arms<'a> {
    /// Those of the bench at `position` in the config.
    pub(super) fn new(what: &'a Measurement<'a>, bench: &'a Bench, position: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(what.seed);
        rng.set_stream(STREAMS + position);
        let own = what.config.references.iter();
        let arms = own.filter(|reference| reference.bench == bench.name);
        Arms {
            what,
            bench,
            rng,
            arms: arms.map(|reference| Arm::new(reference, bench)).collect(),
        }
    }

    /// One launch of each that is thrown away.
    pub(super) async fn throw_away<L: Launcher, R: Recorder>(
        &mut self,
        launcher: &mut L,
        recorder: &mut R,
    ) -> anyhow::Result<()> {
        for at in 0..self.arms.len() {
            let place = (ReferenceRole::ThrowAway, 0, 0);
            self.launch(at, place, launcher, recorder).await?;
        }
        Ok(())
    }

    /// Tosses for a new block where each reference is launched.
    pub(super) fn toss(&mut self) {
        for arm in &mut self.arms {
            arm.after = self.rng.next_u32() & 1 == 1;
        }
    }

    /// Launches those whose turn it is beside a pair.
    pub(super) async fn beside<L: Launcher, R: Recorder>(
        &mut self,
        slot: Slot,
        pair: u32,
        (launcher, recorder): (&mut L, &mut R),
    ) -> anyhow::Result<()> {
        let is_after = slot == Slot::After;
        for at in 0..self.arms.len() {
            let arm = &self.arms[at];
            if arm.after == is_after && arm.failures < MOST_FAILURES {
                let place = (ReferenceRole::Beside, pair, u8::from(is_after));
                self.launch(at, place, launcher, recorder).await?;
            }
        }
        Ok(())
    }

    async fn launch<L: Launcher, R: Recorder>(
        &mut self,
        at: usize,
        (role, pair, slot): (ReferenceRole, u32, u8),
        launcher: &mut L,
        recorder: &mut R,
    ) -> anyhow::Result<()> {
        let seed = u64::from(self.rng.next_u32());
        let arm = &mut self.arms[at];
        // It runs where base does, with nothing of base's but the folder.
        let planned = PlannedLaunch {
            bench: self.bench.name.clone(),
            side: Side::Base,
            role: SampleRole::ThrowAway,
            pair,
            slot,
            seed,
            inner: arm.asked.inner.unwrap_or(DEFAULT_INNER),
        };
        let now = recorder.now();
        let outcome = launch(arm.harness.as_ref(), &arm.asked, &planned, launcher)
            .await
            .unwrap_or_else(|failure| Outcome::not_started(now, failure));
        let log = match outcome.output.is_empty() {
            true => None,
            false => {
                let log = recorder.log(outcome.output).await;
                Some(log.context("storing a reference's output")?)
            }
        };
        let (value, failure) = match outcome.result {
            Ok(given) => (Some(given.value), None),
            Err(failure) => (None, Some(failure)),
        };
        arm.note(failure.as_ref(), self.what);
        let sample = ReferenceSample {
            reference: arm.reference.name.clone(),
            bench: planned.bench,
            role,
            pair,
            slot,
            started_at: outcome.started_at,
            wall_ms: outcome.wall.as_secs_f64() * 1e3,
            value,
            failure,
            log,
        };
        let stored = recorder.reference(&sample).await;
        stored.context("storing a reference's sample")
    }
}

impl<'a> Arm<'a> {
    fn new(reference: &'a Reference, bench: &Bench) -> Self {
        let (probe, value, harness) = match &reference.asks {
            ReferenceProbe::Command { command, value } => {
                (Probe::Command(command.clone()), Some(value.clone()), None)
            }
            ReferenceProbe::Harness { command } => {
                let name = match &bench.probe {
                    Probe::Harness(name) => name.clone(),
                    Probe::Command(_) => bench.name.clone(),
                };
                let harness = Harness {
                    command: command.clone(),
                    env: reference.env.clone(),
                    start_timeout_s: reference.timeout_s,
                };
                (Probe::Harness(name), None, Some(harness))
            }
        };
        Arm {
            reference,
            asked: Bench {
                probe,
                value,
                env: reference.env.clone(),
                timeout_s: reference.timeout_s,
                floor: None,
                ..bench.clone()
            },
            harness,
            failures: 0,
            after: false,
        }
    }

    /// Counts failures, and says when there were enough of them.
    fn note(&mut self, failure: Option<&Failure>, what: &Measurement<'_>) {
        let Some(failure) = failure else {
            self.failures = 0;
            return;
        };
        self.failures += 1;
        let then = match self.failures {
            MOST_FAILURES => "; it is left alone, and the pairs go on",
            _ => "; the pairs go on",
        };
        what.progress.note(format!(
            "reference {} {}{then}",
            self.reference.name,
            failure_words(failure)
        ));
    }
}
