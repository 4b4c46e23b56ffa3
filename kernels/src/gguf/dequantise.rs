//! Blocks of any type to f32 values.
//!
//! Every scale times its value is exact in f32 (11 + 6 + 5 bits at most) except for q6_K's; so
//! there is one rounding for each value, and none depends on the machine.

use half::{bf16, f16};

use super::kind::TensorType;
use crate::standalone::scale_and_min;

/// Bytes and values that do not belong together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{bytes} bytes of {kind} are not {values} values; give whole blocks")]
pub struct SizeMismatch {
    /// The type.
    pub kind: TensorType,
    /// How many bytes were given.
    pub bytes: usize,
    /// How many values were asked for.
    pub values: usize,
}

/// Writes the values of whole blocks to `out`.
///
/// # Errors
/// Where `out` has not as many places as there are values.
pub fn dequantise(kind: TensorType, bytes: &[u8], out: &mut [f32]) -> Result<(), SizeMismatch> {
    if kind.bytes(out.len() as u64) != Some(bytes.len() as u64) {
        return Err(SizeMismatch {
            kind,
            bytes: bytes.len(),
            values: out.len(),
        });
    }
    let blocks = bytes.chunks_exact(kind.block_bytes() as usize);
    let places = out.chunks_exact_mut(kind.block_values() as usize);
    let block = one_block(kind);
    blocks.zip(places).for_each(|(from, to)| block(from, to));
    Ok(())
}

/// What writes the values of one block.
fn one_block(kind: TensorType) -> fn(&[u8], &mut [f32]) {
    match kind {
        TensorType::F32 => |b, out| out[0] = f32::from_le_bytes([b[0], b[1], b[2], b[3]]),
        TensorType::F16 => |b, out| out[0] = half_at(b, 0),
        TensorType::Bf16 => |b, out| out[0] = bf16::from_le_bytes([b[0], b[1]]).to_f32(),
        TensorType::Q4_0 => |b, out| {
            let d = half_at(b, 0);
            nibbles(&b[2..], out, |q, _| d * (f32::from(q) - 8.0));
        },
        TensorType::Q4_1 => |b, out| {
            let (d, m) = (half_at(b, 0), half_at(b, 2));
            nibbles(&b[4..], out, |q, _| d * f32::from(q) + m);
        },
        TensorType::Q5_0 => |b, out| {
            let (d, high) = (half_at(b, 0), word_at(b, 2));
            nibbles(&b[6..], out, |q, n| d * (fifth(q, high, n) - 16.0));
        },
        TensorType::Q5_1 => |b, out| {
            let (d, m, high) = (half_at(b, 0), half_at(b, 2), word_at(b, 4));
            nibbles(&b[8..], out, |q, n| d * fifth(q, high, n) + m);
        },
        TensorType::Q8_0 => |b, out| {
            let d = half_at(b, 0);
            for (to, q) in out.iter_mut().zip(&b[2..]) {
                *to = d * f32::from(*q as i8);
            }
        },
        TensorType::Q4K => q4_k,
        TensorType::Q5K => q5_k,
        TensorType::Q6K => q6_k,
    }
}

fn half_at(block: &[u8], at: usize) -> f32 {
    f16::from_le_bytes([block[at], block[at + 1]]).to_f32()
}

fn word_at(block: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([block[at], block[at + 1], block[at + 2], block[at + 3]])
}

/// 32 values from 16 bytes: first all low nibbles, then all high ones.
fn nibbles(bytes: &[u8], out: &mut [f32], value: impl Fn(u8, usize) -> f32) {
    let (low, high) = out.split_at_mut(16);
    for (n, byte) in bytes.iter().enumerate() {
        low[n] = value(byte & 15, n);
        high[n] = value(byte >> 4, n + 16);
    }
}

/// A nibble with bit `n` of `high` above it.
fn fifth(nibble: u8, high: u32, n: usize) -> f32 {
    f32::from(nibble | ((high >> n & 1) << 4) as u8)
}

/// d, dmin, 12 bytes of scales and minimums, and 32 bytes of nibbles for every 64 values.
fn q4_k(block: &[u8], out: &mut [f32]) {
    for (j, chunk) in out.chunks_exact_mut(32).enumerate() {
        let (scale, min) = chunk_scale(block, j);
        let nibbles = &block[16 + 32 * (j / 2)..][..32];
        for (to, byte) in chunk.iter_mut().zip(nibbles) {
            *to = scale * f32::from(byte >> (4 * (j % 2)) & 15) - min;
        }
    }
}

