//! A transformer of q4_K weights: its shapes, where its weights come from, the launches of a
//! prefill and of a decode, and a reference of the whole on the CPU.
//!
//! It runs on any [`Device`](crate::device::Device) that has the kernels. What a time or a token
//! means for a verdict is not decided here.

mod buffers;
mod choice;
pub mod cpu;
mod error;
mod pass;
mod prefill;
pub mod reference;
mod shape;
mod stack;
pub mod synthetic;
mod tensor;
mod weights;

pub use choice::ModelChoice;
pub use error::ModelError;
pub use pass::Pass;
pub use prefill::{PREFILL_UNIT, Prefill, PrefillRequest};
pub use shape::{Gate, LocalLayers, ModelShape, Rotation, ShapeError};
pub use stack::{Stack, needed_bytes};
pub use synthetic::Synthetic;
pub use tensor::{Dims, LayerTensor, SourceError, Tensor, TensorName, TensorSource};
pub use weights::{Matrix, Weights};

#[cfg(test)]
mod tests;
