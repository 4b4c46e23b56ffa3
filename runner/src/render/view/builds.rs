//! The builds of both sides.

use serde::Serialize;

use super::failure::failure_text;
use crate::model::{BuildEvidence, Evidence, Side};
use crate::numbers;

/// One side's build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BuildView {
    /// The side.
    pub side: Side,
    /// `built in 41.2 s`, `reused (first built in 41.2 s)` or `failed: exit status 2`.
    pub text: String,
    /// Whether it succeeded.
    pub ok: bool,
    /// The compiler's first error.
    pub first_error: Option<String>,
    /// The built files: path, size, SHA-256.
    pub outputs: Vec<OutputView>,
}

/// One built file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OutputView {
    /// Relative to the worktree.
    pub path: String,
    /// Its size.
    pub size: String,
    /// Its name in the artefact store.
    pub sha256: String,
}

pub(super) fn build_views(evidence: &Evidence) -> Vec<BuildView> {
    let of = |side| Some(build_view(side, evidence.builds.get(side).as_ref()?));
    Side::BOTH.into_iter().filter_map(of).collect()
}

fn build_view(side: Side, build: &BuildEvidence) -> BuildView {
    let wall = numbers::duration(build.wall_ms);
    let text = match &build.failure {
        Some(failure) => format!("failed after {wall}: {}", failure_text(failure)),
        None if build.cached => format!("reused (first built in {wall})"),
        None => format!("built in {wall}"),
    };
    let output = |file: &crate::model::OutputFile| OutputView {
        path: file.path.clone(),
        size: numbers::bytes(file.bytes),
        sha256: file.artifact.to_string(),
    };
    BuildView {
        side,
        text,
        ok: build.failure.is_none(),
        first_error: build.first_error.clone(),
        outputs: build.outputs.iter().map(output).collect(),
    }
}
