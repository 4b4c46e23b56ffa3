//! What the terminal shows of anchors and bisections.

use super::layout::Layout;
use super::table::{figures, table, text, words};
use crate::bisect::{Comparison, Ending, Report};
use crate::numbers::counted;
use crate::render::text::{one_line, shorten};
use crate::render::view::DriftView;

/// The longest subject in a line, characters.
const SUBJECT_CHARS: usize = 60;

/// A campaign against its anchor: a line a bench, and what there is to say about it.
pub fn anchor_summary(views: &[DriftView], layout: Layout) -> String {
    let mut out = String::new();
    for view in views {
        let mut add = |line: &str| {
            out.push_str(&one_line(line));
            out.push('\n');
        };
        add(&format!("{}: {}", view.bench, view.sentence()));
        let details = format!(
            "head {} against {} in one window, {} interval, run {}, {}; {}, {} claim",
            view.head,
            view.anchor,
            view.coverage,
            view.run,
            view.date,
            view.measurements,
            view.rounds
        );
        for line in std::iter::once(&details).chain(&view.notes) {
            out.push_str(&wrapped(line, layout));
        }
    }
    out
}

/// A line, indented by two and broken where the layout ends.
fn wrapped(line: &str, layout: Layout) -> String {
    let most = usize::from(layout.width).saturating_sub(4).max(20);
    let mut out = String::new();
    let mut length = 0;
    for word in one_line(line).split(' ') {
        let chars = word.chars().count();
        if length > 0 && length + 1 + chars > most {
            out.push('\n');
            length = 0;
        }
        out.push_str(match length {
            0 if out.is_empty() => "  ",
            0 => "    ",
            _ => " ",
        });
        out.push_str(word);
        length += chars + usize::from(length > 0);
    }
    out.push('\n');
    out
}

/// The end of a bisection: what was found, and every comparison.
pub fn bisect_summary(report: &Report, layout: Layout) -> String {
    let mut out = String::new();
    for line in found(report) {
        out.push_str(&one_line(&line));
        out.push('\n');
    }
    let (made, reused) = report.counts();
    let on_record = match reused {
        0 => String::new(),
        n => format!(" and {n} on record"),
    };
    out.push_str(&format!(
        "{} made{on_record}, {} after {}\n",
        counted(made, "comparison"),
        counted(report.commits.len(), "commit"),
        report.good.short()
    ));
    let columns = [
        words("Commit"),
        figures("Run"),
        figures("Pairs"),
        words("Against good"),
        text("Says"),
    ];
    let row = |comparison: &Comparison| {
        let says = match comparison.is_reused {
            true => format!("{}, on record", comparison.says()),
            false => comparison.says(),
        };
        vec![
            name(report, comparison.commit),
            comparison
                .run
                .map_or_else(String::new, |run| run.to_string()),
            comparison.pairs.to_string(),
            comparison.effect_words(),
            says,
        ]
    };
    let rows: Vec<Vec<String>> = report.comparisons.iter().map(row).collect();
    if !rows.is_empty() {
        out.push_str(&table(&columns, &rows, layout));
    }
    out
}

fn name(report: &Report, commit: usize) -> String {
    let known = report.commits.get(commit);
    known.map_or_else(String::new, |passed| passed.sha.short().to_owned())
}

fn titled(report: &Report, commit: usize) -> String {
    match report.commits.get(commit) {
        Some(passed) => format!(
            "{} {}",
            passed.sha.short(),
            shorten(&passed.subject, SUBJECT_CHARS)
        ),
        None => String::new(),
    }
}

/// The verdict first.
fn found(report: &Report) -> Vec<String> {
    let effect = |commit: usize| {
        let words = report.of_commit(commit).map(Comparison::words);
        words.unwrap_or_default()
    };
    let bench = &report.bench;
    let bad = report.commits.len().saturating_sub(1);
    match &report.ending {
        Ending::Found { commit } => {
            let mut lines = vec![
                format!("first bad commit: {}", titled(report, *commit)),
                format!("{bench} {}", effect(*commit)),
            ];
            if let Some(before) = commit.checked_sub(1) {
                let name = name(report, before);
                lines.push(format!("the one before it, {name}: {}", effect(before)));
            }
            lines
        }
        Ending::OneOf { first, last } => {
            let mut lines = vec!["the first bad commit is one of these:".to_owned()];
            lines.extend(
                (*first..=*last)
                    .map(|commit| format!("  {}: {}", titled(report, commit), effect(commit))),
            );
            lines
        }
        Ending::NotSlower => vec![
            format!("{bench} is not slower at bad: there is no commit to find"),
            format!("{}: {}", titled(report, bad), effect(bad)),
            "verify the end points: good may be slow as well, or the loss below what counts"
                .to_owned(),
        ],
        Ending::EndsOpen => vec![
            format!("it cannot be said whether {bench} is slower at bad: verify the end points"),
            effect(bad),
        ],
        Ending::Stopped { verdict, reason } => vec![
            format!("stopped, {verdict}: {reason}"),
            "the same command goes on where it stopped; what was measured is on record".to_owned(),
        ],
    }
}
