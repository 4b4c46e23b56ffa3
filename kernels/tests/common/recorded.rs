//! Counters as `scripts/gpu-h200.sh` wrote them.

use std::collections::BTreeMap;

/// Counts by step, kernel and metric.
pub type Counters = BTreeMap<(String, String, String), u64>;

/// Reads a `counters.csv`: `step,commit,kernel,metric,value`.
pub fn counters(table: &str) -> Counters {
    let lines = table.lines().skip(1);
    lines
        .map(|line| {
            let fields: Vec<&str> = line.split(',').collect();
            let [step, _, kernel, metric, value] = fields[..] else {
                panic!("not five fields: {line}");
            };
            let key = (step.to_owned(), kernel.to_owned(), metric.to_owned());
            (key, value.parse().expect("a count"))
        })
        .collect()
}
