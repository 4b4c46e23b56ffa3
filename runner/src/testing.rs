//! Set-up for the workspace's own tests and benches; no part of the program.

use std::path::PathBuf;
use std::sync::OnceLock;

use crate::config::Cuda;
use crate::progress::Progress;

/// The folder with the pinned nvcc, nvdisasm and cuobjdump: `ROUNDHOUSE_TEST_CUDA` where that is
/// set, else the toolchain in the user's cache folder, installed there if it is missing.
///
/// # Panics
/// Where the toolchain cannot be had: a test that needs it fails, and is not skipped.
pub fn cuda_bin() -> PathBuf {
    static BIN: OnceLock<PathBuf> = OnceLock::new();
    BIN.get_or_init(|| match std::env::var_os("ROUNDHOUSE_TEST_CUDA") {
        Some(folder) => PathBuf::from(folder),
        None => installed(),
    })
    .clone()
}

/// On a thread of its own, so that it can be called from asynchronous tests, too.
fn installed() -> PathBuf {
    let install = || {
        let dirs = crate::cli::Dirs::from_environment().ok_or("HOME is not set")?;
        let runtime = tokio::runtime::Runtime::new().map_err(|error| error.to_string())?;
        let version = Cuda::Pinned("13.0".to_owned());
        let silent = Progress::silent();
        let prepared = crate::toolchain::prepare(&version, &dirs.cache, &silent);
        let toolchain = runtime
            .block_on(prepared)
            .map_err(|error| error.to_string())?;
        toolchain
            .bin
            .ok_or("the toolchain has no programs".to_owned())
    };
    let result: Result<PathBuf, String> = match std::thread::spawn(install).join() {
        Ok(result) => result,
        Err(_) => Err("the installer panicked".to_owned()),
    };
    match result {
        Ok(bin) => bin,
        Err(error) => panic!(
            "this test needs the pinned CUDA 13.0 toolchain: {error}; or set ROUNDHOUSE_TEST_CUDA \
             to a folder that holds nvcc, nvdisasm and cuobjdump"
        ),
    }
}
