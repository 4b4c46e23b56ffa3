//! Writes the parts of a CPU's ELF file that count into a digest.

use object::read::elf::{
    Dyn, FileHeader, Rel, Rela, SectionHeader, SectionTable, Sym, SymbolTable,
};
use object::read::{Result, StringTable};
use object::{Endianness, SectionIndex, elf};

use super::HostMask;
use crate::hash::digest::Digest;
use crate::names;

/// Loaded sections that do not count: GPU images and their wrappers, and unwind tables, which
/// hold distances between sections.
const LEFT_OUT: [&[u8]; 6] = [
    b".nv_fatbin",
    b"__nv_relfatbin",
    b".nvFatBinSegment",
    b"__nv_module_id",
    b".eh_frame",
    b".eh_frame_hdr",
];

/// A file and what is needed to read it.
struct File<'a, 'm, H: FileHeader<Endian = Endianness>> {
    header: &'a H,
    endian: Endianness,
    data: &'a [u8],
    sections: SectionTable<'a, H>,
    mask: &'m HostMask,
    /// Loaded sections of a linked file.
    places: Vec<Place>,
}

/// Where a loaded section lies.
struct Place {
    start: u64,
    size: u64,
    name: String,
    counts: bool,
}

/// Whether the contents of the sections add up to far more than the file, which only overlapping
/// sections of a hostile file do.
pub(super) fn overlaps<H: FileHeader<Endian = Endianness>>(data: &[u8]) -> Result<bool> {
    let header = H::parse(data)?;
    let endian = header.endian()?;
    let mut total = 0u64;
    for section in header.sections(endian, data)?.iter() {
        if let Some((_, size)) = section.file_range(endian) {
            total = total.saturating_add(size);
        }
    }
    Ok(total > (data.len() as u64).saturating_mul(4))
}

/// Writes all that counts.
pub(super) fn write<H: FileHeader<Endian = Endianness>>(
    data: &[u8],
    mask: &HostMask,
    digest: &mut Digest,
) -> Result<()> {
    let header = H::parse(data)?;
    let endian = header.endian()?;
    let sections = header.sections(endian, data)?;
    let mut file = File {
        header,
        endian,
        data,
        sections,
        mask,
        places: Vec::new(),
    };
    file.places = file.find_places()?;
    digest.text("elf");
    digest.number(header.e_machine(endian).0.into());
    digest.number(header.e_type(endian).0.into());
    if file.sections.is_empty() {
        // Without section headers there is nothing to tell apart.
        digest.bytes(&mask.apply(data));
        return Ok(());
    }
    for section in file.sections.iter() {
        if file.counts(section)? {
            file.section(section, digest)?;
        }
    }
    if file.is_relocatable() {
        file.object_relocations(digest)?;
        let symbols = file.sections.symbols(endian, data, elf::SHT_SYMTAB)?;
        file.exported(&symbols, digest)?;
    }
    Ok(())
}

impl<H: FileHeader<Endian = Endianness>> File<'_, '_, H> {
    fn is_relocatable(&self) -> bool {
        self.header.e_type(self.endian) == elf::ET_REL
    }

    fn is_loaded(&self, section: &H::SectionHeader) -> bool {
        let flags = section.sh_flags(self.endian).0;
        flags & elf::SHF_ALLOC.0 != 0
    }

    /// Whether a section counts at all.
    fn counts(&self, section: &H::SectionHeader) -> Result<bool> {
        let name = self.sections.section_name(self.endian, section)?;
        let kind = section.sh_type(self.endian);
        let tables = [
            elf::SHT_NOTE,
            elf::SHT_STRTAB,
            elf::SHT_HASH,
            elf::SHT_GNU_HASH,
            elf::SHT_GNU_VERSYM,
            elf::SHT_GNU_VERNEED,
            elf::SHT_GNU_VERDEF,
        ];
        Ok(self.is_loaded(section) && !LEFT_OUT.contains(&name) && !tables.contains(&kind))
    }

    fn name(&self, section: &H::SectionHeader) -> Result<String> {
        let name = self.sections.section_name(self.endian, section)?;
        Ok(self.text(name))
    }

    fn text(&self, name: &[u8]) -> String {
        String::from_utf8_lossy(&self.mask.apply(name)).into_owned()
    }

    fn section(&self, section: &H::SectionHeader, digest: &mut Digest) -> Result<()> {
        let (endian, data) = (self.endian, self.data);
        digest.text(&self.name(section)?);
        let kind = section.sh_type(endian);
        if kind == elf::SHT_NOBITS {
            digest.number(section.sh_size(endian).into());
        } else if kind == elf::SHT_DYNSYM {
            let symbols = self.sections.symbols(endian, data, elf::SHT_DYNSYM)?;
            self.exported(&symbols, digest)?;
        } else if kind == elf::SHT_RELA || kind == elf::SHT_REL {
            let symbols = self.sections.symbols(endian, data, elf::SHT_DYNSYM)?;
            self.relocations(section, &symbols, digest)?;
        } else if let Some((entries, strings)) = section.dynamic(endian, data)? {
            let strings = self.sections.strings(endian, data, strings)?;
            self.dynamic(entries, &strings, digest)?;
        } else {
            let bytes = section.data(endian, data)?;
            let flags = section.sh_flags(endian).0;
            if flags & elf::SHF_EXECINSTR.0 != 0 {
                digest.bytes(bytes);
            } else {
                digest.bytes(&self.mask.apply(bytes));
            }
        }
        Ok(())
    }

