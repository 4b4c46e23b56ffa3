//! Git: the user's repository (read only), our mirror of it, and worktrees of the mirror.
//!
//! Nothing here ever writes to the user's repository: it is asked and fetched from. All that is
//! kept or checked out lives in a bare mirror of ours, under refs of our own, so that a rebase
//! or `git gc` on the user's side takes nothing away.

mod checkout;
mod command;
mod commit;
mod history;
mod lfs;
mod mirror;
mod pack;
mod resolve;
mod submodules;
#[cfg(test)]
mod tests;

pub use checkout::{CheckedOut, Submodule, remove_checkout};
pub use commit::reverted_text;
pub use history::{Lineage, Passed};
pub use resolve::PairRequest;

use std::path::{Path, PathBuf};

use command::Git;
use sha2::{Digest, Sha256};

/// What went wrong with git. The messages are for users: what was done, to what, and what to
/// do next.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// There is no git.
    #[error("cannot start git; install it (for example `apt install git`)")]
    NoGit(#[source] std::io::Error),
    /// The folder is not in a repository.
    #[error("{path} is not in a git repository; run this inside one, or `git init` it ({said})")]
    NoRepository {
        /// The folder.
        path: PathBuf,
        /// What git said.
        said: String,
    },
    /// A name that stands for nothing.
    #[error("`{name}` is no branch, tag or commit here{hint}")]
    NotFound {
        /// The name.
        name: String,
        /// What might help; begins with `; `, or is empty.
        hint: String,
    },
    /// A name that stands for several things.
    #[error("`{name}` is ambiguous; give more of it. It may be:\n{}", candidates.join("\n"))]
    Ambiguous {
        /// The name.
        name: String,
        /// The candidates, a line each.
        candidates: Vec<String>,
    },
    /// A name that stands for something else than a commit.
    #[error("`{name}` is a {kind}, not a commit")]
    NotACommit {
        /// The name.
        name: String,
        /// What it is.
        kind: String,
    },
    /// There is no base to compare with.
    #[error("no base for {head}: {reason}; give one with --base")]
    NoBase {
        /// The head commit, short.
        head: String,
        /// Why there is none.
        reason: String,
    },
    /// What was checked out is not what was asked for.
    #[error("checked out {wanted} in {path}, but found {found}; this must not be measured")]
    WrongCheckout {
        /// The commit or tree that was asked for.
        wanted: String,
        /// What is there.
        found: String,
        /// Where.
        path: PathBuf,
    },
    /// LFS files cannot be had.
    #[error("{commit} has {count} file(s) in Git LFS, the first is {path}: {reason}")]
    Lfs {
        /// The first of the files.
        path: String,
        /// How many there are.
        count: usize,
        /// The commit, short.
        commit: String,
        /// What is missing, with the remedy.
        reason: String,
    },
    /// A submodule cannot be had.
    #[error("submodule {path} ({url}) at {commit} cannot be checked out: {said}")]
    Submodule {
        /// Its path.
        path: String,
        /// Where it should come from.
        url: String,
        /// The commit wanted.
        commit: String,
        /// What git said.
        said: String,
    },
    /// A git command failed in a way that nobody foresaw.
    #[error("git {doing} failed: {said}")]
    Command {
        /// The arguments.
        doing: String,
        /// What git said.
        said: String,
    },
    /// The disk is full.
    #[error("the disk is full: git {doing} failed; free some space and run again")]
    DiskFull {
        /// The arguments.
        doing: String,
    },
    /// Our own files.
    #[error("cannot {doing} {path}")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// To what.
        path: PathBuf,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
}

impl GitError {
    fn io(doing: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> GitError {
        let path = path.to_owned();
        move |source| GitError::Io {
            doing,
            path,
            source,
        }
    }

    /// Whether the machine is at fault rather than what the commits hold.
    pub fn is_disk_full(&self) -> bool {
        match self {
            GitError::DiskFull { .. } => true,
            GitError::Io { source, .. } => source.kind() == std::io::ErrorKind::StorageFull,
            _ => false,
        }
    }
}

/// A repository as the runner sees it: the user's, and the mirror of it.
#[derive(Debug, Clone)]
pub struct Repository {
    source: Option<Source>,
    mirror: PathBuf,
    mirror_git: Git,
}

/// The user's side.
#[derive(Debug, Clone)]
struct Source {
    root: PathBuf,
    git_dir: PathBuf,
    git: Git,
}

impl Repository {
    /// Opens the repository that `path` is in (a checkout, a worktree of one, a submodule or a
    /// bare repository), with its mirror in `<cache>/mirrors`.
    pub async fn open(path: &Path, cache: &Path) -> Result<Repository, GitError> {
        Repository::open_with(path, cache, Git::new()).await
    }

    async fn open_with(path: &Path, cache: &Path, git: Git) -> Result<Repository, GitError> {
        let asked = git.at(path);
        let facts = asked
            .text([
                "rev-parse",
                "--path-format=absolute",
                "--git-common-dir",
                "--is-bare-repository",
            ])
            .await
            .map_err(|error| match error {
                GitError::Command { said, .. } => GitError::NoRepository {
                    path: path.to_owned(),
                    said,
                },
                other => other,
            })?;
        let mut lines = facts.lines();
        let git_dir = PathBuf::from(lines.next().unwrap_or_default());
        let git_dir = git_dir
            .canonicalize()
            .map_err(GitError::io("find", &git_dir))?;
        let root = if lines.next() == Some("true") {
            git_dir.clone()
        } else {
            PathBuf::from(asked.text(["rev-parse", "--show-toplevel"]).await?)
        };
        let format = asked.text(["rev-parse", "--show-object-format"]).await?;
        let name = short_hash(&[git_dir.as_os_str().as_encoded_bytes(), format.as_bytes()]);
        let mirror = cache.join("mirrors").join(name);
        mirror::create(&git, &mirror, &format).await?;
        let repository = Repository {
            mirror_git: git.at(&mirror),
            mirror,
            source: Some(Source {
                git: git.at(&root),
                root,
                git_dir,
            }),
        };
        repository.note_origin().await?;
        Ok(repository)
    }

    /// A mirror without a user's repository, for replays when that is lost; filled by
    /// [`Repository::restore_pack`]. `name` tells mirrors apart; `format` is `sha1` or `sha256`.
    pub async fn detached(name: &str, format: &str, cache: &Path) -> Result<Repository, GitError> {
        let hash = short_hash(&[b"detached", name.as_bytes(), format.as_bytes()]);
        let mirror = cache.join("mirrors").join(hash);
        let git = Git::new();
        mirror::create(&git, &mirror, format).await?;
        Ok(Repository {
            mirror_git: git.at(&mirror),
            mirror,
            source: None,
        })
    }

    /// The user's checkout (or bare repository); `None` for a detached mirror.
    pub fn root(&self) -> Option<&Path> {
        self.source.as_ref().map(|source| source.root.as_path())
    }

    /// The user's git directory, shared by all its worktrees: what identifies the repository on
    /// this machine. The mirror's for a detached one.
    pub fn git_dir(&self) -> &Path {
        self.source
            .as_ref()
            .map_or(&self.mirror, |source| &source.git_dir)
    }
}

/// Git's `user.name` as it is set for a folder; `None` where there is none, or no git.
pub async fn user_name(folder: &Path) -> Option<String> {
    let name = Git::new()
        .at(folder)
        .ask(["config", "user.name"])
        .await
        .ok()??;
    (!name.is_empty()).then_some(name)
}

/// The first 16 hex digits of a SHA-256 over the parts.
fn short_hash(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hex::encode(&hash.finalize()[..8])
}
