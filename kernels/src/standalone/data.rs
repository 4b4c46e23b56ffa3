//! Operands from a seed, and the byte order in which devices keep numbers.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// The random numbers of one operand; operands with other names are independent.
pub(crate) fn rng(seed: u64, operand: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(operand);
    rng
}

pub(crate) fn bytes(rng: &mut ChaCha8Rng, count: usize) -> Vec<u8> {
    let mut out = vec![0; count];
    rng.fill_bytes(&mut out);
    out
}

/// Signed bytes as a q8 quantiser makes them: -127 to 127.
pub(crate) fn q8(rng: &mut ChaCha8Rng, count: usize) -> Vec<u8> {
    let mut out = bytes(rng, count);
    for byte in &mut out {
        if *byte == i8::MIN as u8 {
            *byte = 127;
        }
    }
    out
}

/// A positive f16 between `low` and about twice that, as its bits.
pub(crate) fn scale(rng: &mut ChaCha8Rng, low: f32) -> u16 {
    let fraction = (rng.next_u32() >> 8) as f32 / (1 << 24) as f32;
    half::f16::from_f32(low * (1.0 + fraction)).to_bits()
}

pub(crate) fn half(bits: u16) -> f64 {
    half::f16::from_bits(bits).to_f64()
}

pub(crate) fn le_bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// An output element of a kernel that computes in f32.
pub(crate) fn float(bytes: [u8; 4]) -> f64 {
    f64::from(f32::from_le_bytes(bytes))
}

/// Values between -1 and 1.
pub(crate) fn floats(rng: &mut ChaCha8Rng, count: usize) -> Vec<f32> {
    let bytes = bytes(rng, count * 4);
    let words = bytes.as_chunks::<4>().0.iter();
    words
        .map(|word| i32::from_le_bytes(*word) as f32 / 2f32.powi(31))
        .collect()
}

/// Floats as they lie in device memory.
pub(crate) fn float_bytes(values: &[f32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}
