//! The plot of a series against the anchor: every measurement with its interval, in the order of
//! the heads' commits, and the steps in it.

use serde::Serialize;

use super::plot::{Tick, scale_over, tenth};
use crate::anchor::Standing;
use crate::numbers::{self, Finite};

const WIDTH: f64 = 660.0;
const HEIGHT: f64 = 220.0;
const LEFT: f64 = 78.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 34.0;

/// The most heads that are named below the plot.
const NAMED: usize = 8;

/// A plot, in the units of its own view box.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DriftPlot {
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
    /// Its top.
    pub top: Finite,
    /// Its bottom.
    pub bottom: Finite,
    /// Lines and labels of the vertical scale.
    pub ticks: Vec<Tick>,
    /// The measured heads, as far as there is room for their names.
    pub heads: Vec<Tick>,
    /// Zero: the anchor.
    pub zero: Finite,
    /// The measurements.
    pub points: Vec<DriftPoint>,
    /// Where the level changes.
    pub steps: Vec<Tick>,
    /// What the landed rounds claim together; `None` where none has a figure.
    pub claimed: Option<Finite>,
}

/// One measurement.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DriftPoint {
    /// Position.
    pub x: Finite,
    /// Of the estimate.
    pub y: Finite,
    /// Of the interval's upper end.
    pub high: Finite,
    /// Of the interval's lower end.
    pub low: Finite,
    /// What it is: `1f0c2a9: +1.20 % [+0.90, +1.50]`.
    pub title: String,
}

/// Draws a series; `None` of fewer than two measurements.
pub fn drift_plot(id: usize, standing: &Standing) -> Option<DriftPlot> {
    let points = &standing.points;
    if points.len() < 2 {
        return None;
    }
    let ends = points.iter().flat_map(|p| [p.interval.0, p.interval.1]);
    let scale = scale_over(ends.chain(standing.claimed.percent), TOP, HEIGHT - BOTTOM);
    let step = (WIDTH - LEFT - RIGHT) / points.len() as f64;
    let x = |index: usize| LEFT + (index as f64 + 0.5) * step;
    let named_every = points.len().div_ceil(NAMED);
    let place = |(index, point): (usize, &crate::anchor::Point)| {
        let text = numbers::effect_text(point.estimate, point.interval, None);
        DriftPoint {
            x: tenth(x(index)),
            y: tenth(scale.y(point.estimate)),
            high: tenth(scale.y(point.interval.1)),
            low: tenth(scale.y(point.interval.0)),
            title: format!(
                "{}: {} {}",
                point.head.short(),
                text.estimate,
                text.interval
            ),
        }
    };
    let heads = points.iter().enumerate().step_by(named_every);
    let at_head = |head: &crate::model::Sha| points.iter().position(|p| p.head == *head);
    let steps = standing.changes.iter().filter_map(|change| {
        Some(Tick {
            at: tenth(x(at_head(&change.to)?) - step / 2.0),
            label: numbers::percent(change.percent, None),
        })
    });
    Some(DriftPlot {
        id,
        description: description(standing),
        width: Finite::new(WIDTH),
        height: Finite::new(HEIGHT),
        left: Finite::new(LEFT),
        right: Finite::new(WIDTH - RIGHT),
        top: Finite::new(TOP),
        bottom: Finite::new(HEIGHT - BOTTOM),
        ticks: scale.ticks(),
        heads: heads
            .map(|(index, point)| Tick {
                at: tenth(x(index)),
                label: point.head.short().chars().take(7).collect(),
            })
            .collect(),
        zero: tenth(scale.y(0.0)),
        points: points.iter().enumerate().map(place).collect(),
        steps: steps.collect(),
        claimed: standing
            .claimed
            .percent
            .map(|percent| tenth(scale.y(percent))),
    })
}

fn description(standing: &Standing) -> String {
    let mut text = format!(
        "Effect of {} against the anchor on {}, in percent and in the order of their commits",
        numbers::counted(standing.points.len(), "measured head"),
        standing.bench
    );
    if let Some(newest) = standing.newest() {
        let words = numbers::effect_text(newest.estimate, newest.interval, None);
        text.push_str(&format!(
            "; the newest is {} {}",
            words.estimate, words.interval
        ));
    }
    if let Some(claimed) = standing.claimed.percent {
        text.push_str(&format!(
            "; the landed rounds claim {}",
            numbers::percent(claimed, None)
        ));
    }
    for change in &standing.changes {
        text.push_str(&format!(
            "; {} at {}",
            numbers::percent(change.percent, None),
            change.to.short()
        ));
    }
    text
}
