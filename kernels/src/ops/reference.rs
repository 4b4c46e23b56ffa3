//! What each kernel must compute, in f64 and one value after another. Nothing here is fast, and
//! nothing knows how a kernel goes about it.

use super::call::{Attention, Rope};
use crate::mmq::blocks::{CHUNK, Q4_BYTES, Q4Chunk, Q8, Q8_BYTES, SUPER};

/// `x / sqrt(mean(x^2) + eps) * weight` of one row.
pub fn rms_norm(x: &[f64], weight: &[f64], eps: f64) -> Vec<f64> {
    let mean = x.iter().map(|v| v * v).sum::<f64>() / x.len() as f64;
    let inverse = 1.0 / (mean + eps).sqrt();
    x.iter().zip(weight).map(|(v, w)| v * inverse * w).collect()
}

/// Rotates one token's heads in place. `table` holds the token's `head_dim / 2` pairs of cosine
/// and sine.
pub fn rope(x: &mut [f64], table: &[f64], rope: Rope) {
    let half = rope.head_dim / 2;
    for head in x.chunks_exact_mut(rope.head_dim) {
        for i in 0..half {
            let (a, b) = if rope.interleaved {
                (2 * i, 2 * i + 1)
            } else {
                (i, i + half)
            };
            let (cos, sin) = (table[2 * i], table[2 * i + 1]);
            let (first, second) = (head[a], head[b]);
            head[a] = first * cos - second * sin;
            head[b] = first * sin + second * cos;
        }
    }
}

/// q, k and v of an attention.
#[derive(Debug, Clone, Copy)]
pub struct Qkv<'a> {
    /// `[tokens][heads][head_dim]`.
    pub q: &'a [f64],
    /// `[positions][kv_heads][head_dim]`.
    pub keys: &'a [f64],
    /// `[positions][kv_heads][head_dim]`.
    pub values: &'a [f64],
}

/// What token `t` gets from head `head`: `head_dim` values.
pub fn attention(qkv: &Qkv<'_>, shape: Attention, t: usize, head: usize) -> Vec<f64> {
    let d = shape.head_dim.get();
    let kv_head = head / (shape.heads / shape.kv_heads);
    let at = |position: usize| (position * shape.kv_heads + kv_head) * d;
    let q = &qkv.q[(t * shape.heads + head) * d..][..d];
    let scores: Vec<f64> = shape
        .seen(t)
        .map(|position| {
            let key = &qkv.keys[at(position)..][..d];
            let dot: f64 = q.iter().zip(key).map(|(a, b)| a * b).sum();
            dot * f64::from(shape.scale)
        })
        .collect();
    let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = scores.iter().map(|s| (s - largest).exp()).collect();
    let total: f64 = weights.iter().sum();
    let mut out = vec![0.0; d];
    for (weight, position) in weights.iter().zip(shape.seen(t)) {
        let value = &qkv.values[at(position)..][..d];
        for (o, v) in out.iter_mut().zip(value) {
            *o += weight / total * v;
        }
    }
    out
}

/// `gate * sigmoid(gate) * up`.
pub fn swiglu(gate: f64, up: f64) -> f64 {
    gate / (1.0 + (-gate).exp()) * up
}

/// GELU of `gate` by its tanh formula (Hendrycks and Gimpel, 2016), times `up`.
pub fn geglu(gate: f64, up: f64) -> f64 {
    let inner = (2.0 / std::f64::consts::PI).sqrt() * (gate + 0.044_715 * gate.powi(3));
    0.5 * gate * (1.0 + inner.tanh()) * up
}

/// The lowest index of the largest value; -1 where any is NaN, or there is none.
pub fn argmax(x: &[f64]) -> i32 {
    let mut best: Option<(usize, f64)> = None;
    for (n, value) in x.iter().enumerate() {
        if value.is_nan() {
            return -1;
        }
        if best.is_none_or(|(_, largest)| *value > largest) {
            best = Some((n, *value));
        }
    }
    best.map_or(-1, |(n, _)| n as i32)
}

/// The product of a row of q8 blocks and a row of q4_K super-blocks, equally deep.
pub fn dot_q4k_q8(acts: &[u8], weights: &[u8]) -> f64 {
    let blocks = acts.chunks_exact(Q8_BYTES).enumerate();
    blocks
        .map(|(n, act)| {
            let act = Q8(act);
            let weight = Q4Chunk {
                block: &weights[n / (SUPER / CHUNK) * Q4_BYTES..][..Q4_BYTES],
                chunk: n % (SUPER / CHUNK),
            };
            let (scale, min) = weight.scale_and_min();
            let dot: i32 = act.values().zip(weight.values()).map(|(a, w)| a * w).sum();
            act.d() * (scale * f64::from(dot) - min * f64::from(act.ssum()))
        })
        .sum()
}

/// The product of two rows.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// A row of q4_K super-blocks as the values that `embed_q4k` makes of it, in the f32 arithmetic
/// that the format's definition and that kernel share.
pub fn embed_q4k(row: &[u8], scale: f32) -> Vec<f32> {
    let mut out = Vec::with_capacity(row.len() / Q4_BYTES * SUPER);
    for block in row.chunks_exact(Q4_BYTES) {
        for chunk in 0..SUPER / CHUNK {
            let chunk = Q4Chunk { block, chunk };
            let (d, min) = chunk.scale_and_min();
            // Both are products of an f16 and six bits: f32 holds them without rounding.
            let (d, min) = (d as f32, min as f32);
            out.extend(chunk.values().map(|q| scale * d.mul_add(q as f32, -min)));
        }
    }
    out
}
