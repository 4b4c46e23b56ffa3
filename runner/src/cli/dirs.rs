//! Where the runner keeps its things.

use std::path::PathBuf;

/// The runner's folders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dirs {
    /// What must not be lost: the database `roundhouse.db` and `artifacts/`.
    /// `ROUNDHOUSE_DATA`, else `$XDG_DATA_HOME/roundhouse`, else `~/.local/share/roundhouse`.
    pub data: PathBuf,
    /// What can be made again: toolchains, mirrors of repositories, built trees.
    /// `ROUNDHOUSE_CACHE`, else `$XDG_CACHE_HOME/roundhouse`, else `~/.cache/roundhouse`.
    pub cache: PathBuf,
    /// Machine-wide lock files, shared by all users of the machine.
    /// `ROUNDHOUSE_LOCKS`, else `roundhouse-locks` in the system's folder for temporary files.
    pub locks: PathBuf,
}
