//! Whether claims hold, on reports of both sides.
//!
//! A claim holds if it holds for every kernel of head that its pattern matches, on every
//! architecture. A kernel that does not exist makes it fail: a statement about nothing is a slip.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use sass::Kernel;

use super::ast::{Claim, Comparison, Metric, Operand, Relation};
use super::counting::CounterFacts;
use super::opcodes;
use super::pairing::{Counterpart, counterpart, lost};
use super::pattern::{Matcher, function_name};
use super::reading::{Facts, Reading, read, shown, shown_count};
use crate::config::{KernelFacts, nearest};
use crate::model::{ClaimEvidence, ClaimOutcome, LaunchOccupancy, PerSide, RegisteredClaim, Side};

/// What claims are evaluated on.
pub struct ClaimContext<'a> {
    /// What each side's outputs hold.
    pub reports: &'a PerSide<sass::Report>,
    /// Each side's `[[kernel]]` tables; the same twice where one config serves both sides.
    pub facts: PerSide<&'a [KernelFacts]>,
    /// Occupancy of a kernel of a side; `None` where its launch is not known.
    pub occupancy: &'a dyn Fn(Side, &Kernel) -> Option<LaunchOccupancy>,
    /// What a profiler counted.
    pub counters: CounterFacts<'a>,
}

/// Kernels named one by one in `observed`, before it says how many more there are.
const NAMED: usize = 4;

/// Evaluates claims, in their order.
pub fn evaluate(claims: &[RegisteredClaim], context: &ClaimContext<'_>) -> Vec<ClaimEvidence> {
    let facts = PerSide {
        base: Facts::new(context.facts.base),
        head: Facts::new(context.facts.head),
    };
    claims
        .iter()
        .map(|registered| {
            let finding = match registered.text.parse::<Claim>() {
                Ok(claim) => Evaluation {
                    claim: &claim,
                    context,
                    facts: &facts,
                    nowhere: OnceCell::new(),
                }
                .finding(),
                Err(error) => Finding {
                    outcome: not_evaluated(format!("the claim cannot be read: {error}")),
                    expected: String::new(),
                    observed: String::new(),
                },
            };
            ClaimEvidence {
                text: registered.text.clone(),
                source: registered.source,
                outcome: finding.outcome,
                expected: finding.expected,
                observed: finding.observed,
            }
        })
        .collect()
}

struct Finding {
    outcome: ClaimOutcome,
    expected: String,
    observed: String,
}

pub(super) fn not_evaluated(reason: impl Into<String>) -> ClaimOutcome {
    ClaimOutcome::NotEvaluated {
        reason: reason.into(),
    }
}

/// What one kernel says.
pub(super) struct Answer {
    pub(super) outcome: ClaimOutcome,
    pub(super) kernel: String,
    pub(super) arch: String,
    pub(super) text: String,
}

impl Answer {
    fn new(kernel: &Kernel, outcome: ClaimOutcome, text: String) -> Self {
        Answer {
            outcome,
            kernel: function_name(&kernel.name).to_owned(),
            arch: kernel.arch.clone(),
            text,
        }
    }

    fn of(kernel: &Kernel, holds: bool, text: String) -> Self {
        let outcome = match holds {
            true => ClaimOutcome::Holds,
            false => ClaimOutcome::Fails,
        };
        Answer::new(kernel, outcome, text)
    }
}

pub(super) struct Evaluation<'a> {
    pub(super) claim: &'a Claim,
    pub(super) context: &'a ClaimContext<'a>,
    facts: &'a PerSide<Facts<'a>>,
    /// Whether the claim's opcode occurs in no kernel of either side.
    nowhere: OnceCell<bool>,
}

impl<'a> Evaluation<'a> {
    fn finding(&self) -> Finding {
        let expected = match self.claim.metric {
            Metric::Code => "code unchanged".to_owned(),
            _ => format!("{} {}", self.claim.metric.label(), self.claim.relation),
        };
        let (outcome, observed) = match Matcher::new(&self.claim.kernel) {
            Ok(matcher) => match &self.claim.metric {
                Metric::Counter { name } => self.counted(name, &matcher),
                _ => self.observe(&matcher),
            },
            Err(error) => (not_evaluated(error.to_string()), String::new()),
        };
        Finding {
            outcome,
            expected,
            observed,
        }
    }

    fn observe(&self, matcher: &Matcher) -> (ClaimOutcome, String) {
        let matched = PerSide {
            base: self.matching(Side::Base, matcher),
            head: self.matching(Side::Head, matcher),
        };
        if matched.head.is_empty() {
            return (ClaimOutcome::Fails, self.no_match(matcher, &matched.base));
        }
        if let Some(observed) = self.unknown_opcode(&matched) {
            return (ClaimOutcome::Fails, observed);
        }
        let mut answers: Vec<Answer> = matched
            .head
            .iter()
            .map(|kernel| self.answer(kernel, &matched))
            .collect();
        if matches!(self.claim.relation, Relation::Unchanged) {
            answers.extend(
                lost(&matched)
                    .into_iter()
                    .map(|kernel| Answer::of(kernel, false, "head has no such kernel".to_owned())),
            );
        }
        (summary(&answers), self.describe(&answers))
    }

