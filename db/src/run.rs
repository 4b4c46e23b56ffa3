//! Runs, the events by which they proceed, and the documents and files that belong to them.

use crate::error::{Doing, Result};
use crate::{Conn, MachineId, Purpose, RunId, RunState, Seed, ToolchainId};

/// A run to store, before its first sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRun {
    /// Its identity across databases.
    pub uuid: String,
    /// The campaign's name.
    pub campaign: String,
    /// The base commit.
    pub base_sha: String,
    /// The head commit.
    pub head_sha: String,
    /// The whole effective config.
    pub config_json: String,
    /// SHA-256 of it, hex.
    pub config_sha256: String,
    /// What head declares.
    pub registration_json: String,
    /// SHA-256 of it, hex.
    pub registration_sha256: String,
    /// When it was declared to the record.
    pub registered_at: i64,
    /// Where it runs.
    pub machine_id: MachineId,
    /// With what it is built.
    pub toolchain_id: Option<ToolchainId>,
    /// The seed of everything that is drawn.
    pub seed: Seed,
    /// The program's version.
    pub runner_version: String,
    /// SHA-256 of the program's file.
    pub runner_sha256: String,
    /// When it began.
    pub started_at: i64,
    /// The run that it repeats.
    pub replay_of: Option<RunId>,
    /// What it is for.
    pub purpose: Purpose,
}

/// A stored run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// Its id; later runs have larger ones.
    pub id: RunId,
    /// As in [`NewRun`].
    pub uuid: String,
    /// As in [`NewRun`].
    pub campaign: String,
    /// As in [`NewRun`].
    pub base_sha: String,
    /// As in [`NewRun`].
    pub head_sha: String,
    /// As in [`NewRun`].
    pub config_json: String,
    /// As in [`NewRun`].
    pub config_sha256: String,
    /// As in [`NewRun`].
    pub registration_json: String,
    /// As in [`NewRun`].
    pub registration_sha256: String,
    /// As in [`NewRun`].
    pub registered_at: i64,
    /// As in [`NewRun`].
    pub machine_id: MachineId,
    /// As in [`NewRun`].
    pub toolchain_id: Option<ToolchainId>,
    /// As in [`NewRun`].
    pub seed: Seed,
    /// As in [`NewRun`].
    pub runner_version: String,
    /// As in [`NewRun`].
    pub runner_sha256: String,
    /// As in [`NewRun`].
    pub started_at: i64,
    /// As in [`NewRun`].
    pub replay_of: Option<RunId>,
    /// As in [`NewRun`].
    pub purpose: Purpose,
    /// What its events say.
    pub state: RunState,
    /// When it ended or was found interrupted.
    pub closed_at: Option<i64>,
}

/// Stores a run: from here on its registration cannot be changed.
pub async fn run_insert(conn: &mut Conn, new: &NewRun) -> Result<RunId> {
    let done = sqlx::query!(
        "INSERT INTO run (uuid, campaign, base_sha, head_sha, config_json, config_sha256,
                          registration_json, registration_sha256, registered_at, machine_id,
                          toolchain_id, seed, runner_version, runner_sha256, started_at,
                          replay_of, purpose)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        new.uuid,
        new.campaign,
        new.base_sha,
        new.head_sha,
        new.config_json,
        new.config_sha256,
        new.registration_json,
        new.registration_sha256,
        new.registered_at,
        new.machine_id,
        new.toolchain_id,
        new.seed,
        new.runner_version,
        new.runner_sha256,
        new.started_at,
        new.replay_of,
        new.purpose
    )
    .execute(conn)
    .await
    .doing("store a run")?;
    Ok(RunId(done.last_insert_rowid()))
}

/// Which runs to list; a field that is `None` does not restrict.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// This one.
    pub id: Option<RunId>,
    /// This one.
    pub uuid: Option<String>,
    /// Of this campaign.
    pub campaign: Option<String>,
    /// Whose head is this commit.
    pub head_sha: Option<String>,
    /// Whose head has this tree.
    pub head_tree: Option<String>,
    /// Whose head has this patch-id.
    pub head_patch_id: Option<String>,
    /// Whose base is this commit.
    pub base_sha: Option<String>,
    /// In this state.
    pub state: Option<RunState>,
    /// That repeat this one.
    pub replay_of: Option<RunId>,
    /// For this.
    pub purpose: Option<Purpose>,
    /// At most so many.
    pub limit: Option<u32>,
}

