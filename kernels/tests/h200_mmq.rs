//! What an H200 counted for the matrix products (`docs/h200/mmq/counters.csv`) against the bank
//! model: every shared load of a launch of q_proj, from its addresses.
//!
//! On a busy SM the hardware counters add arbitration losses to what the layout costs
//! (`docs/h200/README.md`), so a counter may lie above its prediction, never below it.

#[path = "common/recorded.rs"]
mod recorded;

use kernels::mmq::layout::{
    Lanes, NARROW_TOKENS, ODS, Pairs, Plane, WARPS, WIDE_TOKENS, act_fragment, act_terms,
    nibble_fragment, pair_loads, weight_fragment, weight_terms,
};
use kernels::mmq::{Shape, Tile};
use recorded::counters;
use sass::bank::{Access, Cost, wavefronts};

const COUNTERS: &str = include_str!("../../docs/h200/mmq/counters.csv");
const DOCUMENT: &str = include_str!("../../docs/h200/mmq/README.md");
const CONFLICTS: &str = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_";
const WAVEFRONTS: &str = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_";

/// Arbitration losses seen on loads, as a share of the wavefronts.
const LOAD_LOSSES: f64 = 0.002;

/// Adds up what accesses cost.
#[derive(Default)]
struct Sum {
    wavefronts: u64,
    conflicts: u64,
}

impl Sum {
    fn add(&mut self, access: Access, addresses: &Lanes) {
        let Cost {
            wavefronts: all,
            conflicts,
        } = wavefronts(access, &addresses.map(Some));
        self.wavefronts += u64::from(all);
        self.conflicts += u64::from(conflicts);
    }

    fn times(self, n: u64) -> Sum {
        Sum {
            wavefronts: self.wavefronts * n,
            conflicts: self.conflicts * n,
        }
    }
}

/// Blocks of a launch of q_proj, and its super-blocks of k.
fn blocks(tile: Tile) -> u64 {
    let Shape { ods, tokens, .. } = Shape::Q_PROJ;
    (ods.div_ceil(128) * tokens.div_ceil(tile.tokens())) as u64
}

const SUPERS: u64 = Shape::Q_PROJ.supers as u64;

/// All shared loads of a launch of a wide kernel whose warps have 16 or 32 output rows. A chunk is
/// in the same banks in every k-tile, whichever its size.
fn wide_loads(plane: Plane, warp_ods: u32) -> Sum {
    let across = ODS / warp_ods;
    let warp_tokens = WIDE_TOKENS / (WARPS / across);
    let mut sum = Sum::default();
    for chunk in 0..8 {
        for warp in 0..WARPS {
            let first = warp / across * warp_tokens;
            for token in (first..first + warp_tokens).step_by(16) {
                sum.add(
                    Access::Matrix4,
                    &act_fragment(plane, chunk * WIDE_TOKENS + token),
                );
                sum.add(Access::Load64, &act_terms(token));
                sum.add(Access::Load64, &act_terms(token + 8));
            }
            let first = warp % across * warp_ods;
            for od in (first..first + warp_ods).step_by(16) {
                sum.add(Access::Matrix4, &weight_fragment(chunk * ODS + od));
                sum.add(Access::Load128, &weight_terms(od));
                sum.add(Access::Load128, &weight_terms(od + 8));
            }
        }
    }
    sum.times(SUPERS * blocks(Tile::Wide4))
}

fn narrow_loads(layout: Pairs) -> Sum {
    let pair_access = match layout {
        Pairs::Slots => Access::Load64,
        Pairs::QMajor | Pairs::Regions => Access::Load128,
    };
    let mut sum = Sum::default();
    for warp in 0..WARPS {
        for chunk in 0..8 {
            for token in (0..NARROW_TOKENS).step_by(16) {
                let row = chunk * NARROW_TOKENS + token;
                sum.add(Access::Matrix4, &act_fragment(Plane::Swizzled, row));
            }
            for loads in pair_loads(layout, chunk) {
                sum.add(pair_access, &loads);
            }
            sum.add(Access::Load128, &weight_terms(warp * 16));
            sum.add(Access::Load128, &weight_terms(warp * 16 + 8));
        }
        for pair in 0..4 {
            sum.add(Access::Matrix4, &nibble_fragment(warp * 16, pair));
        }
    }
    sum.times(SUPERS * blocks(Tile::Narrow))
}

