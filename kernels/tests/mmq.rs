//! The series of the matrix products on real git, real g++ and real nvcc: its commits, what its
//! kernels compute at every step, its layouts, and the figures that its claims rest on.
//!
//! The kernels run on the CPU here; `gpu.rs` is the test on real hardware.

mod common;
#[path = "common/compiled.rs"]
mod compiled;
#[path = "common/cuda.rs"]
mod cuda;
#[path = "common/emulate.rs"]
mod emulate;
#[path = "common/functions.rs"]
mod functions;

use std::path::Path;

use common::{Result, apply, git, run};
use compiled::compile;
use emulate::run_on_host;
use functions::on_host;
use kernels::catalogue::{BENCHES, PARITY, find};
use kernels::harness::PREFILL;
use kernels::mmq::layout::{Pairs, Plane, nibble_offset};
use kernels::mmq::{Product, Quantise, Shape, Tile};
use kernels::series::MMQ_PATCHES;
use kernels::standalone::{Figures, Problem, Size};

/// Steps by what they are, as numbers of patches.
const BASELINE: usize = 1;
const REMAP: usize = 2;
const FOLD: usize = 4;
const SWIZZLE: usize = 6;
const NARROW: usize = 7;
const Q_MAJOR: usize = 8;
const REGIONS: usize = 10;

fn step(count: usize) -> Result<tempfile::TempDir> {
    apply(&MMQ_PATCHES[..count])
}

#[test]
fn the_series_gives_the_recorded_commits() -> Result {
    let dir = apply(MMQ_PATCHES)?;
    let log = run(git(dir.path()).args(["rev-list", "--reverse", "HEAD"]))?;
    let expected: Vec<&str> = MMQ_PATCHES.iter().map(|p| p.commit).collect();
    assert_eq!(log.lines().collect::<Vec<_>>(), expected);
    Ok(())
}

#[test]
fn reverts_name_the_commit_before_them_and_restore_its_parent() -> Result {
    let dir = apply(MMQ_PATCHES)?;
    let tree = |n: usize| {
        let name = format!("{}^{{tree}}", MMQ_PATCHES[n - 1].commit);
        run(git(dir.path()).args(["rev-parse", &name]))
    };
    for lever in [REMAP, FOLD, Q_MAJOR] {
        let commit = MMQ_PATCHES[lever].commit;
        let message = run(git(dir.path()).args(["log", "-1", "--format=%B", commit]))?;
        let line = format!("This reverts commit {}.", MMQ_PATCHES[lever - 1].commit);
        assert!(message.lines().any(|l| l == line), "{message}");
        assert_eq!(tree(lever + 1)?, tree(lever - 1)?);
    }
    Ok(())
}

#[test]
fn levers_carry_what_the_campaign_registered() -> Result {
    let dir = apply(MMQ_PATCHES)?;
    let trailer = |n: usize, key: &str| {
        let format = format!("--format=%(trailers:key={key},valueonly,unfold)");
        run(git(dir.path()).args(["log", "-1", &format, MMQ_PATCHES[n - 1].commit]))
    };
    let rounds = [
        (REMAP, "r17", "sass mmq_wide_kd8 LDSM 72 -> 48"),
        (FOLD, "r22", ""),
        (
            SWIZZLE,
            "r22",
            "counter mmq_wide_kd4 ldsm_conflicts_sass 16,859,136 -> 0",
        ),
        (Q_MAJOR, "r31", "smem mmq_nb 45,056 -> 43,008"),
        (REGIONS, "r31", "regs mmq_nb 111 -> 109"),
    ];
    for (n, round, claim) in rounds {
        assert_eq!(trailer(n, "Round")?.trim(), round);
        for key in ["Lever", "Hypothesis", "Bar"] {
            assert!(!trailer(n, key)?.trim().is_empty(), "{key} of {n}");
        }
        let claims = trailer(n, "Claim")?;
        assert!(
            claim.is_empty() || claims.lines().any(|c| c == claim),
            "{claims}"
        );
    }
    for lever in [REMAP, FOLD, Q_MAJOR] {
        assert_eq!(trailer(lever + 1, "Round")?, trailer(lever, "Round")?);
        assert!(!trailer(lever + 1, "Retry-When")?.trim().is_empty());
    }
    Ok(())
}

/// What the runner reads: no trailer is misread, and the config asks for what the harness has.
#[test]
fn the_runner_reads_every_registration_and_config() -> Result {
    let dir = apply(MMQ_PATCHES)?;
    for (n, patch) in MMQ_PATCHES.iter().enumerate() {
        let show = |what: &str| {
            let name = format!("{}:{what}", patch.commit);
            run(git(dir.path()).args(["show", &name]))
        };
        let config = runner::config::parse(&show("campaign.toml")?, patch.file)?;
        let message = run(git(dir.path()).args(["log", "-1", "--format=%B", patch.commit]))?;
        let registration = runner::registration::from_commit(&message, &config);
        assert_eq!(registration.errors, [""; 0], "{}", patch.file);
        assert_eq!(registration.round.is_some(), n != 0 && n + 1 != NARROW);
        for case in &config.parity {
            assert!(find(PARITY, &case.name).is_some(), "{}", case.name);
        }
        for bench in &config.benches {
            let known = bench.name == PREFILL || find(BENCHES, &bench.name).is_some();
            assert!(known, "{}", bench.name);
        }
        for tile in WIDE {
            let facts = config
                .kernels
                .iter()
                .find(|k| k.name.contains(tile.kernel()));
            let facts = facts.ok_or_else(|| format!("no launch of {}", tile.kernel()))?;
            assert_eq!(facts.dynamic_smem, tile.dynamic_smem());
        }
    }
    Ok(())
}

