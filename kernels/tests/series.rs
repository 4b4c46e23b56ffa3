//! The patch series on real git, real g++ and real nvcc: its commits, its layouts, and the
//! figures that its claims rest on.

mod common;
#[path = "common/cuda.rs"]
mod cuda;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use kernels::layout::{Pairs, Plane, scale_slot};
use kernels::series::PATCHES;
use tempfile::TempDir;

use common::{Result, apply, git, run};
use cuda::{cuda_bin, make};

#[test]
fn the_series_gives_the_recorded_commits() -> Result {
    let dir = apply(PATCHES.len())?;
    let log = run(git(dir.path()).args(["rev-list", "--reverse", "HEAD"]))?;
    let expected: Vec<&str> = PATCHES.iter().map(|p| p.commit).collect();
    assert_eq!(log.lines().collect::<Vec<_>>(), expected);
    let authors = run(git(dir.path()).args(["log", "--format=%an <%ae> %cn <%ce> %at-%ct"]))?;
    for line in authors.lines() {
        let times = line
            .strip_prefix(
                "Roundhouse <demo@roundhouse.invalid> Roundhouse <demo@roundhouse.invalid> ",
            )
            .and_then(|times| times.split_once('-'))
            .ok_or_else(|| format!("identity of `{line}`"))?;
        assert_eq!(times.0, times.1, "committed when authored");
    }
    Ok(())
}

#[test]
fn the_revert_names_the_commit_before_it_and_restores_its_parent() -> Result {
    let dir = apply(PATCHES.len())?;
    let message = run(git(dir.path()).args(["log", "-1", "--format=%B", PATCHES[3].commit]))?;
    let line = format!("This reverts commit {}.", PATCHES[2].commit);
    assert!(message.lines().any(|l| l == line), "{message}");
    let tree = |n: usize| {
        let name = format!("{}^{{tree}}", PATCHES[n].commit);
        run(git(dir.path()).args(["rev-parse", &name]))
    };
    assert_eq!(tree(3)?, tree(1)?);
    Ok(())
}

#[test]
fn levers_register_before_they_are_measured() -> Result {
    let dir = apply(PATCHES.len())?;
    let trailer = |n: usize, key: &str| {
        let format = format!("--format=%(trailers:key={key},valueonly,unfold)");
        run(git(dir.path()).args(["log", "-1", &format, PATCHES[n].commit]))
    };
    for (n, round) in [(1, "r22"), (2, "r31"), (4, "r31")] {
        assert_eq!(trailer(n, "Round")?.trim(), round);
        for key in ["Lever", "Hypothesis", "Bar", "Claim"] {
            assert!(!trailer(n, key)?.trim().is_empty(), "{key} of {n}");
        }
    }
    assert_eq!(
        trailer(3, "Round")?.trim(),
        "r31",
        "the revert is booked under its round"
    );
    assert!(trailer(4, "Claim")?.contains("smem scale_read 45,056 -> 43,008\n"));
    let changed =
        run(git(dir.path()).args(["show", "--name-only", "--format=", PATCHES[5].commit]))?;
    assert_eq!(changed.trim(), "README.md", "the last step changes no code");
    Ok(())
}

/// The text of a function in a CUDA source, with the words that g++ does not know left out.
fn function(source: &str, name: &str) -> Result<String> {
    let start = source
        .find(&format!("int {name}("))
        .ok_or_else(|| format!("no function `{name}`"))?;
    let length = source[start..]
        .find("\n}")
        .ok_or("no end of the function")?;
    Ok(source[start..start + length + 2].to_owned())
}

/// Compiles functions and constants of a source for the host and gives what `body` prints.
fn on_host(source: &str, functions: &[&str], body: &str) -> Result<Vec<u32>> {
    let dir = TempDir::new()?;
    let constants: String = source
        .lines()
        .filter(|l| l.starts_with("constexpr int"))
        .map(|l| format!("{l}\n"))
        .collect();
    let functions: Vec<String> = functions
        .iter()
        .map(|name| function(source, name))
        .collect::<Result<_>>()?;
    let program = format!(
        "#include <cstdio>\n{constants}\n{}\nint main() {{ {body} }}\n",
        functions.join("\n")
    );
    let (file, binary) = (dir.path().join("host.cpp"), dir.path().join("host"));
    std::fs::write(&file, program)?;
    run(Command::new("g++")
        .args(["-std=c++17", "-o"])
        .arg(&binary)
        .arg(&file))?;
    let printed = run(&mut Command::new(&binary))?;
    Ok(printed
        .lines()
        .map(str::parse)
        .collect::<std::result::Result<_, _>>()?)
}

#[test]
fn the_sources_place_the_plane_as_the_layouts_say() -> Result {
    for (steps, plane) in [(1, Plane::Rows), (2, Plane::Swizzled)] {
        let dir = apply(steps)?;
        let source = std::fs::read_to_string(dir.path().join("kernels/ldsm_check.cu"))?;
        let body = r#"for (int row = 0; row < kChunks * kTokens; ++row)
            for (int half = 0; half < 2; ++half) std::printf("%d\n", granule_offset(row, half));"#;
        let expected: Vec<u32> = (0..1024)
            .flat_map(|row| [plane.offset(row, 0), plane.offset(row, 1)])
            .collect();
        assert_eq!(
            on_host(&source, &["granule_offset"], body)?,
            expected,
            "{plane:?}"
        );
    }
    Ok(())
}

