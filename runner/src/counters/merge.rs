//! What counts of a run whose counters were taken again. Pure.
//!
//! A taking that could not count an entry says nothing about it, so it must not displace what an
//! earlier one found out.

use crate::model::{CounterProfile, Side, failed_on_head_only};

/// The recorded profiles with those of a later taking: an entry's new ones count where they were
/// counted on both sides, or where the recorded ones settle nothing.
pub fn merged(recorded: &[CounterProfile], taken: &[CounterProfile]) -> Vec<CounterProfile> {
    let replaced =
        |entry: &str| has(taken, entry) && (is_counted(taken, entry) || !settles(recorded, entry));
    let kept = recorded.iter().filter(|p| !replaced(&p.entry));
    let new = taken.iter().filter(|p| replaced(&p.entry));
    kept.chain(new).cloned().collect()
}

fn of<'a>(
    profiles: &'a [CounterProfile],
    entry: &'a str,
) -> impl Iterator<Item = &'a CounterProfile> {
    profiles.iter().filter(move |p| p.entry == entry)
}

fn has(profiles: &[CounterProfile], entry: &str) -> bool {
    of(profiles, entry).next().is_some()
}

/// Whether an entry was counted on both sides.
fn is_counted(profiles: &[CounterProfile], entry: &str) -> bool {
    let counted = |side: Side| of(profiles, entry).any(|p| p.side == side && p.failure.is_none());
    Side::BOTH.into_iter().all(counted)
}

/// Whether claims on an entry's kernels hold or fail by its profiles.
fn settles(profiles: &[CounterProfile], entry: &str) -> bool {
    let by_head = failed_on_head_only(profiles);
    is_counted(profiles, entry) || by_head.iter().any(|p| p.entry == entry)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Failure, ProfileFailure, UnixMillis};

    fn profile(entry: &str, side: Side, failure: Option<ProfileFailure>) -> CounterProfile {
        CounterProfile {
            entry: entry.to_owned(),
            side,
            at: UnixMillis(0),
            profiler: None,
            launches: Vec::new(),
            absent: Vec::new(),
            failure,
            log: None,
        }
    }

    /// Base and head of an entry, told from others by the time.
    fn pair(entry: &str, at: i64, head: Option<ProfileFailure>) -> [CounterProfile; 2] {
        [(Side::Base, None), (Side::Head, head)].map(|(side, failure)| CounterProfile {
            at: UnixMillis(at),
            ..profile(entry, side, failure)
        })
    }

    #[test]
    fn only_what_was_counted_displaces_what_settles_a_claim() {
        let crash = || {
            Some(ProfileFailure::Command {
                failure: Failure::Exit { code: 3 },
                said: None,
            })
        };
        let silent = || {
            Some(ProfileFailure::NotUnderstood {
                line: String::new(),
                why: "it printed nothing".to_owned(),
            })
        };
        for (recorded, taken, new) in [
            (None, None, true),
            (None, silent(), false),
            (None, crash(), false),
            (crash(), silent(), false),
            (crash(), None, true),
            (silent(), silent(), true),
            (silent(), None, true),
        ] {
            let (recorded, taken) = (pair("a", 1, recorded), pair("a", 2, taken));
            let expected = if new { &taken } else { &recorded };
            assert_eq!(merged(&recorded, &taken), expected, "{taken:?}");
        }
    }

    #[test]
    fn an_entry_that_was_not_taken_again_stays() {
        let (a, b) = (pair("a", 1, None), pair("b", 2, None));
        assert_eq!(merged(&a, &b), [a.clone(), b.clone()].concat());
        assert_eq!(merged(&[], &b), b);
        assert_eq!(merged(&a, &[]), a);
    }
}
