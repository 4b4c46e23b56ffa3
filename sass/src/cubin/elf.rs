//! The ELF side of a cubin, in owned and checked form.

use std::collections::HashMap;

use object::elf as e;
use object::read::elf::{FileHeader, Rela, SectionHeader, Sym};
use object::{LittleEndian as LE, SectionIndex, SymbolIndex};

use crate::Error;

/// Symbol type of variables in relocatable cubins.
const STT_CUDA_OBJECT: u8 = 13;

type Header = e::FileHeader64<LE>;

/// Where a cubin was found, for error messages.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'p> {
    pub container: &'p str,
    pub offset: u64,
}

impl Place<'_> {
    pub(super) fn error(&self, at: u64, what: impl Into<String>) -> Error {
        Error::malformed(self.container, self.offset.saturating_add(at), what)
    }
}

/// A section.
#[derive(Debug)]
pub struct Section<'a> {
    /// Its name.
    pub name: String,
    /// `sh_type`.
    pub kind: u32,
    /// `sh_flags`.
    pub flags: u64,
    /// `sh_info`.
    pub info: u32,
    /// `sh_addralign`.
    pub align: u64,
    /// Size in memory, bytes.
    pub size: u64,
    /// Where its bytes begin in the cubin.
    pub offset: u64,
    /// Its bytes; empty for sections without any.
    pub data: &'a [u8],
}

impl Section<'_> {
    /// Whether it has content, not just a size.
    pub fn has_content(&self) -> bool {
        !self.data.is_empty()
    }

    /// Whether it holds instructions.
    pub fn is_code(&self) -> bool {
        self.kind == e::SHT_PROGBITS.0 && self.flags & e::SHF_EXECINSTR.0 != 0
    }
}

/// What a symbol stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SymbolKind {
    /// A function.
    Function,
    /// A variable; relocatable cubins have a symbol type of their own for it.
    Object,
    /// A section.
    Section,
    /// Anything else.
    Other,
}

/// A symbol.
#[derive(Debug, Clone)]
pub struct Symbol {
    /// Its name.
    pub name: String,
    /// What it stands for.
    pub kind: SymbolKind,
    /// `st_other`.
    pub other: u8,
    /// Index of its section; 0 when it is undefined, absolute or common.
    pub section: usize,
    /// Offset in its section.
    pub value: u64,
    /// Size, bytes.
    pub size: u64,
}

/// A relocation.
#[derive(Debug, Clone, Copy)]
pub struct Reloc {
    /// Offset in the section it applies to.
    pub offset: u64,
    /// Its type.
    pub kind: u32,
    /// Index of its symbol.
    pub symbol: usize,
    /// What is added to the symbol's value.
    pub addend: i64,
}

/// All that is read.
pub(super) struct Raw<'a> {
    pub abi_version: u8,
    pub flags: u32,
    pub sections: Vec<Section<'a>>,
    pub symbols: Vec<Symbol>,
    pub relocs: HashMap<usize, Vec<Reloc>>,
}

pub(super) fn read<'a>(place: Place<'_>, data: &'a [u8]) -> Result<Raw<'a>, Error> {
    let error = |at: u64, e: object::Error| place.error(at, format!("a cubin: {e}"));
    let header = Header::parse(data).map_err(|e| error(0, e))?;
    header.endian().map_err(|e| error(0, e))?;
    let shoff = header.e_shoff(LE);
    let table = header.sections(LE, data).map_err(|e| error(shoff, e))?;
    let mut sections = Vec::with_capacity(table.len());
    for section in table.iter() {
        let name = table
            .section_name(LE, section)
            .map_err(|e| error(shoff, e))?;
        let offset = section.sh_offset(LE);
        sections.push(Section {
            name: String::from_utf8_lossy(name).into_owned(),
            kind: section.sh_type(LE).0,
            flags: section.sh_flags(LE).0,
            info: section.sh_info(LE),
            align: section.sh_addralign(LE),
            size: section.sh_size(LE),
            offset,
            data: if is_memory_only(name) {
                &[]
            } else {
                section.data(LE, data).map_err(|e| error(offset, e))?
            },
        });
    }
    let symbols = table
        .symbols(LE, data, e::SHT_SYMTAB)
        .map_err(|e| error(shoff, e))?;
    let content: usize = sections.iter().map(|s| s.data.len() + s.name.len()).sum();
    if content > most_content(data) {
        return Err(place.error(shoff, "the sections of a cubin overlap"));
    }
    Ok(Raw {
        abi_version: header.e_ident().abi_version,
        flags: header.e_flags(LE).0,
        symbols: read_symbols(place, &symbols, sections.len(), most_content(data))?,
        relocs: read_relocs(place, &table, data)?,
        sections,
    })
}

