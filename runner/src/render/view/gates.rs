//! Gates, claims, faults, and the logs behind them. Passed, flaky, failed, no data and not run
//! stay five different things.

use serde::Serialize;

use super::commits::source_word;
use super::failure::failure_text;
use crate::model::{
    ArtifactHash, ClaimEvidence, ClaimOutcome, Fault, Figure, GateEvidence, GateKind, GateOutcome,
    Side, Stage,
};
use crate::numbers::{self, Finite};
use crate::render::input::LogExcerpt;
use crate::render::text;

/// All gates.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GatesView {
    /// `4 passed, 1 flaky`; empty without gates.
    pub summary: String,
    /// Each, in the order they ran.
    pub rows: Vec<GateView>,
}

/// One gate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GateView {
    /// `parity` or `identity`.
    pub kind: GateKind,
    /// Its name.
    pub name: String,
    /// Kind and name: `parity KD=8`.
    pub title: String,
    /// The side; `None` for a comparison of both.
    pub side: Option<Side>,
    /// `passed`, `flaky`, `failed`, `no data` or `not run`.
    pub outcome: &'static str,
    /// A mark for it.
    pub mark: &'static str,
    /// What went wrong, or why there is nothing.
    pub detail: String,
    /// The figures.
    pub figures: Vec<FigureView>,
}

/// A figure with its limit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FigureView {
    /// Its name.
    pub name: String,
    /// `1.2e-9 (at most 1e-6)`.
    pub text: String,
    /// The value.
    pub value: Finite,
    /// The limit.
    pub max: Finite,
    /// Whether it is within; `None` where it is missing.
    pub within: Option<bool>,
}

pub(super) fn gates_view(gates: &[GateEvidence]) -> GatesView {
    let rows: Vec<GateView> = gates.iter().map(gate_view).collect();
    let words = ["passed", "flaky", "failed", "no data", "not run"];
    GatesView {
        summary: tally(&words, rows.iter().map(|r| r.outcome)),
        rows,
    }
}

/// How often each word occurs: `3 passed, 1 failed`.
fn tally<'a>(words: &[&str], found: impl Iterator<Item = &'a str> + Clone) -> String {
    words
        .iter()
        .map(|word| (found.clone().filter(|f| f == word).count(), word))
        .filter(|(n, _)| *n > 0)
        .map(|(n, word)| format!("{n} {word}"))
        .collect::<Vec<_>>()
        .join(", ")
}

fn gate_view(gate: &GateEvidence) -> GateView {
    let (outcome, mark, detail) = match &gate.outcome {
        GateOutcome::Passed => ("passed", "✓", String::new()),
        GateOutcome::Flaky { first } => (
            "flaky",
            "≈",
            format!("passed when run again; at first: {first}"),
        ),
        GateOutcome::Failed { reason } => ("failed", "✗", reason.clone()),
        GateOutcome::NoData { reason } => ("no data", "∅", reason.clone()),
        GateOutcome::NotRun { reason } => ("not run", "–", reason.clone()),
    };
    let ended = gate
        .failure
        .as_ref()
        .map(failure_text)
        .filter(|text| !detail.contains(text.as_str()));
    GateView {
        kind: gate.kind,
        title: match gate.kind {
            GateKind::Parity => format!("parity {}", gate.name),
            GateKind::Identity => format!("identity {}", gate.name),
        },
        name: gate.name.clone(),
        side: gate.side,
        outcome,
        mark,
        detail: [Some(detail), ended]
            .into_iter()
            .flatten()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join("; "),
        figures: gate.figures.iter().map(figure_view).collect(),
    }
}

fn figure_view(figure: &Figure) -> FigureView {
    let limit = numbers::figure(figure.max);
    let text = match figure.value {
        Some(value) => format!("{} (at most {limit})", numbers::figure(value)),
        None => format!("missing (at most {limit})"),
    };
    FigureView {
        name: figure.name.clone(),
        text,
        value: figure.value.into(),
        max: Finite::new(figure.max),
        within: figure.value.map(|value| value <= figure.max),
    }
}

/// All claims.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClaimsView {
    /// `3 hold, 1 fails`; empty without claims.
    pub summary: String,
    /// Each, in the order they were written.
    pub rows: Vec<ClaimView>,
}

