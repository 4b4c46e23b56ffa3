//! Takes samples: values from output, the harness client, and the driver that walks a plan.
//!
//! The driver launches and stores, one sample at a time. It must not judge: it stops when a side
//! cannot be measured, and leaves it to `crate::judge` to say what that means.

mod documents;
mod formats;
mod values;

pub use values::{bench_value, number, positive};
