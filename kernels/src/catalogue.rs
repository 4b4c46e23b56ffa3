//! Every problem that the harness can be asked for, by name. What the problems are is said where
//! they are made: [`standalone`](crate::standalone), [`mmq`](crate::mmq) and [`ops`].

use crate::mmq::{Product, Quantise, Tile};
use crate::ops::call::{
    Attention, Embed, Format, HeadDim, Pairwise, RmsNorm, Rope, Sizes, Synthesise,
};
use crate::ops::{self, Argmax, MATVEC_BENCH};
use crate::standalone::{LdsmCheck, Problem, ScaleRead, Size};

/// A problem under the name by which it is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// The name.
    pub name: &'static str,
    make: fn(u64) -> Box<dyn Problem>,
}

impl Entry {
    /// Makes the operands from a seed.
    pub fn problem(&self, seed: u64) -> Box<dyn Problem> {
        (self.make)(seed)
    }
}

/// The parity cases, small enough to compare every output.
pub const PARITY: &[Entry] = &[
    entry("ldsm_check", |seed| {
        Box::new(LdsmCheck::new(Size::Parity, seed))
    }),
    entry("scale_read", |seed| {
        Box::new(ScaleRead::new(Size::Parity, seed))
    }),
    entry("quantise", |seed| {
        Box::new(Quantise::new(Size::Parity, seed))
    }),
    entry("mmq KD=4", |seed| {
        Box::new(Product::parity(Tile::Wide4, seed))
    }),
    entry("mmq KD=4 ragged", |seed| {
        Box::new(Product::ragged(Tile::Wide4, seed))
    }),
    entry("mmq KD=8", |seed| {
        Box::new(Product::parity(Tile::Wide8, seed))
    }),
    entry("mmq KD=8 ragged", |seed| {
        Box::new(Product::ragged(Tile::Wide8, seed))
    }),
    entry("mmq NB", |seed| {
        Box::new(Product::parity(Tile::Narrow, seed))
    }),
    entry("mmq NB ragged", |seed| {
        Box::new(Product::ragged(Tile::Narrow, seed))
    }),
    entry("weights", |seed| Box::new(ops::weights(weights(seed)))),
    entry("embed", |seed| {
        Box::new(ops::embed(EMBED, VOCABULARY, seed))
    }),
    entry("embed f32", |seed| {
        Box::new(ops::embed(EMBED_F32, VOCABULARY, seed))
    }),
    entry("rms_norm", |seed| Box::new(ops::rms_norm(RMS_NORM, seed))),
    entry("rope", |seed| Box::new(ops::rope(ROPE, seed))),
    entry("rope interleaved", |seed| {
        Box::new(ops::rope(ROPE_INTERLEAVED, seed))
    }),
    entry("attention", |seed| {
        Box::new(ops::attention(ATTENTION, seed))
    }),
    entry("attention ragged", |seed| {
        Box::new(ops::attention(ATTENTION_RAGGED, seed))
    }),
    entry("attention window", |seed| {
        Box::new(ops::attention(ATTENTION_WINDOW, seed))
    }),
    entry("attention decode", |seed| {
        Box::new(ops::attention(DECODE, seed))
    }),
    entry("attention decode hd64", |seed| {
        Box::new(ops::attention(DECODE_64, seed))
    }),
    entry("attention decode window", |seed| {
        Box::new(ops::attention(DECODE_WINDOW, seed))
    }),
    entry("swiglu", |seed| {
        Box::new(ops::pairwise(Pairwise::Swiglu, VECTOR, seed))
    }),
    entry("geglu", |seed| {
        Box::new(ops::pairwise(Pairwise::Geglu, VECTOR, seed))
    }),
    entry("add", |seed| {
        Box::new(ops::pairwise(Pairwise::Add, VECTOR, seed))
    }),
    entry("matvec", |seed| Box::new(ops::matvec(MATVEC, seed))),
    entry("matvec ragged", |seed| {
        Box::new(ops::matvec(MATVEC_RAGGED, seed))
    }),
    entry("matmul f32", |seed| Box::new(ops::matmul_f32(MATMUL, seed))),
    entry("argmax", |seed| {
        Box::new(ops::argmax(Argmax::Ties, VECTOR, seed))
    }),
    entry("argmax negative", |seed| {
        Box::new(ops::argmax(Argmax::Negative, 1000, seed))
    }),
    entry("argmax nan", |seed| {
        Box::new(ops::argmax(Argmax::Nan, VECTOR, seed))
    }),
];

