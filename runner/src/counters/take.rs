//! Runs every `[[counters]]` command on both sides under the profiler.

use std::collections::BTreeSet;
use std::time::Duration;

use super::logfile::LogFile;
use super::names::{TABLE, metrics_of};
use super::profiler::Profiler;
use super::table::Table;
use super::{said, table, words};
use crate::config::Counters;
use crate::measure::log_bytes;
use crate::model::{AbsentMetric, ArtifactHash, CounterProfile, ProfileFailure, Side};
use crate::process::{Finished, LaunchRequest, Launcher};
use crate::progress::Progress;

/// How often a command is started again without metrics that the chip does not have. The
/// profiler may name them one at a time.
const ATTEMPTS: usize = 12;

/// What to take.
#[derive(Debug)]
pub struct Taking<'a> {
    /// The `[[counters]]` tables.
    pub entries: &'a [Counters],
    /// Counters and metrics that claims name, besides those that are always taken.
    pub asked: &'a [String],
    /// The profiler, or why there is none.
    pub profiler: &'a Result<Profiler, ProfileFailure>,
    /// Who is told.
    pub progress: &'a Progress,
}

/// Keeps what was printed, and gives its name in the store where there is one.
pub type Keep<'a> = dyn FnMut(Vec<u8>) -> anyhow::Result<Option<ArtifactHash>> + 'a;

/// Runs each table's command on base and on head. Where the profiler is missing or not permitted
/// nothing more is launched, and every profile says why.
///
/// # Errors
/// Only what `keep` reports; everything that profiler and commands do is part of a profile.
pub async fn take<L: Launcher>(
    what: &Taking<'_>,
    launcher: &mut L,
    keep: &mut Keep<'_>,
) -> anyhow::Result<Vec<CounterProfile>> {
    let mut run = Run {
        what,
        launcher,
        keep,
        unknown: BTreeSet::new(),
        of_the_machine: what.profiler.as_ref().err().cloned(),
    };
    let mut profiles = Vec::new();
    for entry in what.entries {
        for side in Side::BOTH {
            let mut profile = run.profile(entry, side).await?;
            if is_doubtful(&profile, profiles.last()) {
                what.progress.note(told(&profile));
                profile = run.profile(entry, side).await?;
            }
            what.progress.note(told(&profile));
            profiles.push(profile);
        }
    }
    Ok(profiles)
}

/// Whether head failed where base, profiled just before, did not: it is tried once more before
/// head is blamed.
fn is_doubtful(profile: &CounterProfile, before: Option<&CounterProfile>) -> bool {
    let failure = profile.failure.as_ref();
    profile.side == Side::Head
        && failure.is_some_and(|failure| !failure.is_of_the_machine())
        && before.is_some_and(|base| base.failure.is_none())
}

fn told(profile: &CounterProfile) -> String {
    let what = format!("counters {} on {}", profile.entry, profile.side);
    match &profile.failure {
        None => {
            let launches = crate::numbers::counted(profile.launches.len(), "launch");
            format!("{what}: {launches}")
        }
        Some(failure) => format!("{what}: {}", words::failure_words(failure)),
    }
}

struct Run<'a, L> {
    what: &'a Taking<'a>,
    launcher: &'a mut L,
    keep: &'a mut Keep<'a>,
    /// Metrics that this chip does not have: a fact of the device, the same for every command.
    unknown: BTreeSet<String>,
    /// Why no command can be profiled here.
    of_the_machine: Option<ProfileFailure>,
}

