//! Two records side by side: the code of both heads compared, and each one's own measured
//! effects. Values of different windows are shown together but never subtracted (lesson 27).

use serde::Serialize;

use super::code::{DeltaView, delta_view};
use super::lever::{Fact, LeverView};
use super::verdict::VerdictView;
use crate::model::KernelOccupancy;

/// Two runs compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CompareView {
    /// The first run.
    pub a: ComparedRun,
    /// The second run.
    pub b: ComparedRun,
    /// From the first head's kernels to the second's; `None` where one was not inspected.
    pub delta: Option<DeltaView>,
    /// The benches of either.
    pub benches: Vec<BenchComparison>,
    /// Facts of machine, toolchain and setup that differ: name, and both values.
    pub differences: Vec<Difference>,
    /// What to keep in mind.
    pub notes: Vec<String>,
}

/// One of the two.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparedRun {
    /// The run's id.
    pub run_id: String,
    /// The round.
    pub round: Option<String>,
    /// The lever.
    pub lever: String,
    /// The head commit, short.
    pub head: String,
    /// The verdict.
    pub verdict: VerdictView,
    /// When it ran.
    pub started_at: String,
}

/// One bench in both.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BenchComparison {
    /// The bench.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// The first run's effect with interval; `–` where there is none.
    pub a_effect: String,
    /// The second's.
    pub b_effect: String,
    /// The first run's medians: `1,311.8 -> 1,352.4`.
    pub a_medians: String,
    /// The second's.
    pub b_medians: String,
}

/// A fact that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Its name.
    pub name: String,
    /// In the first run.
    pub a: String,
    /// In the second.
    pub b: String,
}

/// Builds the comparison; `delta` leads from `a`'s head to `b`'s, with the occupancy of the
/// kernels that differ as far as their launches are known.
pub fn compare_view(
    a: &LeverView,
    b: &LeverView,
    delta: Option<&sass::Delta>,
    occupancy: &[KernelOccupancy],
) -> CompareView {
    let mut notes = vec![
        "each effect comes from its own window; values of different windows are not subtracted"
            .to_owned(),
    ];
    let machines = differences(&a.machine, &b.machine);
    if !machines.is_empty() {
        notes.push("the two runs' machines differ".to_owned());
    }
    let mut all = machines;
    all.extend(differences(&a.toolchain, &b.toolchain));
    all.extend(differences(&a.setup, &b.setup));
    CompareView {
        a: compared(a),
        b: compared(b),
        delta: delta.map(|d| delta_view(d, occupancy, &[])),
        benches: benches(a, b),
        differences: all,
        notes,
    }
}

fn compared(run: &LeverView) -> ComparedRun {
    ComparedRun {
        run_id: run.run_id.clone(),
        round: run.round.clone(),
        lever: run.lever.clone(),
        head: run.head.short.clone(),
        verdict: run.verdict.clone(),
        started_at: run.started_at.clone(),
    }
}

fn benches(a: &LeverView, b: &LeverView) -> Vec<BenchComparison> {
    let mut names: Vec<&str> = Vec::new();
    for bench in a.benches.iter().chain(&b.benches) {
        if !names.contains(&bench.name.as_str()) {
            names.push(&bench.name);
        }
    }
    names
        .into_iter()
        .map(|name| {
            let (in_a, in_b) = (find(a, name), find(b, name));
            BenchComparison {
                name: name.to_owned(),
                unit: in_b.or(in_a).map(|v| v.unit.clone()).unwrap_or_default(),
                a_effect: effect(in_a),
                b_effect: effect(in_b),
                a_medians: medians(in_a),
                b_medians: medians(in_b),
            }
        })
        .collect()
}

fn find<'a>(run: &'a LeverView, name: &str) -> Option<&'a super::BenchView> {
    run.benches.iter().find(|b| b.name == name)
}

fn effect(bench: Option<&super::BenchView>) -> String {
    bench.and_then(|b| b.effect.as_ref()).map_or_else(
        || "–".to_owned(),
        |e| format!("{} {}", e.estimate, e.interval),
    )
}

fn medians(bench: Option<&super::BenchView>) -> String {
    bench.map_or_else(
        || "–".to_owned(),
        |b| format!("{} -> {}", b.base_median_text, b.head_median_text),
    )
}

fn differences(a: &[Fact], b: &[Fact]) -> Vec<Difference> {
    let value = |facts: &[Fact], name: &str| {
        facts
            .iter()
            .find(|f| f.name == name)
            .map_or_else(|| "–".to_owned(), |f| f.value.clone())
    };
    let mut names: Vec<&str> = a.iter().chain(b).map(|f| f.name.as_str()).collect();
    let mut seen = std::collections::BTreeSet::new();
    names.retain(|name| seen.insert(*name));
    names
        .into_iter()
        .map(|name| Difference {
            name: name.to_owned(),
            a: value(a, name),
            b: value(b, name),
        })
        .filter(|d| d.a != d.b)
        .collect()
}
