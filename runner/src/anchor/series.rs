//! What a series of anchor measurements says: how far the head is from the anchor, what the landed
//! rounds in it were booked with, and where the level changed. Pure: no record, no git.

use serde::Serialize;

use crate::git::Passed;
use crate::model::{Sha, UnixMillis};
use crate::record::RunId;
use crate::stats::change_points::{ChangePoint, SETTINGS, change_points};
use crate::stats::creep::{Creep, creeps};
use crate::stats::percent_of_log;
use crate::stats::sequential::log_percent;

/// One measurement of a head against the anchor, on one bench.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Point {
    /// The run.
    pub run: RunId,
    /// The measured head.
    pub head: Sha,
    /// When.
    pub at: UnixMillis,
    /// The estimate, percent.
    pub estimate: f64,
    /// The interval, percent.
    pub interval: (f64, f64),
    /// The interval's coverage, 0..1.
    pub coverage: f64,
    /// Valid pairs.
    pub pairs: u32,
    /// The commits that head has and the anchor has not, oldest first.
    #[serde(skip)]
    pub passed: Vec<Passed>,
}

/// A round that landed.
#[derive(Debug, Clone, PartialEq)]
pub struct Landed {
    /// The run that booked it.
    pub run: RunId,
    /// `r22`, or the run's number where no round was registered.
    pub name: String,
    /// Its head.
    pub head: Sha,
    /// Its head's tree: a rewritten commit with the same content is the same round.
    pub tree: Sha,
    /// Whether it was measured on the machine of the series.
    pub is_same_machine: bool,
    /// The estimates that it was booked with, percent, by bench; benches without a figure have none.
    pub estimates: Vec<(String, f64)>,
}

/// What some landed rounds claim together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Claimed {
    /// The product of their estimates, percent; `None` where none has a figure.
    pub percent: Option<f64>,
    /// Each with its own estimate on the bench, in the order of their commits.
    pub rounds: Vec<(String, Option<f64>)>,
    /// How many were booked on another machine than that of the series.
    pub other_machine: usize,
}

/// A change of the level, between two measured heads.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// Percent; positive: faster.
    pub percent: f64,
    /// The p-value of the change point.
    pub p: f64,
    /// The last head at the old level.
    pub from: Sha,
    /// The first head at the new one.
    pub to: Sha,
    /// The rounds that landed between them.
    pub claimed: Claimed,
}

/// A slow drift within one level.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Drift {
    /// How far it has gone, percent; positive: faster.
    pub percent: f64,
    /// The head from which on it grew.
    pub from: Sha,
    /// The head at which it was noticed.
    pub to: Sha,
    /// The rounds that landed between them.
    pub claimed: Claimed,
}

/// Where a campaign stands on one bench.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Standing {
    /// The bench.
    pub bench: String,
    /// The measurements, in the order of their heads' commits.
    pub points: Vec<Point>,
    /// What the landed rounds in the newest head claim together.
    pub claimed: Claimed,
    /// Landed rounds that the newest head does not hold: their commits are not among its own.
    pub not_in_head: Vec<String>,
    /// Where the level changed.
    pub changes: Vec<Change>,
    /// Where it crept.
    pub drifts: Vec<Drift>,
}

impl Standing {
    /// The measurement of the newest head.
    pub fn newest(&self) -> Option<&Point> {
        self.points.last()
    }
}

/// Holds the measurements of a bench against the rounds that landed; `None` without a measurement.
pub fn standing(bench: &str, mut points: Vec<Point>, landed: &[Landed]) -> Option<Standing> {
    // By how far each head is from the anchor, so that an older head measured later takes its
    // place; the same head again comes after itself.
    points.sort_by_key(|point| (point.passed.len(), point.run));
    let values: Vec<f64> = points.iter().map(|p| log_percent(p.estimate)).collect();
    let steps = change_points(&values, &SETTINGS);
    let held: Vec<Vec<usize>> = points.iter().map(|p| held(&p.passed, landed)).collect();
    let between = |from: usize, to: usize| {
        let new = held[to].iter().filter(|round| !held[from].contains(round));
        claimed(bench, new.map(|&round| &landed[round]))
    };
    let change = |step: &ChangePoint| Change {
        percent: percent_of_log(step.change()),
        p: step.p,
        from: points[step.at - 1].head.clone(),
        to: points[step.at].head.clone(),
        claimed: between(step.at - 1, step.at),
    };
    let drift = |creep: &Creep| {
        let from = creep.from.saturating_sub(1);
        Drift {
            percent: percent_of_log(creep.moved),
            from: points[from].head.clone(),
            to: points[creep.at].head.clone(),
            claimed: between(from, creep.at),
        }
    };
    let newest = held.last()?;
    let is_missing = |(round, _): &(usize, &Landed)| !newest.contains(round);
    let missing = landed.iter().enumerate().filter(is_missing);
    Some(Standing {
        bench: bench.to_owned(),
        claimed: claimed(bench, newest.iter().map(|&round| &landed[round])),
        not_in_head: missing.map(|(_, round)| round.name.clone()).collect(),
        changes: steps.iter().map(change).collect(),
        drifts: creeps(&values, &steps).iter().map(drift).collect(),
        points,
    })
}

/// The rounds whose commit, or one with the same tree, is among these and was not reverted among
/// them, in the commits' order.
fn held(passed: &[Passed], landed: &[Landed]) -> Vec<usize> {
    let mut reverted = vec![false; passed.len()];
    // The newest first: a revert that was itself reverted takes nothing away.
    for (index, commit) in passed.iter().enumerate().rev() {
        let Some(name) = commit.reverts.as_deref().filter(|_| !reverted[index]) else {
            continue;
        };
        let named = |other: &Passed| other.sha.as_str().starts_with(name);
        if let Some(found) = passed[..index].iter().position(named) {
            reverted[found] = true;
        }
    }
    let mut found: Vec<usize> = Vec::new();
    for (commit, _) in passed.iter().zip(&reverted).filter(|(_, gone)| !**gone) {
        let by_commit = landed.iter().position(|round| round.head == commit.sha);
        let by_tree = || landed.iter().position(|round| round.tree == commit.tree);
        // A tree that returns later is no second landing.
        found.extend(
            by_commit
                .or_else(by_tree)
                .filter(|round| !found.contains(round)),
        );
    }
    found
}

fn claimed<'a>(bench: &str, rounds: impl Iterator<Item = &'a Landed>) -> Claimed {
    let mut all = Claimed {
        percent: None,
        rounds: Vec::new(),
        other_machine: 0,
    };
    let mut sum = None;
    for round in rounds {
        let own = round.estimates.iter().find(|(name, _)| name == bench);
        let own = own.map(|(_, estimate)| *estimate);
        if let Some(estimate) = own {
            sum = Some(sum.unwrap_or(0.0) + log_percent(estimate));
        }
        all.rounds.push((round.name.clone(), own));
        all.other_machine += usize::from(!round.is_same_machine);
    }
    all.percent = sum.map(percent_of_log);
    all
}

#[cfg(test)]
#[path = "series_tests.rs"]
mod tests;
