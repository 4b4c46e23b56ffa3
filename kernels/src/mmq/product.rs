//! `out[token][od] = sum over k of dequantised act[token][k] * dequantised weight[od][k]`.

use super::blocks::{CHUNK, Q4_BYTES, Q4Chunk, Q8, Q8_BYTES, SUPER, random_q4, random_q8};
use crate::device::{Geometry, Scalar};
use crate::standalone::{Problem, Tolerance, data};

/// Output rows of a block, in every kernel.
const BLOCK_ODS: usize = 128;

/// NMSE of f32 sums of this depth is below 1e-12; a misplaced scale gives more than 1e-3.
const MAX_NMSE: f64 = 1e-11;

/// Which kernel computes the product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tile {
    /// 128 output rows x 128 tokens, four chunks a k-tile.
    Wide4,
    /// The same with eight chunks a k-tile.
    Wide8,
    /// 128 output rows x 64 tokens, eight chunks a k-tile, two blocks an SM.
    Narrow,
}

impl Tile {
    /// All kernels.
    pub const ALL: [Tile; 3] = [Tile::Wide4, Tile::Wide8, Tile::Narrow];

    /// The kernel's symbol.
    pub fn kernel(self) -> &'static str {
        match self {
            Tile::Wide4 => "mmq_wide_kd4",
            Tile::Wide8 => "mmq_wide_kd8",
            Tile::Narrow => "mmq_nb",
        }
    }

    /// Tokens of a block.
    pub fn tokens(self) -> usize {
        match self {
            Tile::Wide4 | Tile::Wide8 => 128,
            Tile::Narrow => 64,
        }
    }

    /// Dynamic shared memory, bytes a block.
    pub fn dynamic_smem(self) -> u32 {
        match self {
            Tile::Wide4 => 73_728,
            Tile::Wide8 => 98_304,
            Tile::Narrow => 0,
        }
    }

    /// The launch of a product of `ods` output rows and `tokens` tokens.
    pub fn geometry(self, ods: usize, tokens: usize) -> Geometry {
        Geometry {
            grid: [
                ods.div_ceil(BLOCK_ODS) as u32,
                tokens.div_ceil(self.tokens()) as u32,
                1,
            ],
            block: [256, 1, 1],
            dynamic_smem: self.dynamic_smem(),
        }
    }
}

/// No kernel's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no tile `{0}`; there are kd4, kd8 and nb")]
pub struct UnknownTile(String);

impl std::str::FromStr for Tile {
    type Err = UnknownTile;

    fn from_str(text: &str) -> Result<Self, UnknownTile> {
        match text {
            "kd4" => Ok(Tile::Wide4),
            "kd8" => Ok(Tile::Wide8),
            "nb" => Ok(Tile::Narrow),
            other => Err(UnknownTile(other.to_owned())),
        }
    }
}

/// The size of a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Output rows.
    pub ods: usize,
    /// Tokens.
    pub tokens: usize,
    /// Depth in super-blocks of 256 values.
    pub supers: usize,
}

impl Shape {
    /// The q projection of a 7B model with a hidden size of 3,584, for 2,630 tokens.
    pub const Q_PROJ: Shape = Shape {
        ods: 3584,
        tokens: 2630,
        supers: 14,
    };

    fn k(self) -> usize {
        self.supers * SUPER
    }
}

/// Operands of a product.
#[derive(Debug)]
pub struct Product {
    tile: Tile,
    shape: Shape,
    acts: Vec<u8>,
    weights: Vec<u8>,
}

impl Product {
    /// Random q8 activations with their true block sums, and random q4_K weights.
    pub fn new(tile: Tile, shape: Shape, seed: u64) -> Self {
        Product {
            tile,
            shape,
            acts: random_q8(seed, shape.tokens * shape.k() / CHUNK),
            weights: random_q4(seed, shape.ods * shape.supers),
        }
    }

    /// Whole tiles, two of each kind.
    pub fn parity(tile: Tile, seed: u64) -> Self {
        let shape = Shape {
            ods: 2 * BLOCK_ODS,
            tokens: 2 * tile.tokens(),
            supers: 2,
        };
        Product::new(tile, shape, seed)
    }

