//! Removing stored content that nothing important needs: first a plan to look at, then the
//! removal.
//!
//! The database's rows all stay; an artefact's row says when its content was removed. Commits and
//! inspection reports are always kept. Which verdicts make a run worth keeping is the caller's [`Policy`].
//!
//! Kills and other processes can do no harm: a removal is noted (in one transaction) before any
//! file goes, and files go while the database's write lock is held, so that no other process can
//! note that content as stored at the same time ([`crate::artifacts::record`]).

use std::collections::{BTreeSet, HashMap};

use crate::artifacts::{Entry, Store};
use crate::error::{Doing, Result};
use crate::{Conn, Db};

/// What to keep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// The time by which ages are reckoned.
    pub now: i64,
    /// Keep everything that was stored less than so many milliseconds ago. At least
    /// [`LEAST_AGE_MS`] counts, so that runs in progress are safe.
    pub min_age_ms: i64,
    /// Keep what a run needs whose newest judgement, or its correction, is one of these.
    pub keep_verdicts: Vec<String>,
    /// Keep what a run needs whose newest decision is one of these.
    pub keep_decisions: Vec<String>,
    /// Keep what was built for any run's base side.
    pub keep_bases: bool,
}

/// Content younger than this is never removed: one hour.
pub const LEAST_AGE_MS: i64 = 60 * 60 * 1000;

/// Reports are part of the rows that always stay, in a file only for their size: a run cannot be
/// shown or judged without them. The word is the one of the view `artifact_use`.
const REPORT: &str = "inspection report";

/// Content to remove.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removal {
    /// Its name.
    pub sha256: String,
    /// Size of its file, bytes.
    pub stored_bytes: i64,
    /// When it was first stored; when its file was put, where the record does not know it.
    pub created_at: i64,
    /// Why it may go, for people.
    pub reason: String,
}

/// What a collection would do; nothing has been done yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The policy it follows.
    pub policy: Policy,
    /// What would go: content that only unimportant runs need, oldest first.
    pub remove: Vec<Removal>,
    /// Files that the record does not know or knows as lost: left by killed processes.
    pub orphans: Vec<Removal>,
    /// Content that the record believes to be there and whose file is missing.
    pub missing: Vec<String>,
    /// Artefacts that stay.
    pub kept: u64,
    /// Size of their files, bytes.
    pub kept_bytes: i64,
}

impl Plan {
    /// What would be freed, bytes.
    pub fn freed_bytes(&self) -> i64 {
        self.remove
            .iter()
            .chain(&self.orphans)
            .map(|removal| removal.stored_bytes)
            .sum()
    }
}

/// What a collection did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Applied {
    /// Files removed, half-written ones included.
    pub files: u64,
    /// Bytes freed (half-written files not counted).
    pub bytes: i64,
    /// Contents of the plan that are needed by now and were kept.
    pub kept_after_all: u64,
}

/// Finds out what may go. Changes nothing.
pub async fn plan(conn: &mut Conn, store: &Store, policy: &Policy) -> Result<Plan> {
    let mut files: HashMap<String, Entry> = store
        .iter()?
        .into_iter()
        .map(|entry| (entry.sha256.clone(), entry))
        .collect();
    let limit = age_limit(policy);
    let mut plan = Plan {
        policy: policy.clone(),
        remove: Vec::new(),
        orphans: Vec::new(),
        missing: Vec::new(),
        kept: 0,
        kept_bytes: 0,
    };
    let unneeded = unneeded(conn, policy).await?;
    for row in present(conn).await? {
        let Some(file) = files.remove(&row.sha256) else {
            plan.missing.push(row.sha256);
            continue;
        };
        match unneeded.get(&row.sha256) {
            Some(reason) if file.put_at < limit => plan.remove.push(Removal {
                sha256: row.sha256,
                stored_bytes: bytes_of(&file),
                created_at: row.created_at,
                reason: reason.clone(),
            }),
            _ => {
                plan.kept += 1;
                plan.kept_bytes += bytes_of(&file);
            }
        }
    }
    // What the record did not ask for.
    for file in files.into_values().filter(|file| file.put_at < limit) {
        plan.orphans.push(Removal {
            stored_bytes: bytes_of(&file),
            created_at: file.put_at,
            sha256: file.sha256,
            reason: "the record does not hold it".to_owned(),
        });
    }
    plan.orphans.sort_by(|a, b| a.sha256.cmp(&b.sha256));
    Ok(plan)
}

/// Carries out a plan: what has become needed since is kept, and everything missing is noted as
/// lost. May be interrupted at any point and repeated.
pub async fn apply(db: &Db, store: &Store, plan: &Plan) -> Result<Applied> {
    let mut applied = Applied::default();
    let going = note_removals(db, plan, &mut applied).await?;
    let orphans = plan.orphans.iter().map(|orphan| orphan.sha256.as_str());
    let limit = age_limit(&plan.policy);
    let files: Vec<&str> = going.iter().map(String::as_str).chain(orphans).collect();
    // Short transactions, so that a run in progress waits only moments to store its sample.
    for some in files.chunks(64) {
        let mut tx = db.write().await?;
        for sha256 in some {
            remove_file(&mut tx, store, sha256, limit, &mut applied).await?;
        }
        tx.commit().await?;
    }
    applied.files += store.sweep_unfinished(limit)?;
    Ok(applied)
}

