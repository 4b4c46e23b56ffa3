//! The patch series on real git, real g++ and real nvcc: its commits, its layouts, and the
//! figures that its claims rest on.

mod common;
#[path = "common/compiled.rs"]
mod compiled;
#[path = "common/cuda.rs"]
mod cuda;
#[path = "common/functions.rs"]
mod functions;

use std::path::Path;

use kernels::layout::{Pairs, Plane, scale_slot};
use kernels::series::PATCHES;

use common::{Result, apply, git, run};
use compiled::{Compiled, compile};
use functions::on_host;

#[test]
fn the_series_gives_the_recorded_commits() -> Result {
    let dir = apply(PATCHES)?;
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
    let dir = apply(PATCHES)?;
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
    let dir = apply(PATCHES)?;
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

#[test]
fn the_sources_place_the_plane_as_the_layouts_say() -> Result {
    for (steps, plane) in [(1, Plane::Rows), (2, Plane::Swizzled)] {
        let dir = apply(&PATCHES[..steps])?;
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
        let dir = apply(&PATCHES[..steps])?;
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

/// Compiles a file with one kernel, which has the file's name and no stack.
fn compile_one(dir: &Path, kernel: &str, arch: &str) -> Result<Compiled> {
    let mut kernels = compile(dir, kernel, arch)?;
    assert_eq!(
        kernels.len(),
        1,
        "one kernel a file, nothing left uninlined"
    );
    let compiled = kernels.remove(kernel).ok_or("no such kernel")?;
    assert_eq!(compiled.stack, 0, "{kernel} for {arch} has no stack");
    Ok(compiled)
}

const ARCHS: [&str; 2] = ["sm_121", "sm_90"];

#[test]
fn the_swizzle_changes_addresses_and_nothing_that_was_claimed_to_stay() -> Result {
    for arch in ARCHS {
        let base = compile_one(apply(&PATCHES[..1])?.path(), "ldsm_check", arch)?;
        let head = compile_one(apply(&PATCHES[..2])?.path(), "ldsm_check", arch)?;
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
        let base = compile_one(apply(&PATCHES[..2])?.path(), "scale_read", arch)?;
        let naive = compile_one(apply(&PATCHES[..3])?.path(), "scale_read", arch)?;
        let reverted = compile_one(apply(&PATCHES[..4])?.path(), "scale_read", arch)?;
        let regions = compile_one(apply(&PATCHES[..5])?.path(), "scale_read", arch)?;
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
