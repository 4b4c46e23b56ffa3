//! One launch: a command or a harness, and the sample that comes of it.

use std::time::{Duration, Instant};

use anyhow::Context as _;

use crate::config::{Bench, CommandLine, Config, Harness, Probe};
use crate::model::{Failure, Sample, UnixMillis};
use crate::process::{Finished, LaunchRequest, Launcher};
use crate::stats::PlannedLaunch;

use super::harness::{Client, HarnessError, SampleAnswer, SampleRequest};
use super::recorder::{Recorder, log_bytes};
use super::values::{bench_value, json_number, positive};

/// What a launch gave.
struct Outcome {
    started_at: UnixMillis,
    wall: Duration,
    /// What a harness's answer took.
    answered: Option<Duration>,
    /// The value and the inner runs' values.
    result: Result<(f64, Vec<f64>), Failure>,
    output: Vec<u8>,
}

/// Launches once and stores the output and the sample.
///
/// # Errors
/// Only what the recorder reports; a launch that fails is a sample with a [`Failure`].
pub(super) async fn take<L: Launcher, R: Recorder>(
    config: &Config,
    planned: &PlannedLaunch,
    attempt: u32,
    launcher: &mut L,
    recorder: &mut R,
) -> anyhow::Result<Sample> {
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
    let outcome = launch(config, bench, planned, launcher)
        .await
        .unwrap_or_else(|failure| Outcome::not_started(now, failure));
    let log = if outcome.output.is_empty() {
        None
    } else {
        let log = recorder.log(outcome.output).await;
        Some(log.context("storing a sample's output")?)
    };
    let (value, inner, failure) = match outcome.result {
        Ok((value, inner)) => (Some(value), inner, None),
        Err(failure) => (None, Vec::new(), Some(failure)),
    };
    let sample = Sample {
        bench: planned.bench.clone(),
        side: planned.side,
        role: planned.role,
        pair: planned.pair,
        slot: planned.slot,
        attempt,
        started_at: outcome.started_at,
        wall_ms: outcome.wall.as_secs_f64() * 1e3,
        answer_ms: outcome.answered.map(|took| took.as_secs_f64() * 1e3),
        value,
        inner,
        failure,
        log,
    };
    recorder.sample(&sample).await.context("storing a sample")?;
    Ok(sample)
}

impl Outcome {
    fn of(finished: Finished, result: Result<(f64, Vec<f64>), Failure>) -> Self {
        Outcome {
            started_at: finished.started_at,
            wall: finished.wall,
            answered: None,
            result,
            output: log_bytes(&finished.stdout, &finished.stderr),
        }
    }

    fn not_started(now: UnixMillis, failure: Failure) -> Self {
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
async fn launch<L: Launcher>(
    config: &Config,
    bench: &Bench,
    planned: &PlannedLaunch,
    launcher: &mut L,
) -> Result<Outcome, Failure> {
    let name = match &bench.probe {
        Probe::Command(command) => return Ok(by_command(bench, command, planned, launcher).await),
        Probe::Harness(name) => name,
    };
    let harness = config.harness.as_ref().ok_or_else(|| Failure::NotStarted {
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
        (None, Some(extract)) => {
            bench_value(extract, &finished.stdout, &bench.unit).map(|v| (v, Vec::new()))
        }
    };
    Outcome::of(finished, result)
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
        inner: bench.inner,
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
        (Ok(answer), None) => answered_value(&answer, &bench.unit),
    };
    Ok(Outcome {
        answered,
        ..Outcome::of(finished, result)
    })
}

fn answered_value(answer: &SampleAnswer, unit: &str) -> Result<(f64, Vec<f64>), Failure> {
    if answer.unit != unit {
        return Err(Failure::OtherUnit {
            found: answer.unit.clone(),
        });
    }
    let value = json_number(&answer.value).and_then(positive)?;
    // A harness may keep its single runs to itself.
    if !answer.inner.is_empty() && !is_median(value, &answer.inner) {
        return Err(Failure::Harness {
            message: format!("answered with {value}, which is not the median of its inner runs"),
        });
    }
    Ok((value, answer.inner.clone()))
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
