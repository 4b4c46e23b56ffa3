//! The kernels around the matrix products, on real g++ and real nvcc: what each computes on a CPU
//! against its reference, and what nvcc makes of it for every architecture.
//!
//! The kernels run on the CPU here; `gpu.rs` is the test on real hardware.

mod common;
#[path = "common/compiled.rs"]
mod compiled;
#[path = "common/cuda.rs"]
mod cuda;
#[path = "common/emulate.rs"]
mod emulate;

use std::collections::BTreeSet;
use std::path::Path;

use common::{Result, apply};
use compiled::compile;
use emulate::{Program, run_on_host, run_program};
use kernels::catalogue::PARITY;
use kernels::ops::call::{
    Attention, Embed, Format, HeadDim, Pairwise, RmsNorm, Rope, Sizes, Synthesise,
};
use kernels::ops::{self, Argmax, Op};
use kernels::series::MMQ_PATCHES;
use kernels::standalone::{Figures, Problem};

const SEED: u64 = 11;

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

#[test]
fn the_cases_of_the_catalogue_are_right() -> Result {
    let dir = repository()?;
    for entry in PARITY {
        let problem = entry.problem(SEED);
        if source(problem.kernel()).is_some() {
            is_right(dir.path(), entry.name, problem.as_ref())?;
        }
    }
    Ok(())
}
