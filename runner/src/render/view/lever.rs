//! The view of one run: everything that its page, comment, summary and JSON document show.

use serde::Serialize;

use super::attempts::{AttemptView, StandingView, attempts_of};
use super::bench::{BenchView, UnjudgedBench, bench_view, not_measured_text, unjudged_view};
use super::builds::{BuildView, build_views};
use super::census::{CensusView, census_views};
use super::code::{DeltaView, delta_view};
use super::commits::{
    CommitView, CorrectionView, DecisionView, RegistrationView, registration_view,
};
use super::counters::{CountersView, counters_view};
use super::gates::{
    ClaimsView, FaultView, GatesView, LogView, claims_view, fault_view, gates_view, log_view,
};
use super::rounds::{RoundsView, rounds_view};
use super::setup::{MACHINE, TOOLCHAIN, essential, setup_facts};
use super::verdict::VerdictView;
use crate::model::{
    DeviceState, Evidence, GateOutcome, Judgement, Reason, RevertEvidence, Side, UnixMillis,
    Verdict, Weight,
};
use crate::numbers;
use crate::render::attempts::standing_rounds;
use crate::render::corrected::{Shown, shown};
use crate::render::input::{LeverInput, RoundRow, lever_name};

/// The most rounds shown before this one; the index has all.
const RECENT_ROUNDS: usize = 20;

/// The most logs shown of one run.
const MAX_LOGS: usize = 8;

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LeverView {
    /// The run's id.
    pub run_id: String,
    /// The campaign's name.
    pub campaign: String,
    /// The campaign's title.
    pub campaign_title: String,
    /// The round.
    pub round: Option<String>,
    /// The lever.
    pub lever: String,
    /// The verdict.
    pub verdict: VerdictView,
    /// One sentence on which a reviewer can act; after a correction, what was corrected.
    pub headline: String,
    /// The judge's sentence, where something was corrected since.
    pub headline_was: Option<String>,
    /// Why, the decisive reasons first.
    pub reasons: Vec<ReasonView>,
    /// Whether there is more to say about the verdict than the headline does: a reason, a fault
    /// or a revert.
    pub has_why: bool,
    /// The last decision.
    pub decision: Option<DecisionView>,
    /// Corrections of this record.
    pub corrections: Vec<CorrectionView>,
    /// Whether the run was cut short.
    pub interrupted: bool,
    /// The base commit.
    pub base: CommitView,
    /// The head commit.
    pub head: CommitView,
    /// The builds, base first; a side that was not built is left out.
    pub builds: Vec<BuildView>,
    /// The benches, targets first.
    pub benches: Vec<BenchView>,
    /// The benches' names and bars where measuring never began, so that there is no table of them:
    /// `prefill (bar +1.5 %), decode (guard)`.
    pub not_measured: Option<String>,
    /// Benches that were measured but not judged.
    pub unjudged: Vec<UnjudgedBench>,
    /// Whether any bench has looks of the sequential protocol.
    pub looks: bool,
    /// Whether the machine was watched while any bench was measured.
    pub watched: bool,
    /// Whether the benches' figures decide nothing, because the run was not in order.
    pub figures_void: bool,
    /// What counts, where the registration has several attempts or the code an earlier one.
    pub standing: Option<StandingView>,
    /// The other attempts at the same registration, oldest first.
    pub attempts: Vec<AttemptView>,
    /// Which attempt this run is, from 1.
    pub attempt: usize,
    /// The run that this one repeats, where it is a replay.
    pub replay_of: Option<String>,
    /// The campaign's latest rounds with this run as the last.
    pub rounds: RoundsView,
    /// What changed in the code; `None` where it was not inspected.
    pub delta: Option<DeltaView>,
    /// The census' delta of each changed kernel.
    pub census: Vec<CensusView>,
    /// The claims.
    pub claims: ClaimsView,
    /// The gates.
    pub gates: GatesView,
    /// What a profiler counted.
    pub counters: CountersView,
    /// Set when head is a revert.
    pub revert: Option<RevertView>,
    /// Faults outside single gates and samples.
    pub faults: Vec<FaultView>,
    /// Logs of what went wrong.
    pub logs: Vec<LogView>,
    /// The registration.
    pub registration: RegistrationView,
    /// The device: its name, or what is missing.
    pub device: String,
    /// The machine.
    pub machine: Vec<Fact>,
    /// What matters most of it.
    pub machine_brief: Vec<Fact>,
    /// The toolchain.
    pub toolchain: Vec<Fact>,
    /// What matters most of it.
    pub toolchain_brief: Vec<Fact>,
    /// What was run, from the config.
    pub setup: Vec<Fact>,
    /// When the run began, for people.
    pub started_at: String,
    /// When the run began, milliseconds since 1970 UTC.
    pub started_ms: UnixMillis,
    /// The command that repeats this run.
    pub replay: String,
}