/// Conflicts of the stores of `d | ssum` in a launch of the narrow kernel.
fn pair_store_conflicts(layout: Pairs) -> u64 {
    let mut sum = Sum::default();
    for n in 0..16 {
        sum.add(Access::Store32, &layout.staging(n / 2, n % 2));
    }
    sum.times(SUPERS * blocks(Tile::Narrow)).conflicts
}

/// A step's loads as the model has them.
fn predicted() -> Vec<(&'static str, &'static str, Sum)> {
    let mut all = Vec::new();
    for kernel in ["mmq_wide_kd4", "mmq_wide_kd8"] {
        all.push(("mmq-1", kernel, wide_loads(Plane::Rows, 16)));
        all.push(("mmq-2", kernel, wide_loads(Plane::Rows, 32)));
        all.push(("mmq-4", kernel, wide_loads(Plane::Rows, 16)));
        all.push(("mmq-6", kernel, wide_loads(Plane::Swizzled, 16)));
    }
    all.push(("mmq-7", "mmq_nb", narrow_loads(Pairs::Slots)));
    all.push(("mmq-8", "mmq_nb", narrow_loads(Pairs::QMajor)));
    all.push(("mmq-10", "mmq_nb", narrow_loads(Pairs::Regions)));
    all
}

#[test]
fn loads_cost_what_their_addresses_say() {
    let counters = counters(COUNTERS);
    for (step, kernel, model) in predicted() {
        let get = |metric: &str| {
            let key = (
                step.to_owned(),
                kernel.to_owned(),
                format!("{metric}ld.sum"),
            );
            *counters
                .get(&key)
                .unwrap_or_else(|| panic!("{key:?} was not measured"))
        };
        let (conflicts, all) = (get(CONFLICTS), get(WAVEFRONTS));
        let at = format!("step {step}, {kernel}");
        // What is above the model is the same in both: each loss is a wavefront more.
        let lost = conflicts.checked_sub(model.conflicts);
        let lost = lost.unwrap_or_else(|| panic!("{at}: fewer than {}", model.conflicts));
        assert_eq!(all, model.wavefronts + lost, "{at}: wavefronts");
        assert!(
            lost as f64 <= LOAD_LOSSES * all as f64,
            "{at}: {lost} above the model of {} wavefronts",
            model.wavefronts
        );
    }
}

/// A number as documents write it.
fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .filter_map(|group| std::str::from_utf8(group).ok())
        .collect();
    groups.join(",")
}

#[test]
fn the_document_quotes_what_was_counted() {
    let counters = counters(COUNTERS);
    for (step, kernel, model) in predicted() {
        let number = step.trim_start_matches("mmq-");
        let key = (
            step.to_owned(),
            kernel.to_owned(),
            format!("{CONFLICTS}ld.sum"),
        );
        let row = DOCUMENT
            .lines()
            .find(|line| line.starts_with(&format!("| {number} | ")))
            .unwrap_or_else(|| panic!("no row for step {number}"));
        for figure in [model.conflicts, counters[&key]] {
            let cell = format!("| {} |", thousands(figure));
            assert!(row.contains(&cell), "{row} lacks {cell}");
        }
    }
}

/// The figures that the campaign registered.
#[test]
fn the_model_gives_the_campaigns_figures() {
    assert_eq!(wide_loads(Plane::Rows, 16).conflicts, 16_859_136);
    assert_eq!(wide_loads(Plane::Rows, 32).conflicts, 16_859_136 / 2);
    assert_eq!(wide_loads(Plane::Swizzled, 16).conflicts, 0);
    for layout in Pairs::ALL {
        assert_eq!(narrow_loads(layout).conflicts, 0);
    }
}

#[test]
fn only_the_regions_are_stored_without_conflicts() {
    let counters = counters(COUNTERS);
    for (step, layout) in [
        ("mmq-7", Pairs::Slots),
        ("mmq-8", Pairs::QMajor),
        ("mmq-10", Pairs::Regions),
    ] {
        let key = (
            step.to_owned(),
            "mmq_nb".to_owned(),
            format!("{CONFLICTS}st.sum"),
        );
        let (counted, model) = (counters[&key], pair_store_conflicts(layout));
        // Stores lose more than loads to arbitration: up to a tenth of the conflicts of slots.
        assert!(
            (model..model + 30_000).contains(&counted),
            "step {step}: {counted} store conflicts, {model} by the model"
        );
    }
}
