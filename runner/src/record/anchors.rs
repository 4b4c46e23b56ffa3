//! Anchors and the series against them, to rows and back; stored builds by key and by commit.

use super::convert::{json, parse};
use super::{RecordError, Records, Result, RunId, now};
use crate::anchor::{Landed, Point};
use crate::config::Config;
use crate::git::Passed;
use crate::model::{
    BuildEvidence, CommitInfo, DecisionAction, Judgement, Sha, UnixMillis, Verdict,
};

/// The series that a run against an anchor is part of.
#[derive(Debug, Clone)]
pub struct AnchorSeries {
    /// The anchor.
    pub anchor: db::AnchorId,
    /// The commits that head has and the anchor has not, oldest first.
    pub passed: Vec<Passed>,
}

/// A campaign's anchor.
#[derive(Debug, Clone)]
pub struct AnchorPin {
    /// Its id.
    pub id: db::AnchorId,
    /// The commit.
    pub sha: Sha,
    /// Its first line.
    pub subject: String,
    /// What is measured and how.
    pub config: Config,
    /// Its stored build.
    pub build: BuildEvidence,
    /// How that was built, JSON.
    pub recipe: String,
    /// When it was pinned.
    pub at: UnixMillis,
    /// By whom.
    pub by: String,
    /// The commit of the anchor that it replaced.
    pub replaces: Option<Sha>,
}

/// What anchors' rows that cannot be read are reported under: they belong to no run.
const NO_RUN: RunId = RunId(0);

impl Records {
    /// The newest whole build of a commit, with its id.
    pub async fn build_of(&self, sha: &Sha) -> Result<Option<(db::BuildId, BuildEvidence)>> {
        let mut read = self.db.read().await?;
        match db::build_of_commit(&mut read, sha.as_str()).await? {
            Some(build) => Ok(Some((build.id, evidence(&mut read, &build).await?))),
            None => Ok(None),
        }
    }

    /// The newest whole build under a key.
    pub async fn usable_build(&self, key: &str) -> Result<Option<BuildEvidence>> {
        let mut read = self.db.read().await?;
        match db::build_usable(&mut read, key).await? {
            Some(build) => Ok(Some(evidence(&mut read, &build).await?)),
            None => Ok(None),
        }
    }

    /// The runs of a pair of commits on a machine (by its fingerprint) that ended and repeat no
    /// other, the newest first.
    pub async fn runs_between(&self, base: &Sha, head: &Sha, machine: &str) -> Result<Vec<RunId>> {
        let mut read = self.db.read().await?;
        let filter = db::RunFilter {
            base_sha: Some(base.to_string()),
            head_sha: Some(head.to_string()),
            state: Some(db::RunState::Ended),
            ..db::RunFilter::default()
        };
        let mut found = Vec::new();
        for run in db::runs_select(&mut read, &filter).await? {
            let stored = db::machine_get(&mut read, run.machine_id).await?;
            let same_machine = stored.is_some_and(|stored| stored.fingerprint == machine);
            if same_machine && run.replay_of.is_none() {
                found.push(run.id);
            }
        }
        Ok(found)
    }

    /// Pins a commit with its stored build as a campaign's anchor.
    pub async fn anchor_pin(
        &self,
        commit: &CommitInfo,
        build: db::BuildId,
        config: &Config,
        by: &str,
    ) -> Result<db::AnchorId> {
        let at = now().0;
        let mut tx = self.db.write().await?;
        let campaign = db::Campaign {
            name: config.campaign.name.clone(),
            title: config.campaign.title.clone(),
            created_at: at,
        };
        db::campaign_upsert(&mut tx, &campaign).await?;
        db::commit_upsert(&mut tx, &super::begin::commit_row(commit, None)).await?;
        let new = db::NewAnchor {
            campaign: campaign.name,
            at,
            commit_sha: commit.sha.to_string(),
            build_id: build,
            config_json: json(config),
            by: by.to_owned(),
        };
        let id = db::anchor_insert(&mut tx, &new).await?;
        tx.commit().await?;
        Ok(id)
    }

    /// A campaign's anchors, the one that counts first.
    pub async fn anchors(&self, campaign: &str) -> Result<Vec<AnchorPin>> {
        let mut read = self.db.read().await?;
        let rows = db::anchors_by_campaign(&mut read, campaign).await?;
        let mut pins = Vec::with_capacity(rows.len());
        for row in &rows {
            let before = rows.iter().find(|other| Some(other.id) == row.replaces);
            let build = db::build_get(&mut read, row.build_id)
                .await?
                .ok_or_else(|| unreadable("anchor's build", "it has no row"))?;
            let commit = db::commit_get(&mut read, &row.commit_sha).await?;
            pins.push(AnchorPin {
                id: row.id,
                sha: sha(&row.commit_sha)?,
                subject: commit.map(|commit| commit.subject).unwrap_or_default(),
                config: parse(NO_RUN, "anchor's config", &row.config_json)?,
                build: evidence(&mut read, &build).await?,
                recipe: build.config_json,
                at: UnixMillis(row.at),
                by: row.by.clone(),
                replaces: before.map(|before| sha(&before.commit_sha)).transpose()?,
            });
        }
        Ok(pins)
    }