    /// The kernels of a side that the claim is about.
    pub(super) fn matching(&self, side: Side, matcher: &Matcher) -> Vec<&'a Kernel> {
        let arch = self.claim.arch.as_deref();
        self.context
            .reports
            .get(side)
            .kernels
            .iter()
            .filter(|k| arch.is_none_or(|arch| arch == k.arch) && matcher.matches(&k.name))
            .collect()
    }

    /// Why nothing matches, and what there is.
    pub(super) fn no_match(&self, matcher: &Matcher, base: &[&Kernel]) -> String {
        let head = &self.context.reports.head.kernels;
        if head.is_empty() {
            return "no kernel matches: head's outputs hold no compiled kernel".to_owned();
        }
        let other_archs: BTreeSet<&str> = head
            .iter()
            .filter(|kernel| matcher.matches(&kernel.name))
            .map(|kernel| kernel.arch.as_str())
            .collect();
        if let (Some(arch), false) = (&self.claim.arch, other_archs.is_empty()) {
            let there: Vec<_> = other_archs.into_iter().collect();
            return format!(
                "no kernel matches for {arch}; the kernel is there for {}",
                there.join(", ")
            );
        }
        if let Some(kernel) = base.first() {
            return format!(
                "no kernel of head matches; base has `{}`",
                function_name(&kernel.name)
            );
        }
        let names: BTreeSet<&str> = head.iter().map(|k| function_name(&k.name)).collect();
        let wanted = self.claim.kernel.to_string();
        match nearest(&wanted, names.iter().copied()) {
            Some(name) => format!("no kernel matches; nearest: `{name}`"),
            None => {
                let few: Vec<String> = names.iter().take(5).map(|n| format!("`{n}`")).collect();
                let more = names.len() - few.len();
                let more = match more {
                    0 => String::new(),
                    n => format!(" and {} more", shown_count(n)),
                };
                format!("no kernel matches; there is {}{more}", few.join(", "))
            }
        }
    }

    /// For an opcode that occurs in no census and is called like no known one, what it may be.
    fn unknown_opcode(&self, matched: &PerSide<Vec<&Kernel>>) -> Option<String> {
        let Metric::Sass { opcode } = &self.claim.metric else {
            return None;
        };
        if matched.head.iter().any(|kernel| kernel.census.is_none()) {
            return None;
        }
        let root = opcode.split('.').next().unwrap_or_default();
        let seen: BTreeSet<&str> = self
            .censuses()
            .flat_map(|census| census.opcodes.keys())
            .filter_map(|name| name.split('.').next())
            .collect();
        if seen.contains(root) || opcodes::known().any(|known| known == root) {
            return None;
        }
        let near = nearest(root, seen.into_iter().chain(opcodes::known()));
        Some(match near {
            Some(near) => format!("no instruction is called `{root}`; nearest: `{near}`"),
            None => format!("no instruction is called `{root}`"),
        })
    }

    fn censuses(&self) -> impl Iterator<Item = &'a sass::Census> {
        let reports = self.context.reports;
        let kernels = reports.base.kernels.iter().chain(&reports.head.kernels);
        kernels.filter_map(|kernel| kernel.census.as_ref())
    }

    fn answer(&self, kernel: &Kernel, matched: &PerSide<Vec<&'a Kernel>>) -> Answer {
        let base = counterpart(kernel, matched);
        if matches!(self.claim.metric, Metric::Code) {
            return code(kernel, base);
        }
        let head_reading = match self.read(kernel, Side::Head) {
            Ok(reading) => reading,
            Err(reason) => return Answer::new(kernel, not_evaluated(reason), String::new()),
        };
        let base_reading = match base {
            Counterpart::One(base) => Some(self.read(base, Side::Base)),
            Counterpart::None | Counterpart::Several => None,
        };
        let note = self.note(&head_reading);
        let text = self.sides(&base_reading, &head_reading) + &note;
        let base_value = match (&base_reading, base, self.claim.relation.needs_base()) {
            (_, _, false) => 0.0,
            (Some(Ok(reading)), _, _) => reading.value,
            (Some(Err(reason)), _, _) => {
                return Answer::new(kernel, not_evaluated(format!("base: {reason}")), text);
            }
            (None, Counterpart::Several, _) => {
                let reason = "base has several different kernels of this name and architecture";
                return Answer::new(kernel, not_evaluated(reason), text);
            }
            (None, _, _) => {
                return Answer::of(kernel, false, format!("{text} (base has no such kernel)"));
            }
        };
        let holds = holds(&self.claim.relation, base_value, head_reading.value);
        Answer::of(kernel, holds, text)
    }

    fn read(&self, kernel: &Kernel, side: Side) -> Result<Reading, String> {
        read(&self.claim.metric, kernel, side, self.context, self.facts)
    }

    /// `LDS.64: base 32, head 0`; where the claim is about a change in percent, that as well.
    fn sides(&self, base: &Option<Result<Reading, String>>, head: &Reading) -> String {
        let metric = &self.claim.metric;
        let label = metric.label();
        let shown_head = shown(metric, head.value);
        let Some(Ok(base)) = base else {
            return format!("{label}: head {shown_head}");
        };
        let text = format!(
            "{label}: base {}, head {shown_head}",
            shown(metric, base.value)
        );
        match self.claim.relation {
            Relation::Change { percent, .. } if base.value != 0.0 => {
                let change = 100.0 * (head.value - base.value) / base.value;
                format!(
                    "{text} ({})",
                    crate::numbers::percent(change, Some(percent))
                )
            }
            _ => text,
        }
    }

    fn note(&self, head: &Reading) -> String {
        if let Metric::Sass { opcode } = &self.claim.metric
            && opcode.contains('.')
            && *self
                .nowhere
                .get_or_init(|| self.censuses().all(|census| census.count(opcode) == 0))
        {
            return format!(" (`{opcode}` occurs in no kernel of either side)");
        }
        head.note
            .map_or_else(String::new, |note| format!(" ({note})"))
    }

    pub(super) fn describe(&self, answers: &[Answer]) -> String {
        let archs: BTreeSet<&str> = answers.iter().map(|a| a.arch.as_str()).collect();
        let names: BTreeSet<&str> = answers.iter().map(|a| a.kernel.as_str()).collect();
        let mut lines: Vec<String> = Vec::new();
        // What speaks against the claim comes first.
        let mut ordered: Vec<&Answer> = answers.iter().collect();
        ordered.sort_by_key(|answer| match answer.outcome {
            ClaimOutcome::Fails => 0,
            ClaimOutcome::NotEvaluated { .. } => 1,
            ClaimOutcome::Holds => 2,
        });
        for answer in ordered {
            if answer.text.is_empty() {
                continue;
            }
            let mut line = String::new();
            if names.len() > 1 {
                line.push_str(&format!("{} ", answer.kernel));
            }
            if archs.len() > 1 {
                line.push_str(&format!("{} ", answer.arch));
            }
            line.push_str(&answer.text);
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        let more = lines.len().saturating_sub(NAMED);
        lines.truncate(NAMED);
        if more > 0 {
            lines.push(format!("and {} more", shown_count(more)));
        }
        lines.join("; ")
    }
}

