//! The tensors of a model by name, and where their content comes from.

use std::fmt;

use super::shape::ModelShape;
use crate::ops::call::{Format, Synthesise};

/// A tensor of a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LayerTensor {
    /// Norm before attention.
    AttnNorm,
    /// Projection to q.
    Q,
    /// Projection to k.
    K,
    /// Projection to v.
    V,
    /// Norm of the heads of q.
    QNorm,
    /// Norm of the heads of k.
    KNorm,
    /// Projection from the heads.
    Output,
    /// Norm of attention's output.
    PostAttnNorm,
    /// Norm before the feed-forward part.
    FfnNorm,
    /// Projection to the gate.
    Gate,
    /// Projection to what is gated.
    Up,
    /// Projection back.
    Down,
    /// Norm of the feed-forward part's output.
    PostFfnNorm,
}

/// A tensor of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TensorName {
    /// A row for each token of the vocabulary.
    Embedding,
    /// The last norm.
    FinalNorm,
    /// The output head.
    Head,
    /// A tensor of a layer, counted from 0.
    Layer(usize, LayerTensor),
}

/// Rows and their depth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dims {
    /// Rows; 1 for a norm.
    pub rows: usize,
    /// Values of a row.
    pub k: usize,
}

impl LayerTensor {
    /// All of them, in the order in which a layer uses them.
    pub const ALL: [LayerTensor; 13] = [
        LayerTensor::AttnNorm,
        LayerTensor::Q,
        LayerTensor::K,
        LayerTensor::V,
        LayerTensor::QNorm,
        LayerTensor::KNorm,
        LayerTensor::Output,
        LayerTensor::PostAttnNorm,
        LayerTensor::FfnNorm,
        LayerTensor::Gate,
        LayerTensor::Up,
        LayerTensor::Down,
        LayerTensor::PostFfnNorm,
    ];

    /// Whether a model of this shape has it.
    fn is_in(self, shape: &ModelShape) -> bool {
        match self {
            LayerTensor::QNorm | LayerTensor::KNorm => shape.qk_norms,
            LayerTensor::PostAttnNorm | LayerTensor::PostFfnNorm => shape.post_norms,
            _ => true,
        }
    }

    /// The name that GGUF files give it.
    fn gguf(self) -> &'static str {
        match self {
            LayerTensor::AttnNorm => "attn_norm",
            LayerTensor::Q => "attn_q",
            LayerTensor::K => "attn_k",
            LayerTensor::V => "attn_v",
            LayerTensor::QNorm => "attn_q_norm",
            LayerTensor::KNorm => "attn_k_norm",
            LayerTensor::Output => "attn_output",
            LayerTensor::PostAttnNorm => "post_attention_norm",
            LayerTensor::FfnNorm => "ffn_norm",
            LayerTensor::Gate => "ffn_gate",
            LayerTensor::Up => "ffn_up",
            LayerTensor::Down => "ffn_down",
            LayerTensor::PostFfnNorm => "post_ffw_norm",
        }
    }
}

impl TensorName {
    /// Every tensor of a model, in a fixed order; the head is left out where it is the embedding.
    pub fn all(shape: &ModelShape) -> Vec<TensorName> {
        let mut names = vec![TensorName::Embedding];
        for layer in 0..shape.layers {
            let tensors = LayerTensor::ALL.into_iter().filter(|t| t.is_in(shape));
            names.extend(tensors.map(|tensor| TensorName::Layer(layer, tensor)));
        }
        names.push(TensorName::FinalNorm);
        if !shape.tied_head {
            names.push(TensorName::Head);
        }
        names
    }

    /// Whether it is a vector of f32, one weight for each column.
    pub fn is_norm(self) -> bool {
        use LayerTensor as L;
        match self {
            TensorName::FinalNorm => true,
            TensorName::Embedding | TensorName::Head => false,
            TensorName::Layer(_, tensor) => matches!(
                tensor,
                L::AttnNorm | L::QNorm | L::KNorm | L::PostAttnNorm | L::FfnNorm | L::PostFfnNorm
            ),
        }
    }

    /// Its size in a model.
    pub fn dims(self, shape: &ModelShape) -> Dims {
        use LayerTensor as L;
        let dims = |rows, k| Dims { rows, k };
        match self {
            TensorName::Embedding | TensorName::Head => dims(shape.vocabulary, shape.hidden),
            TensorName::FinalNorm => dims(1, shape.hidden),
            TensorName::Layer(_, tensor) => match tensor {
                L::AttnNorm | L::PostAttnNorm | L::FfnNorm | L::PostFfnNorm => {
                    dims(1, shape.hidden)
                }
                L::QNorm | L::KNorm => dims(1, shape.head_dim.get()),
                L::Q => dims(shape.q_width(), shape.hidden),
                L::K | L::V => dims(shape.kv_width(), shape.hidden),
                L::Output => dims(shape.hidden, shape.q_width()),
                L::Gate | L::Up => dims(shape.ffn, shape.hidden),
                L::Down => dims(shape.hidden, shape.ffn),
            },
        }
    }

    /// The field of the shape that is its depth.
    pub(super) fn depth_field(self) -> &'static str {
        match self {
            TensorName::Layer(_, LayerTensor::Output) => "heads x head_dim",
            TensorName::Layer(_, LayerTensor::Down) => "ffn",
            TensorName::Layer(_, LayerTensor::QNorm | LayerTensor::KNorm) => "head_dim",
            _ => "hidden",
        }
    }
}

/// As GGUF files spell it.
impl fmt::Display for TensorName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TensorName::Embedding => f.write_str("token_embd.weight"),
            TensorName::FinalNorm => f.write_str("output_norm.weight"),
            TensorName::Head => f.write_str("output.weight"),
            TensorName::Layer(layer, tensor) => write!(f, "blk.{layer}.{}.weight", tensor.gguf()),
        }
    }
}

/// The content of a tensor.
#[derive(Debug, Clone, PartialEq)]
pub enum Tensor {
    /// q4_K that the device makes itself.
    Synthetic(Synthesise),
    /// q4_K super-blocks, row after row.
    Q4K(Vec<u8>),
    /// f32 values, row after row.
    F32(Vec<f32>),
}

/// A tensor that could not be had.
#[derive(Debug, thiserror::Error)]
#[error("reading tensor {name}: {reason}")]
pub struct SourceError {
    /// The tensor.
    pub name: TensorName,
    /// Why, and what to do about it.
    pub reason: String,
}

/// Where a model comes from: made from a seed, or read from a file.
pub trait TensorSource {
    /// The model's shape.
    fn shape(&self) -> &ModelShape;

    /// How a tensor will be kept on the device, known before it is read. Norms are always f32.
    ///
    /// # Errors
    /// Where the model lacks it.
    fn format(&self, name: TensorName) -> Result<Format, SourceError>;

    /// Reads or describes a tensor, in the format that was promised.
    ///
    /// # Errors
    /// Where it cannot be read.
    fn tensor(&mut self, name: TensorName) -> Result<Tensor, SourceError>;

    /// The text of tokens, where there is a vocabulary.
    fn text(&self, _tokens: &[i32]) -> Option<String> {
        None
    }
}
