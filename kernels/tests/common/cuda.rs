//! nvcc, for the tests that need it.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{Result, run};

/// The folder with nvcc and nvdisasm: ROUNDHOUSE_TEST_CUDA, else the toolchain that the runner
/// has installed into its cache.
pub fn cuda_bin() -> Result<PathBuf> {
    if let Some(folder) = std::env::var_os("ROUNDHOUSE_TEST_CUDA") {
        return Ok(PathBuf::from(folder));
    }
    let toolchains = cache().map(|cache| cache.join("toolchains"));
    let installed = toolchains.into_iter().flat_map(std::fs::read_dir).flatten();
    let bins = installed
        .flatten()
        .filter(|entry| {
            entry
                .file_name()
                .to_string_lossy()
                .starts_with("cuda-13.0-")
        })
        .map(|entry| entry.path().join("nvidia/cu13/bin"));
    let found = bins.into_iter().find(|bin| bin.join("nvcc").is_file());
    Ok(found.ok_or(
        "this test needs nvcc 13.0 and nvdisasm: run `runner demo` once, \
         which installs them into the runner's cache, or set ROUNDHOUSE_TEST_CUDA to the \
         folder that holds them",
    )?)
}

/// The runner's cache.
fn cache() -> Option<PathBuf> {
    let var = |name| std::env::var_os(name).map(PathBuf::from);
    var("ROUNDHOUSE_CACHE")
        .or_else(|| Some(var("XDG_CACHE_HOME")?.join("roundhouse")))
        .or_else(|| Some(var("HOME")?.join(".cache/roundhouse")))
}

/// Makes a target of the demo's Makefile.
pub fn make(dir: &Path, arch: &str, target: &str) -> Result {
    let others = std::env::var_os("PATH").unwrap_or_default();
    let path = std::iter::once(cuda_bin()?).chain(std::env::split_paths(&others));
    run(Command::new("make")
        .current_dir(dir)
        .env("PATH", std::env::join_paths(path)?)
        .env("CUDA_ARCH", arch)
        .arg(target))?;
    Ok(())
}
