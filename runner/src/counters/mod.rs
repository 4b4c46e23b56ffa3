//! Hardware counters by Nsight Compute: finds `ncu`, runs a command of `[[counters]]` under it
//! on each side, and reads its CSV into values per kernel, launch and metric.
//!
//! This module counts. It must not judge: claims decide what a value means (`crate::claims`),
//! and no failure here is the lever's but one ([`crate::model::failed_on_head_only`]). It must
//! not give times: what runs under a profiler runs at another speed.

mod groups;
mod logfile;
mod merge;
mod names;
mod profiler;
mod said;
mod table;
mod take;
mod words;

pub use groups::{Group, Values, counterpart, groups};
pub use merge::merged;
pub use names::{Counter, TABLE, find, is_raw_metric, is_time, label, metrics_of, value_of};
pub use profiler::{Profiler, find_profiler};
pub use take::{Keep, Taking, take};
pub use words::failure_words;
