//! What can go wrong with a model, and whose fault it is.

use super::shape::ShapeError;
use super::tensor::SourceError;
use crate::device::{DeviceError, Fault};
use crate::gguf::GgufError;

/// A model that could not be built or run.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The device could not do its part.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The shape is wrong.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// A tensor could not be had.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A model file cannot be used.
    #[error("loading {file}")]
    File {
        /// The file.
        file: String,
        /// Why.
        #[source]
        source: GgufError,
    },
    /// A tensor is not what was promised.
    #[error("filling tensor {name}: {reason}")]
    Tensor {
        /// The tensor.
        name: String,
        /// What came instead.
        reason: String,
    },
    /// The model does not fit the device.
    #[error(
        "model {model} needs {needed} bytes of device memory; the device has {has} bytes in all: \
         {reason}; use a smaller model or free memory"
    )]
    Memory {
        /// The model.
        model: String,
        /// Bytes of weights, caches and activations.
        needed: u64,
        /// Bytes of the device.
        has: u64,
        /// Why there is less.
        reason: String,
    },
    /// What was asked for cannot be generated.
    #[error("{0}")]
    Request(String),
    /// A pass of the model ended in NaN, or in no token.
    #[error(
        "token {number} of {count} is {token}, not one of {vocabulary}: the logits are not \
         numbers, or a kernel is wrong"
    )]
    NoToken {
        /// Which of the generated tokens, from 1.
        number: usize,
        /// How many were generated.
        count: usize,
        /// What came: -1 where a logit is NaN.
        token: i32,
        /// Tokens that there are.
        vocabulary: usize,
    },
    /// The timed runs did not compute what an untimed run did.
    #[error(
        "the timed runs ended in token {timed}, an untimed run in {untimed}; the time is worth nothing"
    )]
    WrongOutput {
        /// What the timed runs gave.
        timed: i32,
        /// What the untimed run gave.
        untimed: i32,
    },
    /// The time is shorter than the hardware allows.
    #[error("{measured_us} us a prefill is impossible: the work alone needs {floor_us} us")]
    Impossible {
        /// What was measured, microseconds.
        measured_us: f64,
        /// The least that is possible, microseconds.
        floor_us: f64,
    },
}

impl ModelError {
    /// Whose fault it is.
    pub fn fault(&self) -> Fault {
        match self {
            ModelError::Device(error) => error.fault(),
            ModelError::Shape(_)
            | ModelError::Source(_)
            | ModelError::File { .. }
            | ModelError::Tensor { .. }
            | ModelError::Request(_) => Fault::Input,
            ModelError::Memory { .. } => Fault::Device,
            ModelError::NoToken { .. }
            | ModelError::WrongOutput { .. }
            | ModelError::Impossible { .. } => Fault::Case,
        }
    }

    /// Whether the device is of no more use to this process.
    pub fn loses_device(&self) -> bool {
        matches!(self, ModelError::Device(error) if error.loses_device())
    }
}
