//! The checked configuration.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::floor::Floor;
use super::machine::Machine;
use super::reference::Reference;
use crate::model::{Bar, Better};

/// A whole `campaign.toml`, checked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Config {
    /// `[campaign]`.
    pub campaign: Campaign,
    /// `[toolchain]`.
    pub toolchain: Toolchain,
    /// `[device]`.
    pub device: Device,
    /// `[build]`.
    pub build: Build,
    /// `[[kernel]]`.
    pub kernels: Vec<KernelFacts>,
    /// `[harness]`.
    pub harness: Option<Harness>,
    /// `[[parity]]`.
    pub parity: Vec<Parity>,
    /// `[identity]`.
    pub identity: Option<Identity>,
    /// `[[bench]]`.
    pub benches: Vec<Bench>,
    /// `[[reference]]`. Left out where there are none, as `counters` is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<Reference>,
    /// `[[counters]]`. Left out where there are none, so that the hash of a config from before
    /// they existed stays what it was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counters: Vec<Counters>,
    /// `claims = […]` of `[campaign]`: claims that hold for every lever.
    pub claims: Vec<String>,
    /// `[protocol]`.
    pub protocol: Protocol,
    /// `[machine]`. Left out where it says nothing, as `counters` is.
    #[serde(default, skip_serializing_if = "Machine::is_default")]
    pub machine: Machine,
    /// `[anchor]`. Left out where it says nothing, as above.
    #[serde(default, skip_serializing_if = "Anchor::is_default")]
    pub anchor: Anchor,
    /// `[environment]`.
    pub environment: Environment,
    /// `[limits]`.
    pub limits: Limits,
}

/// `[campaign]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Campaign {
    /// Short name: letters, digits, `-`, `_`, `.`; the campaign's key in the database.
    pub name: String,
    /// Title for pages; the name where none is given.
    pub title: String,
    /// The branch against which a base is found; what `origin/HEAD` names, else `main` or
    /// `master`, where none is given.
    pub default_branch: Option<String>,
}

/// Where the CUDA toolchain comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cuda {
    /// A pinned toolchain that the runner installs, by version (`13.0`).
    Pinned(String),
    /// What is on PATH.
    System,
    /// The campaign has no CUDA code.
    None,
}

/// `[toolchain]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Toolchain {
    /// The toolchain.
    pub cuda: Cuda,
    /// Architectures, as nvcc names them (`sm_121`). Exported to builds as `CUDA_ARCH`.
    pub arch: Vec<String>,
}

/// What kind of device the gates and benches need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceKind {
    /// A CUDA device of one of the toolchain's architectures.
    Cuda,
    /// The CPU: any machine will do.
    Cpu,
}

/// `[device]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// The kind.
    pub kind: DeviceKind,
    /// Which CUDA device, as the driver numbers them.
    pub index: u32,
}

/// A command line as the user wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum CommandLine {
    /// One string: run by `/bin/sh -c`.
    Shell(String),
    /// Program and arguments.
    Argv(Vec<String>),
}

/// `[build]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// The recipe; run in `directory` of the side's own worktree.
    pub command: CommandLine,
    /// Where to run it, relative to the worktree; `.` by default.
    pub directory: String,
    /// What it makes: paths or globs relative to the worktree. Each must match at least a file.
    pub outputs: Vec<String>,
    /// Globs of tracked files that commands read at run time. A change in one of them is a
    /// change of the lever even where the machine code is the same. Files that appear as
    /// arguments of gate and bench commands count by themselves. Where this is empty, every
    /// changed file counts that is neither compiled nor a document.
    pub runtime: Vec<String>,
    /// Extra environment for the build.
    pub env: BTreeMap<String, String>,
    /// Time limit, seconds; 3,600 by default.
    pub timeout_s: u64,
}

/// `[[kernel]]`: launch facts that the binary does not hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelFacts {
    /// Regular expression on the demangled name.
    pub name: String,
    /// Threads per block.
    pub threads: Option<u32>,
    /// Dynamic shared memory, bytes per block.
    pub dynamic_smem: u32,
}

/// `[harness]`: a program that stays alive and answers JSON lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Harness {
    /// How to start it.
    pub command: CommandLine,
    /// Extra environment.
    pub env: BTreeMap<String, String>,
    /// Time limit for its start (until it answers `hello`), seconds; 300 by default.
    pub start_timeout_s: u64,
}

/// How a gate or bench is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Probe {
    /// By a command of its own.
    Command(CommandLine),
    /// By the harness, under this case's or bench's name.
    Harness(String),
}

/// `[[parity]]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Parity {
    /// Name, for people.
    pub name: String,
    /// How it is asked.
    pub probe: Probe,
    /// Figures to read from its output, each with the largest value allowed. Without any, the
    /// exit status (or the harness's `passed`) decides alone.
    pub figures: Vec<FigureRule>,
    /// Extra environment.
    pub env: BTreeMap<String, String>,
    /// Time limit, seconds; 600 by default.
    pub timeout_s: u64,
}

/// A figure of a parity case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FigureRule {
    /// Its name; with a harness, the key in the answer's `figures`.
    pub name: String,
    /// Where it is in a command's output.
    pub value: Option<Extract>,
    /// The largest value allowed.
    pub max: f64,
}

