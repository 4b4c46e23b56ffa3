//! Reads a cubin: sections, symbols, relocations, launch attributes, kernels. It must not start
//! programs; disassembly is [`crate::disasm`]'s work.

mod arch;
mod elf;
mod info;
mod ledger;

use std::collections::{HashMap, HashSet};

pub use elf::{Reloc, Section, Symbol, SymbolKind};
pub use info::{Attribute, Record};

use crate::{Error, Ledger};

/// `st_other` bit of a kernel (as opposed to a device function).
const STO_CUDA_ENTRY: u8 = 0x10;
/// Bytes of one instruction from Volta on.
pub const INSTRUCTION_BYTES: usize = 16;

/// A parsed cubin.
#[derive(Debug)]
pub struct Cubin<'a> {
    /// Where it was found.
    pub container: String,
    /// The architecture, for example `sm_90a`.
    pub arch: String,
    /// All sections; index 0 is the null section.
    pub sections: Vec<Section<'a>>,
    /// All symbols; index 0 is the null symbol.
    pub symbols: Vec<Symbol>,
    /// Kernels in the order of the symbol table.
    pub entries: Vec<Entry<'a>>,
    /// Records of `.nv.info` by the symbol they are about.
    info: HashMap<u32, Vec<Record<'a>>>,
    /// Sections by name; the first of each name.
    by_name: HashMap<String, usize>,
    /// Relocations by the section they apply to.
    relocs: HashMap<usize, Vec<Reloc>>,
}

/// A kernel of a cubin.
#[derive(Debug)]
pub struct Entry<'a> {
    /// Its mangled name.
    pub symbol: String,
    /// Index of its symbol.
    pub symbol_index: usize,
    /// Index of its code's section.
    pub section: usize,
    /// Records of its `.nv.info.<name>`.
    pub info: Vec<Record<'a>>,
}

impl<'a> Cubin<'a> {
    /// Reads the cubin `data`, found as `container` at `offset` of its file.
    pub fn parse(container: &str, offset: u64, data: &'a [u8]) -> Result<Cubin<'a>, Error> {
        let place = elf::Place { container, offset };
        let raw = elf::read(place, data)?;
        let mut info: HashMap<u32, Vec<Record<'a>>> = HashMap::new();
        for section in raw.sections.iter().filter(|s| s.name == ".nv.info") {
            for record in info::records(place, section)? {
                if let Some(symbol) = record.word(0) {
                    info.entry(symbol).or_default().push(record);
                }
            }
        }
        let mut by_name: HashMap<String, usize> = HashMap::new();
        for (index, section) in raw.sections.iter().enumerate() {
            by_name.entry(section.name.clone()).or_insert(index);
        }
        let mut entries: Vec<Entry<'a>> = Vec::new();
        let mut taken = HashSet::new();
        for (index, symbol) in raw.symbols.iter().enumerate() {
            let code = raw.sections.get(symbol.section).filter(|s| s.is_code());
            if symbol.kind != SymbolKind::Function
                || symbol.other & STO_CUDA_ENTRY == 0
                || code.is_none()
            {
                continue;
            }
            if !taken.insert(symbol.section) {
                let what = format!(
                    "kernel {} shares its code section with another one",
                    symbol.name
                );
                return Err(place.error(0, what));
            }
            let records = by_name
                .get(&format!(".nv.info.{}", symbol.name))
                .map_or(Ok(Vec::new()), |i| info::records(place, &raw.sections[*i]))?;
            entries.push(Entry {
                symbol: symbol.name.clone(),
                symbol_index: index,
                section: symbol.section,
                info: records,
            });
        }
        Ok(Cubin {
            container: container.to_owned(),
            arch: arch::name(place, &raw)?,
            info,
            by_name,
            entries,
            relocs: raw.relocs,
            sections: raw.sections,
            symbols: raw.symbols,
        })
    }

    /// The kernel's resources.
    pub fn ledger(&self, entry: &Entry<'_>) -> Ledger {
        ledger::ledger(self, entry)
    }

    /// The records of `.nv.info` about the symbol of this index.
    pub fn info_about(&self, symbol: usize) -> &[Record<'a>] {
        u32::try_from(symbol)
            .ok()
            .and_then(|symbol| self.info.get(&symbol))
            .map_or(&[], Vec::as_slice)
    }

    /// The first section of this name.
    pub fn section_named(&self, name: &str) -> Option<&Section<'a>> {
        self.by_name
            .get(name)
            .and_then(|index| self.sections.get(*index))
    }

    /// Relocations that apply to a section, by offset.
    pub fn relocs(&self, section: usize) -> &[Reloc] {
        self.relocs.get(&section).map_or(&[], Vec::as_slice)
    }

    /// Whether the architecture reserves a kilobyte of shared memory in `.nv.shared.<name>`.
    fn reserves_smem(&self) -> bool {
        self.arch
            .parse::<crate::ComputeCapability>()
            .is_ok_and(|cc| cc.major >= 9)
    }
}
