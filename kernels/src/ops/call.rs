//! How each kernel of the transformer is launched: its symbol, its grid and the numbers that
//! follow its pointers. The stack and the problems take them from here, so that what is checked
//! is what runs.

use crate::device::{Arg, Buffer, Geometry, Kernel, Launch, Scalar};
use crate::mmq::{QUANTISED_PER_BLOCK, Tile};

/// Threads of a block, where a kernel says nothing else.
const THREADS: usize = 256;
/// Threads of `argmax`'s one block.
const ARGMAX_THREADS: u32 = 1024;
/// Output rows of a block of `matvec_q4k`.
const MATVEC_ROWS: usize = 16;
/// Threads that `synthesise_q4k` spends on a super-block: one for each 16 bytes.
const THREADS_PER_SUPER_BLOCK: usize = 9;
/// Output rows, and tokens, of a block of `matmul_f32`.
const MATMUL_TILE: usize = 64;

/// A launch without its pointers.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The kernel's symbol.
    pub kernel: &'static str,
    /// Grid, block and shared memory.
    pub geometry: Geometry,
    /// The numbers that follow the pointers.
    pub scalars: Vec<Scalar>,
}

impl Call {
    fn new(kernel: &'static str, blocks: [usize; 2], scalars: Vec<Scalar>) -> Self {
        let geometry = Geometry {
            grid: [blocks[0] as u32, blocks[1] as u32, 1],
            block: [THREADS as u32, 1, 1],
            dynamic_smem: 0,
        };
        Call {
            kernel,
            geometry,
            scalars,
        }
    }

    /// The launch with its pointers: inputs, then the output.
    pub fn launch(&self, kernel: Kernel, pointers: &[Place]) -> Launch {
        let pointers = pointers.iter().map(|place| place.arg());
        let scalars = self.scalars.iter().copied().map(Arg::Scalar);
        Launch {
            kernel,
            geometry: self.geometry,
            args: pointers.chain(scalars).collect(),
        }
    }
}

/// A place in device memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The buffer.
    pub buffer: Buffer,
    /// Bytes from its beginning.
    pub offset: usize,
}

impl Place {
    fn arg(self) -> Arg {
        match self.offset {
            0 => Arg::Buffer(self.buffer),
            offset => Arg::Within {
                buffer: self.buffer,
                offset,
            },
        }
    }
}

impl From<Buffer> for Place {
    fn from(buffer: Buffer) -> Self {
        Place { buffer, offset: 0 }
    }
}

fn int(number: usize) -> Scalar {
    Scalar::I32(number as i32)
}

/// Synthetic q4_K super-blocks, the only kernel without an input.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Synthesise {
    /// Super-blocks.
    pub blocks: usize,
    /// The model's seed.
    pub seed: u32,
    /// The tensor's number.
    pub tensor: u32,
    /// About what `d` of a super-block is: 0.75 to 1.25 of this.
    pub d: f32,
}

impl Synthesise {
    /// Nine threads a super-block.
    pub fn call(self) -> Call {
        let scalars = vec![
            int(self.blocks),
            Scalar::I32(self.seed as i32),
            Scalar::I32(self.tensor as i32),
            Scalar::F32(self.d),
        ];
        let threads = self.blocks * THREADS_PER_SUPER_BLOCK;
        Call::new("synthesise_q4k", [threads.div_ceil(THREADS), 1], scalars)
    }
}

/// How the elements of a matrix lie in device memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// q4_K super-blocks of 256 values.
    Q4K,
    /// f32.
    F32,
}

/// Rows of a table, picked by tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Embed {
    /// How the table is kept.
    pub format: Format,
    /// Tokens.
    pub tokens: usize,
    /// Values of a row.
    pub hidden: usize,
    /// What every value is multiplied by.
    pub scale: f32,
}

impl Embed {
    /// One block a token.
    pub fn call(self) -> Call {
        let kernel = match self.format {
            Format::Q4K => "embed_q4k",
            Format::F32 => "embed_f32",
        };
        let scalars = vec![int(self.hidden), Scalar::F32(self.scale)];
        Call::new(kernel, [self.tokens, 1], scalars)
    }
}

/// Rows divided by their root mean square, times a weight for each column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RmsNorm {
    /// Rows.
    pub rows: usize,
    /// Values of a row.
    pub n: usize,
    /// Added to the mean square.
    pub eps: f32,
}

impl RmsNorm {
    /// One block a row.
    pub fn call(self) -> Call {
        let scalars = vec![int(self.n), Scalar::F32(self.eps)];
        Call::new("rms_norm", [self.rows, 1], scalars)
    }
}

/// f32 values to q8 blocks of 32.
pub fn quantise(blocks: usize) -> Call {
    let grid = [blocks.div_ceil(QUANTISED_PER_BLOCK), 1];
    Call::new("quantise_q8", grid, vec![int(blocks)])
}

/// The size of a matrix product: `out[token][od]` over `k` values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Depth.
    pub k: usize,
    /// Output rows.
    pub ods: usize,
    /// Tokens.
    pub tokens: usize,
}

impl Sizes {
    /// q8 activations with q4_K weights, for many tokens.
    pub fn product(self, tile: Tile) -> Call {
        Call {
            kernel: tile.kernel(),
            geometry: tile.geometry(self.ods, self.tokens),
            scalars: vec![int(self.k), int(self.ods), int(self.tokens)],
        }
    }

