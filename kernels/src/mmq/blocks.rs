//! The two block formats: 32 values of activations as q8, 256 values of weights as q4_K.

use crate::standalone::{data, scale_and_min};

/// Values of a q8 block, and of one of the eight chunks of a super-block.
pub(crate) const CHUNK: usize = 32;
/// Values of a q4_K super-block.
pub(crate) const SUPER: usize = 256;
/// Bytes of a q8 block: f16 d, i16 ssum, 32 values.
pub(crate) const Q8_BYTES: usize = 36;
/// Bytes of a super-block: f16 d, f16 dmin, 12 bytes of scales and mins, 128 bytes of nibbles.
pub(crate) const Q4_BYTES: usize = 144;

/// A q8 block read out.
pub(crate) struct Q8<'a>(pub(crate) &'a [u8]);

impl Q8<'_> {
    pub(crate) fn d(&self) -> f64 {
        data::half(u16::from_le_bytes([self.0[0], self.0[1]]))
    }

    pub(crate) fn ssum(&self) -> i32 {
        i32::from(i16::from_le_bytes([self.0[2], self.0[3]]))
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = i32> {
        self.0[4..].iter().map(|byte| i32::from(*byte as i8))
    }
}

/// One chunk of a super-block.
pub(crate) struct Q4Chunk<'a> {
    pub(crate) block: &'a [u8],
    pub(crate) chunk: usize,
}

impl Q4Chunk<'_> {
    /// `d * sc` and `dmin * m`.
    pub(crate) fn scale_and_min(&self) -> (f64, f64) {
        let half = |at: usize| data::half(u16::from_le_bytes([self.block[at], self.block[at + 1]]));
        let (sc, m) = scale_and_min(&self.block[4..16], self.chunk);
        (half(0) * f64::from(sc), half(2) * f64::from(m))
    }

    /// The nibbles, in the order of the values.
    pub(crate) fn values(&self) -> impl Iterator<Item = i32> {
        let bytes = &self.block[16 + self.chunk / 2 * CHUNK..][..CHUNK];
        let shift = 4 * (self.chunk % 2);
        bytes.iter().map(move |byte| i32::from(byte >> shift & 15))
    }
}

/// Random q8 blocks with their true sums.
pub(crate) fn random_q8(seed: u64, blocks: usize) -> Vec<u8> {
    let mut scales = data::rng(seed, 1);
    let values = data::q8(&mut data::rng(seed, 0), blocks * CHUNK);
    let mut out = Vec::with_capacity(blocks * Q8_BYTES);
    for block in values.chunks_exact(CHUNK) {
        let sum: i16 = block.iter().map(|byte| i16::from(*byte as i8)).sum();
        out.extend(data::scale(&mut scales, 0.01).to_le_bytes());
        out.extend(sum.to_le_bytes());
        out.extend(block);
    }
    out
}

/// Random q4_K super-blocks: every scale, min and nibble occurs.
pub(crate) fn random_q4(seed: u64, blocks: usize) -> Vec<u8> {
    let mut scales = data::rng(seed, 2);
    let mut out = data::bytes(&mut data::rng(seed, 3), blocks * Q4_BYTES);
    for block in out.chunks_exact_mut(Q4_BYTES) {
        block[..2].copy_from_slice(&data::scale(&mut scales, 0.001).to_le_bytes());
        block[2..4].copy_from_slice(&data::scale(&mut scales, 0.004).to_le_bytes());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_the_values() {
        let blocks = random_q8(5, 300);
        for block in blocks.chunks_exact(Q8_BYTES) {
            assert_eq!(Q8(block).ssum(), Q8(block).values().sum::<i32>());
            assert!(Q8(block).values().all(|q| (-127..=127).contains(&q)));
        }
    }

    #[test]
    fn a_chunk_takes_its_half_of_the_bytes() {
        let mut block = [0u8; Q4_BYTES];
        // Chunks 4 and 5 share the bytes 64 to 95.
        block[16 + 64] = 0xa3;
        block[16 + 95] = 0x5c;
        let values = |chunk| -> Vec<i32> {
            let block = &block;
            Q4Chunk { block, chunk }.values().collect()
        };
        assert_eq!((values(4)[0], values(4)[31]), (3, 12));
        assert_eq!((values(5)[0], values(5)[31]), (10, 5));
        assert_eq!(values(3), [0; 32]);
    }
}
