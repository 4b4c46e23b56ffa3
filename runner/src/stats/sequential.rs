//! The sequential protocol: how many pairs are wanted, and when the question is answered.
//!
//! A pure state machine. It is given the pairs' effects and answers with the next number of
//! pairs or with an outcome; it launches nothing, rejects nothing and gives no verdict (whether
//! a sub-bar effect may land, and whether the machine was fit, is `crate::judge`'s business).
//!
//! Everything here is in d units: `d = 100 * ln(head / base)`, the sign flipped where lower is
//! better, so that positive is better. [`log_percent`] turns a percentage into them, `effect`'s
//! percent is the way back. The operating characteristics are in `docs/protocol.md`, and
//! `tests/protocol.rs` checks them against [`super::simulate`].

use serde::{Deserialize, Serialize};

use super::effect::{hodges_lehmann, walsh_averages};

/// One look of the protocol. With M = n(n+1)/2 sorted Walsh averages, the interval at count k is
/// `[w[k], w[M-1-k]]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// The pairs that it wants.
    pub pairs: usize,
    /// The count of the interval that decides whether an effect is real. Over all looks together
    /// the one-sided error is .0098. The first look has none: it can only end in futility.
    pub k_real: Option<usize>,
    /// The count of the interval with one-sided error 10 %, which decides about the bar and
    /// about futility.
    pub k_close: usize,
}

/// The looks, in order. A campaign never takes more pairs than the last one has.
pub const LOOKS: [Look; 5] = [
    look(6, None, 3),
    look(10, Some(2), 14),
    look(16, Some(17), 42),
    look(26, Some(70), 124),
    look(44, Some(265), 384),
];

/// The one-sided error of all looks together.
pub const ALPHA: f64 = 0.0098;

/// The one-sided error of the interval [`Reading::close`].
pub const ALPHA_CLOSE: f64 = 0.10;

const fn look(pairs: usize, k_real: Option<usize>, k_close: usize) -> Look {
    Look {
        pairs,
        k_real,
        k_close,
    }
}

/// What the pairs are to answer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Question {
    /// Is head better, and by at least `bar`?
    Improvement {
        /// The smallest effect that lands, d units; without one, any real effect does.
        bar: Option<f64>,
    },
    /// Guard mode: did it get slower? The same procedure on -d, without a bar.
    Regression,
}

/// What one look saw. In d units, positive is better, in guard mode as well.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// The pairs that were looked at.
    pub pairs: usize,
    /// The Hodges-Lehmann estimate.
    pub estimate: f64,
    /// The interval that decides whether the effect is real, `L` and `U`; `None` at a look that
    /// does not ask.
    pub real: Option<(f64, f64)>,
    /// The interval that decides about bar and futility, `l` and `u`.
    pub close: (f64, f64),
    /// The effect in question (the slow-down, in guard mode) is real, by this look or by an
    /// earlier one: once real, always real.
    pub is_real: bool,
}

/// How the question is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Outcome {
    /// Real, and it reaches the bar, where there is one.
    Landed,
    /// Real, but below the bar.
    SubBar,
    /// No effect worth having, and none that is shown to be harmful.
    NoEffect,
    /// Head is slower, by the interval with the protocol's own error.
    Regression,
    /// The last look leaves it open.
    Open,
    /// Guard mode: no slow-down worth mentioning.
    Pass,
}

/// What is wanted next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// So many pairs in total.
    Pairs(usize),
    /// No more: the question is answered.
    Done(Outcome),
}

/// The state of one bench of one campaign.
#[derive(Debug, Clone)]
pub struct Sequential {
    question: Question,
    m0: f64,
    readings: Vec<Reading>,
    outcome: Option<Outcome>,
}

impl Sequential {
    /// Starts without pairs. `m0` is the smallest effect worth having, d units.
    pub fn new(question: Question, m0: f64) -> Self {
        Self {
            question,
            m0,
            readings: Vec::with_capacity(LOOKS.len()),
            outcome: None,
        }
    }

    /// Takes every look that the pairs allow and that was not taken yet. `d` holds all pairs so
    /// far in the order in which they were measured; pairs beyond a look do not count at it, and
    /// nothing changes an outcome.
    ///
    /// A value that is not finite is a missing measurement and must not get here; where one does,
    /// the question stays [`Outcome::Open`]: nothing lands and nothing passes on it.
    pub fn look(&mut self, d: &[f64]) -> Next {
        loop {
            if let Some(outcome) = self.outcome {
                return Next::Done(outcome);
            }
            let Some(look) = LOOKS.get(self.readings.len()) else {
                return self.end(Outcome::Open);
            };
            let Some(pairs) = d.get(..look.pairs) else {
                return Next::Pairs(look.pairs);
            };
            if !pairs.iter().all(|value| value.is_finite()) {
                return self.end(Outcome::Open);
            }
            let Some(seen) = self.read(look, pairs) else {
                return self.end(Outcome::Open);
            };
            self.outcome = self.decide(look, &seen);
            self.readings.push(match self.question {
                Question::Improvement { .. } => seen,
                Question::Regression => mirrored(&seen),
            });
        }
    }

