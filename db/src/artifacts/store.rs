//! Files named by the SHA-256 of their content, compressed with zstd.
//!
//! Synchronous: call it from a blocking thread where the runtime must not wait.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;

use super::error::{Result, StoreError, failed};

/// Compression level: SASS, logs and cubins shrink to a quarter or less at a few hundred MB/s.
const ZSTD_LEVEL: i32 = 3;
/// The largest compression window that reading accepts, as a power of two (128 MiB).
const WINDOW_LOG_MAX: u32 = 27;
const CHUNK: usize = 128 * 1024;

/// Content that is in the store, completely written and on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// SHA-256 of the uncompressed content, lower-case hex.
    pub sha256: String,
    /// Size of the content, bytes.
    pub bytes: u64,
    /// Size of the compressed file, bytes.
    pub stored_bytes: u64,
}

/// A file of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The name of the content.
    pub sha256: String,
    /// Size of the compressed file, bytes.
    pub stored_bytes: u64,
    /// When it was last put, milliseconds since 1970.
    pub put_at: i64,
}

/// A folder of compressed files named by their content.
///
/// `ab/cd/abcd….zst` holds the content whose SHA-256 begins with `abcd`; `tmp` holds files that
/// are being written. Several processes may use one store at the same time.
#[derive(Debug, Clone)]
pub struct Store {
    root: PathBuf,
}

impl Store {
    /// Opens the store, making its folder where there is none.
    pub fn open(root: &Path) -> Result<Store> {
        let tmp = root.join("tmp");
        fs::create_dir_all(&tmp).map_err(|e| failed("make the folder", &tmp, e))?;
        Ok(Store {
            root: root.to_owned(),
        })
    }

    /// The store's folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Stores content; the same content is stored once.
    pub fn put_bytes(&self, content: &[u8]) -> Result<Stored> {
        self.put_reader(content, Path::new("(memory)"))
    }

    /// Stores a file's content as it is read, a piece at a time.
    pub fn put_file(&self, path: &Path) -> Result<Stored> {
        let file = File::open(path).map_err(|e| failed("open", path, e))?;
        self.put_reader(file, path)
    }

    /// Stores what `reader` gives, up to its end; `from` names it in errors.
    pub fn put_reader(&self, reader: impl Read, from: &Path) -> Result<Stored> {
        let tmp_dir = self.root.join("tmp");
        let tmp = tempfile::Builder::new()
            .prefix("put-")
            .tempfile_in(&tmp_dir)
            .map_err(|e| failed("make a file in", &tmp_dir, e))?;
        let (sha256, bytes) = compress(reader, from, &tmp)?;
        let path = self.path_of(&sha256)?;
        if self.is_whole(&sha256, &path, tmp.path())? && refresh(&path)? {
            let stored_bytes = size_of(&path)?;
            return Ok(Stored {
                sha256,
                bytes,
                stored_bytes,
            });
        }
        let stored_bytes = size_of(tmp.path())?;
        self.move_in(tmp, &path)?;
        Ok(Stored {
            sha256,
            bytes,
            stored_bytes,
        })
    }

    /// Whether the file at `path` holds the content, of which `fresh` is a new compressed copy:
    /// what was damaged on the disk is replaced when the same content comes again.
    fn is_whole(&self, sha256: &str, path: &Path, fresh: &Path) -> Result<bool> {
        if same_bytes(path, fresh).map_err(|e| failed("read", path, e))? {
            return Ok(true);
        }
        // Another version of the compressor may write the same content otherwise.
        match self.read_into(sha256, u64::MAX, &mut io::sink(), path) {
            Ok(()) => Ok(true),
            Err(StoreError::Damaged { .. } | StoreError::Missing { .. }) => Ok(false),
            Err(other) => Err(other),
        }
    }

    /// Gives a finished temporary file its name, so that it survives a loss of power.
    fn move_in(&self, tmp: NamedTempFile, path: &Path) -> Result<()> {
        tmp.as_file()
            .sync_all()
            .map_err(|e| failed("write", tmp.path(), e))?;
        let folder = path.parent().unwrap_or(&self.root);
        fs::create_dir_all(folder).map_err(|e| failed("make the folder", folder, e))?;
        tmp.persist(path)
            .map_err(|e| failed("rename a finished file to", path, e.error))?;
        for folder in path.ancestors().skip(1).take(3) {
            sync_folder(folder)?;
        }
        Ok(())
    }

    /// Whether the content is there (its file exists; reading it checks it).
    pub fn contains(&self, sha256: &str) -> Result<bool> {
        let path = self.path_of(sha256)?;
        path.try_exists().map_err(|e| failed("look for", &path, e))
    }

