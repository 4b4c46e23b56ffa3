//! Finds the first commit between two that made a bench slower: good is base, the candidate is
//! head, and the question is the protocol's guard question.
//!
//! Every comparison is a run on record, so that the search can be stopped and asked again: it goes
//! on where it was, and nothing is measured twice. Which commit comes next is in `search`, what
//! the record already knows in `known`.

mod known;
mod report;
mod search;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::bail;

use crate::anchor::Places;
use crate::git::{Lineage, Passed};
use crate::model::Verdict;
use crate::pipeline::{self, Compared, Options, Prepared, Request};

pub use report::{Comparison, Ending, Report, Said};
pub use search::{Search, Step, Tested};

/// What to look for.
#[derive(Debug, Clone)]
pub struct Bisection {
    /// The bench.
    pub bench: String,
    /// A commit at which it was fast, as the user names it.
    pub good: String,
    /// A later one at which it is slow.
    pub bad: String,
    /// How much slower than good a commit may be and still count as good, percent.
    pub allowed_loss: Option<f64>,
    /// Also the commits of merged branches, not only first parents.
    pub all_parents: bool,
    /// A config for all commits, instead of good's.
    pub config: Option<std::path::PathBuf>,
    /// Wait for the device where another run holds it.
    pub wait: bool,
}

/// How often a comparison that stays open is made in all. Its samples are never pooled.
const ATTEMPTS: usize = 2;

/// Searches.
///
/// # Errors
/// Where there is nothing to search: unknown commits or benches, good no ancestor of bad.
pub async fn bisect(what: &Bisection, places: &Places<'_>) -> anyhow::Result<Report> {
    let repository = places.repository;
    let good = repository.resolve(&what.good).await?;
    let bad = repository.resolve(&what.bad).await?;
    if good == bad {
        bail!("good and bad are the same commit {}", good.short());
    }
    if !repository.is_ancestor(&good, &bad).await? {
        bail!(
            "good {} is no ancestor of bad {}, so no commit between them made the change; give a \
             commit that bad grew from",
            good.short(),
            bad.short()
        );
    }
    let lineage = match what.all_parents {
        true => Lineage::All,
        false => Lineage::FirstParents,
    };
    let commits = repository.passed(&good, &bad, lineage).await?;
    let mut work = Work {
        what,
        places,
        report: Report::new(&what.bench, what.allowed_loss, good, commits),
        stopped: Arc::default(),
    };
    // A run that is stopped says so itself; between two runs nobody else listens.
    let stopped = Arc::clone(&work.stopped);
    let listener = tokio::spawn(async move {
        pipeline::stopped().await;
        stopped.store(true, Ordering::Release);
    });
    let ending = work.search().await;
    listener.abort();
    work.report.ending = ending?;
    Ok(work.report)
}

/// A search under way.
struct Work<'a> {
    what: &'a Bisection,
    places: &'a Places<'a>,
    report: Report,
    stopped: Arc<AtomicBool>,
}

