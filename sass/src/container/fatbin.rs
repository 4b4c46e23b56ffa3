//! The fatbin format: regions of entries, each a cubin or a PTX text, maybe compressed.
//!
//! All numbers are little-endian. A region begins with a header of 16 bytes: magic `0xBA55ED50`,
//! version (u16), header size (u16), size of the entries (u64). An entry's header:
//!
//! | offset | what |
//! |---|---|
//! | 0 | kind (u16): 1 PTX, 2 cubin |
//! | 2 | version (u16) |
//! | 4 | header size (u32) |
//! | 8 | size of the payload with padding (u64) |
//! | 16 | size of the compressed payload without padding (u32); 0 when it is not compressed |
//! | 28 | architecture (u32), 90 for sm_90 |
//! | 40 | flags (u64): 0x2000 LZ4, 0x8000 zstd |
//! | 56 | size when decompressed (u64) |
//!
//! Regions follow each other at multiples of 8 bytes with zeros between.

use super::{Encoding, Image, ImageKind, MAX_IMAGE_BYTES};
use crate::Error;

const MAGIC: u32 = 0xBA55_ED50;
const REGION_HEADER: usize = 16;
/// The least an entry's header holds: all fields above.
const ENTRY_HEADER: usize = 64;
const KIND_PTX: u16 = 1;
const KIND_ELF: u16 = 2;
const FLAG_LZ4: u64 = 0x2000;
const FLAG_ZSTD: u64 = 0x8000;

/// Whether `data` begins with a fatbin region.
pub(super) fn is_fatbin(data: &[u8]) -> bool {
    data.starts_with(&MAGIC.to_le_bytes())
}

/// Reads all regions in `data`, which begins at `offset` of the file.
pub(super) fn parse<'a>(label: &str, offset: u64, data: &'a [u8]) -> Result<Vec<Image<'a>>, Error> {
    let mut images = Vec::new();
    let mut at = 0;
    while at < data.len() {
        if data[at] == 0 {
            at += 1;
            continue;
        }
        let cursor = Cursor {
            label,
            offset,
            data,
            end: data.len(),
        };
        at = cursor.region(at, &mut images)?;
    }
    Ok(images)
}

/// A bounded view for reading numbers.
#[derive(Clone, Copy)]
struct Cursor<'a, 'l> {
    label: &'l str,
    /// Where `data` begins in the file.
    offset: u64,
    data: &'a [u8],
    /// Nothing is read at or after it.
    end: usize,
}

impl<'a> Cursor<'a, '_> {
    fn error(&self, at: usize, what: impl Into<String>) -> Error {
        Error::malformed(self.label, self.offset.saturating_add(at as u64), what)
    }

    fn slice(&self, at: usize, size: u64, what: &str) -> Result<&'a [u8], Error> {
        usize::try_from(size)
            .ok()
            .and_then(|size| at.checked_add(size))
            .filter(|end| *end <= self.end)
            .map(|end| &self.data[at..end])
            .ok_or_else(|| {
                self.error(
                    at,
                    format!(
                        "{what} of {size} bytes reaches beyond the end of its section or region"
                    ),
                )
            })
    }

    fn u16(&self, at: usize) -> Result<u16, Error> {
        let b = self.slice(at, 2, "a field")?;
        Ok(u16::from_le_bytes([b[0], b[1]]))
    }

    fn u32(&self, at: usize) -> Result<u32, Error> {
        let b = self.slice(at, 4, "a field")?;
        Ok(u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
    }

    fn u64(&self, at: usize) -> Result<u64, Error> {
        Ok(u64::from(self.u32(at)?) | u64::from(self.u32(at + 4)?) << 32)
    }

    /// Reads the region at `at`; gives its end.
    fn region(self, at: usize, images: &mut Vec<Image<'a>>) -> Result<usize, Error> {
        if self.u32(at)? != MAGIC {
            return Err(self.error(at, "no fatbin begins where one should"));
        }
        let header = usize::from(self.u16(at + 6)?);
        if header < REGION_HEADER {
            return Err(self.error(
                at + 6,
                format!("a fatbin header of {header} bytes is too short"),
            ));
        }
        let size = self.u64(at + 8)?;
        let first = at + header;
        let end = first + self.slice(first, size, "a fatbin")?.len();
        let inner = Cursor { end, ..self };
        let mut entry = first;
        while entry < end {
            entry = inner.entry(entry, images)?;
        }
        Ok(end)
    }

    /// Reads the entry at `at`; gives its end.
    fn entry(self, at: usize, images: &mut Vec<Image<'a>>) -> Result<usize, Error> {
        let kind = self.u16(at)?;
        let header = self.u32(at + 4)? as usize;
        if header < ENTRY_HEADER {
            return Err(self.error(
                at + 4,
                format!("a fatbin entry's header of {header} bytes is too short"),
            ));
        }
        self.slice(at, header as u64, "a fatbin entry's header")?;
        let padded = self.slice(at + header, self.u64(at + 8)?, "a fatbin entry")?;
        let end = at + header + padded.len();
        let kind = match kind {
            KIND_PTX => ImageKind::Ptx,
            KIND_ELF => ImageKind::Cubin,
            // Link-time-optimisation IR and kinds to come hold no machine code.
            _ => return Ok(end),
        };
        let encoding = self.encoding(at)?;
        let payload = match encoding {
            Encoding::Plain => padded,
            Encoding::Lz4 { .. } | Encoding::Zstd { .. } => {
                let size = self.u32(at + 16)? as usize;
                padded.get(..size).ok_or_else(|| {
                    self.error(
                        at + 16,
                        format!("a compressed image of {size} bytes is larger than its entry"),
                    )
                })?
            }
        };
        images.push(Image {
            container: self.label.to_owned(),
            offset: self.offset.saturating_add((at + header) as u64),
            kind,
            arch_number: self.u32(at + 28)?,
            encoding,
            payload,
        });
        Ok(end)
    }

    fn encoding(&self, at: usize) -> Result<Encoding, Error> {
        let flags = self.u64(at + 40)?;
        if flags & (FLAG_LZ4 | FLAG_ZSTD) == 0 {
            return Ok(Encoding::Plain);
        }
        let size = self.u64(at + 56)?;
        let size = usize::try_from(size)
            .ok()
            .filter(|size| *size <= MAX_IMAGE_BYTES)
            .ok_or_else(|| {
                self.error(at + 56, format!("an image of {size} bytes is larger than the {MAX_IMAGE_BYTES} that are allowed"))
            })?;
        Ok(if flags & FLAG_ZSTD != 0 {
            Encoding::Zstd { size }
        } else {
            Encoding::Lz4 { size }
        })
    }
}
