//! The counters that have a name here, and what the profiler calls them. `docs/counters.md` is
//! held to this table by a test.

use crate::model::CounterLaunch;

/// A counter with a name of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counter {
    /// The name that claims and pages use.
    pub name: &'static str,
    /// The profiler's names: of the chips' different ones, the first that has a value counts.
    pub metrics: &'static [&'static str],
    /// What it is a number of.
    pub unit: &'static str,
    /// What it says.
    pub meaning: &'static str,
    /// Whether it is taken without being asked for. The others cost more: the profiler patches
    /// the kernel's code for them.
    pub always: bool,
}

/// A row of the table that is always taken.
const fn row(
    name: &'static str,
    metrics: &'static [&'static str],
    unit: &'static str,
    meaning: &'static str,
) -> Counter {
    Counter {
        name,
        metrics,
        unit,
        meaning,
        always: true,
    }
}

/// A row that is taken where a claim or `metrics` of `[[counters]]` names it.
const fn asked(
    name: &'static str,
    metrics: &'static [&'static str],
    unit: &'static str,
    meaning: &'static str,
) -> Counter {
    Counter {
        always: false,
        ..row(name, metrics, unit, meaning)
    }
}

/// Every named counter.
pub const TABLE: &[Counter] = &[
    row(
        "shared_ld_conflicts",
        &["l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"],
        "wavefronts",
        "bank conflicts of shared loads (LDS, LDSM), with what arbitration adds on a busy SM",
    ),
    row(
        "shared_st_conflicts",
        &["l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"],
        "wavefronts",
        "bank conflicts of shared stores (STS), likewise",
    ),
    row(
        "shared_ld_wavefronts",
        &["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"],
        "wavefronts",
        "wavefronts of shared loads",
    ),
    row(
        "shared_st_wavefronts",
        &["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"],
        "wavefronts",
        "wavefronts of shared stores",
    ),
    row(
        "instructions",
        &["smsp__inst_executed.sum"],
        "warp instructions",
        "instructions executed by warps",
    ),
    row(
        "tensor_int8_instructions",
        &[
            "sm__inst_executed_pipe_tensor_op_imma.sum",
            "sm__inst_executed_pipe_tensor_subpipe_imma_op_imma.sum",
        ],
        "warp instructions",
        "int8 instructions of the tensor pipe (IMMA); the second name is GB20B's",
    ),
    row(
        "global_ld_sectors",
        &["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"],
        "sectors",
        "32-byte sectors that global loads asked for",
    ),
    row(
        "global_ld_requests",
        &["l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"],
        "requests",
        "requests of global loads",
    ),
    row(
        "global_st_sectors",
        &["l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"],
        "sectors",
        "32-byte sectors of global stores",
    ),
    row(
        "global_st_requests",
        &["l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"],
        "requests",
        "requests of global stores",
    ),
    row(
        "dram_read_bytes",
        &["dram__bytes_read.sum"],
        "bytes",
        "bytes read from device memory; GB20B has no such counter",
    ),
    row(
        "dram_write_bytes",
        &["dram__bytes_write.sum"],
        "bytes",
        "bytes written to device memory, likewise",
    ),
    row(
        "stall_long_scoreboard",
        &["smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio"],
        "warps per issue",
        "warps that wait for global, local or texture memory",
    ),
    row(
        "stall_short_scoreboard",
        &["smsp__average_warps_issue_stalled_short_scoreboard_per_issue_active.ratio"],
        "warps per issue",
        "warps that wait for shared memory or another short operation",
    ),
    row(
        "stall_mio_throttle",
        &["smsp__average_warps_issue_stalled_mio_throttle_per_issue_active.ratio"],
        "warps per issue",
        "warps that wait for room in the queue of shared memory and its like",
    ),
    row(
        "stall_lg_throttle",
        &["smsp__average_warps_issue_stalled_lg_throttle_per_issue_active.ratio"],
        "warps per issue",
        "warps that wait for room in the queue of global and local memory",
    ),
    row(
        "stall_barrier",
        &["smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio"],
        "warps per issue",
        "warps that wait at a barrier",
    ),
    row(
        "stall_wait",
        &["smsp__average_warps_issue_stalled_wait_per_issue_active.ratio"],
        "warps per issue",
        "warps that wait for a fixed latency",
    ),
    row(
        "stall_math_pipe_throttle",
        &["smsp__average_warps_issue_stalled_math_pipe_throttle_per_issue_active.ratio"],
        "warps per issue",
        "warps that wait for an arithmetic pipe",
    ),
    row(
        "sm_throughput_pct",
        &["sm__throughput.avg.pct_of_peak_sustained_elapsed"],
        "% of peak",
        "the busiest part of the SM against its peak",
    ),
    row(
        "sm_cycles",
        &["sm__cycles_active.avg"],
        "cycles",
        "cycles in which an SM was active, on average over SMs",
    ),
    row(
        "duration",
        &["gpu__time_duration.sum"],
        "ns",
        "time of the launch under the profiler: for information, never compared, no claim may \
         name it",
    ),
    asked(
        "ldsm_conflicts_sass",
        &["smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_ldsm.sum"],
        "wavefronts",
        "bank conflicts of LDSM by patched code: free of arbitration",
    ),
    asked(
        "ldsm_wavefronts_sass",
        &["smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldsm.sum"],
        "wavefronts",
        "wavefronts of LDSM by patched code",
    ),
    asked(
        "shared_ld_wavefronts_sass",
        &["smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"],
        "wavefronts",
        "wavefronts of LDS by patched code: free of arbitration, by another rule for LDS.64 and \
         LDS.128",
    ),
    asked(
        "shared_st_wavefronts_sass",
        &["smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum"],
        "wavefronts",
        "wavefronts of STS by patched code: free of arbitration",
    ),
];

