//! The cubin seen as things that point to each other: code sections and data objects.

use std::collections::{BTreeSet, HashMap};

use super::digest::Digest;
use super::walk::Walk;
use crate::HostMask;
use crate::cubin::{Cubin, Reloc, Section, SymbolKind};
use crate::names;

/// `sh_flags` bit of sections that are loaded.
const SHF_ALLOC: u64 = 2;

/// Something a kernel can depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Item {
    /// A code section.
    Code(usize),
    /// A data object.
    Object(usize),
}

/// A variable, or a piece of a section that no variable's symbol covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Object {
    pub section: usize,
    pub start: u64,
    pub end: u64,
    /// Its normalised name; empty for strings and other nameless things.
    pub name: String,
}

/// An index over a cubin.
pub(super) struct Module<'c, 'a> {
    pub cubin: &'c Cubin<'a>,
    /// What to mask in data.
    pub mask: &'c HostMask,
    /// Sorted by section and start.
    pub objects: Vec<Object>,
    /// The sections that belong to one function, by its name: (prefix of the section's name,
    /// index), sorted.
    own: HashMap<&'c str, Vec<(&'c str, usize)>>,
}

/// What a relocation points to.
pub(super) struct Target {
    /// A description that does not depend on names of places.
    pub text: String,
    /// Offset in it.
    pub offset: u64,
    /// The thing, where the cubin holds it.
    pub item: Option<Item>,
}

/// Whether a section holds data of the whole module (not of one kernel).
fn is_module_data(section: &Section<'_>) -> bool {
    let name = section.name.as_str();
    section.flags & SHF_ALLOC != 0
        && !section.is_code()
        && (name.starts_with(".nv.global") || bank(section).is_some())
}

/// The number of a module-wide constant bank: `.nv.constant3`, but not `.nv.constant0._Z1kv`.
pub(super) fn bank(section: &Section<'_>) -> Option<u8> {
    section.name.strip_prefix(".nv.constant")?.parse().ok()
}

/// Splits the name of a section that belongs to one function: `.nv.constant2._Z1kv` into
/// `.nv.constant2.` and `_Z1kv`.
fn owner(section: &str) -> Option<(&str, &str)> {
    let rest = [".nv.shared.", ".nv.local.", ".nv.constant"]
        .into_iter()
        .find_map(|prefix| section.strip_prefix(prefix))?;
    let function = if section.starts_with(".nv.constant") {
        let (number, function) = rest.split_once('.')?;
        number
            .bytes()
            .all(|b| b.is_ascii_digit())
            .then_some(function)?
    } else {
        rest
    };
    Some((&section[..section.len() - function.len()], function))
}

impl<'c, 'a> Module<'c, 'a> {
    pub(super) fn new(cubin: &'c Cubin<'a>, mask: &'c HostMask) -> Self {
        let mut objects: Vec<Object> = cubin
            .symbols
            .iter()
            .filter(|s| s.kind == SymbolKind::Object && s.size > 0)
            .filter(|s| cubin.sections.get(s.section).is_some_and(is_module_data))
            .map(|s| Object {
                section: s.section,
                start: s.value,
                end: s.value.saturating_add(s.size),
                // `$str`, `$str$1`: numbered through the module, so only their content counts.
                name: if s.name.starts_with('$') {
                    String::new()
                } else {
                    names::normalise_symbol(&s.name)
                },
            })
            .collect();
        objects.sort_by_key(|o| (o.section, o.start, o.end));
        objects.dedup_by(|a, b| (a.section, a.start, a.end) == (b.section, b.start, b.end));
        let mut own: HashMap<&str, Vec<(&str, usize)>> = HashMap::new();
        for (index, section) in cubin.sections.iter().enumerate() {
            if let Some((prefix, function)) = owner(&section.name) {
                own.entry(function).or_default().push((prefix, index));
            }
        }
        own.values_mut().for_each(|list| list.sort_unstable());
        let mut module = Module {
            cubin,
            mask,
            objects,
            own,
        };
        module.add_uncovered();
        module
    }

    /// Adds the initialised pieces that no symbol covers (a stripped cubin has no others). Pieces
    /// of zeros are alignment. The address table is left out: only its relocations count.
    fn add_uncovered(&mut self) {
        let mut pieces = Vec::new();
        for (index, section) in self.cubin.sections.iter().enumerate() {
            if !is_module_data(section) || !section.has_content() {
                continue;
            }
            let mut covered = 0;
            let ends = self.objects.iter().filter(|o| o.section == index);
            let ends: Vec<(u64, u64)> = ends.map(|o| (o.start, o.end)).collect();
            for (start, end) in ends.into_iter().chain([(section.size, section.size)]) {
                let bytes = slice(section, covered, start);
                if covered < start && bytes.iter().any(|b| *b != 0) {
                    pieces.push(Object {
                        section: index,
                        start: covered,
                        end: start,
                        name: String::new(),
                    });
                }
                covered = covered.max(end);
            }
        }
        self.objects.extend(pieces);
        self.objects.sort_by_key(|o| (o.section, o.start, o.end));
    }

