//! The artefact store as a run uses it: content is put at once, and noted in the database with
//! the next rows that are written.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Mutex;

use db::artifacts::{Extract, Store, StoreError, Stored};

use super::Result;
use crate::build::{ArtifactSink, ArtifactSource};
use crate::model::ArtifactHash;

/// The largest artefact that is read into memory, bytes.
const READ_LIMIT: u64 = 1 << 30;

/// The store, and what was put into it but is not yet noted in the database.
#[derive(Debug)]
pub struct Vault {
    store: Store,
    pending: Mutex<BTreeMap<String, Stored>>,
}

impl Vault {
    pub(super) fn new(store: Store) -> Vault {
        Vault {
            store,
            pending: Mutex::default(),
        }
    }

    /// The store itself.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Stores bytes.
    pub fn put_bytes(&self, content: &[u8]) -> Result<ArtifactHash> {
        Ok(self.remember(self.store.put_bytes(content)?))
    }

    /// Stores a file's content.
    pub fn put_file(&self, path: &Path) -> Result<ArtifactHash> {
        Ok(self.remember(self.store.put_file(path)?))
    }

    /// Reads content into memory.
    pub fn get(&self, artifact: &ArtifactHash) -> Result<Vec<u8>> {
        Ok(self.store.get_bytes(&artifact.0, READ_LIMIT)?)
    }

    /// Reads content as text; what is not UTF-8 is replaced.
    pub fn get_text(&self, artifact: &ArtifactHash) -> Result<String> {
        Ok(String::from_utf8_lossy(&self.get(artifact)?).into_owned())
    }

    /// Writes content to a file.
    pub fn extract(&self, artifact: &ArtifactHash, path: &Path, executable: bool) -> Result<()> {
        let how = Extract {
            executable,
            limit: u64::MAX,
        };
        Ok(self.store.get_to_file(&artifact.0, path, &how)?)
    }

    fn remember(&self, stored: Stored) -> ArtifactHash {
        let hash = ArtifactHash(stored.sha256.clone());
        if let Ok(mut pending) = self.pending.lock() {
            pending.insert(stored.sha256.clone(), stored);
        }
        hash
    }

    /// Notes everything put so far in the database, in the caller's transaction.
    pub(super) async fn note(&self, conn: &mut db::Conn, now: i64) -> Result<()> {
        let pending = match self.pending.lock() {
            Ok(mut pending) => std::mem::take(&mut *pending),
            Err(_) => return Ok(()),
        };
        for stored in pending.values() {
            db::artifacts::record(conn, &self.store, stored, now).await?;
        }
        Ok(())
    }
}

/// A record error as an I/O error, for code that only knows files.
fn io_error(error: super::RecordError) -> io::Error {
    match error {
        super::RecordError::Store(full @ StoreError::DiskFull { .. }) => {
            io::Error::new(io::ErrorKind::StorageFull, full)
        }
        other => io::Error::other(other),
    }
}

impl ArtifactSink for Vault {
    fn contains(&self, hash: &ArtifactHash) -> io::Result<bool> {
        self.store
            .contains(&hash.0)
            .map_err(|error| io_error(error.into()))
    }

    fn put_file(&self, path: &Path) -> io::Result<ArtifactHash> {
        Vault::put_file(self, path).map_err(io_error)
    }

    fn put_bytes(&self, bytes: &[u8]) -> io::Result<ArtifactHash> {
        Vault::put_bytes(self, bytes).map_err(io_error)
    }
}

impl ArtifactSource for Vault {
    fn copy_to(&self, hash: &ArtifactHash, path: &Path) -> io::Result<()> {
        self.extract(hash, path, false).map_err(io_error)
    }
}
