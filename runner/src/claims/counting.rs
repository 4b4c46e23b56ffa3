//! Claims on hardware counters: about the launches that a profiler watched, not about the
//! compiled code.
//!
//! Of several launches of the same work the smallest value counts (`crate::counters`), and
//! comparisons are exact unless the claim has a tolerance.

use std::collections::BTreeSet;

use super::ast::{Claim, Metric, number_text};
use super::evaluate::{Answer, Evaluation, holds, not_evaluated, summary};
use super::pattern::{Matcher, function_name};
use crate::counters::{self, Group, Values, counterpart};
use crate::model::{
    ClaimOutcome, CounterProfile, ProfileFailure, RegisteredClaim, Side, failed_on_head_only,
};

/// What there is to evaluate claims on counters.
#[derive(Debug, Clone, Copy)]
pub enum CounterFacts<'a> {
    /// These were taken.
    Taken(&'a [CounterProfile]),
    /// They will be, later in the run.
    Pending,
    /// They will not; why.
    Unavailable(&'a str),
}

/// The counters that claims name, each once.
pub fn counters_named(claims: &[RegisteredClaim]) -> Vec<String> {
    let named: BTreeSet<String> = claims
        .iter()
        .filter_map(|claim| match claim.text.parse::<Claim>().ok()?.metric {
            Metric::Counter { name } => Some(name),
            _ => None,
        })
        .collect();
    named.into_iter().collect()
}

/// The side on which alone an entry's launches have a value for a claim on a counter; `None` where
/// each entry has one on both sides or on neither.
pub fn counted_side(claim: &str, profiles: &[CounterProfile]) -> Option<Side> {
    let claim: Claim = claim.parse().ok()?;
    let Metric::Counter { name } = &claim.metric else {
        return None;
    };
    let matcher = Matcher::new(&claim.kernel).ok()?;
    let entries = |side: Side| -> BTreeSet<&str> {
        let groups = counters::groups(profiles, side);
        let about = groups.iter().filter(|group| {
            let arch = claim.arch.as_deref();
            arch.is_none_or(|arch| group.first.arch.as_deref() == Some(arch))
                && matcher.matches(&group.first.kernel)
                && group.values(name).is_ok()
        });
        about.map(|group| group.profile.entry.as_str()).collect()
    };
    let (base, head) = (entries(Side::Base), entries(Side::Head));
    match (base.is_subset(&head), head.is_subset(&base)) {
        (true, true) => None,
        (true, false) => Some(Side::Head),
        (false, _) => Some(Side::Base),
    }
}

/// `23`, or `23 (smallest of 3 launches, at most 41)`.
fn text(values: Values) -> String {
    let least = number_text(values.least);
    match values.launches {
        1 => least,
        n if values.least == values.most => format!("{least} in each of {n} launches"),
        n => format!(
            "{least} (smallest of {n} launches, at most {})",
            number_text(values.most)
        ),
    }
}

/// What was counted of the kernels of a claim.
struct Counted<'a> {
    profiles: &'a [CounterProfile],
    heads: Vec<Group<'a>>,
    bases: Vec<Group<'a>>,
}

impl Counted<'_> {
    /// Why an entry was not profiled on base.
    fn failure_on_base(&self, entry: &str) -> Option<&ProfileFailure> {
        let mut profiles = self.profiles.iter();
        let of_base = profiles.find(|p| p.side == Side::Base && p.entry == entry);
        of_base?.failure.as_ref()
    }
}

impl<'a> Evaluation<'a> {
    /// Evaluates a claim on a counter.
    pub(super) fn counted(&self, counter: &str, matcher: &Matcher) -> (ClaimOutcome, String) {
        let profiles = match self.context.counters {
            CounterFacts::Taken(profiles) => profiles,
            CounterFacts::Pending => {
                let reason = "counters are taken after the gates, and the run ended before";
                return (not_evaluated(reason), String::new());
            }
            CounterFacts::Unavailable(why) => {
                let observed = match self.is_compiled(matcher) {
                    true => String::new(),
                    false => self.no_match(matcher, &self.matching(Side::Base, matcher)),
                };
                return (not_evaluated(why), observed);
            }
        };
        let counted = Counted {
            profiles,
            heads: self.groups(profiles, Side::Head, matcher),
            bases: self.groups(profiles, Side::Base, matcher),
        };
        let mut answers = failed_answers(profiles, &counted.bases);
        let heads = counted.heads.iter();
        answers.extend(heads.map(|head| self.compare(counter, head, &counted)));
        if answers.is_empty() {
            return self.nothing_counted(profiles, matcher);
        }
        (summary(&answers), self.describe(&answers))
    }

