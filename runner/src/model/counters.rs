//! What a profiler counted while each side's kernels ran: evidence for claims, never a time.

use serde::{Deserialize, Serialize};

use super::{ArtifactHash, Failure, Side, UnixMillis};

/// One `[[counters]]` table on one side: its command, run once under the profiler.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CounterProfile {
    /// The table's name in the config.
    pub entry: String,
    /// The side.
    pub side: Side,
    /// When the command was started.
    pub at: UnixMillis,
    /// The profiler with its version; `None` where there is none.
    pub profiler: Option<String>,
    /// The profiled launches, in their order.
    pub launches: Vec<CounterLaunch>,
    /// Metrics that were asked for and have no value.
    pub absent: Vec<AbsentMetric>,
    /// Why there are no launches.
    pub failure: Option<ProfileFailure>,
    /// What profiler and command printed.
    pub log: Option<ArtifactHash>,
}

/// One profiled launch of a kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CounterLaunch {
    /// Demangled name, as the profiler gives it.
    pub kernel: String,
    /// The device's architecture (`sm_90`), where the profiler names it.
    pub arch: Option<String>,
    /// Blocks of the grid, as the profiler prints them: `(28, 21, 1)`.
    pub grid: String,
    /// Threads of a block, likewise.
    pub block: String,
    /// The values, in the profiler's order.
    pub values: Vec<CounterValue>,
}

impl CounterLaunch {
    /// The value of a metric by the profiler's name for it.
    pub fn value(&self, metric: &str) -> Option<f64> {
        let found = self.values.iter().find(|value| value.metric == metric);
        found.map(|value| value.value)
    }
}

/// The value of one metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CounterValue {
    /// The profiler's name for it.
    pub metric: String,
    /// Its unit as printed; empty for a plain number.
    pub unit: String,
    /// The value; finite and not negative.
    pub value: f64,
}

/// A metric without a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AbsentMetric {
    /// The profiler's name for it.
    pub metric: String,
    /// Why it has none.
    pub reason: String,
}

/// Why a command could not be profiled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum ProfileFailure {
    /// There is no profiler, or it does not run.
    Missing {
        /// Where it was looked for, or what it said.
        detail: String,
    },
    /// The driver does not let this user read performance counters.
    NotPermitted,
    /// The command launched no kernel of the wanted name.
    NoKernel {
        /// The expression.
        pattern: String,
        /// The kernels that it launched.
        seen: Vec<String>,
    },
    /// The command itself failed.
    Command {
        /// How it ended.
        failure: Failure,
        /// The last line that it printed.
        said: Option<String>,
    },
    /// The profiler gave up.
    Profiler {
        /// What it said.
        said: String,
    },
    /// The profiler's table cannot be read.
    NotUnderstood {
        /// The line at fault.
        line: String,
        /// What is wrong with it.
        why: String,
    },
}

impl ProfileFailure {
    /// Whether every other command would fail likewise.
    pub fn is_of_the_machine(&self) -> bool {
        matches!(
            self,
            ProfileFailure::Missing { .. } | ProfileFailure::NotPermitted
        )
    }
}

/// The entries whose command works on base under the profiler and fails on head: head is at
/// fault there, and nowhere else.
pub fn failed_on_head_only(profiles: &[CounterProfile]) -> Vec<&CounterProfile> {
    let works_on_base = |entry: &str| {
        profiles
            .iter()
            .any(|p| p.entry == entry && p.side == Side::Base && p.failure.is_none())
    };
    profiles
        .iter()
        .filter(|p| p.side == Side::Head && works_on_base(&p.entry))
        .filter(|p| matches!(p.failure, Some(ProfileFailure::Command { .. })))
        .collect()
}
