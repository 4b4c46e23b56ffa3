//! Where the runner keeps its things.

use std::path::PathBuf;

/// The database's file in the folder of data.
pub const DATABASE: &str = "roundhouse.db";

/// The runner's folders; absolute.
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

impl Dirs {
    /// Fills in what was not given; `None` when neither HOME nor the XDG variables say where.
    pub(super) fn resolve(
        data: Option<PathBuf>,
        cache: Option<PathBuf>,
        locks: Option<PathBuf>,
    ) -> Option<Dirs> {
        let data = data.or_else(|| user_folder("XDG_DATA_HOME", ".local/share"))?;
        let cache = cache.or_else(|| user_folder("XDG_CACHE_HOME", ".cache"))?;
        let locks = locks.unwrap_or_else(|| std::env::temp_dir().join("roundhouse-locks"));
        let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
        Some(Dirs {
            data: absolute(data),
            cache: absolute(cache),
            locks: absolute(locks),
        })
    }

    /// The folders that the environment names, as for the program without arguments.
    pub(crate) fn from_environment() -> Option<Dirs> {
        let folder = |name: &str| std::env::var_os(name).map(PathBuf::from);
        Dirs::resolve(
            folder("ROUNDHOUSE_DATA"),
            folder("ROUNDHOUSE_CACHE"),
            folder("ROUNDHOUSE_LOCKS"),
        )
    }

    /// The database's file.
    pub fn database(&self) -> PathBuf {
        self.data.join(DATABASE)
    }

    /// The artefact store's folder.
    pub fn artifacts(&self) -> PathBuf {
        self.data.join("artifacts")
    }
}

/// `$variable/roundhouse` where the variable holds an absolute path (as the XDG base directory
/// specification asks), else `$HOME/below/roundhouse`.
fn user_folder(variable: &str, below: &str) -> Option<PathBuf> {
    let absolute = |name: &str| {
        let path = PathBuf::from(std::env::var_os(name)?);
        path.is_absolute().then_some(path)
    };
    let base = absolute(variable).or_else(|| Some(absolute("HOME")?.join(below)))?;
    Some(base.join("roundhouse"))
}