fn run_product(dir: &Path, problem: &Product) -> Result<(Figures, bool)> {
    let source = match problem.kernel() {
        "mmq_nb" => "mmq_nb.cu",
        _ => "mmq_wide.cu",
    };
    run_on_host(dir, source, problem, &["uint32_t", "uint4", "float"])
}

fn is_right(steps: &[usize], tiles: &[Tile], make: fn(Tile, u64) -> Product) -> Result {
    for count in steps {
        let dir = step(*count)?;
        for tile in tiles {
            let (figures, passed) = run_product(dir.path(), &make(*tile, 11))?;
            println!("step {count}, {tile:?}: {figures}");
            assert!(passed, "step {count}, {tile:?}: {figures}");
        }
    }
    Ok(())
}

const WIDE: [Tile; 2] = [Tile::Wide4, Tile::Wide8];

#[test]
fn the_wide_kernels_are_right_at_every_step() -> Result {
    let steps = [BASELINE, REMAP, FOLD, SWIZZLE];
    is_right(&steps, &WIDE, Product::ragged)
}

#[test]
fn the_narrow_kernel_is_right_at_every_step() -> Result {
    let steps = [NARROW, Q_MAJOR, REGIONS];
    is_right(&steps, &[Tile::Narrow], Product::ragged)
}

#[test]
fn whole_tiles_are_right_in_the_end() -> Result {
    is_right(&[REGIONS], &Tile::ALL, Product::parity)
}

/// One row and one token of one super-block; more of each than a tile by one; the depth of three.
#[test]
fn edges_of_one_are_right() -> Result {
    fn least(tile: Tile, seed: u64) -> Product {
        let shape = Shape {
            ods: 1,
            tokens: 1,
            supers: 1,
        };
        Product::new(tile, shape, seed)
    }
    fn over(tile: Tile, seed: u64) -> Product {
        let shape = Shape {
            ods: 129,
            tokens: tile.tokens() + 1,
            supers: 3,
        };
        Product::new(tile, shape, seed)
    }
    is_right(&[REGIONS], &Tile::ALL, least)?;
    is_right(&[REGIONS], &Tile::ALL, over)
}

#[test]
fn the_quantiser_equals_its_reference_to_the_byte() -> Result {
    let dir = step(BASELINE)?;
    let problem = Quantise::new(Size::Parity, 11);
    let (figures, passed) =
        run_on_host(dir.path(), "quantise.cu", &problem, &["float4", "uint32_t"])?;
    assert!(passed, "{figures}");
    Ok(())
}

/// The tests above can fail: one fault in each of the places where layouts meet.
#[test]
fn a_slip_in_a_kernel_is_found() -> Result {
    let slips = [
        ("mmq_wide.cu", Tile::Wide4, "a_rows[g % 2]", "a_rows[0]"),
        ("mmq_wide.cu", Tile::Wide8, "p % 2 * 2 + 1]", "p % 2 * 2]"),
        (
            "mmq_wide.cu",
            Tile::Wide4,
            "stage_weight_terms(tile, super, in_super)",
            "stage_weight_terms(tile, super, 0)",
        ),
        (
            "q4k_q8.cuh",
            Tile::Wide8,
            "head.z >> 2 & 0x30303030",
            "head.z >> 4 & 0x30303030",
        ),
        ("q4k_q8.cuh", Tile::Narrow, "a.sum * w.sum", "0.0f"),
        (
            "mmq_nb.cu",
            Tile::Narrow,
            "act_terms(w.z)",
            "act_terms(w.y)",
        ),
        (
            "mmq_nb.cu",
            Tile::Narrow,
            "nibbles ^ pair * 2 * kGranule",
            "nibbles + pair * 2 * kGranule",
        ),
        (
            "mmq_nb.cu",
            Tile::Narrow,
            "terms[i].x *= nibble_scale(i)",
            "terms[i].x *= nibble_scale(0)",
        ),
    ];
    for (file, tile, right, wrong) in slips {
        let dir = step(REGIONS)?;
        let path = dir.path().join("kernels").join(file);
        let source = std::fs::read_to_string(&path)?;
        assert_eq!(source.matches(right).count(), 1, "{right}");
        std::fs::write(&path, source.replace(right, wrong))?;
        let (figures, passed) = run_product(dir.path(), &Product::ragged(tile, 11))?;
        assert!(!passed, "{wrong}: {figures}");
    }
    Ok(())
}

