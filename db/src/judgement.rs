//! What was concluded about a run: judgements, decisions, corrections. Nothing is replaced; the
//! newest of each counts.

use crate::error::{Doing, Result};
use crate::{Conn, CorrectionId, DecisionId, JudgementId, Purpose, RunId, RunState};

/// A judgement to store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewJudgement {
    /// When it was made.
    pub at: i64,
    /// The verdict.
    pub verdict: String,
    /// One sentence.
    pub headline: String,
    /// The whole judgement.
    pub json: String,
    /// The version of the judge.
    pub judge_version: String,
    /// Why the run was judged: `measured`, or what made a later judgement necessary.
    pub reason: String,
}

/// A stored judgement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// Its id.
    pub id: JudgementId,
    /// As in [`NewJudgement`].
    pub at: i64,
    /// As in [`NewJudgement`]: what the judge said, whatever was corrected later.
    pub verdict: String,
    /// As in [`NewJudgement`].
    pub headline: String,
    /// As in [`NewJudgement`].
    pub json: String,
    /// As in [`NewJudgement`].
    pub judge_version: String,
    /// As in [`NewJudgement`].
    pub reason: String,
}

/// Adds a judgement to a run; it counts from now on.
pub async fn judgement_insert(
    conn: &mut Conn,
    run: RunId,
    new: &NewJudgement,
) -> Result<JudgementId> {
    let done = sqlx::query!(
        "INSERT INTO judgement (run_id, at, verdict, headline, json, judge_version, reason)
         VALUES (?, ?, ?, ?, ?, ?, ?)",
        run,
        new.at,
        new.verdict,
        new.headline,
        new.json,
        new.judge_version,
        new.reason
    )
    .execute(conn)
    .await
    .doing("store a judgement")?;
    Ok(JudgementId(done.last_insert_rowid()))
}

/// A run's judgements, the newest (the one that counts) first.
pub async fn judgements_by_run(conn: &mut Conn, run: RunId) -> Result<Vec<Judgement>> {
    sqlx::query_as!(
        Judgement,
        r#"SELECT id AS "id: JudgementId", at, verdict, headline, json, judge_version, reason
           FROM judgement WHERE run_id = ? ORDER BY id DESC"#,
        run
    )
    .fetch_all(conn)
    .await
    .doing("look up a run's judgements")
}

/// A person's decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// When.
    pub at: i64,
    /// `land` or `revert`.
    pub action: String,
    /// Why; not empty.
    pub reason: String,
    /// Who.
    pub by: String,
}

/// Adds a decision to a run; it counts from now on.
pub async fn decision_insert(
    conn: &mut Conn,
    run: RunId,
    decision: &Decision,
) -> Result<DecisionId> {
    let done = sqlx::query!(
        "INSERT INTO decision (run_id, at, action, reason, by) VALUES (?, ?, ?, ?, ?)",
        run,
        decision.at,
        decision.action,
        decision.reason,
        decision.by
    )
    .execute(conn)
    .await
    .doing("store a decision")?;
    Ok(DecisionId(done.last_insert_rowid()))
}

/// A run's decisions, the newest (the one that counts) first.
pub async fn decisions_by_run(conn: &mut Conn, run: RunId) -> Result<Vec<Decision>> {
    sqlx::query_as!(
        Decision,
        "SELECT at, action, reason, by FROM decision WHERE run_id = ? ORDER BY id DESC",
        run
    )
    .fetch_all(conn)
    .await
    .doing("look up a run's decisions")
}

/// A figure that replaces an earlier one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Correction {
    /// When it was made.
    pub at: i64,
    /// Which figure: `verdict`, or for example `bench:prefill:estimate`.
    pub field: String,
    /// What was shown before.
    pub old_value: String,
    /// What is shown now.
    pub new_value: String,
    /// Why; not empty.
    pub reason: String,
    /// Who.
    pub by: String,
    /// The later run that gave the new figure.
    pub source_run_id: Option<RunId>,
}

/// Adds a correction to a run. A correction of `verdict` changes the verdict that tables show
/// and by which earlier runs are chosen; the judgement itself stays.
pub async fn correction_insert(
    conn: &mut Conn,
    run: RunId,
    correction: &Correction,
) -> Result<CorrectionId> {
    let done = sqlx::query!(
        "INSERT INTO correction (at, run_id, field, old_value, new_value, reason, by,
                                 source_run_id)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        correction.at,
        run,
        correction.field,
        correction.old_value,
        correction.new_value,
        correction.reason,
        correction.by,
        correction.source_run_id
    )
    .execute(conn)
    .await
    .doing("store a correction")?;
    Ok(CorrectionId(done.last_insert_rowid()))
}

