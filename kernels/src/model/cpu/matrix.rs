//! Kernels that read or make matrices.

use super::dot;
use crate::device::DeviceError;
use crate::device::host::Invocation;
use crate::mmq::blocks::{CHUNK, Q4_BYTES, Q4Chunk, Q8, Q8_BYTES, SUPER};
use crate::mmq::quantise;
use crate::model::synthetic::{WORDS, super_block};
use crate::ops::call::Synthesise;
use crate::ops::reference;
use crate::standalone::data;

type Done = Result<(), DeviceError>;

pub(super) fn synthesise(call: &mut Invocation<'_>) -> Done {
    let tensor = Synthesise {
        blocks: call.integer(0)?,
        seed: call.word(1)?,
        tensor: call.word(2)?,
        d: call.float(3)?,
    };
    let mut words = Vec::with_capacity(tensor.blocks * WORDS);
    words.extend((0..tensor.blocks as u32).flat_map(|block| super_block(tensor, block)));
    call.write(0, &data::le_bytes(&words))
}

/// Copies rows by token; a negative token gives NaN.
fn embed(
    call: &mut Invocation<'_>,
    row_bytes: usize,
    row: impl Fn(&[u8], f32) -> Vec<f32>,
) -> Done {
    let tokens = call.geometry.grid[0] as usize;
    let (hidden, scale) = (call.integer(0)?, call.float(1)?);
    let ids = call.bytes(0)?.as_chunks::<4>().0.iter().take(tokens);
    let mut out = Vec::with_capacity(tokens * hidden);
    for id in ids {
        match usize::try_from(i32::from_le_bytes(*id)) {
            Err(_) => out.extend(std::iter::repeat_n(f32::NAN, hidden)),
            Ok(id) => {
                let table = call.bytes(1)?;
                let bytes = table.get(id * row_bytes..(id + 1) * row_bytes);
                let bytes = bytes.ok_or_else(|| DeviceError::KernelFailed {
                    doing: "embedding tokens".to_owned(),
                    reason: format!("token {id} lies outside the table"),
                })?;
                out.extend(row(bytes, scale));
            }
        }
    }
    call.write_floats(2, &out)
}

pub(super) fn embed_q4k(call: &mut Invocation<'_>) -> Done {
    let row_bytes = call.integer(0)? / SUPER * Q4_BYTES;
    embed(call, row_bytes, reference::embed_q4k)
}

pub(super) fn embed_f32(call: &mut Invocation<'_>) -> Done {
    let row_bytes = call.integer(0)? * 4;
    embed(call, row_bytes, |bytes, scale| {
        let words = bytes.as_chunks::<4>().0.iter();
        words
            .map(|word| f32::from_le_bytes(*word) * scale)
            .collect()
    })
}

pub(super) fn quantise_q8(call: &mut Invocation<'_>) -> Done {
    let blocks = call.integer(0)?;
    let values = call.floats(0, blocks * CHUNK)?;
    let bytes: Vec<u8> = values.chunks_exact(CHUNK).flat_map(quantise).collect();
    call.write(1, &bytes)
}

/// A row of activations read out: the values, and `d` and `ssum` of each block.
struct ActRow {
    values: Vec<i16>,
    terms: Vec<(f32, f32)>,
}

impl ActRow {
    fn read(bytes: &[u8]) -> ActRow {
        let blocks = bytes.chunks_exact(Q8_BYTES).map(Q8);
        let terms = blocks.map(|q8| (q8.d() as f32, q8.ssum() as f32));
        let values = bytes.chunks_exact(Q8_BYTES).flat_map(|block| {
            let values = block[4..].iter();
            values.map(|byte| i16::from(*byte as i8))
        });
        ActRow {
            terms: terms.collect(),
            values: values.collect(),
        }
    }
}

/// A row of weights read out into `values` and, for each chunk, scale and min.
fn read_weights(bytes: &[u8], values: &mut Vec<i16>, terms: &mut Vec<(f32, f32)>) {
    values.clear();
    terms.clear();
    for block in bytes.chunks_exact(Q4_BYTES) {
        for pair in block[16..].chunks_exact(CHUNK) {
            values.extend(pair.iter().map(|byte| i16::from(byte & 15)));
            values.extend(pair.iter().map(|byte| i16::from(byte >> 4)));
        }
        for chunk in 0..SUPER / CHUNK {
            let (scale, min) = Q4Chunk { block, chunk }.scale_and_min();
            terms.push((scale as f32, min as f32));
        }
    }
}

/// Of arrays, so that the compiler knows their length and uses vectors.
fn dot_i16(a: &[i16; CHUNK], b: &[i16; CHUNK]) -> i32 {
    let products = a.iter().zip(b).map(|(a, b)| i32::from(*a) * i32::from(*b));
    products.sum()
}

/// `out[token][od]` of q8 rows and q4_K rows of `k` values.
fn multiply(call: &mut Invocation<'_>, k: usize, ods: usize, tokens: usize) -> Done {
    let act_bytes = call.bytes(0)?;
    let act_row = k / CHUNK * Q8_BYTES;
    let acts: Vec<ActRow> = act_bytes
        .chunks_exact(act_row)
        .take(tokens)
        .map(ActRow::read)
        .collect();
    let mut out = vec![0f32; tokens * ods];
    let (mut values, mut terms) = (Vec::new(), Vec::new());
    let rows = call.bytes(1)?.chunks_exact(k / SUPER * Q4_BYTES);
    for (od, row) in rows.take(ods).enumerate() {
        read_weights(row, &mut values, &mut terms);
        for (token, act) in acts.iter().enumerate() {
            let (a, w) = (act.values.as_chunks::<CHUNK>(), values.as_chunks::<CHUNK>());
            let chunks = a.0.iter().zip(w.0);
            let mut sum = 0f32;
            for ((a, w), ((d, ssum), (scale, min))) in chunks.zip(act.terms.iter().zip(&terms)) {
                sum += d * (scale * dot_i16(a, w) as f32 - min * ssum);
            }
            out[token * ods + od] = sum;
        }
    }
    call.write_floats(2, &out)
}

pub(super) fn product(call: &mut Invocation<'_>) -> Done {
    multiply(call, call.integer(0)?, call.integer(1)?, call.integer(2)?)
}

pub(super) fn matvec(call: &mut Invocation<'_>) -> Done {
    multiply(call, call.integer(0)?, call.integer(1)?, 1)
}

pub(super) fn matmul_f32(call: &mut Invocation<'_>) -> Done {
    let (k, ods, tokens) = (call.integer(0)?, call.integer(1)?, call.integer(2)?);
    let x = call.floats(0, tokens * k)?;
    let mut out = vec![0f32; tokens * ods];
    let rows = call.bytes(1)?.chunks_exact(k * 4);
    for (od, row) in rows.take(ods).enumerate() {
        let words = row.as_chunks::<4>().0.iter();
        let row: Vec<f32> = words.map(|word| f32::from_le_bytes(*word)).collect();
        for (token, x) in x.chunks_exact(k).enumerate() {
            out[token * ods + od] = dot(x, &row);
        }
    }
    call.write_floats(2, &out)
}
