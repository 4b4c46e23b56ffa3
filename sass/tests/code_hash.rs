//! The code hash: equal for the same source elsewhere, different for every change that counts.

mod common;

use std::collections::BTreeMap;
use std::path::Path;

use common::{compile, folder, inspect_masked, nvcc, source};
use sass::{HostMask, Report, diff};

/// Compiles a source in a sub-folder, under another name, and inspects the result.
fn build(root: &Path, place: &str, name: &str, text: &str, args: &[&str]) -> Report {
    let dir = root.join(place);
    std::fs::create_dir_all(&dir).expect("a folder");
    std::fs::write(dir.join(name), text).expect("written");
    let all = [&[name, "-o", "out"], args].concat();
    nvcc(&dir, &all);
    inspect_masked(&dir, &["out"], HostMask::default(), false)
}

fn text(name: &str) -> String {
    std::fs::read_to_string(source(name)).expect("the source")
}

fn hashes(report: &Report) -> BTreeMap<String, String> {
    let found: BTreeMap<String, String> = report
        .kernels
        .iter()
        .map(|k| (format!("{} {}", k.name, k.arch), k.code_hash.clone()))
        .collect();
    assert_eq!(found.len(), report.kernels.len(), "names are unique here");
    found
}

/// Names of the kernels whose hashes differ.
fn changed(a: &Report, b: &Report) -> Vec<String> {
    let (a, b) = (hashes(a), hashes(b));
    assert_eq!(a.keys().collect::<Vec<_>>(), b.keys().collect::<Vec<_>>());
    a.into_iter()
        .filter(|(name, hash)| b[name] != *hash)
        .map(|(name, _)| {
            name.split(['(', ' '])
                .find(|w| !w.is_empty() && *w != "void")
                .unwrap_or("")
                .to_owned()
        })
        .collect()
}

const KINDS: [&[&str]; 4] = [
    &["-cubin", "-arch=sm_90"],
    &["-cubin", "-arch=sm_121"],
    &["-c", "-rdc=true", "-arch=sm_90"],
    &["-rdc=true", "-arch=sm_121"],
];

#[test]
fn place_and_file_name_do_not_matter() {
    let dir = folder();
    for kind in KINDS {
        for name in ["linkage.cu", "constants.cu"] {
            if name == "constants.cu" && !kind.contains(&"-c") && !kind.contains(&"-cubin") {
                continue; // It has no main.
            }
            // An assert would keep the file's name.
            let source = format!("#define NDEBUG\n{}", text(name));
            let here = build(dir.path(), "here", name, &source, kind);
            let there = build(dir.path(), "another/deeper/place", name, &source, kind);
            let other = build(dir.path(), "here", "quite_another_name.cu", &source, kind);
            assert!(here.kernels.len() >= 6);
            assert_eq!(hashes(&here), hashes(&there), "{kind:?}");
            assert_eq!(hashes(&here), hashes(&other), "{kind:?}");
            assert_eq!(diff(&here, &there).unchanged as usize, here.kernels.len());
        }
    }
}

#[test]
fn masked_paths_in_asserts_do_not_matter() {
    let dir = folder();
    let build_in = |place: &str| {
        let at = dir.path().join(place);
        std::fs::create_dir_all(&at).expect("a folder");
        let file = at.join("k.cu");
        std::fs::copy(source("constants.cu"), &file).expect("copied");
        let file = file.to_str().expect("UTF-8");
        nvcc(&at, &[file, "-o", "out", "-cubin", "-arch=sm_121"]);
        let mask = HostMask {
            paths: vec![at.to_str().expect("UTF-8").to_owned()],
            commits: vec![],
        };
        [
            inspect_masked(&at, &["out"], mask, false),
            inspect_masked(&at, &["out"], HostMask::default(), false),
        ]
    };
    let [a, a_unmasked] = build_in("a");
    let [b, b_unmasked] = build_in("of/another/length");
    assert_eq!(hashes(&a), hashes(&b));
    assert_eq!(changed(&a_unmasked, &b_unmasked), ["k4"]);
}

#[test]
fn line_information_and_comments_do_not_matter() {
    let dir = folder();
    for kind in KINDS {
        let source = text("linkage.cu");
        let plain = build(dir.path(), "plain", "k.cu", &source, kind);
        let lines = build(
            dir.path(),
            "lines",
            "k.cu",
            &source,
            &[kind, &["-lineinfo"]].concat(),
        );
        let moved = build(
            dir.path(),
            "moved",
            "k.cu",
            &format!("// A comment.\n\n{source}"),
            kind,
        );
        assert_eq!(hashes(&plain), hashes(&lines), "{kind:?}");
        assert_eq!(hashes(&plain), hashes(&moved), "{kind:?}");
    }
}