/// The corrections of a run that count: the newest of each figure, by figure.
pub async fn run_corrections(conn: &mut Conn, run: RunId) -> Result<Vec<Correction>> {
    sqlx::query_as!(
        Correction,
        r#"SELECT at, field, old_value, new_value, reason, by,
                  source_run_id AS "source_run_id: RunId"
           FROM correction_newest WHERE run_id = ? ORDER BY field"#,
        run
    )
    .fetch_all(conn)
    .await
    .doing("look up a run's corrections")
}

/// Every correction of a run, oldest first; those that were corrected again included.
pub async fn corrections_by_run(conn: &mut Conn, run: RunId) -> Result<Vec<Correction>> {
    sqlx::query_as!(
        Correction,
        r#"SELECT at, field, old_value, new_value, reason, by,
                  source_run_id AS "source_run_id: RunId"
           FROM correction WHERE run_id = ? ORDER BY id"#,
        run
    )
    .fetch_all(conn)
    .await
    .doing("look up a run's corrections")
}

/// A run as a line of its campaign's table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CampaignRow {
    /// The run.
    pub run_id: RunId,
    /// Its uuid.
    pub uuid: String,
    /// Its base commit.
    pub base_sha: String,
    /// Its head commit.
    pub head_sha: String,
    /// The base commit's tree.
    pub base_tree: String,
    /// The head commit's tree.
    pub head_tree: String,
    /// The head commit's patch-id.
    pub head_patch_id: Option<String>,
    /// The head commit's first parent.
    pub head_parent: Option<String>,
    /// The head commit's subject.
    pub head_subject: String,
    /// SHA-256 of the config.
    pub config_sha256: String,
    /// What head declared.
    pub registration_json: String,
    /// SHA-256 of it.
    pub registration_sha256: String,
    /// The run that it confirms.
    pub confirms: Option<RunId>,
    /// How many samples it took.
    pub samples: i64,
    /// When it began.
    pub started_at: i64,
    /// The run that it repeats.
    pub replay_of: Option<RunId>,
    /// What it is for.
    pub purpose: Purpose,
    /// Its state.
    pub state: RunState,
    /// The verdict to show: corrected where it was; `None` when it was not judged.
    pub verdict: Option<String>,
    /// What the judge said; differs from `verdict` where that was corrected.
    pub judged_verdict: Option<String>,
    /// The newest judgement's sentence.
    pub headline: Option<String>,
    /// The newest judgement as a whole.
    pub judgement_json: Option<String>,
    /// How many corrections the run has, of any figure.
    pub corrections: i64,
    /// The newest decision: `land` or `revert`.
    pub decision: Option<String>,
    /// Its reason.
    pub decision_reason: Option<String>,
    /// Who made it.
    pub decision_by: Option<String>,
    /// When.
    pub decision_at: Option<i64>,
}

/// The newest `limit` runs of a campaign, the newest first, with what is shown about each.
pub async fn campaign_table(
    conn: &mut Conn,
    campaign: &str,
    limit: u32,
) -> Result<Vec<CampaignRow>> {
    sqlx::query_as!(
        CampaignRow,
        r#"SELECT r.id AS "run_id: RunId", r.uuid, r.base_sha, r.head_sha,
                  b.tree AS base_tree, c.tree AS head_tree, c.patch_id AS head_patch_id,
                  c.parent AS head_parent, c.subject AS head_subject, r.config_sha256,
                  r.registration_json, r.registration_sha256,
                  f.confirms AS "confirms?: RunId",
                  (SELECT count(*) FROM sample s WHERE s.run_id = r.id) AS "samples!: i64",
                  r.started_at,
                  r.replay_of AS "replay_of: RunId", r.purpose AS "purpose: Purpose",
                  s.state AS "state!: RunState",
                  j.verdict AS "verdict?: String", j.judged_verdict AS "judged_verdict?: String",
                  j.headline AS "headline?: String", j.json AS "judgement_json?: String",
                  (SELECT count(*) FROM correction k WHERE k.run_id = r.id)
                      AS "corrections!: i64",
                  d.action AS "decision?: String", d.reason AS "decision_reason?: String",
                  d.by AS "decision_by?: String", d.at AS "decision_at?: i64"
           FROM run r
           JOIN git_commit b ON b.sha = r.base_sha
           JOIN git_commit c ON c.sha = r.head_sha
           LEFT JOIN confirmation f ON f.run_id = r.id
           JOIN run_state s ON s.run_id = r.id
           LEFT JOIN judgement_newest j ON j.run_id = r.id
           LEFT JOIN decision_newest d ON d.run_id = r.id
           WHERE r.campaign = ?1
           ORDER BY r.id DESC LIMIT ?2"#,
        campaign,
        limit
    )
    .fetch_all(conn)
    .await
    .doing("list a campaign's runs")
}
