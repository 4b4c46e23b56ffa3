//! What a profiler counted, base against head, for each kernel that was profiled.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::counters::{
    Group, Values, counterpart, failure_words, groups, is_time, label, value_of,
};
use crate::model::{CounterProfile, Side};
use crate::numbers::{self, Finite};

/// All counters of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct CountersView {
    /// `2 kernels, by Nsight Compute 2025.3.1`; empty where nothing was profiled.
    pub summary: String,
    /// A table for each profiled kernel.
    pub kernels: Vec<CountedKernel>,
    /// What could not be profiled, and metrics without a value.
    pub notes: Vec<String>,
}

/// The counters of one kernel.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CountedKernel {
    /// The entry of the config that launched it.
    pub entry: String,
    /// Its name without parameters; head's, where head has it.
    pub kernel: String,
    /// The grid; base's and head's where they differ.
    pub grid: String,
    /// How many launches were profiled, base's and head's: `1, 1`.
    pub launches: String,
    /// The counters.
    pub rows: Vec<CounterRow>,
}

/// One counter.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CounterRow {
    /// Its name, or the profiler's.
    pub name: String,
    /// The profiler's name for it.
    pub metric: String,
    /// Base's smallest value, with the range where there are several.
    pub base: String,
    /// Head's.
    pub head: String,
    /// By how much head differs, percent of base; empty where that cannot be said, and for times.
    pub change: String,
    /// Base's smallest value.
    pub base_value: Finite,
    /// Head's.
    pub head_value: Finite,
}

pub(crate) fn counters_view(profiles: &[CounterProfile]) -> CountersView {
    let heads = groups(profiles, Side::Head);
    let bases = groups(profiles, Side::Base);
    let mut pairs: Vec<(Option<&Group<'_>>, Option<&Group<'_>>)> = heads
        .iter()
        .map(|head| (counterpart(head, &heads, &bases), Some(head)))
        .collect();
    let is_paired = |base: &Group<'_>, pairs: &[(Option<&Group<'_>>, _)]| {
        pairs
            .iter()
            .any(|(paired, _)| paired.is_some_and(|paired| std::ptr::eq(paired, base)))
    };
    for base in &bases {
        if !is_paired(base, &pairs) {
            pairs.push((Some(base), None));
        }
    }
    let kernels: Vec<CountedKernel> = pairs
        .into_iter()
        .filter_map(|(base, head)| kernel(base, head))
        .collect();
    CountersView {
        summary: summary(profiles, kernels.len()),
        kernels,
        notes: notes(profiles),
    }
}

fn summary(profiles: &[CounterProfile], kernels: usize) -> String {
    let profiler = profiles.iter().find_map(|p| p.profiler.as_deref());
    match (kernels, profiler) {
        _ if profiles.is_empty() => String::new(),
        (0, _) | (_, None) => "none".to_owned(),
        (n, Some(profiler)) => format!("{}, by {profiler}", numbers::counted(n, "kernel")),
    }
}

fn kernel(base: Option<&Group<'_>>, head: Option<&Group<'_>>) -> Option<CountedKernel> {
    let shown = head.or(base)?;
    let grids: Vec<&str> = [base, head]
        .into_iter()
        .flatten()
        .map(|g| g.first.grid.as_str())
        .collect();
    let grid = match grids.as_slice() {
        [base, head] if base != head => format!("{base} -> {head}"),
        grids => grids.first().copied().unwrap_or_default().to_owned(),
    };
    let count = |group: Option<&Group<'_>>| group.map_or(0, |g| g.launches.len());
    let mut metrics: Vec<&str> = Vec::new();
    for group in [head, base].into_iter().flatten() {
        for value in group.launches.iter().flat_map(|launch| &launch.values) {
            if !metrics.contains(&value.metric.as_str()) {
                metrics.push(&value.metric);
            }
        }
    }
    Some(CountedKernel {
        entry: shown.profile.entry.clone(),
        kernel: sass::short_name(&shown.first.kernel).to_owned(),
        grid,
        launches: format!("{}, {}", count(base), count(head)),
        rows: metrics
            .into_iter()
            .map(|metric| row(metric, base, head))
            .collect(),
    })
}

fn row(metric: &str, base: Option<&Group<'_>>, head: Option<&Group<'_>>) -> CounterRow {
    let values = |group: Option<&Group<'_>>| group.and_then(|group| group.values(metric).ok());
    let (base, head) = (values(base), values(head));
    let least = |values: Option<Values>| values.map(|values| values.least);
    let change = match (least(base), least(head)) {
        _ if is_time(metric) => String::new(),
        (Some(base), Some(head)) if base == head => "=".to_owned(),
        (Some(base), Some(head)) if base > 0.0 => {
            // Nearly nothing left is not nothing.
            numbers::percent(100.0 * (head - base) / base, Some(-100.0))
        }
        _ => String::new(),
    };
    CounterRow {
        name: label(metric).to_owned(),
        metric: metric.to_owned(),
        base: base.map_or_else(|| numbers::MISSING.to_owned(), range),
        head: head.map_or_else(|| numbers::MISSING.to_owned(), range),
        change,
        base_value: least(base).into(),
        head_value: least(head).into(),
    }
}

/// `23`, or `23 … 41` over several launches.
fn range(values: Values) -> String {
    match values.least == values.most {
        true => number(values.least),
        false => format!("{} … {}", number(values.least), number(values.most)),
    }
}