    /// The measurements against an anchor on one bench, by machine, oldest first; the machine that
    /// measured last comes last. Replays, and runs without a valid window, are no measurements.
    pub async fn anchor_points(
        &self,
        anchor: db::AnchorId,
        bench: &str,
    ) -> Result<Vec<(db::MachineId, Vec<Point>)>> {
        let mut read = self.db.read().await?;
        let mut machines: Vec<(db::MachineId, Vec<Point>)> = Vec::new();
        for row in db::runs_by_anchor(&mut read, anchor).await? {
            let Some(point) = point(&row, bench)? else {
                continue;
            };
            let known = machines.iter().position(|(id, _)| *id == row.machine_id);
            let mut series =
                known.map_or_else(|| (row.machine_id, Vec::new()), |at| machines.remove(at));
            series.1.push(point);
            machines.push(series);
        }
        Ok(machines)
    }

    /// The rounds of a campaign that landed and were not decided against, as booked; `machine` is
    /// that of the series they are held against.
    pub async fn landed(&self, campaign: &str, machine: db::MachineId) -> Result<Vec<Landed>> {
        let table = self.table(campaign).await?;
        let rounds = table.into_iter().filter(|row| row.is_round());
        let rounds: Vec<_> = rounds.filter_map(|row| row.round).collect();
        let mut read = self.db.read().await?;
        let mut landed = Vec::new();
        for round in crate::render::standing_rounds(&rounds) {
            let stays = round
                .decision
                .as_ref()
                .is_none_or(|decision| decision.action != DecisionAction::Revert);
            if !matches!(round.verdict, Verdict::Landed | Verdict::LandedSubBar) || !stays {
                continue;
            }
            let Ok(run) = round.run_id.parse().map(RunId) else {
                continue;
            };
            let row = db::run_get(&mut read, run).await?;
            let commit = db::commit_get(&mut read, round.head.as_str()).await?;
            let Some((row, commit)) = row.zip(commit) else {
                continue;
            };
            landed.push(Landed {
                run,
                name: round.round.unwrap_or_else(|| format!("run {run}")),
                head: round.head,
                tree: sha(&commit.tree)?,
                is_same_machine: row.machine_id == machine,
                estimates: round
                    .benches
                    .iter()
                    .filter_map(|bench| Some((bench.bench.clone(), bench.estimate?)))
                    .collect(),
            });
        }
        Ok(landed)
    }

    /// What a machine is called: its host and its device.
    pub async fn machine_name(&self, machine: db::MachineId) -> Result<String> {
        let mut read = self.db.read().await?;
        let stored = db::machine_get(&mut read, machine).await?;
        let value: Option<crate::machine::Environment> =
            stored.and_then(|stored| serde_json::from_str(&stored.json).ok());
        Ok(match value {
            Some(machine) => match machine.gpus.first() {
                Some(gpu) => format!("{} ({})", machine.hostname, gpu.name),
                None => format!("{} ({})", machine.hostname, machine.cpu),
            },
            None => format!("machine {machine}"),
        })
    }
}

fn point(row: &db::AnchorRun, bench: &str) -> Result<Option<Point>> {
    let valid = row.state == db::RunState::Ended
        && row.replay_of.is_none()
        && row.verdict.as_deref() == Some(Verdict::Measured.word());
    let Some(text) = row.judgement_json.as_deref().filter(|_| valid) else {
        return Ok(None);
    };
    let judgement: Judgement = parse(row.run_id, "judgement", text)?;
    let judged = judgement.benches.iter().find(|b| b.bench == bench);
    let Some((effect, pairs)) = judged.and_then(|b| Some((b.effect?, b.pairs))) else {
        return Ok(None);
    };
    Ok(Some(Point {
        run: row.run_id,
        head: sha(&row.head_sha)?,
        at: UnixMillis(row.started_at),
        estimate: effect.estimate,
        interval: (effect.low, effect.high),
        coverage: effect.coverage,
        pairs,
        passed: parse(row.run_id, "commits since the anchor", &row.passed_json)?,
    }))
}

async fn evidence(conn: &mut db::Conn, build: &db::Build) -> Result<BuildEvidence> {
    let outputs = db::outputs_by_build(conn, build.id).await?;
    super::load::build_evidence(NO_RUN, build, outputs, true)
}

fn sha(text: &str) -> Result<Sha> {
    text.parse()
        .map_err(|error: crate::model::NotASha| unreadable("commit", &error.to_string()))
}

fn unreadable(what: &'static str, detail: &str) -> RecordError {
    RecordError::Unreadable {
        run: NO_RUN,
        what,
        detail: detail.to_owned(),
    }
}
