//! The commits between two: for bisections and for what a head holds since the anchor.

use super::commit::reverted_text;
use super::{GitError, Repository};
use crate::model::Sha;

/// A commit of a history.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Passed {
    /// The commit.
    pub sha: Sha,
    /// Its tree.
    pub tree: Sha,
    /// Its message's first line.
    pub subject: String,
    /// The commit that it says it reverts, as written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverts: Option<String>,
}

/// Which commits of a history are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lineage {
    /// All that one can reach and the other cannot.
    All,
    /// Only first parents: what was merged counts as its merge.
    FirstParents,
}

/// The most commits that are looked at.
const MOST: u32 = 20_000;

impl Repository {
    /// Whether the one commit is an ancestor of the other, or the same.
    pub async fn is_ancestor(&self, old: &Sha, new: &Sha) -> Result<bool, GitError> {
        self.fetch(old).await?;
        self.fetch(new).await?;
        let arguments = ["merge-base", "--is-ancestor", old.as_str(), new.as_str()];
        Ok(self.mirror_git.output(arguments, b"").await?.ok)
    }

    /// The commits that `new` has and `old` has not, oldest first, `new` included.
    pub async fn passed(
        &self,
        old: &Sha,
        new: &Sha,
        lineage: Lineage,
    ) -> Result<Vec<Passed>, GitError> {
        self.fetch(old).await?;
        self.fetch(new).await?;
        let count = format!("--max-count={MOST}");
        let range = format!("{old}..{new}");
        let mut arguments = vec![
            "log",
            "-z",
            "--topo-order",
            "--no-show-signature",
            &count,
            "--format=%H%n%T%n%s%n%B",
        ];
        if lineage == Lineage::FirstParents {
            arguments.push("--first-parent");
        }
        arguments.push(&range);
        let text = self.mirror_git.text(arguments).await?;
        let mut passed: Vec<Passed> = text.split('\0').filter_map(entry).collect();
        passed.reverse();
        Ok(passed)
    }
}

fn entry(text: &str) -> Option<Passed> {
    let mut parts = text.trim_start().splitn(4, '\n');
    let (sha, tree) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    let subject = parts.next()?.to_owned();
    let message = parts.next().unwrap_or_default();
    Some(Passed {
        sha,
        tree,
        subject,
        reverts: reverted_text(message).map(str::to_owned),
    })
}
