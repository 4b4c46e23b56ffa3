//! Real tools for the tests: nvcc and its companions, g++, ar.

#![expect(dead_code, reason = "each test target uses some of it")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder with nvcc, cuobjdump and nvdisasm.
pub fn cuda_bin() -> PathBuf {
    runner::testing::cuda_bin()
}

/// The toolchain's headers.
pub fn cuda_include() -> PathBuf {
    cuda_bin().join("../include")
}

/// A tool of the toolchain.
pub fn tool(name: &str) -> PathBuf {
    cuda_bin().join(name)
}

/// A source file of the tests.
pub fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/cuda")
        .join(name)
}

/// A temporary folder.
pub fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// Runs a program in a folder and gives its standard output.
pub fn run(program: impl AsRef<std::ffi::OsStr>, folder: &Path, args: &[&str]) -> String {
    let program = program.as_ref();
    let out = Command::new(program)
        .args(args)
        .current_dir(folder)
        .output()
        .unwrap_or_else(|e| panic!("{} could not be started: {e}", program.display()));
    assert!(
        out.status.success(),
        "{} {args:?} failed: {}{}",
        program.display(),
        String::from_utf8_lossy(&out.stdout),
        String::from_utf8_lossy(&out.stderr)
    );
    String::from_utf8_lossy(&out.stdout).into_owned()
}

/// Runs nvcc in a folder.
pub fn nvcc(folder: &Path, args: &[&str]) {
    let library = format!("-L{}", cuda_bin().join("../lib").display());
    let mut all = vec![library.as_str()];
    all.extend(args);
    run(tool("nvcc"), folder, &all);
}

/// Puts a source file of the tests into a folder and compiles it there.
pub fn compile(folder: &Path, name: &str, args: &[&str]) {
    std::fs::copy(source(name), folder.join(name)).expect("the source is copied");
    let mut all = vec![name];
    all.extend(args);
    nvcc(folder, &all);
}

/// Inspects files of a folder, with nvdisasm.
pub fn inspect(folder: &Path, names: &[&str]) -> sass::Report {
    inspect_masked(folder, names, sass::HostMask::default(), true)
}

/// Inspects files of a folder.
pub fn inspect_masked(
    folder: &Path,
    names: &[&str],
    mask: sass::HostMask,
    census: bool,
) -> sass::Report {
    let inputs: Vec<sass::InspectInput> = names
        .iter()
        .map(|name| sass::InspectInput {
            path: folder.join(name),
            name: (*name).to_owned(),
        })
        .collect();
    let options = sass::Options {
        nvdisasm: census.then(|| tool("nvdisasm")),
        mask,
        listings: None,
    };
    sass::inspect_files(&inputs, &options).expect("the files can be inspected")
}
