//! The kernels around the matrix products, on real g++ and real nvcc: what each computes on a CPU
//! against its reference, and what nvcc makes of it for every architecture.
//!
//! The kernels run on the CPU here; `gpu.rs` is the test on real hardware.

#[path = "common/bits.rs"]
mod bits;
mod common;
#[path = "common/compiled.rs"]
mod compiled;
#[path = "common/cuda.rs"]
mod cuda;
#[path = "common/emulate.rs"]
mod emulate;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use bits::{BITS, SEED, digest};
use common::{Result, apply};
use compiled::compile;
use emulate::{Program, judge, output_of, run_on_host};
use kernels::catalogue::PARITY;
use kernels::ops::call::{
    Attention, Embed, Format, HeadDim, Pairwise, RmsNorm, Rope, Sizes, Synthesise,
};
use kernels::ops::{self, Argmax, Op};
use kernels::series::MMQ_PATCHES;
use kernels::standalone::{Figures, Problem};
use sass::bank::{Access, wavefronts};

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

/// A fault that could be made in a kernel: in which file, where, and what is written instead.
type Slip = (&'static str, &'static str, &'static str);

/// Makes the slip in the sources, and expects the problem to show it.
fn is_found(slip: Slip, problem: &Op) -> Result {
    let (file, right, wrong) = slip;
    let dir = repository()?;
    let path = dir.path().join("kernels").join(file);
    let text = std::fs::read_to_string(&path)?;
    assert_eq!(text.matches(right).count(), 1, "{right}");
    std::fs::write(&path, text.replace(right, wrong))?;
    let (figures, passed) = run(dir.path(), problem)?;
    assert!(!passed, "{wrong}: {figures}");
    Ok(())
}

fn are_found(slips: &[Slip], problem: &Op) -> Result {
    slips.iter().try_for_each(|slip| is_found(*slip, problem))
}

#[test]
fn slips_in_the_matrices_are_found() -> Result {
    let weights = Synthesise {
        blocks: 40,
        seed: 3,
        tensor: 4,
        d: 2e-4,
    };
    let synthesise = [
        (
            "synthesise.cu",
            "mins[0] | (mins[1] >> 4",
            "mins[0] | (mins[1] >> 5",
        ),
        ("synthesise.cu", "above % 3", "above % 2"),
    ];
    are_found(&synthesise, &ops::weights(weights))?;
    let table = Embed {
        format: Format::Q4K,
        tokens: 2,
        hidden: 512,
        scale: 1.5,
    };
    let embed = [
        ("embed.cu", "nibbles >> 4", "nibbles"),
        ("embed.cu", "__ldg(block), pair * 2", "__ldg(row), pair * 2"),
    ];
    are_found(&embed, &ops::embed(table, 3, SEED))?;
    let deep = Sizes {
        k: 8704,
        ods: 3,
        tokens: 1,
    };
    let matvec = [
        ("matvec.cu", "rows.row(row)", "rows.row(0)"),
        ("matvec.cu", "super % kTileSupers", "super % kBatchSupers"),
        (
            "matvec.cu",
            "fmaf(act.w, terms[1].y, sum)",
            "fmaf(act.y, terms[1].y, sum)",
        ),
    ];
    are_found(&matvec, &ops::matvec(deep, SEED))?;
    let sizes = Sizes {
        k: 36,
        ods: 70,
        tokens: 3,
    };
    let matmul = [
        (
            "matmul_f32.cu",
            "w_slice.load(k0 + kDepth, k)",
            "w_slice.load(k0, k)",
        ),
        ("matmul_f32.cu", "inside && at < k / 4", "inside"),
    ];
    are_found(&matmul, &ops::matmul_f32(sizes, SEED))
}

#[test]
fn slips_in_the_vectors_are_found() -> Result {
    let norm = [
        ("rms_norm.cu", "__fadd_rn(mean, eps)", "mean"),
        (
            "transformer.cuh",
            "sum_of_lanes<kWarps>",
            "sum_of_lanes<kWarps / 2>",
        ),
    ];
    let tiny = RmsNorm { eps: 0.5, ..NORM };
    are_found(&norm, &ops::rms_norm(tiny, SEED))?;
    let rope = [
        ("rope.cu", "-__fmul_rn(b", "__fmul_rn(b"),
        (
            "rope.cu",
            "(size_t(first_position) + blockIdx.x)",
            "size_t(first_position)",
        ),
    ];
    are_found(&rope, &ops::rope(ROPE, SEED))?;
    let glu = [
        ("transformer.cuh", "0x1.555492p-3f", "0x1.555492p-2f"),
        ("glu.cu", "0.044715f", "0.44715f"),
    ];
    are_found(&glu, &ops::pairwise(Pairwise::Geglu, 3000, SEED))?;
    let ties = ("argmax.cu", "b.index < a.index", "b.index > a.index");
    is_found(ties, &ops::argmax(Argmax::Ties, 3000, SEED))?;
    let nan = ("argmax.cu", "value == value ?", "true ?");
    is_found(nan, &ops::argmax(Argmax::Nan, 3000, SEED))
}

#[test]
fn slips_in_attention_are_found() -> Result {
    let many = [
        (
            "attention.cu",
            "key + 16 * j <= last",
            "key + 16 * j < last",
        ),
        (
            "attention.cu",
            "key + 16 * j > before",
            "key + 16 * j >= before",
        ),
        (
            "attention.cu",
            "times(state.out[i][part], shrink)",
            "state.out[i][part]",
        ),
        (
            "attention.cu",
            "head / (a.heads / a.kv_heads)",
            "head % a.kv_heads",
        ),
        ("attention.cu", "key_place(place.column, vector)", "vector"),
    ];
    let shape = seeing(HeadDim::D64, 70, 70, 9);
    are_found(&many, &ops::attention(shape, SEED))?;
    let one = [
        (
            "attention_decode.cu",
            "first + i <= last",
            "first + i < last",
        ),
        (
            "attention_decode.cu",
            "__fsub_rn(found.most[g], most)",
            "__fsub_rn(most, most)",
        ),
        (
            "attention_decode.cu",
            "max(position - window + 1, 0)",
            "max(position - window, 0)",
        ),
    ];
    let shape = seeing(HeadDim::D128, 1, 90, 77);
    are_found(&one, &ops::attention(shape, SEED))
}

/// What a program of `tests/host` prints that includes the kernels' sources.
fn printed(program: &str) -> Result<String> {
    let dir = emulate::sources_for_host(repository()?.path())?;
    emulate::run_text(dir.path(), program)
}

#[test]
fn the_exponential_is_as_exact_as_it_says() -> Result {
    let printed = printed(include_str!("host/exponential.cpp"))?;
    let numbers: Vec<i32> = printed
        .split_whitespace()
        .map(str::parse)
        .collect::<std::result::Result<_, _>>()?;
    let (worst, special) = numbers.split_first().ok_or("nothing printed")?;
    assert!((1..200).contains(worst), "{worst}e-9");
    assert_eq!(special, [1; 6]);
    Ok(())
}

/// A token that argmax gives for NaN, and values of which none is finite.
#[test]
fn special_values_give_what_the_kernels_say() -> Result {
    let printed = printed(&format!(
        "#define HOST_THREADS 1024\n{}",
        include_str!("host/special.cpp")
    ))?;
    assert_eq!(printed, "1\n1\n1\n");
    Ok(())
}

/// By the addresses that the sources compute, for the loads and stores of attention's inner loops
/// and for the staging of its tiles.
#[test]
fn attention_has_no_bank_conflicts() -> Result {
    let printed = printed(include_str!("host/attention_banks.cpp"))?;
    let mut wavefronts_of = BTreeMap::new();
    for line in printed.lines() {
        let mut words = line.split_whitespace();
        let what = words.next().ok_or("an empty line")?;
        let addresses: Vec<u32> = words
            .map(str::parse)
            .collect::<std::result::Result<_, _>>()?;
        let addresses: [u32; 32] = addresses.try_into().map_err(|_| "32 lanes")?;
        let access = match what {
            "load" => Access::Load128,
            "store" => Access::Store128,
            "scatter" => Access::Store32,
            _ => return Err(line.into()),
        };
        let cost = wavefronts(access, &addresses.map(Some));
        assert_eq!(cost.conflicts, 0, "{line}");
        wavefronts_of.insert(what.to_owned(), cost.wavefronts);
    }
    // Lanes that share an address, side by side, halve the four wavefronts of a 16-byte load.
    let expected = [("load", 2), ("scatter", 1), ("store", 4)];
    let expected = expected.map(|(what, n)| (what.to_owned(), n));
    assert_eq!(wavefronts_of, BTreeMap::from(expected));
    Ok(())
}

/// Kernels that divide: the special function units give them the first guess.
const DIVIDING: [&str; 11] = [
    "rms_norm",
    "rope",
    "swiglu",
    "geglu",
    "attention_hd64",
    "attention_hd128",
    "attention_hd256",
    "attention_decode_hd64",
    "attention_decode_hd128",
    "attention_decode_hd256",
    "quantise_q8",
];

/// No results from the special function units, no spills, and registers for two blocks an SM.
fn are_as_meant(archs: &[&str]) -> Result {
    let dir = repository()?;
    let files: BTreeSet<&str> = SOURCES.iter().map(|(_, (file, _))| *file).collect();
    for arch in archs {
        for file in &files {
            for (name, kernel) in compile(dir.path(), file, arch)? {
                let at = format!("{name} for {arch}");
                assert!(source(&name).is_some(), "{at}");
                assert_eq!(kernel.stack, 0, "{at}");
                assert_eq!(kernel.count("STL") + kernel.count("LDL"), 0, "{at}");
                assert!(kernel.registers <= 128, "{at}: {}", kernel.registers);
                let guesses = kernel.count("MUFU.RCP") + kernel.count("MUFU.RSQ");
                assert_eq!(kernel.count("MUFU"), guesses, "{at}");
                assert!(guesses == 0 || DIVIDING.contains(&name.as_str()), "{at}");
                println!(
                    "{at}: {} registers, {} bytes",
                    kernel.registers, kernel.smem
                );
            }
        }
    }
    Ok(())
}

#[test]
fn nvcc_makes_the_kernels_as_they_are_meant_for_8_x() -> Result {
    are_as_meant(&["sm_80", "sm_86", "sm_89"])
}

#[test]
fn nvcc_makes_the_kernels_as_they_are_meant_for_9_0_and_12_x() -> Result {
    are_as_meant(&["sm_90", "sm_120", "sm_121"])
}