/// A name and a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fact {
    /// The name.
    pub name: String,
    /// The value.
    pub value: String,
}

/// One reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReasonView {
    /// Its weight.
    pub weight: Weight,
    /// The sentence.
    pub text: String,
    /// Whether the headline says the same.
    pub in_headline: bool,
}

/// A revert.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RevertView {
    /// The reverted commit.
    pub reverts: String,
    /// The state before the experiment.
    pub before: Option<String>,
    /// Whether the machine code is equal.
    pub equal: Option<bool>,
    /// In words.
    pub text: String,
    /// What differs, or why there was no comparison.
    pub detail: Vec<String>,
}

/// Builds the view of one run.
pub fn lever_view(input: &LeverInput<'_>) -> LeverView {
    let evidence = input.evidence;
    let judgement = input.judgement;
    let shown = shown(judgement, input.corrections);
    let benches = bench_views(input, &shown);
    let not_measured = not_measured_text(&benches);
    let attempts = attempts_of(input);
    LeverView {
        run_id: input.run_id.to_owned(),
        campaign: evidence.config.campaign.name.clone(),
        campaign_title: evidence.config.campaign.title.clone(),
        round: evidence.registration.round.clone(),
        lever: lever_name(&evidence.registration, &evidence.commits.head.subject),
        verdict: VerdictView::corrected(shown.verdict, judgement.verdict)
            .with_why(&judgement.why, judgement.revert_verified == Some(true)),
        headline_was: shown.corrected.then(|| judgement.headline.clone()),
        reasons: reason_views(judgement),
        has_why: evidence.revert.is_some()
            || !evidence.faults.is_empty()
            || judgement
                .reasons
                .iter()
                .any(|r| r.text != judgement.headline),
        decision: evidence.decision.as_ref().map(DecisionView::from),
        corrections: input.corrections.iter().map(CorrectionView::from).collect(),
        interrupted: evidence.interrupted,
        base: (&evidence.commits.base).into(),
        head: (&evidence.commits.head).into(),
        builds: build_views(evidence),
        benches,
        unjudged: unjudged_views(input),
        looks: input.judgement.benches.iter().any(|b| !b.looks.is_empty()),
        watched: input
            .evidence
            .benches
            .iter()
            .any(|bench| bench.samples.iter().any(|sample| sample.state.is_some())),
        figures_void: not_measured.is_none() && figures_are_void(shown.verdict),
        not_measured,
        headline: shown.headline,
        standing: attempts.standing,
        attempts: attempts.others,
        attempt: attempts.attempt,
        replay_of: input.replay_of.clone(),
        rounds: campaign_table(input),
        delta: evidence
            .code
            .as_ref()
            .map(|code| delta_view(&code.delta, &code.occupancy, &code.runtime_files_changed)),
        census: evidence
            .code
            .as_ref()
            .map(|c| census_views(&c.delta))
            .unwrap_or_default(),
        claims: claims_view(&evidence.claims),
        gates: gates_view(&evidence.gates),
        counters: counters_view(&evidence.counters),
        revert: evidence.revert.as_ref().map(revert_view),
        faults: evidence.faults.iter().map(fault_view).collect(),
        logs: log_views(input),
        registration: registration_view(
            &evidence.registration,
            input.registered_at,
            input.registration_sha256,
        ),
        device: match &evidence.device {
            DeviceState::Present { name, .. } => name.clone(),
            DeviceState::Absent { reason } => format!("none: {reason}"),
        },
        machine: facts(input.machine),
        machine_brief: essential(&facts(input.machine), &MACHINE),
        toolchain: facts(input.toolchain),
        toolchain_brief: essential(&facts(input.toolchain), &TOOLCHAIN),
        setup: setup_facts(&evidence.config),
        started_at: numbers::time(input.started_at),
        started_ms: input.started_at,
        replay: input.replay_command.to_owned(),
    }
}

impl LeverView {
    /// The compiler's first errors, with the side, of builds that failed.
    pub fn first_errors(&self) -> impl Iterator<Item = (Side, &str)> {
        let failed = self.builds.iter().filter(|b| !b.ok);
        failed.filter_map(|b| Some((b.side, b.first_error.as_deref()?)))
    }
}