impl Work<'_> {
    async fn search(&mut self) -> anyhow::Result<Ending> {
        let last = self.report.commits.len().saturating_sub(1);
        // The end points first: without a difference between them there is nothing to find.
        match self.test(last).await? {
            Err(stopped) => return Ok(stopped),
            Ok(Tested::Bad) => {}
            Ok(Tested::Good) => return Ok(Ending::NotSlower),
            Ok(Tested::Unknown) => return Ok(Ending::EndsOpen),
        }
        let mut search = Search::new(last + 1);
        loop {
            let commit = match search.next() {
                Step::Test(commit) => commit,
                Step::Found(commit) => return Ok(Ending::Found { commit }),
                Step::OneOf(left) => {
                    return Ok(Ending::OneOf {
                        first: *left.start(),
                        last: *left.end(),
                    });
                }
            };
            self.places.progress.note(format!(
                "{} between {} and {}, about {} to test",
                crate::numbers::counted(search.left().count(), "commit"),
                self.name(search.left().start().checked_sub(1)),
                self.name(Some(*search.left().end())),
                crate::numbers::counted(search.tests_left() as usize, "more commit"),
            ));
            match self.test(commit).await? {
                Ok(said) => search.record(commit, said),
                Err(stopped) => return Ok(stopped),
            }
        }
    }

    /// A commit's short name; good's for none.
    fn name(&self, commit: Option<usize>) -> String {
        let known = commit.and_then(|commit| self.report.commits.get(commit));
        known
            .map_or(&self.report.good, |passed| &passed.sha)
            .short()
            .to_owned()
    }

    /// Tests a commit, by the record where that knows it; `Err` where the search has to stop.
    async fn test(&mut self, commit: usize) -> anyhow::Result<Result<Tested, Ending>> {
        let Some(passed) = self.report.commits.get(commit).cloned() else {
            return Ok(Ok(Tested::Unknown));
        };
        let is_last = commit + 1 == self.report.commits.len();
        let prepared = match self.prepared(&passed).await {
            Ok(prepared) => prepared,
            // Bad's own troubles are the user's to know; those of one between are skipped.
            Err(error) if is_last => return Err(error),
            Err(error) => {
                let reason = format!("{error:#}");
                return Ok(Ok(self.note(Comparison::untestable(commit, reason))));
            }
        };
        let known = known::comparisons(&prepared, commit, self.places.records).await?;
        if let Some(settled) = known.iter().find(|one| !one.is_open()) {
            return Ok(Ok(self.note(settled.clone())));
        }
        let attempts = known.len();
        for open in known {
            self.note(open);
        }
        for attempt in attempts..ATTEMPTS {
            if self.stopped.load(Ordering::Acquire) {
                return Ok(Err(Ending::Stopped {
                    verdict: Verdict::EnvInvalid,
                    reason: "stopped between two comparisons".to_owned(),
                }));
            }
            let prepared = self.prepared(&passed).await?;
            let comparison = self.measure(commit, prepared).await?;
            let (is_open, stopped) = (comparison.is_open(), comparison.stopped());
            let tested = self.note(comparison);
            if let Some(ending) = stopped {
                return Ok(Err(ending));
            }
            if !is_open {
                return Ok(Ok(tested));
            }
            if attempt + 1 < ATTEMPTS {
                let progress = self.places.progress;
                progress.note("once more, from the start: samples are never pooled");
            }
        }
        Ok(Ok(Tested::Unknown))
    }

    fn note(&mut self, comparison: Comparison) -> Tested {
        let tested = comparison.tested();
        let name = self.name(Some(comparison.commit));
        let text = format!("{name}: {}", comparison.words());
        self.places.progress.note(text);
        self.report.comparisons.push(comparison);
        tested
    }

    async fn measure(&self, commit: usize, prepared: Prepared) -> anyhow::Result<Comparison> {
        let Places {
            records,
            dirs,
            progress,
            ..
        } = *self.places;
        let run = pipeline::execute(prepared, &self.options(), records, dirs, progress).await?;
        let stored = records.load(run).await?;
        let judgement = stored
            .judgement
            .unwrap_or_else(|| crate::judge::judge(&stored.evidence));
        Ok(Comparison::of(commit, run, &judgement))
    }

    fn options(&self) -> Options {
        Options {
            wait: self.what.wait,
            purpose: db::Purpose::Bisect,
            ..Options::default()
        }
    }

    async fn prepared(&self, passed: &Passed) -> anyhow::Result<Prepared> {
        let root = self.places.repository.root();
        let request = Request {
            repo: root.unwrap_or(std::path::Path::new(".")).to_owned(),
            base: Some(self.report.good.to_string()),
            head: Some(passed.sha.to_string()),
            config: self.what.config.clone(),
            options: self.options(),
            ..Request::default()
        };
        let how = Compared {
            benches: std::slice::from_ref(&self.what.bench),
            // A fixed number of pairs would cost as much for a difference that shows at once.
            protocol: None,
            allowed_loss: self.what.allowed_loss,
            name: &format!(
                "bisect {}: {} against {}",
                self.what.bench,
                passed.sha.short(),
                self.report.good.short()
            ),
        };
        let mut prepared = pipeline::compared(&request, &how, &self.places.dirs.cache).await?;
        prepared.notes.clear();
        Ok(prepared)
    }
}
