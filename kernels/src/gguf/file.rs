//! A GGUF file on disk: its header in memory, its tensors read when they are asked for.

use std::fs::File;
use std::io::BufReader;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::GgufError;
use super::dequantise::dequantise;
use super::header::{Header, TensorInfo};
use super::shown::Shown;

/// Blocks that are read and dequantised at a time.
const BLOCKS_AT_ONCE: u64 = 1 << 14;

/// An open GGUF file.
#[derive(Debug)]
pub struct GgufFile {
    header: Header,
    file: File,
}

impl GgufFile {
    /// Opens a file and reads its header.
    ///
    /// # Errors
    /// Where the file cannot be read, or its header is not as it must be.
    pub fn open(path: &Path) -> Result<GgufFile, GgufError> {
        let io = |source| GgufError::Io {
            doing: format!("opening {}", path.display()),
            source,
        };
        // Opening a pipe would wait for its other end.
        if !std::fs::metadata(path).map_err(io)?.is_file() {
            return Err(io(std::io::Error::other("it is not a regular file")));
        }
        let file = File::open(path).map_err(io)?;
        let len = file.metadata().map_err(io)?.len();
        let header = Header::read(BufReader::new(&file), len)?;
        Ok(GgufFile { header, file })
    }

    /// Version, metadata and tensor infos.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// A tensor's bytes, as they are in the file.
    ///
    /// # Errors
    /// Where the file cannot be read, or became shorter, or there is no memory for them.
    pub fn bytes(&self, tensor: &TensorInfo) -> Result<Vec<u8>, GgufError> {
        let (count, mut bytes) = room(tensor, tensor.bytes)?;
        bytes.resize(count, 0);
        self.read(tensor, 0, &mut bytes)?;
        Ok(bytes)
    }

    /// A tensor's values, row by row.
    ///
    /// # Errors
    /// Where the file cannot be read, or became shorter, or there is no memory for them.
    pub fn values(&self, tensor: &TensorInfo) -> Result<Vec<f32>, GgufError> {
        let (count, mut values) = room(tensor, tensor.values)?;
        let kind = tensor.kind;
        let step = (BLOCKS_AT_ONCE * kind.block_values()) as usize;
        let mut bytes = vec![0; (BLOCKS_AT_ONCE * kind.block_bytes()) as usize];
        let mut offset = 0;
        while values.len() < count {
            let begin = values.len();
            // Only room that is being filled is touched.
            values.resize(count.min(begin + step), 0.0);
            let piece = &mut values[begin..];
            let size = kind.bytes(piece.len() as u64).unwrap_or_default();
            let bytes = &mut bytes[..size as usize];
            self.read(tensor, offset, bytes)?;
            offset += size;
            dequantise(kind, bytes, piece).map_err(|error| GgufError::Invalid {
                field: format!("tensor `{}`", Shown(&tensor.name)),
                at: tensor.begin,
                problem: error.to_string(),
            })?;
        }
        Ok(values)
    }

    fn read(&self, tensor: &TensorInfo, offset: u64, out: &mut [u8]) -> Result<(), GgufError> {
        let at = tensor.begin + offset;
        let read = self.file.read_exact_at(out, at);
        read.map_err(|source| GgufError::Io {
            doing: format!("reading tensor `{}` at byte {at}", Shown(&tensor.name)),
            source,
        })
    }
}

/// A count of a tensor's elements as a size, and an empty vector with room for so many.
fn room<T>(tensor: &TensorInfo, count: u64) -> Result<(usize, Vec<T>), GgufError> {
    // A count that is no size, on 32-bit machines, is more than any vector has room for.
    let size = usize::try_from(count).unwrap_or(usize::MAX);
    let mut elements = Vec::new();
    let reserved = elements.try_reserve_exact(size);
    reserved.map_err(|source| GgufError::Memory {
        tensor: tensor.name.clone(),
        bytes: u128::from(count) * size_of::<T>() as u128,
        source,
    })?;
    Ok((size, elements))
}
