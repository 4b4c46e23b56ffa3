//! Reference programs in the record. Their samples are rows among the run's, on the side
//! `reference`; the role names which one.

use super::convert::parse;
use super::{Recorder, Result, RunId};
use crate::model::{
    ArtifactHash, ReferenceEvidence, ReferenceIdentity, ReferenceRole, ReferenceSample, UnixMillis,
    Verdict,
};

/// The side of a reference's samples.
pub(super) const SIDE: &str = "reference";

/// The document that says what the references were.
const DOCUMENT: &str = "references";

const BESIDE: &str = "reference:";
const THROW_AWAY: &str = "reference-throw-away:";

/// How many earlier values of a reference are looked at: some fifty windows.
const HISTORY: u32 = 1100;

impl Recorder {
    /// Stores what the references are, before the first sample.
    pub async fn references(&self, references: &[ReferenceIdentity]) -> Result<()> {
        self.document(DOCUMENT, &references).await
    }

    /// Stores one launch of a reference.
    pub async fn reference(&self, sample: &ReferenceSample) -> Result<()> {
        let mut tx = self.begin().await?;
        let prefix = match sample.role {
            ReferenceRole::Beside => BESIDE,
            ReferenceRole::ThrowAway => THROW_AWAY,
        };
        let row = db::Sample {
            bench: sample.bench.clone(),
            side: SIDE.to_owned(),
            role: format!("{prefix}{}", sample.reference),
            pair: sample.pair,
            slot: sample.slot,
            attempt: 1,
            started_at: sample.started_at.0,
            wall_ms: sample.wall_ms,
            answer_ms: None,
            value: sample.value,
            inner_json: "[]".to_owned(),
            failure_json: sample.failure.as_ref().map(super::convert::json),
            log_artifact: sample.log.as_ref().map(|log| log.0.clone()),
        };
        db::sample_append(&mut tx, self.run(), &row).await?;
        Ok(tx.commit().await?)
    }
}

/// The references of a run with their samples and their histories.
pub(super) async fn load(conn: &mut db::Conn, run: &db::Run) -> Result<Vec<ReferenceEvidence>> {
    let Some(text) = db::run_document_get(conn, run.id, DOCUMENT).await? else {
        return Ok(Vec::new());
    };
    let identities: Vec<ReferenceIdentity> = parse(run.id, "references", &text)?;
    let mut samples = Vec::new();
    for row in db::samples_by_run(conn, run.id).await? {
        if row.side == SIDE {
            samples.extend(sample(run.id, row)?);
        }
    }
    let mut found = Vec::with_capacity(identities.len());
    for identity in identities {
        let own = |s: &&ReferenceSample| s.reference == identity.name;
        found.push(ReferenceEvidence {
            samples: samples.iter().filter(own).cloned().collect(),
            history: history(conn, run, &identity).await?,
            identity,
        });
    }
    Ok(found)
}

/// A row as a reference's launch; `None` for a role that this program does not know.
fn sample(run: RunId, row: db::Sample) -> Result<Option<ReferenceSample>> {
    let (role, reference) = if let Some(name) = row.role.strip_prefix(BESIDE) {
        (ReferenceRole::Beside, name)
    } else if let Some(name) = row.role.strip_prefix(THROW_AWAY) {
        (ReferenceRole::ThrowAway, name)
    } else {
        return Ok(None);
    };
    Ok(Some(ReferenceSample {
        reference: reference.to_owned(),
        role,
        pair: row.pair,
        slot: row.slot,
        started_at: UnixMillis(row.started_at),
        wall_ms: row.wall_ms,
        value: row.value,
        failure: match &row.failure_json {
            Some(text) => Some(parse(run, "a reference's failure", text)?),
            None => None,
        },
        log: row.log_artifact.map(ArtifactHash),
        bench: row.bench,
    }))
}

/// Medians of the same reference, to the byte of its files, in earlier windows on this machine
/// that were not found invalid.
async fn history(
    conn: &mut db::Conn,
    run: &db::Run,
    identity: &ReferenceIdentity,
) -> Result<Vec<f64>> {
    let query = db::ReferenceHistoryQuery {
        bench: identity.bench.clone(),
        role: format!("{BESIDE}{}", identity.name),
        machine_id: run.machine_id,
        before: run.id,
        limit: HISTORY,
    };
    let mut windows: Vec<(RunId, Vec<f64>)> = Vec::new();
    for value in db::reference_history(conn, &query).await? {
        let invalid = value.verdict.as_deref() == Some(Verdict::EnvInvalid.word());
        // What cannot be read any more is not the same.
        let then: Vec<ReferenceIdentity> =
            serde_json::from_str(&value.references_json).unwrap_or_default();
        if invalid || !then.contains(identity) {
            continue;
        }
        match windows.last_mut().filter(|(run, _)| *run == value.run_id) {
            Some((_, values)) => values.push(value.value),
            None => windows.push((value.run_id, vec![value.value])),
        }
    }
    let medians = windows.iter();
    Ok(medians
        .filter_map(|(_, values)| crate::stats::median(values))
        .collect())
}
