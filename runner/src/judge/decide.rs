//! The verdict on what the benches say.

use crate::model::{
    BenchJudgement, ClaimOutcome, DecisionAction, Evidence, Finding, Role, Verdict,
};

use super::display;
use super::ledger;
use super::reasons::{Reasons, Ruling};
use super::words::{count, list};

/// Guards first: a guard's regression decides, whatever the targets gained. Then the targets.
pub(super) fn decide(
    evidence: &Evidence,
    benches: &[BenchJudgement],
    reasons: &mut Reasons,
) -> Ruling {
    error_rates(benches, reasons);
    let with = |role, wanted: &[Finding]| -> Vec<&BenchJudgement> {
        let of_role = benches.iter().filter(|b| b.role == role);
        of_role.filter(|b| wanted.contains(&b.finding)).collect()
    };
    let guards = with(Role::Guard, &[Finding::Regression]);
    let losses = with(Role::Target, &[Finding::Regression, Finding::NoEffect]);
    let open = with(Role::Target, &[Finding::Open, Finding::NoData]);
    let below = with(Role::Target, &[Finding::BelowBar]);
    let reached = with(Role::Target, &[Finding::ReachesBar]);
    for bench in benches {
        let decides = (bench.role == Role::Target) || guards.iter().any(|g| g.bench == bench.bench);
        if decides {
            reasons.decisive(sentence(bench));
        } else {
            reasons.note(format!("guard {}", sentence(bench)));
        }
    }
    if !guards.is_empty() {
        let text = format!("guard regressed: {}", sentences(&guards));
        return Ruling::new(Verdict::Reverted, text);
    }
    if !losses.is_empty() {
        return Ruling::new(Verdict::Reverted, sentences(&losses));
    }
    if !open.is_empty() {
        let text = format!("not settled, so it does not land: {}", sentences(&open));
        return Ruling::new(Verdict::Inconclusive, text);
    }
    if !below.is_empty() {
        return sub_bar(evidence, &below, reasons);
    }
    Ruling::new(Verdict::Landed, sentences(&reached))
}

fn sentences(benches: &[&BenchJudgement]) -> String {
    let all: Vec<String> = benches.iter().map(|b| sentence(b)).collect();
    all.join("; ")
}

/// `prefill +1.6 % (95 % interval +1.2 … +2.1 %, 5 of 5 pairs better) reaches its bar of +1.5 %`.
fn sentence(bench: &BenchJudgement) -> String {
    let Some(effect) = &bench.effect else {
        return format!("{} has no valid pair", bench.bench);
    };
    let against = bench.bar_percent;
    let numbers = format!(
        "{} {} ({} interval {}, {} of {} better)",
        bench.bench,
        display::percent(effect.estimate, against),
        display::coverage(effect.coverage),
        display::interval(effect, against),
        bench.pairs_positive,
        count(bench.pairs as usize, "pair"),
    );
    let bar = bar_words(bench);
    let says = match (bench.finding, &bar) {
        (Finding::ReachesBar, Some(bar)) => format!("reaches its bar of {bar}"),
        (Finding::ReachesBar, None) => "is a real improvement".to_owned(),
        (Finding::BelowBar, Some(bar)) => format!("is real but below its bar of {bar}"),
        (Finding::BelowBar, None) => "is real but below its bar".to_owned(),
        (Finding::NoEffect, Some(bar)) => {
            format!("shows no effect that could reach its bar of {bar}")
        }
        (Finding::NoEffect, None) => "shows no worthwhile effect".to_owned(),
        (Finding::Regression, _) => "is a real regression".to_owned(),
        (Finding::Open, Some(bar)) => format!("leaves its bar of {bar} open"),
        (Finding::Open, None) => "leaves open whether there is an effect".to_owned(),
        (Finding::NoData, _) => "has no data".to_owned(),
    };
    format!("{numbers} {says}")
}

