//! A verdict with its marks, so that no output shows it by colour alone.

use serde::Serialize;

use crate::model::Verdict;

/// A verdict, for every output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VerdictView {
    /// The word: `LANDED (sub-bar)`.
    pub word: &'static str,
    /// The judge's word, where the verdict was corrected to another one.
    pub was: Option<&'static str>,
    /// Why in a few words; empty where there is nothing to add.
    pub why: String,
    /// The key in JSON, URLs and style classes: `landed-sub-bar`.
    pub key: Verdict,
    /// A mark for Markdown.
    pub icon: &'static str,
    /// A mark of one plain character for pages and terminals.
    pub symbol: &'static str,
    /// What it means for the lever.
    pub tone: Tone,
}

/// What a verdict means for the lever.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Tone {
    /// It may be kept.
    Good,
    /// It may be kept, with something to know.
    Fair,
    /// It may not.
    Bad,
    /// Not settled, or not about the lever.
    Open,
    /// The machine or the apparatus.
    Machine,
}

impl From<Verdict> for VerdictView {
    fn from(verdict: Verdict) -> Self {
        let (icon, symbol, tone) = match verdict {
            Verdict::Landed => ("✅", "✓", Tone::Good),
            Verdict::LandedSubBar => ("☑️", "✓", Tone::Fair),
            Verdict::Reverted => ("↩️", "↩", Tone::Bad),
            Verdict::Inconclusive => ("❔", "?", Tone::Open),
            Verdict::NoChange => ("🟰", "=", Tone::Open),
            Verdict::NotExercised => ("⭕", "○", Tone::Bad),
            Verdict::NotComparable => ("❓", "≠", Tone::Bad),
            Verdict::Broken => ("❌", "✗", Tone::Bad),
            Verdict::EnvInvalid => ("⚠️", "!", Tone::Machine),
            Verdict::NotMeasured => ("⏸️", "–", Tone::Machine),
            Verdict::Measured => ("📏", "·", Tone::Open),
            Verdict::Analysed => ("📝", "·", Tone::Open),
        };
        VerdictView {
            word: verdict.word(),
            was: None,
            why: String::new(),
            key: verdict,
            icon,
            symbol,
            tone,
        }
    }
}

impl VerdictView {
    /// The verdict that counts, with what the judge said.
    pub fn corrected(counts: Verdict, judged: Verdict) -> Self {
        VerdictView {
            was: (counts != judged).then(|| judged.word()),
            ..counts.into()
        }
    }

    /// The same with the judge's few words, and a mark of its own for a verified revert, which is
    /// good book-keeping and no lever that lost.
    pub fn with_why(self, why: &str, is_verified_revert: bool) -> Self {
        // The judge's words are about the judge's verdict.
        if self.was.is_some() {
            return self;
        }
        let why = why.to_owned();
        match is_verified_revert && self.key == Verdict::Reverted {
            true => VerdictView {
                icon: "🔙",
                symbol: "↺",
                tone: Tone::Open,
                why,
                ..self
            },
            false => VerdictView { why, ..self },
        }
    }

    /// The word, and in brackets that something was corrected: `REVERTED (corrected, was LANDED)`.
    pub fn text(&self, corrected: bool) -> String {
        match (self.was, corrected) {
            (Some(was), _) => format!("{} (corrected, was {was})", self.word),
            (None, true) => format!("{} (corrected)", self.word),
            (None, false) => self.word.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verified_revert_has_a_mark_of_its_own_and_a_corrected_verdict_no_words() {
        let lost = VerdictView::from(Verdict::Reverted).with_why("no worthwhile effect", false);
        let kept = VerdictView::from(Verdict::Reverted).with_why("verified revert", true);
        assert_ne!((lost.symbol, lost.icon), (kept.symbol, kept.icon));
        assert_eq!((lost.tone, kept.tone), (Tone::Bad, Tone::Open));
        let corrected = VerdictView::corrected(Verdict::Reverted, Verdict::Landed);
        assert_eq!(corrected.with_why("reaches its bar", true).why, "");
    }
}
