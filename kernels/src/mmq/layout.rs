//! Where the matrix products keep things in shared memory, and which addresses a warp touches at
//! a time. The planes of activations and of the words `d | ssum` are those of the stand-alone
//! kernels ([`Plane`], [`Pairs`]); who reads them is not: a lane of an `mma` owns the tokens
//! `lane / 4` and `lane / 4 + 8` of a group of 16, and the output rows `lane % 4 * 2` and the next.

use crate::layout::lanes;
pub use crate::layout::{Lanes, Pairs, Plane};

/// Tokens of a block of the wide kernels.
pub const WIDE_TOKENS: u32 = 128;
/// Tokens of a block of the narrow kernel.
pub const NARROW_TOKENS: u32 = 64;
/// Output rows of a block.
pub const ODS: u32 = 128;
/// Bytes from one row of expanded weights to the next in the wide kernels.
pub const WEIGHT_STRIDE: u32 = 48;
/// Warps of a block.
pub const WARPS: u32 = 8;

/// The row addresses of an `ldmatrix.x4` of 16 tokens; `row` is `chunk * tokens + token`.
pub fn act_fragment(plane: Plane, row: u32) -> Lanes {
    lanes(|lane| plane.offset(row + lane % 16, lane / 16))
}

/// The row addresses of an `ldmatrix.x4` of 16 expanded output rows; `row` is `chunk * 128 + od`.
pub fn weight_fragment(row: u32) -> Lanes {
    lanes(|lane| (row + lane / 16 * 8 + lane % 8) * WEIGHT_STRIDE + lane / 8 % 2 * 16)
}

/// Where 16 bytes of nibbles of an output row lie in the narrow kernel.
pub fn nibble_offset(row: u32, granule: u32) -> u32 {
    row * 128 + ((granule ^ row) % 8) * 16
}

/// The row addresses of an `ldmatrix.x4` of 16 output rows' nibbles for the chunks `2 * pair` and
/// `2 * pair + 1`.
pub fn nibble_fragment(row: u32, pair: u32) -> Lanes {
    lanes(|lane| nibble_offset(row + lane / 16 * 8 + lane % 8, pair * 2 + lane / 8 % 2))
}

/// The 8-byte loads of the activations' scales in the wide kernels, for the group that begins at
/// `token`.
pub fn act_terms(token: u32) -> Lanes {
    lanes(|lane| (token + lane / 4) * 8)
}

/// The 16-byte loads of the weights' scales, for the eight output rows that begin at `od`.
pub fn weight_terms(od: u32) -> Lanes {
    lanes(|lane| (od + lane % 4 * 2) * 8)
}

/// The loads with which a warp of the narrow kernel reads its words `d | ssum` of a chunk.
pub fn pair_loads(layout: Pairs, chunk: u32) -> Vec<Lanes> {
    let step = layout.load_bytes() / 8;
    (0..4)
        .step_by(step as usize)
        .map(|group| lanes(|lane| layout.word(chunk, group, lane / 4, 0) * 4))
        .collect()
}

/// The 4-byte stores with which warp `warp` stages four rows of the plane: those that follow `row`
/// by `warp * 4`.
pub fn act_staging(plane: Plane, warp: u32, row: u32) -> Lanes {
    lanes(|lane| plane.offset(row + warp * 4 + lane / 8, lane % 8 / 4) + lane % 4 * 4)
}

/// The 16-byte stores of expanded weights: eight output rows from `row` on, the low or the high
/// nibbles of the granules `granule` to `granule + 3`.
pub fn weight_staging(row: u32, granule: u32, high: u32) -> Lanes {
    lanes(|lane| {
        let at = granule + lane / 8;
        ((at / 2 * 2 + high) * ODS + row + lane % 8) * WEIGHT_STRIDE + at % 2 * 16
    })
}

