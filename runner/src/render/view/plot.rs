//! The plot of pairs: every pair's effect in the order it was taken, with zero, the interval and
//! the bar. All coordinates are computed here; the template only draws.

use serde::Serialize;

use super::bench::finite_effect;
use super::pairs::{PairEffect, pair_effects};
use crate::model::{BenchEvidence, BenchJudgement, SampleRole};
use crate::numbers::{self, Finite};

const WIDTH: f64 = 660.0;
const HEIGHT: f64 = 290.0;
/// The least room beside the drawing area; wide labels get more.
const LEFT: f64 = 64.0;
const RIGHT: f64 = 104.0;
/// Between a label and the drawing area, and beyond it.
const LABEL_GAPS: f64 = 14.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = 54.0;

/// Points farther than this many times the middle half's width from it are drawn at the edge.
const FAR: f64 = 6.0;

/// A plot, in the units of its own view box.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Plot {
    /// The bench.
    pub bench: String,
    /// A number that makes ids unique on a page.
    pub id: usize,
    /// The whole plot in a sentence, for those who cannot see it.
    pub description: String,
    /// The view box.
    pub width: Finite,
    /// Its height.
    pub height: Finite,
    /// The drawing area's left edge.
    pub left: Finite,
    /// Its right edge.
    pub right: Finite,
    /// Its width.
    pub plot_width: Finite,
    /// Its top.
    pub top: Finite,
    /// Its bottom.
    pub bottom: Finite,
    /// Lines and labels of the vertical scale.
    pub ticks: Vec<Tick>,
    /// Labels of the horizontal scale.
    pub pairs: Vec<Tick>,
    /// Zero.
    pub zero: Finite,
    /// The bar.
    pub bar: Option<Mark>,
    /// The estimate.
    pub estimate: Option<Mark>,
    /// The interval.
    pub band: Option<Band>,
    /// The pairs.
    pub points: Vec<Point>,
    /// Whether figures of the bench were corrected: the plot shows what was measured and judged.
    pub corrected: bool,
    /// Whether any point was drawn at the edge.
    pub has_far: bool,
    /// Whether there are throw-aways.
    pub has_throw_away: bool,
    /// Whether there are missing pairs.
    pub has_missing: bool,
}

/// A position with its label.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tick {
    /// The position.
    pub at: Finite,
    /// The label.
    pub label: String,
}

/// A horizontal line with its label.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Mark {
    /// The line's height.
    pub y: Finite,
    /// The label's height, moved where labels would overlap.
    pub label_y: Finite,
    /// The label.
    pub label: String,
}

/// The interval.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Band {
    /// Its upper edge.
    pub y: Finite,
    /// Its height.
    pub height: Finite,
}

/// One pair.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Point {
    /// Position.
    pub x: Finite,
    /// Position.
    pub y: Finite,
    /// How it is drawn.
    pub shape: Shape,
    /// What it is: `pair 3: +1.20 %`.
    pub title: String,
    /// The effect, written beside a point at the edge.
    pub far: Option<String>,
}

/// How a pair is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// Head was better.
    Better,
    /// Head was not better.
    Worse,
    /// Not judged.
    ThrowAway,
    /// A side has no value.
    Missing,
}

/// A vertical scale of percentages.
pub(super) struct Scale {
    low: f64,
    high: f64,
    step: f64,
    /// The drawing area's top and bottom.
    area: (f64, f64),
}

impl Scale {
    pub(super) fn y(&self, value: f64) -> f64 {
        let share = (value.clamp(self.low, self.high) - self.low) / (self.high - self.low);
        let (top, bottom) = self.area;
        bottom - share * (bottom - top)
    }

    pub(super) fn ticks(&self) -> Vec<Tick> {
        ticks(self)
    }
}

pub(super) fn tenth(value: f64) -> Finite {
    Finite::new((value * 10.0).round() / 10.0)
}