#[test]
fn the_sources_place_the_scales_as_the_layouts_say() -> Result {
    let steps = [
        (1, Pairs::Slots),
        (3, Pairs::QMajor),
        (4, Pairs::Slots),
        (5, Pairs::Regions),
    ];
    for (steps, layout) in steps {
        let dir = apply(steps)?;
        let source = std::fs::read_to_string(dir.path().join("kernels/scale_read.cu"))?;
        let body = r#"std::printf("%d\n", kPairWords * 4);
            for (int chunk = 0; chunk < kChunks; ++chunk)
            for (int pair = 0; pair < kPairs; ++pair) for (int q = 0; q < 8; ++q)
            for (int half = 0; half < 2; ++half) std::printf("%d\n", pair_word(chunk, pair, q, half));
            for (int od = 0; od < kOds; ++od) std::printf("%d\n", scale_slot(od));"#;
        let mut expected = vec![layout.plane_bytes()];
        for n in 0..8 * 64 {
            expected.push(layout.word(n / 64, n / 16 % 4, n / 2 % 8, n % 2));
        }
        expected.extend((0..128).map(scale_slot));
        let printed = on_host(&source, &["pair_word", "scale_slot"], body)?;
        assert_eq!(printed, expected, "{layout:?}");
    }
    Ok(())
}

/// What a kernel was compiled to.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Compiled {
    code: String,
    opcodes: BTreeMap<String, u64>,
    smem: u64,
    registers: u64,
}

impl Compiled {
    /// Instructions of an opcode, whatever its further modifiers.
    fn count(&self, opcode: &str) -> u64 {
        let of = |name: &str| {
            name.strip_prefix(opcode)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        self.opcodes
            .iter()
            .filter(|(name, _)| of(name))
            .map(|(_, n)| n)
            .sum()
    }
}

/// A `KEY:number` in cuobjdump's words.
fn usage(text: &str, key: &str) -> Result<u64> {
    let found = text
        .split_whitespace()
        .find_map(|word| word.strip_prefix(key)?.strip_prefix(':'));
    Ok(found
        .ok_or_else(|| format!("no {key} in {text}"))?
        .parse()?)
}

fn compile(dir: &Path, kernel: &str, arch: &str) -> Result<Compiled> {
    let bin = cuda_bin();
    make(dir, arch, &format!("build/{kernel}.{arch}.cubin"))?;
    let cubin = dir.join(format!("build/{kernel}.{arch}.cubin"));
    let json = run(Command::new(bin.join("nvdisasm")).arg("-json").arg(&cubin))?;
    let parsed: serde_json::Value = serde_json::from_str(&json)?;
    let usages = run(Command::new(bin.join("cuobjdump"))
        .arg("-res-usage")
        .arg(&cubin))?;
    assert_eq!(
        usage(&usages, "STACK")?,
        0,
        "{kernel} for {arch} has no stack"
    );
    let mut compiled = Compiled {
        code: String::new(),
        opcodes: BTreeMap::new(),
        smem: usage(&usages, "SHARED")?.saturating_sub(1024),
        registers: usage(&usages, "REG")?,
    };
    let functions = parsed[1].as_array().ok_or("no functions")?;
    assert_eq!(
        functions.len(),
        1,
        "one kernel a file, nothing left uninlined"
    );
    for instruction in functions[0]["sass-instructions"]
        .as_array()
        .ok_or("no code")?
    {
        let opcode = instruction["opcode"].as_str().ok_or("no opcode")?;
        *compiled.opcodes.entry(opcode.to_owned()).or_default() += 1;
        compiled.code.push_str(&instruction.to_string());
    }
    Ok(compiled)
}

const ARCHS: [&str; 2] = ["sm_121", "sm_90"];

#[test]
fn the_swizzle_changes_addresses_and_nothing_that_was_claimed_to_stay() -> Result {
    for arch in ARCHS {
        let base = compile(apply(1)?.path(), "ldsm_check", arch)?;
        let head = compile(apply(2)?.path(), "ldsm_check", arch)?;
        for side in [&base, &head] {
            assert_eq!(side.count("LDSM"), 64, "{arch}");
            assert_eq!(side.count("IMMA"), 64, "{arch}");
            assert_eq!(side.smem, 32_768, "{arch}");
            assert_eq!(side.count("STL") + side.count("LDL"), 0, "{arch}");
        }
        assert_ne!(base.code, head.code, "the lever is in the code for {arch}");
    }
    Ok(())
}

#[test]
fn r31_turns_narrow_scale_loads_into_wide_ones() -> Result {
    for arch in ARCHS {
        let base = compile(apply(2)?.path(), "scale_read", arch)?;
        let naive = compile(apply(3)?.path(), "scale_read", arch)?;
        let reverted = compile(apply(4)?.path(), "scale_read", arch)?;
        let regions = compile(apply(5)?.path(), "scale_read", arch)?;
        let figures = |side: &Compiled| (side.count("LDS.64"), side.count("LDS.128"), side.smem);
        assert_eq!(figures(&base), (32, 16, 45_056), "{arch}");
        assert_eq!(figures(&naive), (0, 32, 43_008), "{arch}");
        assert_eq!(figures(&regions), (0, 32, 43_008), "{arch}");
        assert_eq!(base, reverted, "{arch}");
        assert_ne!(naive.code, regions.code, "{arch}");
        for side in [&base, &naive, &regions] {
            assert_eq!(side.count("STL") + side.count("LDL"), 0, "{arch}");
            assert!(
                side.registers <= base.registers.min(128),
                "two blocks of 256 fit"
            );
            assert_eq!(
                side.opcodes.get("LDS"),
                Some(&640),
                "the values' own loads stay, {arch}"
            );
        }
    }
    Ok(())
}
