//! The host hash of a file: its code and data for the CPU, without what differs between two
//! builds of the same source.
//!
//! Two builds of one source in one directory differ in the name of nvcc's temporary file in the
//! symbol table, and through it possibly in the build id. Builds in two directories differ also in
//! nvcc's module ids (see [`crate::names`]), in the GPU images, and in paths that the source or
//! the compiler writes into strings.
//!
//! Hashed: sections that are loaded (name, size, bytes), relocations by what they point to,
//! exported symbols, needed libraries. Left out: GPU images and their wrappers (kernels have
//! hashes of their own), symbol and string tables, debug information, notes (build ids among them),
//! comments, unwind tables, hash tables of symbols. In what is data, module ids, paths and commits are
//! masked.
//!
//! What cannot be made equal: lengths. If a masked string or the file name in a module id is of
//! another length, or a compressed GPU image of another size, a linked file's sections move and
//! with them the distances in its machine code. Builds to be compared should therefore use paths
//! of equal length. `__DATE__` and `__TIME__` are not masked.

mod elf_hash;
mod mask;

use object::read::archive::ArchiveFile;
use object::read::elf::FileHeader;
use object::{Endianness, elf};

pub use mask::HostMask;

use crate::Error;
use crate::container::{FileForm, form};
use crate::hash::digest::Digest;

/// Hashes the host side of the file `data`, called `name`; `None` when it is GPU code only.
pub fn host_hash(name: &str, data: &[u8], mask: &HostMask) -> Result<Option<String>, Error> {
    let mut digest = Digest::new("roundhouse host 1");
    Ok(write(name, data, mask, &mut digest)?.then(|| digest.hex()))
}

/// Writes a file or member; whether it had a host side.
fn write(name: &str, data: &[u8], mask: &HostMask, digest: &mut Digest) -> Result<bool, Error> {
    match form(data) {
        FileForm::Cubin | FileForm::Fatbin => Ok(false),
        FileForm::HostElf => {
            if data.get(4) == Some(&elf::ELFCLASS64.0) {
                write_elf::<elf::FileHeader64<Endianness>>(name, data, mask, digest)?;
            } else {
                write_elf::<elf::FileHeader32<Endianness>>(name, data, mask, digest)?;
            }
            Ok(true)
        }
        FileForm::Archive => write_archive(name, data, mask, digest),
        FileForm::Other => {
            digest.text("file");
            digest.bytes(&mask.apply(data));
            Ok(true)
        }
    }
}

fn write_elf<H: FileHeader<Endian = Endianness>>(
    name: &str,
    data: &[u8],
    mask: &HostMask,
    digest: &mut Digest,
) -> Result<(), Error> {
    let bad = |e: object::Error| Error::malformed(name, 0, format!("an ELF file: {e}"));
    if elf_hash::overlaps::<H>(data).map_err(bad)? {
        return Err(Error::malformed(
            name,
            0,
            "the sections of an ELF file overlap",
        ));
    }
    elf_hash::write::<H>(data, mask, digest).map_err(bad)
}

fn write_archive(
    name: &str,
    data: &[u8],
    mask: &HostMask,
    digest: &mut Digest,
) -> Result<bool, Error> {
    let bad = |e: object::Error| Error::malformed(name, 0, format!("an archive: {e}"));
    let archive = ArchiveFile::parse(data).map_err(bad)?;
    let mut any = false;
    digest.text("archive");
    for member in archive.members() {
        let member = member.map_err(bad)?;
        let label = String::from_utf8_lossy(member.name()).into_owned();
        let content = member.data(data).map_err(bad)?;
        // An archive inside an archive is not something linkers read: it counts as a plain file.
        let mut inner = Digest::new("member");
        let has_host = if form(content) == FileForm::Archive {
            inner.bytes(&mask.apply(content));
            true
        } else {
            write(&format!("{name}({label})"), content, mask, &mut inner)?
        };
        if has_host {
            digest.text(stable_member_name(&label));
            digest.text(&inner.hex());
            any = true;
        }
    }
    Ok(any)
}

/// The name of an archive's member without what `nvcc -lib` puts before it, which differs from run
/// to run: `tmpxft_0000671b_00000000-10_k.o` is `k.o`.
fn stable_member_name(name: &str) -> &str {
    let stable = || {
        let rest = name.strip_prefix("tmpxft_")?;
        let (process, rest) = rest.split_once('_')?;
        let (number, rest) = rest.split_once('_')?;
        let hex = |text: &str| text.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
        (hex(process) && hex(number)).then_some(rest)
    };
    stable().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn member_names_lose_what_differs_from_run_to_run() {
        assert_eq!(stable_member_name("tmpxft_0000671b_00000000-10_k.o"), "k.o");
        for name in ["k.o", "tmpxft_k.o", "tmpxft_x_y_k.o", "tmpxft_"] {
            assert_eq!(stable_member_name(name), name);
        }
    }
}
