//! The other runs of the same two commits.

use serde::Serialize;

use super::verdict::VerdictView;
use crate::numbers;
use crate::render::input::{LeverInput, RoundRow};

/// Another run of the same pair of commits.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AttemptView {
    /// The run's id.
    pub run_id: String,
    /// Which attempt it is, from 1.
    pub attempt: usize,
    /// Its verdict.
    pub verdict: VerdictView,
    /// Whether a figure of it was corrected.
    pub corrected: bool,
    /// The day it was run.
    pub date: String,
    /// Whether it came after the run that is shown.
    pub later: bool,
    /// Where the whole record is.
    pub link: Option<String>,
}

/// The other attempts at the pair of the run that is shown, oldest first.
pub(super) fn attempt_views(input: &LeverInput<'_>) -> Vec<AttemptView> {
    let own = usize::from(input.replay_of.is_none());
    let before: Vec<&RoundRow> = of_pair(input, input.previous_rounds).collect();
    let after = of_pair(input, input.later_rounds);
    let first_after = before.len() + own;
    let view = |(index, row): (usize, &RoundRow), later| AttemptView {
        run_id: row.run_id.clone(),
        attempt: index + 1,
        verdict: row.verdict_view(),
        corrected: row.corrected,
        date: numbers::day(row.date),
        later,
        link: row.link.clone(),
    };
    let earlier = before.iter().copied().enumerate();
    let later = after.enumerate().map(|(i, row)| (first_after + i, row));
    let earlier = earlier.map(|row| view(row, false));
    earlier.chain(later.map(|row| view(row, true))).collect()
}

/// Which attempt the run that is shown is, from 1; a replay is none and counts as the first.
pub(super) fn attempt(input: &LeverInput<'_>) -> usize {
    match input.replay_of {
        Some(_) => 1,
        None => of_pair(input, input.previous_rounds).count() + 1,
    }
}

fn of_pair<'a>(
    input: &'a LeverInput<'_>,
    rows: &'a [RoundRow],
) -> impl Iterator<Item = &'a RoundRow> {
    let commits = &input.evidence.commits;
    rows.iter()
        .filter(|row| row.base == commits.base.sha && row.head == commits.head.sha)
}
