//! Finding runs by what a person has at hand: a commit, its tree, its patch-id, all perhaps
//! abbreviated, or a run's uuid.

use serde::{Deserialize, Serialize};

use crate::error::{Doing, Result};
use crate::{Conn, Purpose, Run, RunFilter, runs_select};

/// The shortest abbreviation that is looked up, hex digits.
pub const SHORTEST_PREFIX: usize = 4;

/// The way in which runs were found; the order is from the strongest to the weakest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MatchedBy {
    /// The run's own uuid.
    Uuid,
    /// The head commit.
    Commit,
    /// The head commit's tree: a rewritten commit with the same content, so the same evidence.
    Tree,
    /// The head commit's patch-id: the same change on another base; weaker, and to be said so.
    PatchId,
}

/// A name that an abbreviation fits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The full commit, tree or patch-id.
    pub name: String,
    /// The subject of (one of) its commits.
    pub subject: String,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// No run.
    Nothing,
    /// The abbreviation fits several.
    Ambiguous {
        /// What they are.
        by: MatchedBy,
        /// They, by name.
        candidates: Vec<Candidate>,
    },
    /// At least one run.
    Runs {
        /// How.
        by: MatchedBy,
        /// They, the newest first.
        runs: Vec<Run>,
    },
}

/// Finds runs whose uuid, head commit, head tree or head patch-id is `text`, in this order; hex
/// text of at least [`SHORTEST_PREFIX`] digits may be an abbreviation. By a commit only levers are
/// found: a calibration is of its commit, and not about it. An abbreviation that fits
/// several names of one kind is ambiguous, and weaker kinds are not tried.
pub async fn run_find(conn: &mut Conn, text: &str) -> Result<Found> {
    let text = text.trim().to_ascii_lowercase();
    let by_uuid = RunFilter {
        uuid: Some(text.clone()),
        ..RunFilter::default()
    };
    let runs = runs_select(conn, &by_uuid).await?;
    if !runs.is_empty() {
        let by = MatchedBy::Uuid;
        return Ok(Found::Runs { by, runs });
    }
    if text.len() < SHORTEST_PREFIX || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Ok(Found::Nothing);
    }
    for by in [MatchedBy::Commit, MatchedBy::Tree, MatchedBy::PatchId] {
        let mut candidates = candidates(conn, by, &text).await?;
        if candidates.len() > 1 {
            return Ok(Found::Ambiguous { by, candidates });
        }
        if let Some(only) = candidates.pop() {
            let runs = runs_select(conn, &filter(by, only.name)).await?;
            return Ok(Found::Runs { by, runs });
        }
    }
    Ok(Found::Nothing)
}

/// The names of a commit that may not be in the record itself, as git gives them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitNames {
    /// The commit.
    pub sha: String,
    /// Its tree.
    pub tree: String,
    /// Its stable patch-id, if it has one.
    pub patch_id: Option<String>,
}

/// Finds the runs of a commit at hand, also where it was rewritten since it was measured: by the
/// commit, else by its tree, else by its patch-id.
pub async fn runs_of_commit(conn: &mut Conn, names: &CommitNames) -> Result<Found> {
    let ways = [
        (MatchedBy::Commit, Some(&names.sha)),
        (MatchedBy::Tree, Some(&names.tree)),
        (MatchedBy::PatchId, names.patch_id.as_ref()),
    ];
    for (by, name) in ways {
        let Some(name) = name else { continue };
        let runs = runs_select(conn, &filter(by, name.clone())).await?;
        if !runs.is_empty() {
            return Ok(Found::Runs { by, runs });
        }
    }
    Ok(Found::Nothing)
}

/// The base commit that is named by `text`, perhaps abbreviated, and the runs on it, the newest
/// first; `None` where no run's base fits, or several do.
pub async fn runs_on_base(conn: &mut Conn, text: &str) -> Result<Option<(Candidate, Vec<Run>)>> {
    let text = text.trim().to_ascii_lowercase();
    if text.len() < SHORTEST_PREFIX || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Ok(None);
    }
    let mut bases = sqlx::query_as!(
        Candidate,
        r#"SELECT sha AS "name!: String", subject AS "subject!: String"
           FROM git_commit
           WHERE sha IN (SELECT base_sha FROM run) AND sha >= ?1 AND sha < ?1 || 'g'
           ORDER BY sha LIMIT 2"#,
        text
    )
    .fetch_all(&mut *conn)
    .await
    .doing("look up a base commit")?;
    let Some(base) = bases.pop().filter(|_| bases.is_empty()) else {
        return Ok(None);
    };
    let on_it = RunFilter {
        base_sha: Some(base.name.clone()),
        ..RunFilter::default()
    };
    let runs = runs_select(conn, &on_it).await?;
    Ok(Some((base, runs)))
}

fn filter(by: MatchedBy, name: String) -> RunFilter {
    let mut filter = RunFilter {
        purpose: (by != MatchedBy::Uuid).then_some(Purpose::Lever),
        ..RunFilter::default()
    };
    match by {
        MatchedBy::Uuid => filter.uuid = Some(name),
        MatchedBy::Commit => filter.head_sha = Some(name),
        MatchedBy::Tree => filter.head_tree = Some(name),
        MatchedBy::PatchId => filter.head_patch_id = Some(name),
    }
    filter
}

/// The distinct names of one kind, among the heads of runs, that begin with `prefix`.
async fn candidates(conn: &mut Conn, by: MatchedBy, prefix: &str) -> Result<Vec<Candidate>> {
    let kind = match by {
        MatchedBy::Uuid => return Ok(Vec::new()),
        MatchedBy::Commit => "commit",
        MatchedBy::Tree => "tree",
        MatchedBy::PatchId => "patch-id",
    };
    sqlx::query_as!(
        Candidate,
        r#"SELECT name AS "name!: String", max(subject) AS "subject!: String"
           FROM (SELECT CASE ?1 WHEN 'commit' THEN c.sha WHEN 'tree' THEN c.tree
                                ELSE c.patch_id END AS name, c.subject
                 FROM git_commit c
                 WHERE c.sha IN (SELECT head_sha FROM run WHERE purpose = 'lever'))
           WHERE name >= ?2 AND name < ?2 || 'g'
           GROUP BY name ORDER BY name"#,
        kind,
        prefix
    )
    .fetch_all(conn)
    .await
    .doing("look up a commit")
}