/// A count exactly, anything else with at most five digits: the profiler prints no more.
fn number(value: f64) -> String {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && (0.0..EXACT).contains(&value) {
        return numbers::count(value as u64);
    }
    let text = numbers::value(value);
    match text.contains('.') && !text.contains('e') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

fn notes(profiles: &[CounterProfile]) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    let mut add = |note: String| {
        if !notes.contains(&note) {
            notes.push(note);
        }
    };
    for profile in profiles {
        if let Some(failure) = &profile.failure {
            let words = failure_words(failure);
            add(match failure.is_of_the_machine() {
                true => words,
                false => format!("{} on {}: {words}", profile.entry, profile.side),
            });
        }
    }
    notes.extend(absent_notes(profiles));
    notes
}

/// Metrics without a value, by the reason; not those whose counter has one by another name.
fn absent_notes(profiles: &[CounterProfile]) -> Vec<String> {
    let launches = || profiles.iter().flat_map(|profile| &profile.launches);
    let has_value = |metric: &str| launches().any(|l| value_of(label(metric), l).is_some());
    let mut by_reason: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for absent in profiles.iter().flat_map(|profile| &profile.absent) {
        if !has_value(&absent.metric) {
            let metrics = by_reason.entry(&absent.reason).or_default();
            metrics.insert(format!("`{}`", absent.metric));
        }
    }
    by_reason
        .into_iter()
        .map(|(reason, metrics)| {
            let metrics: Vec<String> = metrics.into_iter().collect();
            format!("no value for {}: {reason}", metrics.join(", "))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{AbsentMetric, CounterLaunch, CounterValue, UnixMillis};

    fn profile(side: Side, conflicts: &[f64]) -> CounterProfile {
        let launch = |conflicts: &f64| CounterLaunch {
            kernel: "ns::mmq<4>(int)".to_owned(),
            arch: Some("sm_90".to_owned()),
            grid: "(28, 21, 1)".to_owned(),
            block: "(256, 1, 1)".to_owned(),
            values: vec![
                CounterValue {
                    metric: "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum".to_owned(),
                    unit: String::new(),
                    value: *conflicts,
                },
                CounterValue {
                    metric: "gpu__time_duration.sum".to_owned(),
                    unit: "ns".to_owned(),
                    value: 1000.0 + conflicts,
                },
            ],
        };
        CounterProfile {
            entry: "q_proj".to_owned(),
            side,
            at: UnixMillis(1),
            profiler: Some("Nsight Compute 2025.3.1".to_owned()),
            launches: conflicts.iter().map(launch).collect(),
            absent: Vec::new(),
            failure: None,
            log: None,
        }
    }

    #[test]
    fn values_stand_side_by_side_and_times_are_never_compared() {
        let profiles = [
            profile(Side::Base, &[200.0, 180.0]),
            profile(Side::Head, &[45.0]),
        ];
        let view = counters_view(&profiles);
        assert_eq!(view.summary, "1 kernel, by Nsight Compute 2025.3.1");
        let [kernel] = view.kernels.as_slice() else {
            panic!("{view:?}");
        };
        assert_eq!(kernel.launches, "2, 1");
        let [conflicts, duration] = kernel.rows.as_slice() else {
            panic!("{kernel:?}");
        };
        assert_eq!(conflicts.name, "shared_ld_conflicts");
        assert_eq!(conflicts.base, "180 … 200");
        assert_eq!(conflicts.head, "45");
        assert_eq!(conflicts.change, "-75.00 %");
        assert_eq!(duration.name, "duration");
        assert_eq!(duration.change, "");
    }

    #[test]
    fn numbers_have_no_more_digits_than_the_profiler_gives() {
        for (value, text) in [
            (16_859_136.0, "16,859,136"),
            (0.0, "0"),
            (0.92, "0.92"),
            (0.1, "0.1"),
            (816_492.93, "816,493"),
            (41.25, "41.25"),
        ] {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn nearly_nothing_is_not_nothing() {
        let profiles = [
            profile(Side::Base, &[16_859_307.0]),
            profile(Side::Head, &[23.0]),
        ];
        let change = counters_view(&profiles).kernels[0].rows[0].change.clone();
        assert_eq!(change, "-99.9999 %");
    }

    #[test]
    fn a_metric_is_absent_where_its_counter_has_no_other_name_for_it() {
        let absent = |metric: &str| AbsentMetric {
            metric: metric.to_owned(),
            reason: "not on this chip".to_owned(),
        };
        let mut one = profile(Side::Head, &[7.0]);
        one.launches[0].values[0].metric = "sm__inst_executed_pipe_tensor_op_imma.sum".to_owned();
        one.absent = vec![
            absent("sm__inst_executed_pipe_tensor_subpipe_imma_op_imma.sum"),
            absent("dram__bytes_write.sum"),
            absent("dram__bytes_read.sum"),
        ];
        assert_eq!(
            counters_view(&[one]).notes,
            ["no value for `dram__bytes_read.sum`, `dram__bytes_write.sum`: not on this chip"]
        );
    }

    #[test]
    fn a_kernel_of_one_side_only_has_no_change() {
        let view = counters_view(&[profile(Side::Base, &[7.0])]);
        assert_eq!(view.kernels[0].rows[0].base, "7");
        assert_eq!(view.kernels[0].rows[0].head, "–");
        assert_eq!(view.kernels[0].rows[0].change, "");
        assert_eq!(counters_view(&[]), CountersView::default());
    }
}
