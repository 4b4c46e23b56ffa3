//! Counters beside the verdict: they decide nothing except through claims, but why they are
//! missing is said once, and a claim of which one side is missing keeps a lever from landing.

use std::collections::BTreeSet;

use crate::claims::counted_side;
use crate::counters::failure_words;
use crate::model::{ClaimOutcome, CounterProfile, Evidence, Side, Verdict, failed_on_head_only};

use super::reasons::{Reasons, Ruling};

/// What lands does so with no claim half evaluated: a profiler that fails on one side only may
/// have been made to.
pub(super) fn one_sided(evidence: &Evidence, ruling: Ruling, reasons: &mut Reasons) -> Ruling {
    if !matches!(ruling.verdict, Verdict::Landed | Verdict::LandedSubBar) {
        return ruling;
    }
    let mut texts = evidence.claims.iter().filter_map(|claim| {
        let ClaimOutcome::NotEvaluated { reason } = &claim.outcome else {
            return None;
        };
        let side = counted_side(&claim.text, &evidence.counters)?;
        let text = &claim.text;
        Some(format!(
            "claim `{text}` could be evaluated on {side} only: {reason}"
        ))
    });
    let Some(first) = texts.next() else {
        return ruling;
    };
    reasons.decisive(first.clone());
    texts.for_each(|text| reasons.decisive(text));
    Ruling::new(
        Verdict::Inconclusive,
        format!("not settled, so it does not land: {first}"),
    )
}

/// Notes what could not be profiled; what fails on head only is worth a warning.
pub(super) fn remarks(evidence: &Evidence, reasons: &mut Reasons) {
    let profiles = &evidence.counters;
    let by_head = failed_on_head_only(profiles);
    for profile in &by_head {
        if let Some(failure) = &profile.failure {
            reasons.warn(format!(
                "counters {}: {} on head, while base's works",
                profile.entry,
                failure_words(failure)
            ));
        }
    }
    let others = profiles
        .iter()
        .filter(|profile| !by_head.iter().any(|p| std::ptr::eq(*p, *profile)));
    let mut said = BTreeSet::new();
    for profile in others {
        let Some(failure) = &profile.failure else {
            continue;
        };
        let words = failure_words(failure);
        if profile.side == Side::Head && is_counted_on_base(profiles, &profile.entry) {
            reasons.warn(format!(
                "counters {} were taken on base and not on head: {words}",
                profile.entry
            ));
            continue;
        }
        let told_by_a_claim = evidence.claims.iter().any(|claim| {
            matches!(&claim.outcome, ClaimOutcome::NotEvaluated { reason } if reason.contains(&words))
        });
        let text = match failure.is_of_the_machine() {
            true => format!("no counters: {words}"),
            false => format!("counters {} on {}: {words}", profile.entry, profile.side),
        };
        if !told_by_a_claim && said.insert(text.clone()) {
            reasons.note(text);
        }
    }
}

fn is_counted_on_base(profiles: &[CounterProfile], entry: &str) -> bool {
    let mut of_base = profiles.iter().filter(|p| p.side == Side::Base);
    of_base.any(|p| p.entry == entry && p.failure.is_none())
}
