//! Finding cubins in everything that nvcc, g++ and ar make, compared with cuobjdump.

mod common;

use std::collections::BTreeMap;
use std::path::Path;

use common::{compile, folder, inspect, inspect_masked, run, tool};
use sass::container::{Encoding, ImageKind, images};
use sass::{HostMask, Report};

/// Hashes of the cubins that cuobjdump extracts, sorted.
fn extracted(folder: &Path, file: &str) -> Vec<Vec<u8>> {
    let out = folder.join("extracted");
    std::fs::create_dir(&out).expect("a folder");
    let path = folder.join(file);
    run(
        tool("cuobjdump"),
        &out,
        &["-xelf", "all", path.to_str().expect("UTF-8")],
    );
    let mut all: Vec<Vec<u8>> = std::fs::read_dir(&out)
        .expect("the folder")
        .map(|entry| std::fs::read(entry.expect("an entry").path()).expect("a cubin"))
        .collect();
    std::fs::remove_dir_all(&out).expect("removed");
    all.sort();
    all
}

/// The cubins that we find, sorted.
fn found(folder: &Path, file: &str) -> Vec<Vec<u8>> {
    let data = std::fs::read(folder.join(file)).expect("read");
    let mut all: Vec<Vec<u8>> = images(file, &data)
        .expect("parsed")
        .iter()
        .filter(|image| image.kind == ImageKind::Cubin)
        .map(|image| image.bytes().expect("decompressed").into_owned())
        .collect();
    all.sort();
    all
}

fn assert_same_cubins(folder: &Path, file: &str, count: usize) {
    let ours = found(folder, file);
    assert_eq!(ours.len(), count, "{file}");
    // cuobjdump cuts the padding of uncompressed cubins off, or leaves it: compare the heads.
    let theirs = extracted(folder, file);
    assert_eq!(theirs.len(), count, "{file}");
    for (ours, theirs) in ours.iter().zip(theirs) {
        let length = ours.len().min(theirs.len());
        assert!(ours.len().abs_diff(theirs.len()) < 8, "{file}");
        assert_eq!(ours[..length], theirs[..length], "{file}");
    }
}

fn names(report: &Report) -> BTreeMap<(&str, &str), usize> {
    let mut found = BTreeMap::new();
    for kernel in &report.kernels {
        *found
            .entry((kernel.name.as_str(), kernel.arch.as_str()))
            .or_default() += 1;
    }
    found
}

const TWO_ARCHS: [&str; 4] = [
    "-gencode",
    "arch=compute_90a,code=sm_90a",
    "-gencode",
    "arch=compute_121,code=sm_121",
];

#[test]
fn reads_every_compression() {
    let dir = folder();
    let mut seen = Vec::new();
    for (mode, file) in [
        ("none", "n.o"),
        ("speed", "s.o"),
        ("balance", "b.o"),
        ("size", "z.o"),
    ] {
        let flag = format!("--compress-mode={mode}");
        let ptx = ["-gencode", "arch=compute_80,code=compute_80"];
        let args = [&["-c", "-o", file, flag.as_str()], &TWO_ARCHS[..], &ptx[..]].concat();
        compile(dir.path(), "linkage.cu", &args);
        assert_same_cubins(dir.path(), file, 2);
        let data = std::fs::read(dir.path().join(file)).expect("read");
        for image in images(file, &data).expect("parsed") {
            seen.push(match image.encoding {
                Encoding::Plain => "plain",
                Encoding::Lz4 { .. } => "lz4",
                Encoding::Zstd { .. } => "zstd",
            });
            if image.kind == ImageKind::Ptx {
                let text = String::from_utf8(image.bytes().expect("text").into_owned());
                assert!(text.expect("UTF-8").contains(".target sm_80"));
            }
        }
    }
    compile(
        dir.path(),
        "linkage.cu",
        &[
            "-c",
            "-o",
            "all.o",
            "-arch=sm_90",
            "-Xfatbin",
            "-compress-all",
        ],
    );
    assert_same_cubins(dir.path(), "all.o", 1);
    for encoding in ["plain", "lz4", "zstd"] {
        assert!(seen.contains(&encoding), "no {encoding} among {seen:?}");
    }
}

