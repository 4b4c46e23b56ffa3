//! Walks from a kernel's code to everything it reaches, in an order that only the code decides.

use std::collections::BTreeMap;

use super::constant::constant_reads;
use super::digest::Digest;
use super::module::{Item, Module, bank};
use crate::cubin::Reloc;

/// The bank in which nvcc keeps the addresses of variables and functions.
const ADDRESS_BANK: u8 = 4;
/// Bytes of an address.
const ADDRESS_BYTES: u64 = 8;

/// What one kernel reaches, in the order in which it is found.
pub(super) struct Walk {
    found: Vec<Item>,
    place: BTreeMap<Item, usize>,
}

impl Walk {
    /// Walks from a kernel's code section.
    pub(super) fn from_code(module: &Module<'_, '_>, section: usize) -> Walk {
        Walk::from_item(module, Item::Code(section))
    }

    pub(super) fn from_item(module: &Module<'_, '_>, start: Item) -> Walk {
        let mut walk = Walk {
            found: Vec::new(),
            place: BTreeMap::new(),
        };
        walk.add(start);
        let mut next = 0;
        while let Some(item) = walk.found.get(next).copied() {
            let mut ignored = Digest::new("");
            walk.visit(module, item, &mut ignored);
            next += 1;
        }
        walk
    }

    pub(super) fn items(&self) -> impl Iterator<Item = Item> + '_ {
        self.found.iter().copied()
    }

    /// Writes everything that was found.
    pub(super) fn write(&self, module: &Module<'_, '_>, digest: &mut Digest) {
        let mut again = Walk {
            found: self.found.clone(),
            place: self.place.clone(),
        };
        digest.number(self.found.len() as u64);
        for item in &self.found {
            again.visit(module, *item, digest);
        }
    }

    pub(super) fn hex(&self, module: &Module<'_, '_>) -> String {
        let mut digest = Digest::new("item");
        self.write(module, &mut digest);
        digest.hex()
    }

    /// Adds an item if it is new; gives its place.
    fn add(&mut self, item: Item) -> usize {
        let next = self.found.len();
        let place = *self.place.entry(item).or_insert(next);
        if place == next {
            self.found.push(item);
        }
        place
    }

    /// Writes one item, and adds what it points to.
    fn visit(&mut self, module: &Module<'_, '_>, item: Item, digest: &mut Digest) {
        match item {
            Item::Code(section) => self.code(module, section, digest),
            Item::Object(index) => {
                let object = &module.objects[index];
                digest.text("object");
                digest.text(&object.name);
                let bytes = module.object_bytes(object);
                if bytes.is_empty() {
                    digest.number(object.end - object.start);
                }
                digest.bytes(&module.mask.apply(bytes));
                let relocs = module.relocs_in(object.section, object.start, object.end);
                self.relocs(module, relocs, object.start, None, digest);
            }
        }
    }

    fn code(&mut self, module: &Module<'_, '_>, index: usize, digest: &mut Digest) {
        let section = &module.cubin.sections[index];
        digest.text("code");
        digest.bytes(section.data);
        self.relocs(module, module.cubin.relocs(index), 0, Some(index), digest);
        self.own_sections(module, index, digest);
        self.banks(module, index, digest);
    }

    /// The constant banks and memories that belong to one function.
    fn own_sections(&mut self, module: &Module<'_, '_>, code: usize, digest: &mut Digest) {
        let cubin = module.cubin;
        for (prefix, index) in module.own_sections(code).iter().copied() {
            let section = &cubin.sections[index];
            digest.text(prefix);
            digest.number(section.size);
            digest.number(section.align);
            digest.bytes(section.data);
            self.relocs(module, cubin.relocs(index), 0, Some(code), digest);
        }
    }

    /// The entries of the module's constant banks that the code reads.
    fn banks(&mut self, module: &Module<'_, '_>, code: usize, digest: &mut Digest) {
        let cubin = module.cubin;
        for (index, section) in cubin.sections.iter().enumerate() {
            let Some(number) = bank(section) else {
                continue;
            };
            let mut reads: Vec<_> = constant_reads(cubin.sections[code].data)
                .filter(|read| read.bank == number)
                .collect();
            reads.sort_unstable();
            reads.dedup();
            let indexed = reads.iter().any(|read| read.indexed);
            if number == ADDRESS_BANK {
                for read in reads.iter().filter(|read| !read.indexed) {
                    let start = u64::from(read.offset) / ADDRESS_BYTES * ADDRESS_BYTES;
                    let end = u64::from(read.offset) + u64::from(read.bytes).max(ADDRESS_BYTES);
                    let end = end / ADDRESS_BYTES * ADDRESS_BYTES;
                    let relocs = module.relocs_in(index, start, end.max(start + ADDRESS_BYTES));
                    self.relocs(module, relocs, start, None, digest);
                }
                if indexed {
                    self.functions_in_table(module, index, digest);
                }
                continue;
            }
            if indexed {
                let all: Vec<usize> = module.objects_in(index, 0, u64::MAX).collect();
                all.into_iter().for_each(|object| self.read(object, digest));
            }
            for read in reads {
                let start = u64::from(read.offset);
                let covered = module.objects_in(index, start, start + u64::from(read.bytes));
                covered.for_each(|object| self.read(object, digest));
            }
        }
    }

    fn read(&mut self, object: usize, digest: &mut Digest) {
        let place = self.add(Item::Object(object));
        digest.text("reads");
        digest.number(place as u64);
    }

    /// An address read through a register is that of a function to be called (`vprintf`): which
    /// one cannot be told, so all functions of the table count.
    fn functions_in_table(&mut self, module: &Module<'_, '_>, table: usize, digest: &mut Digest) {
        let functions: Vec<Reloc> = module
            .cubin
            .relocs(table)
            .iter()
            .filter(|reloc| !matches!(module.target(reloc, None).item, Some(Item::Object(_))))
            .copied()
            .collect();
        self.relocs(module, &functions, 0, None, digest);
    }

    fn relocs(
        &mut self,
        module: &Module<'_, '_>,
        relocs: &[Reloc],
        from: u64,
        own: Option<usize>,
        digest: &mut Digest,
    ) {
        digest.number(relocs.len() as u64);
        for reloc in relocs {
            let target = module.target(reloc, own);
            digest.number(reloc.offset.wrapping_sub(from));
            digest.number(reloc.kind.into());
            digest.text(&target.text);
            digest.number(target.offset);
            if let Some(item) = target.item {
                let place = self.add(item);
                digest.number(place as u64);
            }
        }
    }
}
