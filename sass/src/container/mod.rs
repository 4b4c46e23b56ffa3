//! Finds the GPU images in any file that nvcc, a linker or `ar` makes. It must not interpret
//! the images; that is [`crate::cubin`]'s work.
//!
//! Known forms: a bare cubin, a stand-alone fatbin, an object file, shared object or executable
//! with `.nv_fatbin` and `__nv_relfatbin` sections, and a static archive of any of these. What is
//! none of these holds no GPU code and gives an empty list.
//!
//! In a linked file the relocatable images of `__nv_relfatbin` have been device-linked into
//! `.nv_fatbin`; as `cuobjdump` does, they are left out where the latter holds an image.

mod fatbin;
mod image;

use object::read::archive::ArchiveFile;
use object::read::elf::{FileHeader, SectionHeader};
use object::{Endianness, elf};

pub use image::{Encoding, Image, ImageKind, MAX_IMAGE_BYTES};

use crate::Error;

/// `e_machine` of a cubin.
const EM_CUDA: u16 = 190;
/// Section of linked GPU code.
const FATBIN_SECTION: &[u8] = b".nv_fatbin";
/// Section of GPU code that was still to be linked.
const RELOCATABLE_SECTION: &[u8] = b"__nv_relfatbin";
/// Archives in archives deeper than this are refused.
const MAX_DEPTH: u32 = 4;

/// What a file is, as far as its first bytes say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileForm {
    /// A cubin.
    Cubin,
    /// An ELF file for a CPU.
    HostElf,
    /// A static archive.
    Archive,
    /// A stand-alone fatbin.
    Fatbin,
    /// Anything else.
    Other,
}

/// Tells what `data` is by its first bytes.
pub fn form(data: &[u8]) -> FileForm {
    if data.starts_with(&elf::ELFMAG) {
        let machine = data.get(18..20).map(|m| u16::from_le_bytes([m[0], m[1]]));
        if machine == Some(EM_CUDA) {
            FileForm::Cubin
        } else {
            FileForm::HostElf
        }
    } else if data.starts_with(&object::archive::MAGIC)
        || data.starts_with(&object::archive::THIN_MAGIC)
    {
        FileForm::Archive
    } else if fatbin::is_fatbin(data) {
        FileForm::Fatbin
    } else {
        FileForm::Other
    }
}

/// Finds every GPU image in `data`, which is the whole file called `name`. Compressed images
/// are not yet decompressed: [`Image::bytes`] does that, one at a time.
pub fn images<'a>(name: &str, data: &'a [u8]) -> Result<Vec<Image<'a>>, Error> {
    let mut found = Vec::new();
    let place = Place {
        label: name.to_owned(),
        offset: 0,
        depth: 0,
    };
    collect(&place, data, &mut found)?;
    Ok(found)
}

/// Where in the file something is.
struct Place {
    /// For people.
    label: String,
    /// Bytes from the start of the file.
    offset: u64,
    /// How many archives it is in.
    depth: u32,
}

impl Place {
    fn error(&self, offset: u64, what: impl Into<String>) -> Error {
        Error::malformed(&self.label, self.offset.saturating_add(offset), what)
    }
}

fn collect<'a>(place: &Place, data: &'a [u8], found: &mut Vec<Image<'a>>) -> Result<(), Error> {
    match form(data) {
        FileForm::Cubin => found.push(Image::bare_cubin(&place.label, place.offset, data)),
        FileForm::Fatbin => {
            let images = fatbin::parse(&place.label, place.offset, data)?;
            number(place, images, found);
        }
        FileForm::HostElf => {
            let images = host_elf(place, data)?;
            number(place, images, found);
        }
        FileForm::Archive => archive(place, data, found)?,
        FileForm::Other => {}
    }
    Ok(())
}

/// Appends `#0`, `#1`, … to the labels of the images of one file or member.
fn number<'a>(place: &Place, images: Vec<Image<'a>>, found: &mut Vec<Image<'a>>) {
    found.extend(images.into_iter().enumerate().map(|(index, mut image)| {
        image.container = format!("{}#{index}", place.label);
        image
    }));
}

fn archive<'a>(place: &Place, data: &'a [u8], found: &mut Vec<Image<'a>>) -> Result<(), Error> {
    if place.depth >= MAX_DEPTH {
        return Err(place.error(0, "archives are nested too deeply"));
    }
    let archive = ArchiveFile::parse(data).map_err(|e| place.error(0, e.to_string()))?;
    if archive.is_thin() {
        return Err(place.error(
            0,
            "a thin archive holds only the names of its members; inspect the members themselves",
        ));
    }
    for member in archive.members() {
        let member = member.map_err(|e| place.error(0, e.to_string()))?;
        let (offset, _) = member.file_range();
        let content = member
            .data(data)
            .map_err(|e| place.error(offset, e.to_string()))?;
        let inner = Place {
            label: format!(
                "{}({})",
                place.label,
                String::from_utf8_lossy(member.name())
            ),
            offset: place.offset.saturating_add(offset),
            depth: place.depth + 1,
        };
        collect(&inner, content, found)?;
    }
    Ok(())
}

/// The images of an ELF file for a CPU.
fn host_elf<'a>(place: &Place, data: &'a [u8]) -> Result<Vec<Image<'a>>, Error> {
    let is_64 = data.get(4) == Some(&elf::ELFCLASS64.0);
    let sections = if is_64 {
        fatbin_sections::<elf::FileHeader64<Endianness>>(place, data)?
    } else {
        fatbin_sections::<elf::FileHeader32<Endianness>>(place, data)?
    };
    let total: usize = sections.iter().map(|section| section.data.len()).sum();
    if total > data.len() {
        return Err(place.error(0, "its sections of GPU code overlap"));
    }
    let mut linked = Vec::new();
    let mut relocatable = Vec::new();
    for section in sections {
        let images = fatbin::parse(
            &place.label,
            place.offset.saturating_add(section.offset),
            section.data,
        )?;
        if section.linked {
            linked.extend(images);
        } else {
            relocatable.extend(images);
        }
    }
    if linked.is_empty() {
        linked = relocatable;
    }
    Ok(linked)
}

/// A section of an ELF file that holds fatbins.
struct FatbinSection<'a> {
    linked: bool,
    offset: u64,
    data: &'a [u8],
}

fn fatbin_sections<'a, H: FileHeader<Endian = Endianness>>(
    place: &Place,
    data: &'a [u8],
) -> Result<Vec<FatbinSection<'a>>, Error> {
    let error = |offset, e: object::Error| place.error(offset, e.to_string());
    let header = H::parse(data).map_err(|e| error(0, e))?;
    let endian = header.endian().map_err(|e| error(0, e))?;
    let sections = header
        .sections(endian, data)
        .map_err(|e| error(header.e_shoff(endian).into(), e))?;
    let mut found = Vec::new();
    for section in sections.iter() {
        let name = sections
            .section_name(endian, section)
            .map_err(|e| error(header.e_shoff(endian).into(), e))?;
        if name != FATBIN_SECTION && name != RELOCATABLE_SECTION {
            continue;
        }
        let offset = section.sh_offset(endian).into();
        found.push(FatbinSection {
            linked: name == FATBIN_SECTION,
            offset,
            data: section.data(endian, data).map_err(|e| error(offset, e))?,
        });
    }
    Ok(found)
}
