//! The figures that count: a judgement with its corrections applied (lesson 30). The judgement
//! itself stays as it was; every output shows these and, beside them, what they were.
//!
//! Nothing is judged here. A verdict changes only where a person corrected the verdict, and a
//! finding that rested on a figure that was corrected is no longer given.

use serde::Serialize;

use super::input::CorrectionNote;
use super::text::one_line;
use crate::model::{Bar, BenchJudgement, Finding, Judgement, Verdict};
use crate::numbers::{self, Finite};

/// A judgement as it is shown.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Shown {
    /// The verdict that counts.
    pub verdict: Verdict,
    /// One sentence: the judge's, or what was corrected.
    pub headline: String,
    /// Whether anything was corrected.
    pub corrected: bool,
    /// The benches, in the judgement's order.
    pub benches: Vec<ShownBench>,
}

/// A bench's figures that count; effects in percent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShownBench {
    /// The bench.
    pub bench: String,
    /// The estimate.
    pub estimate: Finite,
    /// The interval's lower end.
    pub low: Finite,
    /// The interval's upper end.
    pub high: Finite,
    /// Base's median, in the bench's unit.
    pub base_median: Finite,
    /// Head's median.
    pub head_median: Finite,
    /// What the numbers say; `None` where one that it rests on was corrected after it was judged.
    pub finding: Option<Finding>,
    /// The figures that were corrected, by name.
    pub corrected: Vec<String>,
}

impl ShownBench {
    /// The interval, where it holds the estimate: an interval of the figures before a correction
    /// says nothing about the corrected one.
    pub fn interval(&self) -> Option<(f64, f64)> {
        let (low, high) = (self.low.get()?, self.high.get()?);
        (low <= self.estimate.get()? && self.estimate.get()? <= high).then_some((low, high))
    }

    /// Whether a figure was corrected.
    pub fn has_corrected(&self, figure: &str) -> bool {
        self.corrected.iter().any(|name| name == figure)
    }

    /// Whether the effect is no longer the judged one.
    pub fn effect_corrected(&self) -> bool {
        ["estimate", "low", "high"]
            .iter()
            .any(|figure| self.has_corrected(figure))
    }
}

/// A judgement with its corrections, the oldest first; the last one of each figure counts.
pub fn shown(judgement: &Judgement, corrections: &[CorrectionNote]) -> Shown {
    let verdict = newest(corrections, "verdict")
        .and_then(|note| Verdict::try_from(note.new.clone()).ok())
        .unwrap_or(judgement.verdict);
    Shown {
        verdict,
        headline: headline(judgement, corrections),
        corrected: !corrections.is_empty(),
        benches: judgement
            .benches
            .iter()
            .map(|bench| shown_bench(bench, corrections))
            .collect(),
    }
}

/// The correction of a field that counts.
fn newest<'a>(corrections: &'a [CorrectionNote], field: &str) -> Option<&'a CorrectionNote> {
    corrections.iter().rev().find(|note| note.field == field)
}

fn shown_bench(bench: &BenchJudgement, corrections: &[CorrectionNote]) -> ShownBench {
    let mut corrected = Vec::new();
    let mut figure = |name: &str, judged: Option<f64>| {
        let field = format!("bench:{}:{name}", bench.bench);
        let new = newest(corrections, &field).and_then(|note| note.new.parse::<f64>().ok());
        if new.is_some() {
            corrected.push(name.to_owned());
        }
        Finite::from(new.or(judged))
    };
    let shown = ShownBench {
        bench: bench.bench.clone(),
        estimate: figure("estimate", bench.effect.map(|e| e.estimate)),
        low: figure("low", bench.effect.map(|e| e.low)),
        high: figure("high", bench.effect.map(|e| e.high)),
        base_median: figure("base_median", bench.base_median),
        head_median: figure("head_median", bench.head_median),
        finding: None,
        corrected: Vec::new(),
    };
    let shown = ShownBench { corrected, ..shown };
    // An absolute bar stands against base's median.
    let bar_moved =
        matches!(bench.bar, Some(Bar::Absolute { .. })) && shown.has_corrected("base_median");
    let stands = !shown.effect_corrected() && !bar_moved;
    ShownBench {
        finding: stands.then_some(bench.finding),
        ..shown
    }
}

/// The sentence on top: what became of the verdict; where that stands, of the figures; the judge's
/// where nothing was corrected.
fn headline(judgement: &Judgement, corrections: &[CorrectionNote]) -> String {
    if let Some(note) = newest(corrections, "verdict") {
        return format!("corrected, {}", since(note, judgement));
    }
    let counts = |note: &&CorrectionNote| newest(corrections, &note.field) == Some(*note);
    let mut parts: Vec<String> = corrections
        .iter()
        .filter(counts)
        .map(|note| {
            let (what, _, new) = in_words(note);
            format!("{what} corrected to {new}, {}", since(note, judgement))
        })
        .collect();
    if parts.is_empty() {
        return judgement.headline.clone();
    }
    parts.push("the verdict was not judged again".to_owned());
    parts.join("; ")
}

