//! Device memory between the weights: activations of a pass, the caches of k and v, tables,
//! tokens. What is in it before a pass is poison, so that nothing stale can look right.

use super::ModelError;
use super::shape::ModelShape;
use super::weights::Arena;
use crate::device::{Buffer, Device, DeviceError};
use crate::mmq::blocks::{CHUNK, Q8_BYTES};
use crate::standalone::data;

/// As a float and as two halves, NaN.
const POISON: u8 = 0xff;

/// The buffers of a model.
#[derive(Debug, Clone)]
pub(super) struct Buffers {
    /// i32 `[positions + 1]`: the prompt, then what was generated.
    pub(super) tokens: Buffer,
    /// f32 `[prefill][hidden]`: the stream that layers add to.
    pub(super) x: Buffer,
    /// f32 `[prefill][hidden]`: what was normalised, and what is added.
    pub(super) n: Buffer,
    /// q8 blocks of the widest rows.
    pub(super) q8: Buffer,
    /// f32 `[prefill][heads][head_dim]`.
    pub(super) q: Buffer,
    /// The same, what attention gives.
    pub(super) attended: Buffer,
    /// f32 `[prefill][ffn]`: the gate, and what comes out of it.
    pub(super) gate: Buffer,
    /// f32 `[prefill][ffn]`.
    pub(super) up: Buffer,
    /// f32 `[vocabulary]`.
    pub(super) logits: Buffer,
    /// f32 `[positions][kv_heads][head_dim]` for each layer.
    pub(super) keys: Vec<Buffer>,
    /// The same.
    pub(super) values: Vec<Buffer>,
    /// `[positions][head_dim / 2][2]`.
    pub(super) rotation: Buffer,
    /// The same for local layers; `rotation` where there are none.
    pub(super) local_rotation: Buffer,
    /// What is poisoned before a pass.
    passing: Vec<Buffer>,
}

/// How many bytes each buffer has.
struct Sizes {
    stream: usize,
    heads: usize,
    ffn: usize,
    q8: usize,
    logits: usize,
    cache: usize,
    rotation: usize,
    tokens: usize,
}

impl Sizes {
    fn of(shape: &ModelShape) -> Sizes {
        let rows = |width: usize| shape.prefill.saturating_mul(width).saturating_mul(4);
        let widest = shape.hidden.max(shape.q_width()).max(shape.ffn);
        let blocks = shape.prefill.saturating_mul(widest.div_ceil(CHUNK));
        Sizes {
            stream: rows(shape.hidden),
            heads: rows(shape.q_width()),
            ffn: rows(shape.ffn),
            q8: blocks.saturating_mul(Q8_BYTES),
            logits: shape.vocabulary * 4,
            cache: shape.positions.saturating_mul(shape.kv_width()) * 4,
            rotation: shape.positions.saturating_mul(shape.head_dim.get()) * 4,
            tokens: (shape.positions + 1) * 4,
        }
    }
}

impl Buffers {
    /// Bytes of all buffers of a model.
    pub(super) fn bytes(shape: &ModelShape) -> u64 {
        let sizes = Sizes::of(shape);
        let single = [
            sizes.stream.saturating_mul(2),
            sizes.heads.saturating_mul(2),
            sizes.ffn.saturating_mul(2),
            sizes.q8,
            sizes.logits,
            sizes
                .rotation
                .saturating_mul(1 + usize::from(shape.local.is_some())),
            sizes.tokens,
            sizes.cache.saturating_mul(2).saturating_mul(shape.layers),
        ];
        single
            .iter()
            .fold(0u64, |sum, bytes| sum.saturating_add(*bytes as u64))
    }

    pub(super) fn allocate(
        shape: &ModelShape,
        arena: &mut Arena<'_>,
    ) -> Result<Buffers, ModelError> {
        let sizes = Sizes::of(shape);
        let mut passing = Vec::new();
        let mut take = |bytes: usize| -> Result<Buffer, ModelError> {
            let buffer = arena.take(bytes)?;
            passing.push(buffer);
            Ok(buffer)
        };
        let (x, n) = (take(sizes.stream)?, take(sizes.stream)?);
        let q8 = take(sizes.q8)?;
        let (q, attended) = (take(sizes.heads)?, take(sizes.heads)?);
        let (gate, up) = (take(sizes.ffn)?, take(sizes.ffn)?);
        let logits = take(sizes.logits)?;
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        for _ in 0..shape.layers {
            keys.push(take(sizes.cache)?);
            values.push(take(sizes.cache)?);
        }
        let rotation = arena.take(sizes.rotation)?;
        Ok(Buffers {
            tokens: arena.take(sizes.tokens)?,
            x,
            n,
            q8,
            q,
            attended,
            gate,
            up,
            logits,
            keys,
            values,
            rotation,
            local_rotation: match shape.local {
                Some(_) => arena.take(sizes.rotation)?,
                None => rotation,
            },
            passing,
        })
    }

    /// Writes what does not change: the tables.
    pub(super) fn fill(
        &self,
        shape: &ModelShape,
        device: &mut dyn Device,
    ) -> Result<(), DeviceError> {
        let head_dim = shape.head_dim.get();
        let mut write = |buffer: Buffer, table: &[f32]| -> Result<(), DeviceError> {
            device.write(buffer, &data::float_bytes(table))
        };
        write(
            self.rotation,
            &shape.rotation.table(head_dim, shape.positions),
        )?;
        if let Some(local) = &shape.local {
            let table = local.rotation.table(head_dim, shape.positions);
            write(self.local_rotation, &table)?;
        }
        Ok(())
    }

    /// Fills everything that passes write with NaN.
    pub(super) fn poison(&self, device: &mut dyn Device) -> Result<(), DeviceError> {
        for buffer in &self.passing {
            device.fill(*buffer, POISON)?;
        }
        Ok(())
    }
}
