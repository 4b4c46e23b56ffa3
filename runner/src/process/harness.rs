//! A program that stays alive and answers a line with a line. Must not look into the lines.

use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::Notify;

use super::capture::{Capture, Held};
use super::run::{DRAIN, Group, io_failure, now, status_failure, timed_out};
use super::{Finished, HarnessSession, Spec};
use crate::model::{Failure, UnixMillis};

/// The longest answer, bytes; a harness that sends more has lost its way.
const LINE_LIMIT: u64 = 16 << 20;
/// How much of standard error is quoted when the program ends without an answer.
const QUOTED: usize = 400;

/// A running harness.
#[derive(Debug)]
pub struct JsonLines {
    group: Group,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    stderr: Option<Capture>,
    complaints: Held,
    said: Vec<u8>,
    output_limit: u64,
    failure: Option<Failure>,
    started_at: UnixMillis,
    clock: Instant,
}

impl JsonLines {
    /// Starts the program; it has not been spoken to yet. The time limit of `spec` is not used:
    /// each question has its own.
    pub fn start(spec: &Spec) -> Result<JsonLines, Failure> {
        let started_at = now();
        let clock = Instant::now();
        let mut group = Group::start(spec, Stdio::piped())?;
        let stderr = group.capture_stderr(spec.output_limit, &Arc::new(Notify::new()));
        let stdin = group.child.stdin.take();
        let stdout = group
            .child
            .stdout
            .take()
            .ok_or_else(|| Failure::NotStarted {
                reason: "the harness has no standard output".to_owned(),
            })?;
        Ok(JsonLines {
            group,
            stdin,
            stdout: BufReader::new(stdout),
            stderr,
            complaints: Held::default(),
            said: Vec::new(),
            output_limit: spec.output_limit,
            failure: None,
            started_at,
            clock,
        })
    }

    async fn exchange(&mut self, line: &str) -> Result<String, Failure> {
        let stdin = self.stdin.as_mut().ok_or_else(ended)?;
        let written = async {
            stdin.write_all(line.as_bytes()).await?;
            stdin.write_all(b"\n").await?;
            stdin.flush().await
        };
        // A program that has ended gives EPIPE here; how it ended says more.
        let sent = written.await;
        let room = LINE_LIMIT.min(self.output_limit.saturating_sub(self.said.len() as u64));
        let mut answer = Vec::new();
        (&mut self.stdout)
            .take(room)
            .read_until(b'\n', &mut answer)
            .await
            .map_err(|error| io_failure(&error))?;
        self.said.extend_from_slice(&answer);
        if answer.last() == Some(&b'\n') {
            if let Err(error) = sent {
                return Err(Failure::Harness {
                    message: format!("it does not read its standard input: {error}"),
                });
            }
            answer.pop();
            return String::from_utf8(answer).map_err(|_| Failure::Harness {
                message: "its answer is not UTF-8".to_owned(),
            });
        }
        if answer.len() as u64 >= room {
            return Err(Failure::TooMuchOutput { limit_bytes: room });
        }
        Err(self.why_it_ended().await)
    }

    /// Standard output is at its end: the program ended, or closed it.
    async fn why_it_ended(&mut self) -> Failure {
        let status = tokio::time::timeout(DRAIN, self.group.child.wait()).await;
        if let Some(stderr) = self.stderr.take() {
            self.complaints = stderr.finish(DRAIN).await;
        }
        if self.complaints.overflowed {
            return Failure::TooMuchOutput {
                limit_bytes: self.output_limit,
            };
        }
        match status.ok().and_then(status_failure) {
            Some(failure) => failure,
            None => Failure::Harness {
                message: match tail(&self.complaints.bytes) {
                    "" => "it ended without an answer".to_owned(),
                    tail => format!("it ended without an answer; it said: {tail}"),
                },
            },
        }
    }

    async fn kill(&mut self) {
        self.stdin = None;
        self.group.stop().await;
        self.group.clear();
    }
}

impl HarnessSession for JsonLines {
    async fn ask(&mut self, line: &str, timeout: Duration) -> Result<String, Failure> {
        if self.failure.is_some() {
            return Err(ended());
        }
        let asked = tokio::time::timeout(timeout, self.exchange(line)).await;
        match asked.unwrap_or_else(|_| Err(timed_out(timeout))) {
            Ok(answer) => Ok(answer),
            Err(failure) => {
                self.failure = Some(failure.clone());
                self.kill().await;
                Err(failure)
            }
        }
    }

    async fn close(mut self, timeout: Duration) -> Finished {
        self.stdin = None;
        if self.failure.is_none() {
            let rest = self.output_limit.saturating_sub(self.said.len() as u64);
            let mut last_words = Vec::new();
            let ending = async {
                // The pipe is read to its end, so that the program cannot block on it.
                let mut stdout = (&mut self.stdout).take(rest);
                let _ = stdout.read_to_end(&mut last_words).await;
                self.group.child.wait().await
            };
            self.failure = match tokio::time::timeout(timeout, ending).await {
                Ok(status) => status_failure(status),
                Err(_) => Some(timed_out(timeout)),
            };
            self.said.extend_from_slice(&last_words);
        }
        self.kill().await;
        let wall = self.clock.elapsed();
        if let Some(stderr) = self.stderr.take() {
            self.complaints = stderr.finish(DRAIN).await;
        }
        Finished {
            stdout: self.said,
            stderr: self.complaints.bytes,
            failure: self.failure,
            started_at: self.started_at,
            wall,
        }
    }
}

fn ended() -> Failure {
    Failure::Harness {
        message: "it has ended already".to_owned(),
    }
}

fn tail(said: &[u8]) -> &str {
    let mut start = said.len().saturating_sub(QUOTED);
    while start < said.len() && (said[start] & 0xC0) == 0x80 {
        start += 1;
    }
    std::str::from_utf8(&said[start..]).unwrap_or("").trim()
}
