//! The pinned toolchain, really installed and really used.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use runner::config::{CommandLine, Cuda};
use runner::process::{self, Spec};
use runner::progress::{Event, Progress};
use runner::toolchain::{Toolchain, ToolchainError, installed, prepare};

async fn pinned(cache: &Path, progress: &Progress) -> Result<Toolchain, ToolchainError> {
    prepare(&Cuda::Pinned("13.0".to_owned()), cache, progress).await
}

/// One test, so that the packages are fetched once.
#[tokio::test(flavor = "multi_thread")]
async fn the_pinned_toolchain_is_installed_once_and_compiles_and_links() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let cache = folder.path().join("cache");
    // What a killed installation leaves behind.
    let leftover = cache.join("toolchains/.installing-old/root/nvidia");
    std::fs::create_dir_all(&leftover).expect("a folder");
    assert_eq!(installed("13.0", &cache), None);

    let largest = Arc::new(Mutex::new(0_u64));
    let seen = Arc::clone(&largest);
    let progress = Progress::new(move |event| {
        if let Event::Transfer {
            done,
            total: Some(total),
            ..
        } = event
        {
            assert!(done <= total);
            let mut largest = seen.lock().expect("no test panicked");
            *largest = done.max(*largest);
        }
    });
    let (one, two) = tokio::join!(pinned(&cache, &progress), pinned(&cache, &progress));
    let toolchain = one.expect("installed");
    assert_eq!(toolchain, two.expect("found"));
    assert!(*largest.lock().expect("no test panicked") > 90_000_000);
    let entries: Vec<_> = std::fs::read_dir(cache.join("toolchains"))
        .expect("it is there")
        .map(|entry| {
            entry
                .expect("readable")
                .file_name()
                .into_string()
                .expect("UTF-8")
        })
        .filter(|name| name != ".lock")
        .collect();
    assert_eq!(entries.len(), 1, "{entries:?}");
    assert_eq!(toolchain.fingerprint.packages.len(), 7);
    let nvcc = &toolchain.fingerprint.tools[0];
    assert!(nvcc.version.contains("release 13.0"), "{nvcc:?}");

    compile_and_run(&toolchain, folder.path()).await;

    let clock = Instant::now();
    let again = pinned(&cache, &Progress::silent()).await.expect("found");
    let wall = clock.elapsed();
    assert_eq!(again, toolchain);
    assert!(
        wall < Duration::from_millis(500),
        "the second time took {wall:?}"
    );

    // A damaged installation is noticed and replaced.
    let root = installed("13.0", &cache).expect("installed");
    std::fs::write(root.join("bin/ptxas"), "#!/bin/sh\nexit 0\n").expect("written");
    let healed = pinned(&cache, &Progress::silent())
        .await
        .expect("installed again");
    assert_eq!(healed, toolchain);
    assert!(
        std::fs::metadata(root.join("bin/ptxas"))
            .expect("there")
            .len()
            > 1_000_000
    );
}

async fn compile_and_run(toolchain: &Toolchain, folder: &Path) {
    let source = "#include <cuda_fp16.h>\n#include <cstdio>\n\
                  __global__ void k(__half* x) { x[threadIdx.x] = __float2half(1.0f); }\n\
                  int main() { int n = -1; cudaGetDeviceCount(&n); std::puts(\"linked\"); }\n";
    std::fs::write(folder.join("k.cu"), source).expect("written");
    let mut env: BTreeMap<String, String> = toolchain.env.clone();
    let bin = toolchain.bin.as_ref().expect("a folder").display();
    let path = std::env::var("PATH").expect("a PATH");
    env.insert("PATH".into(), format!("{bin}:{path}"));
    let script = "nvcc -arch=sm_121 -o static k.cu && ./static && \
                  nvcc -arch=sm_121 -cudart shared -o shared k.cu && ./shared && \
                  nvcc -arch=sm_121 -cubin -o k.cubin k.cu && nvdisasm -json k.cubin | head -c 300";
    let done = process::run(&Spec {
        command: CommandLine::Shell(script.to_owned()),
        cwd: folder.to_owned(),
        env,
        timeout: Duration::from_secs(300),
        output_limit: 1 << 20,
    })
    .await;
    let said = String::from_utf8_lossy(&done.stdout);
    assert_eq!(
        done.failure,
        None,
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    assert!(said.starts_with("linked\nlinked\n["), "{said}");
}