fn reason_views(judgement: &Judgement) -> Vec<ReasonView> {
    let view = |reason: &Reason| ReasonView {
        weight: reason.weight,
        text: reason.text.clone(),
        in_headline: reason.text == judgement.headline,
    };
    judgement.reasons.iter().map(view).collect()
}

/// Whether the benches' figures decide nothing: the run was not in order.
fn figures_are_void(verdict: Verdict) -> bool {
    matches!(
        verdict,
        Verdict::EnvInvalid | Verdict::NotComparable | Verdict::Broken
    )
}

fn bench_views(input: &LeverInput<'_>, shown: &Shown) -> Vec<BenchView> {
    let taken = &input.evidence.benches;
    let judged = input.judgement.benches.iter().zip(&shown.benches);
    judged
        .map(|(judged, shown)| {
            let taken = taken.iter().find(|t| t.bench == judged.bench);
            bench_view(judged, shown, taken)
        })
        .collect()
}

fn unjudged_views(input: &LeverInput<'_>) -> Vec<UnjudgedBench> {
    let judged = |name: &str| input.judgement.benches.iter().any(|b| b.bench == name);
    let taken = input.evidence.benches.iter();
    taken
        .filter(|t| !t.samples.is_empty() && !judged(&t.bench))
        .map(unjudged_view)
        .collect()
}

fn campaign_table(input: &LeverInput<'_>) -> RoundsView {
    let before = match input.replay_of {
        // A replay is no attempt: what it repeats stays in the table.
        Some(_) => {
            let mut rows = standing_rounds(input.previous_rounds);
            rows.push(RoundRow::from_run(input));
            rows
        }
        None => standing_rounds(&[input.previous_rounds, &[RoundRow::from_run(input)]].concat()),
    };
    let earlier = before.len().saturating_sub(RECENT_ROUNDS + 1);
    RoundsView {
        earlier,
        ..rounds_view(&before[earlier..], Some(input.run_id))
    }
}

fn revert_view(revert: &RevertEvidence) -> RevertView {
    let before = revert.before.as_ref().map(|sha| sha.short().to_owned());
    let state = before.as_deref().unwrap_or("unknown");
    let text = match revert.equal {
        Some(true) => {
            format!("verified: machine code equals the state before the experiment ({state})")
        }
        Some(false) => {
            format!(
                "not verified: machine code differs from the state before the experiment ({state})"
            )
        }
        None => "not verified: the state before the experiment could not be compared".to_owned(),
    };
    RevertView {
        reverts: revert.reverts.short().to_owned(),
        before,
        equal: revert.equal,
        text,
        detail: revert.detail.clone(),
    }
}

fn log_views(input: &LeverInput<'_>) -> Vec<LogView> {
    let evidence: &Evidence = input.evidence;
    let mut found = Vec::new();
    for side in Side::BOTH {
        if let Some(build) = evidence
            .builds
            .get(side)
            .as_ref()
            .filter(|b| b.failure.is_some())
        {
            found.extend(
                build
                    .log
                    .iter()
                    .map(|log| (format!("build of {side}"), log)),
            );
        }
    }
    let passed =
        |outcome: &GateOutcome| matches!(outcome, GateOutcome::Passed | GateOutcome::NotRun { .. });
    for gate in evidence.gates.iter().filter(|g| !passed(&g.outcome)) {
        let side = gate
            .side
            .map_or_else(String::new, |side| format!(", {side}"));
        found.extend(
            gate.logs
                .iter()
                .map(|log| (format!("{}{side}", gate.name), log)),
        );
    }
    for bench in &evidence.benches {
        for sample in bench.samples.iter().filter(|s| s.failure.is_some()) {
            let title = format!("{}, {}, pair {}", bench.bench, sample.side, sample.pair + 1);
            found.extend(sample.log.iter().map(|log| (title.clone(), log)));
        }
    }
    for profile in evidence.counters.iter().filter(|p| p.failure.is_some()) {
        let title = format!("counters {}, {}", profile.entry, profile.side);
        found.extend(profile.log.iter().map(|log| (title.clone(), log)));
    }
    // What failed twice in the same words is shown once.
    let mut seen = std::collections::BTreeSet::new();
    found
        .into_iter()
        .filter(|(_, log)| seen.insert(&log.0))
        .take(MAX_LOGS)
        .map(|(title, log)| log_view(title, log, input.logs))
        .collect()
}

fn facts(pairs: &[(String, String)]) -> Vec<Fact> {
    pairs
        .iter()
        .map(|(name, value)| fact(name, value.clone()))
        .collect()
}

pub(super) fn fact(name: &str, value: String) -> Fact {
    Fact {
        name: name.to_owned(),
        value,
    }
}