/// As [`q4_k`], with 32 bytes before the nibbles: bit `j` of byte `n` is the fifth bit of value
/// `n` of chunk `j`.
fn q5_k(block: &[u8], out: &mut [f32]) {
    let fifths = &block[16..48];
    for (j, chunk) in out.chunks_exact_mut(32).enumerate() {
        let (scale, min) = chunk_scale(block, j);
        let nibbles = &block[48 + 32 * (j / 2)..][..32];
        for ((to, byte), fifth) in chunk.iter_mut().zip(nibbles).zip(fifths) {
            let q = byte >> (4 * (j % 2)) & 15 | (fifth >> j & 1) << 4;
            *to = scale * f32::from(q) - min;
        }
    }
}

/// `d * sc` and `dmin * m` of chunk `j`, both exact.
fn chunk_scale(block: &[u8], j: usize) -> (f32, f32) {
    let (sc, m) = scale_and_min(&block[4..16], j);
    (
        half_at(block, 0) * f32::from(sc),
        half_at(block, 2) * f32::from(m),
    )
}

/// 128 bytes of nibbles, 64 bytes of bit pairs above them, 16 signed scales, d. In each half of
/// 128 values, 64 bytes of nibbles hold values 0 to 63 low and 64 to 127 high, and 32 bytes of
/// pairs hold the four quarters from the lowest bits up.
fn q6_k(block: &[u8], out: &mut [f32]) {
    let d = half_at(block, 208);
    for (n, to) in out.iter_mut().enumerate() {
        let (half, quarter, at) = (n / 128, n / 32 % 4, n % 32);
        let nibbles = block[64 * half + 32 * (quarter % 2) + at];
        let pairs = block[128 + 32 * half + at];
        let q = nibbles >> (4 * (quarter / 2)) & 15 | (pairs >> (2 * quarter) & 3) << 4;
        let scale = d * f32::from(block[192 + n / 16] as i8);
        *to = scale * (f32::from(q) - 32.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// f16 bits of small powers of two.
    const ONE: [u8; 2] = [0x00, 0x3c];
    const HALF: [u8; 2] = [0x00, 0x38];
    const TWO: [u8; 2] = [0x00, 0x40];

    fn values(kind: TensorType, block: &[u8]) -> Vec<f32> {
        let mut out = vec![f32::NAN; kind.block_values() as usize];
        dequantise(kind, block, &mut out).expect("one block");
        out
    }

    #[test]
    fn floats_are_taken_as_they_are() {
        assert_eq!(values(TensorType::F32, &[0, 0, 0x20, 0xc1]), [-10.0]);
        assert_eq!(values(TensorType::F16, &[0x01, 0x00]), [2f32.powi(-24)]);
        assert_eq!(values(TensorType::F16, &[0x00, 0xc1]), [-2.5]);
        assert_eq!(values(TensorType::Bf16, &[0x20, 0xc1]), [-10.0]);
    }

    #[test]
    fn q4_0_and_q4_1_have_low_nibbles_first() {
        let mut qs = [0x88u8; 16];
        qs[0] = 0xf0;
        qs[15] = 0x1a;
        let got = values(TensorType::Q4_0, &[&HALF[..], &qs].concat());
        assert_eq!((got[0], got[15]), (-4.0, 1.0));
        assert_eq!((got[16], got[31]), (3.5, -3.5));
        assert_eq!(got[1..15], [0.0; 14]);

        let got = values(TensorType::Q4_1, &[&HALF[..], &TWO, &qs].concat());
        assert_eq!((got[0], got[15], got[1]), (2.0, 7.0, 6.0));
        assert_eq!((got[16], got[31], got[17]), (9.5, 2.5, 6.0));
    }

    #[test]
    fn q5_0_and_q5_1_take_the_fifth_bit_from_the_word() {
        let mut qs = [0u8; 16];
        qs[3] = 0x52;
        // Bits 3 and 31.
        let high = 0x8000_0008u32.to_le_bytes();
        let got = values(TensorType::Q5_0, &[&ONE[..], &high, &qs].concat());
        // Value 3: 2 + 16 - 16; value 19: 5 - 16; value 31: 16 - 16; others -16.
        assert_eq!((got[3], got[19], got[31], got[0]), (2.0, -11.0, 0.0, -16.0));

        let got = values(TensorType::Q5_1, &[&TWO[..], &HALF, &high, &qs].concat());
        assert_eq!((got[3], got[19], got[31], got[0]), (36.5, 10.5, 32.5, 0.5));
    }

    #[test]
    fn q8_0_is_signed() {
        let mut block = [&HALF[..], &[0; 32]].concat();
        block[2] = 0x80;
        block[33] = 127;
        let got = values(TensorType::Q8_0, &block);
        assert_eq!((got[0], got[1], got[31]), (-64.0, 0.0, 63.5));
    }

    /// d = 2, dmin = 0.5. Chunk 0: scale 63 and min 1. Chunk 1: 0 and 0. Chunk 5: scale 0x2b and
    /// min 0x1c, whose upper two bits are kept above chunk 1's.
    fn k_head() -> Vec<u8> {
        let mut scales = [0u8; 12];
        scales[0] = 63;
        scales[4] = 1;
        scales[9] = 0xcb;
        scales[1] = 0b10 << 6;
        scales[5] = 0b01 << 6;
        [&TWO[..], &HALF, &scales].concat()
    }

    #[test]
    fn q4_k_takes_scales_of_six_bits_from_two_places() {
        let mut qs = [0u8; 128];
        // Value 0 of chunks 0 and 1, value 31 of chunks 4 and 5.
        qs[0] = 0xf9;
        qs[64 + 31] = 0xa4;
        let got = values(TensorType::Q4K, &[&k_head()[..], &qs].concat());
        assert_eq!(got[0], 2.0 * 63.0 * 9.0 - 0.5);
        assert_eq!(got[1], -0.5);
        assert_eq!(got[32], 0.0);
        assert_eq!(got[5 * 32 + 31], 2.0 * 43.0 * 10.0 - 0.5 * 28.0);
        assert_eq!(got[5 * 32], -14.0);
        assert_eq!(got[4 * 32 + 31], 0.0);
    }

    #[test]
    fn q5_k_takes_a_bit_of_each_chunk_from_one_byte() {
        let (mut qh, mut qs) = ([0u8; 32], [0u8; 128]);
        qh[7] = 1 << 5 | 1;
        qs[7] = 0x03;
        qs[64 + 7] = 0x20;
        let got = values(TensorType::Q5K, &[&k_head()[..], &qh, &qs].concat());
        assert_eq!(got[7], 2.0 * 63.0 * 19.0 - 0.5);
        assert_eq!(got[5 * 32 + 7], 2.0 * 43.0 * 18.0 - 14.0);
        assert_eq!(got[5 * 32 + 8], -14.0);
    }

    #[test]
    fn q6_k_takes_two_bits_of_each_quarter_from_one_byte() {
        let (mut ql, mut qh, mut scales) = ([0u8; 128], [0u8; 64], [0u8; 16]);
        // Second half, third quarter (values 192 to 223), value 5: high nibble of byte 64 + 5.
        ql[64 + 5] = 0x70;
        qh[32 + 5] = 0b11 << 4;
        scales[12] = -3i8 as u8;
        // First half, second quarter, value 20: low nibble of byte 32 + 20.
        ql[32 + 20] = 0x0d;
        qh[20] = 0b01 << 2;
        scales[3] = 100;
        let got = values(
            TensorType::Q6K,
            &[&ql[..], &qh, &scales, &HALF[..]].concat(),
        );
        assert_eq!(got[192 + 5], 0.5 * -3.0 * (55.0 - 32.0));
        assert_eq!(got[192 + 6], 0.5 * -3.0 * -32.0);
        assert_eq!(got[32 + 20], 0.5 * 100.0 * (29.0 - 32.0));
        assert_eq!(got[0], 0.0);
    }

    #[test]
    fn part_of_a_block_is_refused() {
        let mut out = [0.0; 32];
        let error = dequantise(TensorType::Q8_0, &[0; 33], &mut out).expect_err("33 bytes");
        assert_eq!(
            error.to_string(),
            "33 bytes of q8_0 are not 32 values; give whole blocks"
        );
        assert!(dequantise(TensorType::Q4K, &[0; 144], &mut out).is_err());
    }
}