/// Draws one bench; `None` where not one pair was begun.
pub fn plot(id: usize, judged: &BenchJudgement, taken: &BenchEvidence) -> Option<Plot> {
    let pairs = pair_effects(&taken.samples, judged.better);
    if pairs.is_empty() {
        return None;
    }
    let effects: Vec<f64> = pairs
        .iter()
        .filter_map(|p| p.effect)
        .filter(|e| e.is_finite())
        .collect();
    let scale = scale(&effects, judged);
    let ticks = ticks(&scale);
    let (estimate, bar) = marks(judged, &scale);
    let left = room(LEFT, ticks.iter().map(|tick| tick.label.as_str()));
    let named = estimate.iter().chain(&bar).map(|mark| mark.label.as_str());
    let right = WIDTH - room(RIGHT, named);
    let step = (right - left) / pairs.len() as f64;
    let mut points = Vec::new();
    let mut labels = Vec::new();
    let label_every = pairs.len().div_ceil(16).max(1);
    for (i, pair) in pairs.iter().enumerate() {
        let x = left + (i as f64 + 0.5) * step;
        points.push(point(x, pair, &scale));
        let label = match pair.role {
            SampleRole::ThrowAway => "t".to_owned(),
            SampleRole::Pair => (pair.pair + 1).to_string(),
        };
        if pair.role == SampleRole::ThrowAway || (pair.pair as usize).is_multiple_of(label_every) {
            labels.push(Tick {
                at: tenth(x),
                label,
            });
        }
    }
    Some(Plot {
        bench: judged.bench.clone(),
        id,
        description: description(judged, &pairs),
        width: Finite::new(WIDTH),
        height: Finite::new(HEIGHT),
        left: Finite::new(left),
        right: Finite::new(right),
        plot_width: Finite::new(right - left),
        top: Finite::new(TOP),
        bottom: Finite::new(HEIGHT - BOTTOM),
        ticks,
        pairs: labels,
        zero: tenth(scale.y(0.0)),
        bar,
        estimate,
        band: finite_effect(judged).map(|e| Band {
            y: tenth(scale.y(e.high)),
            height: tenth((scale.y(e.low) - scale.y(e.high)).max(1.0)),
        }),
        corrected: false,
        has_far: points.iter().any(|p| p.far.is_some()),
        has_throw_away: points.iter().any(|p| p.shape == Shape::ThrowAway),
        has_missing: points.iter().any(|p| p.shape == Shape::Missing),
        points,
    })
}

/// The room beside the drawing area: the usual, or what the widest label takes.
fn room<'a>(least: f64, labels: impl Iterator<Item = &'a str>) -> f64 {
    labels
        .map(|label| (label_width(label) + LABEL_GAPS).ceil())
        .fold(least, f64::max)
}

/// The width of a label in the plot's units, as set in the widest of the usual fonts (DejaVu Sans
/// Bold at the style sheet's 14.5 units): a narrower font only leaves room.
fn label_width(label: &str) -> f64 {
    const SIZE: f64 = 14.5;
    let of = |c: char| match c {
        '0'..='9' => 0.70,
        ' ' | '.' => 0.38,
        '%' => 1.01,
        '+' | '\u{2212}' | '-' => 0.84,
        _ => 0.72,
    };
    SIZE * label.chars().map(of).sum::<f64>()
}

fn point(x: f64, pair: &PairEffect, scale: &Scale) -> Point {
    let name = match pair.role {
        SampleRole::ThrowAway => "throw-away launches (not judged)".to_owned(),
        SampleRole::Pair => format!("pair {}", pair.pair + 1),
    };
    let Some(effect) = pair.effect.filter(|e| e.is_finite()) else {
        return Point {
            x: tenth(x),
            y: tenth(scale.y(0.0)),
            shape: Shape::Missing,
            title: format!("{name}: missing"),
            far: None,
        };
    };
    let text = numbers::percent(effect, None);
    let shape = match pair.role {
        SampleRole::ThrowAway => Shape::ThrowAway,
        SampleRole::Pair if effect > 0.0 => Shape::Better,
        SampleRole::Pair => Shape::Worse,
    };
    Point {
        x: tenth(x),
        y: tenth(scale.y(effect)),
        shape,
        title: format!("{name}: {text}"),
        far: (effect < scale.low || effect > scale.high).then_some(text),
    }
}

/// The vertical scale: zero, bar and interval always, and every effect that is not far out.
fn scale(effects: &[f64], judged: &BenchJudgement) -> Scale {
    let mut sorted = effects.to_vec();
    sorted.sort_by(f64::total_cmp);
    let quarter = |n: usize| sorted.get((sorted.len() * n / 4).min(sorted.len().saturating_sub(1)));
    let (q1, q3) = (
        quarter(1).copied().unwrap_or(0.0),
        quarter(3).copied().unwrap_or(0.0),
    );
    let reach = FAR * (q3 - q1).max(0.25);
    let near = sorted
        .iter()
        .copied()
        .filter(|e| *e >= q1 - reach && *e <= q3 + reach);
    let interval = finite_effect(judged)
        .into_iter()
        .flat_map(|e| [e.low, e.high]);
    let shown = near
        .chain(interval)
        .chain(judged.bar_percent)
        .filter(|v| v.is_finite());
    scale_over(shown, TOP, HEIGHT - BOTTOM)
}

/// A scale that holds zero and these values.
pub(super) fn scale_over(values: impl Iterator<Item = f64>, top: f64, bottom: f64) -> Scale {
    let known = values.filter(|v| v.is_finite());
    let (low, high) = known.fold((0.0f64, 0.0f64), |(l, h), v| (l.min(v), h.max(v)));
    let step = tick_step((high - low).max(0.5));
    Scale {
        low: ((low - 0.15 * step) / step).floor() * step,
        high: ((high + 0.15 * step) / step).ceil() * step,
        step,
        area: (top, bottom),
    }
}

