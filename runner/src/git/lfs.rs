//! Git LFS: files are taken from the user's own store where they are there, and fetched
//! otherwise, into a store beside the mirror. Must not write to the user's store.

use std::path::{Path, PathBuf};

use super::GitError;
use super::command::Git;
use crate::model::Sha;

/// How a pointer begins.
const POINTER: &str = "version https://git-lfs.github.com/spec/";
/// A pointer is never longer.
const POINTER_LIMIT: u64 = 1024;

/// Where LFS objects lie.
#[derive(Debug, Clone)]
pub(super) struct Stores {
    /// Beside the mirror.
    pub ours: PathBuf,
    /// The user's.
    pub users: Option<PathBuf>,
}

struct Pointer {
    path: String,
    oid: String,
}

/// Settings under which pointers are checked out as they are, whether git-lfs is installed or
/// not.
pub(super) fn unfiltered() -> Vec<String> {
    ["smudge=", "clean=", "process=", "required=false"]
        .map(|rest| format!("filter.lfs.{rest}"))
        .to_vec()
}

/// Replaces the pointers in a checkout with what they stand for. Gives git with the settings
/// under which the result counts as unchanged.
pub(super) async fn smudge(
    git: &Git,
    directory: &Path,
    stores: &Stores,
    commit: &Sha,
) -> Result<Git, GitError> {
    let pointers = pointers(git, directory).await?;
    let Some(first) = pointers.first() else {
        return Ok(git.clone());
    };
    let fail = |reason: String| GitError::Lfs {
        path: first.path.clone(),
        count: pointers.len(),
        commit: commit.short().to_owned(),
        reason,
    };
    if git.ask(["lfs", "version"]).await?.is_none() {
        return Err(fail(
            "git-lfs is not installed; install it (for example `apt install git-lfs`) and run again"
                .to_owned(),
        ));
    }
    for pointer in &pointers {
        bring_over(&pointer.oid, stores).map_err(GitError::io("copy into", &stores.ours))?;
    }
    let git = git.with([
        "filter.lfs.clean=git-lfs clean -- %f".to_owned(),
        "filter.lfs.smudge=git-lfs smudge -- %f".to_owned(),
        "filter.lfs.process=git-lfs filter-process".to_owned(),
        "filter.lfs.required=true".to_owned(),
        format!("lfs.storage={}", stores.ours.display()),
    ]);
    // First without the network, then with it if something is missing.
    git.output(["lfs", "checkout"], b"").await?;
    if !self::pointers(&git, directory).await?.is_empty() {
        let pulled = git.output(["lfs", "pull"], b"").await?;
        if !pulled.ok || !self::pointers(&git, directory).await?.is_empty() {
            return Err(fail(format!(
                "their content is neither in the repository's own store nor to be fetched; \
                 `git lfs fetch --all` in the repository may help ({})",
                pulled.stderr
            )));
        }
    }
    Ok(git)
}

/// The files that are pointers.
async fn pointers(git: &Git, directory: &Path) -> Result<Vec<Pointer>, GitError> {
    let tracked = git
        .bytes(["ls-files", "-z", "--", ":(attr:filter=lfs)"], b"")
        .await?;
    Ok(tracked
        .split(|b| *b == 0)
        .filter_map(|path| std::str::from_utf8(path).ok())
        .filter(|path| !path.is_empty())
        .filter_map(|path| {
            let file = directory.join(path);
            let facts = std::fs::symlink_metadata(&file).ok()?;
            if !facts.is_file() || facts.len() > POINTER_LIMIT {
                return None;
            }
            let text = std::fs::read_to_string(file).ok()?;
            let oid = text
                .strip_prefix(POINTER)?
                .lines()
                .find_map(|line| line.strip_prefix("oid sha256:"))?;
            let hex = oid.len() == 64 && oid.bytes().all(|b| b.is_ascii_hexdigit());
            hex.then(|| Pointer {
                path: path.to_owned(),
                oid: oid.to_owned(),
            })
        })
        .collect())
}

/// Links or copies an object from the user's store into ours, if it is there.
fn bring_over(oid: &str, stores: &Stores) -> std::io::Result<()> {
    let place = Path::new("objects").join(&oid[..2]).join(&oid[2..4]);
    let ours = stores.ours.join(&place);
    let Some(users) = stores
        .users
        .as_ref()
        .map(|users| users.join(&place).join(oid))
    else {
        return Ok(());
    };
    if ours.join(oid).exists() || !users.is_file() {
        return Ok(());
    }
    std::fs::create_dir_all(&ours)?;
    let half = ours.join(format!("{oid}.part"));
    std::fs::copy(&users, &half)?;
    std::fs::rename(&half, ours.join(oid))
}
