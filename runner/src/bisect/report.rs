//! What a search found, and each comparison that it rests on.

use serde::Serialize;

use super::Tested;
use crate::git::Passed;
use crate::model::{Effect, Finding, Judgement, Sha, Verdict};
use crate::numbers;
use crate::record::RunId;

/// What a comparison with good said.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "said")]
pub enum Said {
    /// The commit is slower.
    Slower,
    /// It is not.
    NotSlower,
    /// It has good's machine code.
    SameCode,
    /// The protocol's last look leaves it open.
    Open,
    /// It cannot be compared: it does not build, or its command fails.
    Untestable {
        /// Why.
        reason: String,
    },
    /// The machine, the device or a person stopped it.
    Stopped {
        /// The run's verdict.
        verdict: Verdict,
        /// Why.
        reason: String,
    },
}

/// One comparison of a commit with good.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// The commit's place in [`Report::commits`].
    pub commit: usize,
    /// The run; `None` where nothing could be run.
    pub run: Option<RunId>,
    /// What it said.
    #[serde(flatten)]
    pub said: Said,
    /// The effect against good; `None` without valid pairs.
    pub effect: Option<Effect>,
    /// Valid pairs.
    pub pairs: u32,
    /// Whether the run was on record before.
    pub is_reused: bool,
}

impl Comparison {
    /// Reads a run's judgement.
    pub(super) fn of(commit: usize, run: RunId, judgement: &Judgement) -> Comparison {
        let bench = judgement.benches.first();
        let reason = || judgement.headline.clone();
        let said = match (judgement.verdict, bench.map(|bench| bench.finding)) {
            (Verdict::NoChange, _) => Said::SameCode,
            (Verdict::Measured, Some(Finding::Regression)) => Said::Slower,
            (Verdict::Measured, Some(Finding::NotWorse)) => Said::NotSlower,
            (Verdict::Measured, _) => Said::Open,
            (verdict @ (Verdict::EnvInvalid | Verdict::NotMeasured), _) => Said::Stopped {
                verdict,
                reason: reason(),
            },
            _ => Said::Untestable { reason: reason() },
        };
        Comparison {
            commit,
            run: Some(run),
            said,
            effect: bench.and_then(|bench| bench.effect),
            pairs: bench.map_or(0, |bench| bench.pairs),
            is_reused: false,
        }
    }

    /// A commit for which no run could begin.
    pub(super) fn untestable(commit: usize, reason: String) -> Comparison {
        Comparison {
            commit,
            run: None,
            said: Said::Untestable { reason },
            effect: None,
            pairs: 0,
            is_reused: false,
        }
    }

    /// What it means for the search.
    pub fn tested(&self) -> Tested {
        match self.said {
            Said::Slower => Tested::Bad,
            Said::NotSlower | Said::SameCode => Tested::Good,
            Said::Open | Said::Untestable { .. } | Said::Stopped { .. } => Tested::Unknown,
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.said == Said::Open
    }

    /// The end of the search, where the comparison did not come to its own.
    pub(super) fn stopped(&self) -> Option<Ending> {
        match &self.said {
            Said::Stopped { verdict, reason } => Some(Ending::Stopped {
                verdict: *verdict,
                reason: reason.clone(),
            }),
            _ => None,
        }
    }

    /// The effect with its interval; empty without one.
    pub fn effect_words(&self) -> String {
        self.effect.map_or_else(String::new, |effect| {
            let text = numbers::effect_text(effect.estimate, (effect.low, effect.high), None);
            format!("{} {}", text.estimate, text.interval)
        })
    }

    /// `slower`, `skipped: …`.
    pub fn says(&self) -> String {
        match &self.said {
            Said::Slower => "slower".to_owned(),
            Said::NotSlower => "not slower".to_owned(),
            Said::SameCode => "not slower: the same machine code".to_owned(),
            Said::Open => "left open".to_owned(),
            Said::Untestable { reason } => format!("skipped: {reason}"),
            Said::Stopped { verdict, reason } => format!("{verdict}: {reason}"),
        }
    }

    /// `-2.10 % [-2.31, -1.90] after 10 pairs: slower (run 12, on record)`.
    pub fn words(&self) -> String {
        let measured = match self.effect {
            Some(_) => format!(
                "{} after {}: ",
                self.effect_words(),
                numbers::counted(self.pairs as usize, "pair")
            ),
            None => String::new(),
        };
        let run = match (self.run, self.is_reused) {
            (Some(run), true) => format!(" (run {run}, on record)"),
            (Some(run), false) => format!(" (run {run})"),
            (None, _) => String::new(),
        };
        format!("{measured}{}{run}", self.says())
    }
}

/// How a search ended.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "ending")]
pub enum Ending {
    /// The first bad commit was found.
    Found {
        /// Its place in [`Report::commits`].
        commit: usize,
    },
    /// It is one of these; the others cannot be told apart.
    OneOf {
        /// The first place in [`Report::commits`].
        first: usize,
        /// The last place: it is known to be bad.
        last: usize,
    },
    /// Bad is not slower than good.
    NotSlower,
    /// It cannot be said whether bad is slower than good.
    EndsOpen,
    /// A run was stopped, or the machine was not fit.
    Stopped {
        /// The run's verdict.
        verdict: Verdict,
        /// Why.
        reason: String,
    },
}

/// A whole search.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// The bench.
    pub bench: String,
    /// How much slower a commit may be and still count as good, percent.
    pub allowed_loss: Option<f64>,
    /// The good commit.
    pub good: Sha,
    /// The commits after it, up to and with bad, oldest first.
    pub commits: Vec<Passed>,
    /// Every comparison, in the order in which it was made or looked up.
    pub comparisons: Vec<Comparison>,
    /// The end.
    #[serde(flatten)]
    pub ending: Ending,
}

impl Report {
    pub(super) fn new(
        bench: &str,
        allowed_loss: Option<f64>,
        good: Sha,
        commits: Vec<Passed>,
    ) -> Report {
        Report {
            bench: bench.to_owned(),
            allowed_loss,
            good,
            commits,
            comparisons: Vec::new(),
            ending: Ending::EndsOpen,
        }
    }

    /// The comparison that settled a commit, or the last one of it.
    pub fn of_commit(&self, commit: usize) -> Option<&Comparison> {
        let of_it = || self.comparisons.iter().filter(|c| c.commit == commit);
        of_it()
            .find(|comparison| comparison.tested() != Tested::Unknown)
            .or_else(|| of_it().next_back())
    }

    /// How many comparisons were made, and how many were on record.
    pub fn counts(&self) -> (usize, usize) {
        let runs = self.comparisons.iter().filter(|c| c.run.is_some());
        let (reused, made): (Vec<_>, Vec<_>) = runs.partition(|c| c.is_reused);
        (made.len(), reused.len())
    }

    /// 0 where the commit was found, 1 where it cannot be, 3 where the machine or a person stopped
    /// the search, 4 without a device.
    pub fn exit_code(&self) -> u8 {
        match &self.ending {
            Ending::Found { .. } => 0,
            Ending::OneOf { .. } | Ending::NotSlower | Ending::EndsOpen => 1,
            Ending::Stopped { verdict, .. } => verdict.exit_code(),
        }
    }
}
