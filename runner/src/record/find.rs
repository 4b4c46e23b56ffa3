//! Finds runs by number, commit, tree or patch-id.

use db::{CommitNames, Found, MatchedBy};

use super::{RecordError, Records, Result, RunId};
use crate::model::CommitInfo;

/// What a person typed to name a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference {
    /// A run's number.
    Number(RunId),
    /// A (possibly abbreviated) commit, tree or patch-id.
    Name(String),
}

impl Reference {
    /// Reads a reference. Digits alone are a run's number up to nine digits; longer ones are
    /// taken for an abbreviated name that happens to have no letters.
    pub fn parse(text: &str) -> Reference {
        match text.parse::<i64>() {
            Ok(number) if text.len() <= 9 => Reference::Number(RunId(number)),
            _ => Reference::Name(text.to_owned()),
        }
    }
}

/// A run that was found, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// The newest run that fits.
    pub run: RunId,
    /// The newest of them that is no replay of another, or else the newest.
    pub original: RunId,
    /// All that fit, the newest first.
    pub runs: Vec<RunId>,
    /// How it was found; `None` for a number.
    pub by: Option<MatchedBy>,
}

impl Resolved {
    /// What to tell a reader when the run was found by something weaker than its commit.
    pub fn caveat(&self) -> Option<&'static str> {
        match self.by {
            Some(MatchedBy::Tree) => {
                Some("found by tree: the commit was rewritten, with the same content")
            }
            Some(MatchedBy::PatchId) => {
                Some("found by patch-id: the same change on another base, so weaker evidence")
            }
            Some(MatchedBy::Uuid | MatchedBy::Commit) | None => None,
        }
    }
}

impl Records {
    /// Finds the runs that a reference names.
    pub async fn resolve(&self, reference: &Reference) -> Result<Resolved> {
        let mut read = self.db.read().await?;
        match reference {
            Reference::Number(run) => match db::run_get(&mut read, *run).await? {
                Some(_) => Ok(Resolved {
                    run: *run,
                    original: *run,
                    runs: vec![*run],
                    by: None,
                }),
                None => Err(RecordError::NoSuchRun(*run)),
            },
            Reference::Name(text) => {
                let found = db::run_find(&mut read, &text.to_ascii_lowercase()).await?;
                or_base(&mut read, resolved(found, text), text).await
            }
        }
    }

    /// Finds the runs of a commit at hand, also where it was rewritten since.
    pub async fn resolve_commit(&self, commit: &CommitInfo) -> Result<Resolved> {
        let names = CommitNames {
            sha: commit.sha.to_string(),
            tree: commit.tree.to_string(),
            patch_id: commit.patch_id.clone(),
        };
        let mut read = self.db.read().await?;
        let found = db::runs_of_commit(&mut read, &names).await?;
        let sha = commit.sha.as_str();
        or_base(&mut read, resolved(found, sha), sha).await
    }
}

/// Says which runs a commit is the base of, where it is no run's head.
async fn or_base(conn: &mut db::Conn, found: Result<Resolved>, text: &str) -> Result<Resolved> {
    if !matches!(found, Err(RecordError::NothingFound(_))) {
        return found;
    }
    match db::runs_on_base(conn, text).await? {
        Some((base, runs)) => Err(RecordError::OnlyBase {
            text: text.to_owned(),
            subject: base.subject,
            runs: runs.iter().map(|run| run.id).collect(),
        }),
        None => found,
    }
}

fn resolved(found: Found, text: &str) -> Result<Resolved> {
    match found {
        Found::Nothing => Err(RecordError::NothingFound(text.to_owned())),
        Found::Ambiguous { candidates, .. } => Err(RecordError::Ambiguous {
            text: text.to_owned(),
            candidates: candidates
                .into_iter()
                .map(|candidate| format!("{} ({})", candidate.name, candidate.subject))
                .collect(),
        }),
        Found::Runs { by, runs } => {
            let ids: Vec<RunId> = runs.iter().map(|run| run.id).collect();
            let original = runs.iter().find(|run| run.replay_of.is_none());
            match ids.first() {
                Some(&run) => Ok(Resolved {
                    run,
                    original: original.map_or(run, |run| run.id),
                    runs: ids,
                    by: Some(by),
                }),
                None => Err(RecordError::NothingFound(text.to_owned())),
            }
        }
    }
}