    /// The content, checked against its name; at most `limit` bytes.
    pub fn get_bytes(&self, sha256: &str, limit: u64) -> Result<Vec<u8>> {
        let mut content = Vec::new();
        self.read_into(sha256, limit, &mut content, Path::new("(memory)"))?;
        Ok(content)
    }

    /// Writes the content to `out`; at most `limit` bytes. What was written counts only where this
    /// succeeds: the content is checked against its name as it is read.
    pub fn copy_into(&self, sha256: &str, limit: u64, out: &mut dyn Write) -> Result<()> {
        self.read_into(sha256, limit, out, Path::new("(a bundle)"))
    }

    /// Writes the content to `path`, checked before the file appears there; at most `limit`
    /// bytes. Replaces an existing file. The mode is 755 or 644.
    pub fn get_to_file(&self, sha256: &str, path: &Path, to: &Extract) -> Result<()> {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let mut tmp = tempfile::Builder::new()
            .prefix(".get-")
            .tempfile_in(folder)
            .map_err(|e| failed("make a file in", folder, e))?;
        self.read_into(sha256, to.limit, tmp.as_file_mut(), path)?;
        set_mode(tmp.as_file(), to.executable).map_err(|e| failed("set the mode of", path, e))?;
        tmp.persist(path)
            .map_err(|e| failed("rename a finished file to", path, e.error))?;
        Ok(())
    }

    /// Decompresses into `out`, counting and hashing.
    fn read_into(&self, sha256: &str, limit: u64, out: &mut dyn Write, to: &Path) -> Result<()> {
        let path = self.path_of(sha256)?;
        let damaged = |detail: String| StoreError::Damaged {
            sha256: sha256.to_owned(),
            path: path.clone(),
            detail,
        };
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                return Err(StoreError::Missing {
                    sha256: sha256.to_owned(),
                });
            }
            Err(e) => return Err(failed("open", &path, e)),
        };
        let mut decoder = zstd::Decoder::new(file).map_err(|e| failed("read", &path, e))?;
        decoder
            .window_log_max(WINDOW_LOG_MAX)
            .map_err(|e| failed("read", &path, e))?;
        let mut hasher = Sha256::new();
        let mut total = 0u64;
        let mut chunk = vec![0; CHUNK];
        loop {
            let n = match decoder.read(&mut chunk) {
                Ok(0) => break,
                Ok(n) => n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(damaged(e.to_string())),
            };
            total += n as u64;
            if total > limit {
                return Err(StoreError::TooLarge {
                    sha256: sha256.to_owned(),
                    limit,
                });
            }
            hasher.update(&chunk[..n]);
            out.write_all(&chunk[..n])
                .map_err(|e| failed("write", to, e))?;
        }
        let found = hex::encode(hasher.finalize());
        if found != sha256 {
            return Err(damaged(format!("its content hashes to {found}")));
        }
        Ok(())
    }

    /// Removes the content; whether it was there.
    pub fn remove(&self, sha256: &str) -> Result<bool> {
        let path = self.path_of(sha256)?;
        match fs::remove_file(&path) {
            Ok(()) => Ok(true),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(e) => Err(failed("remove", &path, e)),
        }
    }

    /// The file of one content; `None` where it is not there.
    pub fn entry(&self, sha256: &str) -> Result<Option<Entry>> {
        let path = self.path_of(sha256)?;
        match fs::metadata(&path) {
            Ok(metadata) => Ok(Some(Entry {
                sha256: sha256.to_owned(),
                stored_bytes: metadata.len(),
                put_at: modified_millis(&metadata),
            })),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(failed("look at", &path, e)),
        }
    }

    /// Every content in the store, in no particular order. Files with other names are passed
    /// over.
    pub fn iter(&self) -> Result<Vec<Entry>> {
        let mut found = Vec::new();
        for outer in subfolders(&self.root)? {
            for inner in subfolders(&outer)? {
                let list = fs::read_dir(&inner).map_err(|e| failed("list", &inner, e))?;
                for file in list {
                    let file = file.map_err(|e| failed("list", &inner, e))?;
                    let name = file.file_name();
                    let Some(sha256) = name.to_str().and_then(|n| n.strip_suffix(".zst")) else {
                        continue;
                    };
                    if is_name(sha256) {
                        found.extend(self.entry(sha256)?);
                    }
                }
            }
        }
        Ok(found)
    }

    /// Removes what killed processes left half-written before `before` (milliseconds since
    /// 1970); returns how many files.
    pub fn sweep_unfinished(&self, before: i64) -> Result<u64> {
        let tmp = self.root.join("tmp");
        let mut swept = 0;
        for file in fs::read_dir(&tmp).map_err(|e| failed("list", &tmp, e))? {
            let file = file.map_err(|e| failed("list", &tmp, e))?;
            let path = file.path();
            // A file that went away meanwhile is no concern of ours.
            let Ok(metadata) = file.metadata() else {
                continue;
            };
            if metadata.is_file() && modified_millis(&metadata) < before {
                fs::remove_file(&path).map_err(|e| failed("remove", &path, e))?;
                swept += 1;
            }
        }
        Ok(swept)
    }

    /// Where the content with this name lies.
    fn path_of(&self, sha256: &str) -> Result<PathBuf> {
        if !is_name(sha256) {
            return Err(StoreError::NotAName {
                name: sha256.chars().take(80).collect(),
            });
        }
        Ok(self
            .root
            .join(&sha256[..2])
            .join(&sha256[2..4])
            .join(format!("{sha256}.zst")))
    }
}

