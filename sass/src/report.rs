//! The types that describe compiled kernels; plain data, no reading and no comparing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What one or more binaries hold: every kernel of every cubin in them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The inspected files, in the order they were given.
    pub files: Vec<FileReport>,
    /// All kernels, sorted by demangled name, then architecture, then container.
    pub kernels: Vec<Kernel>,
}

/// One inspected file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileReport {
    /// The path as given by the caller (the runner passes paths relative to the worktree).
    pub path: String,
    /// SHA-256 of the whole file, hex.
    pub sha256: String,
    /// Size in bytes.
    pub bytes: u64,
    /// How many cubins were found in it.
    pub cubins: u32,
    /// Hash over the file's host code and data, hex: loadable sections except the GPU
    /// images, debug information and build ids, with build-directory and commit names
    /// normalised. `None` when the file holds nothing but GPU code.
    pub host_hash: Option<String>,
    /// Architectures for which the file holds PTX only (compiled by the driver at load time).
    pub ptx_only: Vec<String>,
    /// Hash over the PTX of the architectures in `ptx_only`, hex, with build-directory names
    /// normalised and comments and line information left out; `None` when there is none.
    #[serde(default)]
    pub ptx_hash: Option<String>,
}

/// One kernel (an `.entry` function) in one cubin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kernel {
    /// The mangled symbol, as in the cubin.
    pub symbol: String,
    /// The demangled name, with internal-linkage hashes normalised.
    pub name: String,
    /// The architecture, for example `sm_121` or `sm_90a`.
    pub arch: String,
    /// Where it was found: file path, and the member or image inside, as in `libk.a(mmq.o)#0`.
    pub container: String,
    /// The kernel's resources.
    pub ledger: Ledger,
    /// SASS instructions by opcode; `None` when no disassembler was at hand.
    pub census: Option<Census>,
    /// Identity of the compiled code.
    pub code_hash: String,
}

/// A kernel's resources as recorded in the cubin.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    /// Registers per thread.
    pub registers: u32,
    /// Instructions that store a spilled register (from the cubin's annotations).
    pub spill_stores: u32,
    /// Instructions that reload a spilled register.
    pub spill_loads: u32,
    /// Stack frame, bytes per thread.
    pub stack_bytes: u32,
    /// Static shared memory, bytes per block, without the reserved kilobyte.
    pub static_smem: u32,
    /// Named barriers used.
    pub barriers: u32,
    /// Launch bound: the most threads per block (`__launch_bounds__`), if any.
    pub max_threads: Option<u32>,
    /// Required block shape (`__block_size__`/`reqntid`), if any.
    pub required_threads: Option<[u32; 3]>,
    /// Size of the kernel parameters, bytes.
    pub param_bytes: u32,
    /// Size of the machine code, bytes.
    pub code_bytes: u64,
}

/// Counts of SASS instructions, padding NOPs left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Census {
    /// All instructions.
    pub total: u64,
    /// By opcode with its modifiers, for example `LDS.128` or `IMMA.16832.S8.S8`.
    pub opcodes: BTreeMap<String, u64>,
}

impl Census {
    /// Counts the instructions whose opcode is `opcode` or begins with `opcode` followed by a
    /// dot: `LDS` counts `LDS`, `LDS.64` and `LDS.128`; `LDS.64` counts `LDS.64` and `LDS.64.X`.
    pub fn count(&self, opcode: &str) -> u64 {
        self.opcodes
            .iter()
            .filter(|(name, _)| {
                name.strip_prefix(opcode)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            })
            .map(|(_, n)| n)
            .sum()
    }
}

/// What a launch adds to the ledger for the occupancy calculator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// Threads per block.
    pub threads: u32,
    /// Dynamic shared memory, bytes per block.
    pub dynamic_smem: u32,
}

/// How many blocks of a kernel fit on one SM, and why not more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Occupancy {
    /// Resident blocks per SM; 0 when the kernel cannot be launched.
    pub blocks_per_sm: u32,
    /// Resident warps per SM.
    pub warps_per_sm: u32,
    /// The most warps the SM can hold.
    pub max_warps_per_sm: u32,
    /// Every resource that limits the blocks to this number.
    pub limiters: Vec<Limiter>,
}

/// A resource that limits occupancy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limiter {
    /// The SM's warp slots.
    Warps,
    /// The SM's block slots.
    Blocks,
    /// The register file.
    Registers,
    /// Shared memory.
    SharedMemory,
    /// Named barriers.
    Barriers,
}

impl std::fmt::Display for Limiter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Limiter::Warps => "warps",
            Limiter::Blocks => "blocks",
            Limiter::Registers => "registers",
            Limiter::SharedMemory => "shared memory",
            Limiter::Barriers => "barriers",
        })
    }
}

/// What changed between two reports.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delta {
    /// Kernels only in the second report.
    pub added: Vec<Kernel>,
    /// Kernels only in the first report.
    pub removed: Vec<Kernel>,
    /// Same code under another name: (before, after).
    pub renamed: Vec<(Kernel, Kernel)>,
    /// Same name and architecture, other code: (before, after).
    pub changed: Vec<(Kernel, Kernel)>,
    /// Number of kernels with equal names and code hashes.
    pub unchanged: u32,
    /// Files whose host code or PTX-only code differs, or that only one side has.
    pub host_changed: Vec<String>,
}

impl Delta {
    /// Whether both sides hold the same machine code, host code included.
    pub fn is_identical(&self) -> bool {
        self.added.is_empty()
            && self.removed.is_empty()
            && self.renamed.is_empty()
            && self.changed.is_empty()
            && self.host_changed.is_empty()
    }
}
