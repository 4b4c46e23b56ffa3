//! Positions: rotation, and attention over them.

use super::call::{Attention, Rope};
use super::reference::{self, Qkv};
use super::{Op, wide};
use crate::model::Rotation;
use crate::standalone::data;

/// Random heads, and a true table with a base of 10,000.
pub fn rope(shape: Rope, seed: u64) -> Op {
    let width = shape.heads * shape.head_dim;
    let x = data::floats(&mut data::rng(seed, 0), shape.tokens * width);
    let positions = shape.first_position + shape.tokens;
    let rotation = Rotation {
        base: 10_000.0,
        factors: Vec::new(),
    };
    let table = rotation.table(shape.head_dim, positions);
    let mut expected = wide(&x);
    let pairs = wide(&table);
    let rows = pairs
        .chunks_exact(shape.head_dim)
        .skip(shape.first_position);
    for (token, row) in expected.chunks_exact_mut(width).zip(rows) {
        reference::rope(token, row, shape);
    }
    let inputs = vec![data::float_bytes(&x), data::float_bytes(&table)];
    Op::floats(shape.call(), inputs, expected)
}

/// Random q, k and v.
pub fn attention(shape: Attention, seed: u64) -> Op {
    let (d, heads) = (shape.head_dim.get(), shape.heads);
    let row = shape.kv_heads * d;
    let q = data::floats(&mut data::rng(seed, 0), shape.tokens * heads * d);
    let keys = data::floats(&mut data::rng(seed, 1), shape.positions() * row);
    let values = data::floats(&mut data::rng(seed, 2), shape.positions() * row);
    let inputs = [&q, &keys, &values].map(|v| data::float_bytes(v)).to_vec();
    let outputs = q.len();
    let (q, keys, values) = (wide(&q), wide(&keys), wide(&values));
    // Elements are asked for in order, and those of a head together.
    let last = std::cell::RefCell::new((usize::MAX, Vec::new()));
    let expected = move |n: usize| {
        let (row, column) = (n / d, n % d);
        let mut last = last.borrow_mut();
        if last.0 != row {
            let (q, keys, values) = (&q, &keys, &values);
            let qkv = Qkv { q, keys, values };
            *last = (
                row,
                reference::attention(&qkv, shape, row / heads, row % heads),
            );
        }
        last.1.get(column).copied().unwrap_or(f64::NAN)
    };
    let mut op = Op::lazy(shape.call(), inputs, outputs, expected);
    let seen: usize = (0..shape.tokens).map(|t| shape.seen(t).len()).sum();
    op.multiplications = (2 * seen * heads * d) as u64;
    op
}
