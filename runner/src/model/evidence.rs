//! Everything that was observed about one lever. [`Evidence`] is what the judge sees and what
//! comments and pages are made of; it can be rebuilt from the database alone.

use serde::{Deserialize, Serialize};

use super::{ArtifactHash, PerSide, Registration, Sha, Side, UnixMillis};
use crate::config::Config;

/// A commit as it was found when the run began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitInfo {
    /// The commit.
    pub sha: Sha,
    /// Its tree.
    pub tree: Sha,
    /// `git patch-id --stable` of its diff to the first parent; `None` for merges and roots.
    pub patch_id: Option<String>,
    /// The first parent.
    pub parent: Option<Sha>,
    /// The message's first line.
    pub subject: String,
    /// The whole message.
    pub message: String,
    /// Author's name (never the address).
    pub author: String,
    /// Committer time.
    pub committed_at: UnixMillis,
}

/// How a build or command ended when it did not end well.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Failure {
    /// Exit status other than 0.
    Exit {
        /// The status.
        code: i32,
    },
    /// Ended by a signal.
    Signal {
        /// The signal's number.
        signal: i32,
    },
    /// Ran past its time limit and was killed with its process group.
    TimedOut {
        /// The limit, seconds.
        limit_s: u64,
    },
    /// Printed more than allowed and was killed.
    TooMuchOutput {
        /// The limit, bytes.
        limit_bytes: u64,
    },
    /// Could not be started.
    NotStarted {
        /// The system's reason.
        reason: String,
    },
    /// Ended well but printed no value where one was expected.
    NoValue,
    /// Printed something that is not a finite number.
    NotANumber {
        /// What it printed.
        text: String,
    },
    /// Printed zero or a negative number.
    NotPositive {
        /// What it printed.
        value: f64_text::F64Text,
    },
    /// Printed another unit than the bench declares.
    OtherUnit {
        /// The printed unit.
        found: String,
    },
    /// Printed a value that is better than what is possible.
    Impossible {
        /// The value, the bound, and where that comes from.
        message: String,
    },
    /// A declared output was not made.
    MissingOutput {
        /// The pattern that matched nothing.
        pattern: String,
    },
    /// A harness broke its protocol or reported an error.
    Harness {
        /// What it said or what was wrong.
        message: String,
    },
    /// A harness reported that its device is at fault: lost, busy, out of memory that the code
    /// under test did not take.
    Device {
        /// What it said.
        message: String,
    },
    /// The disk is full.
    DiskFull,
}

pub mod f64_text {
    //! A float inside types that are compared for equality.

    use serde::{Deserialize, Serialize};

    /// A finite float kept as the text it was printed as.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(transparent)]
    pub struct F64Text(pub String);
}

/// The result of building one side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BuildEvidence {
    /// The key under which the build is cached: tree, effective build config, toolchain.
    pub key: String,
    /// Whether an earlier build was reused.
    pub cached: bool,
    /// Wall time of the build command, milliseconds; of the first build where it was reused.
    pub wall_ms: u64,
    /// `None` when it succeeded.
    pub failure: Option<Failure>,
    /// The compiler's first error line, where the log has one.
    pub first_error: Option<String>,
    /// The built files: path relative to the worktree, and content.
    pub outputs: Vec<OutputFile>,
    /// The build's log.
    pub log: Option<ArtifactHash>,
}

/// One built file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputFile {
    /// Path relative to the worktree.
    pub path: String,
    /// Its content.
    pub artifact: ArtifactHash,
    /// Size in bytes.
    pub bytes: u64,
    /// Whether the file is executable.
    pub executable: bool,
}

/// The kernels of both sides compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CodeEvidence {
    /// What each side's outputs hold.
    pub reports: PerSide<sass::Report>,
    /// What changed.
    pub delta: sass::Delta,
    /// Occupancy of each kernel that changed, was added or removed; same order as they appear.
    pub occupancy: Vec<KernelOccupancy>,
    /// Files that differ between the sides and may be read at run time.
    pub runtime_files_changed: Vec<String>,
}

