//! Synthetic weights: every word of every tensor is a hash of where it is, so that the device
//! makes gigabytes of them in no time, and the CPU any one of them alone. The kernel
//! `synthesise_q4k` has the same formulas; both are equal to the bit.

use crate::ops::call::Synthesise;

/// Words of a super-block.
pub const WORDS: usize = 36;
/// `dmin / d`: the middle of the nibbles, so that weights are about 0 on average.
const MIDDLE: f32 = 7.5;

/// Mixes the bits of a word; a permutation of all words ("lowbias32" by C. Wellons).
pub fn hash(word: u32) -> u32 {
    let mut x = word;
    x ^= x >> 16;
    x = x.wrapping_mul(0x7feb_352d);
    x ^= x >> 15;
    x = x.wrapping_mul(0x846c_a68b);
    x ^ x >> 16
}

/// Super-block `block` of a tensor, as 36 little-endian words.
pub fn super_block(tensor: Synthesise, block: u32) -> [u32; WORDS] {
    let key = hash(tensor.seed ^ hash(tensor.tensor.wrapping_add(0x9e37_79b9)));
    let base = hash(block ^ key);
    let word = |i: u32| hash(base.wrapping_add(i.wrapping_mul(0x85eb_ca6b)));

    let mut out: [u32; WORDS] = std::array::from_fn(|i| word(i as u32));
    let spread = 0.75 + (word(3) & 0xffff) as f32 * 2f32.powi(-17);
    let d = half::f16::from_f32(tensor.d * spread);
    let dmin = half::f16::from_f32(MIDDLE * d.to_f32());
    out[0] = u32::from(d.to_bits()) | u32::from(dmin.to_bits()) << 16;
    let pairs = std::array::from_fn(|j| {
        let byte = (word(1 + j as u32 / 4) >> (8 * (j % 4))) as u8;
        let sc = 32 + (byte & 31);
        (sc, (sc - 1 + (byte >> 5) % 3).min(63))
    });
    let packed = pack_scales(&pairs);
    for (n, bytes) in packed.as_chunks::<4>().0.iter().enumerate() {
        out[1 + n] = u32::from_le_bytes(*bytes);
    }
    out
}

/// The 12 bytes in which q4_K packs eight 6-bit scales and mins.
pub fn pack_scales(pairs: &[(u8, u8); 8]) -> [u8; 12] {
    let mut packed = [0; 12];
    for j in 0..4 {
        let ((sc, m), (high_sc, high_m)) = (pairs[j], pairs[j + 4]);
        packed[j] = sc | high_sc >> 4 << 6;
        packed[j + 4] = m | high_m >> 4 << 6;
        packed[j + 8] = high_sc & 15 | (high_m & 15) << 4;
    }
    packed
}