/// The benches, large enough to time.
pub const BENCHES: &[Entry] = &[
    entry("ldsm_check", |seed| {
        Box::new(LdsmCheck::new(Size::Bench, seed))
    }),
    entry("scale_read", |seed| {
        Box::new(ScaleRead::new(Size::Bench, seed))
    }),
    entry("quantise", |seed| {
        Box::new(Quantise::new(Size::Bench, seed))
    }),
    entry("q_proj KD=4", |seed| {
        Box::new(Product::q_proj(Tile::Wide4, seed))
    }),
    entry("q_proj KD=8", |seed| {
        Box::new(Product::q_proj(Tile::Wide8, seed))
    }),
    entry("q_proj NB", |seed| {
        Box::new(Product::q_proj(Tile::Narrow, seed))
    }),
    entry("matvec", |seed| Box::new(ops::matvec(MATVEC_BENCH, seed))),
    entry("attention", |seed| {
        Box::new(ops::attention(ATTENTION_BENCH, seed))
    }),
];

/// Values of a vector; no multiple of a block.
const VECTOR: usize = 7 * 1024 + 5;
/// Rows of a table.
const VOCABULARY: usize = 300;

/// Not a multiple of a block, and blocks of different tensors for different seeds.
fn weights(seed: u64) -> Synthesise {
    Synthesise {
        blocks: 1031,
        seed: seed as u32,
        tensor: 17,
        d: 2.5e-4,
    }
}

const EMBED: Embed = Embed {
    format: Format::Q4K,
    tokens: 77,
    hidden: 768,
    scale: 1.5,
};

const EMBED_F32: Embed = Embed {
    format: Format::F32,
    tokens: 33,
    hidden: 580,
    scale: 1.5,
};

const RMS_NORM: RmsNorm = RmsNorm {
    rows: 77,
    n: 580,
    eps: 1e-6,
};

const ROPE: Rope = Rope {
    tokens: 77,
    heads: 7,
    head_dim: 128,
    first_position: 1000,
    interleaved: false,
};

const ROPE_INTERLEAVED: Rope = Rope {
    head_dim: 64,
    interleaved: true,
    ..ROPE
};

/// Whole tiles from the first position on, seven heads to one of k and v as in the 7B model.
const ATTENTION: Attention = Attention {
    tokens: 192,
    first_position: 0,
    heads: 7,
    kv_heads: 1,
    head_dim: HeadDim::D128,
    window: 0,
    scale: 0.5,
};

const ATTENTION_RAGGED: Attention = Attention {
    tokens: 77,
    first_position: 53,
    heads: 6,
    kv_heads: 2,
    head_dim: HeadDim::D64,
    ..ATTENTION
};

const ATTENTION_WINDOW: Attention = Attention {
    tokens: 70,
    first_position: 90,
    heads: 4,
    kv_heads: 1,
    head_dim: HeadDim::D256,
    window: 40,
    ..ATTENTION
};

const DECODE: Attention = Attention {
    tokens: 1,
    first_position: 1290,
    heads: 14,
    kv_heads: 2,
    ..ATTENTION
};

const DECODE_64: Attention = Attention {
    first_position: 0,
    head_dim: HeadDim::D64,
    ..DECODE
};

const DECODE_WINDOW: Attention = Attention {
    head_dim: HeadDim::D256,
    window: 512,
    ..DECODE
};

/// The 7B model's prefill.
const ATTENTION_BENCH: Attention = Attention {
    tokens: 2630,
    heads: 28,
    kv_heads: 4,
    scale: 0.088_388_35,
    ..ATTENTION
};

const MATVEC: Sizes = Sizes {
    k: 1536,
    ods: 512,
    tokens: 1,
};

const MATVEC_RAGGED: Sizes = Sizes {
    k: 3 * 256,
    ods: 203,
    tokens: 1,
};

const MATMUL: Sizes = Sizes {
    k: 580,
    ods: 203,
    tokens: 77,
};

const fn entry(name: &'static str, make: fn(u64) -> Box<dyn Problem>) -> Entry {
    Entry { name, make }
}

/// Finds an entry by its name.
pub fn find(entries: &'static [Entry], name: &str) -> Option<&'static Entry> {
    entries.iter().find(|entry| entry.name == name)
}

/// The names of entries, for people.
pub fn names(entries: &[Entry]) -> String {
    let names: Vec<&str> = entries.iter().map(|entry| entry.name).collect();
    names.join(", ")
}
