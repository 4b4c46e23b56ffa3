//! The demo's CUDA sources, compiled by g++ and run on the CPU, against the cases' references.
//!
//! This shows that every step of the series computes the right thing where there is no GPU. It
//! says nothing about speed, banks or nvcc; `gpu.rs` is the test on real hardware.

mod common;

use std::path::Path;
use std::process::Command;

use common::{Result, apply, run};
use kernels::standalone::{Case, Figures, Problem, Size, compare};
use tempfile::TempDir;

/// `main` of the program: reads the inputs from files, runs every block, writes the output.
fn main_for(problem: &dyn Problem, pointers: &[&str]) -> String {
    let [grid_x, grid_y, _] = problem.geometry().grid;
    let files = problem.inputs().len();
    let mut arguments: Vec<String> = pointers
        .iter()
        .enumerate()
        .map(|(n, kind)| format!("reinterpret_cast<{kind}*>(memory[{n}])"))
        .collect();
    arguments.extend(problem.scalars().iter().map(i32::to_string));
    format!(
        r#"
#include <cstdio>
#include <cstdlib>
#include <string>
static char* memory[8];
static void block() {{ {kernel}({arguments}); }}
int main() {{
    for (int i = 0; i < {files}; ++i) {{
        FILE* in = std::fopen(("in" + std::to_string(i)).c_str(), "rb");
        std::fseek(in, 0, SEEK_END);
        const size_t size = std::ftell(in);
        std::rewind(in);
        memory[i] = static_cast<char*>(std::aligned_alloc(64, (size + 63) / 64 * 64));
        if (std::fread(memory[i], 1, size, in) != size) return 1;
    }}
    const size_t bytes = {outputs} * 4;
    memory[{files}] = static_cast<char*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
    std::memset(memory[{files}], 0xff, bytes);
    for (blockIdx.y = 0; blockIdx.y < {grid_y}; ++blockIdx.y)
        for (blockIdx.x = 0; blockIdx.x < {grid_x}; ++blockIdx.x) host::run_block(block);
    FILE* out = std::fopen("out", "wb");
    if (std::fwrite(memory[{files}], 1, bytes, out) != bytes) return 1;
    return std::fclose(out);
}}
"#,
        kernel = problem.kernel(),
        arguments = arguments.join(", "),
        outputs = problem.outputs(),
    )
}

/// Puts `by` in place of the inline assembly statement that contains `instruction`.
fn replace_asm(source: &str, instruction: &str, by: &str) -> Result<String> {
    let at = source.find(instruction).ok_or("no such instruction")?;
    let start = source[..at]
        .rfind("asm volatile(")
        .ok_or("no asm before it")?;
    let end = start + source[start..].find(");\n").ok_or("no end of the asm")? + 2;
    Ok(format!("{}{by}{}", &source[..start], &source[end..]))
}

/// The source with what only nvcc understands replaced by the host's version of it.
fn for_host(case: Case, source: &str) -> Result<String> {
    let source = source.replace("#include <cuda_fp16.h>", "");
    match case {
        Case::ScaleRead => Ok(source),
        Case::LdsmCheck => {
            let source = replace_asm(&source, "ldmatrix.sync", "host::ldmatrix_x4(f.r, address);")?;
            replace_asm(&source, "mma.sync", "host::mma_16832(c, a.r, b0, b1);")
        }
    }
}

fn pointers(case: Case) -> &'static [&'static str] {
    match case {
        Case::LdsmCheck => &["int8_t", "int8_t", "int32_t"],
        Case::ScaleRead => &["uint32_t", "uint32_t", "uint32_t", "uint4", "float"],
    }
}

fn run_on_host(repository: &Path, case: Case) -> Result<(Figures, bool)> {
    let problem = case.problem(Size::Parity, 11);
    let dir = TempDir::new()?;
    let source = repository.join(format!("kernels/{}.cu", case.name()));
    let source = for_host(case, &std::fs::read_to_string(source)?)?;
    let program = format!(
        "#include \"cuda_host.h\"\n{source}\n{}",
        main_for(problem.as_ref(), pointers(case))
    );
    std::fs::write(
        dir.path().join("cuda_host.h"),
        include_str!("host/cuda_host.h"),
    )?;
    std::fs::write(dir.path().join("kernel.cpp"), program)?;
    for (n, input) in problem.inputs().iter().enumerate() {
        std::fs::write(dir.path().join(format!("in{n}")), input)?;
    }
    run(Command::new("g++").current_dir(dir.path()).args([
        "-std=c++17",
        "-O1",
        "-Wno-unknown-pragmas",
        "-o",
        "kernel",
        "kernel.cpp",
    ]))?;
    run(Command::new("./kernel").current_dir(dir.path()))?;
    let output = std::fs::read(dir.path().join("out"))?;
    let figures = compare(problem.as_ref(), &output, 0..problem.outputs());
    Ok((figures, figures.passed(problem.tolerance())))
}

#[test]
fn ldsm_check_is_exact_before_and_after_the_swizzle() -> Result {
    for step in [1, 2] {
        let (figures, passed) = run_on_host(apply(step)?.path(), Case::LdsmCheck)?;
        assert!(passed, "step {step}: {figures}");
        assert_eq!(figures.mismatches, 0);
    }
    Ok(())
}

#[test]
fn scale_read_is_right_in_all_three_layouts() -> Result {
    for step in [1, 3, 5] {
        let (figures, passed) = run_on_host(apply(step)?.path(), Case::ScaleRead)?;
        assert!(passed, "step {step}: {figures}");
        println!("step {step}: {figures}");
    }
    Ok(())
}

/// The tests above can fail: a swizzle that only the store knows of, and a word that is unpacked
/// into the wrong half, both show.
#[test]
fn a_layout_that_the_two_ends_do_not_share_is_found() -> Result {
    let dir = apply(5)?;
    for (case, right, wrong) in [
        (
            Case::LdsmCheck,
            "granule_offset(16 + (lane & 15), lane >> 4)",
            "granule_offset(lane & 15, lane >> 4)",
        ),
        (
            Case::ScaleRead,
            "unpack(s, pair + 1, 0, w.z)",
            "unpack(s, pair + 1, 0, w.w)",
        ),
    ] {
        let path = dir.path().join(format!("kernels/{}.cu", case.name()));
        let source = std::fs::read_to_string(&path)?;
        assert!(source.contains(right), "{right}");
        std::fs::write(&path, source.replace(right, wrong))?;
        let (figures, passed) = run_on_host(dir.path(), case)?;
        assert!(!passed, "{}: {figures}", case.name());
    }
    Ok(())
}
