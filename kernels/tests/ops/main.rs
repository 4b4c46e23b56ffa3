//! The kernels around the matrix products, on real g++ and real nvcc: what each computes on a CPU
//! against its reference, and what nvcc makes of it for every architecture.
//!
//! The kernels run on the CPU here; `gpu.rs` is the test on real hardware.

#[path = "../common/bits.rs"]
mod bits;
#[path = "../common/mod.rs"]
mod common;
#[path = "../common/compiled.rs"]
mod compiled;
#[path = "../common/cuda.rs"]
mod cuda;
#[path = "../common/emulate.rs"]
mod emulate;
mod machine_code;
mod programs;
mod slips;

use std::path::Path;

use bits::{BITS, SEED, digest};
use common::{Result, apply};
use emulate::{Program, judge, output_of, run_on_host};
use kernels::catalogue::PARITY;
use kernels::ops::call::{
    Attention, Embed, Format, HeadDim, Pairwise, RmsNorm, Rope, Sizes, Synthesise,
};
use kernels::ops::{self, Argmax};
use kernels::series::MMQ_PATCHES;
use kernels::standalone::{Figures, Problem};

/// A kernel's file, and the types behind its pointers.
type Source = (&'static str, &'static [&'static str]);

/// Where each kernel is found.
const SOURCES: [(&str, Source); 18] = [
    ("synthesise_q4k", ("synthesise", &["uint4"])),
    ("embed_q4k", ("embed", &["int", "uint4", "float4"])),
    ("embed_f32", ("embed", &["int", "float4", "float4"])),
    ("rms_norm", ("rms_norm", &["float4", "float4", "float4"])),
    ("matvec_q4k", ("matvec", &["uint32_t", "uint4", "float"])),
    ("matmul_f32", ("matmul_f32", &["float", "float", "float"])),
    ("rope", ("rope", &["float", "float2", "float"])),
    ("attention_hd64", ("attention", QKV)),
    ("attention_hd128", ("attention", QKV)),
    ("attention_hd256", ("attention", QKV)),
    ("attention_decode_hd64", ("attention_decode", QKV)),
    ("attention_decode_hd128", ("attention_decode", QKV)),
    ("attention_decode_hd256", ("attention_decode", QKV)),
    ("swiglu", ("glu", &["float", "float", "float"])),
    ("geglu", ("glu", &["float", "float", "float"])),
    ("add", ("add", &["float", "float", "float"])),
    ("argmax", ("argmax", &["float", "int"])),
    ("quantise_q8", ("quantise", &["float4", "uint32_t"])),
];

const QKV: &[&str] = &["float", "float", "float", "float"];

fn source(kernel: &str) -> Option<Source> {
    let found = SOURCES.iter().find(|(name, _)| *name == kernel);
    found.map(|(_, source)| *source)
}

/// The repository as its first patch makes it.
fn repository() -> Result<tempfile::TempDir> {
    apply(&MMQ_PATCHES[..1])
}

fn run(dir: &Path, problem: &dyn Problem) -> Result<(Figures, bool)> {
    let (file, pointers) = source(problem.kernel()).ok_or("a kernel of these sources")?;
    run_on_host(dir, &format!("{file}.cu"), problem, pointers)
}

fn is_right(dir: &Path, name: &str, problem: &dyn Problem) -> Result {
    let (figures, passed) = run(dir, problem)?;
    println!("{} {name}: {figures}", problem.kernel());
    assert!(passed, "{} {name}: {figures}", problem.kernel());
    Ok(())
}

/// The output of a problem's kernel; in the place of its first input or its own.
fn output(dir: &Path, problem: &dyn Problem, in_place: bool) -> Result<Vec<u8>> {
    let (file, pointers) = source(problem.kernel()).ok_or("a kernel of these sources")?;
    let program = Program {
        file: &format!("{file}.cu"),
        pointers,
        in_place,
    };
    output_of(dir, problem, program)
}

#[test]
fn the_cases_of_the_catalogue_are_right_and_known_to_the_bit() -> Result {
    let dir = repository()?;
    let mut digests = Vec::new();
    for entry in PARITY {
        let problem = entry.problem(SEED);
        if source(problem.kernel()).is_some() {
            let output = output(dir.path(), problem.as_ref(), false)?;
            let (figures, passed) = judge(problem.as_ref(), &output);
            println!("{}: {figures}", entry.name);
            assert!(passed, "{}: {figures}", entry.name);
            digests.push((entry.name, digest(&output)));
        }
    }
    for (name, digest) in &digests {
        println!("    (\"{name}\", 0x{digest:016x}),");
    }
    assert_eq!(digests, BITS);
    Ok(())
}

#[test]
fn small_and_odd_sizes_of_the_matrices_are_right() -> Result {
    let dir = repository()?;
    // One block of one row; rows and depths one over a block's, the activations' tile included.
    for (k, ods) in [(256, 1), (8704, 17), (4096, 16)] {
        let sizes = Sizes { k, ods, tokens: 1 };
        is_right(dir.path(), "of a small size", &ops::matvec(sizes, SEED))?;
    }
    for (k, ods, tokens) in [(4, 1, 1), (68, 65, 64), (16, 64, 65)] {
        let sizes = Sizes { k, ods, tokens };
        is_right(dir.path(), "of a small size", &ops::matmul_f32(sizes, SEED))?;
    }
    for (format, hidden) in [(Format::Q4K, 256), (Format::F32, 4)] {
        let shape = Embed {
            format,
            tokens: 2,
            hidden,
            scale: 1.0,
        };
        is_right(dir.path(), "of a small size", &ops::embed(shape, 3, SEED))?;
    }
    // The d of these super-blocks is subnormal in f16.
    let shape = Synthesise {
        blocks: 1,
        seed: u32::MAX,
        tensor: u32::MAX,
        d: 1e-6,
    };
    is_right(dir.path(), "of a small d", &ops::weights(shape))
}

#[test]
fn small_and_odd_sizes_of_the_vectors_are_right() -> Result {
    let dir = repository()?;
    for (rows, n) in [(1, 4), (2, 64), (3, 3584)] {
        let shape = RmsNorm { rows, n, eps: 1e-5 };
        is_right(dir.path(), "of an odd size", &ops::rms_norm(shape, SEED))?;
    }
    for (head_dim, interleaved) in [(2, false), (256, true)] {
        let shape = Rope {
            tokens: 2,
            heads: 1,
            head_dim,
            first_position: 0,
            interleaved,
        };
        is_right(dir.path(), "of an odd size", &ops::rope(shape, SEED))?;
    }
    for n in [1, 257] {
        for kind in [Pairwise::Add, Pairwise::Swiglu, Pairwise::Geglu] {
            is_right(dir.path(), "of an odd size", &ops::pairwise(kind, n, SEED))?;
        }
    }
    for n in [1, 31, 1025] {
        is_right(
            dir.path(),
            "of an odd size",
            &ops::argmax(Argmax::Ties, n, SEED),
        )?;
    }
    Ok(())
}

/// Heads, and what of the positions a token sees.
fn seeing(head_dim: HeadDim, tokens: usize, first_position: usize, window: usize) -> Attention {
    Attention {
        tokens,
        first_position,
        heads: 4,
        kv_heads: 2,
        head_dim,
        window,
        scale: 0.7,
    }
}

/// Few positions, those around the edges of tiles and batches, and windows that hide whole tiles.
#[test]
fn attention_is_right_at_the_edges() -> Result {
    let dir = repository()?;
    let shapes = [
        seeing(HeadDim::D64, 2, 0, 0),
        seeing(HeadDim::D64, 3, 199, 1),
        seeing(HeadDim::D128, 65, 63, 0),
        seeing(HeadDim::D128, 70, 130, 5),
        seeing(HeadDim::D256, 33, 31, 0),
        seeing(HeadDim::D256, 2, 64, 1000),
        seeing(HeadDim::D64, 1, 127, 0),
        seeing(HeadDim::D64, 1, 300, 129),
        seeing(HeadDim::D128, 1, 64, 0),
        seeing(HeadDim::D128, 1, 63, 1),
        seeing(HeadDim::D256, 1, 0, 0),
        seeing(HeadDim::D256, 1, 7, 8),
    ];
    for shape in shapes {
        let name = format!("{shape:?}");
        is_right(dir.path(), &name, &ops::attention(shape, SEED))?;
    }
    Ok(())
}

const ROPE: Rope = Rope {
    tokens: 3,
    heads: 5,
    head_dim: 64,
    first_position: 7,
    interleaved: false,
};

const NORM: RmsNorm = RmsNorm {
    rows: 2,
    n: 1540,
    eps: 1e-5,
};

#[test]
fn the_output_may_take_the_place_of_the_input() -> Result {
    let dir = repository()?;
    let interleaved = Rope {
        interleaved: true,
        ..ROPE
    };
    let problems = [
        ops::rope(ROPE, SEED),
        ops::rope(interleaved, SEED),
        ops::rms_norm(NORM, SEED),
        ops::pairwise(Pairwise::Add, 300, SEED),
        ops::pairwise(Pairwise::Swiglu, 300, SEED),
        ops::pairwise(Pairwise::Geglu, 300, SEED),
    ];
    for problem in problems {
        let output = output(dir.path(), &problem, true)?;
        let (figures, passed) = judge(&problem, &output);
        assert!(passed, "{}: {figures}", problem.kernel());
    }
    Ok(())
}
