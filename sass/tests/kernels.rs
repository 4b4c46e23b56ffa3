//! Ledger and census of real kernels, compared with cuobjdump, ptxas and nvdisasm.

mod common;

use std::collections::{BTreeMap, BTreeSet};

use common::{compile, folder, inspect, inspect_masked, run, tool};
use sass::cubin::Cubin;
use sass::{HostMask, Kernel, Report};

const SOURCES: [&str; 3] = ["linkage.cu", "constants.cu", "resources.cu"];
const ARCHS: [&str; 6] = ["sm_86", "sm_90", "sm_100a", "sm_120", "sm_120a", "sm_121"];

/// `REG:8 STACK:0 …` of each kernel.
fn res_usage(folder: &std::path::Path, file: &str) -> BTreeMap<String, BTreeMap<String, u64>> {
    let text = run(tool("cuobjdump"), folder, &["-res-usage", file]);
    let mut found = BTreeMap::new();
    let mut name = String::new();
    for line in text.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("Function ") {
            name = rest.trim_end_matches(':').to_owned();
        } else if line.starts_with("REG:") {
            let fields = line.split(' ').filter_map(|field| {
                let (key, value) = field.split_once(':')?;
                Some((key.to_owned(), value.parse().ok()?))
            });
            found.insert(name.clone(), fields.collect());
        }
    }
    found
}

fn kernel<'r>(report: &'r Report, name: &str) -> &'r Kernel {
    let found: Vec<&Kernel> = report
        .kernels
        .iter()
        .filter(|k| k.name.contains(name))
        .collect();
    assert_eq!(found.len(), 1, "{name}");
    found[0]
}

#[test]
fn ledger_equals_cuobjdump() {
    let dir = folder();
    let at = dir.path();
    let mut compared = 0;
    for source in SOURCES {
        for arch in ARCHS
            .into_iter()
            .filter(|a| *a != "sm_86" || source != "resources.cu")
        {
            let flag = format!("-arch={arch}");
            compile(at, source, &["-cubin", &flag, "-o", "k.cubin"]);
            let report = inspect_masked(at, &["k.cubin"], HostMask::default(), false);
            let theirs = res_usage(at, "k.cubin");
            for k in &report.kernels {
                assert_eq!(k.arch, arch);
                assert!(k.census.is_none());
                let theirs = &theirs[&k.symbol];
                let reserved = if arch == "sm_86" { 0 } else { 1024 };
                assert_eq!(u64::from(k.ledger.registers), theirs["REG"], "{k:?}");
                assert_eq!(u64::from(k.ledger.stack_bytes), theirs["STACK"], "{k:?}");
                let shared = theirs["SHARED"].saturating_sub(reserved);
                assert_eq!(u64::from(k.ledger.static_smem), shared, "{k:?}");
                compared += 1;
            }
            assert_eq!(
                report.kernels.len(),
                theirs.keys().filter(|n| !n.starts_with('$')).count()
            );
        }
    }
    assert!(compared >= 100, "{compared} kernels");
}

#[test]
fn ledger_knows_bounds_barriers_and_spills() {
    let dir = folder();
    let at = dir.path();
    for arch in ["sm_90", "sm_121"] {
        compile(
            at,
            "resources.cu",
            &["-cubin", &format!("-arch={arch}"), "-o", "k.cubin"],
        );
        let report = inspect(at, &["k.cubin"]);
        let ledger = |name: &str| &kernel(&report, name).ledger;
        assert_eq!(ledger("lb3").max_threads, Some(64));
        assert_eq!(ledger("bsz").required_threads, Some([32, 4, 1]));
        assert_eq!(ledger("bsz").max_threads, None);
        assert_eq!(
            (
                ledger("bars").barriers,
                ledger("dynbar").barriers,
                ledger("lb3").barriers
            ),
            (8, 16, 0)
        );
        assert_eq!(
            (ledger("dynbar").param_bytes, ledger("bars").param_bytes),
            (12, 8)
        );
        let spill = kernel(&report, "spill");
        // All local memory of this kernel is spills, 4 bytes each or wider.
        let census = spill.census.as_ref().expect("a census");
        let ledger = &spill.ledger;
        assert_eq!(
            u64::from(ledger.spill_stores),
            census.count("STL"),
            "{ledger:?}"
        );
        assert_eq!(
            u64::from(ledger.spill_loads),
            census.count("LDL"),
            "{ledger:?}"
        );
        assert!(ledger.spill_stores > 50 && ledger.spill_loads > 50 && ledger.stack_bytes > 500);
        assert_eq!(
            (
                kernel(&report, "bars").ledger.spill_stores,
                ledger.max_threads
            ),
            (0, Some(1024))
        );
    }
}

