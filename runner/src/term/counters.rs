//! What a profiler counted, as tables.

use super::layout::Layout;
use super::table::{figures, text, words};
use super::writer::Out;
use crate::render::text::{one_line, shorten};
use crate::render::view::CountersView;

/// The counters alone: what `runner counters` prints.
pub fn counters_summary(view: &CountersView, layout: Layout) -> String {
    let mut out = Out::new(layout);
    out.counters(view);
    out.text.trim_start().to_owned()
}

impl Out {
    pub(super) fn counters(&mut self, view: &CountersView) {
        if view.summary.is_empty() {
            return;
        }
        self.title(&format!("Counters: {}", view.summary));
        for kernel in &view.kernels {
            let about = format!(
                "{}, {}, grid {}, launches on base and head: {}",
                shorten(&one_line(&kernel.kernel), 80),
                kernel.entry,
                kernel.grid,
                kernel.launches
            );
            self.paragraph(&about, 2);
            let rows: Vec<Vec<String>> = kernel
                .rows
                .iter()
                .map(|r| {
                    vec![
                        r.name.clone(),
                        r.base.clone(),
                        r.head.clone(),
                        r.change.clone(),
                    ]
                })
                .collect();
            let columns = [
                match kernel.rows.iter().any(|r| r.name.len() > 40) {
                    true => text("Counter"),
                    false => words("Counter"),
                },
                figures("Base"),
                figures("Head"),
                figures("Change").rank(1),
            ];
            self.table(&columns, &rows);
        }
        if !view.kernels.is_empty() {
            self.paragraph(
                "Of several launches the smallest value counts: arbitration only adds. The \
                 duration is one under the profiler, and no measurement.",
                2,
            );
        }
        for note in &view.notes {
            self.hanging("- ", note, 2);
        }
    }
}
