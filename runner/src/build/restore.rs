//! Puts recorded binaries back in place of a build. A record is data from elsewhere: it must not
//! be able to name a place outside the worktree.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::outputs::times;
use super::slot::BuildRecord;
use super::workbench::{Ready, Workbench};
use super::{ArtifactSource, BuildError};
use crate::model::{ArtifactHash, BuildEvidence, CommitInfo, OutputFile, Side};
use crate::process;

impl Workbench {
    /// Puts stored outputs into a fresh checkout instead of building: for a replay with the
    /// recorded binaries.
    pub async fn restore(
        &mut self,
        side: Side,
        commit: &CommitInfo,
        evidence: &BuildEvidence,
        source: &dyn ArtifactSource,
    ) -> Result<(), BuildError> {
        let mut hash = Sha256::new();
        hash.update(&evidence.key);
        for output in &evidence.outputs {
            hash.update(&output.path);
            hash.update(&output.artifact.0);
        }
        let key = format!("stored-{}", hex::encode(&hash.finalize()[..16]));
        let checked_out = self.fresh_tree(&key, commit).await?;
        let tree = self.slot.place(&key);
        for output in &evidence.outputs {
            write_output(&tree, output, source)?;
        }
        let record = BuildRecord {
            checked_out,
            wall_ms: evidence.wall_ms,
            changed_ns: times(&tree, &evidence.outputs),
            outputs: evidence.outputs.clone(),
            log: evidence.log.clone().unwrap_or(ArtifactHash(String::new())),
        };
        *self.sides.get_mut(side) = Some(Ready { key, record });
        Ok(())
    }
}

fn write_output(
    tree: &Path,
    output: &OutputFile,
    source: &dyn ArtifactSource,
) -> Result<(), BuildError> {
    let file = tree.join(&output.path);
    let fail = |error| BuildError::io("restore", &file)(error);
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder).map_err(fail)?;
    }
    // A record is data: it must not name a place outside the tree.
    let root = tree.canonicalize().map_err(fail)?;
    let inside = file
        .parent()
        .and_then(|folder| folder.canonicalize().ok())
        .is_some_and(|folder| folder.starts_with(&root));
    if !inside {
        let outside = std::io::Error::other("the record names a place outside the worktree");
        return Err(fail(outside));
    }
    process::remove_tree(&file)
        .or_else(|_| std::fs::remove_file(&file))
        .map_err(fail)?;
    source.copy_to(&output.artifact, &file).map_err(fail)?;
    let mode = if output.executable { 0o755 } else { 0o644 };
    std::fs::set_permissions(&file, Permissions::from_mode(mode)).map_err(fail)
}
