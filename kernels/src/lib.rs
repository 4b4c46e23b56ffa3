//! The sample campaign: its patch series, the cases that check and time its kernels, and the
//! harness that answers the runner's questions about them. Beside it, the canary that watches the
//! machine.
//!
//! The kernels themselves are CUDA sources inside the patch series; nothing here is compiled by
//! nvcc when this crate is built. This crate must not know of rounds, verdicts or statistics: it drives a [`device`] and
//! reports what came out.

pub mod canary;
pub mod catalogue;
pub mod device;
pub mod gguf;
pub mod harness;
pub mod layout;
pub mod mmq;
pub mod model;
pub mod ops;
pub mod series;
pub mod standalone;
