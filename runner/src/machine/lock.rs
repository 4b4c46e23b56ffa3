//! Locks between runs: a file that the kernel locks for us, so that a crash releases it, and
//! in it who holds it, so that whoever is refused can be told.

use std::fs::{File, OpenOptions, Permissions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::model::UnixMillis;
use crate::process;

/// How often a lock that is waited for is tried.
const RETRY: Duration = Duration::from_millis(200);

/// Who holds a lock, and what for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The process.
    pub pid: u32,
    /// Its run, whose processes carry the mark that [`process::sweep`] looks for.
    pub run_id: String,
    /// What it does, for people: `runner run of mmqr, head 0123456789`.
    pub what: String,
    /// Since when.
    pub since: UnixMillis,
}

impl Holder {
    /// This process, from now on.
    pub fn this_process(run_id: &str, what: &str) -> Holder {
        Holder {
            pid: std::process::id(),
            run_id: run_id.to_owned(),
            what: what.to_owned(),
            since: process::now(),
        }
    }
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let since = jiff::Timestamp::from_millisecond(self.since.0)
            .map(|time| time.strftime("%Y-%m-%d %H:%M:%S UTC").to_string())
            .unwrap_or_else(|_| "an unknown time".to_owned());
        write!(f, "process {} since {since} ({})", self.pid, self.what)
    }
}

/// Why a lock could not be had.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Somebody has it.
    #[error("{} is in use by {}", path.display(), holder.as_ref().map_or_else(|| "another process".to_owned(), ToString::to_string))]
    Held {
        /// The lock's file.
        path: PathBuf,
        /// Who has it; `None` in the moment before it has been written down.
        holder: Option<Holder>,
    },
    /// The file cannot be used.
    #[error("cannot {doing} the lock {}", path.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// The lock's file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
}

/// A lock that is held until it is dropped or the process ends, however it ends.
#[derive(Debug)]
pub struct HeldLock {
    file: File,
    left_behind: Option<Holder>,
}

impl HeldLock {
    /// Takes the lock, or says who has it. Its folder is made if it is missing, open to all
    /// users of the machine where `shared`.
    pub fn take(path: &Path, holder: &Holder, shared: bool) -> Result<HeldLock, LockError> {
        let fail = |doing, source| LockError::Io {
            doing,
            path: path.to_owned(),
            source,
        };
        let mut file = open(path, shared).map_err(|source| fail("open", source))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(LockError::Held {
                    path: path.to_owned(),
                    holder: read(&mut file),
                });
            }
            Err(TryLockError::Error(source)) => return Err(fail("take", source)),
        }
        let left_behind = read(&mut file);
        write(&mut file, Some(holder)).map_err(|source| fail("write", source))?;
        if let Some(dead) = &left_behind {
            // Its run was killed; what it had started must not disturb this one.
            process::sweep(&dead.run_id);
        }
        Ok(HeldLock { file, left_behind })
    }

    /// Takes the lock, waiting for it without limit. `waiting` is told once whom for.
    pub async fn wait(
        path: &Path,
        holder: &Holder,
        shared: bool,
        waiting: impl FnOnce(&LockError),
    ) -> Result<HeldLock, LockError> {
        let mut waiting = Some(waiting);
        loop {
            match HeldLock::take(path, holder, shared) {
                Err(held @ LockError::Held { .. }) => {
                    if let Some(tell) = waiting.take() {
                        tell(&held);
                    }
                    tokio::time::sleep(RETRY).await;
                }
                other => return other,
            }
        }
    }

    /// The holder before, where it did not come to release the lock.
    pub fn left_behind(&self) -> Option<&Holder> {
        self.left_behind.as_ref()
    }
}

impl Drop for HeldLock {
    fn drop(&mut self) {
        // An empty file says that the lock was released in order. That it was not written
        // costs a sweep that finds nothing.
        let _ = write(&mut self.file, None);
        // Said in so many words: closing the file leaves the lock with a child that another
        // thread has just forked, until that child executes its program.
        let _ = self.file.unlock();
    }
}

pub(super) fn open(path: &Path, shared: bool) -> std::io::Result<File> {
    let no_links = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or(0);
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(no_links);
    // Opened before it is made: in a sticky folder, the kernel refuses O_CREAT on others' files.
    match options.open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        other => return other,
    }
    if let Some(folder) = path.parent()
        && !folder.is_dir()
    {
        std::fs::create_dir_all(folder)?;
        if shared {
            std::fs::set_permissions(folder, Permissions::from_mode(0o1777))?;
        }
    }
    let file = options.create(true).open(path)?;
    if shared {
        file.set_permissions(Permissions::from_mode(0o666))?;
    }
    Ok(file)
}

fn read(file: &mut File) -> Option<Holder> {
    file.rewind().ok()?;
    let mut text = String::new();
    file.take(64 * 1024).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

fn write(file: &mut File, holder: Option<&Holder>) -> std::io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    if let Some(holder) = holder {
        let text = serde_json::to_string(holder).map_err(std::io::Error::from)?;
        file.write_all(text.as_bytes())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_told_who_the_first_is() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("locks/gpu");
        let holder = Holder::this_process("run-a", "a test");
        let held = HeldLock::take(&path, &holder, true).expect("free");
        let refused = HeldLock::take(&path, &holder, true)
            .expect_err("held")
            .to_string();
        let pid = std::process::id().to_string();
        assert!(
            refused.contains(&pid) && refused.contains("a test"),
            "{refused}"
        );
        drop(held);
        let again = HeldLock::take(&path, &holder, true).expect("free again");
        assert_eq!(again.left_behind(), None);
    }

    #[test]
    fn a_killed_holder_releases_it_and_its_children_are_swept() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("gpu");
        let run_id = format!("killed-{}", std::process::id());
        let dead = Holder::this_process(&run_id, "killed");
        std::fs::write(&path, serde_json::to_string(&dead).expect("JSON")).expect("written");
        let mut orphan = std::process::Command::new("setsid")
            .args(["sleep", "600"])
            .env(process::RUN_VARIABLE, &run_id)
            .spawn()
            .expect("setsid starts");
        std::thread::sleep(Duration::from_millis(200));
        let holder = Holder::this_process("next", "the next");
        let held = HeldLock::take(&path, &holder, false).expect("free");
        assert_eq!(held.left_behind(), Some(&dead));
        assert!(!orphan.wait().expect("it was started").success());
    }

    #[tokio::test]
    async fn waiting_ends_when_the_lock_is_free() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("gpu");
        let holder = Holder::this_process("a", "first");
        let held = HeldLock::take(&path, &holder, false).expect("free");
        let mut told = 0;
        let (second, ()) = tokio::join!(
            HeldLock::wait(&path, &holder, false, |_| told += 1),
            async {
                tokio::time::sleep(Duration::from_millis(300)).await;
                drop(held);
            }
        );
        assert!(second.is_ok());
        assert_eq!(told, 1);
    }
}
