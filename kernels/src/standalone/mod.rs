//! The demo's kernels as cases: operands from a seed, a reference on the CPU, parity and timing.
//!
//! A case knows how its kernel is launched and what must come out; where it runs is the
//! [`Device`](crate::device::Device)'s affair. Nothing here judges a time: it is measured, bounded from below by what is
//! physically possible, and reported together with the proof that the timed runs did their work.

pub(crate) mod data;
mod ldsm_check;
mod parity;
mod scale_read;
pub(crate) mod timing;

use crate::device::{DeviceError, Fault, Geometry, Scalar};

pub use ldsm_check::{BENCH_LOADS as LDSM_CHECK_LOADS, LdsmCheck};
pub use parity::{Figures, Tolerance, compare, launch_once, parity, run_once};
pub(crate) use scale_read::scale_and_min;
pub use scale_read::{BENCH_TILES as SCALE_READ_TILES, ScaleRead};
pub(crate) use timing::sha256;
pub use timing::{SampleRequest, Timing, sample};

/// The unit of every bench here.
pub const UNIT: &str = "us";

/// A kernel with its operands and its reference.
///
/// The kernel's parameters are the inputs, the output, then the scalars.
pub trait Problem {
    /// The kernel's symbol.
    fn kernel(&self) -> &'static str;

    /// The operands, as they lie in device memory.
    fn inputs(&self) -> Vec<&[u8]>;

    /// How many 4-byte elements the output has.
    fn outputs(&self) -> usize;

    /// Scalars that follow the output.
    fn scalars(&self) -> Vec<Scalar>;

    /// Grid, block and shared memory.
    fn geometry(&self) -> Geometry;

    /// What output element `n` must be: exact for integers, in f64 for floats.
    fn expected(&self, n: usize) -> f64;

    /// The value of an output element from its four bytes.
    fn decode(&self, bytes: [u8; 4]) -> f64;

    /// What counts as right.
    fn tolerance(&self) -> Tolerance;

    /// Multiplications that the result cannot do without.
    fn multiplications(&self) -> u64;

    /// Bytes that must come from or go to device memory, where that bounds the time; 0 where
    /// caches may hold them.
    fn moved_bytes(&self) -> u64 {
        0
    }
}

/// How large a problem is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// Small enough to compare every output with the reference.
    Parity,
    /// Large enough to time.
    Bench,
}

/// One of the demo's kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    /// Fragments of q8 activations by `ldmatrix.x4`.
    LdsmCheck,
    /// q4_K x q8 with the narrow tile's scale path.
    ScaleRead,
}

impl Case {
    /// All cases.
    pub const ALL: [Case; 2] = [Case::LdsmCheck, Case::ScaleRead];

    /// The name of the case, its bench and its kernel.
    pub fn name(self) -> &'static str {
        match self {
            Case::LdsmCheck => ldsm_check::KERNEL,
            Case::ScaleRead => scale_read::KERNEL,
        }
    }

    /// Finds a case by its name.
    pub fn find(name: &str) -> Option<Case> {
        Case::ALL.into_iter().find(|case| case.name() == name)
    }

    /// Makes the operands.
    pub fn problem(self, size: Size, seed: u64) -> Box<dyn Problem> {
        match self {
            Case::LdsmCheck => Box::new(LdsmCheck::new(size, seed)),
            Case::ScaleRead => Box::new(ScaleRead::new(size, seed)),
        }
    }
}

/// A case that could not be run, or came out wrong.
#[derive(Debug, thiserror::Error)]
pub enum CaseError {
    /// The device could not do its part.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The timed runs did not compute what they should.
    #[error("the output of the timed runs is wrong: {0}; the time is worth nothing")]
    WrongOutput(String),
    /// The time is shorter than the hardware allows.
    #[error("{measured_us} us a launch is impossible: the work alone needs {floor_us} us")]
    Impossible {
        /// What was measured, microseconds.
        measured_us: f64,
        /// The least that is possible, microseconds.
        floor_us: f64,
    },
}

impl CaseError {
    /// Whose fault it is.
    pub fn fault(&self) -> Fault {
        match self {
            CaseError::Device(error) => error.fault(),
            CaseError::WrongOutput(_) | CaseError::Impossible { .. } => Fault::Case,
        }
    }
}
