//! Rulings that need no number: rounds without a lever, reverts, equal machine code and gates.

use crate::model::{
    BenchJudgement, ClaimOutcome, DeviceState, Evidence, GateEvidence, GateKind, GateOutcome,
    RoundKind, Side, Verdict,
};
use crate::numbers;

use super::established;
use super::reasons::{Reasons, Ruling};
use super::words::{count, gate_words, list};

/// A round that declares itself a measurement or an analysis.
pub(super) fn no_lever(
    evidence: &Evidence,
    benches: &[BenchJudgement],
    reasons: &mut Reasons,
) -> Option<Ruling> {
    let medians: Vec<String> = benches.iter().filter_map(medians_of).collect();
    let with = if medians.is_empty() {
        String::new()
    } else {
        format!(": {}", medians.join("; "))
    };
    match evidence.registration.kind {
        RoundKind::Lever | RoundKind::Compared => None,
        RoundKind::Analysed => reasons.rule(
            Verdict::Analysed,
            format!("an analysis without a lever{with}"),
        ),
        RoundKind::Measured if medians.is_empty() => established::no_device(evidence, reasons)
            .or_else(|| {
                let text = "declared as a measurement, but no bench has a value; run again";
                reasons.rule(Verdict::EnvInvalid, text)
            }),
        RoundKind::Measured => reasons.rule(
            Verdict::Measured,
            format!("a measurement without a lever{with}"),
        ),
    }
}

fn medians_of(bench: &BenchJudgement) -> Option<String> {
    let value = |v: f64| format!("{} {}", numbers::value(v), bench.unit);
    Some(format!(
        "`{}` {} on base and {} on head, medians of {}",
        bench.bench,
        value(bench.base_median?),
        value(bench.head_median?),
        count(bench.pairs as usize, "pair")
    ))
}

/// A head that reverts an experiment and really is the state before it.
pub(super) fn revert(evidence: &Evidence, reasons: &mut Reasons) -> Option<Ruling> {
    let revert = evidence.revert.as_ref()?;
    let other_base = evidence.commits.base.sha != revert.reverts;
    match revert.equal {
        Some(true) if other_base => {
            reasons.note(format!(
                "head is a verified revert of {}, but base is {}, so it is judged like any lever",
                revert.reverts.short(),
                evidence.commits.base.sha.short()
            ));
            None
        }
        Some(true) => {
            let before = revert.before.as_ref().map_or("?", |sha| sha.short());
            let text = format!(
                "verified revert of {}: machine code equals the state before the experiment \
                 ({before}); nothing to measure",
                revert.reverts.short()
            );
            let ruling = reasons.rule(Verdict::Reverted, text);
            ruling.map(|ruling| ruling.why("verified revert"))
        }
        Some(false) => {
            reasons.warn(format!(
                "head says it reverts {}, but its machine code is not the state before the \
                 experiment: {}; it is judged like any lever",
                revert.reverts.short(),
                list(&revert.detail)
            ));
            None
        }
        None => {
            reasons.warn(format!(
                "head says it reverts {}, which could not be verified: {}",
                revert.reverts.short(),
                list(&revert.detail)
            ));
            None
        }
    }
}

/// The same machine code on both sides, and nothing else that a command would read differently.
pub(super) fn no_change(evidence: &Evidence, reasons: &mut Reasons) -> Option<Ruling> {
    let code = evidence.code.as_ref()?;
    let inspected = !code.reports.base.files.is_empty() && !code.reports.head.files.is_empty();
    if !inspected || !code.delta.is_identical() {
        return None;
    }
    let ptx = ptx_only_differs(evidence);
    if !ptx.is_empty() || !code.runtime_files_changed.is_empty() {
        if !ptx.is_empty() {
            reasons.note(format!(
                "machine code is the same, but {} holds PTX that the driver compiles and is not",
                list(&ptx)
            ));
        }
        if !code.runtime_files_changed.is_empty() {
            reasons.note(format!(
                "machine code is the same, but {}, which commands may read, changed",
                list(&code.runtime_files_changed)
            ));
        }
        return None;
    }
    let failing = evidence
        .claims
        .iter()
        .filter(|claim| claim.outcome == ClaimOutcome::Fails);
    let failing = match failing.count() {
        0 => String::new(),
        1 => "; a claim fails".to_owned(),
        n => format!("; {n} claims fail"),
    };
    let text = format!(
        "identical machine code on both sides ({} and all host code); nothing to measure{failing}",
        count(code.delta.unchanged as usize, "kernel")
    );
    reasons.rule(Verdict::NoChange, text)
}

