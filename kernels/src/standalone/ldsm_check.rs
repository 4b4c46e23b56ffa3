//! `ldsm_check`: `out[token][od] = sum over k of acts[token][k] * weights[od][k]`, in integers.

use super::{Problem, Size, Tolerance, data};
use crate::device::{Geometry, Scalar};
use crate::layout::LDSM_TOKENS;

pub(super) const KERNEL: &str = "ldsm_check";

/// Output rows of a block: 8 warps of 8.
const BLOCK_ODS: usize = 64;
/// Depth of a k-tile.
const TILE_K: usize = 256;
/// `ldmatrix.x4` instructions of a block for one k-tile: 8 warps, 8 chunks, 8 fragments.
const TILE_LOADS: u32 = 512;

const BENCH: Shape = Shape {
    tokens: 8192,
    ods: 128,
    k: 512,
};

/// `ldmatrix.x4` instructions of one launch at the bench's size.
pub const BENCH_LOADS: u32 = (BENCH.tokens / LDSM_TOKENS as usize * (BENCH.ods / BLOCK_ODS)) as u32
    * (BENCH.k / TILE_K) as u32
    * TILE_LOADS;

#[derive(Debug, Clone, Copy)]
struct Shape {
    tokens: usize,
    ods: usize,
    k: usize,
}

/// Operands of `ldsm_check`.
#[derive(Debug)]
pub struct LdsmCheck {
    shape: Shape,
    acts: Vec<u8>,
    weights: Vec<u8>,
}

impl LdsmCheck {
    /// Random q8 activations and weights.
    pub fn new(size: Size, seed: u64) -> Self {
        let shape = match size {
            Size::Bench => BENCH,
            Size::Parity => Shape {
                tokens: 2 * LDSM_TOKENS as usize,
                ods: 2 * BLOCK_ODS,
                k: 2 * TILE_K,
            },
        };
        LdsmCheck {
            acts: data::q8(&mut data::rng(seed, 0), shape.tokens * shape.k),
            weights: data::q8(&mut data::rng(seed, 1), shape.ods * shape.k),
            shape,
        }
    }
}

impl Problem for LdsmCheck {
    fn kernel(&self) -> &'static str {
        KERNEL
    }

    fn inputs(&self) -> Vec<&[u8]> {
        vec![&self.acts, &self.weights]
    }

    fn outputs(&self) -> usize {
        self.shape.tokens * self.shape.ods
    }

    fn scalars(&self) -> Vec<Scalar> {
        [self.shape.k, self.shape.ods]
            .map(|n| Scalar::I32(n as i32))
            .to_vec()
    }

    fn geometry(&self) -> Geometry {
        Geometry {
            grid: [
                self.shape.tokens as u32 / LDSM_TOKENS,
                (self.shape.ods / BLOCK_ODS) as u32,
                1,
            ],
            block: [256, 1, 1],
            dynamic_smem: 0,
        }
    }

    fn expected(&self, n: usize) -> f64 {
        let k = self.shape.k;
        let (token, od) = (n / self.shape.ods, n % self.shape.ods);
        let act = &self.acts[token * k..][..k];
        let weight = &self.weights[od * k..][..k];
        let sum: i32 = act
            .iter()
            .zip(weight)
            .map(|(a, w)| i32::from(*a as i8) * i32::from(*w as i8))
            .sum();
        f64::from(sum)
    }

    fn decode(&self, bytes: [u8; 4]) -> f64 {
        f64::from(i32::from_le_bytes(bytes))
    }

    fn tolerance(&self) -> Tolerance {
        Tolerance::Exact
    }

    fn multiplications(&self) -> u64 {
        (self.outputs() * self.shape.k) as u64
    }
}