    /// The sections that belong to the function whose code is section `code`.
    pub(super) fn own_sections(&self, code: usize) -> &[(&'c str, usize)] {
        self.cubin.sections[code]
            .name
            .strip_prefix(".text.")
            .and_then(|function| self.own.get(function))
            .map_or(&[], Vec::as_slice)
    }

    /// The objects that overlap a range of a section.
    pub(super) fn objects_in(
        &self,
        section: usize,
        start: u64,
        end: u64,
    ) -> impl Iterator<Item = usize> + '_ {
        let first = self.objects.partition_point(|o| o.section < section);
        self.objects[first..]
            .iter()
            .enumerate()
            .take_while(move |(_, o)| o.section == section && o.start < end)
            .filter(move |(_, o)| start < o.end)
            .map(move |(index, _)| first + index)
    }

    /// The relocations in a range of a section.
    pub(super) fn relocs_in(&self, section: usize, start: u64, end: u64) -> &[Reloc] {
        let all = self.cubin.relocs(section);
        let first = all.partition_point(|r| r.offset < start);
        let last = all.partition_point(|r| r.offset < end);
        all.get(first..last).unwrap_or_default()
    }

    /// An object's bytes; empty where it has none.
    pub(super) fn object_bytes(&self, object: &Object) -> &[u8] {
        slice(
            &self.cubin.sections[object.section],
            object.start,
            object.end,
        )
    }

    /// Says what a relocation in code of section `own` (or in data) points to.
    pub(super) fn target(&self, reloc: &Reloc, own: Option<usize>) -> Target {
        let nothing = |text: String| Target {
            text,
            offset: reloc.addend as u64,
            item: None,
        };
        let Some(symbol) = self.cubin.symbols.get(reloc.symbol) else {
            return nothing("no symbol".to_owned());
        };
        let offset = symbol.value.wrapping_add(reloc.addend as u64);
        let at = |text: &str, item| Target {
            text: text.to_owned(),
            offset,
            item,
        };
        if symbol.section == 0 {
            return nothing(format!("outside {}", names::normalise_symbol(&symbol.name)));
        }
        let section = &self.cubin.sections[symbol.section];
        if Some(symbol.section) == own {
            return at("own code", None);
        }
        if section.is_code() {
            return at("code", Some(Item::Code(symbol.section)));
        }
        // A variable's symbol names it; a section's symbol needs the offset.
        let within = if symbol.kind == SymbolKind::Section {
            offset
        } else {
            symbol.value
        };
        if let Some(index) = self
            .objects_in(symbol.section, within, within.saturating_add(1))
            .next()
        {
            let object = &self.objects[index];
            return Target {
                text: "data".to_owned(),
                offset: offset.wrapping_sub(object.start),
                item: Some(Item::Object(index)),
            };
        }
        at(&format!("section {}", Self::generic_name(section)), None)
    }

    /// A section's name without the kernel it belongs to: `.nv.shared.`, not `.nv.shared._Z1kv`.
    fn generic_name(section: &Section<'_>) -> String {
        owner(&section.name).map_or_else(
            || names::normalise_symbol(&section.name),
            |(prefix, _)| prefix.to_owned(),
        )
    }

    /// A digest over the initialised data and the device functions that none of `walks` reaches;
    /// empty when there is nothing of the kind.
    pub(super) fn unreached(&self, walks: &[Walk]) -> String {
        let reached: BTreeSet<Item> = walks.iter().flat_map(|w| w.items()).collect();
        let mut lines: Vec<(String, String)> = Vec::new();
        for (index, object) in self.objects.iter().enumerate() {
            let section = &self.cubin.sections[object.section];
            let item = Item::Object(index);
            if section.has_content() && !reached.contains(&item) {
                lines.push((object.name.clone(), Walk::from_item(self, item).hex(self)));
            }
        }
        for (index, section) in self.cubin.sections.iter().enumerate() {
            let item = Item::Code(index);
            if section.is_code() && !reached.contains(&item) {
                lines.push((String::new(), Walk::from_item(self, item).hex(self)));
            }
        }
        if lines.is_empty() {
            return String::new();
        }
        lines.sort();
        let mut digest = Digest::new("unreached");
        for (name, content) in lines {
            digest.text(&name);
            digest.text(&content);
        }
        digest.hex()
    }
}

/// The bytes of a range of a section, as far as it has any.
pub(super) fn slice<'s>(section: &Section<'s>, start: u64, end: u64) -> &'s [u8] {
    let size = section.data.len();
    let clamp = |n: u64| usize::try_from(n).unwrap_or(size).min(size);
    let (start, end) = (clamp(start), clamp(end));
    section.data.get(start..end).unwrap_or_default()
}
