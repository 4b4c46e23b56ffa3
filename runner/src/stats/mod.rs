//! Signed-rank statistics and the measuring schedule. Pure: numbers in, numbers out; no clock,
//! no I/O, no verdicts (what an interval means for a lever is `crate::judge`'s business).
//!
//! The fixed protocols (`pairs = 5`, `samples = 45`) look at the data once, at the end. The
//! sequential protocol ([`sequential`]: looks at 6, 10, 16, 26 and 44 pairs, with its own order
//! statistics and stopping rule) is a state machine beside [`effect()`] and [`Schedule`].

mod binomial;
pub mod change_points;
pub mod creep;
mod effect;
pub mod forecast;
pub mod inner;
pub mod noise;
pub mod rounds;
mod schedule;
pub mod sequential;
mod signed_rank;
pub mod simulate;
pub mod student;

pub use binomial::fair_coin;
pub use effect::{
    effect, hodges_lehmann, log_effect, median, pair_effect, percent_of_log, walsh_averages,
};
pub use schedule::{CONTROL_LAUNCH, PlannedLaunch, Schedule};
pub use signed_rank::{coverage, k_for, null_distribution, tail};

/// The two-sided confidence at which fixed protocols state their intervals.
pub const CONFIDENCE: f64 = 0.95;

/// The smallest effect that is worth having, percent (`m0` of the measurement protocol).
pub const SMALLEST_WORTHWHILE: f64 = 0.5;