/// Occupancy of one kernel on both sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KernelOccupancy {
    /// Demangled name.
    pub kernel: String,
    /// Architecture.
    pub arch: String,
    /// Base's, where the kernel exists there and its launch is known.
    pub base: Option<LaunchOccupancy>,
    /// Head's.
    pub head: Option<LaunchOccupancy>,
}

/// An occupancy together with the launch it was computed for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchOccupancy {
    /// The launch: from `[[kernel]]`, or the binary's launch bounds.
    pub launch: sass::Launch,
    /// Whether threads came from the binary's launch bound rather than the config.
    pub from_launch_bound: bool,
    /// The result.
    pub occupancy: sass::Occupancy,
}

/// How a gate ended. Not run, no data and passed are three different things.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "outcome")]
pub enum GateOutcome {
    /// Passed.
    Passed,
    /// Failed once, passed when run again: counts as passed, and is shown.
    Flaky {
        /// What the first attempt said.
        first: String,
    },
    /// Failed.
    Failed {
        /// What is wrong.
        reason: String,
    },
    /// Ran, but gave nothing to judge.
    NoData {
        /// Why.
        reason: String,
    },
    /// Was not run.
    NotRun {
        /// Why.
        reason: String,
    },
}

/// The gates that run commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GateKind {
    /// Numeric comparison with a reference.
    Parity,
    /// Greedy-32.
    Identity,
}

/// One gate on one side (parity) or both (identity).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GateEvidence {
    /// Which kind.
    pub kind: GateKind,
    /// The name in the config; `greedy-32` for identity.
    pub name: String,
    /// The side it ran on; `None` for a comparison of both.
    pub side: Option<Side>,
    /// How it ended.
    pub outcome: GateOutcome,
    /// Measured figures with their limits, for parity.
    pub figures: Vec<Figure>,
    /// Set where a command ended badly.
    pub failure: Option<Failure>,
    /// Output of the commands.
    pub logs: Vec<ArtifactHash>,
}

/// A measured figure of a parity case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Its name, for example `nmse`.
    pub name: String,
    /// The value; `None` when it was promised and not found.
    pub value: Option<f64>,
    /// The largest value allowed.
    pub max: f64,
}

/// One claim, evaluated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimEvidence {
    /// The claim as written.
    pub text: String,
    /// Where it was declared.
    pub source: super::Source,
    /// Whether it holds.
    pub outcome: ClaimOutcome,
    /// What was expected, for people: `== 0`.
    pub expected: String,
    /// What was observed, for people: `32`, or per kernel.
    pub observed: String,
}

/// Whether a claim holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "outcome")]
pub enum ClaimOutcome {
    /// It holds.
    Holds,
    /// It does not.
    Fails,
    /// It could not be evaluated here (no disassembler, no such kernel, needs counters).
    NotEvaluated {
        /// Why.
        reason: String,
    },
}

/// What a sample is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SampleRole {
    /// The first launch of each side; never judged.
    ThrowAway,
    /// Half of a pair.
    Pair,
}

/// One process launch of one side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// The bench.
    pub bench: String,
    /// The side.
    pub side: Side,
    /// What it is for.
    pub role: SampleRole,
    /// The pair's index from 0; for a throw-away the launch's index.
    pub pair: u32,
    /// 0 for the pair's first launch, 1 for its second.
    pub slot: u8,
    /// 1 for the first attempt at this place, 2 for a repetition after a failure.
    pub attempt: u32,
    /// When it started.
    pub started_at: UnixMillis,
    /// Wall time of the process, milliseconds.
    pub wall_ms: f64,
    /// From a harness's question to its answer, milliseconds: what the runs inside take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_ms: Option<f64>,
    /// The value in the bench's unit; finite and positive. `None` when it is missing.
    pub value: Option<f64>,
    /// Values of the inner runs, where the harness reports them.
    pub inner: Vec<f64>,
    /// What the launch reported about its work, its output and its kernels.
    #[serde(default, skip_serializing_if = "super::Facts::is_empty")]
    pub facts: super::Facts,
    /// Why the value is missing.
    pub failure: Option<Failure>,
    /// The process's output.
    pub log: Option<ArtifactHash>,
    /// The machine's state meanwhile; `None` where nobody looked, as in records from before
    /// anybody did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<super::SampleState>,
}

