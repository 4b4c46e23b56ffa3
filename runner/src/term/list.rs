//! The list of recorded runs.

use super::layout::Layout;
use super::table::{figures, table, text, words};

/// One run, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunLine {
    /// Its number, and what it repeats.
    pub run: String,
    /// Its campaign.
    pub campaign: String,
    /// The round.
    pub round: String,
    /// The lever.
    pub lever: String,
    /// The verdict, or what became of the run without one.
    pub verdict: String,
    /// The effects on its benches.
    pub effects: String,
    /// The day on which it began.
    pub date: String,
    /// The head commit, short.
    pub head: String,
}

/// One line a run; columns that matter less go where the terminal is narrow.
pub fn run_list(lines: &[RunLine], layout: Layout) -> String {
    let columns = [
        figures("Run"),
        words("Round"),
        text("Lever"),
        words("Verdict"),
        text("Effect").rank(1),
        words("Head").rank(2),
        words("Date").rank(3),
        words("Campaign").rank(4),
    ];
    let rows: Vec<Vec<String>> = lines
        .iter()
        .map(|line| {
            let RunLine {
                run,
                campaign,
                round,
                lever,
                verdict,
                effects,
                date,
                head,
            } = line;
            [run, round, lever, verdict, effects, head, date, campaign]
                .map(Clone::clone)
                .to_vec()
        })
        .collect();
    table(&columns, &rows, layout)
}
