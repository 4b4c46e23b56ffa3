//! `scale_read`: q4_K weights times q8 activations, all operands in tile order.
//!
//! ```text
//! out[od][token] = sum over chunks of d_a*(d*sc)*dot(q4, q8) - (d_a*ssum)*(dmin*m)
//! ```

use super::{Problem, Size, Tolerance, data};
use crate::device::{Geometry, Scalar};

pub(super) const KERNEL: &str = "scale_read";

const TOKENS: usize = crate::layout::SCALE_TOKENS as usize;
const ODS: usize = 128;
/// Chunks of a k-tile.
const CHUNKS: usize = crate::layout::CHUNKS as usize;
/// 4-byte words of a chunk of q8 values.
const WORDS: usize = 8;
/// 4-byte words of a super-block's nibbles.
const ROW_WORDS: usize = 32;
/// Bytes of a super-block's header: d, dmin, scales.
const HEAD: usize = 16;

/// NMSE of f32 sums of this depth is below 1e-13; a misplaced scale gives more than 1e-3.
const MAX_NMSE: f64 = 1e-11;

/// Token tiles, od tiles and k-tiles of the bench.
const BENCH: (usize, usize, usize) = (32, 16, 8);

/// How many k-tiles the blocks of one launch go through at the bench's size.
pub const BENCH_TILES: u32 = (BENCH.0 * BENCH.1 * BENCH.2) as u32;

/// Operands of `scale_read`.
#[derive(Debug)]
pub struct ScaleRead {
    token_tiles: usize,
    od_tiles: usize,
    k_tiles: usize,
    act_qs: Vec<u8>,
    act_ds: Vec<u8>,
    w_qs: Vec<u8>,
    w_head: Vec<u8>,
}

impl ScaleRead {
    /// Random q8 activations with their true block sums, and random q4_K weights.
    pub fn new(size: Size, seed: u64) -> Self {
        let (token_tiles, od_tiles, k_tiles) = match size {
            Size::Parity => (2, 2, 2),
            Size::Bench => BENCH,
        };
        let blocks = token_tiles * k_tiles * CHUNKS;
        let act_qs = data::q8(&mut data::rng(seed, 0), blocks * WORDS * TOKENS * 4);
        let mut rng = data::rng(seed, 1);
        let act_ds: Vec<u32> = (0..blocks * TOKENS)
            .map(|n| {
                let sum = block(&act_qs, n / TOKENS, n % TOKENS)
                    .map(i32::from)
                    .sum::<i32>();
                u32::from(data::scale(&mut rng, 0.01)) | u32::from(sum as i16 as u16) << 16
            })
            .collect();
        let rows = od_tiles * k_tiles;
        let mut rng = data::rng(seed, 2);
        let mut w_head = data::bytes(&mut data::rng(seed, 3), rows * ODS * HEAD);
        for head in w_head.chunks_exact_mut(HEAD) {
            head[..2].copy_from_slice(&data::scale(&mut rng, 0.001).to_le_bytes());
            head[2..4].copy_from_slice(&data::scale(&mut rng, 0.004).to_le_bytes());
        }
        ScaleRead {
            token_tiles,
            od_tiles,
            k_tiles,
            act_ds: data::le_bytes(&act_ds),
            act_qs,
            w_qs: data::bytes(&mut data::rng(seed, 4), rows * ROW_WORDS * ODS * 4),
            w_head,
        }
    }

    fn tokens(&self) -> usize {
        self.token_tiles * TOKENS
    }

    /// The nibbles of one chunk of an output row, in the order of the values.
    fn nibbles(&self, tile: usize, chunk: usize, od: usize) -> impl Iterator<Item = i32> {
        (0..32).map(move |value| {
            let word = chunk / 2 * WORDS + value / 4;
            let byte = self.w_qs[((tile * ROW_WORDS + word) * ODS + od) * 4 + value % 4];
            i32::from(byte >> (4 * (chunk % 2)) & 15)
        })
    }

    fn chunk_term(&self, at: Place) -> f64 {
        let act_tile = at.token / TOKENS * self.k_tiles + at.k_tile;
        let w_tile = at.od / ODS * self.k_tiles + at.k_tile;
        let (token, od) = (at.token % TOKENS, at.od % ODS);
        let head = &self.w_head[(w_tile * ODS + od) * HEAD..][..HEAD];
        let (sc, m) = scale_and_min(&head[4..], at.chunk);
        let act_block = act_tile * CHUNKS + at.chunk;
        let ds = &self.act_ds[(act_block * TOKENS + token) * 4..][..4];

        let dot: i32 = block(&self.act_qs, act_block, token)
            .zip(self.nibbles(w_tile, at.chunk, od))
            .map(|(a, w)| i32::from(a) * w)
            .sum();
        let d_act = data::half(u16::from_le_bytes([ds[0], ds[1]]));
        let ssum = f64::from(i16::from_le_bytes([ds[2], ds[3]]));
        let d = data::half(u16::from_le_bytes([head[0], head[1]]));
        let dmin = data::half(u16::from_le_bytes([head[2], head[3]]));
        d_act * (d * f64::from(sc) * f64::from(dot) - dmin * f64::from(m) * ssum)
    }
}

#[derive(Debug, Clone, Copy)]
struct Place {
    token: usize,
    od: usize,
    k_tile: usize,
    chunk: usize,
}

