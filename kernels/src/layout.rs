//! Where the demo's kernels keep things in shared memory, and which addresses a warp touches at
//! a time. The same formulas stand in the CUDA sources; a test compiles those and compares. What
//! the banks make of the addresses is not decided here.

/// Tokens of an `ldsm_check` block.
pub const LDSM_TOKENS: u32 = 128;
/// Bytes of a row of the plane: 32 q8 values.
pub const LDSM_ROW_BYTES: u32 = 32;
/// Chunks of 32 values in a k-tile.
pub const CHUNKS: u32 = 8;
/// Tokens of a `scale_read` block.
pub const SCALE_TOKENS: u32 = 64;

/// The byte addresses of a warp's lanes.
pub type Lanes = [u32; 32];

/// The plane of activations in `ldsm_check`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plane {
    /// Rows of 32 bytes, one after another (the baseline).
    Rows,
    /// Four rows to 128 bytes, their granules permuted by XOR (r22).
    Swizzled,
}

impl Plane {
    /// The offset of a half row of 16 bytes; `row` is `chunk * 128 + token`.
    pub fn offset(self, row: u32, half: u32) -> u32 {
        match self {
            Plane::Rows => row * LDSM_ROW_BYTES + half * 16,
            Plane::Swizzled => {
                let granule = ((row & 3) * 2 + half) ^ ((row >> 2) & 7);
                (row >> 2) * 128 + granule * 16
            }
        }
    }

    /// The row addresses that an `ldmatrix.x4` of fragment `group` (16 tokens) takes from the lanes.
    pub fn fragment(self, chunk: u32, group: u32) -> Lanes {
        lanes(|lane| {
            let row = chunk * LDSM_TOKENS + group * 16 + (lane & 15);
            self.offset(row, lane >> 4)
        })
    }

    /// The addresses of one 16-byte staging store of warp `warp` of 8, in step `step` of 8.
    pub fn staging(self, warp: u32, step: u32) -> Lanes {
        lanes(|lane| {
            let item = step * 256 + warp * 32 + lane;
            self.offset(item >> 1, item & 1)
        })
    }
}

/// The plane of `d | ssum` words in `scale_read`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pairs {
    /// A slot of 8 bytes for every token, half of them empty (the baseline).
    Slots,
    /// A lane's eight words side by side (r31, first attempt).
    QMajor,
    /// Two regions of 128 bytes a chunk (r31 as it landed).
    Regions,
}

impl Pairs {
    /// All layouts.
    pub const ALL: [Pairs; 3] = [Pairs::Slots, Pairs::QMajor, Pairs::Regions];

    /// The size of the plane, bytes.
    pub fn plane_bytes(self) -> u32 {
        match self {
            Pairs::Slots => CHUNKS * SCALE_TOKENS * 8,
            Pairs::QMajor | Pairs::Regions => CHUNKS * SCALE_TOKENS * 4,
        }
    }

    /// The index of the word of token `pair * 16 + half * 8 + q` in a chunk.
    pub fn word(self, chunk: u32, pair: u32, q: u32, half: u32) -> u32 {
        match self {
            Pairs::Slots => (chunk * SCALE_TOKENS + pair * 16 + q) * 2 + half,
            Pairs::QMajor => chunk * SCALE_TOKENS + q * 8 + pair * 2 + half,
            Pairs::Regions => chunk * SCALE_TOKENS + pair / 2 * 32 + q * 4 + pair % 2 * 2 + half,
        }
    }

    /// The bytes that one load of a lane brings: 8 for slots, 16 for the others.
    pub fn load_bytes(self) -> u32 {
        match self {
            Pairs::Slots => 8,
            Pairs::QMajor | Pairs::Regions => 16,
        }
    }

    /// The loads with which a warp reads its words of a chunk.
    pub fn loads(self, chunk: u32) -> Vec<Lanes> {
        let step = self.load_bytes() / 8;
        (0..4)
            .step_by(step as usize)
            .map(|pair| lanes(|lane| self.word(chunk, pair, lane & 7, 0) * 4))
            .collect()
    }

    /// The addresses of one 4-byte staging store of warp `warp` of 8, in step `step` of 2.
    pub fn staging(self, warp: u32, step: u32) -> Lanes {
        lanes(|lane| {
            let item = step * 256 + warp * 32 + lane;
            let (chunk, token) = (item / SCALE_TOKENS, item % SCALE_TOKENS);
            self.word(chunk, token / 16, token % 8, token / 8 % 2) * 4
        })
    }
}

/// The slot of an output row's scales within a chunk of `scale_read`.
pub fn scale_slot(od: u32) -> u32 {
    (od & !15) | (od & 3) << 2 | (od >> 2 & 3)
}

