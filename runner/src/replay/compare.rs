//! What a repetition says about the original. Pure.

use serde::{Deserialize, Serialize};

use crate::model::{
    BenchJudgement, BuildEvidence, Evidence, GateOutcome, Judgement, PerSide, Side, Verdict,
};
use crate::numbers;
use crate::record::StoredRun;

/// By how much a base's median may move between two windows before the machine counts as
/// another, percent. (Within one window the sides move together.)
pub const LEVEL_BAND: f64 = 2.0;

/// How one aspect of the repetition relates to the original.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// The same.
    #[serde(rename = "SAME")]
    Same,
    /// Another result.
    #[serde(rename = "CHANGED")]
    Changed,
    /// The same result on a machine that has become faster or slower.
    #[serde(rename = "DRIFT")]
    Drift,
    /// One of the two has nothing to compare.
    #[serde(rename = "NOT COMPARED")]
    NotCompared,
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Outcome::Same => "SAME",
            Outcome::Changed => "CHANGED",
            Outcome::Drift => "DRIFT",
            Outcome::NotCompared => "NOT COMPARED",
        })
    }
}

/// One aspect: code, outputs or speed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The outcome.
    pub outcome: Outcome,
    /// What differs, or why there was no comparison; a line each.
    pub details: Vec<String>,
}

impl Part {
    fn new(details: Vec<String>, otherwise: Outcome) -> Part {
        let outcome = if details.is_empty() {
            Outcome::Same
        } else {
            otherwise
        };
        Part { outcome, details }
    }

    fn not_compared(why: &str) -> Part {
        Part {
            outcome: Outcome::NotCompared,
            details: vec![why.to_owned()],
        }
    }
}

/// The whole comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comparison {
    /// Machine code and host code of both sides.
    pub code: Part,
    /// Gates, their figures and what they printed.
    pub outputs: Part,
    /// Effects and levels of the benches.
    pub speed: Part,
    /// The verdicts, original and repeated; `None` where a run was not judged.
    pub verdicts: (Option<Verdict>, Option<Verdict>),
    /// What differs in machine, toolchain and runner; a line each.
    pub environment: Vec<String>,
}

impl Comparison {
    /// 0 where nothing compared differs, 1 where something changed, 5 where only the machine's
    /// speed did, 4 where nothing could be compared.
    pub fn exit_code(&self) -> u8 {
        let parts = [self.code.outcome, self.outputs.outcome, self.speed.outcome];
        if parts.contains(&Outcome::Changed) {
            1
        } else if parts.contains(&Outcome::Drift) {
            5
        } else if parts.iter().all(|outcome| *outcome == Outcome::NotCompared) {
            4
        } else {
            0
        }
    }
}

/// The gates' kept outputs of a run, in order; `None` for one that is lost.
type Outputs = Vec<Option<Vec<u8>>>;

/// Compares a repetition with its original.
pub fn compare(
    original: &StoredRun,
    repeated: &StoredRun,
    outputs: (Outputs, Outputs),
) -> Comparison {
    let verdict = |run: &StoredRun| run.judgement.as_ref().map(|judgement| judgement.verdict);
    Comparison {
        code: code(&original.evidence, &repeated.evidence),
        outputs: gates(&original.evidence, &repeated.evidence, outputs),
        speed: speed(original.judgement.as_ref(), repeated.judgement.as_ref()),
        verdicts: (verdict(original), verdict(repeated)),
        environment: environment(original, repeated),
    }
}

