//! The guardian: the process that locks a card's clock and takes the lock away when its runner is
//! gone. It does nothing else, and it answers in JSON, a line each.

use std::io::{Read, Write};
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::signal::unix::{SignalKind, signal};

use super::marker::{self, Mark, Marker};
use crate::machine::{NvmlError, NvmlGpu};

/// How often a reset that fails is tried again, and after what pause.
const RESET_TRIES: u32 = 3;
const RESET_PAUSE: Duration = Duration::from_millis(500);

/// What a guardian is told.
#[derive(Debug, Clone)]
pub struct Guard {
    /// The card.
    pub uuid: String,
    /// What to lock it at, MHz.
    pub mhz: u32,
    /// Where the marker is.
    pub marker: PathBuf,
    /// What for, for people.
    pub what: String,
}

/// What a guardian says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "guardian")]
pub enum Said {
    /// The clock is locked.
    Locked,
    /// It is not, and nothing was changed.
    Refused {
        /// Why.
        reason: String,
        /// Whether it is the user who may not.
        not_permitted: bool,
    },
    /// The lock is taken away.
    Reset,
    /// It could not be; the marker stays for the next runner.
    NotReset {
        /// Why.
        reason: String,
    },
}

/// Locks, waits until standard input ends, and takes the lock away; gives whether nothing is left
/// locked. Needs a runtime of tokio's, whose handlers keep signals from ending this process.
pub fn guard(what: &Guard) -> bool {
    // Fails only for a group's leader, and then the session is the process's own already or none
    // that a terminal ends.
    let _ = rustix::process::setsid();
    // A handler stays for the process's life, whether or not anybody asks what it caught.
    for kind in [
        SignalKind::terminate(),
        SignalKind::interrupt(),
        SignalKind::hangup(),
        SignalKind::quit(),
        SignalKind::alarm(),
        SignalKind::user_defined1(),
        SignalKind::user_defined2(),
    ] {
        let _ = signal(kind);
    }
    // The library stays open: without persistence mode the driver forgets the lock when its last
    // user leaves.
    let (mut marker, _open) = match lock(what) {
        Ok(locked) => locked,
        Err((reason, not_permitted)) => {
            say(&Said::Refused {
                reason,
                not_permitted,
            });
            return true;
        }
    };
    say(&Said::Locked);
    wait_for_the_end();
    match reset(&what.uuid) {
        Ok(()) => {
            // A marker that stays costs a reset that changes nothing.
            let _ = marker.clear();
            say(&Said::Reset);
            true
        }
        Err(error) => {
            let reason = error.to_string();
            say(&Said::NotReset { reason });
            false
        }
    }
}

/// The marker first, then the lock: there is no moment at which a lock is set that nobody knows of.
fn lock(what: &Guard) -> Result<(Marker, NvmlGpu), (String, bool)> {
    let path = what.marker.display();
    let failed = |error: std::io::Error| (format!("writing the marker {path}: {error}"), false);
    let nvml = |error: NvmlError| {
        let not_permitted = matches!(error, NvmlError::NotPermitted { .. });
        (error.to_string(), not_permitted)
    };
    let gpu = NvmlGpu::open(&what.uuid).map_err(nvml)?;
    let boot_id = marker::boot_id().ok_or_else(|| {
        (
            "the kernel gives no boot id for the marker".to_owned(),
            false,
        )
    })?;
    let Some(mut marker) = Marker::take(&what.marker).map_err(failed)? else {
        return Err((format!("{path} is held by another guardian"), false));
    };
    let mark = Mark {
        uuid: what.uuid.clone(),
        mhz: what.mhz,
        boot_id,
        guardian: std::process::id(),
        what: what.what.clone(),
        since: crate::process::now(),
    };
    marker.write(&mark).map_err(failed)?;
    match gpu.lock_sm_clock(what.mhz) {
        Ok(()) => Ok((marker, gpu)),
        Err(error) => {
            let _ = marker.clear();
            Err(nvml(error))
        }
    }
}

/// Takes a card's lock away, trying several times.
pub(super) fn reset(uuid: &str) -> Result<(), NvmlError> {
    let once = || NvmlGpu::open(uuid)?.reset_sm_clock();
    let mut outcome = once();
    for _ in 1..RESET_TRIES {
        if outcome.is_ok() {
            break;
        }
        std::thread::sleep(RESET_PAUSE);
        outcome = once();
    }
    outcome
}

fn wait_for_the_end() {
    let mut input = std::io::stdin().lock();
    let mut bytes = [0; 64];
    loop {
        match input.read(&mut bytes) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

/// Nobody may be listening any more; that changes nothing.
fn say(said: &Said) {
    let mut output = std::io::stdout().lock();
    if let Ok(text) = serde_json::to_string(said) {
        let _ = writeln!(output, "{text}").and_then(|()| output.flush());
    }
}