/// How [`Store::get_to_file`] takes content out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extract {
    /// Whether it may be executed.
    pub executable: bool,
    /// The largest size allowed, bytes.
    pub limit: u64,
}

/// Whether two files hold the same bytes; a missing one is like none.
fn same_bytes(a: &Path, b: &Path) -> io::Result<bool> {
    let open = |path: &Path| match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
    };
    let (Some(a), Some(b)) = (open(a)?, open(b)?) else {
        return Ok(false);
    };
    if a.metadata()?.len() != b.metadata()?.len() {
        return Ok(false);
    }
    let (mut a, mut b) = (BufReader::new(a), BufReader::new(b));
    loop {
        let (left, right) = (a.fill_buf()?, b.fill_buf()?);
        let n = left.len().min(right.len());
        if n == 0 || left[..n] != right[..n] {
            return Ok(left.is_empty() && right.is_empty());
        }
        a.consume(n);
        b.consume(n);
    }
}

fn is_name(text: &str) -> bool {
    text.len() == 64
        && text
            .bytes()
            .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

/// Compresses into `tmp`; returns the content's hash and size.
fn compress(reader: impl Read, from: &Path, tmp: &NamedTempFile) -> Result<(String, u64)> {
    let writing = |e| failed("write", tmp.path(), e);
    let mut encoder = zstd::Encoder::new(tmp.as_file(), ZSTD_LEVEL).map_err(writing)?;
    encoder.include_checksum(true).map_err(writing)?;
    let mut reader = BufReader::with_capacity(CHUNK, reader);
    let mut hasher = Sha256::new();
    let mut bytes = 0u64;
    let mut chunk = vec![0; CHUNK];
    loop {
        let n = match reader.read(&mut chunk) {
            Ok(0) => break,
            Ok(n) => n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(failed("read", from, e)),
        };
        hasher.update(&chunk[..n]);
        encoder.write_all(&chunk[..n]).map_err(writing)?;
        bytes += n as u64;
    }
    encoder.finish().map_err(writing)?;
    Ok((hex::encode(hasher.finalize()), bytes))
}

/// Notes that the content is wanted again now; whether its file is there.
fn refresh(path: &Path) -> Result<bool> {
    match File::open(path) {
        Ok(file) => {
            file.set_modified(SystemTime::now())
                .map_err(|e| failed("note the use of", path, e))?;
            Ok(true)
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(failed("open", path, e)),
    }
}

fn size_of(path: &Path) -> Result<u64> {
    let metadata = fs::metadata(path).map_err(|e| failed("look at", path, e))?;
    Ok(metadata.len())
}

fn modified_millis(metadata: &fs::Metadata) -> i64 {
    metadata
        .modified()
        .ok()
        .and_then(|at| at.duration_since(UNIX_EPOCH).ok())
        .and_then(|since| i64::try_from(since.as_millis()).ok())
        .unwrap_or(0)
}

fn subfolders(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(|e| failed("list", folder, e))? {
        let entry = entry.map_err(|e| failed("list", folder, e))?;
        // Two hex digits: not `tmp`, and nothing that someone else put there.
        let name = entry.file_name();
        let digits = name.len() == 2 && name.as_encoded_bytes().iter().all(u8::is_ascii_hexdigit);
        if digits && entry.path().is_dir() {
            found.push(entry.path());
        }
    }
    Ok(found)
}

/// Makes names in a folder survive a loss of power.
fn sync_folder(folder: &Path) -> Result<()> {
    File::open(folder)
        .and_then(|f| f.sync_all())
        .map_err(|e| failed("write the folder", folder, e))
}

fn set_mode(file: &File, executable: bool) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mode = if executable { 0o755 } else { 0o644 };
    file.set_permissions(fs::Permissions::from_mode(mode))
}
