//! The bare mirror: made once, filled with just the commits that are wanted.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::command::Git;
use super::{GitError, Repository};
use crate::model::Sha;

/// Files that a killed git leaves behind and that would block the next one. They are removed
/// only under our own lock on the mirror.
const STALE: [&str; 4] = [
    "shallow.lock",
    "config.lock",
    "packed-refs.lock",
    "HEAD.lock",
];

/// Makes an empty bare repository at `mirror` unless there is one.
pub(super) async fn create(git: &Git, mirror: &Path, format: &str) -> Result<(), GitError> {
    if mirror.join("HEAD").exists() {
        return Ok(());
    }
    let parent = mirror.parent().unwrap_or(mirror);
    std::fs::create_dir_all(parent).map_err(GitError::io("create", parent))?;
    let fresh = tempfile::Builder::new()
        .prefix(".new-")
        .tempdir_in(parent)
        .map_err(GitError::io("create a folder in", parent))?;
    let format = format!("--object-format={format}");
    git.at(fresh.path())
        .text(["init", "--quiet", "--bare", "--template=", &format, "."])
        .await?;
    // A build that calls git in its worktree must not tidy up here either.
    for (name, value) in [("gc.auto", "0"), ("gc.worktreePruneExpire", "never")] {
        git.at(fresh.path()).text(["config", name, value]).await?;
    }
    let fresh = fresh.keep();
    if let Err(error) = std::fs::rename(&fresh, mirror) {
        // Another run made it at the same moment.
        let _ = std::fs::remove_dir_all(&fresh);
        if !mirror.join("HEAD").exists() {
            return Err(GitError::io("create", mirror)(error));
        }
    }
    Ok(())
}

/// The ref that keeps a commit in the mirror.
pub(super) fn keep_ref(sha: &Sha) -> String {
    format!("refs/roundhouse/commits/{sha}")
}

/// Held while the mirror is changed; released when dropped, or by a crash.
#[derive(Debug)]
pub(super) struct MirrorLock(#[expect(dead_code, reason = "held, not read")] File);

impl Repository {
    /// Waits for the mirror's lock and clears what a killed git left behind.
    pub(super) async fn lock(&self) -> Result<MirrorLock, GitError> {
        let path = self.mirror.join("roundhouse.lock");
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(GitError::io("open", &path))?;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(std::fs::TryLockError::WouldBlock) => {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                Err(std::fs::TryLockError::Error(source)) => {
                    return Err(GitError::io("lock", &path)(source));
                }
            }
        }
        for name in STALE {
            let _ = std::fs::remove_file(self.mirror.join(name));
        }
        Ok(MirrorLock(file))
    }

    /// Tells the mirror where the user's repository came from; relative submodule URLs and LFS
    /// go by it.
    pub(super) async fn note_origin(&self) -> Result<(), GitError> {
        let Some(source) = &self.source else {
            return Ok(());
        };
        let url = source
            .git
            .ask(["config", "--get", "remote.origin.url"])
            .await?;
        let root = source.root.to_string_lossy().into_owned();
        let url = match url {
            // A relative path is relative to the user's checkout.
            Some(url) if url.starts_with('.') => {
                source.root.join(url).to_string_lossy().into_owned()
            }
            Some(url) => url,
            None => root,
        };
        if self.origin().await?.as_deref() != Some(url.as_str()) {
            let _lock = self.lock().await?;
            self.mirror_git
                .text(["config", "remote.origin.url", &url])
                .await?;
        }
        Ok(())
    }

    /// Where the user's repository came from, or where it is.
    pub(super) async fn origin(&self) -> Result<Option<String>, GitError> {
        self.mirror_git
            .ask(["config", "--get", "remote.origin.url"])
            .await
    }

    /// Whether the mirror keeps the commit.
    pub(super) async fn has(&self, sha: &Sha) -> Result<bool, GitError> {
        let kept = self
            .mirror_git
            .ask(["rev-parse", "--verify", "--quiet", &keep_ref(sha)])
            .await?;
        Ok(kept.as_deref() == Some(sha.as_str()))
    }

    /// Makes sure that the mirror keeps the commit, from now on and for ever.
    pub async fn fetch(&self, sha: &Sha) -> Result<(), GitError> {
        if self.has(sha).await? {
            return Ok(());
        }
        let _lock = self.lock().await?;
        let stale: PathBuf = self.mirror.join(format!("{}.lock", keep_ref(sha)));
        let _ = std::fs::remove_file(stale);
        let Some(source) = &self.source else {
            return Err(GitError::NotFound {
                name: sha.to_string(),
                hint: "; its repository is gone and the record holds no copy".to_owned(),
            });
        };
        let from = source.git_dir.to_string_lossy();
        let what = format!("{sha}:{}", keep_ref(sha));
        self.mirror_git
            .text([
                "fetch",
                "--quiet",
                "--no-tags",
                "--no-write-fetch-head",
                "--update-shallow",
                &from,
                &what,
            ])
            .await?;
        Ok(())
    }
}
