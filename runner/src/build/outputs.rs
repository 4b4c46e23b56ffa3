//! Finds what a build made. Must not follow links out of the worktree: what is collected ends
//! up in records and comments.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use sha2::{Digest, Sha256};

use super::slot::BuildRecord;
use super::{ArtifactSink, BuildError};
use crate::model::{Failure, OutputFile};

/// What was collected.
#[derive(Debug)]
pub(super) struct Collected {
    /// The files, sorted by path.
    pub files: Vec<OutputFile>,
    /// Their times of change, ns.
    pub changed_ns: BTreeMap<String, i128>,
}

/// Finds the files that `patterns` match in `tree` and stores them; the inner failure is that
/// of a pattern that matches nothing.
pub(super) fn collect(
    tree: &Path,
    patterns: &[String],
    sink: &dyn ArtifactSink,
) -> Result<Result<Collected, Failure>, BuildError> {
    let mut paths: BTreeMap<String, PathBuf> = BTreeMap::new();
    for pattern in patterns {
        let found = find(tree, pattern)?;
        if found.is_empty() {
            return Ok(Err(Failure::MissingOutput {
                pattern: pattern.clone(),
            }));
        }
        paths.extend(found);
    }
    let mut collected = Collected {
        files: Vec::new(),
        changed_ns: BTreeMap::new(),
    };
    for (path, file) in paths {
        let facts = std::fs::metadata(&file).map_err(BuildError::io("read", &file))?;
        collected
            .changed_ns
            .insert(path.clone(), changed_ns(&facts));
        collected.files.push(OutputFile {
            artifact: sink
                .put_file(&file)
                .map_err(BuildError::io("store", &file))?,
            bytes: facts.len(),
            executable: facts.permissions().mode() & 0o111 != 0,
            path,
        });
    }
    Ok(Ok(collected))
}

/// Whether the outputs in `tree` are still what the record says: by size and time, and by
/// content where these differ.
pub(super) fn unchanged(tree: &Path, record: &BuildRecord) -> bool {
    record.outputs.iter().all(|output| {
        let file = tree.join(&output.path);
        let Ok(facts) = std::fs::metadata(&file) else {
            return false;
        };
        facts.len() == output.bytes
            && (record.changed_ns.get(&output.path) == Some(&changed_ns(&facts))
                || hash(&file).is_ok_and(|hash| hash == output.artifact.0))
    })
}

/// The times of change of files, ns, by path; of those that are there.
pub(super) fn times(tree: &Path, outputs: &[OutputFile]) -> BTreeMap<String, i128> {
    outputs
        .iter()
        .filter_map(|output| {
            let facts = std::fs::metadata(tree.join(&output.path)).ok()?;
            Some((output.path.clone(), changed_ns(&facts)))
        })
        .collect()
}

fn changed_ns(facts: &std::fs::Metadata) -> i128 {
    i128::from(facts.mtime()) * 1_000_000_000 + i128::from(facts.mtime_nsec())
}

fn hash(path: &Path) -> io::Result<String> {
    let mut file = std::fs::File::open(path)?;
    let mut hash = Sha256::new();
    let mut chunk = vec![0_u8; 256 * 1024];
    loop {
        match io::Read::read(&mut file, &mut chunk)? {
            0 => return Ok(hex::encode(hash.finalize())),
            read => hash.update(&chunk[..read]),
        }
    }
}

fn find(tree: &Path, pattern: &str) -> Result<Vec<(String, PathBuf)>, BuildError> {
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    let matcher = glob(pattern)?;
    let root = tree.canonicalize().map_err(BuildError::io("find", tree))?;
    // A plain path needs no walk through the tree.
    if !pattern.contains(['*', '?', '[', '{']) {
        let file = tree.join(pattern);
        let found = inside(&root, &file).then(|| (pattern.to_owned(), file));
        return Ok(found.into_iter().collect());
    }
    let mut found = Vec::new();
    let entries = walkdir::WalkDir::new(tree)
        .into_iter()
        .filter_entry(|entry| entry.file_name() != ".git");
    for entry in entries.flatten() {
        let Some(path) = entry.path().strip_prefix(tree).ok().and_then(Path::to_str) else {
            continue;
        };
        if matcher.is_match(path) && inside(&root, entry.path()) {
            found.push((path.to_owned(), entry.path().to_owned()));
        }
    }
    Ok(found)
}

fn glob(pattern: &str) -> Result<GlobMatcher, BuildError> {
    GlobBuilder::new(pattern)
        .literal_separator(true)
        .build()
        .map(|glob| glob.compile_matcher())
        .map_err(|error| BuildError::Pattern {
            pattern: pattern.to_owned(),
            said: error.kind().to_string(),
        })
}

/// Whether this is a file that really lies in the tree.
fn inside(root: &Path, file: &Path) -> bool {
    file.canonicalize()
        .is_ok_and(|real| real.starts_with(root) && real.is_file())
}
