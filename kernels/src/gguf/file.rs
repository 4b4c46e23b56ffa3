//! A GGUF file on disk: its header in memory, its tensors read when they are asked for.

use std::fs::File;
use std::io::BufReader;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::GgufError;
use super::dequantise::dequantise;
use super::header::{Header, TensorInfo};

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
    /// Where the file cannot be read, or became shorter.
    pub fn bytes(&self, tensor: &TensorInfo) -> Result<Vec<u8>, GgufError> {
        let mut bytes = vec![0; size(tensor, tensor.bytes)?];
        self.read(tensor, 0, &mut bytes)?;
        Ok(bytes)
    }

    /// A tensor's values, row by row.
    ///
    /// # Errors
    /// Where the file cannot be read, or became shorter.
    pub fn values(&self, tensor: &TensorInfo) -> Result<Vec<f32>, GgufError> {
        let mut values = vec![0.0; size(tensor, tensor.values)?];
        let kind = tensor.kind;
        let step = BLOCKS_AT_ONCE * kind.block_values();
        let mut bytes = vec![0; (BLOCKS_AT_ONCE * kind.block_bytes()) as usize];
        for (n, piece) in values.chunks_mut(step as usize).enumerate() {
            let count = kind.bytes(piece.len() as u64).unwrap_or_default() as usize;
            let bytes = &mut bytes[..count];
            self.read(
                tensor,
                n as u64 * BLOCKS_AT_ONCE * kind.block_bytes(),
                bytes,
            )?;
            dequantise(kind, bytes, piece).map_err(|error| GgufError::Invalid {
                field: format!("tensor `{}`", tensor.name),
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
            doing: format!("reading tensor `{}` at byte {at}", tensor.name),
            source,
        })
    }
}

/// A count as a size in memory; 32-bit machines cannot hold all of them.
fn size(tensor: &TensorInfo, count: u64) -> Result<usize, GgufError> {
    usize::try_from(count).map_err(|_| GgufError::Invalid {
        field: format!("tensor `{}`", tensor.name),
        at: tensor.begin,
        problem: "too large for this machine's memory".to_owned(),
    })
}
