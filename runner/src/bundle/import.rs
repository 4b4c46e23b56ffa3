//! From a file to the record.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use db::artifacts::{Store, Stored};
use db::bundle::{Incoming, Merged, Rows};

use super::check::{Judged, judged, loaded};
use super::read::Reader;
use super::{BundleError, Manifest, Result, refused};
use crate::record::{Records, RunId, now};

/// A finished import.
#[derive(Debug)]
pub struct Imported {
    /// The run, here.
    pub run: RunId,
    /// Its identity across databases.
    pub uuid: String,
    /// Its campaign.
    pub campaign: String,
    /// Whether it was not here before.
    pub is_new: bool,
    /// Rows added, by table; empty where all of it was here.
    pub added: BTreeMap<String, u64>,
    /// What judging it again said; `None` where nothing was added.
    pub judged: Option<Judged>,
    /// SHA-256 of the file.
    pub bundle_sha256: String,
    /// What a person should know, a sentence each.
    pub notes: Vec<String>,
}

/// Everything that was read from a file; its contents are in the store.
struct Unpacked {
    manifest: Manifest,
    tables: Vec<Rows>,
    stored: Vec<Stored>,
    sha256: String,
}

/// Takes a bundle into the record: all of it, or nothing. Contents that were stored before a
/// refusal stay in the store, where nothing refers to them, until `runner gc`.
pub async fn import(records: &Records, path: &Path) -> Result<Imported> {
    let file = path.to_owned();
    let store = records.vault().store().clone();
    let reading = tokio::task::spawn_blocking(move || unpack(&file, &store));
    let unpacked = match reading.await {
        Ok(unpacked) => unpacked?,
        Err(error) => {
            return Err(BundleError::Io {
                doing: "read",
                path: path.to_owned(),
                source: std::io::Error::other(error),
            });
        }
    };
    let mut tx = records.db().write().await?;
    let mut merged = merge(records, &mut tx, &unpacked).await?;
    let judged = match merged.added.is_empty() {
        // Nothing is stored: the transaction is dropped.
        true => None,
        false => {
            let judged = concluded(records, &mut tx, &unpacked, &merged).await?;
            tx.commit().await?;
            Some(judged)
        }
    };
    let about = unpacked.manifest.run;
    merged.notes.dedup();
    Ok(Imported {
        run: merged.run,
        uuid: about.uuid,
        campaign: about.campaign,
        is_new: merged.is_new,
        added: merged.added,
        judged,
        bundle_sha256: unpacked.sha256,
        notes: merged.notes,
    })
}

fn unpack(path: &Path, store: &Store) -> Result<Unpacked> {
    let mut reader = Reader::open(path)?;
    let tables = reader.rows()?;
    says_what_it_holds(&reader.manifest, &tables)?;
    let stored = reader.contents(store)?;
    Ok(Unpacked {
        manifest: reader.manifest.clone(),
        tables,
        stored,
        sha256: reader.end()?,
    })
}

/// The manifest's words about the run are those of its row.
fn says_what_it_holds(manifest: &Manifest, tables: &[Rows]) -> Result<()> {
    let run = tables.iter().find(|rows| rows.table == "run");
    let Some(row) = run.and_then(|rows| rows.rows.first()) else {
        return refused("it holds no run");
    };
    let about = &manifest.run;
    let texts = [
        ("uuid", &about.uuid),
        ("campaign", &about.campaign),
        ("base_sha", &about.base),
        ("head_sha", &about.head),
    ];
    for (column, said) in texts {
        if row.get(column).and_then(|value| value.as_str()) != Some(said) {
            return refused(format!("its manifest is about another run ({column})"));
        }
    }
    match row.get("started_at").and_then(serde_json::Value::as_i64) == Some(about.started_at) {
        true => Ok(()),
        false => refused("its manifest is about another run (started_at)"),
    }
}

/// Notes the contents, then adds the rows.
async fn merge(records: &Records, conn: &mut db::Conn, unpacked: &Unpacked) -> Result<Merged> {
    let at = now().0;
    let mut returned = 0;
    for stored in &unpacked.stored {
        let known = db::artifacts::get(conn, &stored.sha256).await?;
        returned += u64::from(known.is_none_or(|known| known.lost_at.is_some()));
        db::artifacts::record(conn, records.vault().store(), stored, at).await?;
    }
    for left in &unpacked.manifest.left_out {
        let bytes = i64::try_from(left.bytes).unwrap_or(i64::MAX);
        db::bundle::artifact_absent(conn, &left.sha256, bytes, at).await?;
    }
    let brought: BTreeSet<String> = unpacked.stored.iter().map(|s| s.sha256.clone()).collect();
    let left_out = unpacked.manifest.left_out.iter();
    let left_out: BTreeSet<String> = left_out.map(|left| left.sha256.clone()).collect();
    let incoming = Incoming {
        tables: &unpacked.tables,
        brought: &brought,
        left_out: &left_out,
    };
    let mut merged = db::bundle::merge(conn, &incoming).await?;
    if returned > 0 {
        merged.added.insert("artifact".to_owned(), returned);
    }
    Ok(merged)
}

/// Judges what was merged, and stores where it came from.
async fn concluded(
    records: &Records,
    conn: &mut db::Conn,
    unpacked: &Unpacked,
    merged: &Merged,
) -> Result<Judged> {
    let stored = loaded(records, conn, merged).await?;
    let (outcome, judgement) = judged(&stored);
    let at = now().0;
    if let Some(judgement) = judgement {
        let text = serde_json::to_string(&judgement);
        let new = db::NewJudgement {
            at,
            verdict: judgement.verdict.word().to_owned(),
            headline: judgement.headline.clone(),
            json: text.map_err(|error| BundleError::Refused(error.to_string()))?,
            judge_version: env!("CARGO_PKG_VERSION").to_owned(),
            reason: "judged again from the evidence of an imported bundle".to_owned(),
        };
        db::judgement_insert(conn, merged.run, &new).await?;
    }
    let brought = match merged.is_new {
        true => "run",
        false => "additions",
    };
    let import = db::bundle::NewImport {
        at,
        bundle_sha256: unpacked.sha256.clone(),
        bundle_schema: unpacked.manifest.schema,
        writer: unpacked.manifest.writer.clone(),
        brought: brought.to_owned(),
        judged: outcome.word().to_owned(),
    };
    db::bundle::import_insert(conn, merged.run, &import).await?;
    Ok(outcome)
}
