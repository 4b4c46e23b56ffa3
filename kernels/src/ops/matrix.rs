//! Kernels that read or make matrices of weights.

use super::call::{Embed, Format, Sizes, Synthesise};
use super::{Element, Op, reference, wide};
use crate::mmq::blocks::{CHUNK, Q4_BYTES, Q8_BYTES, SUPER, random_q4, random_q8};
use crate::model::synthetic::super_block;
use crate::standalone::data;

/// The bench of the single token: the gate of a 7B model.
pub const MATVEC_BENCH: Sizes = Sizes {
    k: 3584,
    ods: 18_944,
    tokens: 1,
};

/// Synthetic weights, equal to the bit.
pub fn weights(shape: Synthesise) -> Op {
    let blocks = 0..shape.blocks as u32;
    let words: Vec<u32> = blocks.flat_map(|b| super_block(shape, b)).collect();
    let expected = words.into_iter().map(f64::from).collect();
    Op::floats(shape.call(), Vec::new(), expected).exact(Element::U32)
}

/// Random tokens' rows of a random table of `vocabulary` rows.
pub fn embed(shape: Embed, vocabulary: usize, seed: u64) -> Op {
    let tokens = data::bytes(&mut data::rng(seed, 4), shape.tokens * 4);
    let tokens: Vec<u32> = tokens
        .as_chunks::<4>()
        .0
        .iter()
        .map(|word| u32::from_le_bytes(*word) % vocabulary as u32)
        .collect();
    let (table, row_bytes) = match shape.format {
        Format::Q4K => {
            let supers = shape.hidden / SUPER;
            (random_q4(seed, vocabulary * supers), supers * Q4_BYTES)
        }
        Format::F32 => {
            let values = data::floats(&mut data::rng(seed, 0), vocabulary * shape.hidden);
            (data::float_bytes(&values), shape.hidden * 4)
        }
    };
    let mut expected = Vec::new();
    for token in &tokens {
        let row = &table[*token as usize * row_bytes..][..row_bytes];
        expected.extend(match shape.format {
            Format::Q4K => wide(&reference::embed_q4k(row, shape.scale)),
            Format::F32 => {
                let values = row.as_chunks::<4>().0.iter();
                let scaled = values.map(|v| f32::from_le_bytes(*v) * shape.scale);
                scaled.map(f64::from).collect()
            }
        });
    }
    let inputs = vec![data::le_bytes(&tokens), table];
    Op::floats(shape.call(), inputs, expected).exact(Element::F32)
}

/// A random matrix of q4_K times one token of q8.
pub fn matvec(sizes: Sizes, seed: u64) -> Op {
    let acts = random_q8(seed, sizes.k / CHUNK);
    let weights = random_q4(seed, sizes.ods * sizes.k / SUPER);
    let row_bytes = sizes.k / SUPER * Q4_BYTES;
    let moved = weights.len() + sizes.k / CHUNK * Q8_BYTES + sizes.ods * 4;
    let inputs = vec![acts.clone(), weights.clone()];
    let expected = move |n: usize| {
        let row = &weights[n * row_bytes..][..row_bytes];
        reference::dot_q4k_q8(&acts, row)
    };
    let mut op = Op::lazy(sizes.matvec(), inputs, sizes.ods, expected);
    op.multiplications = (sizes.k * sizes.ods) as u64;
    op.moved_bytes = moved as u64;
    op
}

/// Random f32 matrices.
pub fn matmul_f32(sizes: Sizes, seed: u64) -> Op {
    let Sizes { k, ods, tokens } = sizes;
    let x = data::floats(&mut data::rng(seed, 0), tokens * k);
    let w = data::floats(&mut data::rng(seed, 1), ods * k);
    let inputs = vec![data::float_bytes(&x), data::float_bytes(&w)];
    let (x, w) = (wide(&x), wide(&w));
    let expected = move |n: usize| {
        let (token, od) = (n / ods, n % ods);
        reference::dot(&x[token * k..][..k], &w[od * k..][..k])
    };
    let mut op = Op::lazy(sizes.matmul_f32(), inputs, tokens * ods, expected);
    op.multiplications = (k * ods * tokens) as u64;
    op
}