/// `[identity]`: greedy-32.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Identity {
    /// How it is asked.
    pub probe: Probe,
    /// Regular expressions; an output line that matches one is left out of the comparison.
    pub drop_lines: Vec<String>,
    /// How many tokens are promised; 32 by default.
    pub tokens: u32,
    /// Where the output says how many tokens were made. Without it, and without a harness, the
    /// kept output must have at least as many bytes as tokens are promised.
    pub count: Option<Extract>,
    /// Extra environment.
    pub env: BTreeMap<String, String>,
    /// Time limit, seconds; 600 by default.
    pub timeout_s: u64,
}

/// Where a number is in a command's standard output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Extract {
    /// A regular expression. The value is the group `value`, else the first group; a group
    /// `unit`, if there is one, must equal the bench's unit. The last match in the output counts.
    Regex(String),
    /// A JSON pointer (RFC 6901) into the output, or into its last line that is a JSON document.
    Json(String),
    /// A named format.
    Format {
        /// Which one.
        format: NamedFormat,
        /// Which entry, by the format's own name for it; needed when there are several.
        select: Option<String>,
    },
}

/// Output formats that the runner knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NamedFormat {
    /// `llama-bench -o json` (or jsonl): `avg_ts`, tok/s.
    LlamaBench,
    /// Google Benchmark's `--benchmark_format=json`: `real_time` in its `time_unit`.
    GoogleBenchmark,
    /// NVBench's `--json`: mean GPU time, s.
    Nvbench,
    /// hyperfine's `--export-json`: mean time, s.
    Hyperfine,
}

/// `[[bench]]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bench {
    /// Name; what `Bar:` trailers refer to.
    pub name: String,
    /// How it is asked; one process launch is one sample either way.
    pub probe: Probe,
    /// Where the value is; `None` with a harness.
    pub value: Option<Extract>,
    /// Unit of the value.
    pub unit: String,
    /// Direction.
    pub better: Better,
    /// The smallest effect that lands.
    pub bar: Option<Bar>,
    /// Extra environment.
    pub env: BTreeMap<String, String>,
    /// Time limit for one launch, seconds; 600 by default.
    pub timeout_s: u64,
    /// Untimed and timed runs inside a harness's launch.
    pub warmup: u32,
    /// Timed inner runs, of which the harness gives the median; `None` where the run finds out
    /// how many are worth their time.
    #[serde(default)]
    pub inner: Option<u32>,
    /// What the output of the timed runs must be.
    #[serde(default, skip_serializing_if = "OutputClass::is_default")]
    pub output: OutputClass,
    /// The best that is possible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floor: Option<Floor>,
}

/// What is demanded of the output of a bench's timed runs, where it is reported.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OutputClass {
    /// Nothing: it may differ between the sides, as after a reordering of sums. It is shown.
    #[default]
    Tolerance,
    /// It is the same on both sides to the byte.
    Bytes,
}

impl OutputClass {
    fn is_default(&self) -> bool {
        *self == OutputClass::default()
    }
}

/// `[[counters]]`: a command whose kernels are profiled on both sides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Name, for people.
    pub name: String,
    /// What launches the kernels; run once per side under the profiler.
    pub command: CommandLine,
    /// Regular expression on the functions' names, without parameters.
    pub kernels: String,
    /// How many of the matching launches are profiled, the first ones; 1 by default.
    pub launches: u32,
    /// Counters and the profiler's own metrics besides those that are always taken.
    pub metrics: Vec<String>,
    /// Extra environment.
    pub env: BTreeMap<String, String>,
    /// Time limit, seconds; 600 by default. A profiled launch takes many times as long.
    pub timeout_s: u64,
}

/// `[protocol]`: how many samples. A recorded config always holds its protocol, whatever the
/// default was or is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// As many pairs as it takes, looked at after 6, 10, 16, 26 and 44; the default.
    Sequential {
        /// The smallest effect worth having, percent.
        smallest_worthwhile: f64,
    },
    /// A fixed number of pairs.
    Pairs(u32),
    /// A fixed number of samples for each side, taken in pairs.
    Samples(u32),
}

impl Protocol {
    /// How many pairs are measured; `None` where that is found out while measuring.
    pub fn fixed_pairs(self) -> Option<u32> {
        match self {
            Protocol::Sequential { .. } => None,
            Protocol::Pairs(n) | Protocol::Samples(n) => Some(n),
        }
    }
}

/// `[anchor]`: the measurements across rounds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anchor {
    /// Whether a round that landed is measured against the pinned anchor at once.
    pub after_landing: bool,
}

impl Anchor {
    fn is_default(&self) -> bool {
        *self == Anchor::default()
    }
}

/// `[environment]`: what commands see of the runner's environment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Environment {
    /// Names that pass through besides the built-in ones (PATH, LANG, TZ and the like).
    /// Names that look like secrets are refused.
    pub allow: Vec<String>,
    /// Variables set for every command.
    pub set: BTreeMap<String, String>,
}

/// `[limits]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// The most a command may print, bytes of stdout and stderr each; 64 MiB by default.
    pub output_bytes: u64,
    /// Free disk that a run needs before it starts, bytes; 2 GiB by default.
    pub free_disk_bytes: u64,
}
