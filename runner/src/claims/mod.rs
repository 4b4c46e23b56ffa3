//! Claims: machine-checkable statements about a lever's mechanism. The grammar and the evaluation.
//!
//! Pure: text, reports and profiles in, evidence out. It must not build, disassemble, profile or
//! measure; what these do not hold is *not evaluated*, never passed.
//! `docs/claims.md` is the reference for users.

mod ast;
mod counting;
mod cursor;
mod evaluate;
mod opcodes;
mod pairing;
mod parse;
mod pattern;
mod reading;
mod relation;

#[cfg(test)]
mod counting_tests;
#[cfg(test)]
mod tests;

pub use ast::{Claim, Comparison, KernelPattern, Metric, Operand, Relation, Tolerance};
pub use counting::{CounterFacts, counted_side, counters_named};
pub use cursor::ClaimError;
pub use evaluate::{ClaimContext, evaluate};
