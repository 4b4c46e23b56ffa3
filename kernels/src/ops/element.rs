//! Kernels that go over vectors: norms, gates, sums, the largest.

use super::call::{self, Pairwise, RmsNorm};
use super::{Element, Op, reference, wide};
use crate::standalone::data;

/// Rows of different magnitudes, one of them all zeros where there are more than two.
pub fn rms_norm(shape: RmsNorm, seed: u64) -> Op {
    let mut x = data::floats(&mut data::rng(seed, 0), shape.rows * shape.n);
    for (row, values) in x.chunks_exact_mut(shape.n).enumerate() {
        let magnitude = match row {
            2 => 0.0,
            row => 2f32.powi(row as i32 % 13 - 6),
        };
        values.iter_mut().for_each(|v| *v *= magnitude);
    }
    let weight = data::floats(&mut data::rng(seed, 1), shape.n);
    let weights = wide(&weight);
    let expected = wide(&x)
        .chunks_exact(shape.n)
        .flat_map(|row| reference::rms_norm(row, &weights, f64::from(shape.eps)))
        .collect();
    let inputs = vec![data::float_bytes(&x), data::float_bytes(&weight)];
    Op::floats(shape.call(), inputs, expected)
}

/// Two vectors of `n` values; the first reaches -16 to 16, so that gates open, close and saturate.
pub fn pairwise(kind: Pairwise, n: usize, seed: u64) -> Op {
    let mut x = data::floats(&mut data::rng(seed, 0), n);
    x.iter_mut().for_each(|v| *v *= 16.0);
    let y = data::floats(&mut data::rng(seed, 1), n);
    let inputs = vec![data::float_bytes(&x), data::float_bytes(&y)];
    let pairs = x.iter().zip(&y);
    let expected = pairs.map(|(x, y)| match kind {
        // One rounding, and the same on every machine.
        Pairwise::Add => f64::from(x + y),
        Pairwise::Swiglu => reference::swiglu(f64::from(*x), f64::from(*y)),
        Pairwise::Geglu => reference::geglu(f64::from(*x), f64::from(*y)),
    });
    let op = Op::floats(kind.call(n), inputs, expected.collect());
    match kind {
        Pairwise::Add => op.exact(Element::F32),
        Pairwise::Swiglu | Pairwise::Geglu => op,
    }
}

/// What is special about the values whose largest is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Argmax {
    /// The largest occurs three times.
    Ties,
    /// All are negative, and the largest is the last.
    Negative,
    /// One is NaN.
    Nan,
}

/// The largest of `n` values.
pub fn argmax(kind: Argmax, n: usize, seed: u64) -> Op {
    let mut x = data::floats(&mut data::rng(seed, 0), n);
    match kind {
        Argmax::Ties => {
            for at in [n - 1, n * 2 / 3, n / 3] {
                x[at] = 1.5;
            }
        }
        Argmax::Negative => {
            x.iter_mut().for_each(|v| *v = -2.0 - v.abs());
            x[n - 1] = -1.0;
        }
        Argmax::Nan => x[n / 2] = f32::NAN,
    }
    let expected = vec![f64::from(reference::argmax(&wide(&x)))];
    Op::floats(call::argmax(n), vec![data::float_bytes(&x)], expected).exact(Element::I32)
}
