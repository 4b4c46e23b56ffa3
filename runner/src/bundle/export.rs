//! From the record to a file.

use std::path::{Path, PathBuf};

use db::bundle::Rows;

use super::manifest::{About, Content, FORMAT, LeftOut, Manifest, VERSION};
use super::write::{Lines, lines, write};
use super::{BundleError, Result, limits};
use crate::record::{Records, RunId};

/// What a bundle need not hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ExportOptions {
    /// Leave out what was built: a replay builds it anew.
    pub without_binaries: bool,
}

/// A finished export.
#[derive(Debug)]
pub struct Exported {
    /// What the bundle holds.
    pub manifest: Manifest,
    /// Size of the file.
    pub bytes: u64,
}

/// The file's name where none is given.
pub fn default_name(run: &About) -> String {
    let uuid: String = run.uuid.chars().take(12).collect();
    format!("roundhouse-{uuid}.tar.zst")
}

/// Writes a run to a file, which appears when it is whole; a folder takes it under its
/// [`default_name`]. The same record gives the same file.
pub async fn export(
    records: &Records,
    run: RunId,
    out: &Path,
    options: ExportOptions,
) -> Result<(PathBuf, Exported)> {
    let (about, tables, contents) = gathered(records, run, options).await?;
    let tables: Vec<Lines> = tables.iter().map(lines).collect();
    let manifest = Manifest {
        format: FORMAT.to_owned(),
        version: VERSION,
        schema: db::Db::known_schema(),
        writer: format!("runner {}", env!("CARGO_PKG_VERSION")),
        run: about,
        tables: tables.iter().map(|lines| lines.file.clone()).collect(),
        artifacts: contents.0,
        left_out: contents.1,
    };
    let path = match out.is_dir() {
        true => out.join(default_name(&manifest.run)),
        false => out.to_owned(),
    };
    let store = records.vault().store().clone();
    let work = move || to_file(&path, manifest, &tables, &store);
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => Err(BundleError::Io {
            doing: "write",
            path: out.to_owned(),
            source: std::io::Error::other(error),
        }),
    }
}

fn to_file(
    path: &Path,
    manifest: Manifest,
    tables: &[Lines],
    store: &db::artifacts::Store,
) -> Result<(PathBuf, Exported)> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut file = tempfile::Builder::new()
        .prefix(".bundle-")
        .tempfile_in(folder)
        .map_err(BundleError::io("make a file in", folder))?;
    write(file.as_file_mut(), path, &manifest, (tables, store))?;
    let written = file.as_file().metadata();
    let bytes = written.map_err(BundleError::io("look at", path))?.len();
    manifest.small_enough(bytes)?;
    file.persist(path)
        .map_err(|e| BundleError::io("rename a finished file to", path)(e.error))?;
    Ok((path.to_owned(), Exported { manifest, bytes }))
}

type Contents = (Vec<Content>, Vec<LeftOut>);

/// The rows and the contents of a run, as one state of the record has them.
async fn gathered(
    records: &Records,
    run: RunId,
    options: ExportOptions,
) -> Result<(About, Vec<Rows>, Contents)> {
    let mut read = records.db().read().await?;
    let conn: &mut db::Conn = &mut read;
    let refuse = |why: String| BundleError::CannotExport { run, why };
    let row = db::run_get(conn, run).await?;
    let row = row.ok_or(crate::record::RecordError::NoSuchRun(run))?;
    if row.state == db::RunState::Open {
        return Err(refuse(
            "it is in progress, or was killed and not noticed yet; repeat when it has ended (the \
             next `runner run` notices a killed one)"
                .to_owned(),
        ));
    }
    let tables = db::bundle::gather(conn, run).await?;
    let mut contents: Contents = (Vec::new(), Vec::new());
    for (sha256, users) in db::bundle::contents(conn, &tables).await? {
        let Some(known) = db::artifacts::get(conn, &sha256).await? else {
            continue;
        };
        let bytes = u64::try_from(known.bytes).unwrap_or(0);
        let is_binary = users.iter().all(|table| table == "build_output");
        let reason = match known.lost_reason {
            Some(reason) => Some(reason),
            None if is_binary && options.without_binaries => {
                Some("binaries were left out".to_owned())
            }
            None if bytes > limits::CONTENT_BYTES => Some("too large for a bundle".to_owned()),
            None if !records.vault().store().contains(&sha256)? => {
                Some("its file is missing".to_owned())
            }
            None => None,
        };
        match reason {
            None => contents.0.push(Content { sha256, bytes }),
            Some(reason) => contents.1.push(LeftOut {
                sha256,
                bytes,
                reason,
            }),
        }
    }
    let about = About {
        uuid: row.uuid,
        campaign: row.campaign,
        base: row.base_sha,
        head: row.head_sha,
        started_at: row.started_at,
    };
    Ok((about, tables, contents))
}