#[test]
fn static_shared_memory_is_without_the_reserved_kilobyte() {
    let dir = folder();
    for arch in ["sm_80", "sm_90", "sm_121"] {
        compile(
            dir.path(),
            "linkage.cu",
            &["-cubin", &format!("-arch={arch}"), "-o", "k.cubin"],
        );
        let report = inspect_masked(dir.path(), &["k.cubin"], HostMask::default(), false);
        assert_eq!(kernel(&report, "bounded").ledger.static_smem, 2048);
        assert_eq!(kernel(&report, "dyn").ledger.static_smem, 0);
    }
}

/// Opcodes of nvdisasm's listing, read without our reader; and the number of NOPs that end functions.
fn listed(folder: &std::path::Path, file: &str) -> (BTreeMap<String, u64>, u64) {
    let text = run(tool("nvdisasm"), folder, &["-json", file]);
    let all: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let (mut counts, mut padding) = (BTreeMap::new(), 0);
    for function in all[1].as_array().expect("functions") {
        let instructions = function["sass-instructions"]
            .as_array()
            .expect("instructions");
        let opcodes: Vec<&str> = instructions
            .iter()
            .filter_map(|i| i["opcode"].as_str())
            .collect();
        let end = opcodes
            .iter()
            .rposition(|o| *o != "NOP")
            .map_or(0, |i| i + 1);
        padding += (opcodes.len() - end) as u64;
        for opcode in &opcodes[..end] {
            *counts.entry((*opcode).to_owned()).or_default() += 1;
        }
    }
    (counts, padding)
}

#[test]
fn census_counts_every_instruction_but_the_padding() {
    let mut executed_nops = 0;
    let dir = folder();
    let at = dir.path();
    for source in SOURCES {
        for arch in ["sm_90", "sm_121"] {
            compile(
                at,
                source,
                &["-cubin", &format!("-arch={arch}"), "-o", "k.cubin"],
            );
            let report = inspect(at, &["k.cubin"]);
            let mut ours: BTreeMap<String, u64> = BTreeMap::new();
            let mut instructions = 0;
            for k in &report.kernels {
                let census = k.census.as_ref().expect("a census");
                assert_eq!(census.total, census.opcodes.values().sum::<u64>());
                assert!(census.total <= k.ledger.code_bytes / 16);
                // Functions are padded to 128 bytes and sometimes a block more.
                assert!(census.total + 24 >= k.ledger.code_bytes / 16, "{k:?}");
                assert!(census.count("EXIT") >= 1);
                instructions += k.ledger.code_bytes / 16;
                for (opcode, count) in &census.opcodes {
                    *ours.entry(opcode.clone()).or_default() += count;
                }
            }
            let (theirs, padding) = listed(at, "k.cubin");
            assert_eq!(ours, theirs, "{source} for {arch}");
            let listed = theirs.values().sum::<u64>() + padding;
            assert_eq!(instructions, listed, "all code is the kernels'");
            executed_nops += ours.get("NOP").copied().unwrap_or(0);
        }
    }
    // ptxas puts NOPs around double-precision instructions for sm_121.
    assert!(executed_nops > 0, "NOPs in the midst of code count");
}

#[test]
fn census_of_relocatable_code_leaves_other_functions_out() {
    let dir = folder();
    let at = dir.path();
    compile(at, "linkage.cu", &["-rdc=true", "-arch=sm_90", "-o", "exe"]);
    let report = inspect(at, &["exe"]);
    let caller = kernel(&report, "caller").census.as_ref().expect("a census");
    assert_eq!(
        (caller.count("CALL"), caller.count("RET")),
        (1, 0),
        "{caller:?}"
    );
    assert_eq!(kernel(&report, "stat").name, "stat(float*)");
}

