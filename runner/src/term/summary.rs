//! Summaries of records: what `runner run` ends with, `runner show` and `runner compare`.

use super::layout::Layout;
use super::results::verdict_text;
use super::table::{figures, text, words};
use super::writer::Out;
use crate::render::text::{one_line, shorten};
use crate::render::view::{BenchComparison, CompareView, ComparedRun, Difference, LeverView};

/// The longest lever's name in a first line, characters.
pub(super) const LEVER_CHARS: usize = 60;

/// Kernels listed at the end of a run; `runner show` lists all.
const KERNELS_AT_END: usize = 8;

/// The end of a run: verdict, reasons, benches, deltas, claims and gates.
pub fn run_summary(lever: &LeverView, layout: Layout) -> String {
    let mut out = Out::new(layout);
    out.head(lever);
    out.reasons(lever);
    out.benches(lever);
    if let Some(delta) = &lever.delta {
        out.delta(delta, KERNELS_AT_END);
    }
    out.claims(lever);
    out.gates(lever);
    out.blank();
    out.line(&layout.dim(&format!(
        "The whole record: runner show {}",
        one_line(&lever.run_id)
    )));
    out.text
}

/// A record, whole: the summary with registration, census, machine, commands and logs.
pub fn show_summary(lever: &LeverView, layout: Layout) -> String {
    let mut out = Out::new(layout);
    out.head(lever);
    out.reasons(lever);
    out.benches(lever);
    out.missing(&lever.benches);
    out.machines(&lever.benches);
    if let Some(delta) = &lever.delta {
        out.delta(delta, usize::MAX);
    }
    out.census(lever);
    out.claims(lever);
    out.gates(lever);
    out.counters(&lever.counters);
    out.registration(lever);
    out.builds(lever);
    out.facts("Machine", &lever.machine_brief);
    out.facts("Toolchain", &lever.toolchain_brief);
    out.facts("Commands and environment", &lever.setup);
    out.logs(lever);
    out.attempts(lever);
    out.rounds(&lever.rounds);
    out.title("How to replay");
    out.paragraph(&lever.replay, 2);
    out.text
}

/// Two records side by side.
pub fn compare_summary(compare: &CompareView, layout: Layout) -> String {
    let mut out = Out::new(layout);
    out.compared("A", &compare.a);
    out.compared("B", &compare.b);
    out.bench_comparison(&compare.benches);
    match &compare.delta {
        Some(delta) => out.delta(delta, usize::MAX),
        None => {
            out.title("Compiled code");
            out.paragraph("one of the two was not inspected", 2);
        }
    }
    out.differences(&compare.differences);
    out.blank();
    for note in &compare.notes {
        out.paragraph(&format!("Note: {note}."), 0);
    }
    out.text
}

/// The sections of a comparison.
impl Out {
    fn compared(&mut self, name: &str, run: &ComparedRun) {
        let round = run
            .round
            .as_deref()
            .map_or(String::new(), |r| format!("{r} "));
        let verdict = verdict_text(&run.verdict, self.layout);
        let lever = shorten(&one_line(&format!("{round}{}", run.lever)), LEVER_CHARS);
        self.line(&format!("{name}  {verdict}  {lever}"));
        self.paragraph(
            &format!("run {}, {}, {}", run.run_id, run.head, run.started_at),
            3,
        );
    }

    fn bench_comparison(&mut self, benches: &[BenchComparison]) {
        if benches.is_empty() {
            return;
        }
        self.title("Benches");
        let row = |b: &BenchComparison, side: &str, effect: &str, medians: &str| {
            [&b.name, side, effect, medians, &b.unit]
                .map(str::to_owned)
                .to_vec()
        };
        let rows: Vec<Vec<String>> = benches
            .iter()
            .flat_map(|b| {
                let a_row = row(b, "A", &b.a_effect, &b.a_medians);
                [a_row, row(b, "B", &b.b_effect, &b.b_medians)]
            })
            .collect();
        let columns = [
            text("Bench"),
            words(""),
            figures("Effect"),
            figures("Base -> head").rank(1),
            text("Unit").rank(2),
        ];
        self.table(&columns, &rows);
    }

    fn differences(&mut self, differences: &[Difference]) {
        if differences.is_empty() {
            return;
        }
        self.title("What else differs");
        let rows: Vec<Vec<String>> = differences
            .iter()
            .map(|d| vec![d.name.clone(), d.a.clone(), d.b.clone()])
            .collect();
        self.table(&[text(""), text("A"), text("B")], &rows);
    }
}