/// The 32 q8 values of a token in a block (a chunk of a k-tile of a token tile).
fn block(act_qs: &[u8], block: usize, token: usize) -> impl Iterator<Item = i8> {
    (0..32).map(move |value| {
        let word = (block * WORDS + value / 4) * TOKENS + token;
        act_qs[word * 4 + value % 4] as i8
    })
}

/// The 6-bit scale and min of chunk `j` in a super-block's 12 bytes, as q4_K packs them.
pub(crate) fn scale_and_min(packed: &[u8], j: usize) -> (u8, u8) {
    if j < 4 {
        (packed[j] & 63, packed[j + 4] & 63)
    } else {
        (
            packed[j + 4] & 15 | packed[j - 4] >> 6 << 4,
            packed[j + 4] >> 4 | packed[j] >> 6 << 4,
        )
    }
}

impl Problem for ScaleRead {
    fn kernel(&self) -> &'static str {
        KERNEL
    }

    fn inputs(&self) -> Vec<&[u8]> {
        vec![&self.act_qs, &self.act_ds, &self.w_qs, &self.w_head]
    }

    fn outputs(&self) -> usize {
        self.tokens() * self.od_tiles * ODS
    }

    fn scalars(&self) -> Vec<Scalar> {
        [self.k_tiles, self.tokens()]
            .map(|n| Scalar::I32(n as i32))
            .to_vec()
    }

    fn geometry(&self) -> Geometry {
        Geometry {
            grid: [self.token_tiles as u32, self.od_tiles as u32, 1],
            block: [256, 1, 1],
            dynamic_smem: 0,
        }
    }

    fn expected(&self, n: usize) -> f64 {
        let (od, token) = (n / self.tokens(), n % self.tokens());
        let places = (0..self.k_tiles * CHUNKS).map(|c| Place {
            token,
            od,
            k_tile: c / CHUNKS,
            chunk: c % CHUNKS,
        });
        places.map(|at| self.chunk_term(at)).sum()
    }

    fn decode(&self, bytes: [u8; 4]) -> f64 {
        data::float(bytes)
    }

    fn tolerance(&self) -> Tolerance {
        Tolerance::Nmse(MAX_NMSE)
    }

    fn multiplications(&self) -> u64 {
        (self.outputs() * self.k_tiles * CHUNKS * 32) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_and_mins_unpack_like_a_packer_packs_them() {
        let values: Vec<(u8, u8)> = (0..8).map(|j| (j * 7 + 3, 63 - j * 5)).collect();
        let mut packed = [0u8; 12];
        for j in 0..4 {
            let ((sc, m), (high_sc, high_m)) = (values[j], values[j + 4]);
            packed[j] = sc | high_sc >> 4 << 6;
            packed[j + 4] = m | high_m >> 4 << 6;
            packed[j + 8] = high_sc & 15 | (high_m & 15) << 4;
        }
        let unpacked: Vec<(u8, u8)> = (0..8).map(|j| scale_and_min(&packed, j)).collect();
        assert_eq!(unpacked, values);
    }

    #[test]
    fn block_sums_are_those_of_the_values() {
        let p = ScaleRead::new(Size::Parity, 7);
        for (n, word) in p.act_ds.chunks_exact(4).enumerate().step_by(97) {
            let sum: i32 = block(&p.act_qs, n / TOKENS, n % TOKENS)
                .map(i32::from)
                .sum();
            assert_eq!(i32::from(i16::from_le_bytes([word[2], word[3]])), sum);
        }
    }

    /// The same product the long way: dequantise both operands, then multiply in f64.
    #[test]
    fn two_terms_equal_the_dequantised_product() {
        let p = ScaleRead::new(Size::Parity, 3);
        for n in (0..p.outputs()).step_by(6007) {
            let (od, token) = (n / p.tokens(), n % p.tokens());
            let mut sum = 0.0;
            for k in 0..p.k_tiles * 256 {
                let (k_tile, chunk, value) = (k / 256, k % 256 / 32, k % 32);
                let act_block = (token / TOKENS * p.k_tiles + k_tile) * CHUNKS + chunk;
                let w_tile = od / ODS * p.k_tiles + k_tile;
                let q8 = block(&p.act_qs, act_block, token % TOKENS)
                    .nth(value)
                    .map_or(0, i32::from);
                let q4 = p.nibbles(w_tile, chunk, od % ODS).nth(value).unwrap_or(0);
                let ds = &p.act_ds[(act_block * TOKENS + token % TOKENS) * 4..];
                let head = &p.w_head[(w_tile * ODS + od % ODS) * HEAD..];
                let (sc, m) = scale_and_min(&head[4..16], chunk);
                let weight = data::half(u16::from_le_bytes([head[0], head[1]]))
                    * f64::from(sc)
                    * f64::from(q4)
                    - data::half(u16::from_le_bytes([head[2], head[3]])) * f64::from(m);
                sum += weight * f64::from(q8) * data::half(u16::from_le_bytes([ds[0], ds[1]]));
            }
            let expected = p.expected(n);
            assert!(
                (sum - expected).abs() <= 1e-9 * sum.abs().max(1.0),
                "{sum} {expected}"
            );
        }
    }

    #[test]
    fn a_seed_gives_the_same_operands_and_another_seed_others() {
        let (a, b, c) = (
            ScaleRead::new(Size::Parity, 5),
            ScaleRead::new(Size::Parity, 5),
            ScaleRead::new(Size::Parity, 6),
        );
        assert_eq!(a.inputs(), b.inputs());
        for (a, c) in a.inputs().iter().zip(c.inputs()) {
            assert_ne!(*a, c);
        }
    }
}
