//! The verdict on what the benches say.

use crate::model::{
    Bar, BenchJudgement, ClaimOutcome, DecisionAction, Evidence, Finding, Role, RoundKind, Verdict,
};
use crate::numbers;
use crate::stats::sequential::{ALPHA, LOOKS};

use super::ledger;
use super::reasons::{Reasons, Ruling};
use super::words::{count, list};

/// Guards first: a guard's regression decides, whatever the targets gained. Then the targets:
/// one that is lost reverts the lever, one that is open keeps it from landing.
pub(super) fn decide(
    evidence: &Evidence,
    benches: &[BenchJudgement],
    reasons: &mut Reasons,
) -> Ruling {
    error_rates(benches, reasons);
    if evidence.registration.kind == RoundKind::Compared {
        let all: Vec<&BenchJudgement> = benches.iter().collect();
        all.iter()
            .for_each(|bench| reasons.decisive(sentence(bench)));
        return Ruling::new(Verdict::Measured, sentences(&all));
    }
    let all = |role, wanted: &[Finding]| -> Vec<&BenchJudgement> {
        let of_role = benches.iter().filter(|b| b.role == role);
        of_role.filter(|b| wanted.contains(&b.finding)).collect()
    };
    let in_order = [
        (Says::Guard, all(Role::Guard, &[Finding::Regression])),
        (
            Says::Lost,
            all(Role::Target, &[Finding::Regression, Finding::NoEffect]),
        ),
        (
            Says::Open,
            all(
                Role::Target,
                &[Finding::Open, Finding::NoData, Finding::NotMeasured],
            ),
        ),
        (Says::Below, all(Role::Target, &[Finding::BelowBar])),
        (Says::Reached, all(Role::Target, &[Finding::ReachesBar])),
    ];
    let first = in_order.into_iter().find(|(_, which)| !which.is_empty());
    let (says, deciding) = first.unwrap_or((Says::Open, Vec::new()));
    for bench in benches {
        let text = sentence(bench);
        match bench.role {
            _ if deciding.iter().any(|d| std::ptr::eq(*d, bench)) => reasons.decisive(text),
            Role::Target => reasons.note(text),
            Role::Guard => reasons.note(format!("guard {text}")),
        }
    }
    let numbers = sentences(&deciding);
    match says {
        Says::Guard => Ruling::new(Verdict::Reverted, format!("guard regressed: {numbers}"))
            .why("a guard regressed"),
        Says::Lost => Ruling::new(Verdict::Reverted, numbers).why(lost_words(&deciding)),
        Says::Open => Ruling::new(
            Verdict::Inconclusive,
            format!("not settled, so it does not land: {numbers}"),
        ),
        Says::Below => sub_bar(evidence, &numbers, reasons),
        Says::Reached => Ruling::new(Verdict::Landed, numbers),
    }
}

/// Why the targets are lost, in a few words.
fn lost_words(deciding: &[&BenchJudgement]) -> &'static str {
    match deciding.iter().any(|b| b.finding == Finding::Regression) {
        true => "regression",
        false => "no worthwhile effect",
    }
}

/// What the benches say together: the first of these that any bench says.
enum Says {
    Guard,
    Lost,
    Open,
    Below,
    Reached,
}

fn sentences(benches: &[&BenchJudgement]) -> String {
    let all: Vec<String> = benches.iter().map(|b| sentence(b)).collect();
    all.join("; ")
}

