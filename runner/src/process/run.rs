//! Runs one command to its end, within limits.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};
use tokio::sync::Notify;

use super::capture::Capture;
use super::sweep::sweep_marked;
use super::{Finished, Spec};
use crate::config::CommandLine;
use crate::model::{Failure, UnixMillis};

/// From SIGTERM to SIGKILL.
pub(super) const TERM_GRACE: Duration = Duration::from_secs(2);
/// How long the rest of the output is waited for once the process has ended and all that it
/// left behind is killed.
pub(super) const DRAIN: Duration = Duration::from_secs(2);
/// Marks one command's processes. Fixed width: the size of the environment moves the stack,
/// and must be the same for both sides.
const COMMAND_VARIABLE: &str = "ROUNDHOUSE_COMMAND";

static NEXT_COMMAND: AtomicU32 = AtomicU32::new(0);

/// Runs a command: its own process group, no standard input, output read up to the limit.
/// When it gives back, the command and all that it left behind have ended.
pub async fn run(spec: &Spec) -> Finished {
    let started_at = now();
    let clock = Instant::now();
    let mut group = match Group::start(spec, Stdio::null()) {
        Ok(group) => group,
        Err(failure) => {
            return Finished {
                stdout: Vec::new(),
                stderr: Vec::new(),
                failure: Some(failure),
                started_at,
                wall: clock.elapsed(),
            };
        }
    };
    let overflow = Arc::new(Notify::new());
    let out = group.capture_stdout(spec.output_limit, &overflow);
    let err = group.capture_stderr(spec.output_limit, &overflow);
    let mut failure = tokio::select! {
        status = group.child.wait() => status_failure(status),
        () = overflow.notified() => Some(too_much(spec)),
        () = tokio::time::sleep(spec.timeout) => Some(timed_out(spec.timeout)),
    };
    group.stop().await;
    let wall = clock.elapsed();
    group.clear();
    let (out, err) = tokio::join!(finish(out), finish(err));
    // Whoever goes on to print then may die of SIGPIPE before we come to kill it.
    if out.overflowed || err.overflowed {
        failure = Some(too_much(spec));
    }
    Finished {
        stdout: out.bytes,
        stderr: err.bytes,
        failure,
        started_at,
        wall,
    }
}

async fn finish(capture: Option<Capture>) -> super::capture::Held {
    match capture {
        Some(capture) => capture.finish(DRAIN).await,
        None => super::capture::Held::default(),
    }
}

/// A child in a process group of its own. Dropping it kills the group.
#[derive(Debug)]
pub(super) struct Group {
    /// The group's leader.
    pub child: Child,
    pid: Option<Pid>,
    mark: String,
    ended: bool,
}

impl Group {
    /// Starts the command of `spec`.
    pub fn start(spec: &Spec, stdin: Stdio) -> Result<Group, Failure> {
        let mark = format!(
            "{:08x}-{:08x}",
            std::process::id(),
            NEXT_COMMAND.fetch_add(1, Ordering::Relaxed)
        );
        let mut command = command_of(&spec.command)?;
        command
            .current_dir(&spec.cwd)
            .env_clear()
            .envs(&spec.env)
            .env(COMMAND_VARIABLE, &mark)
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        let child = command.spawn().map_err(|error| not_started(spec, &error))?;
        let pid = child
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .and_then(Pid::from_raw);
        Ok(Group {
            child,
            pid,
            mark,
            ended: false,
        })
    }

    /// Starts to read standard output.
    pub fn capture_stdout(&mut self, limit: u64, overflow: &Arc<Notify>) -> Option<Capture> {
        let stream = self.child.stdout.take()?;
        Some(Capture::start(stream, limit, Arc::clone(overflow)))
    }

    /// Starts to read standard error.
    pub fn capture_stderr(&mut self, limit: u64, overflow: &Arc<Notify>) -> Option<Capture> {
        let stream = self.child.stderr.take()?;
        Some(Capture::start(stream, limit, Arc::clone(overflow)))
    }

    /// Ends the leader if it still runs: SIGTERM to the group, a short grace, SIGKILL.
    pub async fn stop(&mut self) {
        // `id` is `None` once it has been waited for.
        if self.child.id().is_none() {
            return;
        }
        self.signal(Signal::TERM);
        let gentle = tokio::time::timeout(TERM_GRACE, self.child.wait()).await;
        if gentle.is_err() {
            self.signal(Signal::KILL);
            // SIGKILL cannot be refused; only a process stuck in the kernel outlives this.
            let _ = tokio::time::timeout(TERM_GRACE, self.child.wait()).await;
        }
    }

    /// Kills what is left of the group and everything else that carries the command's mark.
    pub fn clear(&mut self) {
        self.signal(Signal::KILL);
        sweep_marked(COMMAND_VARIABLE, &self.mark);
        self.ended = true;
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = self.pid {
            // No such group: it has ended, which is what was wanted.
            let _ = kill_process_group(pid, signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.ended {
            self.clear();
        }
    }
}

fn command_of(line: &CommandLine) -> Result<Command, Failure> {
    match line {
        CommandLine::Shell(script) => {
            let mut command = Command::new("/bin/sh");
            command.arg("-c").arg(script);
            Ok(command)
        }
        CommandLine::Argv(words) => {
            let (program, arguments) = words.split_first().ok_or_else(|| Failure::NotStarted {
                reason: "the command is empty".to_owned(),
            })?;
            let mut command = Command::new(program);
            command.args(arguments);
            Ok(command)
        }
    }
}

fn not_started(spec: &Spec, error: &io::Error) -> Failure {
    if error.kind() == io::ErrorKind::StorageFull {
        return Failure::DiskFull;
    }
    let reason = if !spec.cwd.is_dir() {
        format!(
            "its working directory {} does not exist",
            spec.cwd.display()
        )
    } else {
        match &spec.command {
            CommandLine::Shell(_) => format!("/bin/sh: {error}"),
            CommandLine::Argv(words) => {
                format!("{}: {error}", words.first().map_or("", String::as_str))
            }
        }
    };
    Failure::NotStarted { reason }
}

fn too_much(spec: &Spec) -> Failure {
    Failure::TooMuchOutput {
        limit_bytes: spec.output_limit,
    }
}

/// The failure of a command that ran past `limit`.
pub(super) fn timed_out(limit: Duration) -> Failure {
    // Rounded up: a limit of half a second is not shown as none.
    Failure::TimedOut {
        limit_s: limit.as_secs() + u64::from(limit.subsec_nanos() > 0),
    }
}

/// What an exit status means.
pub(super) fn status_failure(status: io::Result<ExitStatus>) -> Option<Failure> {
    match status {
        Ok(status) if status.success() => None,
        Ok(status) => Some(match (status.code(), status.signal()) {
            (Some(code), _) => Failure::Exit { code },
            (None, Some(signal)) => Failure::Signal { signal },
            (None, None) => Failure::NotStarted {
                reason: format!("ended with an unknown status: {status}"),
            },
        }),
        Err(error) => Some(io_failure(&error)),
    }
}

/// The failure that an error of our own reading or writing stands for.
pub fn io_failure(error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Failure::DiskFull,
        _ => Failure::NotStarted {
            reason: error.to_string(),
        },
    }
}

/// The time.
pub fn now() -> UnixMillis {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    UnixMillis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
