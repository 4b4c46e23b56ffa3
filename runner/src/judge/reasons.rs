//! How a judgement is put together: reasons are collected by weight, a ruling ends it.

use crate::model::{Reason, Verdict, Weight};

/// The reasons so far.
#[derive(Debug, Default)]
pub(super) struct Reasons(Vec<Reason>);

/// A verdict with its headline.
#[derive(Debug)]
pub(super) struct Ruling {
    pub(super) verdict: Verdict,
    pub(super) headline: String,
    /// Why in a few words; may be empty.
    pub(super) why: String,
    /// Whether a person's decision was a part of it.
    pub(super) by_decision: bool,
}

impl Ruling {
    /// A ruling that no decision entered.
    pub(super) fn new(verdict: Verdict, headline: impl Into<String>) -> Self {
        Ruling {
            verdict,
            headline: headline.into(),
            why: String::new(),
            by_decision: false,
        }
    }

    /// Says why in a few words, for tables.
    pub(super) fn why(self, why: impl Into<String>) -> Self {
        Ruling {
            why: why.into(),
            ..self
        }
    }
}

impl Reasons {
    /// Adds a reason that decides.
    pub(super) fn decisive(&mut self, text: impl Into<String>) {
        self.add(Weight::Decisive, text.into());
    }

    /// Adds a reason that deserves attention.
    pub(super) fn warn(&mut self, text: impl Into<String>) {
        self.add(Weight::Warning, text.into());
    }

    /// Adds context.
    pub(super) fn note(&mut self, text: impl Into<String>) {
        self.add(Weight::Note, text.into());
    }

    fn add(&mut self, weight: Weight, text: String) {
        self.0.push(Reason { weight, text });
    }

    /// Adds a deciding reason and makes it the headline too.
    pub(super) fn rule(&mut self, verdict: Verdict, text: impl Into<String>) -> Option<Ruling> {
        let headline = text.into();
        self.decisive(headline.clone());
        Some(Ruling::new(verdict, headline))
    }

    /// The decisive ones first, then warnings, then notes; each in the order they were found.
    pub(super) fn sorted(mut self) -> Vec<Reason> {
        self.0.sort_by_key(|reason| match reason.weight {
            Weight::Decisive => 0,
            Weight::Warning => 1,
            Weight::Note => 2,
        });
        self.0
    }
}
