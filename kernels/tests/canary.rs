//! The canary's PTX is what nvcc makes of its source, and it is good for every architecture.

use std::path::Path;
use std::process::Command;

use runner::testing::cuda_bin;

/// Without comments, and with the version that every driver for sm_80 takes.
fn essence(ptx: &str) -> Vec<String> {
    let kept = ptx
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    kept.map(|line| match line.starts_with(".version ") {
        true => ".version 7.0".to_owned(),
        false => line.to_owned(),
    })
    .collect()
}

fn run(command: &mut Command) {
    let output = command.output().expect("the toolchain");
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn the_canary_is_made_from_its_source_and_assembles_everywhere() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/canary");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let made = folder.path().join("canary.ptx");
    run(Command::new(cuda_bin().join("nvcc"))
        .args(["-ptx", "-arch=compute_80", "-o"])
        .args([&made, &source.join("canary.cu")]));
    let read = |path: &Path| std::fs::read_to_string(path).expect("PTX");
    let kept = source.join("canary.ptx");
    assert_eq!(essence(&read(&kept)), essence(&read(&made)));
    for arch in ["sm_80", "sm_90", "sm_120", "sm_121"] {
        run(Command::new(cuda_bin().join("ptxas"))
            .arg(format!("-arch={arch}"))
            .arg("-o")
            .args([&folder.path().join("canary.cubin"), &kept]));
    }
}
