//! What the compiled code establishes without a device: the claims, and the kernels that changed.

use crate::model::{ClaimEvidence, ClaimOutcome, CodeEvidence, DeviceState, Evidence, Verdict};

use super::reasons::{Reasons, Ruling};
use super::words::{count, list};

/// Kernels that a headline names.
const NAMED: usize = 3;

/// A claim that fails refutes the mechanism, and the lever with it. Claims that hold are summed
/// up: the record lists each with what was observed.
pub(super) fn claims(evidence: &Evidence, reasons: &mut Reasons) -> Option<Ruling> {
    let all = &evidence.claims;
    let holding = outcomes(all, |o| *o == ClaimOutcome::Holds);
    if holding > 0 {
        reasons.note(holding_words(holding, all.len()));
    }
    for claim in all {
        if let ClaimOutcome::NotEvaluated { reason } = &claim.outcome {
            reasons.note(format!(
                "claim `{}` was not evaluated: {reason}",
                claim.text
            ));
        }
    }
    let failed: Vec<String> = all
        .iter()
        .filter(|claim| claim.outcome == ClaimOutcome::Fails)
        .map(failure)
        .collect();
    match failed.as_slice() {
        [] => None,
        [only] => {
            let ruling = reasons.rule(Verdict::Reverted, format!("mechanism refuted: {only}"));
            ruling.map(|ruling| ruling.why("1 claim fails"))
        }
        [first, others @ ..] => {
            failed.iter().for_each(|text| reasons.decisive(text));
            let more = match others.len() {
                1 => "1 more claim fails".to_owned(),
                n => format!("{n} more claims fail"),
            };
            let text = format!("mechanism refuted: {first}; and {more}");
            let why = format!("{} claims fail", failed.len());
            Some(Ruling::new(Verdict::Reverted, text).why(why))
        }
    }
}

fn failure(claim: &ClaimEvidence) -> String {
    format!(
        "claim `{}` fails: expected {}, observed {}",
        claim.text, claim.expected, claim.observed
    )
}

/// No device of the wanted kind. The headline says what is known all the same.
pub(super) fn no_device(evidence: &Evidence, reasons: &mut Reasons) -> Option<Ruling> {
    let DeviceState::Absent { reason } = &evidence.device else {
        return None;
    };
    let mut known: Vec<String> = evidence.code.iter().map(code_words).collect();
    known.extend(claim_words(&evidence.claims));
    let known = match known.is_empty() {
        true => String::new(),
        false => format!("; established without one: {}", known.join(", ")),
    };
    let text = format!("no device to measure on: {reason}{known}");
    reasons.rule(Verdict::NotMeasured, text)
}

fn outcomes(claims: &[ClaimEvidence], wanted: impl Fn(&ClaimOutcome) -> bool) -> usize {
    claims.iter().filter(|c| wanted(&c.outcome)).count()
}

/// `7 of 8 claims hold`, `all 8 claims hold`, `the claim holds`.
fn holding_words(holding: usize, all: usize) -> String {
    match (holding, all) {
        (1, 1) => "the claim holds".to_owned(),
        (h, n) if h == n => format!("all {n} claims hold"),
        (1, n) => format!("1 of {n} claims holds"),
        (h, n) => format!("{h} of {n} claims hold"),
    }
}

/// `7 of 8 claims hold, 1 was not evaluated (needs hardware counters)`.
fn claim_words(claims: &[ClaimEvidence]) -> Option<String> {
    if claims.is_empty() {
        return None;
    }
    let holding = outcomes(claims, |o| *o == ClaimOutcome::Holds);
    let failing = outcomes(claims, |o| *o == ClaimOutcome::Fails);
    let open = claims.len() - holding - failing;
    let mut parts = Vec::new();
    if holding > 0 {
        parts.push(holding_words(holding, claims.len()));
    }
    let claims_or_they = |n: usize| match parts.is_empty() {
        true => count(n, "claim"),
        false => n.to_string(),
    };
    let fails = format!(
        "{} {}",
        claims_or_they(failing),
        if failing == 1 { "fails" } else { "fail" }
    );
    let not_evaluated = format!(
        "{} {} not evaluated{}",
        claims_or_they(open),
        if open == 1 { "was" } else { "were" },
        why_open(claims)
    );
    let others = [(failing, fails), (open, not_evaluated)];
    parts.extend(others.into_iter().filter(|(n, _)| *n > 0).map(|(_, t)| t));
    Some(parts.join(", "))
}

/// ` (needs hardware counters)` where that is why for each that was not evaluated.
fn why_open(claims: &[ClaimEvidence]) -> String {
    let mut reasons = claims.iter().filter_map(|claim| match &claim.outcome {
        ClaimOutcome::NotEvaluated { reason } => Some(reason),
        _ => None,
    });
    match reasons.next() {
        Some(first) if reasons.all(|other| other == first) => format!(" ({first})"),
        _ => String::new(),
    }
}

/// `machine code of mmq_nb<8> changed`, by the names without their parameters.
fn code_words(code: &CodeEvidence) -> String {
    let delta = &code.delta;
    let mut changed: Vec<&str> = delta
        .changed
        .iter()
        .map(|(_, after)| sass::short_name(&after.name))
        .collect();
    changed.sort_unstable();
    // The same kernel for several architectures is one.
    changed.dedup();
    let mut parts = Vec::new();
    match changed.len() {
        0 => {}
        1..=NAMED => {
            let names: Vec<String> = changed.iter().map(|name| format!("`{name}`")).collect();
            parts.push(format!("machine code of {} changed", list(&names)));
        }
        n => parts.push(format!("machine code of {n} kernels changed")),
    }
    for (kernels, what) in [
        (delta.added.len(), "added"),
        (delta.removed.len(), "removed"),
        (delta.renamed.len(), "renamed"),
    ] {
        if kernels > 0 {
            parts.push(format!("{} {what}", count(kernels, "kernel")));
        }
    }
    if parts.is_empty() {
        parts.push("no kernel changed".to_owned());
    }
    if !delta.host_changed.is_empty() {
        parts.push("host code changed".to_owned());
    }
    parts.join(", ")
}
