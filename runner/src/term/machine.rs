//! The machine while samples were taken.

use super::table::{figures, text};
use super::writer::Out;
use crate::render::view::BenchView;

impl Out {
    /// A line for each bench that was watched, its readings on both sides, and what was rejected.
    pub(super) fn machines(&mut self, benches: &[BenchView]) {
        let watched = || {
            benches
                .iter()
                .filter_map(|b| Some((b, b.machine.as_ref()?)))
        };
        if watched().next().is_none() {
            return;
        }
        self.title("The machine meanwhile");
        for (bench, machine) in watched() {
            self.hanging(&format!("{}  ", bench.name), &machine.summary, 2);
            for rejected in &machine.rejected {
                self.hanging("rejected  ", rejected, 4);
            }
        }
        let rows: Vec<Vec<String>> = watched()
            .flat_map(|(bench, machine)| machine.rows.iter().map(move |row| (bench, row)))
            .map(|(bench, row)| {
                [
                    &bench.name,
                    &row.name,
                    &row.base,
                    &row.head,
                    &row.difference,
                ]
                .map(String::clone)
                .to_vec()
            })
            .collect();
        if rows.is_empty() {
            return;
        }
        let columns = [
            text("Bench"),
            text("Reading"),
            figures("Base"),
            figures("Head"),
            text("Difference").rank(1),
        ];
        self.table(&columns, &rows);
    }
}
