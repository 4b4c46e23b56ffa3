//! A campaign's table of rounds.

use serde::Serialize;

use super::bench::{effect_words, positive};
use super::commits::DecisionView;
use super::verdict::VerdictView;
use crate::model::{Finding, Role};
use crate::numbers::{self, EffectText, Finite};
use crate::render::input::{RoundBench, RoundRow};
use crate::render::text;

/// Up to this many benches have a column each; more share one.
const MAX_COLUMNS: usize = 3;

/// Width of a strip, in its own units.
const STRIP_WIDTH: f64 = 120.0;

/// The table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RoundsView {
    /// The bench columns' titles; one `benches` where they share a column.
    pub columns: Vec<String>,
    /// The rounds, newest last.
    pub rows: Vec<RoundView>,
    /// How many earlier rounds are not in the table.
    pub earlier: usize,
    /// Whether any round's resources changed.
    pub has_resources: bool,
}

/// One round.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RoundView {
    /// The run's id.
    pub run_id: String,
    /// The round; `–` where none was registered.
    pub round: String,
    /// The lever.
    pub lever: String,
    /// The verdict.
    pub verdict: VerdictView,
    /// For each column, its benches.
    pub cells: Vec<Vec<RoundCell>>,
    /// Resource deltas in a few words.
    pub resources: String,
    /// The day it was run.
    pub date: String,
    /// The same for machines.
    pub date_iso: String,
    /// The head commit, short.
    pub head: String,
    /// The head commit, whole.
    pub head_sha: String,
    /// Where the whole record is.
    pub link: Option<String>,
    /// Whether a figure was corrected.
    pub corrected: bool,
    /// The decision.
    pub decision: Option<DecisionView>,
    /// Which attempt at its registration it is, from 1: the one that stands.
    pub attempt: usize,
    /// The run ids of the earlier ones.
    pub earlier_attempts: Vec<String>,
    /// The run ids of the later ones, which do not count.
    pub later_attempts: Vec<String>,
    /// Which attempt stands, and that the code was registered before, in words.
    pub attempt_text: Option<String>,
    /// Whether this is the run that the page or comment is about.
    pub current: bool,
}

/// One bench of a round.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RoundCell {
    /// The bench's name.
    pub bench: String,
    /// Whether the name is shown: where benches share a column.
    pub named: bool,
    /// Target or guard.
    pub role: Role,
    /// The judged estimate, where that was corrected: `+4.88 %`.
    pub was: Option<String>,
    /// The effect in words; `None` without data.
    pub effect: Option<EffectText>,
    /// Why there is no effect: `no data` or `not measured`.
    pub without: &'static str,
    /// `3 of 3`; `–` where measuring never began.
    pub positive: String,
    /// The estimate, percent.
    pub estimate: Finite,
    /// The interval as a drawing; `None` without data.
    pub strip: Option<Strip>,
}

/// A small drawing of an interval against zero and the bar; x in 0..=120.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Strip {
    /// Zero.
    pub zero: Finite,
    /// The bar.
    pub bar: Finite,
    /// The interval's left end.
    pub x: Finite,
    /// The interval's width.
    pub width: Finite,
    /// The estimate.
    pub dot: Finite,
    /// Whether the interval reaches beyond the left edge.
    pub beyond_left: bool,
    /// Whether it reaches beyond the right edge.
    pub beyond_right: bool,
}

/// Builds the table; `current` is the run that it is shown for.
pub fn rounds_view(rows: &[RoundRow], current: Option<&str>) -> RoundsView {
    let benches = bench_names(rows);
    let shared = benches.len() > MAX_COLUMNS;
    let scales: Vec<(&str, f64)> = benches.iter().map(|b| (*b, scale(rows, b))).collect();
    RoundsView {
        columns: if shared {
            vec!["benches".to_owned()]
        } else {
            benches.iter().map(|b| (*b).to_owned()).collect()
        },
        rows: rows
            .iter()
            .map(|row| RoundView {
                cells: cells(row, &scales, shared),
                current: current == Some(row.run_id.as_str()),
                ..round_view(row)
            })
            .collect(),
        earlier: 0,
        has_resources: rows.iter().any(|r| !r.resources.is_empty()),
    }
}

