//! Reads fields one after the other, none of them past the end of the file.
//!
//! A length or count from the file is compared with what is left of it before anything is
//! allocated for it. Nothing here knows what the fields mean.

use std::fmt::Arguments;
use std::io::Read;

use super::GgufError;

/// The most that metadata and tensor infos together may take. The largest vocabularies take about
/// 20 MB; without a limit, a sparse file could ask for any amount of memory.
pub(super) const HEADER_LIMIT: u64 = 512 << 20;

/// A place in a file that is read from its beginning.
pub(super) struct Cursor<R> {
    reader: R,
    at: u64,
    len: u64,
}

impl<R: Read> Cursor<R> {
    /// `len`: what the reader can give, bytes.
    pub(super) fn new(reader: R, len: u64) -> Self {
        Cursor { reader, at: 0, len }
    }

    /// Bytes from the beginning.
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    /// The file's size, bytes.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Refuses a field that does not fit into what is left.
    pub(super) fn need(&self, field: Arguments<'_>, needs: u64) -> Result<(), GgufError> {
        let left = self.len.saturating_sub(self.at);
        if needs > left {
            return Err(GgufError::Truncated {
                field: field.to_string(),
                at: self.at,
                needs,
                left,
            });
        }
        if self.at.saturating_add(needs) > HEADER_LIMIT {
            let mib = HEADER_LIMIT >> 20;
            return Err(self.invalid(
                field,
                format!("with it the metadata and tensor infos are larger than {mib} MiB"),
            ));
        }
        Ok(())
    }

    /// An error about the field that begins here.
    pub(super) fn invalid(&self, field: Arguments<'_>, problem: String) -> GgufError {
        GgufError::Invalid {
            field: field.to_string(),
            at: self.at,
            problem,
        }
    }

    /// Appends the next `count` bytes to `out`.
    pub(super) fn append(
        &mut self,
        field: Arguments<'_>,
        count: u64,
        out: &mut Vec<u8>,
    ) -> Result<(), GgufError> {
        self.need(field, count)?;
        let got = self.reader.by_ref().take(count).read_to_end(out);
        match got {
            Ok(got) if got as u64 == count => self.at += count,
            Ok(got) => {
                return Err(GgufError::Truncated {
                    field: field.to_string(),
                    at: self.at,
                    needs: count,
                    left: got as u64,
                });
            }
            Err(source) => return Err(self.io(field, source)),
        }
        Ok(())
    }

    fn io(&self, field: Arguments<'_>, source: std::io::Error) -> GgufError {
        GgufError::Io {
            doing: format!("reading {field} at byte {}", self.at),
            source,
        }
    }

    /// The next `N` bytes.
    pub(super) fn array<const N: usize>(
        &mut self,
        field: Arguments<'_>,
    ) -> Result<[u8; N], GgufError> {
        self.need(field, N as u64)?;
        let mut out = [0; N];
        match self.reader.read_exact(&mut out) {
            Ok(()) => self.at += N as u64,
            Err(source) => return Err(self.io(field, source)),
        }
        Ok(out)
    }

    pub(super) fn u32(&mut self, field: Arguments<'_>) -> Result<u32, GgufError> {
        self.array(field).map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self, field: Arguments<'_>) -> Result<u64, GgufError> {
        self.array(field).map(u64::from_le_bytes)
    }

    /// A count whose elements take at least `each` bytes of the file.
    pub(super) fn count(&mut self, field: Arguments<'_>, each: u64) -> Result<u64, GgufError> {
        let count = self.u64(field)?;
        self.need(field, count.saturating_mul(each))?;
        Ok(count)
    }

    /// A string of at most `most` bytes.
    pub(super) fn string(&mut self, field: Arguments<'_>, most: u64) -> Result<String, GgufError> {
        let at = self.at;
        let invalid = |problem: String| GgufError::Invalid {
            field: field.to_string(),
            at,
            problem,
        };
        let count = self.count(field, 1)?;
        if count > most {
            return Err(invalid(format!(
                "{count} bytes long, at most {most} are allowed"
            )));
        }
        let mut bytes = Vec::new();
        self.append(field, count, &mut bytes)?;
        String::from_utf8(bytes).map_err(|error| invalid(format!("not UTF-8: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_past_the_end_names_itself_and_its_place() {
        let mut cursor = Cursor::new(&[1u8, 0, 0, 0, 9, 9][..], 6);
        assert_eq!(cursor.u32(format_args!("the count")).expect("4 bytes"), 1);
        let error = cursor.u32(format_args!("the flags")).expect_err("2 bytes");
        assert!(
            error
                .to_string()
                .starts_with("the flags at byte 4 needs 4 bytes and the file has 2 more"),
            "{error}"
        );
    }

    #[test]
    fn a_reader_that_ends_early_is_no_panic() {
        let mut cursor = Cursor::new(&[0u8; 3][..], 100);
        let mut out = Vec::new();
        let error = cursor.append(format_args!("a blob"), 50, &mut out);
        assert!(matches!(
            error,
            Err(GgufError::Truncated {
                needs: 50,
                left: 3,
                ..
            })
        ));
        assert!(cursor.u64(format_args!("a number")).is_err());
    }

    #[test]
    fn counts_are_compared_with_what_is_left() {
        let bytes = u64::MAX.to_le_bytes();
        let mut cursor = Cursor::new(&bytes[..], 8);
        assert!(cursor.count(format_args!("tensors"), 16).is_err());
        let mut sparse = Cursor::new(std::io::repeat(0x20), 1 << 40);
        assert!(matches!(
            sparse.append(format_args!("a blob"), 1 << 39, &mut Vec::new()),
            Err(GgufError::Invalid { .. })
        ));
    }
}
