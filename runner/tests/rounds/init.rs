//! From a repository without Roundhouse to a verdict: `runner init`, a bench, `runner check`,
//! `runner run`, with what `init` wrote used as it is.

use runner::testing::cuda_bin;
use serde_json::Value;

use crate::scenario::{Outcome, Scenario};

const KERNEL: &str = "#include \"tile.cuh\"\n\
    __global__ void scale(float *x) { x[threadIdx.x] = x[threadIdx.x] * TILE + 1.0f; }\n";

/// What a person adds: a bench, here one that needs no GPU.
const BENCH: &str = r#"
[device]
kind = "cpu"

[[bench]]
name = "speed"
command = ["sh", "-c", "echo 100.5 tok/s"]
value = { regex = '([0-9.]+) tok/s' }
unit = "tok/s"
better = "higher"
bar = "+1%"
"#;

/// The program, with the tests' toolchain on PATH.
fn runner(scenario: &Scenario, args: &[&str]) -> Outcome {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(cuda_bin()).chain(std::env::split_paths(&path));
    let path = std::env::join_paths(folders).expect("a PATH");
    let mut command = scenario.command();
    let output = command.env("PATH", path).args(args).output();
    Outcome::of(output.expect("runner starts"), args)
}

/// Initialises, adds the bench, checks, changes the kernel, runs; gives the run's document.
fn first_round(scenario: &Scenario) -> Value {
    scenario.commit("before Roundhouse");
    let said = runner(scenario, &["init"]).expect_code(0).stdout;
    assert!(said.contains("next: "), "{said}");
    // The tests have their toolchain already; a person leaves this as it is.
    scenario.edit("campaign.toml", "cuda = \"13.0\"", "cuda = \"system\"");
    let file = scenario.repo().join("campaign.toml");
    let text = std::fs::read_to_string(&file).expect("init wrote it");
    let without = runner(scenario, &["check"]).expect_code(0).stdout;
    assert!(without.contains("no lever can land"), "{without}");
    std::fs::write(&file, text + BENCH).expect("it can be written");
    scenario.commit("campaign");
    scenario.edit("src/k.cu", "+ 1.0f", "- 3.5f");
    scenario.commit("lever");
    let checked = runner(scenario, &["check"]).expect_code(0).stdout;
    assert!(checked.contains("; 1 bench, "), "{checked}");
    let outcome = runner(scenario, &["run", "--json"]);
    let document: Value = serde_json::from_str(&outcome.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", outcome.text()));
    // The same on both sides: measured, and no effect.
    assert_eq!(document["judgement"]["verdict"], "REVERTED", "{document:#}");
    assert_eq!(document["judgement"]["benches"][0]["finding"], "no-effect");
    document
}

fn changed_kernel(document: &Value) -> &Value {
    let changed = &document["evidence"]["code"]["delta"]["changed"];
    assert_eq!(changed.as_array().map(Vec::len), Some(1), "{changed:#}");
    &changed[0][1]["name"]
}

#[test]
fn plain_sources_with_headers_in_another_folder() {
    let scenario = Scenario::empty();
    scenario.write("include/tile.cuh", "#define TILE 2.0f\n");
    scenario.write("src/k.cu", KERNEL);
    let document = first_round(&scenario);
    assert_eq!(changed_kernel(&document), "scale(float*)");
}

#[test]
fn a_makefile_that_names_another_toolchain() {
    let scenario = Scenario::empty();
    scenario.write("include/tile.cuh", "#define TILE 2.0f\n");
    scenario.write("src/k.cu", KERNEL);
    scenario.write(
        "Makefile",
        "CUDA_PATH ?= /nonexistent/cuda\nNVCC = /nonexistent/cuda/bin/nvcc\n\
         ARCH = sm_90\nall: k.cubin\n.PHONY: all\n\
         k.cubin: src/k.cu include/tile.cuh\n\t$(NVCC) -Iinclude -cubin -arch=$(ARCH) -o $@ $<\n",
    );
    let document = first_round(&scenario);
    assert_eq!(changed_kernel(&document), "scale(float*)");
    assert_eq!(
        document["evidence"]["config"]["toolchain"]["arch"][0],
        "sm_90"
    );
}

#[test]
fn a_folder_without_a_repository() {
    let scenario = Scenario::empty();
    std::fs::remove_dir_all(scenario.repo().join(".git")).expect("a repository");
    let said = runner(&scenario, &["init"]).expect_code(0).stdout;
    assert!(said.contains("`git init` comes first"), "{said}");
    let checked = runner(&scenario, &["check"]).expect_code(1).stdout;
    assert!(checked.contains("bad   git: "), "{checked}");
    let again = runner(&scenario, &["init"]).expect_code(2).stderr;
    assert!(again.contains("--force"), "{again}");
}
