//! Runs commands with limits, in their own process group and a clean environment.
//!
//! This module knows nothing of benches, gates or builds: it starts a program, reads what it
//! prints up to a limit, and says how it ended. It must not interpret output.

mod capture;
mod environment;
mod harness;
mod private;
mod run;
mod sweep;
#[cfg(test)]
mod tests;

pub use environment::{EnvPlan, RUN_VARIABLE, effective_env, effective_env_from, looks_secret};
pub use harness::JsonLines;
pub use private::{PrivateDir, remove_tree};
pub use run::{io_failure, now, run};
pub use sweep::{Swept, is_marked, sweep};

use std::collections::BTreeMap;
use std::future::Future;
use std::path::PathBuf;
use std::time::Duration;

use crate::config::{CommandLine, Harness};
use crate::model::{Failure, Side, UnixMillis};

/// One command to run.
#[derive(Debug, Clone)]
pub struct Spec {
    /// What to run.
    pub command: CommandLine,
    /// Working directory.
    pub cwd: PathBuf,
    /// The whole environment; nothing is inherited.
    pub env: BTreeMap<String, String>,
    /// Time limit; the whole process group is killed past it.
    pub timeout: Duration,
    /// The most that stdout and stderr may each hold, bytes; the group is killed past it.
    pub output_limit: u64,
}

/// A command that has ended.
#[derive(Debug, Clone)]
pub struct Finished {
    /// Standard output, up to the limit.
    pub stdout: Vec<u8>,
    /// Standard error, up to the limit.
    pub stderr: Vec<u8>,
    /// `None` when it exited with status 0.
    pub failure: Option<Failure>,
    /// When it started.
    pub started_at: UnixMillis,
    /// From start to exit.
    pub wall: Duration,
}

/// What a gate or bench wants launched on a side; the launcher adds worktree and environment.
#[derive(Debug, Clone)]
pub struct LaunchRequest<'a> {
    /// The side.
    pub side: Side,
    /// The command.
    pub command: &'a CommandLine,
    /// Environment beyond what every command gets.
    pub env: &'a BTreeMap<String, String>,
    /// Time limit.
    pub timeout: Duration,
}

/// Launches commands and harnesses on a side. The real one is `crate::build::Workbench`;
/// tests script their own.
pub trait Launcher {
    /// A running harness.
    type Session: HarnessSession;

    /// Runs a command to its end.
    fn launch(&mut self, request: &LaunchRequest<'_>) -> impl Future<Output = Finished>;

    /// Starts a harness; it has not been spoken to yet.
    fn open(
        &mut self,
        side: Side,
        harness: &Harness,
    ) -> impl Future<Output = Result<Self::Session, Failure>>;
}

/// A program that answers one line for each line it is sent.
pub trait HarnessSession {
    /// Sends a line and waits for the answer. After an error the program has been killed.
    fn ask(
        &mut self,
        line: &str,
        timeout: Duration,
    ) -> impl Future<Output = Result<String, Failure>>;

    /// Closes its standard input, waits for it to end (killing it after `timeout`), and gives
    /// all it printed.
    fn close(self, timeout: Duration) -> impl Future<Output = Finished>;
}
