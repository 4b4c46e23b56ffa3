//! Versions and hashes of programs, remembered by path, size and time of change so that asking
//! again costs nothing.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::ToolchainError;
use super::fingerprint::ToolRecord;
use crate::config::CommandLine;
use crate::process::{self, Spec};

/// The host's programs that a build may use. One that is missing is left out.
const HOST: [&str; 6] = ["gcc", "g++", "ld", "make", "cmake", "ninja"];

/// What is known of programs.
#[derive(Debug)]
pub(super) struct Tools {
    file: PathBuf,
    known: BTreeMap<String, Known>,
    changed: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Known {
    size: u64,
    changed_ns: i128,
    sha256: String,
    version: Option<String>,
}

impl Tools {
    /// Opens the memory in `cache`; an unreadable one is an empty one.
    pub fn open(cache: &Path) -> Tools {
        let file = cache.join("tools.json");
        let known = std::fs::read(&file)
            .ok()
            .and_then(|text| serde_json::from_slice(&text).ok())
            .unwrap_or_default();
        Tools {
            file,
            known,
            changed: false,
        }
    }

    /// Writes the memory. It is only a memory: that it cannot be written is no error.
    pub fn save(&self) {
        if !self.changed {
            return;
        }
        let written = || -> Option<()> {
            let folder = self.file.parent()?;
            std::fs::create_dir_all(folder).ok()?;
            let mut half = tempfile::NamedTempFile::new_in(folder).ok()?;
            serde_json::to_writer(&mut half, &self.known).ok()?;
            half.persist(&self.file).ok()?;
            Some(())
        };
        written();
    }

    /// The record of a program that must run. `hint` says what to do when it does not.
    pub async fn record(
        &mut self,
        name: &str,
        path: &Path,
        hint: &str,
    ) -> Result<ToolRecord, ToolchainError> {
        let mut known = self.look(path)?;
        let version = match known.version.take() {
            Some(version) => version,
            None => {
                let version = ask_version(path)
                    .await
                    .map_err(|said| ToolchainError::Broken {
                        tool: path.to_owned(),
                        said,
                        hint: hint.to_owned(),
                    })?;
                known.version = Some(version.clone());
                self.known.insert(key(path), known.clone());
                self.changed = true;
                version
            }
        };
        Ok(ToolRecord {
            name: name.to_owned(),
            path: key(path),
            version,
            sha256: known.sha256,
        })
    }

    /// The record of a program that is not asked for its version.
    pub fn hash_only(&mut self, name: &str, path: &Path) -> Result<ToolRecord, ToolchainError> {
        Ok(ToolRecord {
            name: name.to_owned(),
            path: key(path),
            version: String::new(),
            sha256: self.look(path)?.sha256,
        })
    }

    /// The host's build tools that are there and run.
    pub async fn host(&mut self) -> Vec<ToolRecord> {
        let mut records = Vec::new();
        for name in HOST {
            if let Ok(path) = which::which(name)
                && let Ok(record) = self.record(name, &path, "").await
            {
                records.push(record);
            }
        }
        records
    }

    fn look(&mut self, path: &Path) -> Result<Known, ToolchainError> {
        let facts = std::fs::metadata(path).map_err(ToolchainError::io("read", path))?;
        let changed_ns = i128::from(facts.mtime()) * 1_000_000_000 + i128::from(facts.mtime_nsec());
        if let Some(known) = self.known.get(&key(path))
            && known.size == facts.len()
            && known.changed_ns == changed_ns
        {
            return Ok(known.clone());
        }
        let known = Known {
            size: facts.len(),
            changed_ns,
            sha256: sha256_file(path).map_err(ToolchainError::io("read", path))?,
            version: None,
        };
        self.known.insert(key(path), known.clone());
        self.changed = true;
        Ok(known)
    }
}

fn key(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// SHA-256 of a file, hex.
pub(super) fn sha256_file(path: &Path) -> std::io::Result<String> {
    let mut file = std::fs::File::open(path)?;
    let mut hash = Sha256::new();
    let mut chunk = vec![0_u8; 256 * 1024];
    loop {
        match std::io::Read::read(&mut file, &mut chunk)? {
            0 => return Ok(hex::encode(hash.finalize())),
            read => hash.update(&chunk[..read]),
        }
    }
}

/// The line in which a program names its version.
pub(super) async fn ask_version(path: &Path) -> Result<String, String> {
    let inherited = |name: &str| Some((name.to_owned(), std::env::var(name).ok()?));
    let done = process::run(&Spec {
        command: CommandLine::Argv(vec![key(path), "--version".to_owned()]),
        cwd: PathBuf::from("/"),
        env: ["PATH", "HOME"].into_iter().filter_map(inherited).collect(),
        timeout: Duration::from_secs(20),
        output_limit: 1 << 20,
    })
    .await;
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    match done.failure {
        None => {
            let mut lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
            let first = lines.clone().next().unwrap_or_default();
            // CUDA's programs begin with their name and a copyright.
            let line = lines
                .find(|line| line.contains("release "))
                .unwrap_or(first);
            Ok(line.to_owned())
        }
        Some(failure) => {
            let complaint = String::from_utf8_lossy(&done.stderr).trim().to_owned();
            Err(if complaint.is_empty() {
                format!("{failure:?}")
            } else {
                complaint
            })
        }
    }
}
