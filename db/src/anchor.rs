//! Anchors: the commits that campaigns are measured against across rounds, and the runs that did.

use crate::error::{Doing, Result};
use crate::{AnchorId, Build, BuildId, Conn, MachineId, RunId, RunState, build_get};

/// An anchor to pin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAnchor {
    /// The campaign's name.
    pub campaign: String,
    /// When it is pinned.
    pub at: i64,
    /// The commit.
    pub commit_sha: String,
    /// Its stored build, which is measured from now on.
    pub build_id: BuildId,
    /// What is measured and how.
    pub config_json: String,
    /// Who pins it.
    pub by: String,
}

/// A pinned anchor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anchor {
    /// Its id; later ones are larger.
    pub id: AnchorId,
    /// As in [`NewAnchor`].
    pub campaign: String,
    /// As in [`NewAnchor`].
    pub at: i64,
    /// As in [`NewAnchor`].
    pub commit_sha: String,
    /// As in [`NewAnchor`].
    pub build_id: BuildId,
    /// As in [`NewAnchor`].
    pub config_json: String,
    /// As in [`NewAnchor`].
    pub by: String,
    /// The anchor that it replaced.
    pub replaces: Option<AnchorId>,
}

/// Pins an anchor: it replaces the campaign's newest, and a new series begins.
pub async fn anchor_insert(conn: &mut Conn, new: &NewAnchor) -> Result<AnchorId> {
    let done = sqlx::query!(
        "INSERT INTO anchor (campaign, at, commit_sha, build_id, config_json, by, replaces)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, (SELECT max(id) FROM anchor WHERE campaign = ?1))",
        new.campaign,
        new.at,
        new.commit_sha,
        new.build_id,
        new.config_json,
        new.by
    )
    .execute(conn)
    .await
    .doing("pin an anchor")?;
    Ok(AnchorId(done.last_insert_rowid()))
}

/// A campaign's anchors, the newest (the one that counts) first.
pub async fn anchors_by_campaign(conn: &mut Conn, campaign: &str) -> Result<Vec<Anchor>> {
    sqlx::query_as!(
        Anchor,
        r#"SELECT id AS "id: AnchorId", campaign, at, commit_sha,
                  build_id AS "build_id: BuildId", config_json, by,
                  replaces AS "replaces: AnchorId"
           FROM anchor WHERE campaign = ? ORDER BY id DESC"#,
        campaign
    )
    .fetch_all(conn)
    .await
    .doing("look up a campaign's anchors")
}

/// The newest build of a commit that succeeded and whose outputs are all still in the store.
pub async fn build_of_commit(conn: &mut Conn, sha: &str) -> Result<Option<Build>> {
    let id = sqlx::query_scalar!(
        r#"SELECT b.id AS "id: BuildId" FROM build b
           WHERE b.commit_sha = ? AND b.failure_json IS NULL
             AND EXISTS (SELECT 1 FROM build_output o WHERE o.build_id = b.id)
             AND NOT EXISTS (SELECT 1 FROM build_output o JOIN artifact a ON a.sha256 = o.artifact
                             WHERE o.build_id = b.id AND a.lost_at IS NOT NULL)
           ORDER BY b.id DESC LIMIT 1"#,
        sha
    )
    .fetch_optional(&mut *conn)
    .await
    .doing("look up a commit's build")?;
    match id {
        Some(id) => build_get(conn, id).await,
        None => Ok(None),
    }
}

/// Makes a run part of an anchor's series. `passed_json` holds the commits that its head has and
/// the anchor has not.
pub async fn anchor_run_insert(
    conn: &mut Conn,
    run: RunId,
    anchor: AnchorId,
    passed_json: &str,
) -> Result<()> {
    sqlx::query!(
        "INSERT INTO anchor_run (run_id, anchor_id, passed_json) VALUES (?, ?, ?)",
        run,
        anchor,
        passed_json
    )
    .execute(conn)
    .await
    .doing("store a run against an anchor")?;
    Ok(())
}

/// A run against an anchor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnchorRun {
    /// The run.
    pub run_id: RunId,
    /// Where it was measured: each machine has a series of its own.
    pub machine_id: MachineId,
    /// The measured head.
    pub head_sha: String,
    /// When it began.
    pub started_at: i64,
    /// The run that it repeats.
    pub replay_of: Option<RunId>,
    /// Its state.
    pub state: RunState,
    /// What tables show as its verdict; `None` when it was not judged.
    pub verdict: Option<String>,
    /// Its newest judgement.
    pub judgement_json: Option<String>,
    /// The commits that head has and the anchor has not.
    pub passed_json: String,
}

/// The runs of an anchor's series, oldest first.
pub async fn runs_by_anchor(conn: &mut Conn, anchor: AnchorId) -> Result<Vec<AnchorRun>> {
    sqlx::query_as!(
        AnchorRun,
        r#"SELECT r.id AS "run_id: RunId", r.machine_id AS "machine_id: MachineId", r.head_sha,
                  r.started_at, r.replay_of AS "replay_of: RunId", s.state AS "state!: RunState",
                  j.verdict AS "verdict?: String", j.json AS "judgement_json?: String",
                  x.passed_json
           FROM anchor_run x
           JOIN run r ON r.id = x.run_id
           JOIN run_state s ON s.run_id = r.id
           LEFT JOIN judgement_newest j ON j.run_id = r.id
           WHERE x.anchor_id = ? ORDER BY r.id"#,
        anchor
    )
    .fetch_all(conn)
    .await
    .doing("list the runs against an anchor")
}
