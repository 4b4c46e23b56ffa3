//! A transformer of q4_K weights: its shapes, where its weights come from, the launches of a
//! prefill and of a decode, and a reference of the whole on the CPU.
//!
//! It runs on any [`Device`](crate::device::Device) that has the kernels. What a time or a token
//! means for a verdict is not decided here.

mod shape;
pub mod synthetic;
mod tensor;

pub use shape::{Gate, LocalLayers, ModelShape, Rotation, ShapeError};
pub use synthetic::Synthetic;
pub use tensor::{Dims, LayerTensor, SourceError, Tensor, TensorName, TensorSource};