/// 1, 2 or 5 times a power of ten, so that there are about five ticks.
fn tick_step(span: f64) -> f64 {
    let raw = span / 4.0;
    let power = 10f64.powf(raw.log10().floor());
    let factor = match raw / power {
        f if f <= 1.0 => 1.0,
        f if f <= 2.0 => 2.0,
        f if f <= 5.0 => 5.0,
        _ => 10.0,
    };
    factor * power
}

fn ticks(scale: &Scale) -> Vec<Tick> {
    let decimals = (-scale.step.log10().floor()).clamp(0.0, 6.0) as usize;
    let count = ((scale.high - scale.low) / scale.step).round() as i64;
    (0..=count.min(20))
        .map(|i| scale.low + i as f64 * scale.step)
        .map(|v| {
            let v = if v.abs() < scale.step / 1e6 { 0.0 } else { v };
            let sign = if v < 0.0 {
                "\u{2212}"
            } else if v > 0.0 {
                "+"
            } else {
                ""
            };
            Tick {
                at: tenth(scale.y(v)),
                label: format!("{sign}{:.decimals$} %", v.abs()),
            }
        })
        .collect()
}

/// The estimate's and the bar's lines, their labels kept apart.
fn marks(judged: &BenchJudgement, scale: &Scale) -> (Option<Mark>, Option<Mark>) {
    const LABEL_HEIGHT: f64 = 17.0;
    let text = finite_effect(judged)
        .map(|e| numbers::effect_text(e.estimate, (e.low, e.high), judged.bar_percent));
    let estimate_y = finite_effect(judged).map(|e| scale.y(e.estimate));
    let bar_y = judged
        .bar_percent
        .filter(|b| b.is_finite())
        .map(|b| scale.y(b));
    let mut labels = (estimate_y, bar_y);
    if let (Some(e), Some(b)) = (estimate_y, bar_y)
        && (e - b).abs() < LABEL_HEIGHT
    {
        let middle = (e + b) / 2.0;
        let apart = if e <= b {
            -LABEL_HEIGHT / 2.0
        } else {
            LABEL_HEIGHT / 2.0
        };
        labels = (Some(middle + apart), Some(middle - apart));
    }
    let mark = |y: Option<f64>, label_y: Option<f64>, label: Option<String>| {
        Some(Mark {
            y: tenth(y?),
            label_y: tenth(label_y? + 5.0),
            label: label?,
        })
    };
    let bar_label = match &text {
        Some(text) => text.bar.clone(),
        None => judged.bar_percent.map(numbers::bar_percent),
    };
    (
        mark(estimate_y, labels.0, text.map(|t| t.estimate)),
        mark(bar_y, labels.1, bar_label.map(|b| format!("bar {b}"))),
    )
}

fn description(judged: &BenchJudgement, pairs: &[PairEffect]) -> String {
    let judged_pairs = pairs.iter().filter(|p| p.role == SampleRole::Pair);
    let missing = judged_pairs.clone().filter(|p| p.effect.is_none()).count();
    let mut text = format!(
        "Effect of each of {} on {}, in percent and in the order taken",
        numbers::counted(judged_pairs.count(), "pair"),
        judged.bench
    );
    if let Some(e) = finite_effect(judged) {
        let words = numbers::effect_text(e.estimate, (e.low, e.high), judged.bar_percent);
        text.push_str(&format!(
            "; estimate {}, interval {}",
            words.estimate, words.interval
        ));
        if let Some(bar) = words.bar {
            text.push_str(&format!(", bar {bar}"));
        }
    }
    if missing > 0 {
        text.push_str(&format!("; {missing} missing"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Better;
    use crate::render::fixtures;

    #[test]
    fn labels_have_room_on_both_sides() {
        let fixture = fixtures::landed();
        for (percent, wide) in [(2.0, false), (150.0, true), (-2500.0, true)] {
            let mut judged = fixture.judgement.benches[0].clone();
            judged.effect = judged.effect.map(|effect| crate::model::Effect {
                estimate: percent,
                low: percent - 0.5,
                high: percent + 0.5,
                ..effect
            });
            let taken =
                fixtures::bench_evidence("prefill", 1311.8, Better::Higher, &[Some(percent); 3]);
            let plot = plot(0, &judged, &taken).expect("pairs");
            let (left, right) = (
                plot.left.get().unwrap_or(0.0),
                plot.right.get().unwrap_or(0.0),
            );
            for tick in &plot.ticks {
                let begins = left - 10.0 - label_width(&tick.label);
                assert!(begins >= 0.0, "{} begins at {begins}", tick.label);
            }
            for mark in plot.estimate.iter().chain(&plot.bar) {
                let ends = right + 8.0 + label_width(&mark.label);
                assert!(ends <= WIDTH, "{} ends at {ends}", mark.label);
            }
            assert_eq!(left > LEFT, wide, "{percent}: {left}");
        }
        assert!(label_width("+150 %") + 10.0 > LEFT, "what was cut off");
    }
}