/// The runs that a filter lets through, the newest first.
pub async fn runs_select(conn: &mut Conn, filter: &RunFilter) -> Result<Vec<Run>> {
    let limit = filter.limit.map_or(-1, i64::from);
    sqlx::query_as!(
        Run,
        r#"SELECT r.id AS "id: RunId", r.uuid, r.campaign, r.base_sha, r.head_sha, r.config_json,
                  r.config_sha256, r.registration_json, r.registration_sha256, r.registered_at,
                  r.machine_id AS "machine_id: MachineId",
                  r.toolchain_id AS "toolchain_id: ToolchainId", r.seed AS "seed: Seed",
                  r.runner_version, r.runner_sha256, r.started_at,
                  r.replay_of AS "replay_of: RunId", r.purpose AS "purpose: Purpose",
                  s.state AS "state!: RunState",
                  s.closed_at AS "closed_at: i64"
           FROM run r
           JOIN run_state s ON s.run_id = r.id
           JOIN git_commit h ON h.sha = r.head_sha
           WHERE (?1 IS NULL OR r.id = ?1)
             AND (?2 IS NULL OR r.uuid = ?2)
             AND (?3 IS NULL OR r.campaign = ?3)
             AND (?4 IS NULL OR r.head_sha = ?4)
             AND (?5 IS NULL OR h.tree = ?5)
             AND (?6 IS NULL OR h.patch_id = ?6)
             AND (?7 IS NULL OR r.base_sha = ?7)
             AND (?8 IS NULL OR s.state = ?8)
             AND (?9 IS NULL OR r.replay_of = ?9)
             AND (?10 IS NULL OR r.purpose = ?10)
           ORDER BY r.id DESC LIMIT ?11"#,
        filter.id,
        filter.uuid,
        filter.campaign,
        filter.head_sha,
        filter.head_tree,
        filter.head_patch_id,
        filter.base_sha,
        filter.state,
        filter.replay_of,
        filter.purpose,
        limit
    )
    .fetch_all(conn)
    .await
    .doing("look up runs")
}

/// One run.
pub async fn run_get(conn: &mut Conn, id: RunId) -> Result<Option<Run>> {
    let filter = RunFilter {
        id: Some(id),
        ..RunFilter::default()
    };
    Ok(runs_select(conn, &filter).await?.pop())
}

/// The runs that neither ended nor were found interrupted, the newest first. Some may be in
/// progress in another process: the caller has to know (by the device's lock) before it marks
/// one as interrupted.
pub async fn runs_open(conn: &mut Conn) -> Result<Vec<Run>> {
    let filter = RunFilter {
        state: Some(RunState::Open),
        ..RunFilter::default()
    };
    runs_select(conn, &filter).await
}

/// The kind of the event that ends a run, well or not.
pub const EVENT_ENDED: &str = "ended";
/// The kind of the event that says that a run was cut short.
pub const EVENT_INTERRUPTED: &str = "interrupted";

/// Something that happened in a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunEvent {
    /// When.
    pub at: i64,
    /// What: `stage-started`, `stage-ended`, `fault`, … [`EVENT_ENDED`] and
    /// [`EVENT_INTERRUPTED`] close the run, once.
    pub kind: String,
    /// The particulars.
    pub detail_json: String,
}

/// Adds an event to a run; returns its place in the order, from 0.
pub async fn run_event_append(conn: &mut Conn, run: RunId, event: &RunEvent) -> Result<i64> {
    sqlx::query_scalar!(
        r#"INSERT INTO run_event (run_id, seq, at, kind, detail_json)
           SELECT ?1, coalesce(max(seq) + 1, 0), ?2, ?3, ?4 FROM run_event WHERE run_id = ?1
           RETURNING seq AS "seq!: i64""#,
        run,
        event.at,
        event.kind,
        event.detail_json
    )
    .fetch_one(conn)
    .await
    .doing("store an event of a run")
}

/// A run's events, in order.
pub async fn events_by_run(conn: &mut Conn, run: RunId) -> Result<Vec<RunEvent>> {
    sqlx::query_as!(
        RunEvent,
        "SELECT at, kind, detail_json FROM run_event WHERE run_id = ? ORDER BY seq",
        run
    )
    .fetch_all(conn)
    .await
    .doing("list a run's events")
}

/// Stores a JSON document of a run (code delta, revert evidence, device) under a name, once.
pub async fn run_document_insert(
    conn: &mut Conn,
    run: RunId,
    name: &str,
    json: &str,
) -> Result<()> {
    sqlx::query!(
        "INSERT INTO run_document (run_id, name, json) VALUES (?, ?, ?)",
        run,
        name,
        json
    )
    .execute(conn)
    .await
    .doing("store a document of a run")?;
    Ok(())
}

/// A JSON document of a run.
pub async fn run_document_get(conn: &mut Conn, run: RunId, name: &str) -> Result<Option<String>> {
    sqlx::query_scalar!(
        "SELECT json FROM run_document WHERE run_id = ? AND name = ?",
        run,
        name
    )
    .fetch_optional(conn)
    .await
    .doing("look up a document of a run")
}

/// A file of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunArtifact {
    /// Its name in the run.
    pub name: String,
    /// Its content.
    pub artifact: String,
}

/// Stores a file of a run under a name, once.
pub async fn run_artifact_insert(conn: &mut Conn, run: RunId, file: &RunArtifact) -> Result<()> {
    sqlx::query!(
        "INSERT INTO run_artifact (run_id, name, artifact) VALUES (?, ?, ?)",
        run,
        file.name,
        file.artifact
    )
    .execute(conn)
    .await
    .doing("store a file of a run")?;
    Ok(())
}

/// A run's files, by name.
pub async fn artifacts_by_run(conn: &mut Conn, run: RunId) -> Result<Vec<RunArtifact>> {
    sqlx::query_as!(
        RunArtifact,
        "SELECT name, artifact FROM run_artifact WHERE run_id = ? ORDER BY name",
        run
    )
    .fetch_all(conn)
    .await
    .doing("list a run's files")
}