    /// The groups of a side that the claim is about.
    fn groups(
        &self,
        profiles: &'a [CounterProfile],
        side: Side,
        matcher: &Matcher,
    ) -> Vec<Group<'a>> {
        let arch = self.claim.arch.as_deref();
        let mut groups = counters::groups(profiles, side);
        groups.retain(|group| {
            let launch = group.first;
            arch.is_none_or(|arch| launch.arch.as_deref() == Some(arch))
                && matcher.matches(&launch.kernel)
        });
        groups
    }

    fn compare(&self, counter: &str, head: &Group<'_>, counted: &Counted<'_>) -> Answer {
        let prefix = prefix(head, &counted.heads);
        let base = counterpart(head, &counted.heads, &counted.bases);
        let read = |group: &Group<'_>| group.values(counter);
        let head_values = match read(head) {
            Ok(values) => values,
            Err(reason) => return answer(head, not_evaluated(reason), String::new()),
        };
        let sides = match base.map(read) {
            Some(Ok(base)) => format!("base {}, head {}", text(base), text(head_values)),
            _ => format!("head {}", text(head_values)),
        };
        let said = format!("{prefix}{counter}: {sides}");
        let relation = &self.claim.relation;
        let base_value = match base.map(read) {
            Some(Ok(values)) => values.least,
            _ if !relation.needs_base() => 0.0,
            Some(Err(reason)) => {
                return answer(head, not_evaluated(format!("base: {reason}")), said);
            }
            None => {
                if let Some(failure) = counted.failure_on_base(&head.profile.entry) {
                    let reason = format!("base: {}", counters::failure_words(failure));
                    return answer(head, not_evaluated(reason), said);
                }
                let said = format!("{said} (base has no such launch)");
                return answer(head, ClaimOutcome::Fails, said);
            }
        };
        let outcome = match holds(relation, base_value, head_values.least) {
            true => ClaimOutcome::Holds,
            false => ClaimOutcome::Fails,
        };
        answer(head, outcome, said)
    }

    /// Why no launch of head is of a kernel that the claim is about.
    fn nothing_counted(
        &self,
        profiles: &[CounterProfile],
        matcher: &Matcher,
    ) -> (ClaimOutcome, String) {
        let failure = profiles.iter().find_map(|profile| {
            let words = counters::failure_words(profile.failure.as_ref()?);
            Some(format!("{} on {}: {words}", profile.entry, profile.side))
        });
        if let Some(failure) = failure {
            return (not_evaluated(failure), String::new());
        }
        let compiled = &self.context.reports.head.kernels;
        if !compiled.is_empty() && !self.is_compiled(matcher) {
            let base = self.matching(Side::Base, matcher);
            return (ClaimOutcome::Fails, self.no_match(matcher, &base));
        }
        let profiled: BTreeSet<&str> = profiles
            .iter()
            .flat_map(|profile| &profile.launches)
            .map(|launch| function_name(&launch.kernel))
            .collect();
        let profiled: Vec<_> = profiled
            .into_iter()
            .map(|name| format!("`{name}`"))
            .collect();
        let reason = format!(
            "no profiled launch is of such a kernel (profiled: {}); add a [[counters]] that \
             launches it",
            profiled.join(", ")
        );
        (not_evaluated(reason), String::new())
    }

    /// Whether head's compiled code holds a kernel that the claim is about.
    fn is_compiled(&self, matcher: &Matcher) -> bool {
        !self.matching(Side::Head, matcher).is_empty()
    }
}

/// Entries that were counted on base, for a kernel of the claim, and not on head: where only
/// head's command fails the claim fails with it, else it stays open.
fn failed_answers(profiles: &[CounterProfile], bases: &[Group<'_>]) -> Vec<Answer> {
    let by_head = failed_on_head_only(profiles);
    let mut answers: Vec<Answer> = Vec::new();
    let mut seen = BTreeSet::new();
    for base in bases {
        let entry = &base.profile.entry;
        let head = profiles
            .iter()
            .find(|p| p.side == Side::Head && p.entry == *entry);
        let Some(failure) = head.and_then(|head| head.failure.as_ref()) else {
            continue;
        };
        if !seen.insert(entry) {
            continue;
        }
        let words = format!("{entry} on head: {}", counters::failure_words(failure));
        answers.push(
            match by_head.iter().any(|profile| profile.entry == *entry) {
                true => answer(
                    base,
                    ClaimOutcome::Fails,
                    format!("{words}; base's works, so head is at fault"),
                ),
                false => answer(base, not_evaluated(words), String::new()),
            },
        );
    }
    answers
}

fn answer(group: &Group<'_>, outcome: ClaimOutcome, text: String) -> Answer {
    Answer {
        outcome,
        kernel: function_name(&group.first.kernel).to_owned(),
        arch: group.first.arch.clone().unwrap_or_default(),
        text,
    }
}

/// What tells a group from others of the same kernel: entry and grid, as far as they differ.
fn prefix(group: &Group<'_>, all: &[Group<'_>]) -> String {
    let same_kernel = || all.iter().filter(|g| g.first.kernel == group.first.kernel);
    let entries = same_kernel().any(|g| g.profile.entry != group.profile.entry);
    let grids = same_kernel().any(|g| g.is_alike(group) && !g.has_geometry_of(group));
    match (entries, grids) {
        (false, false) => String::new(),
        (true, false) => format!("{}, ", group.profile.entry),
        (false, true) => format!("grid {}, ", group.first.grid),
        (true, true) => format!("{}, grid {}, ", group.profile.entry, group.first.grid),
    }
}
