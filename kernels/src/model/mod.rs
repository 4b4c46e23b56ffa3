//! A transformer of q4_K weights: its shapes, where its weights come from, the launches of a
//! prefill and of a decode, and a reference of the whole on the CPU.
//!
//! It runs on any [`Device`](crate::device::Device) that has the kernels. What a time or a token
//! means for a verdict is not decided here.

pub mod synthetic;

/// Cosine and sine of every position and pair, `[positions][head_dim / 2][2]`, computed in f64
/// and rounded to f32 once.
pub fn rope_table(base: f64, head_dim: usize, positions: usize) -> Vec<f32> {
    let mut table = Vec::with_capacity(positions * head_dim);
    for position in 0..positions {
        for pair in 0..head_dim / 2 {
            let exponent = -2.0 * pair as f64 / head_dim as f64;
            let (sin, cos) = (position as f64 * base.powf(exponent)).sin_cos();
            table.extend([cos as f32, sin as f32]);
        }
    }
    table
}
