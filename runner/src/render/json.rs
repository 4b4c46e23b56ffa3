//! The versioned JSON documents for scripts, made of the same views as pages and comments.
//! Numbers are finite; a missing one is `null` (lesson 32).

use serde::Serialize;

use super::view::{CompareView, DriftView, LeverView, RoundsView};
use crate::model::SCHEMA_VERSION;

/// What a document holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// One run: `runner run --json`, `runner show --json`.
    Run,
    /// Two runs: `runner compare --json`.
    Compare,
    /// A campaign's rounds: `runner index --json`.
    Campaign,
}

#[derive(Serialize)]
struct Document<'a, T> {
    schema: u32,
    kind: Kind,
    #[serde(flatten)]
    content: &'a T,
}

/// The document of one run.
pub fn run_document(lever: &LeverView) -> Result<String, serde_json::Error> {
    document(Kind::Run, lever)
}

/// The document of two runs.
pub fn compare_document(compare: &CompareView) -> Result<String, serde_json::Error> {
    document(Kind::Compare, compare)
}

#[derive(Serialize)]
struct Campaign<'a> {
    #[serde(flatten)]
    rounds: &'a RoundsView,
    /// Where it stands against its anchor, by bench.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    drift: &'a [DriftView],
}

/// The document of a campaign: its rounds, and where it stands against its anchor.
pub fn campaign_document(
    rounds: &RoundsView,
    drift: &[DriftView],
) -> Result<String, serde_json::Error> {
    document(Kind::Campaign, &Campaign { rounds, drift })
}

/// Any view as a document: `{"schema": 1, "kind": …, …}`, ending in a line break.
pub fn document(kind: Kind, content: &impl Serialize) -> Result<String, serde_json::Error> {
    let document = Document {
        schema: SCHEMA_VERSION,
        kind,
        content,
    };
    let mut text = serde_json::to_string_pretty(&document)?;
    text.push('\n');
    Ok(text)
}
