//! What the reference programs are, found out before the first sample.

use std::path::{Path, PathBuf};

use super::stages::Stages;
use crate::config::Reference;
use crate::config::canonical::canonical_sha256;
use crate::model::{ReferenceFile, ReferenceIdentity};
use crate::toolchain;

impl Stages<'_> {
    /// Hashes the references' files and stores what they are.
    pub(super) async fn identify_references(&mut self) -> anyhow::Result<()> {
        let references = self.prepared.config.references.clone();
        if references.is_empty() {
            return Ok(());
        }
        let cache = self.dirs.cache.clone();
        let found = tokio::task::spawn_blocking(move || {
            let all = references.iter();
            all.map(|reference| identity(&cache, reference))
                .collect::<Vec<_>>()
        })
        .await?;
        Ok(self.recorder.references(&found).await?)
    }
}

fn identity(cache: &Path, reference: &Reference) -> ReferenceIdentity {
    ReferenceIdentity {
        name: reference.name.clone(),
        bench: reference.bench.clone(),
        pinned: reference.pinned.clone(),
        asks_sha256: canonical_sha256(reference),
        files: reference
            .files
            .iter()
            .map(|path| file(cache, path))
            .collect(),
    }
}

fn file(cache: &Path, path: &str) -> ReferenceFile {
    let hashed = toolchain::file_sha256(cache, &PathBuf::from(path));
    let (sha256, fault) = match hashed {
        Ok(sha256) => (Some(sha256), None),
        Err(error) => (None, Some(format!("{:#}", anyhow::Error::new(error)))),
    };
    ReferenceFile {
        path: path.to_owned(),
        sha256,
        fault,
    }
}
