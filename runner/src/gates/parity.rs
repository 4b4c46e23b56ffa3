//! Parity: each case against its reference, by exit status or by figures with limits.

use std::time::Duration;

use crate::config::{CommandLine, Config, Parity, Probe};
use crate::judge::{failure_words, shortened};
use crate::measure::harness::{Blame, Client, HarnessError, ParityAnswer};
use crate::measure::{Recorder, json_number, log_bytes, number};
use crate::model::{ArtifactHash, Failure, Figure, GateEvidence, GateKind, GateOutcome, Side};
use crate::process::{LaunchRequest, Launcher};
use anyhow::Context as _;

/// Runs every case on one side; where one does not pass, the whole suite once more. A case that
/// passes then counts as passed, and is flaky.
///
/// # Errors
/// Only what the recorder reports.
pub(super) async fn suite<L: Launcher, R: Recorder>(
    config: &Config,
    side: Side,
    launcher: &mut L,
    recorder: &mut R,
) -> anyhow::Result<Vec<GateEvidence>> {
    let mut attempts = Vec::new();
    while attempts.len() < 2 {
        let attempt = Attempt {
            config,
            side,
            launcher,
            recorder,
            gates: Vec::new(),
            harness: None,
        };
        let gates = attempt.run().await?;
        let passed = gates.iter().all(passes);
        attempts.push(gates);
        if passed {
            break;
        }
    }
    let mut attempts = attempts.into_iter();
    let first = attempts.next().unwrap_or_default();
    Ok(match attempts.next() {
        Some(second) => first
            .into_iter()
            .zip(second)
            .map(|(a, b)| merge(a, b))
            .collect(),
        None => first,
    })
}

/// Whether the case counts as passed.
pub(super) fn passes(gate: &GateEvidence) -> bool {
    matches!(
        gate.outcome,
        GateOutcome::Passed | GateOutcome::Flaky { .. }
    )
}

/// Joins a case's two attempts; the second one decides.
fn merge(first: GateEvidence, mut second: GateEvidence) -> GateEvidence {
    let was = match &first.outcome {
        GateOutcome::Failed { reason } | GateOutcome::NoData { reason } => Some(reason.clone()),
        _ => None,
    };
    match (&second.outcome, was) {
        (GateOutcome::Passed, Some(first)) => second.outcome = GateOutcome::Flaky { first },
        (GateOutcome::Failed { reason }, None) => {
            second.outcome = GateOutcome::Failed {
                reason: format!("passed at first, then: {reason}"),
            };
        }
        _ => {}
    }
    second.logs = [first.logs, second.logs].concat();
    second
}

/// One walk through the suite on one side.
struct Attempt<'a, L: Launcher, R> {
    config: &'a Config,
    side: Side,
    launcher: &'a mut L,
    recorder: &'a mut R,
    gates: Vec<GateEvidence>,
    /// The harness that answers the cases that ask one, started when the first of them comes.
    harness: Option<OpenHarness<L::Session>>,
}

/// A running harness, and which gates it answered: they share its log.
struct OpenHarness<S> {
    client: Client<S>,
    gates: Vec<usize>,
    /// Whether it answered with an error. It may have lost its device, and end.
    refused: bool,
}

