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
    elf_hash::write::<H>(data, mask, digest)
        .map_err(|e| Error::malformed(name, 0, format!("an ELF file: {e}")))
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
            digest.text(&label);
            digest.text(&inner.hex());
            any = true;
        }
    }
    Ok(any)
}
