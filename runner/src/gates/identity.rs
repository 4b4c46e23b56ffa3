//! Greedy-32: both sides must decode the same, and as much as was promised.

use std::time::Duration;

use anyhow::Context as _;
use regex::bytes::Regex;

use crate::config::{CommandLine, Config, Identity, Probe};
use crate::judge::failure_words;
use crate::measure::harness::{Client, GenerateAnswer, HarnessError};
use crate::measure::{Recorder, log_bytes, number};
use crate::model::{ArtifactHash, Failure, GateEvidence, GateKind, GateOutcome, Side};
use crate::process::{Finished, LaunchRequest, Launcher};

use super::compare::{Kept, difference};

/// The gate's name in the evidence.
pub const GREEDY: &str = "greedy-32";

/// The seed of the harness's `generate`; greedy decoding should not need it.
const SEED: u64 = 0;

/// A gate that was not run.
pub(super) fn not_run(reason: &str) -> GateEvidence {
    evidence(
        None,
        GateOutcome::NotRun {
            reason: reason.to_owned(),
        },
    )
}

fn evidence(side: Option<Side>, outcome: GateOutcome) -> GateEvidence {
    GateEvidence {
        kind: GateKind::Identity,
        name: GREEDY.to_owned(),
        side,
        outcome,
        figures: Vec::new(),
        failure: None,
        logs: Vec::new(),
    }
}

/// What one side decoded.
enum Decoded {
    Output(Vec<u8>),
    Tokens(GenerateAnswer),
}

/// Runs base, then head, and compares them. `side` in the evidence names the side at fault where
/// one of them gave nothing to compare.
///
/// # Errors
/// Only what the recorder reports.
pub(super) async fn run<L: Launcher, R: Recorder>(
    config: &Config,
    identity: &Identity,
    launcher: &mut L,
    recorder: &mut R,
) -> anyhow::Result<GateEvidence> {
    let mut logs = Vec::new();
    let mut decoded = Vec::new();
    for side in Side::BOTH {
        let (result, log) = match &identity.probe {
            Probe::Command(command) => by_command(identity, command, side, launcher).await,
            Probe::Harness(_) => by_harness(config, identity, side, launcher).await,
        };
        logs.extend(store(log, recorder).await?);
        match result {
            Ok(output) => decoded.push(output),
            Err(failure) => return Ok(failed(side, failure, logs)),
        }
    }
    let mut gate = match decoded.as_slice() {
        [base, head] => compare(identity, base, head),
        _ => not_run("a side gave no output"),
    };
    gate.logs = logs;
    Ok(gate)
}

async fn store<R: Recorder>(
    log: Vec<u8>,
    recorder: &mut R,
) -> anyhow::Result<Option<ArtifactHash>> {
    if log.is_empty() {
        return Ok(None);
    }
    let hash = recorder.log(log).await;
    Ok(Some(hash.context("storing the identity gate's output")?))
}

/// Base that fails leaves nothing to compare with; head that fails after base worked has failed.
fn failed(side: Side, failure: Failure, logs: Vec<ArtifactHash>) -> GateEvidence {
    let reason = format!("{side} {}", failure_words(&failure));
    let outcome = match side {
        Side::Base => GateOutcome::NoData { reason },
        Side::Head => GateOutcome::Failed { reason },
    };
    GateEvidence {
        failure: Some(failure),
        logs,
        ..evidence(Some(side), outcome)
    }
}

async fn by_command<L: Launcher>(
    identity: &Identity,
    command: &CommandLine,
    side: Side,
    launcher: &mut L,
) -> (Result<Decoded, Failure>, Vec<u8>) {
    let request = LaunchRequest {
        side,
        command,
        env: &identity.env,
        timeout: Duration::from_secs(identity.timeout_s),
    };
    let finished = launcher.launch(&request).await;
    let log = log_of(&finished);
    match finished.failure {
        Some(failure) => (Err(failure), log),
        None => (Ok(Decoded::Output(finished.stdout)), log),
    }
}

