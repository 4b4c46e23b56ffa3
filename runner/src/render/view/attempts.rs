//! The other attempts at the registration of a run, and which of them stands.

use serde::Serialize;

use super::verdict::VerdictView;
use crate::model::Verdict;
use crate::numbers;
use crate::render::attempts::{Attempts, Because, again_words, before, is_decided};
use crate::render::input::{LeverInput, RoundRow};

/// Another attempt at the same registration.
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
    /// Whether its verdict is the one that counts.
    pub stands: bool,
    /// Where the whole record is.
    pub link: Option<String>,
}

/// What counts where a registration has several attempts, or its code an earlier registration.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StandingView {
    /// The verdict that counts.
    pub verdict: VerdictView,
    /// The run that gave it.
    pub run_id: String,
    /// Whether that is the run that is shown.
    pub own: bool,
    /// In words: `attempt 3 of the same registration; attempt 1 stands: REVERTED`.
    pub text: String,
}

/// Which attempt a run is, which others there are, and what counts.
#[derive(Debug, Default)]
pub(super) struct AttemptsOf {
    pub(super) attempt: usize,
    pub(super) others: Vec<AttemptView>,
    pub(super) standing: Option<StandingView>,
}

/// The attempts of the run that is shown. A replay is none: it changes nothing.
pub(super) fn attempts_of(input: &LeverInput<'_>) -> AttemptsOf {
    let rows = rows(input);
    let groups = Attempts::all(&rows);
    let own = groups
        .iter()
        .enumerate()
        .find_map(|(at, group)| Some((at, group.position(input.run_id)?)));
    let Some((at, index)) = own else {
        return AttemptsOf {
            attempt: 1,
            ..AttemptsOf::default()
        };
    };
    let group = &groups[at];
    let again = before(&groups[..at], group.rows()[0]);
    let stands = group.standing().0;
    let others = group.rows().iter().enumerate();
    AttemptsOf {
        attempt: index + 1,
        others: others
            .filter(|(other, _)| *other != index)
            .map(|(other, row)| AttemptView {
                run_id: row.run_id.clone(),
                attempt: other + 1,
                verdict: VerdictView::corrected(row.verdict, row.judged_verdict),
                corrected: row.corrected,
                date: numbers::day(row.date),
                later: other > index,
                stands: other == stands,
                link: row.link.clone(),
            })
            .collect(),
        standing: standing(group, index, again),
    }
}

/// The verdict that counts for what a run measured: its own, or that of the attempt that stands.
pub(crate) fn standing_verdict(input: &LeverInput<'_>) -> Option<Verdict> {
    attempts_of(input)
        .standing
        .map(|standing| standing.verdict.key)
}

/// The rounds around the run with itself among them; without it for a replay.
fn rows(input: &LeverInput<'_>) -> Vec<RoundRow> {
    let own = match input.replay_of {
        None => vec![RoundRow::from_run(input)],
        Some(_) => Vec::new(),
    };
    [input.previous_rounds, &own, input.later_rounds].concat()
}

fn standing(group: &Attempts<'_>, own: usize, again: Option<&RoundRow>) -> Option<StandingView> {
    let (index, because) = group.standing();
    let stands = group.stands();
    let attempts = (group.rows().len() > 1).then(|| words(group, own, (index, because)));
    let texts: Vec<String> = attempts.into_iter().chain(again.map(again_words)).collect();
    (!texts.is_empty()).then(|| StandingView {
        verdict: VerdictView::corrected(stands.verdict, stands.judged_verdict),
        run_id: stands.run_id.clone(),
        own: index == own,
        text: texts.join("; "),
    })
}

fn words(group: &Attempts<'_>, own: usize, (index, because): (usize, Because)) -> String {
    let (number, row) = (index + 1, group.stands());
    let this = group.rows()[own];
    let which = match &this.registered.confirms {
        None => format!("attempt {} of the same registration", own + 1),
        Some(run) if is_decided(this) => {
            format!("attempt {}, declared to confirm run {run}", own + 1)
        }
        Some(run) => format!(
            "attempt {}, a confirmation of run {run} that decided nothing",
            own + 1
        ),
    };
    match because {
        Because::NoneDecided => format!("{which}; none has decided anything yet"),
        Because::Confirms if index == own => {
            format!("{which}; its verdict replaces that one: {}", row.verdict)
        }
        Because::Confirms => format!(
            "{which}; attempt {number}, the confirmation, stands: {}",
            row.verdict
        ),
        Because::FirstDecided if index == own && own == 0 => {
            format!("{which}; it stands: {}", row.verdict)
        }
        Because::FirstDecided if index == own => {
            format!(
                "{which}, the first that decided something; it stands: {}",
                row.verdict
            )
        }
        Because::FirstDecided => format!("{which}; attempt {number} stands: {}", row.verdict),
    }
}