impl<L: Launcher, R: Recorder> Attempt<'_, L, R> {
    async fn run(mut self) -> anyhow::Result<Vec<GateEvidence>> {
        for case in &self.config.parity {
            let gate = match &case.probe {
                Probe::Command(command) => self.by_command(case, command).await?,
                Probe::Harness(name) => self.by_harness(case, name).await?,
            };
            let harness_died = gate.failure.is_some() && matches!(case.probe, Probe::Harness(_));
            let refused = self.harness.as_ref().is_some_and(|h| h.refused);
            self.gates.push(gate);
            // The next case is not to pay for it: it gets a process of its own.
            if harness_died || refused {
                self.close(false).await?;
            }
        }
        self.close(true).await?;
        Ok(self.gates)
    }

    async fn by_command(
        &mut self,
        case: &Parity,
        command: &CommandLine,
    ) -> anyhow::Result<GateEvidence> {
        let request = LaunchRequest {
            side: self.side,
            command,
            env: &case.env,
            timeout: Duration::from_secs(case.timeout_s),
        };
        let finished = self.launcher.launch(&request).await;
        let log = self
            .store(log_bytes(&finished.stdout, &finished.stderr))
            .await?;
        let mut gate = match finished.failure {
            Some(failure) => self.failed(case, failure),
            None => {
                let figures = read_figures(case, &finished.stdout);
                self.judged(case, true, figures)
            }
        };
        gate.logs.extend(log);
        Ok(gate)
    }

    async fn by_harness(&mut self, case: &Parity, name: &str) -> anyhow::Result<GateEvidence> {
        if self.harness.is_none() {
            match self.open().await {
                Ok(client) => {
                    let gates = Vec::new();
                    self.harness = Some(OpenHarness {
                        client,
                        gates,
                        refused: false,
                    });
                }
                Err(failure) => return Ok(self.failed(case, failure)),
            }
        }
        let index = self.gates.len();
        let Some(harness) = &mut self.harness else {
            return Ok(self.failed(case, Failure::NoValue));
        };
        harness.gates.push(index);
        let limit = Duration::from_secs(case.timeout_s);
        let answer = harness.client.parity(name, limit).await;
        harness.refused = matches!(answer, Err(HarnessError::Refused { .. }));
        Ok(match answer {
            Ok(answer) => {
                let figures = answered_figures(case, &answer);
                self.judged(case, answer.passed, figures)
            }
            Err(HarnessError::Refused {
                blame: Blame::Case,
                message,
                ..
            }) => {
                let reason = format!("the harness reports: {}", shortened(&message, 240));
                self.gate(case, GateOutcome::Failed { reason })
            }
            Err(HarnessError::Refused { message, .. }) => {
                let reason = format!("the harness could not run it: {}", shortened(&message, 240));
                self.gate(case, GateOutcome::NoData { reason })
            }
            Err(HarnessError::Broken { failure, .. }) => self.failed(case, failure),
        })
    }

    async fn open(&mut self) -> Result<Client<L::Session>, Failure> {
        let Some(harness) = &self.config.harness else {
            return Err(Failure::NotStarted {
                reason: "the config has no [harness]".to_owned(),
            });
        };
        let mut client = Client::new(self.launcher.open(self.side, harness).await?);
        let start = Duration::from_secs(harness.start_timeout_s);
        match client.hello(start).await {
            Ok(_) => Ok(client),
            Err(error) => {
                let finished = client.finish(false).await;
                // Nobody answered, so what it printed is the only trace.
                let said = shortened(&String::from_utf8_lossy(&finished.stderr), 200);
                Err(match (error.into_failure(), said.is_empty()) {
                    (Failure::Harness { message }, false) => Failure::Harness {
                        message: format!("{message}; standard error: {said}"),
                    },
                    (failure, _) => failure,
                })
            }
        }
    }

    /// Ends the harness, if one runs, and gives its log to the gates it answered. One that ends
    /// badly after good answers takes them back.
    async fn close(&mut self, well: bool) -> anyhow::Result<()> {
        let Some(harness) = self.harness.take() else {
            return Ok(());
        };
        let finished = harness.client.finish(well).await;
        let log = self
            .store(log_bytes(&finished.stdout, &finished.stderr))
            .await?;
        for index in harness.gates {
            let Some(gate) = self.gates.get_mut(index) else {
                continue;
            };
            gate.logs.extend(log.clone());
            if let (true, Some(failure), true) = (well, &finished.failure, passes(gate)) {
                let words = failure_words(failure);
                gate.outcome = GateOutcome::Failed {
                    reason: format!("passed, but then the harness {words}"),
                };
                gate.failure = Some(failure.clone());
            }
        }
        Ok(())
    }

    async fn store(&mut self, log: Vec<u8>) -> anyhow::Result<Option<ArtifactHash>> {
        if log.is_empty() {
            return Ok(None);
        }
        let hash = self.recorder.log(log).await;
        Ok(Some(hash.context("storing a parity case's output")?))
    }

    fn gate(&self, case: &Parity, outcome: GateOutcome) -> GateEvidence {
        GateEvidence {
            kind: GateKind::Parity,
            name: case.name.clone(),
            side: Some(self.side),
            outcome,
            figures: Vec::new(),
            failure: None,
            logs: Vec::new(),
        }
    }

    /// A case whose command or harness ended badly.
    fn failed(&self, case: &Parity, failure: Failure) -> GateEvidence {
        let reason = failure_words(&failure);
        let outcome = match &failure {
            Failure::Exit { .. }
            | Failure::Signal { .. }
            | Failure::TimedOut { .. }
            | Failure::TooMuchOutput { .. } => GateOutcome::Failed { reason },
            _ => GateOutcome::NoData { reason },
        };
        GateEvidence {
            failure: Some(failure),
            ..self.gate(case, outcome)
        }
    }

    /// A case that ran to its end: its figures and the harness's own opinion decide.
    fn judged(&self, case: &Parity, passed: bool, read: Vec<ReadFigure>) -> GateEvidence {
        let over = read.iter().find_map(|f| f.problem.clone());
        let missing = read
            .iter()
            .find(|f| f.problem.is_none() && f.figure.value.is_none());
        let outcome = match (over, missing) {
            (Some(reason), _) => GateOutcome::Failed { reason },
            (None, Some(f)) => GateOutcome::NoData {
                reason: format!("figure `{}` was not printed", f.figure.name),
            },
            (None, None) if !passed => GateOutcome::Failed {
                reason: "the harness says it did not pass".to_owned(),
            },
            (None, None) => GateOutcome::Passed,
        };
        GateEvidence {
            figures: read.into_iter().map(|f| f.figure).collect(),
            ..self.gate(case, outcome)
        }
    }
}

/// A figure, and what is wrong with it; neither a value nor a problem where it is missing.
struct ReadFigure {
    figure: Figure,
    problem: Option<String>,
}

fn read_figures(case: &Parity, stdout: &[u8]) -> Vec<ReadFigure> {
    let rules = case.figures.iter();
    rules
        .map(|rule| {
            let value = match &rule.value {
                Some(extract) => number(extract, stdout, None),
                None => Err(Failure::NoValue),
            };
            compared(&rule.name, rule.max, value)
        })
        .collect()
}

fn answered_figures(case: &Parity, answer: &ParityAnswer) -> Vec<ReadFigure> {
    let rules = case.figures.iter();
    rules
        .map(|rule| {
            let value = answer.figures.get(&rule.name).ok_or(Failure::NoValue);
            compared(&rule.name, rule.max, value.and_then(json_number))
        })
        .collect()
}

fn compared(name: &str, max: f64, value: Result<f64, Failure>) -> ReadFigure {
    let problem = match &value {
        Ok(value) if *value <= max => None,
        Ok(value) => Some(format!("{name} is {value}, over its limit of {max}")),
        Err(Failure::NoValue) => None,
        Err(Failure::NotANumber { text }) => Some(format!(
            "{name} is no finite number: {}",
            shortened(text, 80)
        )),
        Err(other) => Some(format!("{name}: {}", failure_words(other))),
    };
    ReadFigure {
        figure: Figure {
            name: name.to_owned(),
            value: value.ok(),
            max,
        },
        problem,
    }
}