    /// q8 activations with q4_K weights, for the one token that there is.
    pub fn matvec(self) -> Call {
        let grid = [self.ods.div_ceil(MATVEC_ROWS), 1];
        Call::new("matvec_q4k", grid, vec![int(self.k), int(self.ods)])
    }

    /// f32 activations with f32 weights.
    pub fn matmul_f32(self) -> Call {
        let grid = [
            self.ods.div_ceil(MATMUL_TILE),
            self.tokens.div_ceil(MATMUL_TILE),
        ];
        let scalars = vec![int(self.k), int(self.ods), int(self.tokens)];
        Call::new("matmul_f32", grid, scalars)
    }
}

/// Rotation of pairs of values by their position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rope {
    /// Tokens.
    pub tokens: usize,
    /// Heads of a token.
    pub heads: usize,
    /// Values of a head.
    pub head_dim: usize,
    /// The position of the first token.
    pub first_position: usize,
    /// Pairs are neighbours rather than half a head apart.
    pub interleaved: bool,
}

impl Rope {
    /// One block a token.
    pub fn call(self) -> Call {
        let scalars = vec![
            int(self.heads),
            int(self.head_dim),
            int(self.first_position),
            int(usize::from(self.interleaved)),
        ];
        Call::new("rope", [self.tokens, 1], scalars)
    }
}

/// The sizes of a head for which there are kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeadDim {
    /// 64 values.
    D64,
    /// 128 values.
    D128,
    /// 256 values.
    D256,
}

impl HeadDim {
    /// All sizes.
    pub const ALL: [HeadDim; 3] = [HeadDim::D64, HeadDim::D128, HeadDim::D256];

    /// The one of `values` values, if there is one.
    pub fn new(values: usize) -> Option<HeadDim> {
        HeadDim::ALL.into_iter().find(|d| d.get() == values)
    }

    /// Values of a head.
    pub fn get(self) -> usize {
        match self {
            HeadDim::D64 => 64,
            HeadDim::D128 => 128,
            HeadDim::D256 => 256,
        }
    }

    /// Tokens of a block of `attention_hd*`, and its dynamic shared memory in bytes.
    fn tile(self) -> (usize, u32) {
        match self {
            HeadDim::D64 => (64, 49_152),
            HeadDim::D128 => (64, 81_920),
            HeadDim::D256 => (32, 69_632),
        }
    }
}

/// Causal attention of tokens over everything before them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Attention {
    /// Tokens that ask.
    pub tokens: usize,
    /// The position of the first of them.
    pub first_position: usize,
    /// Heads of q.
    pub heads: usize,
    /// Heads of k and v; a divisor of `heads`.
    pub kv_heads: usize,
    /// Values of a head.
    pub head_dim: HeadDim,
    /// How many positions a token sees, itself included; 0 for all.
    pub window: usize,
    /// What the products of q and k are multiplied by.
    pub scale: f32,
}

impl Attention {
    /// The kernel for many tokens, or the one for a single token.
    pub fn call(self) -> Call {
        let single = self.tokens == 1;
        let kernel = match (self.head_dim, single) {
            (HeadDim::D64, true) => "attention_decode_hd64",
            (HeadDim::D128, true) => "attention_decode_hd128",
            (HeadDim::D256, true) => "attention_decode_hd256",
            (HeadDim::D64, false) => "attention_hd64",
            (HeadDim::D128, false) => "attention_hd128",
            (HeadDim::D256, false) => "attention_hd256",
        };
        let (tile, tile_smem) = self.head_dim.tile();
        let (blocks, dynamic_smem) = match single {
            true => ([self.heads, 1], 0),
            false => ([self.tokens.div_ceil(tile), self.heads], tile_smem),
        };
        let mut scalars: Vec<Scalar> = [
            self.tokens,
            self.first_position,
            self.heads,
            self.kv_heads,
            self.window,
        ]
        .map(int)
        .to_vec();
        scalars.push(Scalar::F32(self.scale));
        let mut call = Call::new(kernel, blocks, scalars);
        call.geometry.dynamic_smem = dynamic_smem;
        call
    }

    /// The positions that token `t` sees.
    pub fn seen(self, t: usize) -> std::ops::Range<usize> {
        let end = self.first_position + t + 1;
        match self.window {
            0 => 0..end,
            window => end.saturating_sub(window)..end,
        }
    }

    /// Positions in the caches of k and v.
    pub fn positions(self) -> usize {
        self.first_position + self.tokens
    }
}

/// What is computed of two vectors, value by value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pairwise {
    /// `x + y`.
    Add,
    /// `x * sigmoid(x) * y`.
    Swiglu,
    /// `gelu(x) * y`, the GELU by its tanh formula.
    Geglu,
}

impl Pairwise {
    /// A launch over `n` values.
    pub fn call(self, n: usize) -> Call {
        let kernel = match self {
            Pairwise::Add => "add",
            Pairwise::Swiglu => "swiglu",
            Pairwise::Geglu => "geglu",
        };
        Call::new(kernel, [n.div_ceil(THREADS), 1], vec![int(n)])
    }
}

/// The index of the largest of `n` values.
pub fn argmax(n: usize) -> Call {
    let mut call = Call::new("argmax", [1, 1], vec![int(n)]);
    call.geometry.block = [ARGMAX_THREADS, 1, 1];
    call
}