fn bench_names(rows: &[RoundRow]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for bench in rows.iter().flat_map(|r| &r.benches) {
        if !names.contains(&bench.bench.as_str()) {
            names.push(&bench.bench);
        }
    }
    names
}

fn round_view(row: &RoundRow) -> RoundView {
    RoundView {
        run_id: row.run_id.clone(),
        round: row
            .round
            .clone()
            .unwrap_or_else(|| numbers::MISSING.to_owned()),
        lever: row.lever.clone(),
        verdict: row.verdict_view(),
        cells: Vec::new(),
        resources: row.resources.clone(),
        date: numbers::day(row.date),
        date_iso: numbers::iso(row.date),
        head: row.head.short().to_owned(),
        head_sha: row.head.to_string(),
        link: row.link.as_deref().and_then(text::link_target),
        corrected: row.corrected,
        decision: row.decision.as_ref().map(DecisionView::from),
        attempt: row.attempt,
        earlier_attempts: row.earlier.clone(),
        later_attempts: row.later.clone(),
        attempt_text: row.attempt_text.clone(),
        current: false,
    }
}

fn cells(row: &RoundRow, scales: &[(&str, f64)], shared: bool) -> Vec<Vec<RoundCell>> {
    let of = |name: &str, scale: f64| -> Vec<RoundCell> {
        let own = row.benches.iter().filter(|b| b.bench == name);
        own.map(|b| cell(b, scale, shared)).collect()
    };
    let columns = scales.iter().map(|(name, scale)| of(name, *scale));
    if shared {
        vec![columns.flatten().collect()]
    } else {
        columns.collect()
    }
}

fn cell(bench: &RoundBench, scale: f64, named: bool) -> RoundCell {
    let effect = effect_words(bench.estimate, bench.interval, bench.bar_percent);
    RoundCell {
        bench: bench.bench.clone(),
        named,
        role: bench.role,
        was: bench.estimate_was.map(|was| numbers::percent(was, None)),
        strip: effect.as_ref().and_then(|_| strip(bench, scale)),
        effect,
        without: match bench.finding {
            Finding::NotMeasured => "not measured",
            _ => "no data",
        },
        positive: positive(bench.finding, bench.pairs_positive, bench.pairs),
        estimate: bench.estimate.into(),
    }
}

/// The half-width of a bench's strips, percent: wide enough for the bars and the usual effects;
/// the rare large one runs beyond the edge and is marked there.
fn scale(rows: &[RoundRow], bench: &str) -> f64 {
    const LEAST: f64 = 1.0;
    let own = || {
        rows.iter()
            .flat_map(|r| &r.benches)
            .filter(move |b| b.bench == bench)
    };
    let mut ends: Vec<f64> = own()
        .filter_map(|b| b.interval)
        .map(|(low, high)| low.abs().max(high.abs()))
        .filter(|v| v.is_finite())
        .collect();
    ends.sort_by(f64::total_cmp);
    let usual = ends.get(ends.len() * 3 / 4).copied().unwrap_or(0.0);
    let bar = own()
        .filter_map(|b| b.bar_percent)
        .filter(|b| b.is_finite())
        .fold(0.0, f64::max);
    (1.1 * usual).max(1.5 * bar).max(LEAST)
}

fn strip(bench: &RoundBench, scale: f64) -> Option<Strip> {
    let (low, high) = bench
        .interval
        .filter(|(low, high)| low.is_finite() && high.is_finite())?;
    let at = |v: f64| (v / scale + 1.0) / 2.0 * STRIP_WIDTH;
    let round = |x: f64| Finite::new((x * 10.0).round() / 10.0);
    let inside = |x: f64| x.clamp(0.0, STRIP_WIDTH);
    Some(Strip {
        zero: round(at(0.0)),
        bar: bench
            .bar_percent
            .map(at)
            .filter(|x| (0.0..=STRIP_WIDTH).contains(x))
            .into(),
        x: round(inside(at(low))),
        width: round((inside(at(high)) - inside(at(low))).max(1.5)),
        dot: round(inside(at(bench.estimate?))),
        beyond_left: at(low) < 0.0,
        beyond_right: at(high) > STRIP_WIDTH,
    })
}