/// One claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClaimView {
    /// As written.
    pub text: String,
    /// Where it was declared.
    pub source: &'static str,
    /// `holds`, `fails` or `not evaluated`.
    pub outcome: &'static str,
    /// A mark for it.
    pub mark: &'static str,
    /// What was expected.
    pub expected: String,
    /// What was observed, or why it was not evaluated.
    pub observed: String,
}

pub(super) fn claims_view(claims: &[ClaimEvidence]) -> ClaimsView {
    let rows: Vec<ClaimView> = claims.iter().map(claim_view).collect();
    let of = |outcome: &str| rows.iter().filter(|r| r.outcome == outcome).count();
    let (holds, fails, open) = (of("holds"), of("fails"), of("not evaluated"));
    let verb = |n: usize, one: &str, many: &str| format!("{n} {}", if n == 1 { one } else { many });
    let summary = [
        (holds, verb(holds, "holds", "hold")),
        (fails, verb(fails, "fails", "fail")),
        (open, format!("{open} not evaluated")),
    ]
    .into_iter()
    .filter(|(n, _)| *n > 0)
    .map(|(_, words)| words)
    .collect::<Vec<_>>()
    .join(", ");
    ClaimsView { summary, rows }
}

fn claim_view(claim: &ClaimEvidence) -> ClaimView {
    let (outcome, mark) = match &claim.outcome {
        ClaimOutcome::Holds => ("holds", "✓"),
        ClaimOutcome::Fails => ("fails", "✗"),
        ClaimOutcome::NotEvaluated { .. } => ("not evaluated", "–"),
    };
    let observed = match &claim.outcome {
        ClaimOutcome::NotEvaluated { reason } if claim.observed.is_empty() => reason.clone(),
        ClaimOutcome::NotEvaluated { reason } => format!("{}; {reason}", claim.observed),
        _ => claim.observed.clone(),
    };
    ClaimView {
        text: claim.text.clone(),
        source: source_word(claim.source),
        outcome,
        mark,
        expected: claim.expected.clone(),
        observed,
    }
}

/// A fault outside single gates and samples.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FaultView {
    /// Where.
    pub stage: Stage,
    /// On which side.
    pub side: Option<Side>,
    /// Stage and side in words: `build, head`.
    pub place: String,
    /// What happened.
    pub text: String,
}

/// The stage in a word.
pub(crate) fn stage_word(stage: Stage) -> &'static str {
    match stage {
        Stage::Checkout => "checkout",
        Stage::Toolchain => "toolchain",
        Stage::Build => "build",
        Stage::Inspect => "inspect",
        Stage::Gates => "gates",
        Stage::Counters => "counters",
        Stage::Measure => "measure",
    }
}

pub(super) fn fault_view(fault: &Fault) -> FaultView {
    let ended = fault.failure.as_ref().map(failure_text);
    let text = match ended.filter(|e| !fault.message.contains(e.as_str())) {
        Some(ended) if fault.message.is_empty() => ended,
        Some(ended) => format!("{} ({ended})", fault.message),
        None => fault.message.clone(),
    };
    let stage = stage_word(fault.stage);
    let place = match fault.side {
        Some(side) => format!("{stage}, {side}"),
        None => stage.to_owned(),
    };
    FaultView {
        stage: fault.stage,
        side: fault.side,
        place,
        text,
    }
}

/// A log of something that went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LogView {
    /// Whose: `build of head`.
    pub title: String,
    /// Its name in the artefact store.
    pub artifact: String,
    /// Its first and last lines; `None` where the text is not at hand.
    pub excerpt: Option<String>,
}

/// The log named `artifact`, with the lines that say most.
pub(super) fn log_view(title: String, artifact: &ArtifactHash, logs: &[LogExcerpt]) -> LogView {
    const HEAD_LINES: usize = 12;
    const TAIL_LINES: usize = 24;
    let found = logs.iter().find(|log| log.artifact == *artifact);
    LogView {
        title,
        artifact: artifact.to_string(),
        excerpt: found
            .map(|log| text::excerpt(&log.text, HEAD_LINES, TAIL_LINES))
            .filter(|text| !text.trim().is_empty()),
    }
}
