//! `quantise_q8`: f32 values to q8 blocks, equal to the byte.

use super::blocks::{CHUNK, Q8_BYTES};
use crate::device::{Geometry, Scalar};
use crate::standalone::{Problem, Size, Tolerance, data};

/// 4-byte words of a q8 block.
const WORDS: usize = Q8_BYTES / 4;
/// Blocks of values that a thread block quantises.
pub(crate) const PER_BLOCK: usize = 32;

/// f32 values to quantise.
#[derive(Debug)]
pub struct Quantise {
    blocks: usize,
    values: Vec<u8>,
    expected: Vec<u8>,
}

impl Quantise {
    /// Random values of very different magnitudes; a block of zeros is among them, and the last
    /// thread block is not full.
    pub fn new(size: Size, seed: u64) -> Self {
        let blocks = match size {
            Size::Parity => 77 * 16,
            Size::Bench => 2630 * 112,
        } + 1;
        let values = random_values(seed, blocks);
        let expected = values.chunks_exact(CHUNK).flat_map(quantise).collect();
        Quantise {
            blocks,
            values: values.iter().flat_map(|v| v.to_le_bytes()).collect(),
            expected,
        }
    }
}

fn random_values(seed: u64, blocks: usize) -> Vec<f32> {
    let bytes = data::bytes(&mut data::rng(seed, 0), blocks * CHUNK * 4);
    let words = bytes.as_chunks::<4>().0.iter();
    words
        .enumerate()
        .map(|(n, word)| {
            let unit = i32::from_le_bytes(*word) as f32 / 2f32.powi(31);
            match n / CHUNK {
                3 => 0.0,
                block => unit * 2f32.powi(block as i32 % 17 - 8),
            }
        })
        .collect()
}

/// `d` of a block that holds a NaN: what the hardware makes of any NaN.
const NAN_F16: u16 = 0x7fff;

/// A largest value below this makes zeros: 127 divided by it could be infinite, and `d` would be
/// 0 as f16. 2^-119.
const SMALLEST: f32 = f32::from_bits((127 - 119) << 23);

/// The q8 block of 32 values, in the f32 arithmetic that the kernel uses. A NaN makes `d` NaN, so
/// that it is not lost.
pub(crate) fn quantise(values: &[f32]) -> Vec<u8> {
    // Magnitudes are in the order of their bits, infinity and NaN above all.
    let bits = values.iter().map(|v| v.abs().to_bits()).max();
    let largest = f32::from_bits(bits.unwrap_or(0));
    if largest.is_nan() {
        let mut block = vec![0; Q8_BYTES];
        block[..2].copy_from_slice(&NAN_F16.to_le_bytes());
        return block;
    }
    let inverse = match largest >= SMALLEST && largest.is_finite() {
        true => 127.0 / largest,
        false => 0.0,
    };
    let q: Vec<i8> = values
        .iter()
        .map(|v| (v * inverse).round_ties_even() as i8)
        .collect();
    let sum: i16 = q.iter().map(|q| i16::from(*q)).sum();
    let d = half::f16::from_f32(largest / 127.0);
    let mut block = Vec::with_capacity(Q8_BYTES);
    block.extend(d.to_bits().to_le_bytes());
    block.extend(sum.to_le_bytes());
    block.extend(q.iter().map(|q| *q as u8));
    block
}

impl Problem for Quantise {
    fn kernel(&self) -> &'static str {
        "quantise_q8"
    }

    fn inputs(&self) -> Vec<&[u8]> {
        vec![&self.values]
    }

    fn outputs(&self) -> usize {
        self.blocks * WORDS
    }

    fn scalars(&self) -> Vec<Scalar> {
        vec![Scalar::I32(self.blocks as i32)]
    }

    fn geometry(&self) -> Geometry {
        Geometry {
            grid: [self.blocks.div_ceil(PER_BLOCK) as u32, 1, 1],
            block: [256, 1, 1],
            dynamic_smem: 0,
        }
    }

    fn expected(&self, n: usize) -> f64 {
        let word = self.expected[n * 4..].first_chunk().copied();
        word.map_or(f64::NAN, |word| self.decode(word))
    }

    fn decode(&self, bytes: [u8; 4]) -> f64 {
        f64::from(u32::from_le_bytes(bytes))
    }

    fn tolerance(&self) -> Tolerance {
        Tolerance::Exact
    }

    fn multiplications(&self) -> u64 {
        (self.blocks * CHUNK) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::super::blocks::Q8;
    use super::*;

    #[test]
    fn values_come_back_within_half_a_step() {
        let values = random_values(4, 40);
        for chunk in values.chunks_exact(CHUNK) {
            let block = quantise(chunk);
            let q8 = Q8(&block);
            assert_eq!(q8.ssum(), q8.values().sum::<i32>());
            let largest = chunk.iter().fold(0f32, |most, v| most.max(v.abs()));
            // Half a step, and what rounding d to f16 adds at the largest value.
            let bound = f64::from(largest) * (0.5 / 127.0 + 1.0 / 1024.0);
            for (value, q) in chunk.iter().zip(q8.values()) {
                let off = (f64::from(*value) - q8.d() * f64::from(q)).abs();
                assert!(off <= bound, "{value} became {q} x {}", q8.d());
            }
        }
    }

    #[test]
    fn the_largest_value_becomes_127_and_zeros_stay() {
        let block = quantise(&[[0.0; 31].as_slice(), &[-3.0]].concat());
        assert_eq!(Q8(&block).values().last(), Some(-127));
        assert_eq!(quantise(&[0.0; 32]), [0; Q8_BYTES]);
    }
}
