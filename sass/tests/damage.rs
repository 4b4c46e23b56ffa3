//! Damaged and hostile files give errors: never a panic, never memory beyond all measure.

mod common;

use common::{compile, folder, run};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use sass::HostMask;
use sass::container::{ImageKind, images};
use sass::cubin::Cubin;

/// The most memory that the whole test may have held, kB.
const MEMORY_KB: u64 = 600_000;

/// Everything short of the disassembler. Gives the number of kernels that were read.
fn inspect(data: &[u8]) -> Result<usize, sass::Error> {
    let mask = HostMask {
        paths: vec!["/tmp".to_owned()],
        commits: vec![],
    };
    let mut kernels = 0;
    let host = sass::host::host_hash("mutant", data, &mask);
    for image in images("mutant", data)? {
        let bytes = image.bytes()?;
        if image.kind == ImageKind::Cubin {
            let cubin = Cubin::parse(&image.container, image.offset, &bytes)?;
            for (entry, hash) in cubin
                .entries
                .iter()
                .zip(sass::hash::code_hashes(&cubin, &mask))
            {
                assert_eq!(hash.len(), 64);
                assert!(!sass::demangle(&entry.symbol).is_empty() || entry.symbol.is_empty());
                cubin.ledger(entry);
                kernels += 1;
            }
        }
    }
    host.map(|_| kernels)
}

/// One change of a file.
#[derive(Debug, Clone)]
enum Edit {
    Byte(prop::sample::Index, u8),
    Word(prop::sample::Index, u64),
    Cut(prop::sample::Index),
    Copy(prop::sample::Index, prop::sample::Index, usize),
}

fn edit() -> impl Strategy<Value = Edit> {
    let words = prop_oneof![
        Just(u64::MAX),
        Just(u64::MAX - 7),
        Just(1 << 63),
        Just(1 << 40),
        Just(u64::from(u32::MAX)),
        Just(0),
        any::<u64>(),
        0..4096u64
    ];
    prop_oneof![
        4 => (any::<prop::sample::Index>(), any::<u8>()).prop_map(|(at, byte)| Edit::Byte(at, byte)),
        4 => (any::<prop::sample::Index>(), words).prop_map(|(at, word)| Edit::Word(at, word)),
        1 => any::<prop::sample::Index>().prop_map(Edit::Cut),
        1 => (any::<prop::sample::Index>(), any::<prop::sample::Index>(), 1..2000usize)
            .prop_map(|(from, to, size)| Edit::Copy(from, to, size)),
    ]
}

/// Applies an edit; `focus` says where the headers are, which most edits should hit.
fn apply(data: &mut Vec<u8>, edit: &Edit, focus: &[usize], focused: bool) {
    if data.is_empty() {
        return;
    }
    let place = |at: &prop::sample::Index, length: usize| {
        if focused && !focus.is_empty() {
            (focus[at.index(focus.len())] + at.index(96)).min(length - 1)
        } else {
            at.index(length)
        }
    };
    let length = data.len();
    match edit {
        Edit::Byte(at, byte) => data[place(at, length)] = *byte,
        Edit::Word(at, word) => {
            let start = place(at, length) & !3;
            let end = (start + 8).min(length);
            data[start..end].copy_from_slice(&word.to_le_bytes()[..end - start]);
        }
        Edit::Cut(at) => data.truncate(at.index(length)),
        Edit::Copy(from, to, size) => {
            let (from, to) = (from.index(length), to.index(length));
            let size = (*size).min(length - from).min(length - to);
            data.copy_within(from..from + size, to);
        }
    }
}

/// Where headers begin: ELF files, their section tables, fatbin regions, archive members.
fn headers(data: &[u8]) -> Vec<usize> {
    let mut found = vec![0];
    for (at, window) in data.windows(64).enumerate() {
        if window.starts_with(b"\x7fELF") {
            let table: [u8; 8] = window[40..48].try_into().expect("eight bytes");
            let table = at + u64::from_le_bytes(table) as usize;
            found.push(at);
            found.extend(
                (0..40)
                    .map(|i| table + 64 * i)
                    .filter(|at| *at < data.len()),
            );
        } else if window.starts_with(&[0x50, 0xed, 0x55, 0xba]) || window[58..].starts_with(b"`\n")
        {
            found.push(at);
        }
    }
    found
}

fn peak_memory_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status
        .lines()
        .find(|l| l.starts_with("VmHWM:"))
        .expect("a peak");
    line.split_whitespace()
        .nth(1)
        .expect("a number")
        .parse()
        .expect("a number")
}

