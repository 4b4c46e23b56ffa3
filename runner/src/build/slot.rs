//! The one place at which trees are built and run, and the parking places beside it.
//!
//! What holds at every moment, so that a crash can be repaired: a tree in the slot belongs to
//! the key in the file `resident`, which is written before the tree is moved in and not changed
//! while it is there; a parked build is whole if and only if it has a `build.json`.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::BuildError;
use crate::git::{CheckedOut, remove_checkout};
use crate::machine::{HeldLock, Holder};
use crate::model::{ArtifactHash, OutputFile};

/// A build as it is remembered beside its tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BuildRecord {
    /// What was checked out.
    pub checked_out: CheckedOut,
    /// Wall time of the build command, milliseconds.
    pub wall_ms: u64,
    /// What it made.
    pub outputs: Vec<OutputFile>,
    /// Time of change of each output, ns, by path: whether it is still the same.
    pub changed_ns: BTreeMap<String, i128>,
    /// The log.
    pub log: ArtifactHash,
}

/// A slot, locked for this run.
#[derive(Debug)]
pub(super) struct Slot {
    folder: PathBuf,
    resident: Option<String>,
    _lock: HeldLock,
}

impl Slot {
    /// Takes the slot of a campaign in a repository and repairs what a crash left.
    pub fn open(
        cache: &Path,
        campaign: &str,
        git_dir: &Path,
        holder: &Holder,
    ) -> Result<Slot, BuildError> {
        let mut hash = Sha256::new();
        hash.update((campaign.len() as u64).to_le_bytes());
        hash.update(campaign);
        hash.update(git_dir.as_os_str().as_encoded_bytes());
        let name = hex::encode(&hash.finalize()[..8]);
        Slot::open_folder(&cache.join("work").join(name), holder)
    }

    fn open_folder(folder: &Path, holder: &Holder) -> Result<Slot, BuildError> {
        let builds = folder.join("builds");
        std::fs::create_dir_all(&builds).map_err(BuildError::io("create", &builds))?;
        // Compile paths must not depend on how the cache was named.
        let folder = folder
            .canonicalize()
            .map_err(BuildError::io("find", folder))?;
        let lock = HeldLock::take(&folder.join("lock"), holder, false).map_err(BuildError::Busy)?;
        let mut slot = Slot {
            folder,
            resident: None,
            _lock: lock,
        };
        slot.repair()?;
        Ok(slot)
    }

    /// Where trees are built and run.
    pub fn tree(&self) -> PathBuf {
        self.folder.join("tree")
    }

    /// Where a command's private folder is.
    pub fn private(&self) -> PathBuf {
        self.folder.join("private")
    }

    /// Where a build's tree is parked.
    pub fn parked(&self, key: &str) -> PathBuf {
        self.build(key).join("tree")
    }

    /// Where a build's tree is now.
    pub fn place(&self, key: &str) -> PathBuf {
        if self.resident.as_deref() == Some(key) {
            self.tree()
        } else {
            self.parked(key)
        }
    }

    /// Moves a build's tree into the slot; the one that is there goes back to its place.
    pub fn bring_in(&mut self, key: &str) -> Result<(), BuildError> {
        if self.resident.as_deref() == Some(key) {
            return Ok(());
        }
        self.park()?;
        let note = self.folder.join("resident");
        replace_file(&note, key.as_bytes()).map_err(BuildError::io("write", &note))?;
        let from = self.parked(key);
        std::fs::rename(&from, self.tree()).map_err(BuildError::io("move", &from))?;
        self.resident = Some(key.to_owned());
        Ok(())
    }

    fn park(&mut self) -> Result<(), BuildError> {
        if let Some(key) = &self.resident {
            let tree = self.tree();
            std::fs::rename(&tree, self.parked(key)).map_err(BuildError::io("move", &tree))?;
            self.resident = None;
        }
        Ok(())
    }