/// What each lane of a warp gives.
pub(crate) fn lanes(address: impl Fn(u32) -> u32) -> Lanes {
    std::array::from_fn(|lane| address(lane as u32))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use sass::bank::{Access, wavefronts};

    use super::*;

    fn conflicts(addresses: &Lanes, access: Access) -> u32 {
        wavefronts(access, &addresses.map(Some)).conflicts
    }

    fn load(layout: Pairs) -> Access {
        match layout.load_bytes() {
            8 => Access::Load64,
            _ => Access::Load128,
        }
    }

    #[test]
    fn both_planes_are_permutations() {
        for plane in [Plane::Rows, Plane::Swizzled] {
            let offsets: BTreeSet<u32> = (0..CHUNKS * LDSM_TOKENS)
                .flat_map(|row| [plane.offset(row, 0), plane.offset(row, 1)])
                .collect();
            let size = CHUNKS * LDSM_TOKENS * LDSM_ROW_BYTES;
            assert_eq!(offsets.len() as u32, size / 16, "{plane:?} is injective");
            assert!(offsets.iter().all(|o| o % 16 == 0 && *o < size));
        }
    }

    #[test]
    fn fragments_conflict_in_rows_and_not_when_swizzled() {
        for (plane, expected) in [(Plane::Rows, 4), (Plane::Swizzled, 0)] {
            for chunk in 0..CHUNKS {
                for group in 0..8 {
                    let addresses = plane.fragment(chunk, group);
                    assert_eq!(conflicts(&addresses, Access::Matrix4), expected);
                }
            }
        }
    }

    #[test]
    fn the_check_pays_half_a_million_wavefronts_before_the_swizzle() {
        let per_tile: u32 = (0..CHUNKS * 8)
            .map(|n| conflicts(&Plane::Rows.fragment(n / 8, n % 8), Access::Matrix4))
            .sum();
        let warps_and_tiles = crate::standalone::LDSM_CHECK_LOADS / (CHUNKS * 8);
        assert_eq!(crate::standalone::LDSM_CHECK_LOADS, 131_072);
        assert_eq!(per_tile * warps_and_tiles, 524_288);
    }

    #[test]
    fn staging_the_plane_never_conflicts() {
        for plane in [Plane::Rows, Plane::Swizzled] {
            for n in 0..64 {
                assert_eq!(conflicts(&plane.staging(n / 8, n % 8), Access::Store128), 0);
            }
        }
    }

    #[test]
    fn every_pair_layout_keeps_every_word() {
        for layout in Pairs::ALL {
            let mut words = BTreeSet::new();
            for n in 0..CHUNKS * SCALE_TOKENS {
                let (chunk, token) = (n / SCALE_TOKENS, n % SCALE_TOKENS);
                words.insert(layout.word(chunk, token / 16, token % 8, token / 8 % 2));
            }
            assert_eq!(
                words.len() as u32,
                CHUNKS * SCALE_TOKENS,
                "{layout:?} is injective"
            );
            assert!(words.iter().all(|w| w * 4 < layout.plane_bytes()));
        }
    }

    #[test]
    fn wide_loads_bring_the_words_in_the_order_in_which_they_are_unpacked() {
        for layout in [Pairs::QMajor, Pairs::Regions] {
            for (pair, q) in [(0, 0), (2, 7), (2, 3)] {
                let first = layout.word(5, pair, q, 0);
                let rest = [(pair, 1), (pair + 1, 0), (pair + 1, 1)];
                for (n, (pair, half)) in rest.into_iter().enumerate() {
                    assert_eq!(layout.word(5, pair, q, half), first + n as u32 + 1);
                }
                assert_eq!(first % 4, 0, "16-byte loads are aligned");
            }
        }
        assert_eq!(
            Pairs::Slots.word(5, 3, 6, 1),
            Pairs::Slots.word(5, 3, 6, 0) + 1
        );
    }

    #[test]
    fn only_q_major_loads_conflict() {
        for (layout, loads, each) in [
            (Pairs::Slots, 4, 0),
            (Pairs::QMajor, 2, 4),
            (Pairs::Regions, 2, 0),
        ] {
            for chunk in 0..CHUNKS {
                let made = layout.loads(chunk);
                assert_eq!(made.len(), loads);
                for addresses in made {
                    assert_eq!(conflicts(&addresses, load(layout)), each);
                }
            }
        }
    }

    #[test]
    fn only_regions_are_staged_without_conflicts() {
        for (layout, expected) in [(Pairs::Slots, 1), (Pairs::QMajor, 1), (Pairs::Regions, 0)] {
            for n in 0..16 {
                assert_eq!(
                    conflicts(&layout.staging(n / 2, n % 2), Access::Store32),
                    expected
                );
            }
        }
    }

    /// `docs/h200/README.md` quotes what is predicted for a launch at the bench's size.
    #[test]
    fn the_document_quotes_the_predictions() {
        let document = include_str!("../../docs/h200/README.md");
        let tiles = crate::standalone::SCALE_READ_TILES;
        let warps = 8;
        for (layout, name) in [
            (Pairs::Slots, "slots"),
            (Pairs::QMajor, "q-major"),
            (Pairs::Regions, "regions"),
        ] {
            let loads: u32 = (0..CHUNKS)
                .flat_map(|chunk| layout.loads(chunk))
                .map(|addresses| conflicts(&addresses, load(layout)))
                .sum();
            let stores: u32 = (0..16)
                .map(|n| conflicts(&layout.staging(n / 2, n % 2), Access::Store32))
                .sum();
            let row = format!(
                "`scale_read`, {name} | {} | {} |",
                thousands(loads * warps * tiles),
                thousands(stores * tiles)
            );
            assert!(document.contains(&row), "{row}");
        }
        assert!(document.contains("rows of 32 bytes | 524,288 | 0 |"));
    }

    fn thousands(n: u32) -> String {
        let digits = n.to_string();
        let mut out = String::new();
        for (i, digit) in digits.chars().enumerate() {
            if i > 0 && (digits.len() - i).is_multiple_of(3) {
                out.push(',');
            }
            out.push(digit);
        }
        out
    }

    #[test]
    fn scale_slots_are_a_permutation_that_keeps_a_lanes_rows_together() {
        let slots: BTreeSet<u32> = (0..128).map(scale_slot).collect();
        assert_eq!(slots.len(), 128);
        for row in [0, 1, 2, 3, 16, 17, 114] {
            let mine: Vec<u32> = (0..4).map(|j| scale_slot(row + 4 * j)).collect();
            assert_eq!(mine, [mine[0], mine[0] + 1, mine[0] + 2, mine[0] + 3]);
        }
    }
}