#[test]
fn reads_every_container() {
    let dir = folder();
    let at = dir.path();
    compile(
        at,
        "linkage.cu",
        &["-cubin", "-arch=sm_121", "-o", "k.cubin"],
    );
    compile(
        at,
        "linkage.cu",
        &[&["-fatbin", "-o", "k.fatbin"], &TWO_ARCHS[..]].concat(),
    );
    compile(
        at,
        "linkage.cu",
        &[&["-c", "-o", "k.o"], &TWO_ARCHS[..]].concat(),
    );
    compile(at, "constants.cu", &["-c", "-arch=sm_90", "-o", "c.o"]);
    compile(at, "linkage.cu", &[&["-o", "exe"], &TWO_ARCHS[..]].concat());
    compile(
        at,
        "constants.cu",
        &[
            "-shared",
            "-Xcompiler",
            "-fPIC",
            "-arch=sm_90",
            "-o",
            "libc.so",
        ],
    );
    run(
        "ar",
        at,
        &["rcs", "libk.a", "k.o", "c.o", "k.cubin", "linkage.cu"],
    );
    for (file, count) in [("k.o", 2), ("exe", 4), ("libc.so", 2), ("k.fatbin", 2)] {
        assert_same_cubins(at, file, count);
    }
    let report = inspect(
        at,
        &["k.cubin", "k.fatbin", "k.o", "exe", "libc.so", "libk.a"],
    );
    let cubins: Vec<u32> = report.files.iter().map(|f| f.cubins).collect();
    assert_eq!(cubins, [1, 2, 2, 4, 2, 4]);
    // nvcc's own device-link step adds an image without kernels for each architecture to linked files.
    let host: Vec<bool> = report.files.iter().map(|f| f.host_hash.is_some()).collect();
    assert_eq!(host, [false, false, true, true, true, true]);
    assert!(report.files.iter().all(|f| f.ptx_only.is_empty()));
    let names = names(&report);
    assert_eq!(names[&("dyn", "sm_121")], 6, "{names:?}");
    assert_eq!(names[&("dyn", "sm_90a")], 4);
    assert_eq!(names[&("k1(float*, int)", "sm_90")], 2);
    let containers: Vec<&str> = report
        .kernels
        .iter()
        .filter(|k| k.name == "dyn")
        .map(|k| k.container.as_str())
        .collect();
    assert!(containers.contains(&"k.cubin"));
    assert!(containers.contains(&"libk.a(k.o)#1"), "{containers:?}");
    assert!(containers.contains(&"libk.a(k.cubin)"));
    let dyn_hashes: Vec<&str> = report
        .kernels
        .iter()
        .filter(|k| k.name == "dyn" && k.arch == "sm_121")
        .map(|k| k.code_hash.as_str())
        .collect();
    assert!(
        dyn_hashes.windows(2).all(|w| w[0] == w[1]),
        "the container does not matter"
    );
}

#[test]
fn takes_the_linked_code_of_relocatable_builds() {
    let dir = folder();
    let at = dir.path();
    compile(at, "linkage.cu", &["-rdc=true", "-arch=sm_90", "-o", "exe"]);
    compile(
        at,
        "linkage.cu",
        &["-rdc=true", "-arch=sm_90", "-c", "-o", "k.o"],
    );
    assert_same_cubins(at, "exe", 1);
    assert_same_cubins(at, "k.o", 1);
    let report = inspect(at, &["exe"]);
    assert_eq!(names(&report).values().sum::<usize>(), 6);
}

#[test]
fn tells_ptx_from_machine_code() {
    let dir = folder();
    let at = dir.path();
    let ptx = [
        "-c",
        "-gencode",
        "arch=compute_80,code=[compute_80,sm_80]",
        "-gencode",
        "arch=compute_90a,code=compute_90a",
    ];
    compile(at, "linkage.cu", &[&ptx[..], &["-o", "a.o"]].concat());
    compile(
        at,
        "linkage.cu",
        &[&ptx[..], &["-o", "b.o", "-lineinfo"]].concat(),
    );
    compile(
        at,
        "linkage.cu",
        &[&ptx[..], &["-o", "c.o", "-DOTHER"]].concat(),
    );
    let report = inspect(at, &["a.o", "b.o", "c.o"]);
    assert!(report.files.iter().all(|f| f.ptx_only == ["compute_90a"]));
    let hash = |i: usize| report.files[i].ptx_hash.as_ref().expect("a PTX hash");
    assert_eq!(hash(0), hash(1), "line information does not count");
    assert_ne!(hash(0), hash(2));
}

#[test]
fn recognises_files_without_gpu_code() {
    let dir = folder();
    let at = dir.path();
    std::fs::write(
        at.join("h.cpp"),
        "int f(int x) { return x + 1; }\nint main() { return f(1); }",
    )
    .expect("written");
    run("g++", at, &["-o", "exe", "h.cpp"]);
    run("g++", at, &["-c", "-o", "h.o", "h.cpp"]);
    run("ar", at, &["rcs", "libh.a", "h.o"]);
    std::fs::write(at.join("empty"), "").expect("written");
    let files = ["exe", "h.o", "libh.a", "h.cpp", "empty"];
    let report = inspect_masked(at, &files, HostMask::default(), false);
    assert!(report.kernels.is_empty());
    assert!(
        report
            .files
            .iter()
            .all(|f| f.cubins == 0 && f.host_hash.is_some())
    );
}

#[test]
fn names_file_and_offset_of_damage() {
    let dir = folder();
    let at = dir.path();
    compile(at, "linkage.cu", &["-c", "-arch=sm_90", "-o", "k.o"]);
    let mut data = std::fs::read(at.join("k.o")).expect("read");
    let magic = data
        .windows(4)
        .position(|w| w == [0x50, 0xed, 0x55, 0xba])
        .expect("a fatbin");
    data[magic + 8..magic + 16].fill(0xff);
    let message = images("lib/k.o", &data).expect_err("damaged").to_string();
    assert!(
        message.contains("lib/k.o") && message.contains(&format!("{:#x}", magic + 16)),
        "{message}"
    );
    let thin = images("t.a", b"!<thin>\n").map(|found| found.len());
    let message = thin.expect_err("a thin archive").to_string();
    assert!(
        message.contains("t.a") && message.contains("members themselves"),
        "{message}"
    );
    let missing = sass::inspect_files(
        &[sass::InspectInput {
            path: at.join("missing"),
            name: "missing".to_owned(),
        }],
        &sass::Options::default(),
    );
    assert!(
        missing
            .expect_err("missing")
            .to_string()
            .contains("missing")
    );
}