/// Files with PTX for which there is no cubin: their kernels cannot be compared, so the whole
/// file must be the same.
fn ptx_only_differs(evidence: &Evidence) -> Vec<String> {
    let Some(code) = &evidence.code else {
        return Vec::new();
    };
    let head = &code.reports.head.files;
    let same = |file: &sass::FileReport| {
        head.iter()
            .any(|h| h.path == file.path && h.sha256 == file.sha256)
    };
    let other = |file: &&sass::FileReport| {
        let at_head = head.iter().find(|h| h.path == file.path);
        let ptx = !file.ptx_only.is_empty() || at_head.is_some_and(|h| !h.ptx_only.is_empty());
        ptx && !same(file)
    };
    let base = code.reports.base.files.iter();
    base.filter(other).map(|f| f.path.clone()).collect()
}

/// Parity and identity. A gate that was configured and has no passing evidence is never green
/// where there is a device to run it on.
pub(super) fn gates(evidence: &Evidence, reasons: &mut Reasons) -> Option<Ruling> {
    let relevant = evidence
        .gates
        .iter()
        .filter(|g| g.side != Some(Side::Base) || is_base_identity(g));
    let mut red: Vec<&GateEvidence> = Vec::new();
    for gate in relevant {
        match gate.outcome {
            GateOutcome::Passed => reasons.note(gate_words(gate)),
            GateOutcome::Flaky { .. } => reasons.warn(gate_words(gate)),
            GateOutcome::Failed { .. } | GateOutcome::NoData { .. } => red.push(gate),
            GateOutcome::NotRun { .. } => reasons.note(gate_words(gate)),
        }
    }
    if red.is_empty() {
        return not_run(evidence, reasons);
    }
    let excused: Vec<&GateEvidence> = red
        .iter()
        .filter(|g| base_is_red(evidence, g))
        .copied()
        .collect();
    let heads: Vec<String> = red
        .iter()
        .filter(|g| !excused.iter().any(|e| std::ptr::eq(*e, **g)))
        .map(|g| gate_words(g))
        .collect();
    if heads.is_empty() {
        let words: Vec<String> = excused.iter().map(|g| gate_words(g)).collect();
        let text = format!(
            "{}; base does not pass either, so repair it or its reference first",
            words.join("; ")
        );
        return reasons.rule(Verdict::EnvInvalid, text);
    }
    let ruling = reasons.rule(Verdict::Broken, heads.join("; "));
    let why = match heads.len() {
        1 => "1 gate fails".to_owned(),
        n => format!("{n} gates fail"),
    };
    ruling.map(|ruling| ruling.why(why))
}

fn is_base_identity(gate: &GateEvidence) -> bool {
    gate.kind == GateKind::Identity
}

/// Whether base is known not to be better: its own run of the same case did not pass, or (for no
/// data) there is nothing that shows it works.
fn base_is_red(evidence: &Evidence, gate: &GateEvidence) -> bool {
    let no_data = matches!(gate.outcome, GateOutcome::NoData { .. });
    if gate.kind == GateKind::Identity {
        return gate.side == Some(Side::Base) || (no_data && gate.side.is_none());
    }
    let base = evidence
        .gates
        .iter()
        .find(|g| g.kind == gate.kind && g.name == gate.name && g.side == Some(Side::Base));
    match base.map(|b| &b.outcome) {
        Some(GateOutcome::Passed | GateOutcome::Flaky { .. }) => false,
        Some(GateOutcome::Failed { .. } | GateOutcome::NoData { .. }) => true,
        Some(GateOutcome::NotRun { .. }) | None => no_data,
    }
}

/// Configured gates without a result, where a device was there to run them.
fn not_run(evidence: &Evidence, reasons: &mut Reasons) -> Option<Ruling> {
    if matches!(evidence.device, DeviceState::Absent { .. }) {
        return None;
    }
    let green = |kind, name: Option<&str>| {
        evidence.gates.iter().any(|g| {
            let passed = matches!(g.outcome, GateOutcome::Passed | GateOutcome::Flaky { .. });
            g.kind == kind
                && passed
                && name.is_none_or(|n| g.name == n && g.side != Some(Side::Base))
        })
    };
    let config = &evidence.config;
    let mut missing: Vec<String> = config
        .parity
        .iter()
        .filter(|case| !green(GateKind::Parity, Some(&case.name)))
        .map(|case| format!("parity {}", case.name))
        .collect();
    if config.identity.is_some() && !green(GateKind::Identity, None) {
        missing.push("identity".to_owned());
    }
    if missing.is_empty() {
        return None;
    }
    let text = format!(
        "{} {} not run, and a gate that was not run has not passed; run again",
        list(&missing),
        if missing.len() == 1 { "was" } else { "were" }
    );
    reasons.rule(Verdict::EnvInvalid, text)
}
