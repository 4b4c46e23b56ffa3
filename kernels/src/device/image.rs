//! Looks an image over before the driver sees it. The driver takes a pointer without a length,
//! so an image whose headers point past its end must not get there.

use sass::container::ImageKind;

const ELF_MAGIC: [u8; 4] = [0x7f, b'E', b'L', b'F'];
const FATBIN_MAGIC: u32 = 0xBA55_ED50;
const SHT_NOBITS: u32 = 8;

/// Checks that everything an image's headers describe lies within it; the reason otherwise.
pub(super) fn check(image: &[u8]) -> Result<(), String> {
    if image.starts_with(&ELF_MAGIC) {
        return check_elf(image);
    }
    if number(image, 0, 4) == Some(u64::from(FATBIN_MAGIC)) {
        return check_fatbin(image);
    }
    if is_ptx(image) {
        return Ok(());
    }
    Err("it begins neither as a cubin (ELF) nor as a fatbin, and is no PTX".to_owned())
}

/// Whether it is PTX as the driver takes it: text, with its version up front, that ends in NUL.
fn is_ptx(image: &[u8]) -> bool {
    let Some((0, text)) = image.split_last() else {
        return false;
    };
    let statements = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let mut statements = statements.filter(|line| !line.is_empty() && !line.starts_with(b"//"));
    text.is_ascii()
        && !text.contains(&0)
        && statements
            .next()
            .is_some_and(|line| line.starts_with(b".version "))
}

/// A little-endian number of `size` bytes.
fn number(image: &[u8], at: u64, size: u64) -> Option<u64> {
    let at = usize::try_from(at).ok()?;
    let size = usize::try_from(size).ok()?;
    let bytes = image.get(at..at.checked_add(size)?)?;
    Some(bytes.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b)))
}

fn within(image: &[u8], offset: u64, size: u64) -> bool {
    offset
        .checked_add(size)
        .is_some_and(|end| end <= image.len() as u64)
}

fn check_elf(image: &[u8]) -> Result<(), String> {
    let field = |at, size| number(image, at, size).ok_or("its ELF header is cut short");
    if image.get(4..6) != Some(&[2, 1]) {
        return Err("it is not a 64-bit little-endian ELF file".to_owned());
    }
    if field(18, 2)? != 190 {
        return Err("it is an ELF file, but not for NVIDIA GPUs".to_owned());
    }
    let (segments, sections) = (field(32, 8)?, field(40, 8)?);
    let (segment_size, segment_count) = (field(54, 2)?, field(56, 2)?);
    let (section_size, section_count) = (field(58, 2)?, field(60, 2)?);
    if (segment_count > 0 && segment_size != 56) || section_size != 64 || section_count == 0 {
        return Err("its ELF header is damaged".to_owned());
    }
    if !within(image, segments, segment_size * segment_count)
        || !within(image, sections, section_size * section_count)
    {
        return Err("it is cut short: its tables lie past its end".to_owned());
    }
    let cut = |what: &str, n: u64| format!("it is cut short: {what} {n} lies past its end");
    for n in 0..section_count {
        let at = sections + n * section_size;
        let (kind, offset, size) = (field(at + 4, 4)?, field(at + 24, 8)?, field(at + 32, 8)?);
        if kind != u64::from(SHT_NOBITS) && !within(image, offset, size) {
            return Err(cut("section", n));
        }
    }
    for n in 0..segment_count {
        let at = segments + n * segment_size;
        if !within(image, field(at + 8, 8)?, field(at + 32, 8)?) {
            return Err(cut("segment", n));
        }
    }
    Ok(())
}

/// Every image in a fatbin: the driver walks its entries by the sizes that they give themselves.
fn check_fatbin(image: &[u8]) -> Result<(), String> {
    let entries = sass::container::images("the fatbin", image).map_err(|e| e.to_string())?;
    if entries.is_empty() {
        return Err("the fatbin holds no image".to_owned());
    }
    for entry in entries {
        let bytes = entry.bytes().map_err(|e| e.to_string())?;
        if entry.kind == ImageKind::Cubin {
            check_elf(&bytes).map_err(|reason| format!("{}: {reason}", entry.container))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::check;

    /// A small ELF file of our own: one section of eight bytes, no segments.
    fn elf() -> Vec<u8> {
        let mut image = vec![0u8; 64 + 8 + 64];
        image[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1]);
        image[18] = 190;
        image[40] = 72;
        image[58] = 64;
        image[60] = 1;
        image[72 + 4] = 1;
        image[72 + 24] = 64;
        image[72 + 32] = 8;
        image
    }

    #[test]
    fn whole_images_pass_and_cut_ones_do_not() {
        assert_eq!(check(&elf()), Ok(()));
        for end in 0..elf().len() {
            assert!(check(&elf()[..end]).is_err(), "cut at {end}");
        }
    }

    #[test]
    fn hostile_offsets_are_refused() {
        for field in [40, 72 + 24, 72 + 32] {
            let mut image = elf();
            image[field..field + 8].fill(0xff);
            assert!(check(&image).is_err(), "field at {field}");
        }
        let mut image = elf();
        image[32] = 1;
        image[54] = 56;
        image[56..58].fill(0xff);
        assert!(check(&image).is_err(), "segments past the end");
    }

    #[test]
    fn ptx_must_end_in_nul() {
        assert_eq!(
            check(b"// made by\n\n.version 7.0\n.target sm_80\n\0"),
            Ok(())
        );
        for bad in [
            &b".version 7.0\n.target sm_80\n"[..],
            b".version 7.0\n\0.target sm_80\n\0",
            b".target sm_80\n\0",
            b"\0",
            b"",
        ] {
            assert!(check(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn other_files_are_named_as_such() {
        assert!(check(b"int main;").is_err_and(|e| e.contains("neither")));
        let mut host = elf();
        host[18] = 62;
        assert!(check(&host).is_err_and(|e| e.contains("not for NVIDIA")));
    }

    /// A fatbin of one entry, which is not compressed.
    fn fatbin(payload: &[u8]) -> Vec<u8> {
        let mut entry = vec![0u8; 64];
        entry[0] = 2;
        entry[4] = 64;
        entry[8..16].copy_from_slice(&(payload.len() as u64).to_le_bytes());
        entry[28] = 90;
        let size = (entry.len() + payload.len()) as u64;
        [
            &0xBA55_ED50u32.to_le_bytes()[..],
            &[1, 0, 16, 0],
            &size.to_le_bytes(),
            &entry,
            payload,
        ]
        .concat()
    }

    #[test]
    fn fatbins_are_looked_into() {
        let whole = fatbin(&elf());
        assert_eq!(check(&whole), Ok(()));
        for end in 0..whole.len() {
            assert!(check(&whole[..end]).is_err(), "cut at {end}");
        }
        // What the outer size does not show: an entry that is larger than the fatbin, a cubin
        // whose sections lie past its end, no entry at all.
        let mut larger = whole.clone();
        larger[16 + 8 + 4] = 1;
        assert!(check(&larger).is_err());
        let mut hostile = elf();
        hostile[72 + 24 + 4] = 1;
        assert!(check(&fatbin(&hostile)).is_err_and(|e| e.contains("section 0")));
        let mut empty = whole[..16].to_vec();
        empty[8..16].fill(0);
        assert!(check(&empty).is_err_and(|e| e.contains("no image")));
    }
}