/// The counter of that name.
pub fn find(name: &str) -> Option<&'static Counter> {
    TABLE.iter().find(|counter| counter.name == name)
}

/// The longest name of a metric.
const LONGEST: usize = 160;

/// Whether a text can be the profiler's own name for a metric, such as
/// `smsp__inst_executed.sum`: it becomes an argument of the profiler.
pub fn is_raw_metric(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.contains("__")
        && text.len() <= LONGEST
        && !text.ends_with('.')
        && !text.contains("..")
        && text.chars().all(plain)
}

/// Whether a counter or metric is a time. Under a profiler that is no measurement.
pub fn is_time(name: &str) -> bool {
    let is = |metric: &str| metric.starts_with("gpu__time") || metric.contains("time_duration");
    metrics_of(name).iter().any(|metric| is(metric))
}

/// The profiler's names for a named counter, or the metric itself.
pub fn metrics_of(name: &str) -> Vec<&str> {
    match find(name) {
        Some(counter) => counter.metrics.to_vec(),
        None => vec![name],
    }
}

/// A counter's value in a launch.
pub fn value_of(name: &str, launch: &CounterLaunch) -> Option<f64> {
    let mut metrics = metrics_of(name).into_iter();
    metrics.find_map(|metric| launch.value(metric))
}

/// What a metric is called here: its counter's name, else its own.
pub fn label(metric: &str) -> &str {
    TABLE
        .iter()
        .find(|counter| counter.metrics.contains(&metric))
        .map_or(metric, |counter| counter.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_metrics_are_unique_and_fit_the_profiler() {
        let mut names: Vec<_> = TABLE.iter().map(|counter| counter.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), TABLE.len());
        let mut metrics: Vec<_> = TABLE.iter().flat_map(|counter| counter.metrics).collect();
        let all = metrics.len();
        assert!(metrics.iter().all(|metric| is_raw_metric(metric)));
        metrics.sort_unstable();
        metrics.dedup();
        assert_eq!(metrics.len(), all);
        assert!(TABLE.iter().all(|counter| !is_raw_metric(counter.name)));
    }

    #[test]
    fn what_is_not_a_metric_is_no_argument() {
        for bad in [
            "",
            "--set",
            "a b",
            "a__b,c__d",
            "a__b\n",
            "inst",
            "A__b",
            "a__b.",
            "a__..b",
            "a__b;c",
        ] {
            assert!(!is_raw_metric(bad), "{bad:?}");
        }
        assert!(is_raw_metric("smsp__inst_executed.sum.per_cycle_active"));
    }

    #[test]
    fn times_are_known_by_name_and_metric() {
        assert!(is_time("duration") && is_time("gpu__time_duration.avg"));
        assert!(!is_time("sm_cycles") && !is_time("shared_ld_conflicts"));
    }

    /// `docs/counters.md` lists the table, row by row.
    #[test]
    fn the_document_gives_every_counter() {
        let document = include_str!("../../../docs/counters.md");
        for counter in TABLE {
            let metrics: Vec<String> = counter.metrics.iter().map(|m| format!("`{m}`")).collect();
            let row = format!(
                "| `{}` | {} | {} | {} |",
                counter.name,
                metrics.join(", "),
                counter.unit,
                counter.meaning
            );
            assert!(document.contains(&row), "docs/counters.md lacks\n{row}");
        }
        let rows = document
            .lines()
            .filter(|line| line.starts_with("| `") && line.contains("__"));
        assert_eq!(rows.count(), TABLE.len(), "a row too many");
    }
}
