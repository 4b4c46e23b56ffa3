//! What the rows mean: that a run which was merged can be loaded, and judged as its bundle says.

use db::bundle::Merged;

use super::{Result, refused};
use crate::model::Judgement;
use crate::record::{Records, StoredRun};

/// What judging an imported run again said.
#[derive(Debug, Clone, PartialEq)]
pub enum Judged {
    /// The same judgement in every detail.
    Same,
    /// The same verdict; something else of the judgement differs.
    DetailsDiffer,
    /// Another verdict. Both are kept; the one made here counts.
    VerdictDiffers {
        /// The bundle's.
        was: String,
        /// The one from the evidence.
        is: String,
    },
    /// The run came without a judgement.
    NeverJudged,
}

impl Judged {
    /// As it is stored.
    pub fn word(&self) -> &'static str {
        match self {
            Judged::Same => "same",
            Judged::DetailsDiffer => "details-differ",
            Judged::VerdictDiffers { .. } => "verdict-differs",
            Judged::NeverJudged => "never-judged",
        }
    }
}

/// Loads the merged run in the transaction, and refuses what does not fit together.
pub(super) async fn loaded(
    records: &Records,
    conn: &mut db::Conn,
    merged: &Merged,
) -> Result<StoredRun> {
    let run = merged.run;
    let stored = records.load_from(conn, run).await?;
    let evidence = &stored.evidence;
    if evidence.config.campaign.name != stored.row.campaign {
        return refused("its config is of another campaign than its run");
    }
    for judgement in db::judgements_by_run(conn, run).await? {
        match serde_json::from_str::<Judgement>(&judgement.json) {
            Ok(read) if read.verdict.word() == judgement.verdict => {}
            Ok(_) => return refused("a judgement's verdict is not the one in its own document"),
            Err(error) => return refused(format!("a judgement cannot be read: {error}")),
        }
    }
    // What lists and pages read besides: a row that they cannot read would stop them for good.
    for link in db::builds_by_run(conn, run).await? {
        db::kernels_by_build(conn, link.build_id).await?;
    }
    hashes_hold(&stored)?;
    Ok(stored)
}

/// The registration and the config are hashed when the run begins: the stored texts must be those.
/// The hash is over the canonical form of the stored text, whatever version wrote it.
fn hashes_hold(stored: &StoredRun) -> Result<()> {
    let row = &stored.row;
    let texts = [
        (
            "registration",
            &row.registration_json,
            &row.registration_sha256,
        ),
        ("config", &row.config_json, &row.config_sha256),
    ];
    for (what, text, sha256) in texts {
        let value: serde_json::Value = match serde_json::from_str(text) {
            Ok(value) => value,
            Err(error) => return refused(format!("its {what} cannot be read: {error}")),
        };
        if crate::config::canonical::canonical_sha256(&value) != *sha256 {
            return refused(format!(
                "its {what} is not the one that its hash was taken of"
            ));
        }
    }
    Ok(())
}

/// Judges a loaded run from its evidence alone; the judgement to store where it differs.
pub(super) fn judged(stored: &StoredRun) -> (Judged, Option<Judgement>) {
    let Some(theirs) = &stored.judgement else {
        return (Judged::NeverJudged, None);
    };
    let ours = crate::judge::judge(&stored.evidence);
    if ours == *theirs {
        return (Judged::Same, None);
    }
    let outcome = match ours.verdict == theirs.verdict {
        true => Judged::DetailsDiffer,
        false => Judged::VerdictDiffers {
            was: theirs.verdict.word().to_owned(),
            is: ours.verdict.word().to_owned(),
        },
    };
    (outcome, Some(ours))
}
