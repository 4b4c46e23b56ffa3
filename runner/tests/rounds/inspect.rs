//! `runner inspect` on every kind of file that nvcc makes, and on files that it does not.

use std::path::{Path, PathBuf};
use std::process::Command;

use runner::testing::cuda_bin;
use serde_json::Value;

use crate::scenario::{Outcome, Scenario};

const KERNELS: &str = r#"
template <int N> __global__ void scale(float *x) { x[threadIdx.x] *= N; }
template __global__ void scale<2>(float *);
template __global__ void scale<3>(float *);
__global__ void __launch_bounds__(256) add(const float *a, float *b) {
    b[threadIdx.x] += a[threadIdx.x];
}
int main() { return 0; }
"#;

const ARCHS: [&str; 2] = ["sm_90", "sm_121"];

struct Built {
    scenario: Scenario,
}

impl Built {
    fn new() -> Built {
        let scenario = Scenario::empty();
        scenario.write("k.cu", KERNELS);
        scenario.write("host.c", "int main(void) { return 0; }\n");
        Built { scenario }
    }

    fn folder(&self) -> PathBuf {
        self.scenario.repo()
    }

    fn make(&self, program: &Path, args: &[&str]) {
        let bin = cuda_bin();
        let library = bin.parent().expect("a folder above bin").join("lib");
        let made = Command::new(program)
            .args(args)
            .current_dir(self.folder())
            .env("LIBRARY_PATH", library)
            .output()
            .expect("the program starts");
        let said = String::from_utf8_lossy(&made.stderr).into_owned();
        assert!(made.status.success(), "{program:?} {args:?}: {said}");
    }

    /// nvcc for all of [`ARCHS`].
    fn nvcc(&self, args: &[&str]) {
        let targets = ARCHS.map(|arch| {
            let number = arch.trim_start_matches("sm_");
            format!("-gencode=arch=compute_{number},code={arch}")
        });
        let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
        self.make(&cuda_bin().join("nvcc"), &[&targets, args].concat());
    }

    fn inspect(&self, args: &[&str]) -> Outcome {
        let nvdisasm = cuda_bin().join("nvdisasm");
        let nvdisasm = nvdisasm.to_str().expect("UTF-8");
        let given = ["inspect", "--nvdisasm", nvdisasm];
        self.scenario.runner(&[&given, args].concat())
    }

    fn json(&self, args: &[&str]) -> Value {
        let outcome = self.inspect(&[args, &["--json"]].concat()).expect_code(0);
        serde_json::from_str(&outcome.stdout).expect("one JSON document")
    }
}

/// Names with architectures, sorted.
fn kernels(document: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let kernels = document["report"]["kernels"].as_array().expect("kernels");
    kernels
        .iter()
        .map(|kernel| (text(&kernel["name"]), text(&kernel["arch"])))
        .collect()
}

#[test]
fn every_container_shows_the_same_kernels() {
    let built = Built::new();
    built.nvcc(&["-fatbin", "-o", "k.fatbin", "k.cu"]);
    built.nvcc(&["-c", "-Xcompiler", "-fPIC", "-o", "k.o", "k.cu"]);
    built.nvcc(&["-o", "k", "k.o"]);
    built.nvcc(&["-shared", "-o", "libk.so", "k.o"]);
    built.make(Path::new("ar"), &["rcs", "libk.a", "k.o"]);
    let of_object = built.json(&["k.o"]);
    let expected = kernels(&of_object);
    assert_eq!(expected.len(), 6, "three kernels for two architectures");
    for file in ["k.fatbin", "k", "libk.so", "libk.a"] {
        let document = built.json(&[file]);
        assert_eq!(kernels(&document), expected, "{file}");
        let hash = |document: &Value| -> Vec<Value> {
            let kernels = document["report"]["kernels"].as_array().expect("kernels");
            kernels.iter().map(|k| k["code_hash"].clone()).collect()
        };
        assert_eq!(hash(&document), hash(&of_object), "{file}");
    }

    let text = built.inspect(&["k"]).expect_code(0).stdout;
    assert!(text.starts_with("k: "), "{text}");
    let row = |arch: &str, name: &str| {
        let line = text.lines().find(|line| {
            let cells: Vec<&str> = line.split_whitespace().collect();
            cells.contains(&arch) && cells.contains(&name)
        });
        line.unwrap_or_else(|| panic!("no {name} for {arch} in\n{text}"))
    };
    for arch in ARCHS {
        assert!(row(arch, "add").contains("≤256"), "{text}");
        assert!(row(arch, "scale<3>").contains('–'), "{text}");
    }
    assert!(text.contains("6 kernels; "), "{text}");
    assert!(
        text.contains("Occupancy of 4 kernels is not known"),
        "{text}"
    );
}

