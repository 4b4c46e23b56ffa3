//! Verdicts as a pure function of the evidence. No I/O, no clock: the same evidence gives the
//! same judgement, today from a run and in a year from the database.
//!
//! The rules are asked in the order in which evidence is gathered, cheap before dear, and the
//! first one that rules ends it:
//!
//! 1. a registration that cannot be read: BROKEN
//! 2. an interrupted run: ENV-INVALID (its samples are kept and never pooled)
//! 3. faults of the machine or apparatus: ENV-INVALID; builds: head alone BROKEN, base ENV-INVALID
//! 4. launches that failed for good, by who is at fault
//! 5. rounds without a lever: MEASURED, ANALYSED
//! 6. a verified revert: REVERTED; identical machine code: NO CHANGE
//! 7. claims that fail, those on counters included: REVERTED; gates: BROKEN, or ENV-INVALID where base does not pass either
//! 8. no device: NOT MEASURED
//! 9. sides that report different work: NOT COMPARABLE; timed outputs that must be the same and
//!    differ: BROKEN; changed kernels that never ran: NOT EXERCISED
//! 10. too many pairs rejected for the machine's state, too few pairs, a canary outside its band, or
//!     a base outside its history: ENV-INVALID
//! 11. what the benches say: LANDED, LANDED (sub-bar), REVERTED, INCONCLUSIVE; INCONCLUSIVE instead
//!     of landing where a claim on a counter could be evaluated on one side only
//!
//! A person's decision is one of the three conditions of a sub-bar landing; it never replaces a
//! verdict.

mod benches;
mod canary;
mod checks;
mod code;
mod counters;
mod decide;
mod established;
mod facts;
mod faults;
mod ledger;
mod looks;
mod reasons;
mod references;
mod rejection;
mod words;

use crate::model::{BenchJudgement, DecisionAction, Evidence, Judgement, RoundKind, Verdict};

use reasons::{Reasons, Ruling};

pub use benches::{in_order, role_and_bar, valid_pairs};
pub use facts::differs_in_work;
pub use ledger::regressions as ledger_regressions;
pub use looks::{settles, wanted_pairs};
pub use references::{ReferenceReading, reference_readings};
pub use rejection::{Cause, RejectedPair, rejected_pair, rejected_pairs, too_many_rejected};
pub use words::{failure_words, gate_words};

pub(crate) use words::shortened;

/// Judges a lever.
pub fn judge(evidence: &Evidence) -> Judgement {
    // Samples of an interrupted run are kept but never pooled: no numbers are made of them.
    let benches = if evidence.interrupted {
        Vec::new()
    } else {
        benches::judge_all(evidence)
    };
    let mut reasons = Reasons::default();
    let ruling = rule(evidence, &benches, &mut reasons);
    remarks(evidence, &benches, &ruling, &mut reasons);
    Judgement {
        verdict: ruling.verdict,
        headline: ruling.headline,
        why: ruling.why,
        reasons: reasons.sorted(),
        benches,
        revert_verified: evidence.revert.as_ref().and_then(|r| r.equal),
    }
}

/// Whether the verdict is settled by what needs no device, claims aside: nothing is launched then.
pub fn settled_by_code(evidence: &Evidence) -> bool {
    let e = evidence;
    let reasons = &mut Reasons::default();
    let failed = faults::registration(e, reasons)
        .or_else(|| faults::outside(e, reasons))
        .or_else(|| faults::builds(e, reasons))
        .is_some();
    failed
        || match e.registration.kind {
            RoundKind::Analysed => true,
            RoundKind::Measured => false,
            RoundKind::Compared => code::no_change(e, reasons).is_some(),
            RoundKind::Lever => code::revert(e, reasons)
                .or_else(|| code::no_change(e, reasons))
                .is_some(),
        }
}

/// Whether the verdict is settled by a claim that does not hold: what comes after it cannot change
/// the verdict, and is left out unless someone wants to see it.
pub fn settled_by_claims(evidence: &Evidence) -> bool {
    evidence.registration.kind == RoundKind::Lever
        && established::claims(evidence, &mut Reasons::default()).is_some()
}

/// Whether the verdict is settled by the gates: nothing is measured then.
pub fn settled_by_gates(evidence: &Evidence) -> bool {
    code::gates(evidence, &mut Reasons::default()).is_some()
}

/// Whether the verdict is settled by launches that failed for good: nothing more is launched.
pub fn settled_by_launches(evidence: &Evidence) -> bool {
    faults::launches(evidence, &mut Reasons::default()).is_some()
}

fn rule(evidence: &Evidence, benches: &[BenchJudgement], reasons: &mut Reasons) -> Ruling {
    let e = evidence;
    faults::registration(e, reasons)
        .or_else(|| faults::interrupted(e, reasons))
        .or_else(|| faults::outside(e, reasons))
        .or_else(|| faults::builds(e, reasons))
        .or_else(|| faults::launches(e, reasons))
        .or_else(|| code::no_lever(e, benches, reasons))
        .or_else(|| code::revert(e, reasons))
        .or_else(|| code::no_change(e, reasons))
        .or_else(|| established::claims(e, reasons))
        .or_else(|| code::gates(e, reasons))
        .or_else(|| established::no_device(e, reasons))
        .or_else(|| no_bench(e, reasons))
        .or_else(|| facts::work(e, reasons))
        .or_else(|| facts::outputs(e, reasons))
        .or_else(|| facts::exercised(e, reasons))
        .or_else(|| rejection::window(e, reasons))
        .or_else(|| faults::too_few_pairs(e, benches, reasons))
        .or_else(|| canary::drift(e, reasons))
        .or_else(|| checks::history(e, benches, reasons))
        .unwrap_or_else(|| {
            let ruling = decide::decide(e, benches, reasons);
            counters::one_sided(e, ruling, reasons)
        })
}

/// A campaign without benches has nothing on which a lever could land.
fn no_bench(evidence: &Evidence, reasons: &mut Reasons) -> Option<Ruling> {
    if !evidence.config.benches.is_empty() {
        return None;
    }
    let text = "campaign.toml has no [[bench]], so there is no effect to judge; claims and gates \
                are all there is";
    reasons.rule(Verdict::Inconclusive, text)
}

/// What deserves attention whatever the verdict.
fn remarks(
    evidence: &Evidence,
    benches: &[BenchJudgement],
    ruling: &Ruling,
    reasons: &mut Reasons,
) {
    checks::too_equal(evidence, benches, reasons);
    counters::remarks(evidence, reasons);
    rejection::remarks(evidence, ruling.verdict, reasons);
    canary::remarks(evidence, ruling, reasons);
    references::remarks(evidence, reasons);
    for note in &evidence.notes {
        reasons.note(note.clone());
    }
    if let Some(decision) = &evidence.decision {
        let action = match decision.action {
            DecisionAction::Land => "land",
            DecisionAction::Revert => "revert",
        };
        if !ruling.by_decision {
            reasons.note(format!(
                "{} decided to {action} it: {} (kept beside the verdict)",
                decision.by, decision.reason
            ));
        }
    }
}

#[cfg(test)]
mod tests;
