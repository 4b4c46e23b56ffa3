//! The sequential protocol on benches: which question a bench is asked, what is wanted next, and
//! what its looks say. The driver asks here as well, so that it stops where the judge decides.
//!
//! Nothing is remembered: every answer replays all looks over the valid pairs there are. An
//! absolute bar is measured from the base's median over all of them.

use crate::config::{Bench, Protocol};
use crate::model::{
    Bar, BenchJudgement, Better, Effect, Evidence, Finding, Interval, LookReading, Registration,
    Role, Sample,
};
use crate::stats::sequential::{LOOKS, Next, Outcome, Question, Reading, log_percent, replay};
use crate::stats::{coverage, log_effect, median, percent_of_log};

use super::benches::{begun_pairs, role_and_bar, valid_pairs};

/// A bench under the sequential protocol.
#[derive(Debug, Clone, Copy)]
struct Asked {
    better: Better,
    role: Role,
    bar: Option<Bar>,
    /// Percent.
    smallest_worthwhile: f64,
}

/// What the looks over some pairs came to.
#[derive(Debug)]
pub(super) struct Course {
    next: Next,
    readings: Vec<Reading>,
    effects: Vec<f64>,
}

/// How many valid pairs of a bench are wanted in all; `None` where there are enough. `samples`
/// are the bench's own.
pub fn wanted_pairs(
    bench: &Bench,
    protocol: Protocol,
    registration: &Registration,
    samples: &[Sample],
) -> Option<usize> {
    let Protocol::Sequential {
        smallest_worthwhile,
    } = protocol
    else {
        let planned = protocol.fixed_pairs()? as usize;
        return (valid_pairs(samples).len() < planned).then_some(planned);
    };
    let course = course(bench, smallest_worthwhile, registration, samples);
    match course.next {
        Next::Pairs(pairs) => Some(pairs),
        Next::Done(_) => None,
    }
}

/// Whether a bench alone settles that the lever does not land, so that no other is measured.
pub fn settles(
    bench: &Bench,
    protocol: Protocol,
    registration: &Registration,
    samples: &[Sample],
) -> bool {
    let Protocol::Sequential {
        smallest_worthwhile,
    } = protocol
    else {
        return false;
    };
    let (role, _) = role_and_bar(bench, registration);
    let course = course(bench, smallest_worthwhile, registration, samples);
    role == Role::Target
        && matches!(
            course.next,
            Next::Done(Outcome::NoEffect | Outcome::Regression)
        )
}

/// Replays the looks over a bench's samples.
pub(super) fn course(
    bench: &Bench,
    smallest_worthwhile: f64,
    registration: &Registration,
    samples: &[Sample],
) -> Course {
    let (role, bar) = role_and_bar(bench, registration);
    let asked = Asked {
        better: bench.better,
        role,
        bar,
        smallest_worthwhile,
    };
    asked.of(&valid_pairs(samples))
}

impl Asked {
    fn of(self, pairs: &[(f64, f64)]) -> Course {
        let effects: Vec<f64> = pairs
            .iter()
            .map(|(base, head)| log_effect(*base, *head, self.better))
            .collect();
        let bases: Vec<f64> = pairs.iter().map(|pair| pair.0).collect();
        let question = match self.role {
            Role::Target => Question::Improvement {
                bar: self.bar_as_log(median(&bases)),
            },
            Role::Guard => Question::Regression,
        };
        let allowed = self.allowed_loss();
        let asked: Vec<f64> = effects.iter().map(|effect| effect + allowed).collect();
        let (next, mut readings) = replay(question, log_percent(self.smallest_worthwhile), &asked);
        for reading in &mut readings {
            *reading = moved(reading, -allowed);
        }
        Course {
            next,
            readings,
            effects,
        }
    }

    /// How much slower head may be than base before a guard counts it, d units: its bar, where a
    /// comparison has one. The question is asked of effects that are better by as much.
    fn allowed_loss(self) -> f64 {
        match (self.role, self.bar) {
            (Role::Guard, Some(Bar::Relative { percent })) => -log_percent(-percent),
            _ => 0.0,
        }
    }