#[test]
fn launches_filters_and_differences() {
    let built = Built::new();
    let arch = ["-cubin", "-arch=sm_121", "-o"];
    let nvcc = cuda_bin().join("nvcc");
    built.make(&nvcc, &[&arch[..], &["old.cubin", "k.cu"]].concat());
    built.scenario.edit("k.cu", "+= a", "-= 3.0f * a");
    built.make(&nvcc, &[&arch[..], &["new.cubin", "k.cu"]].concat());

    let launch = ["--threads", "256", "--dynamic-smem", "98304"];
    let args = [&["new.cubin", "--kernel", "add"], &launch[..]].concat();
    let text = built.inspect(&args).expect_code(0).stdout;
    assert!(!text.contains("scale"), "{text}");
    assert!(text.contains("shared memory"), "{text}");

    let args = ["new.cubin", "--against", "old.cubin"];
    let text = built.inspect(&args).expect_code(0).stdout;
    assert!(text.contains("2 unchanged, 1 changed, 0 added"), "{text}");
    assert!(text.contains("changed sm_121 add\n"), "{text}");
    let document = built.json(&args);
    assert_eq!(document["delta"]["unchanged"], 2);
    assert_eq!(document["occupancy"][0]["arch"], "sm_121");

    let none = built
        .inspect(&["new.cubin", "--kernel", "mmq"])
        .expect_code(0);
    assert!(
        none.stderr.contains("`mmq` matches none of the 3"),
        "{none:?}"
    );
}

#[test]
fn other_files_are_told_apart() {
    let built = Built::new();
    built.make(Path::new("cc"), &["-o", "host", "host.c"]);
    for file in ["host", "host.c"] {
        let text = built.inspect(&[file]).expect_code(0).stdout;
        assert_eq!(text, format!("{file}: no GPU machine code\n"));
    }
    let missing = built.inspect(&["nowhere"]).expect_code(2).stderr;
    assert!(missing.contains("could not read `nowhere`"), "{missing}");
    let folder = built.inspect(&["."]).expect_code(2).stderr;
    assert!(folder.contains("`.` is a folder"), "{folder}");
}

/// A GGUF file without tensors, of this architecture.
fn gguf(architecture: &str) -> Vec<u8> {
    let text = |text: &str| [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat();
    let counts = [0u64.to_le_bytes(), 1u64.to_le_bytes()].concat();
    [
        b"GGUF".to_vec(),
        3u32.to_le_bytes().to_vec(),
        counts,
        text("general.architecture"),
        8u32.to_le_bytes().to_vec(),
        text(architecture),
    ]
    .concat()
}

#[test]
fn models_are_shown_with_what_keeps_them_from_running() {
    let built = Built::new();
    let file = built.folder().join("m.gguf");
    std::fs::write(&file, gguf("qwen2")).expect("a file");
    let text = built.inspect(&["m.gguf"]).expect_code(0).stdout;
    assert!(
        text.starts_with("m.gguf: GGUF 3, architecture qwen2"),
        "{text}"
    );
    assert!(
        text.contains("cannot be run: ") && text.contains("llama"),
        "{text}"
    );
    let document = built.json(&["m.gguf"]);
    assert_eq!(document["files"][0]["model"]["architecture"], "qwen2");
    let cut = &gguf("llama")[..30];
    std::fs::write(&file, cut).expect("a file");
    let refused = built.inspect(&["m.gguf"]).expect_code(2).stderr;
    assert!(refused.contains("reading m.gguf"), "{refused}");
}
