//! Claims on hardware counters: about the launches that a profiler watched, not about the
//! compiled code.
//!
//! Launches of one entry, kernel and geometry did the same work, so the smallest of their values
//! counts: what arbitration adds on a busy SM is never negative. Comparisons are exact unless the
//! claim has a tolerance.

use std::collections::BTreeSet;

use super::ast::{Claim, Metric, number_text};
use super::evaluate::{Answer, Evaluation, holds, not_evaluated, summary};
use super::pattern::{Matcher, function_name};
use crate::counters;
use crate::model::{
    ClaimOutcome, CounterLaunch, CounterProfile, RegisteredClaim, Side, failed_on_head_only,
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

/// Launches of one kernel of one entry on one side, all of one geometry.
struct Group<'a> {
    profile: &'a CounterProfile,
    first: &'a CounterLaunch,
    launches: Vec<&'a CounterLaunch>,
}

impl Group<'_> {
    fn is_alike(&self, other: &Group<'_>) -> bool {
        self.profile.entry == other.profile.entry && self.first.kernel == other.first.kernel
    }

    fn has_geometry_of(&self, other: &Group<'_>) -> bool {
        let geometry = |launch: &CounterLaunch| (launch.grid.clone(), launch.block.clone());
        geometry(self.first) == geometry(other.first)
    }

    /// The values of a counter; `Err` says why there is none.
    fn values(&self, counter: &str) -> Result<Values, String> {
        let values = self
            .launches
            .iter()
            .filter_map(|l| counters::value_of(counter, l));
        let found = values.fold(None, |so_far: Option<Values>, value| {
            Some(match so_far {
                None => Values {
                    least: value,
                    most: value,
                    launches: 1,
                },
                Some(so_far) => Values {
                    least: so_far.least.min(value),
                    most: so_far.most.max(value),
                    launches: so_far.launches + 1,
                },
            })
        });
        found.ok_or_else(|| self.why_absent(counter))
    }

    fn why_absent(&self, counter: &str) -> String {
        let metrics = counters::metrics_of(counter);
        let absent = self.profile.absent.iter();
        let reason = absent
            .filter(|absent| metrics.contains(&absent.metric.as_str()))
            .map(|absent| absent.reason.as_str())
            .next()
            .unwrap_or("the profiler was not asked for it");
        format!("`{counter}` has no value: {reason}")
    }
}

/// The values of one counter over the launches of a group.
#[derive(Clone, Copy)]
struct Values {
    least: f64,
    most: f64,
    launches: usize,
}

impl Values {
    /// `23`, or `23 (smallest of 3 launches, at most 41)`.
    fn text(self) -> String {
        let least = number_text(self.least);
        match self.launches {
            1 => least,
            n if self.least == self.most => format!("{least} in each of {n} launches"),
            n => format!(
                "{least} (smallest of {n} launches, at most {})",
                number_text(self.most)
            ),
        }
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
        let heads = self.groups(profiles, Side::Head, matcher);
        let bases = self.groups(profiles, Side::Base, matcher);
        let mut answers = failed_answers(profiles, &bases);
        answers.extend(
            heads
                .iter()
                .map(|head| self.compare(counter, head, &heads, &bases)),
        );
        if answers.is_empty() {
            return self.nothing_counted(profiles, matcher);
        }
        (summary(&answers), self.describe(&answers))
    }

    /// The groups of a side that the claim is about, in the order of their first launches.
    fn groups(
        &self,
        profiles: &'a [CounterProfile],
        side: Side,
        matcher: &Matcher,
    ) -> Vec<Group<'a>> {
        let arch = self.claim.arch.as_deref();
        let mut groups: Vec<Group<'a>> = Vec::new();
        for profile in profiles.iter().filter(|profile| profile.side == side) {
            let of_arch = |l: &&CounterLaunch| arch.is_none_or(|a| l.arch.as_deref() == Some(a));
            let launches = profile.launches.iter().filter(of_arch);
            for launch in launches.filter(|launch| matcher.matches(&launch.kernel)) {
                let new = Group {
                    profile,
                    first: launch,
                    launches: vec![launch],
                };
                let same = groups
                    .iter_mut()
                    .find(|group| group.is_alike(&new) && group.has_geometry_of(&new));
                match same {
                    Some(group) => group.launches.push(launch),
                    None => groups.push(new),
                }
            }
        }
        groups
    }

    fn compare(
        &self,
        counter: &str,
        head: &Group<'_>,
        heads: &[Group<'_>],
        bases: &[Group<'_>],
    ) -> Answer {
        let prefix = prefix(head, heads);
        let base = counterpart(head, heads, bases);
        let read = |group: &Group<'_>| group.values(counter);
        let head_values = match read(head) {
            Ok(values) => values,
            Err(reason) => return answer(head, not_evaluated(reason), String::new()),
        };
        let sides = match base.map(read) {
            Some(Ok(base)) => format!("base {}, head {}", base.text(), head_values.text()),
            _ => format!("head {}", head_values.text()),
        };
        let text = format!("{prefix}{counter}: {sides}");
        let relation = &self.claim.relation;
        let base_value = match base.map(read) {
            Some(Ok(values)) => values.least,
            _ if !relation.needs_base() => 0.0,
            Some(Err(reason)) => {
                return answer(head, not_evaluated(format!("base: {reason}")), text);
            }
            None => {
                let text = format!("{text} (base has no such launch)");
                return answer(head, ClaimOutcome::Fails, text);
            }
        };
        let outcome = match holds(relation, base_value, head_values.least) {
            true => ClaimOutcome::Holds,
            false => ClaimOutcome::Fails,
        };
        answer(head, outcome, text)
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
        let profiled: Vec<_> = profiled.into_iter().map(|name| format!("`{name}`")).collect();
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
        answers.push(match by_head.iter().any(|profile| profile.entry == *entry) {
            true => answer(
                base,
                ClaimOutcome::Fails,
                format!("{words}; base's works, so head is at fault"),
            ),
            false => answer(base, not_evaluated(words), String::new()),
        });
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

/// Base's group of the same entry and kernel: that of the same geometry, else the only one where
/// each side has but one. A kernel that was renamed is found where it is the entry's only one.
fn counterpart<'g, 'a>(
    head: &Group<'_>,
    heads: &[Group<'_>],
    bases: &'g [Group<'a>],
) -> Option<&'g Group<'a>> {
    let alike: Vec<&'g Group<'a>> = bases.iter().filter(|base| base.is_alike(head)).collect();
    if let Some(same) = alike.iter().find(|base| base.has_geometry_of(head)) {
        return Some(same);
    }
    let alone = heads.iter().filter(|h| h.is_alike(head)).count() == 1;
    match alike.as_slice() {
        [only] if alone => return Some(only),
        [] => {}
        _ => return None,
    }
    let of_entry = |group: &&Group<'_>| group.profile.entry == head.profile.entry;
    let mut base = bases.iter().filter(|base| of_entry(base));
    let alone = heads.iter().filter(|h| of_entry(h)).count() == 1;
    match (base.next(), base.next()) {
        (Some(only), None) if alone => Some(only),
        _ => None,
    }
}
