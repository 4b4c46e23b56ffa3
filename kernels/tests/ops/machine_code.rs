//! What nvcc makes of the kernels, for every architecture.

use std::collections::BTreeSet;

use crate::common::Result;
use crate::compiled::compile;
use crate::{SOURCES, repository, source};

/// Kernels that divide: the special function units give them the first guess.
const DIVIDING: [&str; 11] = [
    "rms_norm",
    "rope",
    "swiglu",
    "geglu",
    "attention_hd64",
    "attention_hd128",
    "attention_hd256",
    "attention_decode_hd64",
    "attention_decode_hd128",
    "attention_decode_hd256",
    "quantise_q8",
];

/// No results from the special function units, no spills, and registers for two blocks an SM.
fn are_as_meant(archs: &[&str]) -> Result {
    let dir = repository()?;
    let files: BTreeSet<&str> = SOURCES.iter().map(|(_, (file, _))| *file).collect();
    for arch in archs {
        for file in &files {
            for (name, kernel) in compile(dir.path(), file, arch)? {
                let at = format!("{name} for {arch}");
                assert!(source(&name).is_some(), "{at}");
                assert_eq!(kernel.stack, 0, "{at}");
                assert_eq!(kernel.count("STL") + kernel.count("LDL"), 0, "{at}");
                assert!(kernel.registers <= 128, "{at}: {}", kernel.registers);
                let guesses = kernel.count("MUFU.RCP") + kernel.count("MUFU.RSQ");
                assert_eq!(kernel.count("MUFU"), guesses, "{at}");
                assert!(guesses == 0 || DIVIDING.contains(&name.as_str()), "{at}");
                println!(
                    "{at}: {} registers, {} bytes",
                    kernel.registers, kernel.smem
                );
            }
        }
    }
    Ok(())
}

#[test]
fn nvcc_makes_the_kernels_as_they_are_meant_for_8_x() -> Result {
    are_as_meant(&["sm_80", "sm_86", "sm_89"])
}

#[test]
fn nvcc_makes_the_kernels_as_they_are_meant_for_9_0_and_12_x() -> Result {
    are_as_meant(&["sm_90", "sm_120", "sm_121"])
}
