//! Checks a commit out of the mirror into a folder, and asserts that it is what is there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::commit::parse_sha;
use super::{GitError, Repository, lfs, submodules};
use crate::model::Sha;

/// What was checked out, as it was found afterwards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckedOut {
    /// The commit.
    pub commit: Sha,
    /// Its tree.
    pub tree: Sha,
    /// Its submodules, nested ones included.
    pub submodules: Vec<Submodule>,
}

/// A submodule that was checked out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submodule {
    /// Its path in the worktree.
    pub path: String,
    /// Its commit.
    pub commit: Sha,
}

impl Repository {
    /// Checks `sha` out into `directory`, which must not exist or be empty, with submodules and
    /// LFS files. The folder may be renamed afterwards. Whatever goes wrong, it is removed.
    pub async fn checkout(&self, sha: &Sha, directory: &Path) -> Result<CheckedOut, GitError> {
        self.fetch(sha).await?;
        let result = self.checkout_unguarded(sha, directory).await;
        if result.is_err() {
            let _ = remove_checkout(directory);
        }
        result
    }

    async fn checkout_unguarded(
        &self,
        sha: &Sha,
        directory: &Path,
    ) -> Result<CheckedOut, GitError> {
        let plain = self.mirror_git.with(lfs::unfiltered());
        {
            let _lock = self.lock().await?;
            let target = directory.to_string_lossy();
            plain
                .text([
                    "worktree",
                    "add",
                    "--quiet",
                    "--force",
                    "--detach",
                    &target,
                    sha.as_str(),
                ])
                .await?;
        }
        let plain = plain.at(directory);
        let user = self.source.as_ref();
        let mut found = Vec::new();
        let place = submodules::Place {
            git: plain.clone(),
            directory: directory.to_owned(),
            prefix: String::new(),
            modules: user.map(|source| source.git_dir.join("modules")),
            origin: self.origin().await?,
        };
        submodules::update(place, &mut found).await?;
        let mut trees = vec![directory.to_owned()];
        trees.extend(found.iter().map(|module| directory.join(&module.path)));
        let mut git = plain;
        for tree in trees {
            git = lfs::smudge(&git.at(&tree), &tree, &self.lfs_stores(), sha).await?;
        }
        let git = git.at(directory);
        let commit = parse_sha(&git.text(["rev-parse", "HEAD"]).await?)?;
        let tree = parse_sha(&git.text(["rev-parse", "HEAD^{tree}"]).await?)?;
        let wrong = |found: String| GitError::WrongCheckout {
            wanted: sha.to_string(),
            found,
            path: directory.to_owned(),
        };
        if commit != *sha {
            return Err(wrong(commit.to_string()));
        }
        if let Some(path) = first_difference(&git, directory).await? {
            return Err(wrong(format!("a changed or extra file: {path}")));
        }
        Ok(CheckedOut {
            commit,
            tree,
            submodules: found,
        })
    }

    fn lfs_stores(&self) -> lfs::Stores {
        lfs::Stores {
            ours: self.mirror.join("lfs"),
            users: self
                .source
                .as_ref()
                .map(|source| source.git_dir.join("lfs")),
        }
    }
}

/// Removes a checkout, wherever it was moved to, and what the mirror knows of it.
pub fn remove_checkout(directory: &Path) -> std::io::Result<()> {
    if let Ok(link) = std::fs::read_to_string(directory.join(".git"))
        && let Some(admin) = link.trim().strip_prefix("gitdir: ").map(PathBuf::from)
        // Nothing but a worktree's own folder, whatever a build wrote into the file.
        && admin.parent().is_some_and(|parent| parent.ends_with("worktrees"))
        && admin.join("commondir").is_file()
        && admin.ancestors().nth(3).is_some_and(|folder| folder.ends_with("mirrors"))
        && !admin.components().any(|part| part.as_os_str() == "..")
    {
        crate::process::remove_tree(&admin)?;
    }
    crate::process::remove_tree(directory)
}

/// The first file that is not as the commit has it, if there is one.
async fn first_difference(
    git: &super::command::Git,
    directory: &Path,
) -> Result<Option<String>, GitError> {
    let status = git
        .bytes(
            [
                "status",
                "--porcelain=v1",
                "-z",
                "--no-renames",
                "--untracked-files=all",
                "--ignore-submodules=none",
            ],
            b"",
        )
        .await?;
    let mut suspects = Vec::new();
    for entry in status.split(|b| *b == 0).filter(|entry| entry.len() > 3) {
        let path = String::from_utf8_lossy(&entry[3..]).into_owned();
        if &entry[..2] != b" M" || !directory.join(&path).is_file() {
            return Ok(Some(path));
        }
        suspects.push(path);
    }
    if suspects.is_empty() {
        return Ok(None);
    }
    // Files committed with line ends that their attributes would change look modified although
    // they are byte for byte what the commit holds.
    let staged = git.bytes(["ls-files", "--stage", "-z"], b"").await?;
    let blobs: BTreeMap<String, String> = staged
        .split(|b| *b == 0)
        .filter_map(|entry| {
            let entry = String::from_utf8_lossy(entry);
            let (facts, path) = entry.split_once('\t')?;
            Some((path.to_owned(), facts.split(' ').nth(1)?.to_owned()))
        })
        .collect();
    for path in suspects {
        let hash = git
            .text(["hash-object", "--no-filters", "--", &path])
            .await?;
        if blobs.get(&path) != Some(&hash) {
            return Ok(Some(path));
        }
    }
    Ok(None)
}
