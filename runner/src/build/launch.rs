//! Launches commands and harnesses on a side, with the side's tree in the slot.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::outputs::unchanged;
use super::workbench::Workbench;
use crate::config::{CommandLine, Harness};
use crate::model::{Failure, Side};
use crate::process::{
    self, Finished, HarnessSession, JsonLines, LaunchRequest, Launcher, PrivateDir, Spec,
};

/// A harness that runs in the slot; while it does, the other side stays out.
#[derive(Debug)]
pub struct Session {
    inner: JsonLines,
    runs: Running,
}

/// Cleared when the harness has ended, however that came.
#[derive(Debug)]
struct Running(Arc<AtomicBool>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl HarnessSession for Session {
    async fn ask(&mut self, line: &str, timeout: Duration) -> Result<String, Failure> {
        let answer = self.inner.ask(line, timeout).await;
        if answer.is_err() {
            self.runs.0.store(false, Ordering::Release);
        }
        answer
    }

    async fn close(self, timeout: Duration) -> Finished {
        let Session { inner, runs } = self;
        let finished = inner.close(timeout).await;
        drop(runs);
        finished
    }
}

impl Launcher for Workbench {
    type Session = Session;

    async fn launch(&mut self, request: &LaunchRequest<'_>) -> Finished {
        match self.spec(request.side, request.command, request.env) {
            Ok(spec) => {
                process::run(&Spec {
                    timeout: request.timeout,
                    ..spec
                })
                .await
            }
            Err(failure) => Finished {
                stdout: Vec::new(),
                stderr: Vec::new(),
                failure: Some(failure),
                started_at: process::now(),
                wall: Duration::ZERO,
            },
        }
    }

    async fn open(&mut self, side: Side, harness: &Harness) -> Result<Session, Failure> {
        let spec = self.spec(side, &harness.command, &harness.env)?;
        let inner = JsonLines::start(&spec)?;
        let alive = Arc::new(AtomicBool::new(true));
        self.session = Some((side, Arc::clone(&alive)));
        Ok(Session {
            inner,
            runs: Running(alive),
        })
    }
}

impl Workbench {
    /// Brings the side into the slot and gives what to run there.
    fn spec(
        &mut self,
        side: Side,
        command: &CommandLine,
        extra: &BTreeMap<String, String>,
    ) -> Result<Spec, Failure> {
        let not_started = |reason: String| Failure::NotStarted { reason };
        let open = self
            .session
            .as_ref()
            .filter(|(_, alive)| alive.load(Ordering::Acquire))
            .map(|(side, _)| *side);
        if let Some(other) = open.filter(|open| *open != side) {
            return Err(not_started(format!(
                "the harness of {other} still runs; {side} cannot run beside it"
            )));
        }
        let Some(ready) = self.sides.get_mut(side).as_mut() else {
            return Err(not_started(format!("{side} has not been built")));
        };
        self.slot
            .bring_in(&ready.key)
            .map_err(|error| error.failure())?;
        let tree = self.slot.tree();
        if !unchanged(&tree, &ready.record) {
            return Err(not_started(format!(
                "a built file of {side} has been changed since it was built"
            )));
        }
        // A harness that is open keeps its home.
        if open.is_none() {
            PrivateDir::fresh(&self.slot.private(), &self.plan.runner_exe)
                .map_err(|error| process::io_failure(&error))?;
        }
        Ok(Spec {
            command: command.clone(),
            cwd: PathBuf::from(&tree),
            env: self.environment(extra),
            timeout: Duration::MAX,
            output_limit: self.plan.config.limits.output_bytes,
        })
    }
}
