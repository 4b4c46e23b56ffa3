//! Synthetic weights: every word of every tensor is a hash of where it is, so that the device
//! makes gigabytes of them in no time, and the CPU any one of them alone. The kernel
//! `synthesise_q4k` has the same formulas; both are equal to the bit.
//!
//! The gains make greedy-32 sensitive. Each layer outweighs what came before it, attention is
//! sharp, and gated products double a relative error: what is small in one layer is large a few
//! layers on. Of the tiny model as the harness runs it (77 tokens, then 32), on the stand-in
//! device, one super-block spoiled at a time, one in each of the 42 matrices of the layers:
//!
//! | what is wrong | the tokens changed |
//! |---|---|
//! | `d` doubled | 41 of 42; not in the last layer's down |
//! | one bit (8) of one 6-bit scale, layers 0 to 3 | 28 of 28 |
//! | the same in layer 4, and in the last one | 4 of 7, and 0 of 7 |
//!
//! An error in the last layer meets nothing that amplifies it. Rounding is amplified like an
//! error: a value that it moves across an edge of the q8 quantiser makes a whole step of
//! difference, and the f64 reference parts from the stand-in at the third token. So tokens can
//! be compared between kernels that agree to the bit, and only between those.

use super::shape::{ModelShape, ShapeError};
use super::tensor::{Dims, LayerTensor, SourceError, Tensor, TensorName, TensorSource};
use crate::mmq::blocks::SUPER;
use crate::ops::call::{Format, Synthesise};

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

/// Standard deviation of a uniform nibble (4.61) times the mean of the 6-bit scales (47.5): what
/// the standard deviation of a super-block's values is, for each unit of `d`.
const DEVIATION: f64 = 4.61 * 47.5;

/// How much the matrices of a kind amplify: the standard deviation of an output, for inputs of
/// standard deviation 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gains {
    /// The embedding: the standard deviation of its values.
    pub embedding: f64,
    /// q and k.
    pub qk: f64,
    /// v.
    pub v: f64,
    /// The projection from the heads.
    pub output: f64,
    /// The gate.
    pub gate: f64,
    /// What is gated.
    pub up: f64,
    /// The projection back.
    pub down: f64,
    /// The output head.
    pub head: f64,
    /// What the two projections back to the stream are multiplied by from layer to layer, so
    /// that a layer outweighs what came before it.
    pub growth: f64,
}

impl Gains {
    /// The gains of every synthetic model; see the module for what they do.
    pub const MODEL: Gains = Gains {
        embedding: 1.0,
        qk: 2.0,
        v: 2.0,
        output: 4.0,
        gate: 2.0,
        up: 2.0,
        down: 3.0,
        head: 1.0,
        growth: 1.8,
    };

    fn of(&self, name: TensorName) -> f64 {
        use LayerTensor as L;
        match name {
            TensorName::Embedding => self.embedding,
            TensorName::Head => self.head,
            TensorName::FinalNorm => 1.0,
            TensorName::Layer(layer, tensor) => match tensor {
                L::Q | L::K => self.qk,
                L::V => self.v,
                L::Output => self.output * self.growth.powi(layer as i32),
                L::Gate => self.gate,
                L::Up => self.up,
                L::Down => self.down * self.growth.powi(layer as i32),
                L::AttnNorm | L::PostAttnNorm | L::FfnNorm | L::PostFfnNorm => 1.0,
                L::QNorm | L::KNorm => 1.0,
            },
        }
    }
}

/// A model made from a seed.
#[derive(Debug, Clone)]
pub struct Synthetic {
    shape: ModelShape,
    seed: u32,
    gains: Gains,
}

impl Synthetic {
    /// A model of a shape.
    ///
    /// # Errors
    /// Where the shape is wrong, or no shape for q4_K.
    pub fn new(shape: ModelShape, seed: u32) -> Result<Self, ShapeError> {
        Synthetic::with_gains(shape, seed, Gains::MODEL)
    }

    /// The same with gains of one's own.
    ///
    /// # Errors
    /// As [`Synthetic::new`].
    pub fn with_gains(shape: ModelShape, seed: u32, gains: Gains) -> Result<Self, ShapeError> {
        shape.check()?;
        for name in TensorName::all(&shape) {
            if !name.is_norm() {
                shape.check_format(name, Format::Q4K)?;
            }
        }
        Ok(Synthetic { shape, seed, gains })
    }

    fn matrix(&self, name: TensorName) -> Synthesise {
        let Dims { rows, k } = name.dims(&self.shape);
        // An embedding's rows are not summed over.
        let depth = match name {
            TensorName::Embedding => 1.0,
            _ => k as f64,
        };
        Synthesise {
            blocks: rows * k / SUPER,
            seed: self.seed,
            tensor: number(name),
            d: (self.gains.of(name) / depth.sqrt() / DEVIATION) as f32,
        }
    }

    /// Weights between 0.75 and 1.25, so that a norm without its weights shows.
    fn norm(&self, name: TensorName) -> Vec<f32> {
        let key = hash(self.seed ^ hash(number(name)));
        let columns = 0..name.dims(&self.shape).k as u32;
        columns
            .map(|n| 0.75 + (hash(key ^ n) & 0xffff) as f32 * 2f32.powi(-17))
            .collect()
    }
}

/// The number under which a tensor enters its hash.
fn number(name: TensorName) -> u32 {
    match name {
        TensorName::Embedding => 0,
        TensorName::Head => 1,
        TensorName::FinalNorm => 2,
        TensorName::Layer(layer, tensor) => 16 * (layer as u32 + 1) + tensor as u32,
    }
}

impl TensorSource for Synthetic {
    fn shape(&self) -> &ModelShape {
        &self.shape
    }

    fn format(&self, name: TensorName) -> Result<Format, SourceError> {
        Ok(match name.is_norm() {
            true => Format::F32,
            false => Format::Q4K,
        })
    }

    fn tensor(&mut self, name: TensorName) -> Result<Tensor, SourceError> {
        Ok(match name.is_norm() {
            true => Tensor::F32(self.norm(name)),
            false => Tensor::Synthetic(self.matrix(name)),
        })
    }
}

/// Tokens of a prompt, from a seed.
pub fn prompt(seed: u64, count: usize, vocabulary: usize) -> Vec<i32> {
    let key = hash(seed as u32) ^ hash((seed >> 32) as u32 ^ 0x5052_4f4d);
    let tokens = (0..count as u32).map(|n| hash(hash(n) ^ key) as usize % vocabulary.max(1));
    tokens.map(|token| token as i32).collect()
}
