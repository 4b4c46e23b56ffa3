//! nvcc, for the tests that need it.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{Result, run};

/// The folder with nvcc and nvdisasm.
pub fn cuda_bin() -> Result<PathBuf> {
    let folder = std::env::var_os("ROUNDHOUSE_TEST_CUDA").ok_or(
        "this test needs nvcc 13.0 and nvdisasm: set ROUNDHOUSE_TEST_CUDA to the folder that \
         holds them (`runner check` installs the pinned toolchain and prints where)",
    )?;
    Ok(PathBuf::from(folder))
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
