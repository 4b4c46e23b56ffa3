//! Headers of tar archives (POSIX ustar, <https://pubs.opengroup.org/onlinepubs/9799919799/utilities/pax.html>):
//! plain files with short names, and nothing else. Reading accepts only the header that is expected
//! next, so that no name, link or extension of an archive means anything.

/// The size of a header, and what contents are padded to.
pub(super) const BLOCK: usize = 512;

/// A header for a plain file.
pub(super) fn header(name: &str, bytes: u64) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    let mut put = |at: usize, text: &[u8]| block[at..at + text.len()].copy_from_slice(text);
    put(0, &name.as_bytes()[..name.len().min(100)]);
    put(100, b"0000644\0");
    put(108, b"0000000\0");
    put(116, b"0000000\0");
    put(124, format!("{bytes:011o}\0").as_bytes());
    // No time: the same record gives the same bundle.
    put(136, b"00000000000\0");
    put(148, b"        ");
    put(156, b"0");
    put(257, b"ustar\x0000");
    let sum: u32 = block.iter().map(|&byte| u32::from(byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    block
}

/// The name and size that a header declares; `None` where it is not one of a plain file.
pub(super) fn parse(block: &[u8; BLOCK]) -> Option<(String, u64)> {
    let mut blank = *block;
    blank[148..156].copy_from_slice(b"        ");
    let sum: u32 = blank.iter().map(|&byte| u32::from(byte)).sum();
    if octal(&block[148..156])? != u64::from(sum) {
        return None;
    }
    // Type: a plain file. No prefix: names are short.
    if !matches!(block[156], b'0' | 0) || &block[257..262] != b"ustar" || block[345] != 0 {
        return None;
    }
    let end = block[..100]
        .iter()
        .position(|&byte| byte == 0)
        .unwrap_or(100);
    let name = std::str::from_utf8(&block[..end]).ok()?;
    Some((name.to_owned(), octal(&block[124..136])?))
}

/// What fills a content's last block.
pub(super) fn padding(bytes: u64) -> usize {
    let over = usize::try_from(bytes % BLOCK as u64).unwrap_or(0);
    (BLOCK - over) % BLOCK
}

fn octal(field: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(field).ok()?;
    let digits = text.trim_matches(['\0', ' ']);
    u64::from_str_radix(digits, 8).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_it_was_written() {
        let block = header("artifacts/ab", 1234);
        assert_eq!(parse(&block), Some(("artifacts/ab".to_owned(), 1234)));
        for at in [0, 124, 148, 156, 257] {
            let mut other = block;
            other[at] ^= 1;
            assert_eq!(parse(&other), None, "byte {at}");
        }
    }

    #[test]
    fn links_folders_and_long_names_are_no_files() {
        for kind in [b'1', b'2', b'5', b'L', b'x', b'g'] {
            let mut block = header("manifest.json", 1);
            block[156] = kind;
            block[148..156].copy_from_slice(b"        ");
            let sum: u32 = block.iter().map(|&byte| u32::from(byte)).sum();
            block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
            assert_eq!(parse(&block), None);
        }
    }

    #[test]
    fn contents_fill_blocks() {
        assert_eq!([0, 1, 511, 512, 513].map(padding), [0, 511, 1, 0, 511]);
    }
}