#[test]
fn the_sources_place_activations_as_the_layouts_say() -> Result {
    for (count, plane) in [(BASELINE, Plane::Rows), (SWIZZLE, Plane::Swizzled)] {
        let dir = step(count)?;
        let source = std::fs::read_to_string(dir.path().join("kernels/q4k_q8.cuh"))?;
        let body = r#"for (int row = 0; row < 1024; ++row)
            for (int half = 0; half < 2; ++half) std::printf("%d\n", granule_offset(row, half));"#;
        let expected: Vec<u32> = (0..1024)
            .flat_map(|row| [plane.offset(row, 0), plane.offset(row, 1)])
            .collect();
        let printed = on_host(&source, &["granule_offset"], body)?;
        assert_eq!(printed, expected, "{plane:?}");
    }
    Ok(())
}

#[test]
fn the_sources_place_pairs_and_nibbles_as_the_layouts_say() -> Result {
    let steps = [
        (NARROW, Pairs::Slots),
        (Q_MAJOR, Pairs::QMajor),
        (REGIONS, Pairs::Regions),
    ];
    for (count, layout) in steps {
        let dir = step(count)?;
        let read = |file: &str| std::fs::read_to_string(dir.path().join("kernels").join(file));
        let source = read("q4k_q8.cuh")? + &read("mmq_nb.cu")?;
        let body = r#"std::printf("%d\n", kPairWords * 4);
            for (int chunk = 0; chunk < kSuperChunks; ++chunk)
            for (int group = 0; group < kGroups; ++group) for (int q = 0; q < 8; ++q)
            for (int half = 0; half < 2; ++half) std::printf("%d\n", pair_word(chunk, group, q, half));
            for (int n = 0; n < kOds * 8; ++n) std::printf("%d\n", nibble_offset(n / 8, n % 8));"#;
        let mut expected = vec![layout.plane_bytes()];
        for n in 0..8 * 64 {
            expected.push(layout.word(n / 64, n / 16 % 4, n / 2 % 8, n % 2));
        }
        expected.extend((0..128 * 8).map(|n| nibble_offset(n / 8, n % 8)));
        let printed = on_host(&source, &["pair_word", "nibble_offset"], body)?;
        assert_eq!(printed, expected, "{layout:?}");
    }
    Ok(())
}

/// What the campaign's figures are counted on, and the H200's architecture.
const ARCHS: [&str; 2] = ["sm_121", "sm_90"];

#[test]
fn fragments_of_the_wide_kernels_are_those_of_the_campaign() -> Result {
    for arch in ARCHS {
        for (count, a_chunk) in [(BASELINE, 9), (REMAP, 6), (SWIZZLE, 9)] {
            let kernels = compile(step(count)?.path(), "mmq_wide", arch)?;
            for (name, chunks) in [("mmq_wide_kd4", 4), ("mmq_wide_kd8", 8)] {
                let kernel = &kernels[name];
                let at = format!("step {count}, {name} for {arch}");
                assert_eq!(kernel.count("LDSM"), a_chunk * chunks, "{at}");
                assert_eq!(kernel.count("IMMA"), 16 * chunks, "{at}");
                assert_eq!(kernel.smem, 0, "all of it is dynamic: {at}");
                assert_eq!(kernel.stack, 0, "{at}");
            }
        }
        let fold = compile(step(FOLD)?.path(), "mmq_wide", arch)?;
        let kd8 = &fold["mmq_wide_kd8"];
        assert_eq!(
            kd8.registers, 255,
            "the fold runs out of registers on {arch}"
        );
        assert!(kd8.count("STL") > 0, "and spills on {arch}");
    }
    Ok(())
}

#[test]
fn scale_reads_of_the_narrow_kernel_are_those_of_the_campaign() -> Result {
    for arch in ARCHS {
        let figures = |count: usize| -> Result<_> {
            let kernels = compile(step(count)?.path(), "mmq_nb", arch)?;
            let nb = &kernels["mmq_nb"];
            assert_eq!(nb.count("LDSM"), 36, "step {count} for {arch}");
            assert!(nb.registers <= 128, "two blocks of 256 threads");
            Ok((nb.count("LDS.64"), nb.count("LDS.128"), nb.smem, nb.stack))
        };
        let (narrow, wide, smem, _) = figures(NARROW)?;
        assert_eq!((narrow, wide, smem), (32, 16, 45_056), "{arch}");
        let (narrow, wide, smem, _) = figures(Q_MAJOR)?;
        assert_eq!((narrow, wide, smem), (0, 32, 43_008), "{arch}");
        assert_eq!(figures(REGIONS)?, (0, 32, 43_008, 0), "{arch}");
    }
    Ok(())
}

/// `ops.rs` compiles the other kernels.
#[test]
fn the_products_of_the_last_step_compile_for_every_architecture() -> Result {
    let dir = apply(MMQ_PATCHES)?;
    for arch in ["sm_80", "sm_86", "sm_89", "sm_90", "sm_120", "sm_121"] {
        for file in ["mmq_wide", "mmq_nb"] {
            cuda::make(dir.path(), arch, &format!("build/{file}.{arch}.cubin"))?;
        }
    }
    Ok(())
}