    /// Needed libraries, search paths, flags.
    fn dynamic(
        &self,
        entries: &[H::Dyn],
        strings: &StringTable<'_>,
        digest: &mut Digest,
    ) -> Result<()> {
        for entry in entries {
            let tag = entry.d_tag(self.endian).0;
            let named = [
                elf::DT_NEEDED,
                elf::DT_SONAME,
                elf::DT_RPATH,
                elf::DT_RUNPATH,
            ];
            let plain = [elf::DT_FLAGS, elf::DT_FLAGS_1];
            if named.iter().any(|t| t.0 == tag) {
                digest.number(tag as u64);
                let name = entry.string(self.endian, *strings)?;
                digest.text(&self.text(name));
            } else if plain.iter().any(|t| t.0 == tag) {
                digest.number(tag as u64);
                digest.number(entry.d_val(self.endian).into());
            }
        }
        Ok(())
    }

    /// Relocations of an object file, per section they apply to.
    fn object_relocations(&self, digest: &mut Digest) -> Result<()> {
        let symbols = self
            .sections
            .symbols(self.endian, self.data, elf::SHT_SYMTAB)?;
        for section in self.sections.iter() {
            let kind = section.sh_type(self.endian);
            if kind != elf::SHT_RELA && kind != elf::SHT_REL {
                continue;
            }
            let target = SectionIndex(section.sh_info(self.endian) as usize);
            let target = self.sections.section(target)?;
            if self.counts(target)? {
                digest.text(&self.name(target)?);
                self.relocations(section, &symbols, digest)?;
            }
        }
        Ok(())
    }

    fn relocations(
        &self,
        section: &H::SectionHeader,
        symbols: &SymbolTable<'_, H>,
        digest: &mut Digest,
    ) -> Result<()> {
        let endian = self.endian;
        let mips64el = self.header.is_mips64el(endian);
        let mut lines = Vec::new();
        if let Some((entries, _)) = section.rela(endian, self.data)? {
            for r in entries {
                let kind = r.r_type(endian, mips64el).0;
                let addend: i64 = r.r_addend(endian).into();
                let symbol = r.symbol(endian, mips64el);
                lines.push((r.r_offset(endian).into(), kind, symbol, addend));
            }
        } else if let Some((entries, _)) = section.rel(endian, self.data)? {
            for r in entries {
                lines.push((
                    r.r_offset(endian).into(),
                    r.r_type(endian).0,
                    r.symbol(endian),
                    0,
                ));
            }
        }
        for (offset, kind, symbol, addend) in lines {
            let Some(place) = self.place(offset) else {
                continue;
            };
            digest.text(&place);
            digest.number(kind.into());
            match symbol {
                Some(index) => {
                    digest.text(&self.target(symbols, index)?);
                    digest.number(addend as u64);
                }
                // A relative relocation's addend is an address.
                None => match self.place(addend as u64) {
                    Some(place) => digest.text(&place),
                    None => digest.text("left out"),
                },
            }
        }
        Ok(())
    }

    /// An address as section and offset; in an object file the offset itself. `None` inside a section
    /// that does not count.
    fn place(&self, address: u64) -> Option<String> {
        if self.is_relocatable() {
            return Some(address.to_string());
        }
        let at = |p: &&Place| {
            address
                .checked_sub(p.start)
                .is_some_and(|offset| offset < p.size)
        };
        match self.places.iter().find(at) {
            Some(place) if !place.counts => None,
            Some(place) => Some(format!("{}+{}", place.name, address - place.start)),
            None => Some(format!("address {address}")),
        }
    }

    fn find_places(&self) -> Result<Vec<Place>> {
        let mut places = Vec::new();
        for section in self.sections.iter().filter(|s| self.is_loaded(s)) {
            places.push(Place {
                start: section.sh_addr(self.endian).into(),
                size: section.sh_size(self.endian).into(),
                name: self.name(section)?,
                counts: self.counts(section)?,
            });
        }
        Ok(places)
    }

    /// What a relocation's symbol stands for: a name where it is global, else a place.
    fn target(&self, symbols: &SymbolTable<'_, H>, index: object::SymbolIndex) -> Result<String> {
        let symbol = symbols.symbol(index)?;
        let name = symbols.symbol_name(self.endian, symbol)?;
        if !symbol.is_local() {
            return Ok(self.text(name));
        }
        let value: u64 = symbol.st_value(self.endian).into();
        match symbols.symbol_section(self.endian, symbol, index)? {
            Some(section) => {
                let section = self.name(self.sections.section(section)?)?;
                Ok(format!("{section}+{value}"))
            }
            None => Ok(self.text(name)),
        }
    }

    /// Names, places and sizes of the symbols that other files see.
    fn exported(&self, symbols: &SymbolTable<'_, H>, digest: &mut Digest) -> Result<()> {
        let mut lines = Vec::new();
        for (index, symbol) in symbols.enumerate() {
            if symbol.is_local() {
                continue;
            }
            let name = names::normalise(symbols.symbol_name(self.endian, symbol)?).into_owned();
            let value: u64 = symbol.st_value(self.endian).into();
            let size: u64 = symbol.st_size(self.endian).into();
            let place = match symbols.symbol_section(self.endian, symbol, index)? {
                None => String::new(),
                Some(section) if self.is_relocatable() => {
                    format!("{}+{value}", self.name(self.sections.section(section)?)?)
                }
                Some(_) => self.place(value).unwrap_or_default(),
            };
            lines.push((name, symbol.st_info(), symbol.st_other().0, place, size));
        }
        lines.sort();
        for (name, info, other, place, size) in lines {
            digest.bytes(&name);
            digest.number(info.0.into());
            digest.number(other.into());
            digest.text(&place);
            digest.number(size);
        }
        Ok(())
    }
}
