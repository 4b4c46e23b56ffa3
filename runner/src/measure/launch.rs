//! One launch: a command or a harness, and the sample that comes of it.

use std::time::{Duration, Instant};

use anyhow::Context as _;

use crate::config::{Bench, CommandLine, Extract, Harness, Probe};
use crate::model::{Facts, Failure, Sample, SampleState, UnixMillis};
use crate::process::{Finished, LaunchRequest, Launcher};
use crate::stats::PlannedLaunch;

use super::driver::Measurement;
use super::harness::{Client, HarnessError, SampleAnswer, SampleRequest};
use super::recorder::{Recorder, log_bytes};
use super::values::{bench_value, json_number, kept, positive, reported_facts};

/// What a launch gave.
pub(super) struct Outcome {
    pub(super) started_at: UnixMillis,
    pub(super) wall: Duration,
    /// What a harness's answer took.
    answered: Option<Duration>,
    pub(super) result: Result<Given, Failure>,
    pub(super) output: Vec<u8>,
}

/// What a launch that ended well said.
pub(super) struct Given {
    pub(super) value: f64,
    /// The inner runs' values.
    inner: Vec<f64>,
    facts: Facts,
}

/// A launch to make.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attempt<'a> {
    /// Its place.
    pub(super) planned: &'a PlannedLaunch,
    /// The attempt at it, from 1.
    pub(super) number: u32,
    /// When the launch before it started.
    pub(super) after: Option<UnixMillis>,
}

/// Launches once, with the machine being watched, and stores the output and the sample.
///
/// # Errors
/// Only what the recorder reports; a launch that fails is a sample with a [`Failure`].
pub(super) async fn take<L: Launcher, R: Recorder>(
    what: &Measurement<'_>,
    attempt: Attempt<'_>,
    launcher: &mut L,
    recorder: &mut R,
) -> anyhow::Result<Sample> {
    let (config, planned) = (what.config, attempt.planned);
    let bench = config
        .benches
        .iter()
        .find(|b| b.name == planned.bench)
        .with_context(|| {
            format!(
                "the plan names bench `{}`, which the config has not",
                planned.bench
            )
        })?;
    let now = recorder.now();
    if let Some(watch) = what.watch {
        watch.begin().await;
    }
    let outcome = launch(config.harness.as_ref(), bench, planned, launcher)
        .await
        .unwrap_or_else(|failure| Outcome::not_started(now, failure));
    let seen = match what.watch {
        Some(watch) => Some(watch.end().await),
        None => None,
    };
    let state = with_clock(seen, attempt.after, outcome.started_at);
    let log = if outcome.output.is_empty() {
        None
    } else {
        let log = recorder.log(outcome.output).await;
        Some(log.context("storing a sample's output")?)
    };
    let (value, inner, facts, failure) = match outcome.result.and_then(|g| possible(bench, g)) {
        Ok(given) => (Some(given.value), given.inner, given.facts, None),
        Err(failure) => (None, Vec::new(), Facts::default(), Some(failure)),
    };
    let sample = Sample {
        bench: planned.bench.clone(),
        side: planned.side,
        role: planned.role,
        pair: planned.pair,
        slot: planned.slot,
        attempt: attempt.number,
        started_at: outcome.started_at,
        wall_ms: outcome.wall.as_secs_f64() * 1e3,
        answer_ms: outcome.answered.map(|took| took.as_secs_f64() * 1e3),
        value,
        inner,
        facts,
        failure,
        log,
        state,
    };
    recorder.sample(&sample).await.context("storing a sample")?;
    Ok(sample)
}

/// The state, with a note where the machine's clock was set back since the launch before. Only
/// times of day suffer from that: durations come from a clock that never does.
fn with_clock(
    state: Option<SampleState>,
    after: Option<UnixMillis>,
    started_at: UnixMillis,
) -> Option<SampleState> {
    let back_ms = after.map_or(0, |before| before.0.saturating_sub(started_at.0));
    if back_ms <= 0 {
        return state;
    }
    let mut state = state.unwrap_or_default();
    state.notes.push(format!(
        "the machine's clock was set back by at least {back_ms} ms before this launch; durations \
         are not affected"
    ));
    Some(state)
}

/// Passes a value that the work and the machine allow.
fn possible(bench: &Bench, given: Given) -> Result<Given, Failure> {
    let refusal = bench
        .floor
        .as_ref()
        .and_then(|floor| floor.refusal(given.value, &bench.unit, bench.better));
    match refusal {
        None => Ok(given),
        Some(message) => Err(Failure::Impossible { message }),
    }
}

