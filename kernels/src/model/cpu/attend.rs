//! Kernels over positions: rotation and attention.

use super::{dot, exp};
use crate::device::DeviceError;
use crate::device::host::Invocation;

type Done = Result<(), DeviceError>;

pub(super) fn rope(call: &mut Invocation<'_>) -> Done {
    let tokens = call.geometry.grid[0] as usize;
    let (heads, head_dim, first) = (call.integer(0)?, call.integer(1)?, call.integer(2)?);
    let interleaved = call.integer(3)? == 1;
    let half = head_dim / 2;
    let mut x = call.floats(0, tokens * heads * head_dim)?;
    let table = call.floats(1, (first + tokens) * head_dim)?;
    for (token, heads) in x.chunks_exact_mut(heads * head_dim).enumerate() {
        let row = &table[(first + token) * head_dim..][..head_dim];
        for head in heads.chunks_exact_mut(head_dim) {
            for (i, turn) in row.as_chunks::<2>().0.iter().enumerate() {
                let (a, b) = match interleaved {
                    true => (2 * i, 2 * i + 1),
                    false => (i, i + half),
                };
                let ([cos, sin], first, second) = (*turn, head[a], head[b]);
                head[a] = first * cos - second * sin;
                head[b] = first * sin + second * cos;
            }
        }
    }
    call.write_floats(2, &x)
}

/// What all heads share.
struct Shape {
    head_dim: usize,
    kv_heads: usize,
    scale: f32,
}

pub(super) fn attention(call: &mut Invocation<'_>, head_dim: usize) -> Done {
    let (tokens, first) = (call.integer(0)?, call.integer(1)?);
    let (heads, kv_heads, window) = (call.integer(2)?, call.integer(3)?, call.integer(4)?);
    let scale = call.float(5)?;
    let cached = (first + tokens) * kv_heads * head_dim;
    let q = call.floats(0, tokens * heads * head_dim)?;
    let (keys, values) = (call.floats(1, cached)?, call.floats(2, cached)?);
    let shape = Shape {
        head_dim,
        kv_heads,
        scale,
    };
    let mut out = Vec::with_capacity(q.len());
    for (row, q) in q.chunks_exact(head_dim).enumerate() {
        let (token, head) = (row / heads, row % heads);
        let end = first + token + 1;
        let begin = match window {
            0 => 0,
            window => end.saturating_sub(window),
        };
        let kv_head = head / (heads / kv_heads);
        let rows = |all| Rows {
            all,
            kv_head,
            shape: &shape,
        };
        out.extend(attend(q, rows(&keys), rows(&values), begin..end));
    }
    call.write_floats(3, &out)
}

/// The rows of one head in a cache.
struct Rows<'a> {
    all: &'a [f32],
    kv_head: usize,
    shape: &'a Shape,
}

impl Rows<'_> {
    fn at(&self, position: usize) -> &[f32] {
        let row = position * self.shape.kv_heads + self.kv_head;
        &self.all[row * self.shape.head_dim..][..self.shape.head_dim]
    }
}

fn attend(q: &[f32], keys: Rows<'_>, values: Rows<'_>, seen: std::ops::Range<usize>) -> Vec<f32> {
    let q: Vec<f32> = q.iter().map(|v| v * keys.shape.scale).collect();
    let mut weights: Vec<f32> = seen.clone().map(|p| dot(&q, keys.at(p))).collect();
    let largest = weights.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    weights.iter_mut().for_each(|w| *w = exp(*w - largest));
    let total: f32 = weights.iter().sum();
    let mut out = vec![0f32; q.len()];
    for (weight, position) in weights.iter().zip(seen) {
        for (o, value) in out.iter_mut().zip(values.at(position)) {
            *o += weight * value;
        }
    }
    out.iter_mut().for_each(|o| *o /= total);
    out
}