/// The 16-byte stores of nibbles: eight output rows from `row` on, four granules of each from
/// `granule` on.
pub fn nibble_staging(row: u32, granule: u32) -> Lanes {
    lanes(|lane| {
        let at = row + lane / 4 % 2 * 4 + lane / 8;
        nibble_offset(at, granule + lane % 4)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use sass::bank::{Access, wavefronts};

    use super::*;

    fn conflicts(addresses: &Lanes, access: Access) -> u32 {
        wavefronts(access, &addresses.map(Some)).conflicts
    }

    /// Conflicts of all loads of a wide block in one chunk, by the warps' shape before r17.
    fn wide_loads(plane: Plane, chunk: u32) -> u32 {
        let mut sum = 0;
        for warp in 0..WARPS {
            for group in 0..8 {
                let row = chunk * WIDE_TOKENS + group * 16;
                sum += conflicts(&act_fragment(plane, row), Access::Matrix4);
                sum += conflicts(&act_terms(group * 16), Access::Load64);
                sum += conflicts(&act_terms(group * 16 + 8), Access::Load64);
            }
            let od = warp * 16;
            sum += conflicts(&weight_fragment(chunk * ODS + od), Access::Matrix4);
            sum += conflicts(&weight_terms(od), Access::Load128);
            sum += conflicts(&weight_terms(od + 8), Access::Load128);
        }
        sum
    }

    /// The op_ld figure of r22: q_proj has 28 x 21 blocks of 112 chunks.
    #[test]
    fn the_plane_of_rows_pays_what_the_campaign_counted_and_the_swizzle_nothing() {
        let blocks = 28 * 21;
        let total = |plane| (0..112).map(|c| wide_loads(plane, c % 8)).sum::<u32>() * blocks;
        assert_eq!(total(Plane::Rows), 16_859_136);
        assert_eq!(total(Plane::Swizzled), 0);
    }

    #[test]
    fn the_swizzle_does_not_change_what_stores_cost() {
        for n in 0..8 * 4 * WARPS {
            let (warp, row) = (n % WARPS, n / WARPS * 32);
            for plane in [Plane::Rows, Plane::Swizzled] {
                let stores = act_staging(plane, warp, row);
                assert_eq!(conflicts(&stores, Access::Store32), 0, "{plane:?}");
            }
        }
    }

    #[test]
    fn expanded_weights_are_stored_and_loaded_without_conflicts() {
        for row in (0..8 * ODS).step_by(16) {
            assert_eq!(conflicts(&weight_fragment(row), Access::Matrix4), 0);
        }
        for row in (0..ODS).step_by(8) {
            for (granule, high) in [(0, 0), (4, 0), (0, 1), (4, 1)] {
                let stores = weight_staging(row, granule, high);
                assert_eq!(conflicts(&stores, Access::Store128), 0);
            }
        }
    }

    #[test]
    fn nibbles_are_a_permutation_stored_and_loaded_without_conflicts() {
        let places: BTreeSet<u32> = (0..ODS * 8).map(|n| nibble_offset(n / 8, n % 8)).collect();
        assert_eq!(places.len() as u32, ODS * 8);
        assert_eq!(places.last(), Some(&(ODS * 128 - 16)));
        for warp in 0..WARPS {
            for pair in 0..4 {
                let loads = nibble_fragment(warp * 16, pair);
                assert_eq!(conflicts(&loads, Access::Matrix4), 0);
                let stores = nibble_staging(warp * 8 + pair / 2 * 64, pair % 2 * 4);
                assert_eq!(conflicts(&stores, Access::Store128), 0);
            }
        }
    }

    /// Without the permutation all eight rows that ldmatrix reads at a time begin in one bank.
    #[test]
    fn nibbles_in_plain_rows_would_conflict() {
        let plain = lanes(|lane| (lane / 16 * 8 + lane % 8) * 128 + lane / 8 % 2 * 16);
        assert_eq!(conflicts(&plain, Access::Matrix4), 4 * 7);
    }

    #[test]
    fn the_narrow_plane_of_activations_has_no_conflicts() {
        for row in (0..8 * NARROW_TOKENS).step_by(16) {
            let loads = act_fragment(Plane::Swizzled, row);
            assert_eq!(conflicts(&loads, Access::Matrix4), 0);
        }
        for chunk in 0..8 {
            for warp in 0..WARPS {
                for row in [0, 32] {
                    let row = chunk * NARROW_TOKENS + row;
                    let stores = act_staging(Plane::Swizzled, warp, row);
                    assert_eq!(conflicts(&stores, Access::Store32), 0);
                }
            }
        }
    }

    /// The campaign blamed the naive layout's +0.57 % on 2-way conflicts of its loads, as eight
    /// lanes with eight different q would have. In the kernel four neighbouring lanes share a q:
    /// the hardware serves 16 lanes at a time, and their four addresses, 32 bytes apart, lie in
    /// different banks. (`scale_read`, whose lanes have eight different q, shows the conflicts.)
    #[test]
    fn no_layout_of_pairs_conflicts_where_four_lanes_share_a_token() {
        for (layout, access) in [
            (Pairs::Slots, Access::Load64),
            (Pairs::QMajor, Access::Load128),
            (Pairs::Regions, Access::Load128),
        ] {
            for chunk in 0..8 {
                for loads in pair_loads(layout, chunk) {
                    assert_eq!(conflicts(&loads, access), 0, "{layout:?}");
                }
            }
        }
        let wavefronts = |layout, access| {
            let loads = pair_loads(layout, 0);
            let costs = loads
                .iter()
                .map(|l| wavefronts(access, &l.map(Some)).wavefronts);
            costs.sum::<u32>()
        };
        assert_eq!(wavefronts(Pairs::Slots, Access::Load64), 4);
        assert_eq!(wavefronts(Pairs::QMajor, Access::Load128), 4);
        assert_eq!(wavefronts(Pairs::Regions, Access::Load128), 4);
    }

    #[test]
    fn only_the_regions_are_staged_without_conflicts() {
        for (layout, expected) in [(Pairs::Slots, 1), (Pairs::QMajor, 1), (Pairs::Regions, 0)] {
            for n in 0..16 {
                let stores = layout.staging(n / 2, n % 2);
                assert_eq!(conflicts(&stores, Access::Store32), expected, "{layout:?}");
            }
        }
    }
}
