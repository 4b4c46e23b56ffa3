//! The bank model against hardware counters of an H200.
//!
//! `data/h200_shared_bank.csv` was recorded with Nsight Compute 2025.3.1 on an H200 (sm_90) and
//! comes from the project's `shared/hw/`: one single-warp access a row, with the counters
//! `l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{ld,st}`,
//! `l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{ld,st}` and each lane's byte offset (-1: inactive).

use sass::bank::{Access, Cost, wavefronts};

const ROWS: &str = include_str!("data/h200_shared_bank.csv");

fn access(name: &str) -> (Access, bool) {
    match name {
        "lds.32" => (Access::Load32, true),
        "lds.64" => (Access::Load64, true),
        "lds.128" => (Access::Load128, true),
        "sts.32" => (Access::Store32, false),
        "sts.64" => (Access::Store64, false),
        "sts.128" => (Access::Store128, false),
        "ldsm.1" => (Access::Matrix1, true),
        "ldsm.2" => (Access::Matrix2, true),
        "ldsm.4" => (Access::Matrix4, true),
        _ => panic!("unknown access {name}"),
    }
}

#[test]
fn equals_the_counters_in_every_row() {
    let mut rows = 0;
    for line in ROWS.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |i: usize| fields[i].parse::<i64>().expect("a number");
        let (access, is_load) = access(fields[1]);
        let columns = if is_load { (2, 4) } else { (3, 5) };
        let mut addresses = [None; 32];
        for (lane, address) in addresses.iter_mut().enumerate() {
            *address = u32::try_from(number(6 + lane)).ok();
        }
        let counted = (number(columns.0), number(columns.1));
        let cost = wavefronts(access, &addresses);
        assert_eq!(
            (cost.wavefronts.into(), cost.conflicts.into()),
            counted,
            "{line}"
        );
        rows += 1;
    }
    assert_eq!(rows, 210);
}

fn lanes(address: impl Fn(u32) -> u32) -> [Option<u32>; 32] {
    std::array::from_fn(|lane| Some(address(lane as u32)))
}

#[test]
fn knows_the_textbook_cases() {
    let cost = |wavefronts, conflicts| Cost {
        wavefronts,
        conflicts,
    };
    assert_eq!(wavefronts(Access::Load32, &lanes(|l| 4 * l)), cost(1, 0));
    assert_eq!(
        wavefronts(Access::Load32, &lanes(|l| 128 * l)),
        cost(32, 31)
    );
    assert_eq!(wavefronts(Access::Load32, &lanes(|_| 64)), cost(1, 0));
    assert_eq!(wavefronts(Access::Load32, &[None; 32]), cost(0, 0));
    assert_eq!(wavefronts(Access::Load64, &lanes(|l| 8 * l)), cost(2, 0));
    assert_eq!(
        wavefronts(Access::Load64, &lanes(|l| 8 * (l / 2))),
        cost(1, 0)
    );
    assert_eq!(
        wavefronts(Access::Store64, &lanes(|l| 8 * (l / 2))),
        cost(2, 0)
    );
    // Rows 32 bytes apart: every fourth row meets the same banks; swizzled they do not.
    assert_eq!(wavefronts(Access::Matrix1, &lanes(|l| 32 * l)), cost(2, 1));
    assert_eq!(wavefronts(Access::Matrix4, &lanes(|l| 16 * l)), cost(4, 0));
    assert_eq!(
        wavefronts(Access::Load32, &lanes(|l| u32::MAX - l)),
        cost(1, 0)
    );
}
