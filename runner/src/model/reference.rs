//! A reference program that was measured beside the pairs of a bench.

use serde::{Deserialize, Serialize};

use super::{ArtifactHash, Failure, UnixMillis};

/// A file of a reference as it was found before the window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReferenceFile {
    /// Its path, as declared.
    pub path: String,
    /// SHA-256 of it, hex; `None` where it could not be read.
    pub sha256: Option<String>,
    /// Why not.
    pub fault: Option<String>,
}

/// What a reference was in a window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReferenceIdentity {
    /// Its name.
    pub name: String,
    /// The bench beside which it is measured.
    pub bench: String,
    /// What it is pinned to: `commit b4567`.
    pub pinned: String,
    /// SHA-256 over how it is asked, from the config.
    pub asks_sha256: String,
    /// Its files.
    pub files: Vec<ReferenceFile>,
}

/// What a launch of a reference is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReferenceRole {
    /// The first launch; never looked at.
    ThrowAway,
    /// Beside a pair.
    Beside,
}

/// One launch of a reference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReferenceSample {
    /// The reference's name.
    pub reference: String,
    /// The bench.
    pub bench: String,
    /// What it is for.
    pub role: ReferenceRole,
    /// The pair beside which it was launched.
    pub pair: u32,
    /// 0: right before the pair, 1: right after it.
    pub slot: u8,
    /// When it started.
    pub started_at: UnixMillis,
    /// Wall time of the process, milliseconds.
    pub wall_ms: f64,
    /// The value in the bench's unit; finite and positive. `None` when it is missing.
    pub value: Option<f64>,
    /// Why the value is missing.
    pub failure: Option<Failure>,
    /// The process's output.
    pub log: Option<ArtifactHash>,
}

/// A reference in one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReferenceEvidence {
    /// What it was.
    #[serde(flatten)]
    pub identity: ReferenceIdentity,
    /// Every launch, in the order in which they were made.
    pub samples: Vec<ReferenceSample>,
    /// Medians of the same reference in earlier windows on this machine, oldest first.
    pub history: Vec<f64>,
}