    /// The looks that were taken, in order.
    pub fn readings(&self) -> &[Reading] {
        &self.readings
    }

    fn end(&mut self, outcome: Outcome) -> Next {
        self.outcome = Some(outcome);
        Next::Done(outcome)
    }

    /// Reads the pairs with the sign of the question: in guard mode, of -d. `None` without pairs.
    fn read(&self, look: &Look, pairs: &[f64]) -> Option<Reading> {
        let walsh = match self.question {
            Question::Improvement { .. } => walsh_averages(pairs),
            Question::Regression => {
                walsh_averages(&pairs.iter().map(|value| -value).collect::<Vec<_>>())
            }
        };
        let interval = |k: usize| (walsh[k], walsh[walsh.len() - 1 - k]);
        let real = look.k_real.map(interval);
        let latched = self.readings.last().is_some_and(|before| before.is_real);
        Some(Reading {
            pairs: look.pairs,
            estimate: hodges_lehmann(&walsh)?,
            real,
            close: interval(look.k_close),
            is_real: latched || real.is_some_and(|(low, _)| is_below(0.0, low)),
        })
    }

    /// The table of states; `None` where more pairs are wanted.
    fn decide(&self, look: &Look, seen: &Reading) -> Option<Outcome> {
        let is_last = look.pairs == LOOKS[LOOKS.len() - 1].pairs;
        let bar = match self.question {
            Question::Improvement { bar } => bar,
            Question::Regression => None,
        };
        let (low, high) = seen.close;
        match (seen.is_real, bar) {
            (true, None) => Some(self.answer(Answer::Real)),
            (true, Some(bar)) if !is_below(low, bar) => Some(Outcome::Landed),
            (true, Some(bar)) if is_below(high, bar) => Some(Outcome::SubBar),
            (true, Some(bar)) if is_last => Some(if is_below(seen.estimate, bar) {
                Outcome::SubBar
            } else {
                Outcome::Landed
            }),
            (true, Some(_)) => None,
            (false, _) if is_below(high, self.m0) => Some(self.answer(Answer::Futile {
                is_opposite: seen.real.is_some_and(|(_, high)| is_below(high, 0.0)),
            })),
            (false, _) if is_last => Some(Outcome::Open),
            (false, _) => None,
        }
    }

    /// The question's own word for what both questions share.
    fn answer(&self, answer: Answer) -> Outcome {
        match (self.question, answer) {
            (Question::Improvement { .. }, Answer::Real) => Outcome::Landed,
            (Question::Improvement { .. }, Answer::Futile { is_opposite: true }) => {
                Outcome::Regression
            }
            (Question::Improvement { .. }, Answer::Futile { is_opposite: false }) => {
                Outcome::NoEffect
            }
            (Question::Regression, Answer::Real) => Outcome::Regression,
            (Question::Regression, Answer::Futile { .. }) => Outcome::Pass,
        }
    }
}

/// What is the same in both questions but for the word.
enum Answer {
    Real,
    Futile { is_opposite: bool },
}

/// Replays all looks over the pairs there are: a function of its arguments. Gives what is wanted
/// next and the looks that were taken.
pub fn replay(question: Question, m0: f64, d: &[f64]) -> (Next, Vec<Reading>) {
    let mut machine = Sequential::new(question, m0);
    let next = machine.look(d);
    (next, machine.readings)
}

/// A percentage in d units: 1.5 % is 100 * ln(1.015). A bar and the smallest worthwhile effect
/// come through here. -100 % and below has no logarithm and gives no finite number.
pub fn log_percent(percent: f64) -> f64 {
    100.0 * (percent / 100.0).ln_1p()
}

/// Compares at a billionth of a percent, so that the rounding of logarithms never decides: pairs
/// of exactly +1.5 % reach a bar of +1.5 %.
fn is_below(a: f64, b: f64) -> bool {
    let billionths = |value: f64| (value * 1e9).round();
    billionths(a) < billionths(b)
}

/// A reading of -d as one of d.
fn mirrored(seen: &Reading) -> Reading {
    let turned = |(low, high): (f64, f64)| (0.0 - high, 0.0 - low);
    Reading {
        estimate: 0.0 - seen.estimate,
        real: seen.real.map(turned),
        close: turned(seen.close),
        ..*seen
    }
}

#[cfg(test)]
#[path = "sequential_tests.rs"]
mod tests;
