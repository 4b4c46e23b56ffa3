//! Finds the first commit between two that made a bench slower.

mod search;

pub use search::{Search, Step, Tested};
