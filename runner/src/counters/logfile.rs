//! The file in which the profiler writes its table and its messages. What the program prints goes
//! elsewhere, so nothing that it says can be taken for the profiler's word.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use tempfile::TempDir;

use super::table::not_understood;
use crate::model::ProfileFailure;

/// The largest file that is read, bytes: a table of 1,000 launches with every column of a chip is
/// a part of it.
const LARGEST: u64 = 16 << 20;

/// How many random characters are in the folder's name.
const RANDOM: usize = 24;

/// A file in a folder of its own, which goes with it.
#[derive(Debug)]
pub(super) struct LogFile(TempDir);

impl LogFile {
    /// Makes the folder; the profiler makes the file.
    ///
    /// # Errors
    /// [`ProfileFailure::Profiler`] where there is no room for one.
    pub(super) fn create() -> Result<LogFile, ProfileFailure> {
        let made = tempfile::Builder::new()
            .prefix("runner-")
            .rand_bytes(RANDOM)
            .permissions(PermissionsExt::from_mode(0o700))
            .tempdir();
        made.map(LogFile).map_err(|error| ProfileFailure::Profiler {
            said: format!("there is no folder for its output: {error}"),
        })
    }

    /// Where the profiler is to write.
    pub(super) fn path(&self) -> PathBuf {
        self.0.path().join("profiler.log")
    }

    /// What it wrote; empty where it wrote nothing.
    ///
    /// # Errors
    /// [`ProfileFailure::NotUnderstood`] for what no profiler leaves there.
    pub(super) fn read(&self) -> Result<String, ProfileFailure> {
        let odd = |why: String| not_understood("", why);
        let path = self.path();
        // A link, or a pipe that nobody writes to, is none of the profiler's.
        match std::fs::symlink_metadata(&path) {
            Ok(facts) if facts.is_file() => {}
            Ok(_) => return Err(odd("its output is not a plain file".to_owned())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(String::new()),
            Err(error) => return Err(odd(error.to_string())),
        }
        let mut bytes = Vec::new();
        File::open(&path)
            .and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes))
            .map_err(|error| odd(error.to_string()))?;
        if bytes.len() as u64 > LARGEST {
            return Err(odd(format!("it is larger than {} MiB", LARGEST >> 20)));
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_private_and_read_up_to_a_limit() {
        let log = LogFile::create().expect("a folder");
        let other = LogFile::create().expect("a folder");
        assert_ne!(log.path(), other.path());
        let folder = log.path().parent().expect("a folder").to_owned();
        let mode = std::fs::metadata(&folder)
            .expect("facts")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o700);
        assert_eq!(log.read(), Ok(String::new()), "it printed nothing");
        std::fs::write(log.path(), "==PROF==").expect("a file");
        assert_eq!(log.read(), Ok("==PROF==".to_owned()));
        let file = File::create(log.path()).expect("a file");
        file.set_len(LARGEST + 1).expect("room");
        assert!(log.read().is_err(), "too large");
        std::fs::remove_file(log.path()).expect("it was there");
        std::os::unix::fs::symlink("/dev/zero", log.path()).expect("a link");
        assert!(log.read().is_err(), "a link");
        drop(log);
        assert!(!folder.exists());
    }
}
