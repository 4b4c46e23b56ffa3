//! Counters beside the verdict: they decide nothing except through claims, but why they are
//! missing is said once.

use std::collections::BTreeSet;

use crate::counters::failure_words;
use crate::model::{ClaimOutcome, Evidence, failed_on_head_only};

use super::reasons::Reasons;

/// Notes what could not be profiled; a command that only head breaks is worth a warning.
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
