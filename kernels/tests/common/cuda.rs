//! nvcc, for the tests that need it.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{Result, run};

/// The folder with nvcc and nvdisasm.
pub fn cuda_bin() -> PathBuf {
    runner::testing::cuda_bin()
}

/// Makes a target of the demo's Makefile.
pub fn make(dir: &Path, arch: &str, target: &str) -> Result {
    let others = std::env::var_os("PATH").unwrap_or_default();
    let path = std::iter::once(cuda_bin()).chain(std::env::split_paths(&others));
    run(Command::new("make")
        .current_dir(dir)
        .env("PATH", std::env::join_paths(path)?)
        .env("CUDA_ARCH", arch)
        .arg(target))?;
    Ok(())
}
