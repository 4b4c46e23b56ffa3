//! The words of the trade as types: sides, registrations, evidence, verdicts.
//!
//! Plain data with serde; no I/O, no clock, no statistics. Everything here is stored in the
//! record, so a change of shape is a change of [`SCHEMA_VERSION`].

mod counters;
mod evidence;
mod facts;
mod ids;
mod machine_state;
mod plan;
mod reference;
mod registration;
mod verdict;
mod window;

pub use counters::*;
pub use evidence::*;
pub use facts::*;
pub use ids::*;
pub use machine_state::*;
pub use plan::*;
pub use reference::*;
pub use registration::*;
pub use verdict::*;
pub use window::*;

/// Version of every JSON document the runner writes (`"schema": 1`).
pub const SCHEMA_VERSION: u32 = 1;
