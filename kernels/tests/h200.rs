//! What an H200 counted (`docs/h200/counters.csv`) against the bank model's predictions.
//!
//! On a busy SM the hardware counters add arbitration losses to what the layout costs
//! (docs/h200/README.md), so a counter may lie above its prediction, never below it.

#[path = "common/recorded.rs"]
mod recorded;

use recorded::counters;

const COUNTERS: &str = include_str!("../../docs/h200/counters.csv");
const CONFLICTS: &str = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_";
const WAVEFRONTS: &str = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_";

/// Arbitration losses seen on loads, as a share of the wavefronts; stores see more.
const LOAD_LOSSES: f64 = 0.002;

/// (step, kernel, load conflicts, store conflicts) as `layout` predicts them and the README
/// quotes them.
const PREDICTED: [(&str, &str, u64, u64); 7] = [
    ("1", "ldsm_check", 524_288, 0),
    ("2", "ldsm_check", 0, 0),
    ("1", "scale_read", 0, 65_536),
    ("2", "scale_read", 0, 65_536),
    ("3", "scale_read", 2_097_152, 65_536),
    ("4", "scale_read", 0, 65_536),
    ("5", "scale_read", 0, 0),
];

#[test]
fn the_hardware_counts_what_the_bank_model_predicts() {
    let counters = counters(COUNTERS);
    let get = |step: &str, kernel: &str, metric: String| {
        let key = (step.to_owned(), kernel.to_owned(), metric);
        *counters
            .get(&key)
            .unwrap_or_else(|| panic!("{key:?} was not measured"))
    };
    for (step, kernel, loads, stores) in PREDICTED {
        let counted = get(step, kernel, format!("{CONFLICTS}ld.sum"));
        let wavefronts = get(step, kernel, format!("{WAVEFRONTS}ld.sum"));
        let above = counted.checked_sub(loads).unwrap_or_else(|| {
            panic!("step {step}, {kernel}: {counted} load conflicts, {loads} predicted")
        });
        assert!(
            above as f64 <= LOAD_LOSSES * wavefronts as f64,
            "step {step}, {kernel}: {above} load conflicts above the model of {wavefronts} wavefronts"
        );
        let counted = get(step, kernel, format!("{CONFLICTS}st.sum"));
        assert!(
            counted >= stores,
            "step {step}, {kernel}: {counted} store conflicts"
        );
    }
}

#[test]
fn the_swizzle_removes_exactly_its_wavefronts() {
    let counters = counters(COUNTERS);
    let wavefronts = |step: &str| {
        counters[&(
            step.to_owned(),
            "ldsm_check".to_owned(),
            format!("{WAVEFRONTS}ld.sum"),
        )]
    };
    let saved = wavefronts("1") - wavefronts("2");
    assert!(
        saved.abs_diff(524_288) < 1_000,
        "the swizzle saved {saved} wavefronts"
    );
}