#[test]
fn each_change_is_seen_where_it_counts() {
    let dir = folder();
    for kind in KINDS {
        let source = text("linkage.cu");
        let base = build(dir.path(), "base", "k.cu", &source, kind);
        let with = |place: &str, flag: &str| {
            let args = [kind, &[flag]].concat();
            changed(&base, &build(dir.path(), place, "k.cu", &source, &args))
        };
        assert_eq!(
            with("step", "-DOTHER"),
            ["stat"],
            "an instruction; {kind:?}"
        );
        assert_eq!(
            with("bound", "-DBOUND=128"),
            ["bounded"],
            "a launch bound; {kind:?}"
        );
        let string = with("text", r#"-DTEXT="jello %d\n""#);
        assert_eq!(
            string.len(),
            1,
            "a string of the same length: {string:?}; {kind:?}"
        );
        let data = source.replace("{1, 2, 3, 4}", "{1, 2, 3, 5}");
        let data = changed(&base, &build(dir.path(), "data", "k.cu", &data, kind));
        assert_eq!(data.len(), 1, "initial data: {data:?}; {kind:?}");
    }
}

#[test]
fn constant_initialisers_are_seen() {
    let dir = folder();
    let source = text("constants.cu");
    for kind in [KINDS[0], KINDS[1], KINDS[2]] {
        let base = build(dir.path(), "base", "k.cu", &source, kind);
        let other = source.replace("int one = 5;", "int one = 6;");
        assert_ne!(other, source);
        let seen = changed(&base, &build(dir.path(), "one", "k.cu", &other, kind));
        for kernel in ["k3", "k4", "k5<3>"] {
            assert!(
                seen.iter().any(|name| name == kernel),
                "{kernel} reads `one`: {seen:?}; {kind:?}"
            );
        }
        // A device function behind a table of pointers.
        let other = source.replace("return x * 2;", "return x * 4;");
        assert_ne!(other, source);
        let seen = changed(&base, &build(dir.path(), "f1", "k.cu", &other, kind));
        assert!(seen.iter().any(|name| name == "k3"), "{seen:?}; {kind:?}");
        assert!(!seen.iter().any(|name| name == "k1"), "{seen:?}; {kind:?}");
    }
}

#[test]
fn data_that_only_the_host_reads_counts() {
    let dir = folder();
    let text = |n: u32| {
        format!(
            "__device__ int table[4] = {{1, 2, 3, {n}}};\n__global__ void k(int* p) {{ p[0] = 1; }}\n"
        )
    };
    let kind = KINDS[0];
    let a = build(dir.path(), "a", "k.cu", &text(4), kind);
    let b = build(dir.path(), "b", "k.cu", &text(4), kind);
    let c = build(dir.path(), "c", "k.cu", &text(5), kind);
    assert_eq!(hashes(&a), hashes(&b));
    assert_eq!(changed(&a, &c), ["k"]);
}

#[test]
fn another_variable_of_the_same_kind_is_a_change() {
    let dir = folder();
    let text = |name: &str| {
        format!(
            "__device__ int a, b;\n__global__ void k(int* p) {{ p[0] = {name}; }}\n__global__ void keep(int* p) {{ p[0] = a + b; }}\n"
        )
    };
    for kind in [KINDS[0], KINDS[1], KINDS[2]] {
        let a = build(dir.path(), "a", "k.cu", &text("a"), kind);
        let b = build(dir.path(), "b", "k.cu", &text("b"), kind);
        assert!(changed(&a, &b).contains(&"k".to_owned()), "{kind:?}");
    }
}

#[test]
fn a_renamed_kernel_keeps_its_hash() {
    let dir = folder();
    for kind in KINDS {
        let source = text("linkage.cu");
        let base = build(dir.path(), "base", "k.cu", &source, kind);
        let renamed = source
            .replace("bounded", "renamed")
            .replace("stat", "statistics");
        let renamed = renamed.replace("statisticsic", "static");
        let head = build(dir.path(), "renamed", "k.cu", &renamed, kind);
        let delta = diff(&base, &head);
        let names: Vec<(&str, &str)> = delta
            .renamed
            .iter()
            .map(|(a, b)| (a.name.as_str(), b.name.as_str()))
            .collect();
        assert_eq!(
            names,
            [
                ("bounded(float*)", "renamed(float*)"),
                ("stat(float*)", "statistics(float*)")
            ],
            "{kind:?}"
        );
        assert!(delta.added.is_empty() && delta.removed.is_empty() && delta.changed.is_empty());
    }
}

#[test]
fn architectures_have_hashes_of_their_own() {
    let dir = folder();
    compile(
        dir.path(),
        "linkage.cu",
        &[
            "-c",
            "-o",
            "out",
            "-gencode",
            "arch=compute_120,code=[sm_120,sm_121]",
        ],
    );
    let report = inspect_masked(dir.path(), &["out"], HostMask::default(), false);
    let all = hashes(&report);
    assert_ne!(all["dyn sm_120"], all["dyn sm_121"]);
}