#[test]
fn mutants_are_refused_or_read() {
    let dir = folder();
    let at = dir.path();
    compile(at, "linkage.cu", &["-c", "-arch=sm_90", "-o", "plain.o"]);
    compile(
        at,
        "linkage.cu",
        &[
            "-c",
            "-arch=sm_121",
            "-rdc=true",
            "--compress-mode=size",
            "-o",
            "zstd.o",
        ],
    );
    compile(
        at,
        "linkage.cu",
        &[
            "-c",
            "-gencode",
            "arch=compute_80,code=compute_80",
            "--compress-mode=speed",
            "-o",
            "lz4.o",
        ],
    );
    compile(
        at,
        "resources.cu",
        &["-cubin", "-arch=sm_90", "-o", "k.cubin"],
    );
    compile(
        at,
        "constants.cu",
        &["-fatbin", "-arch=sm_120", "-o", "k.fatbin"],
    );
    run("ar", at, &["rcs", "k.a", "plain.o", "zstd.o", "k.cubin"]);
    std::fs::write(
        at.join("h.cpp"),
        "#include <string>\nstd::string f(int i) { return std::to_string(i); }",
    )
    .expect("written");
    run("g++", at, &["-shared", "-fPIC", "-o", "h.so", "h.cpp"]);
    let (mut refused, mut read) = (0, 0);
    for file in [
        "plain.o", "zstd.o", "lz4.o", "k.cubin", "k.fatbin", "k.a", "h.so",
    ] {
        let original = std::fs::read(at.join(file)).expect("read");
        let kernels = inspect(&original).unwrap_or_else(|e| panic!("{file}: {e}"));
        assert_eq!(kernels > 0, !matches!(file, "lz4.o" | "h.so"), "{file}");
        let focus = headers(&original);
        let config = Config {
            cases: 400,
            failure_persistence: None,
            ..Config::default()
        };
        let seed = proptest::test_runner::TestRng::deterministic_rng(config.rng_algorithm);
        let mut runner = TestRunner::new_with_rng(config, seed);
        let counts = std::cell::Cell::new((0, 0));
        let edits = prop::collection::vec((edit(), prop::bool::weighted(0.8)), 1..6);
        runner
            .run(&edits, |edits| {
                let mut data = original.clone();
                for (edit, focused) in &edits {
                    apply(&mut data, edit, &focus, *focused);
                }
                match inspect(&data) {
                    Ok(_) => counts.set((counts.get().0, counts.get().1 + 1)),
                    Err(error) => {
                        counts.set((counts.get().0 + 1, counts.get().1));
                        prop_assert!(error.to_string().contains("mutant"), "{}", error);
                    }
                }
                Ok(())
            })
            .unwrap_or_else(|e| panic!("{file}: {e}"));
        refused += counts.get().0;
        read += counts.get().1;
    }
    // Both must be common, or the mutants never get past the first check or miss all headers.
    assert!(
        refused > 500 && read > 500,
        "{refused} refused, {read} read"
    );
    assert!(peak_memory_kb() < MEMORY_KB, "{} kB", peak_memory_kb());
}

#[test]
fn every_truncation_is_refused_or_read() {
    let dir = folder();
    compile(
        dir.path(),
        "linkage.cu",
        &[
            "-fatbin",
            "-arch=sm_90",
            "--compress-mode=none",
            "-o",
            "k.fatbin",
        ],
    );
    let data = std::fs::read(dir.path().join("k.fatbin")).expect("read");
    for end in (0..data.len()).step_by(61) {
        inspect(&data[..end]).err();
    }
    assert!(inspect(&data[..data.len() / 2]).is_err());
}

#[test]
fn declared_sizes_are_not_believed() {
    // A region with one zstd and one LZ4 entry that declare a gigabyte out of 8 bytes.
    for flag in [0x8000u64, 0x2000] {
        let mut data = Vec::new();
        data.extend(0xBA55_ED50u32.to_le_bytes());
        data.extend([1, 0, 16, 0]);
        data.extend(72u64.to_le_bytes());
        data.extend([2, 0, 1, 1]);
        data.extend(64u32.to_le_bytes());
        data.extend(8u64.to_le_bytes());
        data.extend(8u32.to_le_bytes());
        data.extend([0; 8]);
        data.extend(90u32.to_le_bytes());
        data.extend([0; 8]);
        data.extend(flag.to_le_bytes());
        data.extend([0; 8]);
        data.extend((1u64 << 30).to_le_bytes());
        data.extend([0x11; 8]);
        let found = images("bomb", &data).expect("well-formed so far");
        assert_eq!(found.len(), 1);
        assert!(found[0].bytes().is_err());
        let size = data.len() - 16;
        data[size..size + 8].copy_from_slice(&u64::MAX.to_le_bytes());
        assert!(
            images("bomb", &data)
                .expect_err("too large")
                .to_string()
                .contains("larger than")
        );
    }
}