    /// The bar in d units; `None` without a bar, or while there is no base.
    fn bar_as_log(self, base_median: Option<f64>) -> Option<f64> {
        match self.bar? {
            Bar::Relative { percent } => Some(log_percent(percent)),
            Bar::Absolute { value } => Some(log_effect(base_median?, value, self.better)),
        }
    }
}

impl Course {
    /// What the looks say; `None` while more pairs are wanted.
    pub(super) fn finding(&self) -> Option<Finding> {
        let Next::Done(outcome) = self.next else {
            return None;
        };
        Some(match outcome {
            Outcome::Landed => Finding::ReachesBar,
            Outcome::SubBar => Finding::BelowBar,
            Outcome::NoEffect => Finding::NoEffect,
            Outcome::Regression => Finding::Regression,
            Outcome::Open => Finding::Open,
            Outcome::Pass => Finding::NotWorse,
        })
    }

    /// The looks for people.
    pub(super) fn looks(&self) -> Vec<LookReading> {
        self.readings.iter().map(shown).collect()
    }

    /// The effect at the last look, with the interval that decides whether it is real, or the
    /// other one where there is none; `None` before the first look.
    pub(super) fn effect(&self) -> Option<Effect> {
        let last = shown(self.readings.last()?);
        let interval = last.real.unwrap_or(last.close);
        let seen = self.effects.iter().take(last.pairs as usize).copied();
        Some(Effect {
            estimate: last.estimate,
            low: interval.low,
            high: interval.high,
            coverage: interval.coverage,
            min: percent_of_log(seen.clone().fold(f64::INFINITY, f64::min)),
            max: percent_of_log(seen.fold(f64::NEG_INFINITY, f64::max)),
        })
    }
}

/// A reading of effects that are all larger by `by`.
fn moved(reading: &Reading, by: f64) -> Reading {
    let ends = |(low, high): (f64, f64)| (low + by, high + by);
    Reading {
        estimate: reading.estimate + by,
        real: reading.real.map(ends),
        close: ends(reading.close),
        ..*reading
    }
}

fn shown(reading: &Reading) -> LookReading {
    let look = LOOKS.iter().find(|look| look.pairs == reading.pairs);
    let interval = |(low, high): (f64, f64), k: usize| Interval {
        low: percent_of_log(low),
        high: percent_of_log(high),
        coverage: coverage(reading.pairs, k),
    };
    let k_real = look.and_then(|look| look.k_real);
    LookReading {
        pairs: u32::try_from(reading.pairs).unwrap_or(u32::MAX),
        estimate: percent_of_log(reading.estimate),
        real: reading.real.zip(k_real).map(|(ends, k)| interval(ends, k)),
        close: interval(reading.close, look.map_or(0, |look| look.k_close)),
        is_real: reading.is_real,
    }
}

/// What is wrong with a bench's window, in words: pairs that were lost beyond `most_missing`, or
/// a look that was not reached.
pub(super) fn shortfall(
    evidence: &Evidence,
    judged: &BenchJudgement,
    most_missing: f64,
) -> Option<String> {
    let bench = evidence
        .config
        .benches
        .iter()
        .find(|b| b.name == judged.bench)?;
    let samples = evidence
        .benches
        .iter()
        .find(|b| b.bench == judged.bench)
        .map_or(&[][..], |b| &b.samples);
    let begun = begun_pairs(samples);
    if f64::from(judged.pairs_missing) > most_missing * f64::from(begun) {
        return Some(format!(
            "`{}` lost {} of {begun} that were begun",
            judged.bench, judged.pairs_missing
        ));
    }
    let wanted = wanted_pairs(
        bench,
        evidence.config.protocol,
        &evidence.registration,
        samples,
    )?;
    Some(format!(
        "`{}` has {} of the {wanted} of its next look",
        judged.bench, judged.pairs
    ))
}