/// All samples of one bench, and how they were planned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BenchEvidence {
    /// The bench's name in the config.
    pub bench: String,
    /// Every sample, in the order it was taken, throw-aways and failures included.
    pub samples: Vec<Sample>,
    /// How they were taken; `None` for a command, and in records from before there were plans.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<super::BenchPlan>,
    /// Medians of the base side in earlier runs of the same base build on the same machine,
    /// oldest first.
    pub base_history: Vec<f64>,
    /// Estimates of earlier levers on this bench, for the check on suspiciously equal deltas.
    pub past_estimates: Vec<PastEstimate>,
}

/// The estimate of an earlier run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PastEstimate {
    /// The earlier run's head commit.
    pub head: Sha,
    /// Its estimate, percent.
    pub estimate: f64,
    /// Its base samples, in order.
    pub base_values: Vec<f64>,
}

/// Whether there was a device to measure on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum DeviceState {
    /// A device of the wanted kind.
    Present {
        /// Its name, for people.
        name: String,
        /// What locks are named after: a GPU's UUID, or the machine id for CPU campaigns.
        id: String,
    },
    /// None.
    Absent {
        /// What is missing, for people.
        reason: String,
    },
}

/// Where a run got to when something went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Finding and checking out commits.
    Checkout,
    /// Installing or finding the toolchain.
    Toolchain,
    /// The build command.
    Build,
    /// Reading the built kernels.
    Inspect,
    /// Parity and identity.
    Gates,
    /// Hardware counters.
    Counters,
    /// Benches.
    Measure,
}

/// Something that went wrong outside a single gate or sample.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// Where.
    pub stage: Stage,
    /// On which side; `None` when it concerns neither in particular.
    pub side: Option<Side>,
    /// What happened.
    pub failure: Option<Failure>,
    /// A sentence for people.
    pub message: String,
}

/// A head commit that reverts an earlier one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RevertEvidence {
    /// The commit it reverts.
    pub reverts: Sha,
    /// The state before the experiment: the reverted commit's parent.
    pub before: Option<Sha>,
    /// Whether head's machine code equals that state's; `None` when it could not be compared.
    pub equal: Option<bool>,
    /// Kernels or files that differ, or why there was no comparison.
    pub detail: Vec<String>,
}

/// What a person decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// Keep or drop.
    pub action: DecisionAction,
    /// Why, in the person's words.
    pub reason: String,
    /// Who.
    pub by: String,
    /// When.
    pub at: UnixMillis,
}

/// What a decision does with the lever.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DecisionAction {
    /// The lever stays.
    Land,
    /// The lever goes.
    Revert,
}

/// Everything observed about one lever in one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// The effective config.
    pub config: Config,
    /// The registration.
    pub registration: Registration,
    /// Both commits.
    pub commits: PerSide<CommitInfo>,
    /// Both builds; `None` when a side was not built.
    pub builds: PerSide<Option<BuildEvidence>>,
    /// The comparison of the built code.
    pub code: Option<CodeEvidence>,
    /// Set when head is a revert.
    pub revert: Option<RevertEvidence>,
    /// Parity and identity.
    pub gates: Vec<GateEvidence>,
    /// The claims.
    pub claims: Vec<ClaimEvidence>,
    /// The device.
    pub device: DeviceState,
    /// The benches.
    pub benches: Vec<BenchEvidence>,
    /// Reference programs that were measured in the same window.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<super::ReferenceEvidence>,
    /// What a profiler counted; empty where nothing was profiled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counters: Vec<super::CounterProfile>,
    /// What was done about the machine around the window.
    #[serde(default, skip_serializing_if = "super::Window::is_empty")]
    pub window: super::Window,
    /// Faults outside single gates and samples.
    pub faults: Vec<Fault>,
    /// What a reader should know about how the run was set up: where the config came from, what of
    /// it did not count.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Whether the run was cut short (killed, or stopped by the user).
    pub interrupted: bool,
    /// What a person decided; the last decision counts.
    pub decision: Option<Decision>,
}
