//! What is stored before the first sample: the commits, the effective config, the registration,
//! the machine, the seed. From here on none of it can be changed.

use super::{AnchorSeries, Recorder, Records, Result, RunId, now};
use crate::config::Config;
use crate::model::{ArtifactHash, CommitInfo, PerSide, Registration, Sha};

/// Everything a run's row needs.
#[derive(Debug)]
pub struct RunStart<'a> {
    /// The run's identity across databases, from [`new_uuid`].
    pub uuid: String,
    /// The effective config.
    pub config: &'a Config,
    /// The registration.
    pub registration: &'a Registration,
    /// Both commits.
    pub commits: &'a PerSide<CommitInfo>,
    /// The packs of the commits that the record does not hold yet.
    pub packs: PerSide<Option<CommitPack>>,
    /// The machine, as fingerprint and JSON.
    pub machine: db::Fingerprinted,
    /// The toolchain, as fingerprint and JSON.
    pub toolchain: Option<db::Fingerprinted>,
    /// The seed of everything that is drawn.
    pub seed: u64,
    /// SHA-256 of the program's own file.
    pub runner_sha256: String,
    /// The run that is repeated.
    pub replay_of: Option<RunId>,
    /// What the run is for.
    pub purpose: db::Purpose,
    /// What the run is declared to confirm.
    pub confirms: Option<Confirms>,
    /// The series of measurements against an anchor that it is part of.
    pub series: Option<AnchorSeries>,
}

/// The flaky verdict that a run is declared to replace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confirms {
    /// The run that gave it.
    pub run: RunId,
    /// In what way it is flaky.
    pub reason: String,
}

/// A commit as it is kept in the artefact store.
#[derive(Debug, Clone)]
pub struct CommitPack {
    /// The pack.
    pub artifact: ArtifactHash,
    /// The commit whose pack has to be restored first; `None` for a pack that is whole.
    pub base: Option<Sha>,
}

impl Records {
    /// Stores the start of a run and gives the recorder for the rest of it.
    pub async fn begin(&self, start: &RunStart<'_>) -> Result<Recorder> {
        let at = now().0;
        let mut tx = self.db.write().await?;
        self.vault.note(&mut tx, at).await?;
        let campaign = &start.config.campaign;
        let row = db::Campaign {
            name: campaign.name.clone(),
            title: campaign.title.clone(),
            created_at: at,
        };
        db::campaign_upsert(&mut tx, &row).await?;
        for side in crate::model::Side::BOTH {
            let row = commit_row(start.commits.get(side), start.packs.get(side).as_ref());
            db::commit_upsert(&mut tx, &row).await?;
        }
        let machine_id = db::machine_id(&mut tx, &start.machine).await?;
        let toolchain_id = match &start.toolchain {
            Some(toolchain) => Some(db::toolchain_id(&mut tx, toolchain).await?),
            None => None,
        };
        let new = db::NewRun {
            uuid: start.uuid.clone(),
            campaign: campaign.name.clone(),
            base_sha: start.commits.base.sha.to_string(),
            head_sha: start.commits.head.sha.to_string(),
            config_json: super::convert::json(start.config),
            config_sha256: start.config.sha256(),
            registration_json: super::convert::json(start.registration),
            registration_sha256: start.registration.sha256(),
            registered_at: at,
            machine_id,
            toolchain_id,
            seed: db::Seed(start.seed),
            runner_version: env!("CARGO_PKG_VERSION").to_owned(),
            runner_sha256: start.runner_sha256.clone(),
            started_at: at,
            replay_of: start.replay_of,
            purpose: start.purpose,
        };
        let run = db::run_insert(&mut tx, &new).await?;
        if let Some(confirms) = &start.confirms {
            let declared = db::Confirmation {
                confirms: confirms.run,
                at,
                reason: confirms.reason.clone(),
            };
            db::confirmation_insert(&mut tx, run, &declared).await?;
        }
        if let Some(series) = &start.series {
            let passed = super::convert::json(&series.passed);
            db::anchor_run_insert(&mut tx, run, series.anchor, &passed).await?;
        }
        tx.commit().await?;
        Ok(Recorder::new(
            self.clone(),
            run,
            new.uuid,
            machine_id,
            toolchain_id,
        ))
    }
}

pub(super) fn commit_row(commit: &CommitInfo, pack: Option<&CommitPack>) -> db::Commit {
    db::Commit {
        sha: commit.sha.to_string(),
        tree: commit.tree.to_string(),
        patch_id: commit.patch_id.clone(),
        parent: commit.parent.as_ref().map(ToString::to_string),
        subject: commit.subject.clone(),
        message: commit.message.clone(),
        author: commit.author.clone(),
        committed_at: commit.committed_at.0,
        pack_artifact: pack.map(|pack| pack.artifact.0.clone()),
        pack_base: pack.and_then(|pack| pack.base.as_ref().map(ToString::to_string)),
    }
}

/// An identity that no other run has, on any machine: 128 random bits, hex.
pub fn new_uuid() -> String {
    hex::encode(rand::random::<[u8; 16]>())
}

/// A description with the fingerprint that makes it the same again.
pub fn fingerprinted<T: serde::Serialize>(fingerprint: &str, value: &T) -> db::Fingerprinted {
    db::Fingerprinted {
        fingerprint: fingerprint.to_owned(),
        json: super::convert::json(value),
    }
}