/// Notes in the record what is about to go and what is missing; returns what is to go.
async fn note_removals(db: &Db, plan: &Plan, applied: &mut Applied) -> Result<Vec<String>> {
    let mut tx = db.write().await?;
    let unneeded = unneeded(&mut tx, &plan.policy).await?;
    let mut going = Vec::new();
    for removal in &plan.remove {
        if unneeded.contains_key(&removal.sha256) {
            mark(&mut tx, plan, &removal.sha256, "removed by gc").await?;
            going.push(removal.sha256.clone());
        } else {
            applied.kept_after_all += 1;
        }
    }
    for sha256 in &plan.missing {
        mark(&mut tx, plan, sha256, "found missing by gc").await?;
    }
    tx.commit().await?;
    Ok(going)
}

async fn mark(conn: &mut Conn, plan: &Plan, sha256: &str, reason: &str) -> Result<()> {
    crate::artifacts::mark_lost(conn, sha256, plan.policy.now, reason)
        .await
        .map(drop)
}

/// Removes one file, unless it was put again meanwhile.
async fn remove_file(
    conn: &mut Conn,
    store: &Store,
    sha256: &str,
    limit: i64,
    applied: &mut Applied,
) -> Result<()> {
    let Some(file) = store.entry(sha256)? else {
        return Ok(());
    };
    let row = crate::artifacts::get(conn, sha256).await?;
    let wanted = row.is_some_and(|row| row.lost_at.is_none());
    if wanted || file.put_at >= limit {
        applied.kept_after_all += 1;
    } else if store.remove(sha256)? {
        applied.files += 1;
        applied.bytes += bytes_of(&file);
    }
    Ok(())
}

fn bytes_of(file: &Entry) -> i64 {
    i64::try_from(file.stored_bytes).unwrap_or(i64::MAX)
}

/// Content put at or after this time stays.
fn age_limit(policy: &Policy) -> i64 {
    policy.now - policy.min_age_ms.max(LEAST_AGE_MS)
}

struct Present {
    sha256: String,
    created_at: i64,
}

/// What the record believes to be in the store, oldest first.
async fn present(conn: &mut Conn) -> Result<Vec<Present>> {
    sqlx::query_as!(
        Present,
        "SELECT sha256, created_at FROM artifact WHERE lost_at IS NULL
         ORDER BY created_at, sha256"
    )
    .fetch_all(conn)
    .await
    .doing("list the artefacts")
}

/// Content that no kept run, kept build or commit needs, with the reason why it may go. Its age
/// on disk is the caller's to check.
async fn unneeded(conn: &mut Conn, policy: &Policy) -> Result<HashMap<String, String>> {
    let limit = age_limit(policy);
    let verdicts = json_array(&policy.keep_verdicts);
    let decisions = json_array(&policy.keep_decisions);
    // A run is kept while it is open or ended without a judgement, and for its verdict (as judged
    // or as corrected) or its decision; a build is kept with any kept run that uses it, as an anchor, and as a base
    // where bases are kept.
    let rows = sqlx::query!(
        r#"WITH kept_run (id) AS (
               SELECT run_id FROM run_state
               WHERE state = 'open'
                  OR (state = 'ended' AND run_id NOT IN (SELECT run_id FROM judgement))
               UNION SELECT run_id FROM judgement_newest
                     WHERE verdict IN (SELECT value FROM json_each(?1))
                        OR judged_verdict IN (SELECT value FROM json_each(?1))
               UNION SELECT run_id FROM decision_newest
                     WHERE action IN (SELECT value FROM json_each(?2))
           ),
           kept_build (id) AS (
               SELECT build_id FROM run_build
               WHERE run_id IN (SELECT id FROM kept_run) OR (?3 AND side = 'base')
               UNION SELECT build_id FROM anchor
           ),
           kept_artifact (sha256) AS (
               SELECT artifact FROM artifact_use
               WHERE commit_sha IS NOT NULL
                  OR run_id IN (SELECT id FROM kept_run)
                  OR build_id IN (SELECT id FROM kept_build)
           )
           SELECT a.sha256, u.what AS "what?: String", u.run_id AS "run_id?: i64",
                  u.build_id AS "build_id?: i64"
           FROM artifact a
           LEFT JOIN artifact_use u ON u.artifact = a.sha256
           WHERE a.lost_at IS NULL AND a.created_at < ?4
             AND a.sha256 NOT IN (SELECT sha256 FROM kept_artifact)"#,
        verdicts,
        decisions,
        policy.keep_bases,
        limit
    )
    .fetch_all(conn)
    .await
    .doing("find out which artefacts are needed")?;
    let mut uses: HashMap<String, Vec<Use>> = HashMap::new();
    for row in rows {
        let found = uses.entry(row.sha256).or_default();
        if let Some(what) = row.what {
            found.push(Use {
                what,
                run: row.run_id,
                build: row.build_id,
            });
        }
    }
    Ok(uses
        .into_iter()
        .filter(|(_, uses)| !uses.iter().any(|used| used.what == REPORT))
        .map(|(sha256, uses)| (sha256, why(&uses)))
        .collect())
}

struct Use {
    what: String,
    run: Option<i64>,
    build: Option<i64>,
}

/// Why content with these uses may go: `sample log of run 12`, `built file engine of build 3 and
/// 2 more`.
fn why(uses: &[Use]) -> String {
    let sorted: BTreeSet<String> = uses
        .iter()
        .map(|u| match (u.run, u.build) {
            (Some(run), _) => format!("{} of run {run}", u.what),
            (None, Some(build)) => format!("{} of build {build}", u.what),
            (None, None) => u.what.clone(),
        })
        .collect();
    match (sorted.first(), sorted.len()) {
        (None, _) => "nothing refers to it".to_owned(),
        (Some(first), 1) => format!("only needed as {first}"),
        (Some(first), n) => format!("only needed as {first} and {} more, none kept", n - 1),
    }
}

/// Strings as a JSON array, for `json_each`.
fn json_array(texts: &[String]) -> String {
    serde_json::Value::from(texts.to_vec()).to_string()
}
