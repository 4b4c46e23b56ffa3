//! Base against base, judged by the protocol: the truth is known, and it is nothing.

use serde::{Deserialize, Serialize};

use crate::model::Better;
use crate::stats::sequential::{Next, Outcome, Question, log_percent, replay};
use crate::stats::{log_effect, percent_of_log};

/// What the protocol says about base against base.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Aa {
    /// The answer.
    pub outcome: AaOutcome,
    /// The pairs at which it was given, or all there are where it was not.
    pub pairs: usize,
    /// The estimate there, percent; `None` before the first look.
    pub estimate: Option<f64>,
}

/// The answers, named by what they are here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AaOutcome {
    /// No effect: the truth.
    NoEffect,
    /// An improvement that is not there: it would have landed.
    FalseLanding,
    /// A regression that is not there.
    FalseRegression,
    /// The last look leaves it open.
    Open,
    /// There are not enough pairs for an answer.
    Unsettled,
}

impl Aa {
    /// Judges (base, head) pairs as those of a lever without a bar. `m0` is the smallest effect
    /// worth having, percent.
    pub fn of(pairs: &[(f64, f64)], better: Better, m0: f64) -> Aa {
        let effects: Vec<f64> = pairs
            .iter()
            .map(|(base, head)| log_effect(*base, *head, better))
            .collect();
        let question = Question::Improvement { bar: None };
        let (next, readings) = replay(question, log_percent(m0), &effects);
        let last = readings.last();
        let (outcome, pairs) = match next {
            Next::Pairs(_) => (AaOutcome::Unsettled, effects.len()),
            Next::Done(outcome) => (named(outcome), last.map_or(0, |reading| reading.pairs)),
        };
        Aa {
            outcome,
            pairs,
            estimate: last.map(|reading| percent_of_log(reading.estimate)),
        }
    }
}

fn named(outcome: Outcome) -> AaOutcome {
    match outcome {
        Outcome::Landed | Outcome::SubBar => AaOutcome::FalseLanding,
        Outcome::NoEffect | Outcome::Pass => AaOutcome::NoEffect,
        Outcome::Regression => AaOutcome::FalseRegression,
        Outcome::Open => AaOutcome::Open,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: usize, effect: impl Fn(usize) -> f64) -> Aa {
        let pairs: Vec<(f64, f64)> = (0..pairs).map(|at| (100.0, 100.0 + effect(at))).collect();
        Aa::of(&pairs, Better::Higher, 0.5)
    }

    #[test]
    fn every_answer_has_its_name() {
        let quiet = of(26, |at| 0.01 * (at % 3) as f64 - 0.01);
        assert_eq!((quiet.outcome, quiet.pairs), (AaOutcome::NoEffect, 6));
        let up = of(26, |at| 1.0 + 0.01 * at as f64);
        assert_eq!((up.outcome, up.pairs), (AaOutcome::FalseLanding, 10));
        assert!(up.estimate.is_some_and(|estimate| estimate > 1.0));
        let noisy = |at: usize| ((at * 7) % 11) as f64 - 4.7;
        assert_eq!(of(26, noisy).outcome, AaOutcome::Unsettled);
        assert_eq!(of(44, noisy).outcome, AaOutcome::Open);
        let none = of(0, |_| 0.0);
        assert_eq!((none.outcome, none.estimate), (AaOutcome::Unsettled, None));
    }

    #[test]
    fn a_regression_that_is_not_there_is_named() {
        // The looks at 6 and 10 pairs are left open, and at 16 the whole interval is below zero.
        let turned = of(44, |at| if at < 5 { 1.0 } else { -9.0 });
        assert_eq!(turned.outcome, AaOutcome::FalseRegression, "{turned:?}");
        assert_eq!(turned.pairs, 16);
    }
}
