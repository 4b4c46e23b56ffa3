//! A stored run as what comments, pages and the terminal are made of.

use super::{Records, Result, RunId, StoredRun};
use crate::model::{ArtifactHash, Judgement, Side, UnixMillis};
use crate::render::{
    CorrectionNote, LeverInput, LeverView, LogExcerpt, Registered, RoundRow, Shown, lever_view,
    shown, standing_verdict,
};

/// The most of a log that is shown, bytes.
const LOG_BYTES: usize = 64 * 1024;

/// A judged run with everything that is shown about it.
#[derive(Debug)]
pub struct Presentable {
    /// The run.
    pub stored: StoredRun,
    judgement: Judgement,
    run_id: String,
    corrections: Vec<CorrectionNote>,
    machine: Vec<(String, String)>,
    toolchain: Vec<(String, String)>,
    previous: Vec<RoundRow>,
    later: Vec<RoundRow>,
    logs: Vec<LogExcerpt>,
    replay_command: String,
}

impl Presentable {
    /// The newest judgement, as judged.
    pub fn judgement(&self) -> &Judgement {
        &self.judgement
    }

    /// What counts: the judgement with its corrections.
    pub fn shown(&self) -> Shown {
        shown(&self.judgement, &self.corrections)
    }

    /// The input of the views.
    pub fn input(&self) -> LeverInput<'_> {
        LeverInput {
            run_id: &self.run_id,
            evidence: &self.stored.evidence,
            judgement: &self.judgement,
            corrections: &self.corrections,
            started_at: UnixMillis(self.stored.row.started_at),
            registered_at: UnixMillis(self.stored.row.registered_at),
            registration_sha256: &self.stored.row.registration_sha256,
            registered: Registered::new(
                &self.stored.evidence.commits,
                &self.stored.row.config_sha256,
                &self.stored.row.registration_sha256,
                self.stored.confirms.map(|run| run.to_string()),
            ),
            machine: &self.machine,
            toolchain: &self.toolchain,
            previous_rounds: &self.previous,
            later_rounds: &self.later,
            replay_of: self.original(),
            logs: &self.logs,
            replay_command: &self.replay_command,
        }
    }

    /// The run that this one repeats: by number, or by uuid where it is not here.
    fn original(&self) -> Option<String> {
        let here = self.stored.row.replay_of.map(|run| run.to_string());
        here.or_else(|| self.stored.absent_original.clone())
    }

    /// The view itself.
    pub fn view(&self) -> LeverView {
        lever_view(&self.input())
    }

    /// The exit status: that of the attempt that stands. A later attempt at the same registration
    /// does not turn a refusal into a permission.
    pub fn exit_code(&self) -> u8 {
        match standing_verdict(&self.input()) {
            Some(verdict) if verdict != self.judgement.verdict => verdict.exit_code(),
            _ => self.judgement.exit_code(),
        }
    }

    /// The whole record as a document for scripts.
    pub fn document(&self) -> serde_json::Value {
        let view = self.view();
        serde_json::json!({
            "schema": crate::model::SCHEMA_VERSION,
            "kind": "run",
            "run": run_document(&self.stored),
            "attempt": { "number": view.attempt, "standing": view.standing },
            "judgement": self.judgement,
            "shown": self.shown(),
            "references": crate::judge::reference_readings(&self.stored.evidence),
            "evidence": self.stored.evidence,
            "imports": self.stored.imports.iter().map(super::origin::document).collect::<Vec<_>>(),
            "corrections": self.corrections.iter().map(correction_document).collect::<Vec<_>>(),
            "machine": self.stored.machine,
            "toolchain": self.stored.toolchain,
        })
    }
}

/// A run's row as scripts see it.
pub(crate) fn run_document(stored: &StoredRun) -> serde_json::Value {
    let row = &stored.row;
    serde_json::json!({
        "id": row.id,
        "uuid": row.uuid,
        "campaign": row.campaign,
        "state": row.state,
        "started_at": row.started_at,
        "closed_at": row.closed_at,
        "registered_at": row.registered_at,
        "registration_sha256": row.registration_sha256,
        "config_sha256": row.config_sha256,
        "seed": row.seed.0.to_string(),
        "runner_version": row.runner_version,
        "runner_sha256": row.runner_sha256,
        "replay_of": row.replay_of,
        "confirms": stored.confirms,
        "purpose": row.purpose,
    })
}

fn correction_document(note: &CorrectionNote) -> serde_json::Value {
    serde_json::json!({
        "field": note.field,
        "old": note.old,
        "new": note.new,
        "reason": note.reason,
        "by": note.by,
        "at": note.at,
    })
}

impl Records {
    /// Loads a run for showing. A run that was never judged is judged on what it has, without
    /// storing that.
    pub async fn present(&self, run: RunId) -> Result<Presentable> {
        let stored = self.load(run).await?;
        let judgement = match &stored.judgement {
            Some(judgement) => judgement.clone(),
            None => crate::judge::judge(&stored.evidence),
        };
        let (previous, later) = self.rounds_around(&stored.row.campaign, run).await?;
        Ok(Presentable {
            judgement,
            run_id: run.to_string(),
            corrections: correction_notes(&stored.corrections),
            machine: super::origin::with_imports(
                super::describe::machine(&stored.machine),
                &stored.imports,
            ),
            toolchain: super::describe::toolchain(&stored.toolchain),
            previous,
            later,
            logs: self.logs(&stored),
            replay_command: format!("runner replay {}", stored.evidence.commits.head.sha),
            stored,
        })
    }

    /// The ends of the logs that explain failures; what is lost or damaged is left out.
    fn logs(&self, stored: &StoredRun) -> Vec<LogExcerpt> {
        let evidence = &stored.evidence;
        let mut wanted: Vec<&ArtifactHash> = Vec::new();
        for side in Side::BOTH {
            if let Some(build) = evidence.builds.get(side) {
                wanted.extend(build.failure.as_ref().and(build.log.as_ref()));
            }
        }
        for gate in &evidence.gates {
            if gate.outcome != crate::model::GateOutcome::Passed {
                wanted.extend(&gate.logs);
            }
        }
        for sample in evidence.benches.iter().flat_map(|bench| &bench.samples) {
            wanted.extend(sample.failure.as_ref().and(sample.log.as_ref()));
        }
        for profile in &evidence.counters {
            wanted.extend(profile.failure.as_ref().and(profile.log.as_ref()));
        }
        wanted.sort_by(|a, b| a.0.cmp(&b.0));
        wanted.dedup();
        wanted
            .into_iter()
            .filter_map(|artifact| {
                let text = self.vault.get_text(artifact).ok()?;
                Some(LogExcerpt {
                    artifact: artifact.clone(),
                    text: last_part(text),
                })
            })
            .collect()
    }
}

fn last_part(text: String) -> String {
    match text.len().checked_sub(LOG_BYTES) {
        None | Some(0) => text,
        Some(mut from) => {
            while !text.is_char_boundary(from) {
                from += 1;
            }
            text[from..].to_owned()
        }
    }
}

pub(super) fn correction_notes(rows: &[db::Correction]) -> Vec<CorrectionNote> {
    rows.iter().map(correction_note).collect()
}

fn correction_note(row: &db::Correction) -> CorrectionNote {
    CorrectionNote {
        field: row.field.clone(),
        old: row.old_value.clone(),
        new: row.new_value.clone(),
        reason: row.reason.clone(),
        by: row.by.clone(),
        at: UnixMillis(row.at),
    }
}
