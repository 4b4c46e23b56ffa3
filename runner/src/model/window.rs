//! The machine around a window: the clock's lock, and the canary before and after.

use serde::{Deserialize, Serialize};

use super::UnixMillis;

/// What was done about the machine around the window in which samples were taken.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Window {
    /// The clock's lock; `None` where none was asked for, or nothing was measured.
    pub clocks: Option<ClockState>,
    /// The canary; `None` where it did not run.
    pub canary: Option<CanaryEvidence>,
}

impl Window {
    /// Whether nothing was done.
    pub fn is_empty(&self) -> bool {
        *self == Window::default()
    }

    /// What the SM clock was locked at, MHz.
    pub fn locked_mhz(&self) -> Option<u32> {
        match &self.clocks {
            Some(ClockState::Locked { mhz }) => Some(*mhz),
            Some(ClockState::NotLocked { .. }) | None => None,
        }
    }
}

/// What became of the wish to lock the clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum ClockState {
    /// It was locked for the window.
    Locked {
        /// The SM clock, MHz.
        mhz: u32,
    },
    /// It ran unlocked.
    NotLocked {
        /// Why, and what to do about it.
        reason: String,
    },
}

/// Whether a canary reading is from before or after the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Before the first sample.
    Before,
    /// After the last one.
    After,
}

/// How long the canary's two works took, microseconds: medians of several repetitions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CanaryTimes {
    /// Arithmetic on all cores (CPU: on one).
    pub compute_us: f64,
    /// A copy that no cache holds.
    pub copy_us: f64,
}

/// One run of the canary.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CanaryReading {
    /// Before or after the window.
    pub phase: Phase,
    /// When it began.
    pub at: UnixMillis,
    /// Which fixed work it was, with its version; only readings of the same work compare.
    pub work: String,
    /// What it ran on: a GPU's UUID, or the CPU's id.
    pub device: String,
    /// What the SM clock was locked at, MHz; only readings under the same lock compare.
    pub locked_mhz: Option<u32>,
    /// The times, or why there are none.
    pub outcome: CanaryOutcome,
}

/// How a run of the canary came out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "outcome")]
pub enum CanaryOutcome {
    /// It ran.
    Measured(CanaryTimes),
    /// It did not.
    Failed {
        /// Why.
        reason: String,
    },
}

impl CanaryReading {
    /// The times, where there are any.
    pub fn times(&self) -> Option<CanaryTimes> {
        match self.outcome {
            CanaryOutcome::Measured(times) => Some(times),
            CanaryOutcome::Failed { .. } => None,
        }
    }
}

/// What the canary said around an earlier window, under the same conditions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PastCanary {
    /// When the window began.
    pub at: UnixMillis,
    /// Before it.
    pub before: CanaryTimes,
    /// After it.
    pub after: CanaryTimes,
}

/// The canary around a window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CanaryEvidence {
    /// This window's readings, in order.
    pub readings: Vec<CanaryReading>,
    /// Earlier windows on this machine, oldest first; filled in when a record is loaded.
    pub history: Vec<PastCanary>,
}
