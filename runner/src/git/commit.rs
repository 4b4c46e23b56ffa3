//! Facts about commits.

use std::sync::LazyLock;

use regex::Regex;

use super::command::Git;
use super::{GitError, Repository};
use crate::model::{CommitInfo, Sha, UnixMillis};

static REVERTS: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?m)^This reverts commit ([0-9a-f]{7,64})\b").ok());

/// The commit that a message says it reverts, as written (`git revert` writes it in full).
pub fn reverted_text(message: &str) -> Option<&str> {
    let found = REVERTS.as_ref()?.captures(message)?.get(1)?;
    Some(found.as_str())
}

impl Repository {
    /// What there is to know about a commit. Fetches it.
    pub async fn commit_info(&self, sha: &Sha) -> Result<CommitInfo, GitError> {
        self.fetch(sha).await?;
        let text = self
            .mirror_git
            .text([
                "show",
                "-s",
                "--no-show-signature",
                "--format=%T%x00%P%x00%s%x00%an%x00%ct%x00%B",
                sha.as_str(),
            ])
            .await?;
        let mut fields = text.splitn(6, '\0');
        let mut next = || fields.next().unwrap_or_default();
        let (tree, parents, subject, author, time) = (next(), next(), next(), next(), next());
        let message = next().trim_end().to_owned();
        let seconds: i64 = time.parse().unwrap_or_default();
        // Where the mirror is shallow, git hides the parents; the commit itself names them.
        let parents: Vec<Sha> = if parents.is_empty() {
            self.raw_parents(sha).await?
        } else {
            parents.split(' ').filter_map(|p| p.parse().ok()).collect()
        };
        let patch_id = match parents.as_slice() {
            [parent] if self.readable(parent).await? => self.patch_id(parent, sha).await?,
            _ => None,
        };
        Ok(CommitInfo {
            sha: sha.clone(),
            tree: parse_sha(tree)?,
            patch_id,
            parent: parents.first().cloned(),
            subject: subject.to_owned(),
            message,
            author: author.to_owned(),
            committed_at: UnixMillis(seconds * 1000),
        })
    }

    /// The commit that this one says it reverts, where it can be found.
    pub async fn reverted(&self, commit: &CommitInfo) -> Result<Option<Sha>, GitError> {
        match reverted_text(&commit.message) {
            None => Ok(None),
            Some(text) => match self.resolve(text).await {
                Ok(sha) => Ok(Some(sha)),
                Err(GitError::NotFound { .. } | GitError::Ambiguous { .. }) => {
                    Ok(text.parse().ok())
                }
                Err(other) => Err(other),
            },
        }
    }

    /// The messages of the commits after `base` up to and without `head`, the newest first; at
    /// most `limit`.
    pub async fn messages_between(
        &self,
        base: &Sha,
        head: &Sha,
        limit: u32,
    ) -> Result<Vec<(Sha, String)>, GitError> {
        let count = format!("--max-count={limit}");
        let range = format!("{base}..{head}^");
        let arguments = ["log", "-z", &count, "--format=%H%n%B", &range];
        let text = self.mirror_git.text(arguments).await?;
        Ok(text
            .split('\0')
            .filter_map(|entry| {
                let (sha, message) = entry.split_once('\n')?;
                Some((sha.trim().parse().ok()?, message.to_owned()))
            })
            .collect())
    }

    /// How many tracked files of the user's checkout differ from HEAD; 0 without a checkout.
    pub async fn uncommitted(&self) -> usize {
        let Some(source) = &self.source else { return 0 };
        let arguments = [
            "status",
            "--porcelain",
            "--untracked-files=no",
            "--ignore-submodules",
        ];
        match source.git.text(arguments).await {
            Ok(text) => text.lines().count(),
            // A bare repository has no checkout to ask about.
            Err(_) => 0,
        }
    }

    /// The paths that differ between two commits, sorted; a renamed file is two paths.
    pub async fn tree_diff(&self, a: &Sha, b: &Sha) -> Result<Vec<String>, GitError> {
        self.fetch(a).await?;
        self.fetch(b).await?;
        let names = self
            .mirror_git
            .bytes(
                [
                    "diff-tree",
                    "-r",
                    "-z",
                    "--name-only",
                    "--no-renames",
                    a.as_str(),
                    b.as_str(),
                ],
                b"",
            )
            .await?;
        Ok(names
            .split(|byte| *byte == 0)
            .filter(|name| !name.is_empty())
            .map(|name| String::from_utf8_lossy(name).into_owned())
            .collect())
    }

    /// A file as it is in a commit; `None` when the commit has no such file.
    pub async fn file_at(&self, sha: &Sha, path: &str) -> Result<Option<Vec<u8>>, GitError> {
        self.fetch(sha).await?;
        let output = self
            .mirror_git
            .output(["cat-file", "blob", &format!("{sha}:{path}")], b"")
            .await?;
        Ok(output.ok.then_some(output.stdout))
    }

    /// The parents that the commit object names, whether or not they are here.
    pub(super) async fn raw_parents(&self, sha: &Sha) -> Result<Vec<Sha>, GitError> {
        raw_parents(&self.mirror_git, sha).await
    }

    /// Whether the mirror holds the object.
    pub(super) async fn readable(&self, sha: &Sha) -> Result<bool, GitError> {
        let output = self
            .mirror_git
            .output(["cat-file", "-e", sha.as_str()], b"")
            .await?;
        Ok(output.ok)
    }

    async fn patch_id(&self, parent: &Sha, sha: &Sha) -> Result<Option<String>, GitError> {
        // Every option that a user's configuration could change is given.
        let patch = self
            .mirror_git
            .with([
                "diff.suppressBlankEmpty=false".to_owned(),
                "core.attributesFile=/dev/null".to_owned(),
            ])
            .bytes(
                [
                    "diff-tree",
                    "--patch",
                    "--unified=3",
                    "--inter-hunk-context=0",
                    "--diff-algorithm=myers",
                    "--no-indent-heuristic",
                    "--no-renames",
                    "--no-ext-diff",
                    "--no-textconv",
                    "--no-color",
                    "--full-index",
                    "--binary",
                    "--src-prefix=a/",
                    "--dst-prefix=b/",
                    "-O/dev/null",
                    "--submodule=short",
                    parent.as_str(),
                    sha.as_str(),
                ],
                b"",
            )
            .await?;
        if patch.is_empty() {
            return Ok(None);
        }
        let id = self
            .mirror_git
            .bytes(["patch-id", "--stable"], &patch)
            .await?;
        let id = String::from_utf8_lossy(&id);
        Ok(id.split_whitespace().next().map(str::to_owned))
    }
}

pub(super) async fn raw_parents(git: &Git, sha: &Sha) -> Result<Vec<Sha>, GitError> {
    let raw = git.text(["cat-file", "commit", sha.as_str()]).await?;
    Ok(raw
        .lines()
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("parent ")?.parse().ok())
        .collect())
}

pub(super) fn parse_sha(text: &str) -> Result<Sha, GitError> {
    text.parse().map_err(|_| GitError::Command {
        doing: "reading an object name".to_owned(),
        said: format!("`{text}` is none"),
    })
}
