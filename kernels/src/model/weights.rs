//! A model's tensors in device memory.
//!
//! Everything is allocated before anything is filled, so that a model that does not fit says so
//! at once and with its size.

use super::ModelError;
use super::shape::ModelShape;
use super::tensor::{Dims, LayerTensor, Tensor, TensorName, TensorSource};
use crate::device::{Buffer, Device};
use crate::mmq::blocks::{Q4_BYTES, SUPER};
use crate::ops::call::Format;
use crate::standalone::data;

/// A matrix, or a vector, in device memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Matrix {
    /// Where it is.
    pub buffer: Buffer,
    /// How it is kept.
    pub format: Format,
    /// Rows and depth.
    pub dims: Dims,
}

/// The tensors of a layer.
#[derive(Debug, Clone)]
pub struct LayerWeights {
    pub(super) attn_norm: Matrix,
    pub(super) q: Matrix,
    pub(super) k: Matrix,
    pub(super) v: Matrix,
    pub(super) qk_norms: Option<[Matrix; 2]>,
    pub(super) output: Matrix,
    pub(super) post_attn_norm: Option<Matrix>,
    pub(super) ffn_norm: Matrix,
    pub(super) gate: Matrix,
    pub(super) up: Matrix,
    pub(super) down: Matrix,
    pub(super) post_ffn_norm: Option<Matrix>,
}

/// All tensors of a model.
#[derive(Debug, Clone)]
pub struct Weights {
    pub(super) embedding: Matrix,
    pub(super) final_norm: Matrix,
    pub(super) head: Matrix,
    pub(super) layers: Vec<LayerWeights>,
    named: Vec<(TensorName, Matrix)>,
}

/// Bytes that a tensor takes.
pub(super) fn bytes(dims: Dims, format: Format) -> usize {
    let values = dims.rows.saturating_mul(dims.k);
    match format {
        Format::Q4K => (values / SUPER).saturating_mul(Q4_BYTES),
        Format::F32 => values.saturating_mul(4),
    }
}

/// Buffers taken from a device; given back all at once if something fails.
pub(super) struct Arena<'a> {
    pub(super) device: &'a mut dyn Device,
    pub(super) buffers: Vec<Buffer>,
}

impl Arena<'_> {
    pub(super) fn take(&mut self, bytes: usize) -> Result<Buffer, ModelError> {
        let buffer = self.device.allocate(bytes)?;
        self.buffers.push(buffer);
        Ok(buffer)
    }
}

impl Weights {
    /// Bytes that all tensors take.
    pub(super) fn bytes(source: &dyn TensorSource) -> Result<u64, ModelError> {
        let shape = source.shape();
        let mut total = 0u64;
        for name in TensorName::all(shape) {
            let format = source.format(name)?;
            shape.check_format(name, format)?;
            total = total.saturating_add(bytes(name.dims(shape), format) as u64);
        }
        Ok(total)
    }

    /// Takes the memory; what is in it is undefined until it is filled.
    pub(super) fn allocate(
        source: &dyn TensorSource,
        arena: &mut Arena<'_>,
    ) -> Result<Weights, ModelError> {
        let shape = source.shape();
        let mut named = Vec::new();
        let mut take = |name: TensorName| -> Result<Matrix, ModelError> {
            let (dims, format) = (name.dims(shape), source.format(name)?);
            let matrix = Matrix {
                buffer: arena.take(bytes(dims, format))?,
                format,
                dims,
            };
            named.push((name, matrix));
            Ok(matrix)
        };
        let embedding = take(TensorName::Embedding)?;
        let mut layers = Vec::new();
        for layer in 0..shape.layers {
            layers.push(LayerWeights::allocate(shape, |tensor| {
                take(TensorName::Layer(layer, tensor))
            })?);
        }
        let final_norm = take(TensorName::FinalNorm)?;
        let head = match shape.tied_head {
            true => embedding,
            false => take(TensorName::Head)?,
        };
        Ok(Weights {
            embedding,
            final_norm,
            head,
            layers,
            named,
        })
    }

    /// Brings every tensor to its place.
    pub(super) fn fill(
        &self,
        source: &mut dyn TensorSource,
        device: &mut dyn Device,
    ) -> Result<(), ModelError> {
        for (name, matrix) in &self.named {
            let unfit = |what: &str| ModelError::Tensor {
                name: name.to_string(),
                reason: format!(
                    "{what} came, {:?} of {:?} was promised",
                    matrix.dims, matrix.format
                ),
            };
            match (source.tensor(*name)?, matrix.format) {
                (Tensor::Synthetic(tensor), Format::Q4K) => {
                    let call = tensor.call();
                    let kernel = device.kernel(call.kernel)?;
                    device.launch(&call.launch(kernel, &[matrix.buffer.into()]))?;
                }
                (Tensor::Q4K(content), Format::Q4K) => {
                    if content.len() != bytes(matrix.dims, Format::Q4K) {
                        return Err(unfit(&format!("{} bytes", content.len())));
                    }
                    device.write(matrix.buffer, &content)?;
                }
                (Tensor::F32(values), Format::F32) => {
                    if values.len() != matrix.dims.rows * matrix.dims.k {
                        return Err(unfit(&format!("{} values", values.len())));
                    }
                    device.write(matrix.buffer, &data::float_bytes(&values))?;
                }
                (Tensor::Synthetic(_) | Tensor::Q4K(_), Format::F32) => return Err(unfit("q4_K")),
                (Tensor::F32(_), Format::Q4K) => return Err(unfit("f32")),
            }
        }
        Ok(device.synchronize()?)
    }

    /// A tensor by its name; `None` where this model has none of it.
    pub fn find(&self, name: TensorName) -> Option<Matrix> {
        let found = self.named.iter().find(|(known, _)| *known == name);
        found.map(|(_, matrix)| *matrix)
    }
}

impl LayerWeights {
    fn allocate(
        shape: &ModelShape,
        mut take: impl FnMut(LayerTensor) -> Result<Matrix, ModelError>,
    ) -> Result<LayerWeights, ModelError> {
        use LayerTensor as L;
        Ok(LayerWeights {
            attn_norm: take(L::AttnNorm)?,
            q: take(L::Q)?,
            k: take(L::K)?,
            v: take(L::V)?,
            qk_norms: match shape.qk_norms {
                true => Some([take(L::QNorm)?, take(L::KNorm)?]),
                false => None,
            },
            output: take(L::Output)?,
            post_attn_norm: shape
                .post_norms
                .then(|| take(L::PostAttnNorm))
                .transpose()?,
            ffn_norm: take(L::FfnNorm)?,
            gate: take(L::Gate)?,
            up: take(L::Up)?,
            down: take(L::Down)?,
            post_ffn_norm: shape.post_norms.then(|| take(L::PostFfnNorm)).transpose()?,
        })
    }
}