/// The (bank, offset) pairs in nvdisasm's operands of one code section.
fn listed_reads(text: &str) -> BTreeMap<String, BTreeSet<(u8, i64, bool)>> {
    let all: serde_json::Value = serde_json::from_str(text).expect("JSON");
    let pattern = regex::Regex::new(
        r"c\[0x([0-9a-f]+)\]\[(?:(U?R(?:\d+|Z))[^\]+]*)?\+?(?:(-?)0x([0-9a-f]+))?\]",
    );
    let pattern = pattern.expect("a pattern");
    let mut reads: BTreeMap<String, BTreeSet<_>> = BTreeMap::new();
    for function in all[1].as_array().expect("functions") {
        let name = function["function-name"]
            .as_str()
            .expect("a name")
            .to_owned();
        let found = reads.entry(name).or_default();
        for instruction in function["sass-instructions"]
            .as_array()
            .expect("instructions")
        {
            let operands = instruction["operands"].as_str().unwrap_or_default();
            for c in pattern.captures_iter(operands) {
                let hex = |i: usize| {
                    c.get(i)
                        .map_or(0, |m| i64::from_str_radix(m.as_str(), 16).expect("hex"))
                };
                let indexed = c.get(2).is_some_and(|r| !r.as_str().ends_with('Z'));
                found.insert((hex(1) as u8, hex(4), indexed));
            }
        }
    }
    reads
}

#[test]
fn constant_reads_equal_nvdisasms() {
    let dir = folder();
    let at = dir.path();
    let mut module_reads = 0;
    for source in SOURCES {
        for arch in [
            "sm_80", "sm_86", "sm_89", "sm_90", "sm_100a", "sm_120", "sm_121",
        ] {
            if arch.starts_with("sm_8") && source == "resources.cu" {
                continue;
            }
            compile(
                at,
                source,
                &["-cubin", &format!("-arch={arch}"), "-o", "k.cubin"],
            );
            let data = std::fs::read(at.join("k.cubin")).expect("read");
            let cubin = Cubin::parse("k.cubin", 0, &data).expect("parsed");
            let listed = listed_reads(&run(tool("nvdisasm"), at, &["-json", "k.cubin"]));
            for entry in &cubin.entries {
                let inside: BTreeSet<&str> = cubin
                    .symbols
                    .iter()
                    .filter(|s| s.section == entry.section)
                    .map(|s| s.name.as_str())
                    .collect();
                let theirs: BTreeSet<_> = listed
                    .iter()
                    .filter(|(name, _)| inside.contains(name.as_str()))
                    .flat_map(|(_, reads)| reads.iter().copied())
                    .collect();
                let ours: BTreeSet<_> =
                    sass::hash::constant_reads(cubin.sections[entry.section].data)
                        .map(|r| (r.bank, i64::from(r.offset), r.indexed))
                        .collect();
                // Instructions without such an operand can look like reads of bank 0, which is
                // the kernel's own and needs no following.
                assert!(
                    ours.is_superset(&theirs),
                    "{} of {source} for {arch}",
                    entry.symbol
                );
                assert!(
                    ours.difference(&theirs).all(|r| r.0 == 0),
                    "{ours:?} {theirs:?}"
                );
                module_reads += ours.iter().filter(|r| r.0 >= 3).count();
            }
        }
    }
    assert!(module_reads > 100, "{module_reads}");
}

#[test]
fn a_bad_disassembler_is_an_error_that_names_it() {
    let dir = folder();
    compile(
        dir.path(),
        "linkage.cu",
        &["-cubin", "-arch=sm_90", "-o", "k.cubin"],
    );
    let input = [sass::InspectInput {
        path: dir.path().join("k.cubin"),
        name: "k.cubin".to_owned(),
    }];
    for program in ["/bin/false", "/bin/echo", "/nonexistent/nvdisasm"] {
        let options = sass::Options {
            nvdisasm: Some(program.into()),
            ..sass::Options::default()
        };
        let error = sass::inspect_files(&input, &options)
            .expect_err(program)
            .to_string();
        assert!(
            error.contains(program) && error.contains("k.cubin"),
            "{error}"
        );
    }
}