async fn by_harness<L: Launcher>(
    config: &Config,
    identity: &Identity,
    side: Side,
    launcher: &mut L,
) -> (Result<Decoded, Failure>, Vec<u8>) {
    let Some(harness) = &config.harness else {
        let reason = "the config has no [harness]".to_owned();
        return (Err(Failure::NotStarted { reason }), Vec::new());
    };
    let mut client = match launcher.open(side, harness).await {
        Ok(session) => Client::new(session),
        Err(failure) => return (Err(failure), Vec::new()),
    };
    let start = Duration::from_secs(harness.start_timeout_s);
    let limit = Duration::from_secs(identity.timeout_s);
    let answer = match client.hello(start).await {
        Ok(_) => client.generate(identity.tokens, SEED, limit).await,
        Err(error) => Err(error),
    };
    let alive = !matches!(answer, Err(HarnessError::Broken { .. }));
    let finished = client.finish(alive).await;
    let log = log_of(&finished);
    match (answer, finished.failure) {
        (Err(error), _) => (Err(error.into_failure()), log),
        (Ok(_), Some(failure)) => (Err(failure), log),
        (Ok(answer), None) => (Ok(Decoded::Tokens(answer)), log),
    }
}

fn log_of(finished: &Finished) -> Vec<u8> {
    log_bytes(&finished.stdout, &finished.stderr)
}

fn compare(identity: &Identity, base: &Decoded, head: &Decoded) -> GateEvidence {
    for (side, decoded) in [(Side::Base, base), (Side::Head, head)] {
        if let Err(short) = promise(identity, decoded) {
            let reason = format!("{side} {short}");
            // Base comes first: where it breaks the promise too, nobody can be blamed.
            return match side {
                Side::Base => evidence(Some(side), GateOutcome::NoData { reason }),
                Side::Head => evidence(Some(side), GateOutcome::Failed { reason }),
            };
        }
    }
    let difference = match (base, head) {
        (Decoded::Output(base), Decoded::Output(head)) => {
            bytes_difference(&identity.drop_lines, base, head)
        }
        (Decoded::Tokens(base), Decoded::Tokens(head)) => Ok(token_difference(base, head)),
        _ => Err("the two sides were asked in different ways".to_owned()),
    };
    let outcome = match difference {
        Ok(None) => GateOutcome::Passed,
        Ok(Some(reason)) => GateOutcome::Failed { reason },
        Err(reason) => GateOutcome::NoData { reason },
    };
    evidence(None, outcome)
}

fn expressions(patterns: &[String]) -> Result<Vec<Regex>, String> {
    patterns
        .iter()
        .map(|p| {
            Regex::new(p).map_err(|e| format!("`{p}` in drop_lines is not an expression: {e}"))
        })
        .collect()
}

fn bytes_difference(
    drop_lines: &[String],
    base: &[u8],
    head: &[u8],
) -> Result<Option<String>, String> {
    let drop = expressions(drop_lines)?;
    let found = difference(&Kept::of(base, &drop), &Kept::of(head, &drop));
    Ok(found.map(|d| d.to_string()))
}

fn token_difference(base: &GenerateAnswer, head: &GenerateAnswer) -> Option<String> {
    let longest = base.tokens.len().max(head.tokens.len());
    let at = (0..longest).find(|i| base.tokens.get(*i) != head.tokens.get(*i))?;
    let word = |tokens: &[i64]| {
        tokens
            .get(at)
            .map_or("nothing (its tokens have ended)".to_owned(), |t| {
                format!("id {t}")
            })
    };
    let byte = base
        .text
        .bytes()
        .zip(head.text.bytes())
        .take_while(|(b, h)| b == h)
        .count();
    let line = base.text.as_bytes()[..byte.min(base.text.len())]
        .iter()
        .filter(|b| **b == b'\n')
        .count()
        + 1;
    Some(format!(
        "outputs differ first at token {}: base has {}, head has {} (of the text: line {line}, \
         byte {byte})",
        at + 1,
        word(&base.tokens),
        word(&head.tokens)
    ))
}

/// Checks that as many tokens were made as promised, by what the config lets us count.
fn promise(identity: &Identity, decoded: &Decoded) -> Result<(), String> {
    let promised = identity.tokens;
    match (decoded, &identity.count) {
        (Decoded::Tokens(answer), _) => {
            let made = answer.tokens.len();
            if made < promised as usize {
                return Err(format!("made {made} of {promised} tokens"));
            }
        }
        (Decoded::Output(output), Some(extract)) => match number(extract, output, None) {
            Ok(made) if made >= f64::from(promised) => {}
            Ok(made) => return Err(format!("made {made} of {promised} tokens")),
            Err(failure) => {
                return Err(format!(
                    "does not say how many tokens it made: it {}",
                    failure_words(&failure)
                ));
            }
        },
        (Decoded::Output(output), None) => {
            let drop = expressions(&identity.drop_lines)?;
            let bytes = Kept::of(output, &drop).content_bytes();
            if bytes < promised as usize {
                return Err(format!(
                    "printed {bytes} bytes besides dropped lines, too few for {promised} tokens"
                ));
            }
        }
    }
    Ok(())
}
