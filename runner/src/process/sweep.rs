//! Finds and kills processes that a command left behind, also those that left its process
//! group and session: every child carries a mark in its environment, and `/proc/*/environ`
//! shows it. Must never touch a process without the mark.
//!
//! A process that replaces its own environment gets away; only a sandbox with a process
//! namespace of its own could hold it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::environment::RUN_VARIABLE;

/// How often the list of processes is read again while new ones turn up.
const ROUNDS: u32 = 40;
/// Pause between two readings: a killed process is gone after it, usually.
const PAUSE: Duration = Duration::from_millis(5);

/// A process that was killed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Swept {
    /// Its id.
    pub pid: i32,
    /// Its name, as the kernel has it.
    pub name: String,
}

/// Kills every process that carries the mark of the run `run_id`, and says which they were.
/// Used at start-up for a run that was interrupted.
pub fn sweep(run_id: &str) -> Vec<Swept> {
    sweep_marked(RUN_VARIABLE, run_id)
}

/// Whether a process carries the mark of the run `run_id`.
pub fn is_marked(pid: u32, run_id: &str) -> bool {
    let entry = format!("{RUN_VARIABLE}={run_id}");
    std::fs::read(format!("/proc/{pid}/environ"))
        .is_ok_and(|environ| environ.split(|b| *b == 0).any(|e| e == entry.as_bytes()))
}

/// Kills every process with `name=value` in the environment it was started with.
pub(super) fn sweep_marked(name: &str, value: &str) -> Vec<Swept> {
    let mut swept: Vec<Swept> = Vec::new();
    let entry = format!("{name}={value}");
    for _ in 0..ROUNDS {
        let found = marked(entry.as_bytes());
        if found.is_empty() {
            break;
        }
        // Stopped first, so that none of them forks while the others are being killed.
        for signal in [Signal::STOP, Signal::KILL] {
            for process in &found {
                if let Some(pid) = Pid::from_raw(process.pid) {
                    // It may have ended meanwhile; the next round looks again.
                    let _ = kill_process(pid, signal);
                }
            }
        }
        for process in found {
            if !swept.iter().any(|s| s.pid == process.pid) {
                swept.push(process);
            }
        }
        std::thread::sleep(PAUSE);
    }
    swept
}

fn marked(entry: &[u8]) -> Vec<Swept> {
    let own = std::process::id();
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    processes
        .filter_map(|process| process.ok()?.file_name().to_str()?.parse::<i32>().ok())
        .filter(|pid| u32::try_from(*pid).is_ok_and(|pid| pid != own))
        .filter(|pid| {
            // Unreadable: another user's, or gone.
            std::fs::read(format!("/proc/{pid}/environ"))
                .is_ok_and(|environ| environ.split(|b| *b == 0).any(|e| e == entry))
        })
        .map(|pid| Swept {
            pid,
            name: std::fs::read(format!("/proc/{pid}/comm"))
                .map(|name| {
                    OsStr::from_bytes(name.trim_ascii())
                        .to_string_lossy()
                        .into_owned()
                })
                .unwrap_or_default(),
        })
        .collect()
}
