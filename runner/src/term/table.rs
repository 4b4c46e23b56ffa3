//! Tables that fit: columns that matter less go when the terminal is narrow, long texts wrap,
//! figures never do.

use comfy_table::{
    Attribute, Cell, CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table,
    TableStyle, Width,
};

use super::layout::Layout;
use crate::render::text::{one_line, shorten};

/// The narrowest that a text column gets.
const TEXT_MIN: u16 = 14;
/// The longest text in a cell, characters.
const CELL_CHARS: usize = 400;
/// Space between columns.
const GAP: u16 = 2;

/// A column.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column {
    title: &'static str,
    wraps: bool,
    right: bool,
    /// Whether long content stays whole.
    whole: bool,
    /// 0 stays always; the highest goes first.
    rank: u8,
}

/// A column of text, which wraps.
pub(super) const fn text(title: &'static str) -> Column {
    Column {
        title,
        wraps: true,
        right: false,
        whole: false,
        rank: 0,
    }
}

/// A column of figures, which do not wrap and stand to the right.
pub(super) const fn figures(title: &'static str) -> Column {
    Column {
        title,
        wraps: false,
        right: true,
        whole: false,
        rank: 0,
    }
}

/// A column of a few words that do not wrap.
pub(super) const fn words(title: &'static str) -> Column {
    Column {
        title,
        wraps: false,
        right: false,
        whole: false,
        rank: 0,
    }
}

impl Column {
    /// Lets the column go where there is no room; higher ranks go first.
    pub(super) const fn rank(self, rank: u8) -> Column {
        Column { rank, ..self }
    }

    /// Keeps content whole that is longer than cells usually are.
    pub(super) const fn whole(self) -> Column {
        Column {
            whole: true,
            ..self
        }
    }
}

/// Lays a table out; each line is indented by two and no line is wider than the layout.
pub(super) fn table(columns: &[Column], rows: &[Vec<String>], layout: Layout) -> String {
    let room = layout.width.saturating_sub(GAP);
    let widths: Vec<u16> = (0..columns.len())
        .map(|i| natural_width(columns, rows, i))
        .collect();
    let kept = kept_columns(columns, &widths, room);
    let mut table = Table::new();
    table
        .load_style(TableStyle::new().header_separator(LineStyle::none().fill('─')))
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(room);
    if layout.color {
        table.enforce_styling();
    } else {
        table.force_no_tty();
    }
    table.set_header(
        kept.iter()
            .map(|&i| cell(columns[i].title, columns[i], true))
            .collect::<Vec<_>>(),
    );
    for row in rows {
        let cells = kept.iter().map(|&i| {
            let content = row.get(i).map_or("", String::as_str);
            cell(content, columns[i], false)
        });
        table.add_row(cells.collect::<Vec<_>>());
    }
    for (position, &i) in kept.iter().enumerate() {
        let last = position + 1 == kept.len();
        if let Some(column) = table.column_mut(position) {
            let gap = if last { 0 } else { GAP };
            column.set_padding((0, gap));
            if !columns[i].wraps {
                column.set_constraint(ColumnConstraint::Absolute(Width::Fixed(widths[i] + gap)));
            }
        }
    }
    let mut out = String::new();
    for line in table.lines() {
        out.push_str("  ");
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

fn cell(content: &str, column: Column, header: bool) -> Cell {
    let content = one_line(content);
    let cell = Cell::new(match column.whole {
        true => content,
        false => shorten(&content, CELL_CHARS),
    });
    let cell = if header {
        cell.add_attribute(Attribute::Bold)
    } else {
        cell
    };
    if column.right {
        cell.set_alignment(CellAlignment::Right)
    } else {
        cell
    }
}

fn natural_width(columns: &[Column], rows: &[Vec<String>], i: usize) -> u16 {
    let mut probe = Table::new();
    probe.add_row([cell(columns[i].title, columns[i], true)]);
    for row in rows {
        probe.add_row([cell(
            row.get(i).map_or("", String::as_str),
            columns[i],
            false,
        )]);
    }
    probe
        .column_max_content_widths()
        .first()
        .copied()
        .unwrap_or(0)
}

/// The columns that fit, those of the highest rank left out first.
fn kept_columns(columns: &[Column], widths: &[u16], room: u16) -> Vec<usize> {
    let mut kept: Vec<usize> = (0..columns.len()).collect();
    loop {
        let least: u16 = kept
            .iter()
            .map(|&i| {
                if columns[i].wraps {
                    widths[i].min(TEXT_MIN)
                } else {
                    widths[i]
                }
            })
            .fold(0, u16::saturating_add);
        let gaps = GAP * (kept.len().saturating_sub(1) as u16);
        let expendable = kept.iter().copied().filter(|&i| columns[i].rank > 0);
        match expendable.max_by_key(|&i| columns[i].rank) {
            Some(gone) if least.saturating_add(gaps) > room => kept.retain(|&i| i != gone),
            _ => return kept,
        }
    }
}