fn code(before: &Evidence, after: &Evidence) -> Part {
    if let (Some(before), Some(after)) = (&before.code, &after.code) {
        let mut details = Vec::new();
        for side in Side::BOTH {
            let delta = sass::diff(before.reports.get(side), after.reports.get(side));
            let words = crate::inspect::differences(&delta);
            details.extend(words.into_iter().map(|word| format!("{side}: {word}")));
        }
        return Part::new(details, Outcome::Changed);
    }
    let failures = |builds: &PerSide<Option<BuildEvidence>>| {
        let failed = |build: &Option<BuildEvidence>| {
            build.as_ref().and_then(|build| {
                build
                    .first_error
                    .clone()
                    .or_else(|| build.failure.as_ref().map(crate::judge::failure_words))
            })
        };
        [failed(&builds.base), failed(&builds.head)]
    };
    let (old, new) = (failures(&before.builds), failures(&after.builds));
    match (old.iter().any(Option::is_some), old == new) {
        (true, true) => Part::new(Vec::new(), Outcome::Changed),
        (true, false) => Part::new(
            vec!["a build fails in another way".to_owned()],
            Outcome::Changed,
        ),
        (false, _) if new.iter().any(Option::is_some) => {
            let error = new.into_iter().flatten().next().unwrap_or_default();
            Part::new(
                vec![format!("a side does not build any more: {error}")],
                Outcome::Changed,
            )
        }
        (false, _) => Part::not_compared("one of the two runs has no inspected code"),
    }
}

fn gates(before: &Evidence, after: &Evidence, outputs: (Outputs, Outputs)) -> Part {
    if before.gates.is_empty() || after.gates.is_empty() {
        return Part::not_compared("one of the two runs has no gates");
    }
    let mut details = Vec::new();
    for old in &before.gates {
        let same_gate = |new: &&crate::model::GateEvidence| {
            (new.kind, &new.name, new.side) == (old.kind, &old.name, old.side)
        };
        let Some(new) = after.gates.iter().find(same_gate) else {
            details.push(format!("{}: not run again", old.name));
            continue;
        };
        let passes = |outcome: &GateOutcome| {
            matches!(outcome, GateOutcome::Passed | GateOutcome::Flaky { .. })
        };
        if passes(&old.outcome) != passes(&new.outcome) {
            let words = crate::judge::gate_words(new);
            details.push(format!("{}: another outcome: {words}", old.name));
        }
        for (was, is) in old.figures.iter().zip(&new.figures) {
            if was.value.map(f64::to_bits) != is.value.map(f64::to_bits) {
                let show = |value: Option<f64>| value.map_or("none".to_owned(), |v| v.to_string());
                let (was, is) = (show(was.value), show(is.value));
                details.push(format!("{}: figure {was} is {is} now", old.name));
            }
        }
    }
    if outputs.0.contains(&None) || outputs.1.contains(&None) {
        let lost = "a stored output is lost, so that not all could be compared";
        if details.is_empty() {
            return Part::not_compared(lost);
        }
        details.push(lost.to_owned());
    } else if outputs.0 != outputs.1 {
        details.push("what the gates printed differs".to_owned());
    }
    Part::new(details, Outcome::Changed)
}

fn speed(before: Option<&Judgement>, after: Option<&Judgement>) -> Part {
    let benches = |judgement: Option<&Judgement>| -> Vec<BenchJudgement> {
        judgement
            .map(|judgement| judgement.benches.clone())
            .unwrap_or_default()
    };
    let (before, after) = (benches(before), benches(after));
    let mut compared = 0;
    let (mut changed, mut drifted) = (Vec::new(), Vec::new());
    for old in &before {
        let Some(new) = after.iter().find(|new| new.bench == old.bench) else {
            continue;
        };
        let (Some(was), Some(is)) = (&old.effect, &new.effect) else {
            continue;
        };
        compared += 1;
        if was.high < is.low || is.high < was.low {
            // Each beside the other's nearer end, so that what is shown does not overlap either.
            let (was_end, is_end) = match was.high < is.low {
                true => (was.high, is.low),
                false => (was.low, is.high),
            };
            changed.push(format!(
                "{}: the effect was {} % and is {} % now",
                old.bench,
                numbers::interval((was.low, was.high), Some(is_end)),
                numbers::interval((is.low, is.high), Some(was_end))
            ));
        }
        if let (Some(was), Some(is)) = (old.base_median, new.base_median) {
            let moved = crate::stats::pair_effect(was, is, old.better);
            if moved.abs() > LEVEL_BAND {
                let value = |v: f64, beside: f64| {
                    format!("{} {}", numbers::value_beside(v, &[beside]), old.unit)
                };
                drifted.push(format!(
                    "{}: base's level moved by {} (from {} to {})",
                    old.bench,
                    numbers::percent(moved, Some(LEVEL_BAND.copysign(moved))),
                    value(was, is),
                    value(is, was)
                ));
            }
        }
    }
    match (compared, changed.is_empty(), drifted.is_empty()) {
        (0, ..) => Part::not_compared("one of the two runs was not measured"),
        (_, false, _) => {
            changed.extend(drifted);
            Part {
                outcome: Outcome::Changed,
                details: changed,
            }
        }
        (_, true, false) => Part {
            outcome: Outcome::Drift,
            details: drifted,
        },
        (_, true, true) => Part {
            outcome: Outcome::Same,
            details: Vec::new(),
        },
    }
}