/// `prefill +1.60 % [+1.20, +2.10] (93.75 % interval, 5 of 5 pairs better) reaches its bar of
/// +1.5 %`.
fn sentence(bench: &BenchJudgement) -> String {
    let Some(effect) = &bench.effect else {
        return match bench.finding {
            Finding::NotMeasured => {
                format!("{} was not measured: the verdict was settled", bench.bench)
            }
            _ => format!("{} has no valid pair", bench.bench),
        };
    };
    let ends = (effect.low, effect.high);
    let text = numbers::effect_text(effect.estimate, ends, bench.bar_percent);
    let measured = format!(
        "{} {} {} ({} interval, {} of {} better{})",
        bench.bench,
        text.estimate,
        text.interval,
        numbers::coverage(effect.coverage),
        bench.pairs_positive,
        count(bench.pairs as usize, "pair"),
        look_words(bench),
    );
    let bar = bar_words(bench, text.bar);
    let says = match (bench.finding, &bar) {
        (Finding::ReachesBar, Some(bar)) => format!("reaches its bar of {bar}"),
        (Finding::ReachesBar, None) => "is a real improvement".to_owned(),
        (Finding::BelowBar, Some(bar)) => format!("is real but below its bar of {bar}"),
        (Finding::BelowBar, None) => "is real but below its bar".to_owned(),
        (Finding::NotWorse, _) => "is not worse".to_owned(),
        (Finding::NoEffect, _) if !bench.looks.is_empty() => {
            "shows no worthwhile effect".to_owned()
        }
        (Finding::NoEffect, Some(bar)) => {
            format!("shows no effect that could reach its bar of {bar}")
        }
        (Finding::NoEffect, None) => "shows no worthwhile effect".to_owned(),
        (Finding::Regression, _) => "is a real regression".to_owned(),
        (Finding::Open, Some(bar)) => format!("leaves its bar of {bar} open"),
        (Finding::Open, None) => "leaves open whether there is an effect".to_owned(),
        (Finding::NoData, _) => "has no data".to_owned(),
        (Finding::NotMeasured, _) => "was not measured".to_owned(),
    };
    format!("{measured} {says}")
}

/// The last look of the sequential protocol: which it was, and the interval that decides about
/// the bar and about giving up, where it is not the one that is shown already.
fn look_words(bench: &BenchJudgement) -> String {
    let Some(last) = bench.looks.last() else {
        return String::new();
    };
    let look = format!(
        "; after {}, look {} of {}",
        count(last.pairs as usize, "pair"),
        bench.looks.len(),
        LOOKS.len()
    );
    if last.real.is_none() {
        return look;
    }
    let ends = (last.close.low, last.close.high);
    let interval = numbers::interval(ends, bench.bar_percent);
    let coverage = numbers::coverage(last.close.coverage);
    format!("{look}; {coverage} interval {interval}")
}

/// The bar as written, and for an absolute one what it asks for in percent.
fn bar_words(bench: &BenchJudgement, percent: Option<String>) -> Option<String> {
    let bar = bench.bar?;
    let written = numbers::declared_bar(bar, bench.better, &bench.unit);
    Some(match (bar, percent) {
        (Bar::Absolute { .. }, Some(percent)) => format!("{written} ({percent} over base)"),
        _ => written,
    })
}

/// Real but below the bar: lands only with the mechanism confirmed, a ledger that is not worse,
/// and a person's decision.
fn sub_bar(evidence: &Evidence, numbers: &str, reasons: &mut Reasons) -> Ruling {
    let unmet = unmet_conditions(evidence, reasons);
    if !unmet.is_empty() {
        for condition in &unmet {
            reasons.decisive(format!("no sub-bar landing: {condition}"));
        }
        let text = format!("{numbers}; no sub-bar landing: {}", list(&unmet));
        return Ruling::new(Verdict::Reverted, text).why("below its bar");
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
        )
        .why("below its bar, awaits a decision"),
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

/// States how often the protocol is wrong. For a fixed one the error under no effect is exact: half
/// of what the interval leaves out.
fn error_rates(benches: &[BenchJudgement], reasons: &mut Reasons) {
    if benches.iter().any(|bench| !bench.looks.is_empty()) {
        reasons.note(format!(
            "sequential protocol: over all looks together, a bench without any effect comes out \
             as real in at most {:.2} % of runs (one-sided)",
            100.0 * ALPHA
        ));
        return;
    }
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
            numbers::coverage(effect.coverage),
        ));
        if bench.pairs == 3 {
            reasons.note(
                "three pairs, all positive with their median at the bar, land 34 % of levers \
                 whose true effect is +1.5 % at a bar of +1.5 %",
            );
        }
    }
}
