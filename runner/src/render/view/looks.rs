//! The looks of the sequential protocol on one bench, in words.

use serde::Serialize;

use crate::model::{BenchJudgement, Interval, LookReading};
use crate::numbers;
use crate::stats::sequential::LOOKS;

/// One look.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LookView {
    /// `look 2 of 5`.
    pub name: String,
    /// `10 pairs`.
    pub pairs: String,
    /// The estimate: `+1.07 %`.
    pub estimate: String,
    /// The interval that decides whether there is an effect, with its coverage:
    /// `[+0.80, +1.32] (99.41 %)`; `–` where the look has none.
    pub real: String,
    /// The interval that decides about the bar and about giving up.
    pub close: String,
    /// `real` from the look on at which the effect (for a guard: the loss) was real, else `open`.
    pub state: &'static str,
}

pub(super) fn look_views(judged: &BenchJudgement) -> Vec<LookView> {
    let numbered = judged.looks.iter().enumerate();
    numbered
        .map(|(index, look)| look_view(index + 1, look, judged.bar_percent))
        .collect()
}

fn look_view(number: usize, look: &LookReading, bar: Option<f64>) -> LookView {
    let words = |interval: Interval| {
        let ends = numbers::interval((interval.low, interval.high), bar);
        format!("{ends} ({})", numbers::coverage(interval.coverage))
    };
    LookView {
        name: format!("look {number} of {}", LOOKS.len()),
        pairs: numbers::counted(look.pairs as usize, "pair"),
        estimate: numbers::percent(look.estimate, bar),
        real: look.real.map_or_else(|| numbers::MISSING.to_owned(), words),
        close: words(look.close),
        state: if look.is_real { "real" } else { "open" },
    }
}
