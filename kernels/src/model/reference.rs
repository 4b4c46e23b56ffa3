//! The whole forward pass in f64 on the CPU, one token after another, from the tensors as their
//! source has them. The quantiser of the activations is part of the model, so it is here too.

use super::ModelError;
use super::shape::ModelShape;
use super::synthetic::super_block;
use super::tensor::{LayerTensor, Tensor, TensorName, TensorSource};
use crate::mmq::blocks::{CHUNK, Q4_BYTES, SUPER};
use crate::mmq::quantise;
use crate::ops::call::{Attention, Rope};
use crate::ops::reference::{self as ops, Qkv};
use crate::standalone::data;

/// A matrix in host memory.
enum Rows {
    Q4K(Vec<u8>),
    F32(Vec<f64>),
}

/// A matrix with the depth of its rows.
struct Table {
    rows: Rows,
    k: usize,
}

impl Table {
    fn read(source: &mut dyn TensorSource, name: TensorName) -> Result<Table, ModelError> {
        let k = name.dims(source.shape()).k;
        let rows = match source.tensor(name)? {
            Tensor::Q4K(bytes) => Rows::Q4K(bytes),
            Tensor::F32(values) => Rows::F32(values.into_iter().map(f64::from).collect()),
            Tensor::Synthetic(tensor) => {
                let blocks = (0..tensor.blocks as u32).flat_map(|b| super_block(tensor, b));
                Rows::Q4K(data::le_bytes(&blocks.collect::<Vec<u32>>()))
            }
        };
        Ok(Table { rows, k })
    }

    fn row(&self, n: usize, scale: f32) -> Vec<f64> {
        match &self.rows {
            Rows::F32(values) => {
                let row = &values[n * self.k..][..self.k];
                row.iter().map(|v| v * f64::from(scale)).collect()
            }
            Rows::Q4K(bytes) => {
                let row_bytes = self.k / SUPER * Q4_BYTES;
                let row = ops::embed_q4k(&bytes[n * row_bytes..][..row_bytes], scale);
                row.into_iter().map(f64::from).collect()
            }
        }
    }

    fn times(&self, x: &[f64]) -> Vec<f64> {
        match &self.rows {
            Rows::F32(values) => {
                let rows = values.chunks_exact(self.k);
                rows.map(|row| ops::dot(x, row)).collect()
            }
            Rows::Q4K(bytes) => {
                let narrow: Vec<f32> = x.iter().map(|v| *v as f32).collect();
                let acts: Vec<u8> = narrow.chunks_exact(CHUNK).flat_map(quantise).collect();
                let rows = bytes.chunks_exact(self.k / SUPER * Q4_BYTES);
                rows.map(|row| ops::dot_q4k_q8(&acts, row)).collect()
            }
        }
    }
}

/// A layer's tensors and its caches.
struct Layer {
    tensors: Vec<(LayerTensor, Table)>,
    keys: Vec<f64>,
    values: Vec<f64>,
}

impl Layer {
    fn find(&self, tensor: LayerTensor) -> Option<&Table> {
        let found = self.tensors.iter().find(|(name, _)| *name == tensor);
        found.map(|(_, table)| table)
    }

    /// `tensor` times `x`; the layer has every matrix.
    fn times(&self, tensor: LayerTensor, x: &[f64]) -> Vec<f64> {
        self.find(tensor)
            .map_or_else(Vec::new, |table| table.times(x))
    }

    /// Normalises rows as long as the weight, where the layer has this norm.
    fn norm(&self, tensor: LayerTensor, x: &[f64], eps: f32) -> Vec<f64> {
        match self.find(tensor) {
            None => x.to_vec(),
            Some(table) => {
                let weight = table.row(0, 1.0);
                let rows = x.chunks_exact(weight.len());
                rows.flat_map(|row| ops::rms_norm(row, &weight, f64::from(eps)))
                    .collect()
            }
        }
    }
}

/// A model in host memory.
pub struct Reference {
    shape: ModelShape,
    embedding: Table,
    layers: Vec<Layer>,
    final_norm: Vec<f64>,
    head: Option<Table>,
    position: usize,
}