fn code(kernel: &Kernel, base: Counterpart<'_>) -> Answer {
    match base {
        Counterpart::One(base) if base.code_hash == kernel.code_hash => {
            Answer::of(kernel, true, "same machine code".to_owned())
        }
        Counterpart::One(_) => Answer::of(kernel, false, "other machine code".to_owned()),
        Counterpart::Several => Answer::new(
            kernel,
            not_evaluated("base has several different kernels of this name and architecture"),
            String::new(),
        ),
        Counterpart::None => Answer::of(kernel, false, "base has no such kernel".to_owned()),
    }
}

/// Fails if any kernel fails; holds if all hold.
pub(super) fn summary(answers: &[Answer]) -> ClaimOutcome {
    let fails = |answer: &Answer| answer.outcome == ClaimOutcome::Fails;
    if answers.iter().any(fails) {
        return ClaimOutcome::Fails;
    }
    let open = answers
        .iter()
        .find(|answer| answer.outcome != ClaimOutcome::Holds);
    open.map_or(ClaimOutcome::Holds, |answer| answer.outcome.clone())
}

/// Allowance for rounding in the percent arithmetic; far below any tolerance one would write.
const ROUNDING: f64 = 1e-9;

pub(super) fn holds(relation: &Relation, base: f64, head: f64) -> bool {
    match *relation {
        Relation::Compare { op, with, within } => {
            let given = match with {
                Operand::Number(value) => value,
                Operand::Base { offset } => base + offset,
            };
            match op {
                Comparison::Equal => within.allows(given, head),
                _ => op.holds(head, given),
            }
        }
        Relation::Transition { from, to, within } => {
            within.allows(from, base) && within.allows(to, head)
        }
        Relation::Unchanged => head == base,
        Relation::Down => head < base,
        Relation::Up => head > base,
        Relation::Change { percent, tolerance } => {
            base > 0.0 && (100.0 * (head - base) / base - percent).abs() <= tolerance + ROUNDING
        }
    }
}
