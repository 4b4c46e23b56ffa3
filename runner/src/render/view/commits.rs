//! Commits, registration, decision and corrections.

use serde::Serialize;

use crate::model::{
    CommitInfo, Decision, DecisionAction, Registration, RoundKind, Source, UnixMillis,
};
use crate::numbers;
use crate::render::corrected::in_words;
use crate::render::input::CorrectionNote;

/// A commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CommitView {
    /// The whole name.
    pub sha: String,
    /// Its first digits.
    pub short: String,
    /// Its tree.
    pub tree: String,
    /// The patch-id, where it has one.
    pub patch_id: Option<String>,
    /// The message's first line.
    pub subject: String,
    /// The message below its first line; empty where there is none.
    pub body: String,
    /// The author's name.
    pub author: String,
    /// When it was committed.
    pub date: String,
}

impl From<&CommitInfo> for CommitView {
    fn from(commit: &CommitInfo) -> Self {
        let body = commit.message.split_once('\n').map_or("", |(_, rest)| rest);
        CommitView {
            sha: commit.sha.to_string(),
            short: commit.sha.short().to_owned(),
            tree: commit.tree.to_string(),
            patch_id: commit.patch_id.clone(),
            subject: commit.subject.clone(),
            body: body.trim().to_owned(),
            author: commit.author.clone(),
            date: numbers::time(commit.committed_at),
        }
    }
}

/// What was declared before measuring.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RegistrationView {
    /// `Hypothesis:`.
    pub hypothesis: Option<String>,
    /// Lever, measured or analysed.
    pub kind: RoundKind,
    /// The bars: bench, text, and where it was declared.
    pub bars: Vec<DeclaredView>,
    /// The claims, likewise.
    pub claims: Vec<DeclaredView>,
    /// `Retry-When:` conditions.
    pub retry_when: Vec<String>,
    /// What could not be read.
    pub errors: Vec<String>,
    /// When it was stored.
    pub registered_at: String,
    /// Its SHA-256.
    pub sha256: String,
}

/// A declared bar or claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DeclaredView {
    /// The text as written.
    pub text: String,
    /// `trailer` or `campaign.toml`.
    pub source: &'static str,
}

/// Where a bar or claim was declared, for people.
pub(super) fn source_word(source: Source) -> &'static str {
    match source {
        Source::Trailer => "trailer",
        Source::File => "campaign.toml",
    }
}

pub(super) fn registration_view(
    registration: &Registration,
    registered_at: UnixMillis,
    sha256: &str,
) -> RegistrationView {
    let bar = |bar: &crate::model::RegisteredBar| DeclaredView {
        text: if bar.text.contains(bar.bench.as_str()) {
            bar.text.clone()
        } else {
            format!("{} {}", bar.bench, bar.text)
        },
        source: source_word(bar.source),
    };
    let claim = |claim: &crate::model::RegisteredClaim| DeclaredView {
        text: claim.text.clone(),
        source: source_word(claim.source),
    };
    RegistrationView {
        hypothesis: registration.hypothesis.clone(),
        kind: registration.kind,
        bars: registration.bars.iter().map(bar).collect(),
        claims: registration.claims.iter().map(claim).collect(),
        retry_when: registration.retry_when.clone(),
        errors: registration.errors.clone(),
        registered_at: numbers::time(registered_at),
        sha256: sha256.to_owned(),
    }
}

/// A person's decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DecisionView {
    /// What it does with the lever.
    pub action: DecisionAction,
    /// In a word for people: `land` or `revert`, as `runner decide` has it.
    pub word: &'static str,
    /// Why.
    pub reason: String,
    /// Who.
    pub by: String,
    /// When.
    pub at: String,
}

impl From<&Decision> for DecisionView {
    fn from(decision: &Decision) -> Self {
        DecisionView {
            action: decision.action,
            word: match decision.action {
                DecisionAction::Land => "land",
                DecisionAction::Revert => "revert",
            },
            reason: decision.reason.clone(),
            by: decision.by.clone(),
            at: numbers::time(decision.at),
        }
    }
}

/// A correction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CorrectionView {
    /// What is corrected: `verdict`, `prefill estimate`.
    pub field: String,
    /// What counted before.
    pub old: String,
    /// What counts since.
    pub new: String,
    /// Why.
    pub reason: String,
    /// Who.
    pub by: String,
    /// When.
    pub at: String,
}

impl From<&CorrectionNote> for CorrectionView {
    fn from(note: &CorrectionNote) -> Self {
        let (field, old, new) = in_words(note);
        CorrectionView {
            field,
            old,
            new,
            reason: note.reason.clone(),
            by: note.by.clone(),
            at: numbers::time(note.at),
        }
    }
}
