//! Reads the container, one declared file after the other.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use db::artifacts::{Store, StoreError, Stored};
use db::bundle::{Row, Rows};
use sha2::{Digest, Sha256};

use super::manifest::{Content, Manifest, TableFile};
use super::write::{content_name, table_name};
use super::{BundleError, Result, damaged, limits, tape};

/// An opened bundle, read up to some point.
pub(super) struct Reader {
    archive: Archive<zstd::Decoder<'static, BufReader<Hashing<File>>>>,
    path: PathBuf,
    pub(super) manifest: Manifest,
}

/// The manifest of a bundle, without reading the rest of it.
pub fn peek(path: &Path) -> Result<Manifest> {
    Ok(Reader::open(path)?.manifest)
}

impl Reader {
    /// Opens a bundle and reads its manifest.
    pub(super) fn open(path: &Path) -> Result<Reader> {
        let reading = |error| BundleError::io("read", path)(error);
        // Before it is opened: opening a pipe waits for ever.
        let metadata = std::fs::metadata(path).map_err(BundleError::io("open", path))?;
        if !metadata.is_file() {
            return damaged("it is not a plain file");
        }
        let file = File::open(path).map_err(BundleError::io("open", path))?;
        let hashing = Hashing {
            file,
            hasher: Sha256::new(),
        };
        let mut decoder = zstd::Decoder::new(hashing).map_err(reading)?;
        decoder
            .window_log_max(limits::WINDOW_LOG_MAX)
            .map_err(reading)?;
        let mut archive = Archive { inner: decoder };
        let text = archive.file("manifest.json", None, limits::MANIFEST_BYTES)?;
        Ok(Reader {
            manifest: Manifest::parse(&text, metadata.len())?,
            archive,
            path: path.to_owned(),
        })
    }

    /// Reads all rows.
    pub(super) fn rows(&mut self) -> Result<Vec<Rows>> {
        let tables = self.manifest.tables.clone();
        tables.iter().map(|table| self.table(table)).collect()
    }

    fn table(&mut self, table: &TableFile) -> Result<Rows> {
        let name = table_name(&table.name);
        let text = self.archive.file(&name, Some(table.bytes), table.bytes)?;
        if hex::encode(Sha256::digest(&text)) != table.sha256 {
            return damaged(format!("{name} is not what the manifest says"));
        }
        let Ok(text) = String::from_utf8(text) else {
            return damaged(format!("{name} is not UTF-8"));
        };
        let rows: std::result::Result<Vec<Row>, _> =
            text.lines().map(serde_json::from_str::<Row>).collect();
        let rows = match rows {
            Ok(rows) => rows,
            Err(error) => return damaged(format!("a row in {name} cannot be read: {error}")),
        };
        if rows.len() as u64 != table.rows {
            return damaged(format!(
                "{name} has {} rows, and the manifest says {}",
                rows.len(),
                table.rows
            ));
        }
        Ok(Rows {
            table: table.name.clone(),
            rows,
        })
    }

    /// Reads all contents into the store. Nothing refers to them until the rows are stored.
    pub(super) fn contents(&mut self, store: &Store) -> Result<Vec<Stored>> {
        let contents = self.manifest.artifacts.clone();
        let stored = contents.iter().map(|content| self.content(content, store));
        stored.collect()
    }

    fn content(&mut self, content: &Content, store: &Store) -> Result<Stored> {
        let name = content_name(&content.sha256);
        self.archive.expect(&name, Some(content.bytes))?;
        let limited = (&mut self.archive.inner).take(content.bytes);
        let stored = store
            .put_reader(limited, &self.path)
            .map_err(|error| reading(error, &self.path))?;
        if stored.bytes != content.bytes {
            return damaged(format!("it ends in {name}"));
        }
        if stored.sha256 != content.sha256 {
            return damaged(format!("{name} holds something else"));
        }
        self.archive.skip_padding(content.bytes)?;
        Ok(stored)
    }

    /// Makes sure that nothing follows; the SHA-256 of the whole file.
    pub(super) fn end(self) -> Result<String> {
        let mut rest = Vec::new();
        let mut archive = self.archive.inner;
        let limit = limits::PADDING_BYTES + 2 * tape::BLOCK;
        (&mut archive)
            .take(limit as u64 + 1)
            .read_to_end(&mut rest)
            .map_err(unpacking)?;
        if rest.len() < 2 * tape::BLOCK {
            return damaged("it ends before its end mark");
        }
        if rest.len() > limit || rest.iter().any(|&byte| byte != 0) {
            return damaged("something follows what the manifest lists");
        }
        let mut hashing = archive.finish().into_inner();
        let mut left = [0; 1];
        match hashing.read(&mut left) {
            Ok(0) => Ok(hex::encode(hashing.hasher.finalize())),
            Ok(_) => damaged("something follows the archive"),
            Err(error) => Err(BundleError::io("read", &self.path)(error)),
        }
    }
}

/// A failure while content is put into the store: of the disk, or of the bundle.
fn reading(error: StoreError, bundle: &Path) -> BundleError {
    match error {
        StoreError::Io { path, source, .. } if path == bundle => unpacking(source),
        other => other.into(),
    }
}

fn unpacking(error: io::Error) -> BundleError {
    BundleError::Damaged(format!("it cannot be unpacked ({error})"))
}

/// The archive inside the compression.
struct Archive<R> {
    inner: R,
}

impl<R: Read> Archive<R> {
    /// Reads the next header, which must be this one; its size.
    fn expect(&mut self, name: &str, bytes: Option<u64>) -> Result<u64> {
        let mut block = [0; tape::BLOCK];
        self.inner.read_exact(&mut block).map_err(unpacking)?;
        match tape::parse(&block) {
            Some((found, size)) if found == name && bytes.is_none_or(|b| b == size) => Ok(size),
            _ => damaged(format!("{name} is not where it should be")),
        }
    }

    /// Reads the next file into memory.
    fn file(&mut self, name: &str, bytes: Option<u64>, limit: u64) -> Result<Vec<u8>> {
        let size = self.expect(name, bytes)?;
        if size > limit {
            return Err(BundleError::TooLarge(format!("{name} has {size} bytes")));
        }
        let mut content = Vec::new();
        let mut limited = (&mut self.inner).take(size);
        limited.read_to_end(&mut content).map_err(unpacking)?;
        if content.len() as u64 != size {
            return damaged(format!("it ends in {name}"));
        }
        self.skip_padding(size)?;
        Ok(content)
    }

    fn skip_padding(&mut self, bytes: u64) -> Result<()> {
        let mut block = [0; tape::BLOCK];
        let padding = &mut block[..tape::padding(bytes)];
        self.inner.read_exact(padding).map_err(unpacking)
    }
}

/// Hashes what is read.
struct Hashing<R> {
    file: R,
    hasher: Sha256,
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read(buffer)?;
        self.hasher.update(&buffer[..n]);
        Ok(n)
    }
}