/// The bar as written, and for an absolute one what it asks for in percent.
fn bar_words(bench: &BenchJudgement) -> Option<String> {
    let bar = bench.bar?;
    let written = display::bar(&bar, &bench.unit, bench.better);
    Some(match (bar, bench.bar_percent) {
        (crate::model::Bar::Absolute { .. }, Some(percent)) => format!(
            "{written} ({} over base)",
            display::percent(percent, bench.effect.map(|e| e.estimate))
        ),
        _ => written,
    })
}

/// Real but below the bar: lands only with the mechanism confirmed, a ledger that is not worse,
/// and a person's decision.
fn sub_bar(evidence: &Evidence, below: &[&BenchJudgement], reasons: &mut Reasons) -> Ruling {
    let numbers = sentences(below);
    let unmet = unmet_conditions(evidence, reasons);
    if !unmet.is_empty() {
        for condition in &unmet {
            reasons.decisive(format!("no sub-bar landing: {condition}"));
        }
        let text = format!("{numbers}; no sub-bar landing: {}", list(&unmet));
        return Ruling::new(Verdict::Reverted, text);
    }
    reasons.note("mechanism confirmed: all claims hold; nothing in the ledger regressed");
    match &evidence.decision {
        None => Ruling::new(
            Verdict::Inconclusive,
            format!(
                "{numbers}; mechanism confirmed and ledger not worse, so `runner decide {} --land \
                 --reason \"…\"` makes it LANDED (sub-bar)",
                evidence.commits.head.sha.short()
            ),
        ),
        Some(decision) => {
            let (verdict, done) = match decision.action {
                DecisionAction::Land => (Verdict::LandedSubBar, "landed"),
                DecisionAction::Revert => (Verdict::Reverted, "reverted"),
            };
            let by = format!(
                "{done} below its bar by decision of {}: {}",
                decision.by, decision.reason
            );
            reasons.decisive(by.clone());
            Ruling {
                by_decision: true,
                ..Ruling::new(verdict, format!("{numbers}; {by}"))
            }
        }
    }
}

fn unmet_conditions(evidence: &Evidence, reasons: &mut Reasons) -> Vec<String> {
    let mut unmet = Vec::new();
    if evidence.claims.is_empty() {
        unmet.push("there is no claim that could confirm the mechanism".to_owned());
    }
    unmet.extend(
        evidence
            .claims
            .iter()
            .filter(|claim| claim.outcome != ClaimOutcome::Holds)
            .map(|claim| format!("claim `{}` is not confirmed", claim.text)),
    );
    match &evidence.code {
        None => unmet.push("the built code was not compared".to_owned()),
        Some(code) => {
            let worse = ledger::regressions(code);
            if !worse.is_empty() {
                unmet.push(format!("the ledger regressed: {}", list(&worse)));
            }
            let unknown = ledger::unknown_occupancy(code);
            if !unknown.is_empty() {
                reasons.note(format!(
                    "occupancy of {} is not known: no launch bound in the code and no [[kernel]] \
                     in campaign.toml",
                    list(&unknown)
                ));
            }
        }
    }
    unmet
}

/// States what the fixed protocol cannot tell apart. The error under no effect is exact: half of
/// what the interval leaves out.
fn error_rates(benches: &[BenchJudgement], reasons: &mut Reasons) {
    let mut stated: Vec<u32> = Vec::new();
    for bench in benches {
        let Some(effect) = &bench.effect else {
            continue;
        };
        if stated.contains(&bench.pairs) {
            continue;
        }
        stated.push(bench.pairs);
        let wrong = format!("{:.1} %", 50.0 * (1.0 - effect.coverage));
        reasons.note(format!(
            "fixed protocol with {}: the interval covers {}, so a lever without any effect comes \
             out as real in {wrong} of runs",
            count(bench.pairs as usize, "pair"),
            display::coverage(effect.coverage),
        ));
        if bench.pairs == 3 {
            reasons.note(
                "three pairs, all positive with their median at the bar, land 34 % of levers \
                 whose true effect is +1.5 % at a bar of +1.5 %",
            );
        }
    }
}
