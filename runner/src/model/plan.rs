//! How a bench's samples are taken, settled and stored before the first one that counts.

use serde::{Deserialize, Serialize};

use crate::stats::inner::{Ingredients, MAX_INNER, MIN_INNER};

/// The plan of a bench that a harness runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BenchPlan {
    /// Timed runs inside a launch, of which the value is the median.
    pub inner: u32,
    /// Where the number comes from.
    pub reason: PlanReason,
}

/// Where the number of timed runs comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "from")]
pub enum PlanReason {
    /// `campaign.toml` gives it.
    Config,
    /// The run that is repeated had it.
    Replayed,
    /// The rule had nothing to go by.
    Default {
        /// What was missing.
        why: String,
    },
    /// Kalibera and Jones's rule.
    Rule {
        /// What went into it.
        ingredients: Ingredients,
        /// Where the scatter between launches is known from.
        scatter: Scatter,
        /// Whether the number was cut so that a launch stays well within its time limit.
        by_time: bool,
    },
}

/// Where the scatter between launches is known from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "source")]
pub enum Scatter {
    /// The noise profile of this calibration.
    Profile {
        /// It.
        run: i64,
    },
    /// An earlier run's launches.
    Launches {
        /// It.
        run: i64,
    },
}

impl BenchPlan {
    /// The plan in a sentence.
    pub fn text(&self) -> String {
        let runs = match self.inner {
            1 => "1 timed run a launch".to_owned(),
            n => format!("{n} timed runs a launch"),
        };
        let reason = match &self.reason {
            PlanReason::Config => "as campaign.toml says".to_owned(),
            PlanReason::Replayed => "as in the run that is repeated".to_owned(),
            PlanReason::Default { why } => format!("the default, since {why}"),
            PlanReason::Rule {
                ingredients,
                scatter,
                by_time,
            } => rule_text(ingredients, *scatter, *by_time),
        };
        format!("{runs}: {reason}")
    }
}

fn rule_text(of: &Ingredients, scatter: Scatter, by_time: bool) -> String {
    let from = match scatter {
        Scatter::Profile { run } => format!("calibration {run}"),
        Scatter::Launches { run } => format!("the launches of run {run}"),
    };
    let cut = match by_time {
        true => ", cut to stay within half of the time limit",
        false => "",
    };
    format!(
        "by cost and scatter of launches ({:.3} s, {:.3} % by {from}) and of runs ({:.4} s, \
         {:.3} %), between {MIN_INNER} and {MAX_INNER}{cut}",
        of.launch_s,
        of.launch_variance.sqrt(),
        of.run_s,
        of.run_variance.sqrt()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_says_where_its_number_comes_from_and_reads_back() {
        let plan = BenchPlan {
            inner: 12,
            reason: PlanReason::Rule {
                ingredients: Ingredients {
                    launch_s: 8.0,
                    run_s: 0.5,
                    run_variance: 0.81,
                    launch_variance: 0.09,
                },
                scatter: Scatter::Profile { run: 7 },
                by_time: false,
            },
        };
        assert_eq!(
            plan.text(),
            "12 timed runs a launch: by cost and scatter of launches (8.000 s, 0.300 % by \
             calibration 7) and of runs (0.5000 s, 0.900 %), between 3 and 64"
        );
        let text = serde_json::to_string(&plan).expect("JSON");
        assert_eq!(
            serde_json::from_str::<BenchPlan>(&text).expect("a plan"),
            plan
        );
    }
}