    /// The record of a whole build.
    pub fn record(&self, key: &str) -> Option<BuildRecord> {
        let text = std::fs::read(self.record_file(key)).ok()?;
        let record = serde_json::from_slice(&text).ok()?;
        self.place(key).is_dir().then_some(record)
    }

    /// Declares a build whole.
    pub fn finish(&self, key: &str, record: &BuildRecord) -> Result<(), BuildError> {
        let path = self.record_file(key);
        let fail = BuildError::io("write", &path);
        let text = serde_json::to_vec_pretty(record).map_err(io::Error::from);
        text.and_then(|text| replace_file(&path, &text))
            .map_err(fail)
    }

    /// Notes that a build was used; [`prune`] goes by it.
    pub fn touch(&self, key: &str) {
        if let Ok(file) = std::fs::File::open(self.record_file(key)) {
            // Only a hint.
            let _ = file.set_modified(SystemTime::now());
        }
    }

    /// Makes room for a build: removes what there is under its key.
    pub fn discard(&mut self, key: &str) -> Result<(), BuildError> {
        // The record goes first: without it, nothing is taken for a build.
        let record = self.record_file(key);
        match std::fs::remove_file(&record) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(BuildError::io("remove", &record)(error));
            }
            _ => {}
        }
        let tree = self.place(key);
        remove_checkout(&tree).map_err(BuildError::io("remove", &tree))?;
        if self.resident.as_deref() == Some(key) {
            self.resident = None;
        }
        let build = self.build(key);
        crate::process::remove_tree(&build).map_err(BuildError::io("remove", &build))
    }

    fn build(&self, key: &str) -> PathBuf {
        self.folder.join("builds").join(key)
    }

    fn record_file(&self, key: &str) -> PathBuf {
        self.build(key).join("build.json")
    }

    fn keys(&self) -> Result<Vec<String>, BuildError> {
        let builds = self.folder.join("builds");
        let entries = std::fs::read_dir(&builds).map_err(BuildError::io("read", &builds))?;
        Ok(entries
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect())
    }

    fn repair(&mut self) -> Result<(), BuildError> {
        let tree = self.tree();
        if tree.symlink_metadata().is_ok() {
            let owner = std::fs::read_to_string(self.folder.join("resident")).ok();
            match owner {
                Some(key) if self.build(&key).is_dir() && !self.parked(&key).exists() => {
                    self.resident = Some(key);
                }
                _ => remove_checkout(&tree).map_err(BuildError::io("remove", &tree))?,
            }
        }
        for key in self.keys()? {
            if self.record(&key).is_none() {
                self.discard(&key)?;
            }
        }
        Ok(())
    }
}

/// Removes built trees that no run has used for `unused`, in all slots that are free, and gives
/// how many. They can be built again; outputs and logs are in the artefact store.
pub fn prune(cache: &Path, unused: Duration) -> Result<usize, BuildError> {
    let work = cache.join("work");
    let holder = Holder::this_process("prune", "removing old builds");
    let mut removed = 0;
    for entry in std::fs::read_dir(&work).into_iter().flatten().flatten() {
        let mut slot = match Slot::open_folder(&entry.path(), &holder) {
            Ok(slot) => slot,
            Err(BuildError::Busy(_)) => continue,
            Err(other) => return Err(other),
        };
        for key in slot.keys()? {
            let used = std::fs::metadata(slot.record_file(&key)).and_then(|facts| facts.modified());
            let age = used
                .ok()
                .and_then(|used| used.elapsed().ok())
                .unwrap_or_default();
            if age >= unused {
                slot.discard(&key)?;
                removed += 1;
            }
        }
    }
    Ok(removed)
}

/// Writes a file so that it is there as a whole or not at all.
fn replace_file(path: &Path, content: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut half = tempfile::NamedTempFile::new_in(folder)?;
    io::Write::write_all(&mut half, content)?;
    half.persist(path)?;
    Ok(())
}
