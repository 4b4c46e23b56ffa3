//! Reading `campaign.toml` from disk, and the hash of what it says.

use std::io;
use std::path::{Path, PathBuf};

use super::{Config, ConfigErrors, canonical, parse};

/// The name of the config file at the root of a repository under test.
pub const FILE_NAME: &str = "campaign.toml";

/// The most that is read of a config; it may come from a hostile pull request.
const MOST_BYTES: u64 = 1 << 20;

/// Why a config cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file is not there.
    #[error("there is no `{}`; `runner init` writes one for the repository at hand", path.display())]
    Missing {
        /// The path.
        path: PathBuf,
    },
    /// The file cannot be read.
    #[error("reading `{}`", path.display())]
    Read {
        /// The path.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// The file is too large to be a config.
    #[error("`{}` has more than {MOST_BYTES} bytes; this is no config", path.display())]
    TooLarge {
        /// The path.
        path: PathBuf,
    },
    /// The file is not UTF-8.
    #[error("`{}` is not UTF-8 (byte {at}); save it as UTF-8", path.display())]
    NotUtf8 {
        /// The path.
        path: PathBuf,
        /// The first byte that is wrong.
        at: usize,
    },
    /// The file is wrong.
    #[error(transparent)]
    Invalid(#[from] ConfigErrors),
}

impl Config {
    /// Reads and checks the file at `path`.
    pub fn from_file(path: &Path) -> Result<Config, LoadError> {
        let text = read(path)?;
        Ok(parse(&text, &path.display().to_string())?)
    }

    /// SHA-256 of the canonical JSON of the effective config, lower-case hex: equal for files
    /// that mean the same, whatever their comments and order.
    pub fn sha256(&self) -> String {
        canonical::canonical_sha256(self)
    }
}

fn read(path: &Path) -> Result<String, LoadError> {
    use std::io::Read;

    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::NotFound => LoadError::Missing { path: path.into() },
        _ => LoadError::Read {
            path: path.into(),
            source,
        },
    };
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes))
        .map_err(failed)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(LoadError::TooLarge { path: path.into() });
    }
    String::from_utf8(bytes).map_err(|error| LoadError::NotUtf8 {
        path: path.into(),
        at: error.utf8_error().valid_up_to(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_of_failing_says_what_to_do() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let path = dir.path().join(FILE_NAME);
        let error = Config::from_file(&path).expect_err("no file");
        assert!(error.to_string().contains("runner init"), "{error}");

        std::fs::write(&path, b"a = \xff").expect("write");
        let error = Config::from_file(&path).expect_err("not UTF-8");
        assert!(error.to_string().contains("byte 4"), "{error}");

        std::fs::write(&path, vec![b'#'; MOST_BYTES as usize + 1]).expect("write");
        let error = Config::from_file(&path).expect_err("too large");
        assert!(matches!(error, LoadError::TooLarge { .. }), "{error}");

        std::fs::write(&path, "[campaign]\nnmae = \"x\"\n").expect("write");
        let error = Config::from_file(&path).expect_err("wrong");
        assert!(
            error
                .to_string()
                .contains("campaign.toml:2:1: unknown key `nmae`"),
            "{error}"
        );

        let error = Config::from_file(dir.path()).expect_err("a folder");
        assert!(matches!(error, LoadError::Read { .. }), "{error}");
    }
}