impl<L: Launcher> Run<'_, L> {
    async fn profile(&mut self, entry: &Counters, side: Side) -> anyhow::Result<CounterProfile> {
        let mut profile = CounterProfile {
            entry: entry.name.clone(),
            side,
            at: crate::process::now(),
            profiler: None,
            launches: Vec::new(),
            absent: Vec::new(),
            failure: self.of_the_machine.clone(),
            log: None,
        };
        let Ok(profiler) = self.what.profiler else {
            return Ok(profile);
        };
        profile.profiler = Some(profiler.description());
        if profile.failure.is_some() {
            return Ok(profile);
        }
        let wanted = wanted(entry, self.what.asked);
        let launched = self.launch(entry, side, profiler, &wanted).await;
        let (finished, log) = match launched {
            Ok(launched) => launched,
            Err(failure) => {
                profile.failure = Some(failure);
                return Ok(profile);
            }
        };
        profile.at = finished.started_at;
        profile.log = (self.keep)(printed(&finished, log.as_deref().unwrap_or_default()))?;
        match log.and_then(|log| read(&log, &finished, entry, &self.known(&wanted))) {
            Ok(table) => {
                profile.launches = table.launches;
                profile.absent = self.absent(&wanted, table.absent);
            }
            Err(failure) => {
                if failure.is_of_the_machine() {
                    self.of_the_machine = Some(failure.clone());
                }
                profile.failure = Some(failure);
            }
        }
        Ok(profile)
    }

    /// Launches, and again without the metrics of which the profiler says that it has none. Gives
    /// how it ended and what the profiler wrote.
    async fn launch(
        &mut self,
        entry: &Counters,
        side: Side,
        profiler: &Profiler,
        wanted: &[String],
    ) -> Result<(Finished, Result<String, ProfileFailure>), ProfileFailure> {
        let mut attempt = 1;
        loop {
            let metrics = self.known(wanted);
            let file = LogFile::create()?;
            let command = profiler.command(entry, &metrics, &file.path());
            // Thousands are set apart by the locale's own sign otherwise.
            let mut env = entry.env.clone();
            env.entry("LC_ALL".to_owned()).or_insert("C".to_owned());
            let request = LaunchRequest {
                side,
                command: &command,
                env: &env,
                timeout: Duration::from_secs(entry.timeout_s),
            };
            let finished = self.launcher.launch(&request).await;
            let log = file.read();
            let unknown = match &log {
                Ok(log) => said::unknown_metrics(log, &metrics),
                Err(_) => Vec::new(),
            };
            let all = unknown.len() == metrics.len();
            if unknown.is_empty() || all || attempt == ATTEMPTS {
                return Ok((finished, log));
            }
            self.unknown.extend(unknown);
            attempt += 1;
        }
    }

    /// What the chip is not known to lack.
    fn known(&self, wanted: &[String]) -> Vec<String> {
        let known = wanted
            .iter()
            .filter(|metric| !self.unknown.contains(*metric));
        known.cloned().collect()
    }

    fn absent(&self, wanted: &[String], printed: Vec<AbsentMetric>) -> Vec<AbsentMetric> {
        let unknown = wanted
            .iter()
            .filter(|metric| self.unknown.contains(*metric));
        unknown
            .map(|metric| AbsentMetric {
                metric: metric.clone(),
                reason: "the profiler has no such metric for this chip".to_owned(),
            })
            .chain(printed)
            .collect()
    }
}

/// What the profiler counted, or why nothing.
fn read(
    log: &str,
    finished: &Finished,
    entry: &Counters,
    wanted: &[String],
) -> Result<Table, ProfileFailure> {
    if let Some(failure) = said::failure(log, finished, &entry.kernels) {
        return Err(failure);
    }
    let table = table::read(log, wanted)?;
    match table.launches.is_empty() {
        true => Err(ProfileFailure::NoKernel {
            pattern: entry.kernels.clone(),
            seen: Vec::new(),
        }),
        false => Ok(table),
    }
}

/// What command and profiler printed, for people.
fn printed(finished: &Finished, log: &str) -> Vec<u8> {
    let mut bytes = log_bytes(&finished.stdout, &finished.stderr);
    if !bytes.is_empty() && !bytes.ends_with(b"\n") {
        bytes.push(b'\n');
    }
    bytes.extend_from_slice(b"--- the profiler ---\n");
    bytes.extend_from_slice(log.as_bytes());
    bytes
}

/// The profiler's names of everything to take: the table's, the entry's own, and what claims
/// name; each once.
fn wanted(entry: &Counters, asked: &[String]) -> Vec<String> {
    let always = TABLE.iter().filter(|counter| counter.always);
    let names = always.map(|counter| counter.name);
    let others = entry.metrics.iter().chain(asked).map(String::as_str);
    let mut wanted: Vec<String> = Vec::new();
    for metric in names.chain(others).flat_map(metrics_of) {
        if !wanted.iter().any(|known| known == metric) {
            wanted.push(metric.to_owned());
        }
    }
    wanted
}

#[cfg(test)]
#[path = "take_tests.rs"]
mod tests;
