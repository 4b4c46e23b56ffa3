//! Verdicts as a pure function of the evidence. No I/O, no clock.

mod words;

pub(crate) use words::shortened;
pub use words::{failure_words, gate_words};
