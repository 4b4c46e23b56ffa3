//! The table of recorded runs in a terminal.

use comfy_table::{ContentArrangement, Table, presets};

use crate::record::TableRow;
use crate::render::numbers;
use crate::term::Layout;

/// One line a run, oldest first.
pub(super) fn table(rows: &[(String, TableRow)], layout: Layout) -> String {
    let mut table = Table::new();
    table
        .load_preset(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(layout.width)
        .set_header(["run", "campaign", "round", "lever", "verdict", "effect", "date", "head"]);
    for (campaign, row) in rows {
        table.add_row(cells(campaign, row));
    }
    format!("{table}\n")
}

fn cells(campaign: &str, row: &TableRow) -> [String; 8] {
    let number = match row.replay_of {
        Some(original) => format!("{} (replay of {original})", row.run),
        None => row.run.to_string(),
    };
    let date = numbers::day(row.started_at);
    let Some(round) = &row.round else {
        let state = match row.state {
            db::RunState::Open => "in progress, or killed",
            db::RunState::Interrupted => "interrupted",
            db::RunState::Ended => "not judged",
        };
        let subject = crate::render::text::one_line(&row.subject);
        let empty = String::new();
        return [number, campaign.to_owned(), empty.clone(), subject, state.to_owned(), empty.clone(), date, empty];
    };
    let effects: Vec<String> = round
        .benches
        .iter()
        .filter_map(|bench| {
            let text = numbers::percent(bench.estimate?, bench.bar_percent);
            Some(format!("{} {text}", crate::render::text::one_line(&bench.bench)))
        })
        .collect();
    let mut verdict = round.verdict.word().to_owned();
    if round.corrected {
        verdict.push_str(" (corrected)");
    }
    [
        number,
        campaign.to_owned(),
        crate::render::text::one_line(round.round.as_deref().unwrap_or_default()),
        crate::render::text::one_line(&round.lever),
        verdict,
        effects.join(", "),
        date,
        round.head.short().to_owned(),
    ]
}