impl Reference {
    /// Reads every tensor.
    ///
    /// # Errors
    /// Where the shape is wrong or a tensor cannot be had.
    pub fn new(source: &mut dyn TensorSource) -> Result<Reference, ModelError> {
        let shape = source.shape().clone();
        shape.check()?;
        let mut layers: Vec<Layer> = Vec::new();
        for name in TensorName::all(&shape) {
            if let TensorName::Layer(n, tensor) = name {
                if layers.len() <= n {
                    layers.push(Layer {
                        tensors: Vec::new(),
                        keys: Vec::new(),
                        values: Vec::new(),
                    });
                }
                let table = Table::read(source, name)?;
                layers[n].tensors.push((tensor, table));
            }
        }
        let head = match shape.tied_head {
            true => None,
            false => Some(Table::read(source, TensorName::Head)?),
        };
        Ok(Reference {
            embedding: Table::read(source, TensorName::Embedding)?,
            final_norm: Table::read(source, TensorName::FinalNorm)?.row(0, 1.0),
            layers,
            head,
            shape,
            position: 0,
        })
    }

    /// Takes one more token and gives the logits of the next.
    pub fn step(&mut self, token: i32) -> Vec<f64> {
        let shape = &self.shape;
        let mut x = self.embedding.row(token as usize, shape.embed_scale);
        for (n, layer) in self.layers.iter_mut().enumerate() {
            let place = Place {
                shape,
                layer: n,
                position: self.position,
            };
            for branch in [attention, feed_forward] {
                let added = branch(layer, &place, &x);
                x.iter_mut().zip(added).for_each(|(x, a)| *x += a);
            }
        }
        self.position += 1;
        let last = ops::rms_norm(&x, &self.final_norm, f64::from(shape.eps));
        self.head.as_ref().unwrap_or(&self.embedding).times(&last)
    }

    /// Takes a prompt, then generates `count` tokens.
    pub fn generate(&mut self, prompt: &[i32], count: usize) -> Vec<i32> {
        let mut logits = Vec::new();
        for token in prompt {
            logits = self.step(*token);
        }
        let mut tokens = Vec::new();
        while tokens.len() < count {
            let token = ops::argmax(&logits);
            tokens.push(token);
            if token < 0 || tokens.len() == count {
                break;
            }
            logits = self.step(token);
        }
        tokens
    }
}

struct Place<'a> {
    shape: &'a ModelShape,
    layer: usize,
    position: usize,
}

fn attention(layer: &mut Layer, place: &Place<'_>, x: &[f64]) -> Vec<f64> {
    use LayerTensor as L;
    let Place {
        shape, position, ..
    } = *place;
    let n = layer.norm(L::AttnNorm, x, shape.eps);
    let mut q = layer.norm(L::QNorm, &layer.times(L::Q, &n), shape.eps);
    let mut k = layer.norm(L::KNorm, &layer.times(L::K, &n), shape.eps);
    let values = layer.times(L::V, &n);

    let head_dim = shape.head_dim.get();
    let local = shape.local_at(place.layer).map(|local| &local.rotation);
    let table = local
        .unwrap_or(&shape.rotation)
        .table(head_dim, position + 1);
    let row: Vec<f64> = table[position * head_dim..]
        .iter()
        .map(|v| f64::from(*v))
        .collect();
    let rope = |heads| Rope {
        tokens: 1,
        heads,
        head_dim,
        first_position: position,
        interleaved: shape.interleaved,
    };
    ops::rope(&mut q, &row, rope(shape.heads));
    ops::rope(&mut k, &row, rope(shape.kv_heads));
    layer.keys.extend(k);
    layer.values.extend(values);
    let attention = Attention {
        tokens: 1,
        first_position: position,
        heads: shape.heads,
        kv_heads: shape.kv_heads,
        head_dim: shape.head_dim,
        window: shape.window(place.layer),
        scale: shape.attention_scale,
    };
    let qkv = Qkv {
        q: &q,
        keys: &layer.keys,
        values: &layer.values,
    };
    let attended: Vec<f64> = (0..shape.heads)
        .flat_map(|head| ops::attention(&qkv, attention, 0, head))
        .collect();
    layer.norm(
        L::PostAttnNorm,
        &layer.times(L::Output, &attended),
        shape.eps,
    )
}

fn feed_forward(layer: &mut Layer, place: &Place<'_>, x: &[f64]) -> Vec<f64> {
    use LayerTensor as L;
    let shape = place.shape;
    let n = layer.norm(L::FfnNorm, x, shape.eps);
    let (gate, up) = (layer.times(L::Gate, &n), layer.times(L::Up, &n));
    let joined = gate.iter().zip(&up).map(|(g, u)| match shape.gate {
        super::Gate::Swiglu => ops::swiglu(*g, *u),
        super::Gate::Geglu => ops::geglu(*g, *u),
    });
    let joined: Vec<f64> = joined.collect();
    layer.norm(L::PostFfnNorm, &layer.times(L::Down, &joined), shape.eps)
}