/// `was LANDED, by A Person because …`.
fn since(note: &CorrectionNote, judgement: &Judgement) -> String {
    format!(
        "was {}, by {} because {}",
        first_value(note, judgement),
        one_line(&note.by),
        one_line(&note.reason).trim_end_matches('.')
    )
}

/// The value as it was judged, before the first correction of it.
fn first_value(note: &CorrectionNote, judgement: &Judgement) -> String {
    if note.field == "verdict" {
        return judgement.verdict.word().to_owned();
    }
    let judged = split(&note.field).and_then(|(name, figure)| {
        let bench = judgement.benches.iter().find(|b| b.bench == name)?;
        let value = match figure {
            "estimate" => bench.effect?.estimate,
            "low" => bench.effect?.low,
            "high" => bench.effect?.high,
            "base_median" => bench.base_median?,
            "head_median" => bench.head_median?,
            _ => return None,
        };
        Some(figure_text(figure, value))
    });
    judged.unwrap_or_else(|| "none".to_owned())
}

/// A correction for people: what it is about, the value before and the value after.
pub(super) fn in_words(note: &CorrectionNote) -> (String, String, String) {
    let Some((bench, figure)) = split(&note.field) else {
        return (note.field.clone(), note.old.clone(), note.new.clone());
    };
    let text = |value: &str| match value.parse::<f64>() {
        Ok(number) => figure_text(figure, number),
        Err(_) => value.to_owned(),
    };
    let what = format!("{bench} {}", figure.replace('_', " "));
    (what, text(&note.old), text(&note.new))
}

/// `bench:NAME:FIGURE` in its parts.
fn split(field: &str) -> Option<(&str, &str)> {
    field.strip_prefix("bench:")?.rsplit_once(':')
}

fn figure_text(figure: &str, value: f64) -> String {
    match figure {
        "base_median" | "head_median" => numbers::value(value),
        _ => numbers::percent(value, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::UnixMillis;
    use crate::render::fixtures;

    fn note(field: &str, old: &str, new: &str) -> CorrectionNote {
        CorrectionNote {
            field: field.to_owned(),
            old: old.to_owned(),
            new: new.to_owned(),
            reason: "wrong binary.".to_owned(),
            by: "A Person".to_owned(),
            at: UnixMillis(0),
        }
    }

    #[test]
    fn without_a_correction_nothing_differs() {
        let judgement = fixtures::landed().judgement;
        let shown = shown(&judgement, &[]);
        assert_eq!(shown.verdict, judgement.verdict);
        assert_eq!(shown.headline, judgement.headline);
        assert!(!shown.corrected);
        for (shown, judged) in shown.benches.iter().zip(&judgement.benches) {
            assert_eq!(shown.finding, Some(judged.finding));
            assert_eq!(shown.interval(), judged.effect.map(|e| (e.low, e.high)));
        }
    }

    #[test]
    fn the_last_correction_of_a_figure_counts_and_the_first_value_is_named() {
        let judgement = fixtures::landed().judgement;
        let notes = [
            note("verdict", "LANDED", "INCONCLUSIVE"),
            note("bench:prefill:estimate", "2.31", "60"),
            note("verdict", "INCONCLUSIVE", "REVERTED"),
        ];
        let shown = shown(&judgement, &notes);
        assert_eq!(shown.verdict, Verdict::Reverted);
        assert_eq!(judgement.verdict, Verdict::Landed);
        assert_eq!(
            shown.headline,
            "corrected, was LANDED, by A Person because wrong binary"
        );
        let prefill = &shown.benches[0];
        assert_eq!(prefill.estimate.get(), Some(60.0));
        assert_eq!(prefill.interval(), None, "it is another figure's");
        assert_eq!(prefill.finding, None, "it was not judged again");
        assert_eq!(shown.benches[1].finding, Some(Finding::NoEffect));
    }

    #[test]
    fn figures_without_the_verdict_say_so() {
        let judgement = fixtures::landed().judgement;
        let notes = [
            note("bench:prefill:low", "1.9", "59"),
            note("bench:prefill:estimate", "2.31", "60"),
            note("bench:prefill:high", "2.6", "61"),
        ];
        let shown = shown(&judgement, &notes);
        assert_eq!(shown.benches[0].interval(), Some((59.0, 61.0)));
        let says = |text: &str| assert!(shown.headline.contains(text), "{}", shown.headline);
        says("prefill estimate corrected to +60.00 %, was +2.28 %, by A Person because wrong");
        says("prefill low corrected to +59.00 %, was +1.95 %");
        says("; the verdict was not judged again");
    }

    #[test]
    fn a_median_leaves_the_finding_unless_the_bar_stands_against_it() {
        let mut judgement = fixtures::landed().judgement;
        let notes = [note("bench:prefill:base_median", "1311.8", "1300")];
        let finding = |judgement: &Judgement| shown(judgement, &notes).benches[0].finding;
        assert_eq!(finding(&judgement), Some(Finding::ReachesBar));
        judgement.benches[0].bar = Some(Bar::Absolute { value: 1320.0 });
        assert_eq!(finding(&judgement), None);
    }
}
