//! Commits as packs for the artefact store, and the way back: a run can be replayed when the
//! user's repository has lost the commits, or is lost itself.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::commit::parse_sha;
use super::mirror::keep_ref;
use super::{GitError, Repository};
use crate::model::Sha;

/// The most commits of a range that go into a pack besides its head; without the rest the
/// head's tree is still whole.
const RANGE_LIMIT: &str = "64";

impl Repository {
    /// A git pack with the commit and its tree in full. With `base`, which must be packed on
    /// its own: without what is in base's tree, and with the commits between.
    /// Submodules' commits and LFS files are not in it.
    pub async fn commit_pack(&self, sha: &Sha, base: Option<&Sha>) -> Result<Vec<u8>, GitError> {
        self.fetch(sha).await?;
        let mut commits = vec![sha.clone()];
        let mut left_out = BTreeSet::new();
        if let Some(base) = base {
            self.fetch(base).await?;
            let range = format!("{base}..{sha}");
            let between = self
                .mirror_git
                .text(["rev-list", "--max-count", RANGE_LIMIT, &range])
                .await?;
            for line in between.lines() {
                let commit = parse_sha(line)?;
                if commit != *sha {
                    commits.push(commit);
                }
            }
            left_out = self.objects(std::slice::from_ref(base)).await?;
        }
        let mut list = String::new();
        for object in self.objects(&commits).await?.difference(&left_out) {
            let _ = writeln!(list, "{object}");
        }
        if list.is_empty() {
            // Head is base: its pack holds everything. Git makes no empty pack from no input.
            return Ok(Vec::new());
        }
        self.mirror_git
            .bytes(["pack-objects", "--quiet", "--stdout"], list.as_bytes())
            .await
    }

    /// Takes a pack made by [`Repository::commit_pack`] back and keeps its commit. The base's
    /// pack must be restored before the head's.
    pub async fn restore_pack(&self, sha: &Sha, pack: &[u8]) -> Result<(), GitError> {
        if self.has(sha).await? {
            return Ok(());
        }
        let _lock = self.lock().await?;
        if !pack.is_empty() {
            self.mirror_git
                .bytes(["index-pack", "--stdin"], pack)
                .await?;
        }
        self.note_shallow(sha).await?;
        self.mirror_git
            .text(["update-ref", &keep_ref(sha), sha.as_str()])
            .await?;
        Ok(())
    }

    /// The commits and everything in their trees.
    async fn objects(&self, commits: &[Sha]) -> Result<BTreeSet<String>, GitError> {
        let mut arguments = vec![
            "rev-list",
            "--objects",
            "--no-object-names",
            "--no-walk=unsorted",
        ];
        arguments.extend(commits.iter().map(Sha::as_str));
        let listed = self.mirror_git.text(arguments).await?;
        Ok(listed.lines().map(str::to_owned).collect())
    }

    /// Tells git that history ends at the commits whose parents are not here.
    async fn note_shallow(&self, sha: &Sha) -> Result<(), GitError> {
        let path = self.mirror.join("shallow");
        let mut shallow: BTreeSet<String> = std::fs::read_to_string(&path)
            .unwrap_or_default()
            .lines()
            .map(str::to_owned)
            .collect();
        let before = shallow.len();
        let mut seen = BTreeSet::new();
        let mut open = vec![sha.clone()];
        while let Some(commit) = open.pop() {
            if !seen.insert(commit.clone()) || shallow.contains(commit.as_str()) {
                continue;
            }
            if self.has(&commit).await? {
                continue;
            }
            for parent in self.raw_parents(&commit).await? {
                if self.readable(&parent).await? {
                    open.push(parent);
                } else {
                    shallow.insert(commit.to_string());
                }
            }
        }
        if shallow.len() == before {
            return Ok(());
        }
        let lines: String = shallow.iter().map(|sha| format!("{sha}\n")).collect();
        let half = self.mirror.join("shallow.new");
        std::fs::write(&half, lines).map_err(GitError::io("write", &half))?;
        std::fs::rename(&half, &path).map_err(GitError::io("write", &path))
    }
}
