//! Claims: machine-checkable statements about a lever's mechanism. The grammar and the evaluation.
//!
//! Pure: text and reports in, evidence out. It must not build, disassemble or measure; what the
//! reports do not hold (counters, register life ranges) is *not evaluated*, never passed.
//! `docs/claims.md` is the reference for users.

mod ast;
mod cursor;
mod evaluate;
mod opcodes;
mod pairing;
mod parse;
mod pattern;
mod reading;
mod relation;

#[cfg(test)]
mod tests;

pub use ast::{Claim, Comparison, KernelPattern, Metric, Operand, Relation};
pub use cursor::ClaimError;
pub use evaluate::{ClaimContext, evaluate};
