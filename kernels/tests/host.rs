//! The demo's CUDA sources, compiled by g++ and run on the CPU, against the cases' references.
//!
//! This shows that every step of the series computes the right thing where there is no GPU. It
//! says nothing about speed, banks or nvcc; `gpu.rs` is the test on real hardware.

mod common;
#[path = "common/emulate.rs"]
mod emulate;

use std::path::Path;

use common::{Result, apply};
use kernels::series::PATCHES;
use kernels::standalone::{Case, Figures, Size};

fn pointers(case: Case) -> &'static [&'static str] {
    match case {
        Case::LdsmCheck => &["int8_t", "int8_t", "int32_t"],
        Case::ScaleRead => &["uint32_t", "uint32_t", "uint32_t", "uint4", "float"],
    }
}

fn run_on_host(repository: &Path, case: Case) -> Result<(Figures, bool)> {
    let problem = case.problem(Size::Parity, 11);
    let source = format!("{}.cu", case.name());
    emulate::run_on_host(repository, &source, problem.as_ref(), pointers(case))
}

#[test]
fn ldsm_check_is_exact_before_and_after_the_swizzle() -> Result {
    for step in [1, 2] {
        let (figures, passed) = run_on_host(apply(&PATCHES[..step])?.path(), Case::LdsmCheck)?;
        assert!(passed, "step {step}: {figures}");
        assert_eq!(figures.mismatches, 0);
    }
    Ok(())
}

#[test]
fn scale_read_is_right_in_all_three_layouts() -> Result {
    for step in [1, 3, 5] {
        let (figures, passed) = run_on_host(apply(&PATCHES[..step])?.path(), Case::ScaleRead)?;
        assert!(passed, "step {step}: {figures}");
        println!("step {step}: {figures}");
    }
    Ok(())
}

/// The tests above can fail: a swizzle that only the store knows of, and a word that is unpacked
/// into the wrong half, both show.
#[test]
fn a_layout_that_the_two_ends_do_not_share_is_found() -> Result {
    let dir = apply(&PATCHES[..5])?;
    for (case, right, wrong) in [
        (
            Case::LdsmCheck,
            "granule_offset(16 + (lane & 15), lane >> 4)",
            "granule_offset(lane & 15, lane >> 4)",
        ),
        (
            Case::ScaleRead,
            "unpack(s, pair + 1, 0, w.z)",
            "unpack(s, pair + 1, 0, w.w)",
        ),
    ] {
        let path = dir.path().join(format!("kernels/{}.cu", case.name()));
        let source = std::fs::read_to_string(&path)?;
        assert!(source.contains(right), "{right}");
        std::fs::write(&path, source.replace(right, wrong))?;
        let (figures, passed) = run_on_host(dir.path(), case)?;
        assert!(!passed, "{}: {figures}", case.name());
    }
    Ok(())
}
