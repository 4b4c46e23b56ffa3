//! How many timed runs a bench's launches have: drawn up from the throw-aways, before the first
//! sample that counts. Pure.

use std::collections::BTreeMap;

use crate::config::{Bench, Probe};
use crate::model::{BenchPlan, PlanReason, Sample, Scatter};
use crate::stats::inner::{DEFAULT_INNER, Ingredients, inner_runs};
use crate::stats::median;
use crate::stats::noise::{Launch, run_cost, run_variance};

/// What is known of a bench's launches from before this run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Known {
    /// The run that is repeated had so many timed runs.
    Runs(u32),
    /// Their variance beyond that of their runs, squared percent.
    Variance(f64, Scatter),
}

/// What is known, by bench.
pub type KnownLaunches = BTreeMap<String, Known>;

/// The plan of a bench; `None` where a command does its own repetitions. `thrown_away` are the
/// samples taken so far.
pub(super) fn draw_up(
    bench: &Bench,
    thrown_away: &[Sample],
    known: Option<Known>,
) -> Option<BenchPlan> {
    if matches!(bench.probe, Probe::Command(_)) {
        return None;
    }
    let by_default = |why: &str| BenchPlan {
        inner: DEFAULT_INNER,
        reason: PlanReason::Default {
            why: why.to_owned(),
        },
    };
    Some(match (bench.inner, known) {
        (Some(inner), _) => BenchPlan {
            inner,
            reason: PlanReason::Config,
        },
        (None, Some(Known::Runs(inner))) => BenchPlan {
            inner,
            reason: PlanReason::Replayed,
        },
        (None, Some(Known::Variance(variance, scatter))) => {
            match ingredients(bench, thrown_away, variance) {
                Some(ingredients) => by_rule(bench, ingredients, scatter)
                    .unwrap_or_else(|| by_default("neither launches nor runs differ")),
                None => by_default("the first launches do not tell what their runs took"),
            }
        }
        (None, None) => by_default(
            "how much launches differ here is not known (`runner calibrate` measures it)",
        ),
    })
}

fn by_rule(bench: &Bench, ingredients: Ingredients, scatter: Scatter) -> Option<BenchPlan> {
    let wanted = inner_runs(&ingredients)?;
    // `as` keeps a number that is too large at the type's largest.
    let fit = (bench.timeout_s as f64 / 2.0 / ingredients.run_s) as u32;
    let fit = fit.saturating_sub(bench.warmup).max(1);
    Some(BenchPlan {
        inner: wanted.min(fit),
        reason: PlanReason::Rule {
            ingredients,
            scatter,
            by_time: fit < wanted,
        },
    })
}

/// Costs and the scatter of runs, from this run's first launches of both sides.
fn ingredients(bench: &Bench, thrown_away: &[Sample], variance: f64) -> Option<Ingredients> {
    let launches: Vec<Launch> = thrown_away
        .iter()
        .filter_map(|sample| {
            Some(Launch {
                value: sample.value?,
                inner: sample.inner.clone(),
                wall_s: sample.wall_ms / 1e3,
                answer_s: Some(sample.answer_ms? / 1e3),
            })
        })
        .collect();
    let starts: Vec<f64> = launches
        .iter()
        .filter_map(|launch| Some((launch.wall_s - launch.answer_s?).max(0.0)))
        .collect();
    let runs: Vec<f64> = launches
        .iter()
        .filter_map(|launch| run_cost(launch, bench.warmup))
        .collect();
    Some(Ingredients {
        launch_s: median(&starts)?,
        run_s: median(&runs)?,
        run_variance: run_variance(launches.iter().map(|launch| launch.inner.as_slice()))?,
        launch_variance: variance,
    })
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
