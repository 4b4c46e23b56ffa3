//! The runner's side of a lock: asks a guardian for it, holds it, gives it back, and takes away
//! what an earlier runner left behind.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use super::guardian::{self, Said};
use super::marker::{self, Found, Mark};
use crate::process::RUN_VARIABLE;

/// How long a guardian may take to lock or to reset.
const ANSWER_WITHIN: Duration = Duration::from_secs(20);
/// How long a guardian of a runner that has just died is waited for.
const HELD_AT_MOST: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(50);

/// What to ask a guardian for.
#[derive(Debug, Clone)]
pub struct LockRequest {
    /// The runner's own program.
    pub runner_exe: PathBuf,
    /// The folder of the device locks.
    pub locks: PathBuf,
    /// The card.
    pub uuid: String,
    /// What to lock it at, MHz.
    pub mhz: u32,
    /// What for, for people.
    pub what: String,
}

/// A lock that is held. It is taken away when this is released or dropped, and when this process
/// ends, however it ends.
#[derive(Debug)]
pub struct ClockLock {
    child: Child,
    held: Option<ChildStdin>,
    answers: Receiver<Said>,
    uuid: String,
    marker: PathBuf,
}

/// Asks a guardian to lock a card's clock; the reason where it is not locked. Blocks for as long as
/// the driver takes.
pub fn request(what: &LockRequest) -> Result<ClockLock, String> {
    let marker = marker::path(&what.locks, &what.uuid);
    let mut child = Command::new(&what.runner_exe)
        .args(["guard-clocks", "--uuid", &what.uuid])
        .args(["--mhz", &what.mhz.to_string(), "--what", &what.what])
        .arg("--marker")
        .arg(&marker)
        // Runs that are swept after a crash are found by it; the guardian must outlive them.
        .env_remove(RUN_VARIABLE)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("starting the process that would undo the lock: {error}"))?;
    let answers = listen(&mut child);
    let held = child.stdin.take();
    let mut lock = ClockLock {
        child,
        held,
        answers,
        uuid: what.uuid.clone(),
        marker,
    };
    match lock.answers.recv_timeout(ANSWER_WITHIN) {
        Ok(Said::Locked) => Ok(lock),
        Ok(Said::Refused {
            reason,
            not_permitted,
        }) => {
            lock.held = None;
            let _ = lock.child.wait();
            Err(refusal(reason, not_permitted, what))
        }
        Ok(_) | Err(_) => {
            // Whatever it does later, it does after the end of its input, and undoes it.
            lock.held = None;
            Err("the process that would undo the lock did not answer".to_owned())
        }
    }
}

fn refusal(reason: String, not_permitted: bool, what: &LockRequest) -> String {
    match not_permitted {
        false => reason,
        true => format!(
            "this user may not lock clocks; as root `nvidia-smi -i {} -lgc {}` before and \
             `nvidia-smi -i {} -rgc` after the runs do it, or run as a user who may",
            what.uuid, what.mhz, what.uuid
        ),
    }
}

/// Reads a guardian's answers in a thread of its own, so that waiting for one can end.
fn listen(child: &mut Child) -> Receiver<Said> {
    let (sender, receiver) = channel();
    if let Some(output) = child.stdout.take() {
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if let Ok(said) = serde_json::from_str(&line)
                    && sender.send(said).is_err()
                {
                    return;
                }
            }
        });
    }
    receiver
}

impl ClockLock {
    /// The guardian's process.
    pub fn guardian(&self) -> u32 {
        self.child.id()
    }

    /// Takes the lock away; the reason where it may still be there.
    pub fn release(mut self) -> Result<(), String> {
        self.end()
    }

    fn end(&mut self) -> Result<(), String> {
        if self.held.take().is_none() {
            return Ok(());
        }
        let answer = self.answers.recv_timeout(ANSWER_WITHIN);
        let still_at_work = answer == Err(RecvTimeoutError::Timeout);
        let left = match answer {
            Ok(Said::Reset) => None,
            Ok(Said::NotReset { reason }) => Some(reason),
            // It was killed: what it left is taken away here and now.
            Ok(_) | Err(RecvTimeoutError::Disconnected) => match settle(&self.marker, &self.uuid) {
                Restored::Nothing | Restored::Reset(_) => None,
                Restored::Held => Some("its guardian is gone, its marker is held".to_owned()),
                Restored::Failed { reason, .. } => Some(reason),
            },
            Err(RecvTimeoutError::Timeout) => {
                Some("its guardian is still at work on it".to_owned())
            }
        };
        if !still_at_work {
            let _ = self.child.wait();
        }
        match left {
            None => Ok(()),
            Some(reason) => Err(format!(
                "the SM clock may still be locked: {reason}; as root: `nvidia-smi -i {} -rgc`",
                self.uuid
            )),
        }
    }
}

impl Drop for ClockLock {
    fn drop(&mut self) {
        // Whatever could not be undone is in the marker.
        let _ = self.end();
    }
}

/// What is left on a card, seen without changing anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Left {
    /// Nothing that is known of.
    Nothing,
    /// A lock that nobody guards.
    Behind(Mark),
}

/// Looks for a lock that was left on a card since the machine started; changes nothing.
pub fn left_behind(locks: &Path, uuid: &str) -> Left {
    let this_start = marker::boot_id();
    match marker::look(&marker::path(locks, uuid)) {
        Ok(Found::LeftBehind(_, mark)) if this_start.is_none_or(|id| id == mark.boot_id) => {
            Left::Behind(mark)
        }
        _ => Left::Nothing,
    }
}

/// What became of a lock that an earlier runner had left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Restored {
    /// There was none.
    Nothing,
    /// It was taken away.
    Reset(Mark),
    /// Another guardian holds one.
    Held,
    /// It could not be taken away.
    Failed {
        /// The lock.
        mark: Option<Mark>,
        /// Why not.
        reason: String,
    },
}

/// Takes away the lock that an earlier runner left on a card when it and its guardian were killed.
/// To be called by whoever has the card's device lock. A guardian that is about to do it is waited
/// for.
pub fn restore_left_behind(locks: &Path, uuid: &str) -> Restored {
    let path = marker::path(locks, uuid);
    let clock = Instant::now();
    loop {
        match settle(&path, uuid) {
            Restored::Held if clock.elapsed() < HELD_AT_MOST => std::thread::sleep(PAUSE),
            other => return other,
        }
    }
}

fn settle(path: &Path, uuid: &str) -> Restored {
    let (mut marker, mark) = match marker::look(path) {
        Ok(Found::Nothing) => return Restored::Nothing,
        Ok(Found::Held) => return Restored::Held,
        Ok(Found::LeftBehind(marker, mark)) => (marker, mark),
        Err(error) => {
            return Restored::Failed {
                mark: None,
                reason: format!("reading the marker {}: {error}", path.display()),
            };
        }
    };
    let is_this_start = marker::boot_id().is_none_or(|id| id == mark.boot_id);
    if mark.uuid != uuid || !is_this_start {
        let _ = marker.clear();
        return Restored::Nothing;
    }
    match guardian::reset(uuid) {
        Ok(()) => {
            let _ = marker.clear();
            Restored::Reset(mark)
        }
        Err(error) => Restored::Failed {
            mark: Some(mark),
            reason: error.to_string(),
        },
    }
}
