//! One GPU image, and its decompression.

use std::borrow::Cow;
use std::io::Read;

use crate::Error;

/// The largest decompressed image that is accepted, bytes.
pub const MAX_IMAGE_BYTES: usize = 1 << 30;
/// A byte of LZ4 input makes at most this many bytes of output.
const LZ4_MAX_RATIO: usize = 255;

/// What an image is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageKind {
    /// Machine code.
    Cubin,
    /// PTX text, which the driver compiles at load time.
    Ptx,
}

/// How an image is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// As it is.
    Plain,
    /// An LZ4 block.
    Lz4 {
        /// Decompressed size, bytes.
        size: usize,
    },
    /// A zstd frame.
    Zstd {
        /// Decompressed size, bytes.
        size: usize,
    },
}

/// A GPU image inside a file.
#[derive(Debug, Clone)]
pub struct Image<'a> {
    /// Where it was found, for people: `libk.a(mmq.o)#0`.
    pub container: String,
    /// Where its stored bytes begin in the file.
    pub offset: u64,
    /// What it is.
    pub kind: ImageKind,
    /// The architecture's number in the fatbin entry (90 for sm_90); 0 for a bare cubin.
    pub arch_number: u32,
    /// How it is stored.
    pub encoding: Encoding,
    /// The stored bytes.
    pub payload: &'a [u8],
}

impl<'a> Image<'a> {
    /// A file or member that is a cubin itself.
    pub(super) fn bare_cubin(label: &str, offset: u64, payload: &'a [u8]) -> Image<'a> {
        Image {
            container: label.to_owned(),
            offset,
            kind: ImageKind::Cubin,
            arch_number: 0,
            encoding: Encoding::Plain,
            payload,
        }
    }

    /// The image itself, decompressed where needed.
    pub fn bytes(&self) -> Result<Cow<'a, [u8]>, Error> {
        match self.encoding {
            Encoding::Plain => Ok(Cow::Borrowed(self.payload)),
            Encoding::Lz4 { size } => self.lz4(size).map(Cow::Owned),
            Encoding::Zstd { size } => self.zstd(size).map(Cow::Owned),
        }
    }

    fn lz4(&self, size: usize) -> Result<Vec<u8>, Error> {
        // The decoder allocates the declared size at once; a lie must not cost memory.
        if size / LZ4_MAX_RATIO > self.payload.len() {
            return Err(self.error("its declared size cannot come out of so little LZ4 data"));
        }
        let out = lz4_flex::block::decompress(self.payload, size)
            .map_err(|e| self.error(&format!("its LZ4 data is broken: {e}")))?;
        self.check_size(out, size)
    }

    fn zstd(&self, size: usize) -> Result<Vec<u8>, Error> {
        let broken = |e: std::io::Error| self.error(&format!("its zstd data is broken: {e}"));
        let decoder = zstd::stream::read::Decoder::with_buffer(self.payload).map_err(broken)?;
        let mut out = Vec::new();
        // Grows with what really comes out; one byte more than declared is enough to know.
        decoder
            .single_frame()
            .take(size as u64 + 1)
            .read_to_end(&mut out)
            .map_err(broken)?;
        self.check_size(out, size)
    }

    fn check_size(&self, out: Vec<u8>, size: usize) -> Result<Vec<u8>, Error> {
        if out.len() == size {
            Ok(out)
        } else {
            Err(self.error(&format!(
                "it should decompress to {size} bytes and does not"
            )))
        }
    }

    fn error(&self, what: &str) -> Error {
        Error::malformed(&self.container, self.offset, format!("a GPU image: {what}"))
    }
}
