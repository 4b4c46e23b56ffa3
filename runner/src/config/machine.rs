//! `[machine]`: what is done about the machine before and after a window.

use serde::{Deserialize, Serialize};

use super::reader::Section;
use super::schema;
use crate::model::UnixMillis;

/// How long a drained device is waited for, seconds, where the file does not say.
pub const DEFAULT_DRAIN_S: u64 = 60;

/// The longest such wait, seconds: an hour.
const LONGEST_DRAIN_S: u64 = 3600;

/// The highest clock that may be asked for, MHz; well above any GPU's.
const HIGHEST_MHZ: u64 = 10_000;

/// `[machine]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Lock the SM clock for the window.
    pub lock_clocks: bool,
    /// At what, MHz; the device's own sustained clock where none is given.
    pub sm_clock: Option<u32>,
    /// How long a drained device (or with `drain_cpu` an idle machine) is waited for, seconds.
    pub drain_s: u64,
    /// How many CPUs others may keep busy when the window begins; not looked at where none is
    /// given.
    pub drain_cpu: Option<f64>,
    /// Whether the canary runs; by default on CUDA devices only.
    pub canary: Option<bool>,
    /// Canary readings from before this time are no history any more.
    pub canary_since: Option<UnixMillis>,
    /// How many processors others may use on average while a sample is taken; where it is more,
    /// the pair is rejected. Recorded only where none is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_foreign_cpu: Option<f64>,
}

impl Default for Machine {
    fn default() -> Machine {
        Machine {
            lock_clocks: false,
            sm_clock: None,
            drain_s: DEFAULT_DRAIN_S,
            drain_cpu: None,
            canary: None,
            canary_since: None,
            max_foreign_cpu: None,
        }
    }
}

impl Machine {
    /// Whether it says nothing: left out of a stored config then, so that the hash of a config
    /// from before the table existed stays what it was.
    pub fn is_default(&self) -> bool {
        *self == Machine::default()
    }
}

/// Reads the table.
pub(super) fn machine(root: &Section<'_>) -> Machine {
    let Some(section) = root.section(&schema::MACHINE) else {
        return Machine::default();
    };
    let truth = |key| section.get(key).and_then(|item| item.truth());
    let lock_clocks = truth("lock_clocks").unwrap_or(false);
    let sm_clock = section.get("sm_clock").and_then(|item| {
        let mhz = item.integer(1..HIGHEST_MHZ + 1, "a clock in MHz")?;
        if !lock_clocks {
            item.reject(
                "`sm_clock` is what clocks are locked at, and they are not locked",
                "add `lock_clocks = true`, or leave `sm_clock` out",
            );
        }
        u32::try_from(mhz).ok()
    });
    let drain_s = section.get("drain_s").and_then(|item| {
        item.integer(
            0..LONGEST_DRAIN_S + 1,
            "how long a drained device is waited for, in whole seconds",
        )
    });
    Machine {
        lock_clocks,
        sm_clock,
        drain_s: drain_s.unwrap_or(DEFAULT_DRAIN_S),
        drain_cpu: section
            .get("drain_cpu")
            .and_then(|item| item.positive_or_zero()),
        canary: truth("canary"),
        canary_since: canary_since(&section),
        max_foreign_cpu: section
            .get("max_foreign_cpu")
            .and_then(|item| item.positive_or_zero()),
    }
}

/// A date, which begins at midnight UTC.
fn canary_since(section: &Section<'_>) -> Option<UnixMillis> {
    let item = section.get("canary_since")?;
    let text = item.filled()?;
    let date = text.get_ref().parse::<jiff::civil::Date>().ok();
    let start = date.and_then(|date| format!("{date}T00:00:00Z").parse::<jiff::Timestamp>().ok());
    match start {
        Some(start) => Some(UnixMillis(start.as_millisecond())),
        None => {
            item.reject(
                format!("`{}` is not a date", text.get_ref()),
                "write it as `\"2026-12-01\"`",
            );
            None
        }
    }
}
