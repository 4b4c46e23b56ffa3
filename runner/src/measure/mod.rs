//! Takes samples: values from output, the harness client, and the driver that takes pairs.
//!
//! The driver launches and stores, one sample at a time. It must not judge: it stops when a side
//! cannot be measured, and leaves it to `crate::judge` to say what that means.

mod documents;
mod driver;
#[cfg(test)]
pub(crate) mod fake;
mod formats;
pub mod harness;
mod launch;
mod plan;
mod recorder;
mod reference;
mod values;

pub use driver::{Measurement, REPETITIONS, measure};
pub use plan::{Known, KnownLaunches};
pub use recorder::Recorder;
pub(crate) use recorder::log_bytes;
pub(crate) use values::json_number;
pub use values::{bench_value, number, positive};