impl Outcome {
    fn of(finished: Finished, result: Result<Given, Failure>) -> Self {
        Outcome {
            started_at: finished.started_at,
            wall: finished.wall,
            answered: None,
            result,
            output: log_bytes(&finished.stdout, &finished.stderr),
        }
    }

    pub(super) fn not_started(now: UnixMillis, failure: Failure) -> Self {
        Outcome {
            started_at: now,
            wall: Duration::ZERO,
            answered: None,
            result: Err(failure),
            output: Vec::new(),
        }
    }
}

/// `Err` only where a harness could not be started.
pub(super) async fn launch<L: Launcher>(
    harness: Option<&Harness>,
    bench: &Bench,
    planned: &PlannedLaunch,
    launcher: &mut L,
) -> Result<Outcome, Failure> {
    let name = match &bench.probe {
        Probe::Command(command) => return Ok(by_command(bench, command, planned, launcher).await),
        Probe::Harness(name) => name,
    };
    let harness = harness.ok_or_else(|| Failure::NotStarted {
        reason: "the config has no [harness]".to_owned(),
    })?;
    by_harness(&Asked { harness, name }, bench, planned, launcher).await
}

async fn by_command<L: Launcher>(
    bench: &Bench,
    command: &CommandLine,
    planned: &PlannedLaunch,
    launcher: &mut L,
) -> Outcome {
    let request = LaunchRequest {
        side: planned.side,
        command,
        env: &bench.env,
        timeout: Duration::from_secs(bench.timeout_s),
    };
    let finished = launcher.launch(&request).await;
    let result = match (&finished.failure, &bench.value) {
        (Some(failure), _) => Err(failure.clone()),
        (None, None) => Err(Failure::NoValue),
        (None, Some(extract)) => printed_value(extract, &finished.stdout, &bench.unit),
    };
    Outcome::of(finished, result)
}

fn printed_value(extract: &Extract, stdout: &[u8], unit: &str) -> Result<Given, Failure> {
    Ok(Given {
        value: bench_value(extract, stdout, unit)?,
        inner: Vec::new(),
        facts: reported_facts(extract, stdout)?,
    })
}

/// A harness, and the name under which it has the bench.
struct Asked<'a> {
    harness: &'a Harness,
    name: &'a str,
}

/// `Err` only where the process could not be started.
async fn by_harness<L: Launcher>(
    asked: &Asked<'_>,
    bench: &Bench,
    planned: &PlannedLaunch,
    launcher: &mut L,
) -> Result<Outcome, Failure> {
    let mut client = Client::new(launcher.open(planned.side, asked.harness).await?);
    let request = SampleRequest {
        bench: asked.name,
        warmup: bench.warmup,
        inner: planned.inner,
        seed: planned.seed,
    };
    let start = Duration::from_secs(asked.harness.start_timeout_s);
    let limit = Duration::from_secs(bench.timeout_s);
    let mut answered = None;
    let answer = match client.hello(start).await {
        Ok(_) => {
            let asked_at = Instant::now();
            let answer = client.sample(&request, limit).await;
            answered = answer.is_ok().then(|| asked_at.elapsed());
            answer
        }
        Err(error) => Err(error),
    };
    let alive = !matches!(answer, Err(HarnessError::Broken { .. }));
    let finished = client.finish(alive).await;
    let result = match (answer, &finished.failure) {
        (Err(error), _) => Err(error.into_failure()),
        (Ok(_), Some(failure)) => Err(failure.clone()),
        (Ok(answer), None) => answered_value(answer, &bench.unit),
    };
    Ok(Outcome {
        answered,
        ..Outcome::of(finished, result)
    })
}

fn answered_value(answer: SampleAnswer, unit: &str) -> Result<Given, Failure> {
    if answer.unit != unit {
        return Err(Failure::OtherUnit { found: answer.unit });
    }
    let value = json_number(&answer.value).and_then(positive)?;
    // A harness may keep its single runs to itself.
    if !answer.inner.is_empty() && !is_median(value, &answer.inner) {
        return Err(Failure::Harness {
            message: format!("answered with {value}, which is not the median of its inner runs"),
        });
    }
    Ok(Given {
        value,
        inner: answer.inner,
        facts: kept(answer.facts)?,
    })
}

/// Whether a value is a median of what was measured, or lies between the two in the middle;
/// rounding in the sixth digit is forgiven.
fn is_median(value: f64, inner: &[f64]) -> bool {
    let mut sorted = inner.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = (
        sorted.get(sorted.len().wrapping_sub(1) / 2),
        sorted.get(sorted.len() / 2),
    );
    let (Some(low), Some(high)) = middle else {
        return false;
    };
    let slack = 1e-6 * value;
    (low - slack..=high + slack).contains(&value)
}