/// Names and values that are one side's only.
fn environment(original: &StoredRun, repeated: &StoredRun) -> Vec<String> {
    let mut differences = Vec::new();
    for (what, before, after) in [
        ("machine", &original.machine, &repeated.machine),
        ("toolchain", &original.toolchain, &repeated.toolchain),
    ] {
        let before: std::collections::BTreeMap<_, _> =
            crate::record::facts(before).into_iter().collect();
        let after: std::collections::BTreeMap<_, _> =
            crate::record::facts(after).into_iter().collect();
        for name in before
            .keys()
            .chain(after.keys())
            .collect::<std::collections::BTreeSet<_>>()
        {
            let (was, is) = (before.get(name), after.get(name));
            if was != is {
                let show =
                    |value: Option<&String>| value.cloned().unwrap_or_else(|| "absent".to_owned());
                differences.push(format!("{what} {name}: {} -> {}", show(was), show(is)));
            }
        }
    }
    let runner = |run: &StoredRun| {
        format!(
            "{} ({})",
            run.row.runner_version,
            &run.row.runner_sha256[..12.min(run.row.runner_sha256.len())]
        )
    };
    if original.row.runner_sha256 != repeated.row.runner_sha256 {
        differences.push(format!(
            "runner: {} -> {}",
            runner(original),
            runner(repeated)
        ));
    }
    differences
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Better, Effect, Finding, Role};

    fn judgement(low: f64, high: f64, base: f64) -> Judgement {
        Judgement {
            verdict: Verdict::Landed,
            headline: String::new(),
            why: String::new(),
            reasons: Vec::new(),
            revert_verified: None,
            benches: vec![BenchJudgement {
                bench: "speed".to_owned(),
                unit: "tok/s".to_owned(),
                better: Better::Higher,
                role: Role::Target,
                bar: None,
                bar_percent: None,
                pairs: 6,
                pairs_missing: 0,
                pairs_positive: 6,
                base_median: Some(base),
                head_median: Some(base),
                effect: Some(Effect {
                    estimate: (low + high) / 2.0,
                    low,
                    high,
                    coverage: 0.95,
                    min: low,
                    max: high,
                }),
                finding: Finding::ReachesBar,
                looks: Vec::new(),
            }],
        }
    }

    #[test]
    fn speed_is_same_changed_or_drift() {
        let original = judgement(1.0, 2.0, 100.0);
        let outcome = |again: &Judgement| speed(Some(&original), Some(again)).outcome;
        assert_eq!(outcome(&judgement(1.5, 2.5, 101.0)), Outcome::Same);
        assert_eq!(outcome(&judgement(1.5, 2.5, 110.0)), Outcome::Drift);
        assert_eq!(outcome(&judgement(2.1, 2.5, 100.0)), Outcome::Changed);
        assert_eq!(speed(Some(&original), None).outcome, Outcome::NotCompared);
    }

    #[test]
    fn exit_statuses_tell_apart_what_scripts_need() {
        let part = |outcome| Part {
            outcome,
            details: Vec::new(),
        };
        let code = |code, outputs, speed| {
            let (code, outputs, speed) = (part(code), part(outputs), part(speed));
            Comparison {
                code,
                outputs,
                speed,
                verdicts: (None, None),
                environment: Vec::new(),
            }
            .exit_code()
        };
        use Outcome::{Changed, Drift, NotCompared, Same};
        assert_eq!(code(Same, NotCompared, NotCompared), 0);
        assert_eq!(code(Same, Changed, Drift), 1);
        assert_eq!(code(Same, Same, Drift), 5);
        assert_eq!(code(NotCompared, NotCompared, NotCompared), 4);
    }
}
