//! The shared-memory bank model: how many wavefronts one warp's access takes, and how many of
//! them are conflicts.
//!
//! The rules were measured on an H200 (sm_90) and equal the per-op hardware counters
//! `l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{ld,st}` and
//! `l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{ld,st}`. Shared atomics, LDGSTS and
//! arbitration losses of a busy SM are not modelled.

use std::collections::BTreeSet;

/// Lanes of a warp.
pub const LANES: usize = 32;
/// Banks, each one 32-bit word wide.
const BANKS: usize = 32;
/// Bytes of one row that LDSM reads.
const ROW_BYTES: u32 = 16;

/// The form of a shared-memory instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// LDS of up to 32 bits a lane.
    Load32,
    /// LDS.64.
    Load64,
    /// LDS.128.
    Load128,
    /// STS of up to 32 bits a lane.
    Store32,
    /// STS.64.
    Store64,
    /// STS.128.
    Store128,
    /// LDSM.x1: lanes 0..8 give the row addresses.
    Matrix1,
    /// LDSM.x2: lanes 0..16.
    Matrix2,
    /// LDSM.x4: all lanes.
    Matrix4,
}

/// What an access costs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Cost {
    /// Passes through the shared-memory pipe.
    pub wavefronts: u32,
    /// Passes beyond the first of each group of lanes that is served together.
    pub conflicts: u32,
}

/// The cost of one warp instruction. `addresses` holds each lane's byte address, `None` for an
/// inactive lane; for LDSM the row addresses of the lanes that give one (others are ignored).
/// An access without an active lane costs nothing.
pub fn wavefronts(access: Access, addresses: &[Option<u32>; LANES]) -> Cost {
    let mut total = Cost::default();
    for group in groups(access, addresses) {
        let cost = group_cost(&addresses[group], bytes(access));
        total.wavefronts += cost;
        total.conflicts += cost.saturating_sub(1);
    }
    total
}

/// Bytes that a lane moves.
fn bytes(access: Access) -> u32 {
    match access {
        Access::Load32 | Access::Store32 => 4,
        Access::Load64 | Access::Store64 => 8,
        Access::Load128 | Access::Store128 => 16,
        Access::Matrix1 | Access::Matrix2 | Access::Matrix4 => ROW_BYTES,
    }
}

/// The groups of lanes that are served together.
fn groups(access: Access, addresses: &[Option<u32>; LANES]) -> Vec<std::ops::Range<usize>> {
    let (lanes, width) = match access {
        Access::Load32 | Access::Store32 => (LANES, 32),
        Access::Load64 if neighbours_share(addresses) => (LANES, 32),
        Access::Load64 | Access::Store64 => (LANES, 16),
        Access::Load128 if neighbours_share(addresses) => (LANES, 16),
        Access::Load128 | Access::Store128 => (LANES, 8),
        Access::Matrix1 => (8, 8),
        Access::Matrix2 => (16, 8),
        Access::Matrix4 => (LANES, 8),
    };
    (0..lanes).step_by(width).map(|i| i..i + width).collect()
}

/// Whether wide loads may merge: for all active lanes the lane one apart (or, for all, the lane
/// two apart) is inactive or reads the same address.
fn neighbours_share(addresses: &[Option<u32>; LANES]) -> bool {
    [1, 2].into_iter().any(|distance| {
        addresses.iter().enumerate().all(|(lane, address)| {
            let other = addresses[lane ^ distance];
            address.is_none() || other.is_none() || *address == other
        })
    })
}

/// The largest number of distinct words that fall into one bank.
fn group_cost(addresses: &[Option<u32>], bytes: u32) -> u32 {
    let words: BTreeSet<u32> = addresses
        .iter()
        .flatten()
        .flat_map(|address| {
            let first = address / 4;
            (0..bytes / 4).map(move |i| first.wrapping_add(i))
        })
        .collect();
    let mut per_bank = [0u32; BANKS];
    for word in words {
        per_bank[word as usize % BANKS] += 1;
    }
    per_bank.into_iter().max().unwrap_or(0)
}
