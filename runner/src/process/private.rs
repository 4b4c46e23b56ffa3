//! The folder that commands get as their home, cache and folder for temporary files. It is
//! emptied before every command, so that nothing is carried from one launch to the next.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A private folder at a fixed path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrivateDir(PathBuf);

impl PrivateDir {
    /// Empties `path` and fills it with empty `home`, `tmp`, `cache` and `cuda-cache`, and a
    /// `bin` in which `runner` is a link to `runner_exe`.
    pub fn fresh(path: &Path, runner_exe: &Path) -> io::Result<PrivateDir> {
        remove_tree(path)?;
        for name in ["home", "tmp", "cache", "cuda-cache", "bin"] {
            std::fs::create_dir_all(path.join(name))?;
        }
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700))?;
        std::os::unix::fs::symlink(runner_exe, path.join("bin/runner"))?;
        Ok(PrivateDir(path.to_owned()))
    }

    /// The private folder at `path`, as it is.
    pub fn at(path: &Path) -> PrivateDir {
        PrivateDir(path.to_owned())
    }

    /// One of its folders.
    pub fn folder(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

/// Removes a folder and all in it, also where a command took the permission to do so away.
/// That there is none is not an error.
pub fn remove_tree(path: &Path) -> io::Result<()> {
    let gone = |result: io::Result<()>| match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    };
    match gone(std::fs::remove_dir_all(path)) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            make_writable(path);
            gone(std::fs::remove_dir_all(path))
        }
        other => other,
    }
}

/// Gives us back the permissions on every folder below `path`. What fails here shows when the
/// removal is tried again.
fn make_writable(path: &Path) {
    let Ok(facts) = std::fs::symlink_metadata(path) else {
        return;
    };
    if !facts.is_dir() {
        return;
    }
    let mode = facts.permissions().mode() | 0o700;
    let _ = std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode));
    for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
        make_writable(&entry.path());
    }
}