    /// Neither the rows nor the tokens fill their tiles.
    pub fn ragged(tile: Tile, seed: u64) -> Self {
        let shape = Shape {
            ods: 200,
            tokens: 77,
            supers: 2,
        };
        Product::new(tile, shape, seed)
    }

    /// The bench: [`Shape::Q_PROJ`].
    pub fn q_proj(tile: Tile, seed: u64) -> Self {
        Product::new(tile, Shape::Q_PROJ, seed)
    }

    fn act(&self, token: usize, chunk: usize) -> Q8<'_> {
        let block = token * (self.shape.k() / CHUNK) + chunk;
        Q8(&self.acts[block * Q8_BYTES..][..Q8_BYTES])
    }

    fn weight(&self, od: usize, chunk: usize) -> Q4Chunk<'_> {
        let block = od * self.shape.supers + chunk * CHUNK / SUPER;
        Q4Chunk {
            block: &self.weights[block * Q4_BYTES..][..Q4_BYTES],
            chunk: chunk % (SUPER / CHUNK),
        }
    }
}

impl Problem for Product {
    fn kernel(&self) -> &'static str {
        self.tile.kernel()
    }

    fn inputs(&self) -> Vec<&[u8]> {
        vec![&self.acts, &self.weights]
    }

    fn outputs(&self) -> usize {
        self.shape.tokens * self.shape.ods
    }

    fn scalars(&self) -> Vec<Scalar> {
        let Shape { ods, tokens, .. } = self.shape;
        [self.shape.k(), ods, tokens]
            .map(|n| Scalar::I32(n as i32))
            .to_vec()
    }

    fn geometry(&self) -> Geometry {
        self.tile.geometry(self.shape.ods, self.shape.tokens)
    }

    fn expected(&self, n: usize) -> f64 {
        let (token, od) = (n / self.shape.ods, n % self.shape.ods);
        let term = |chunk: usize| {
            let (act, weight) = (self.act(token, chunk), self.weight(od, chunk));
            let (scale, min) = weight.scale_and_min();
            let dot: i32 = act.values().zip(weight.values()).map(|(a, w)| a * w).sum();
            act.d() * (scale * f64::from(dot) - min * f64::from(act.ssum()))
        };
        (0..self.shape.k() / CHUNK).map(term).sum()
    }

    fn decode(&self, bytes: [u8; 4]) -> f64 {
        data::float(bytes)
    }

    fn tolerance(&self) -> Tolerance {
        Tolerance::Nmse(MAX_NMSE)
    }

    fn multiplications(&self) -> u64 {
        (self.outputs() * self.shape.k()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same product the long way: dequantise every value of both operands, multiply in f64.
    #[test]
    fn two_terms_equal_the_dequantised_product() {
        let p = Product::ragged(Tile::Wide8, 3);
        for n in (0..p.outputs()).step_by(997) {
            let (token, od) = (n / p.shape.ods, n % p.shape.ods);
            let mut sum = 0.0;
            for k in 0..p.shape.k() {
                let (act, weight) = (p.act(token, k / CHUNK), p.weight(od, k / CHUNK));
                let q8 = act.values().nth(k % CHUNK).map_or(0, i32::from);
                let q4 = weight.values().nth(k % CHUNK).map_or(0, i32::from);
                let (scale, min) = weight.scale_and_min();
                sum += act.d() * f64::from(q8) * (scale * f64::from(q4) - min);
            }
            let expected = p.expected(n);
            assert!(
                (sum - expected).abs() <= 1e-9 * sum.abs().max(1.0),
                "{sum} {expected}"
            );
        }
    }

    #[test]
    fn the_bench_has_the_grid_of_the_campaign() {
        let wide = Product::new(Tile::Wide4, Shape::Q_PROJ, 1).geometry();
        assert_eq!((wide.grid, wide.dynamic_smem), ([28, 21, 1], 73_728));
        assert_eq!(Shape::Q_PROJ.k() / CHUNK, 112);
    }

    #[test]
    fn a_seed_gives_the_same_operands_and_another_seed_others() {
        let [a, b, c] = [5, 5, 6].map(|seed| Product::ragged(Tile::Narrow, seed));
        assert_eq!(a.inputs(), b.inputs());
        for (a, c) in a.inputs().iter().zip(c.inputs()) {
            assert_ne!(*a, c);
        }
    }
}
