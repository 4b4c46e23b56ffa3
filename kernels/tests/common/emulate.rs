//! CUDA sources compiled by g++ and run on the CPU, one block at a time (`host/cuda_host.h`).

use std::path::Path;
use std::process::Command;

use kernels::device::{Geometry, Scalar};
use kernels::standalone::{Figures, Problem, compare};
use tempfile::TempDir;

use crate::common::{Result, run};

/// What of a repository is run, and how.
#[derive(Debug, Clone, Copy)]
pub struct Program<'a> {
    /// The kernel's file.
    pub file: &'a str,
    /// The types behind the kernel's pointers.
    pub pointers: &'a [&'a str],
    /// The output takes the place of the first input, which is as large.
    pub in_place: bool,
}

/// `main` of the program: reads the inputs from files, runs every block, writes the output.
fn main_for(problem: &dyn Problem, program: Program<'_>) -> String {
    let Geometry {
        grid: [grid_x, grid_y, _],
        dynamic_smem,
        ..
    } = problem.geometry();
    let Program {
        pointers, in_place, ..
    } = program;
    let files = problem.inputs().len();
    let mut arguments: Vec<String> = pointers
        .iter()
        .enumerate()
        .map(|(n, kind)| format!("reinterpret_cast<{kind}*>(memory[{n}])"))
        .collect();
    arguments.extend(problem.scalars().into_iter().map(literal));
    format!(
        r#"
static char* memory[8];
static void block() {{ {kernel}({arguments}); }}
int main() {{
    for (int i = 0; i < {files}; ++i) {{
        const char name[] = {{'i', 'n', static_cast<char>('0' + i), 0}};
        FILE* in = std::fopen(name, "rb");
        std::fseek(in, 0, SEEK_END);
        const size_t size = std::ftell(in);
        std::rewind(in);
        memory[i] = static_cast<char*>(std::aligned_alloc(64, (size + 63) / 64 * 64));
        if (std::fread(memory[i], 1, size, in) != size) return 1;
    }}
    const size_t bytes = {outputs} * 4;
    if ({in_place}) {{
        memory[{files}] = memory[0];
    }} else {{
        memory[{files}] = static_cast<char*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
        std::memset(memory[{files}], 0xff, bytes);
    }}
    host::dynamic_bytes = {dynamic_smem};
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

/// A number as it stands in C++; floats to the bit.
fn literal(scalar: Scalar) -> String {
    match scalar {
        Scalar::I32(number) => number.to_string(),
        Scalar::F32(number) => format!("__uint_as_float({}u)", number.to_bits()),
    }
}

/// Puts `by` in place of the inline assembly statement that contains `instruction`, if there is one.
fn replace_asm(source: &str, instruction: &str, by: &str) -> Result<String> {
    let Some(at) = source.find(instruction) else {
        return Ok(source.to_owned());
    };
    let start = source[..at].rfind("asm").ok_or("no asm before it")?;
    let end = start + source[start..].find(");\n").ok_or("no end of the asm")? + 2;
    Ok(format!("{}{by}{}", &source[..start], &source[end..]))
}

/// A source with what only nvcc understands replaced by the host's version of it.
fn for_host(source: &str) -> Result<String> {
    let source = source.replace(
        "extern __shared__ __align__(128) uint8_t smem[];",
        "uint8_t* const smem = host::dynamic_smem;",
    );
    let source = replace_asm(&source, "ldmatrix.sync", "host::ldmatrix_x4(f.r, address);")?;
    let source = replace_asm(&source, r#""" : "+r"(number)"#, "")?;
    // The operands are named alike in all sources; some add to `c`, some begin at zero.
    let function = if source.contains(r#""+r"(c[0])"#) {
        "mma_16832"
    } else {
        "mma_16832_of_zero"
    };
    let b = if source.contains(".s32.s8.u8.s32") {
        "uint8_t"
    } else {
        "int8_t"
    };
    let multiply = format!("host::{function}<{b}>(c, a.r, b0, b1);");
    replace_asm(&source, "mma.sync", &multiply)
}

/// A folder with the sources of a repository as g++ can compile them.
pub fn sources_for_host(repository: &Path) -> Result<TempDir> {
    let dir = TempDir::new()?;
    for entry in std::fs::read_dir(repository.join("kernels"))? {
        let path = entry?.path();
        let name = path.file_name().ok_or("a file has a name")?;
        let text = for_host(&std::fs::read_to_string(&path)?)?;
        std::fs::write(dir.path().join(name), text)?;
    }
    let host = include_bytes!("../host/cuda_host.h");
    std::fs::write(dir.path().join("cuda_host.h"), host)?;
    std::fs::write(dir.path().join("cuda_fp16.h"), b"")?;
    Ok(dir)
}

/// Compiles a program that includes such sources, runs it and gives what it prints.
pub fn run_text(dir: &Path, text: &str) -> Result<String> {
    std::fs::write(dir.join("program.cpp"), text)?;
    run(Command::new("g++").current_dir(dir).args([
        "-std=c++17",
        "-O1",
        "-ffp-contract=off",
        "-I.",
        "-Wno-unknown-pragmas",
        "-o",
        "program",
        "program.cpp",
    ]))?;
    run(Command::new("./program").current_dir(dir))
}

/// Compiles the sources of a repository, runs the problem's kernel on the CPU and gives its output.
pub fn output_of(
    repository: &Path,
    problem: &dyn Problem,
    program: Program<'_>,
) -> Result<Vec<u8>> {
    let dir = sources_for_host(repository)?;
    for (n, input) in problem.inputs().iter().enumerate() {
        std::fs::write(dir.path().join(format!("in{n}")), input)?;
    }
    let text = format!(
        "#define HOST_THREADS {}\n#include \"cuda_host.h\"\n#include \"{}\"\n{}",
        problem.geometry().block[0],
        program.file,
        main_for(problem, program)
    );
    run_text(dir.path(), &text)?;
    Ok(std::fs::read(dir.path().join("out"))?)
}

/// Compares all of an output with the problem's reference.
pub fn judge(problem: &dyn Problem, output: &[u8]) -> (Figures, bool) {
    let figures = compare(problem, output, 0..problem.outputs());
    (figures, figures.passed(problem.tolerance()))
}

/// Runs the kernel with an output of its own and judges it. `source` is the kernel's file;
/// `pointers` are the types behind its pointers.
pub fn run_on_host(
    repository: &Path,
    source: &str,
    problem: &dyn Problem,
    pointers: &[&str],
) -> Result<(Figures, bool)> {
    let program = Program {
        file: source,
        pointers,
        in_place: false,
    };
    let output = output_of(repository, problem, program)?;
    Ok(judge(problem, &output))
}
