//! Compiled CUDA kernels: what the machine code holds, without a GPU.
//!
//! The crate reads cubins out of any container nvcc makes, and reports per kernel the
//! *ledger* (registers, spills, stack, shared memory, barriers), the *census* (SASS
//! instructions by opcode), occupancy, and a *code hash* that is the same for the same
//! source built in another directory.
//!
//! It must not use a database, the network or a clock. The one outside program it may
//! start is `nvdisasm`, in [`disasm`].

pub mod bank;
pub mod container;
pub mod cubin;
pub mod diff;
pub mod disasm;
mod error;
pub mod hash;
pub mod host;
mod inspect;
pub mod names;
pub mod occupancy;
pub mod report;

pub use diff::{census_delta, diff};
pub use error::Error;
pub use host::HostMask;
pub use inspect::{InspectInput, Options, inspect_files, listing_file};
pub use names::{demangle, short_name};
pub use occupancy::{ComputeCapability, UnknownArch, occupancy};
pub use report::*;
