//! Which launches did the same work, on one side and across the sides. Pure.
//!
//! Launches of one entry, kernel and geometry did the same work, so the smallest of their values
//! counts: what arbitration adds on a busy SM is never negative.

use super::names::{metrics_of, value_of};
use crate::model::{CounterLaunch, CounterProfile, Side};

/// Launches of one kernel of one entry on one side, all of one geometry.
#[derive(Debug, Clone)]
pub struct Group<'a> {
    /// The profile that they are of.
    pub profile: &'a CounterProfile,
    /// The launches; never empty.
    pub launches: Vec<&'a CounterLaunch>,
    /// The first of them.
    pub first: &'a CounterLaunch,
}

/// The values of one counter over the launches of a group.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Values {
    /// The smallest, which counts.
    pub least: f64,
    /// The largest.
    pub most: f64,
    /// Of how many launches.
    pub launches: usize,
}

/// The groups of a side, in the order of their first launches.
pub fn groups(profiles: &[CounterProfile], side: Side) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for profile in profiles.iter().filter(|profile| profile.side == side) {
        for launch in &profile.launches {
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

impl Group<'_> {
    /// Whether both are of the same kernel of the same entry.
    pub fn is_alike(&self, other: &Group<'_>) -> bool {
        self.profile.entry == other.profile.entry && self.first.kernel == other.first.kernel
    }

    /// Whether both have the same grid and block.
    pub fn has_geometry_of(&self, other: &Group<'_>) -> bool {
        (&self.first.grid, &self.first.block) == (&other.first.grid, &other.first.block)
    }

    /// The values of a counter or metric; `Err` says why there is none.
    pub fn values(&self, counter: &str) -> Result<Values, String> {
        let values = self.launches.iter().filter_map(|l| value_of(counter, l));
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
        let metrics = metrics_of(counter);
        let mut absent = self.profile.absent.iter();
        let found = absent.find(|absent| metrics.contains(&absent.metric.as_str()));
        let reason = found.map_or("the profiler was not asked for it", |absent| &absent.reason);
        format!("`{counter}` has no value: {reason}")
    }
}

/// Base's group of the same entry and kernel: that of the same geometry, else the only one where
/// each side has but one. A kernel that was renamed is found where it is the entry's only one.
pub fn counterpart<'g, 'a>(
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
    let mut base = bases.iter().filter(of_entry);
    let alone = heads.iter().filter(of_entry).count() == 1;
    match (base.next(), base.next()) {
        (Some(only), None) if alone => Some(only),
        _ => None,
    }
}
