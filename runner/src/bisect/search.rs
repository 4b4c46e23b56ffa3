//! Which commit to test next, and what the tests came to. Pure.

use std::ops::RangeInclusive;

/// What a test of a commit said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tested {
    /// It is not slower than the good end.
    Good,
    /// It is.
    Bad,
    /// It cannot be said: it does not build, or the comparison stays open.
    Unknown,
}

/// What comes next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Test this commit.
    Test(usize),
    /// This is the first bad commit.
    Found(usize),
    /// The first bad commit is one of these, and the others cannot be tested.
    OneOf(RangeInclusive<usize>),
}

/// A search among commits in order, of which the last one is bad; the one before the first is
/// good.
#[derive(Debug, Clone)]
pub struct Search {
    tested: Vec<Option<Tested>>,
}

impl Search {
    /// Begins with the commits after the good one, up to and with the bad one: at least one.
    pub fn new(commits: usize) -> Search {
        let mut tested = vec![None; commits.max(1)];
        if let Some(last) = tested.last_mut() {
            *last = Some(Tested::Bad);
        }
        Search { tested }
    }

    /// Takes what a test said.
    pub fn record(&mut self, commit: usize, said: Tested) {
        if let Some(place) = self.tested.get_mut(commit) {
            *place = Some(said);
        }
    }

    /// The commits among which the first bad one is.
    pub fn left(&self) -> RangeInclusive<usize> {
        let is = |wanted: Tested| move |said: &Option<Tested>| *said == Some(wanted);
        let bad = self.tested.iter().position(is(Tested::Bad)).unwrap_or(0);
        let before = &self.tested[..bad];
        let first = before.iter().rposition(is(Tested::Good));
        first.map_or(0, |good| good + 1)..=bad
    }

    /// What comes next: the untested commit that is nearest to the middle.
    pub fn next(&self) -> Step {
        let left = self.left();
        let (first, bad) = (*left.start(), *left.end());
        if first == bad {
            return Step::Found(bad);
        }
        let middle = first + (bad - first - 1) / 2;
        let untested = (first..bad).filter(|&commit| self.tested[commit].is_none());
        match untested.min_by_key(|commit| commit.abs_diff(middle)) {
            Some(commit) => Step::Test(commit),
            None => Step::OneOf(left),
        }
    }

    /// The most tests that are still needed where each says something.
    pub fn tests_left(&self) -> u32 {
        let left = self.left();
        let commits = left.end() - left.start() + 1;
        usize::BITS - (commits - 1).leading_zeros()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches with some commits that cannot be tested; gives the end and the number of tests.
    fn search(commits: usize, first_bad: usize, unknown: &[usize]) -> (Step, u32) {
        let mut search = Search::new(commits);
        let mut tests = 0;
        loop {
            match search.next() {
                Step::Test(commit) => {
                    tests += 1;
                    assert!(tests < 1000, "it comes to an end");
                    search.record(
                        commit,
                        match commit {
                            c if unknown.contains(&c) => Tested::Unknown,
                            c if c < first_bad => Tested::Good,
                            _ => Tested::Bad,
                        },
                    );
                }
                end => return (end, tests),
            }
        }
    }

    #[test]
    fn every_first_bad_commit_is_found_with_log2_tests() {
        for commits in 1..70usize {
            let most = Search::new(commits).tests_left();
            assert_eq!(most, (commits as f64).log2().ceil() as u32, "{commits}");
            for first_bad in 0..commits {
                let (end, tests) = search(commits, first_bad, &[]);
                assert_eq!(end, Step::Found(first_bad), "{commits}");
                assert!(tests <= most, "{commits} {first_bad}: {tests}");
            }
        }
    }

    #[test]
    fn a_commit_that_cannot_be_tested_is_skipped() {
        // Far from the change it costs a test.
        assert_eq!(search(16, 3, &[7, 11]).0, Step::Found(3));
        // Before the change it leaves two.
        assert_eq!(search(16, 8, &[7]).0, Step::OneOf(7..=8));
        // The change itself cannot be tested: it or the next.
        assert_eq!(search(16, 8, &[8]).0, Step::OneOf(8..=9));
        assert_eq!(search(5, 2, &[0, 1, 2, 3]).0, Step::OneOf(0..=4));
    }

    #[test]
    fn one_commit_needs_no_test() {
        assert_eq!(search(1, 0, &[]), (Step::Found(0), 0));
        assert_eq!(Search::new(0).next(), Step::Found(0));
    }
}
