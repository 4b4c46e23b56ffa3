//! Writes the container.

use std::io::{self, Write};

use db::artifacts::Store;
use db::bundle::Rows;
use sha2::{Digest, Sha256};

use super::manifest::{Manifest, TableFile};
use super::{BundleError, Result, limits, tape};
use std::path::Path;

/// A table's rows as they stand in a bundle.
#[derive(Debug)]
pub(super) struct Lines {
    pub(super) file: TableFile,
    pub(super) text: Vec<u8>,
}

/// Rows as lines.
pub(super) fn lines(rows: &Rows) -> Lines {
    let mut text = Vec::new();
    for row in &rows.rows {
        let line = serde_json::Value::Object(row.clone()).to_string();
        text.extend_from_slice(line.as_bytes());
        text.push(b'\n');
    }
    Lines {
        file: TableFile {
            name: rows.table.clone(),
            rows: rows.rows.len() as u64,
            bytes: text.len() as u64,
            sha256: hex::encode(Sha256::digest(&text)),
        },
        text,
    }
}

/// The name of a table's file in the archive.
pub(super) fn table_name(table: &str) -> String {
    format!("rows/{table}.jsonl")
}

/// The name of a content's file in the archive.
pub(super) fn content_name(sha256: &str) -> String {
    format!("artifacts/{sha256}")
}

/// Writes a bundle; contents come from the store, checked against their names.
pub(super) fn write(
    out: impl Write,
    to: &Path,
    manifest: &Manifest,
    (tables, store): (&[Lines], &Store),
) -> Result<()> {
    let writing = |error| BundleError::io("write", to)(error);
    let mut archive = zstd::Encoder::new(out, limits::LEVEL).map_err(writing)?;
    archive.include_checksum(true).map_err(writing)?;
    let text = serde_json::to_vec_pretty(manifest).map_err(|e| writing(e.into()))?;
    file(&mut archive, "manifest.json", &text).map_err(writing)?;
    for lines in tables {
        file(&mut archive, &table_name(&lines.file.name), &lines.text).map_err(writing)?;
    }
    for content in &manifest.artifacts {
        let header = tape::header(&content_name(&content.sha256), content.bytes);
        archive.write_all(&header).map_err(writing)?;
        let mut exact = Exact {
            out: &mut archive,
            left: content.bytes,
        };
        store.copy_into(&content.sha256, content.bytes, &mut exact)?;
        if exact.left > 0 {
            return Err(writing(io::Error::other(format!(
                "the record says that content {} has {} bytes more than it has",
                content.sha256, exact.left
            ))));
        }
        pad(&mut archive, content.bytes).map_err(writing)?;
    }
    archive.write_all(&[0; 2 * tape::BLOCK]).map_err(writing)?;
    archive.finish().map_err(writing)?.flush().map_err(writing)
}

fn file(out: &mut impl Write, name: &str, content: &[u8]) -> io::Result<()> {
    out.write_all(&tape::header(name, content.len() as u64))?;
    out.write_all(content)?;
    pad(out, content.len() as u64)
}

fn pad(out: &mut impl Write, bytes: u64) -> io::Result<()> {
    out.write_all(&[0; tape::BLOCK][..tape::padding(bytes)])
}

/// Counts what is written, so that a content has the size that its header gives.
struct Exact<W> {
    out: W,
    left: u64,
}

impl<W: Write> Write for Exact<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.out.write(bytes)?;
        self.left = self.left.saturating_sub(n as u64);
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