/// Names and contents that overlap in a hostile file could add up to far more than the file; those
/// of a true cubin do not come near this.
fn most_content(data: &[u8]) -> usize {
    data.len().saturating_mul(8).saturating_add(1 << 20)
}

/// Whether a section of this name stands for memory without content. Relocatable cubins give these
/// section types of their own instead of `SHT_NOBITS`.
fn is_memory_only(name: &[u8]) -> bool {
    name == b".nv.global"
        || [b".nv.shared.".as_slice(), b".nv.local."]
            .iter()
            .any(|prefix| name.starts_with(prefix))
}

fn read_symbols(
    place: Place<'_>,
    table: &object::read::elf::SymbolTable<'_, Header>,
    sections: usize,
    most_names: usize,
) -> Result<Vec<Symbol>, Error> {
    let mut names = 0;
    let mut symbols = Vec::with_capacity(table.len());
    for (index, symbol) in table.enumerate() {
        let bad = |e: object::Error| place.error(0, format!("symbol {} of a cubin: {e}", index.0));
        let name = table.symbol_name(LE, symbol).map_err(bad)?;
        names += name.len();
        if names > most_names {
            return Err(place.error(0, "the symbols' names of a cubin overlap"));
        }
        let section = table
            .symbol_section(LE, symbol, index)
            .map_err(bad)?
            .unwrap_or(SectionIndex(0))
            .0;
        if section >= sections.max(1) {
            return Err(place.error(
                0,
                format!(
                    "symbol {} of a cubin lies in section {section}, which does not exist",
                    index.0
                ),
            ));
        }
        let kind = symbol.st_type();
        symbols.push(Symbol {
            name: String::from_utf8_lossy(name).into_owned(),
            kind: if kind == e::STT_FUNC {
                SymbolKind::Function
            } else if kind == e::STT_OBJECT || kind.0 == STT_CUDA_OBJECT {
                SymbolKind::Object
            } else if kind == e::STT_SECTION {
                SymbolKind::Section
            } else {
                SymbolKind::Other
            },
            other: symbol.st_other().0,
            section,
            value: symbol.st_value(LE),
            size: symbol.st_size(LE),
        });
    }
    Ok(symbols)
}

fn read_relocs(
    place: Place<'_>,
    table: &object::read::elf::SectionTable<'_, Header>,
    data: &[u8],
) -> Result<HashMap<usize, Vec<Reloc>>, Error> {
    let mut relocs: HashMap<usize, Vec<Reloc>> = HashMap::new();
    for section in table.iter() {
        let at = section.sh_offset(LE);
        let bad = |e: object::Error| place.error(at, format!("relocations of a cubin: {e}"));
        let target = section.sh_info(LE) as usize;
        let list = relocs.entry(target);
        if let Some((entries, _)) = section.rela(LE, data).map_err(bad)? {
            list.or_default().extend(entries.iter().map(|r| Reloc {
                offset: r.r_offset(LE),
                kind: r.r_type(LE, false).0,
                symbol: r.symbol(LE, false).map_or(0, |SymbolIndex(i)| i),
                addend: r.r_addend(LE),
            }));
        } else if let Some((entries, _)) = section.rel(LE, data).map_err(bad)? {
            list.or_default().extend(entries.iter().map(|r| Reloc {
                offset: r.r_offset.get(LE),
                kind: r.r_type(LE).0,
                symbol: r.r_sym(LE) as usize,
                addend: 0,
            }));
        }
    }
    for list in relocs.values_mut() {
        list.sort_by_key(|r| (r.offset, r.kind));
    }
    Ok(relocs)
}
