//! What small programs find out about the sources, compiled together with them.

use std::collections::BTreeMap;

use sass::bank::{Access, wavefronts};

use crate::common::Result;
use crate::{emulate, repository};

/// What a program of `tests/host` prints that includes the kernels' sources.
fn printed(program: &str) -> Result<String> {
    let dir = emulate::sources_for_host(repository()?.path())?;
    emulate::run_text(dir.path(), program)
}

#[test]
fn the_exponential_is_as_exact_as_it_says() -> Result {
    let printed = printed(include_str!("../host/exponential.cpp"))?;
    let numbers: Vec<i32> = printed
        .split_whitespace()
        .map(str::parse)
        .collect::<std::result::Result<_, _>>()?;
    let (worst, special) = numbers.split_first().ok_or("nothing printed")?;
    assert!((1..200).contains(worst), "{worst}e-9");
    assert_eq!(special, [1; 6]);
    Ok(())
}

/// A token that argmax gives for NaN, values of which none is finite, and q8 blocks with NaN, an
/// infinity, and values too small for f16.
#[test]
fn special_values_give_what_the_kernels_say() -> Result {
    let printed = printed(&format!(
        "#define HOST_THREADS 1024\n{}",
        include_str!("../host/special.cpp")
    ))?;
    assert_eq!(printed, "1\n".repeat(7));
    Ok(())
}

/// By the addresses that the sources compute, for the loads and stores of attention's inner loops
/// and for the staging of its tiles.
#[test]
fn attention_has_no_bank_conflicts() -> Result {
    let printed = printed(include_str!("../host/attention_banks.cpp"))?;
    let mut wavefronts_of = BTreeMap::new();
    for line in printed.lines() {
        let mut words = line.split_whitespace();
        let what = words.next().ok_or("an empty line")?;
        let addresses: Vec<u32> = words
            .map(str::parse)
            .collect::<std::result::Result<_, _>>()?;
        let addresses: [u32; 32] = addresses.try_into().map_err(|_| "32 lanes")?;
        let access = match what {
            "load" => Access::Load128,
            "store" => Access::Store128,
            "scatter" => Access::Store32,
            _ => return Err(line.into()),
        };
        let cost = wavefronts(access, &addresses.map(Some));
        assert_eq!(cost.conflicts, 0, "{line}");
        wavefronts_of.insert(what.to_owned(), cost.wavefronts);
    }
    // Lanes that share an address, side by side, halve the four wavefronts of a 16-byte load.
    let expected = [("load", 2), ("scatter", 1), ("store", 4)];
    let expected = expected.map(|(what, n)| (what.to_owned(), n));
    assert_eq!(wavefronts_of, BTreeMap::from(expected));
    Ok(())
}
