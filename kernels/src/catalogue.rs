//! Every problem that the harness can be asked for, by name. What the problems are is said where
//! they are made: [`standalone`](crate::standalone) and [`mmq`](crate::mmq).

use crate::mmq::{Product, Quantise, Tile};
use crate::standalone::{LdsmCheck, Problem, ScaleRead, Size};

/// A problem under the name by which it is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// The name.
    pub name: &'static str,
    make: fn(u64) -> Box<dyn Problem>,
}

impl Entry {
    /// Makes the operands from a seed.
    pub fn problem(&self, seed: u64) -> Box<dyn Problem> {
        (self.make)(seed)
    }
}

/// The parity cases, small enough to compare every output.
pub const PARITY: &[Entry] = &[
    entry("ldsm_check", |seed| {
        Box::new(LdsmCheck::new(Size::Parity, seed))
    }),
    entry("scale_read", |seed| {
        Box::new(ScaleRead::new(Size::Parity, seed))
    }),
    entry("quantise", |seed| {
        Box::new(Quantise::new(Size::Parity, seed))
    }),
    entry("mmq KD=4", |seed| {
        Box::new(Product::parity(Tile::Wide4, seed))
    }),
    entry("mmq KD=4 ragged", |seed| {
        Box::new(Product::ragged(Tile::Wide4, seed))
    }),
    entry("mmq KD=8", |seed| {
        Box::new(Product::parity(Tile::Wide8, seed))
    }),
    entry("mmq KD=8 ragged", |seed| {
        Box::new(Product::ragged(Tile::Wide8, seed))
    }),
    entry("mmq NB", |seed| {
        Box::new(Product::parity(Tile::Narrow, seed))
    }),
    entry("mmq NB ragged", |seed| {
        Box::new(Product::ragged(Tile::Narrow, seed))
    }),
];

/// The benches, large enough to time.
pub const BENCHES: &[Entry] = &[
    entry("ldsm_check", |seed| {
        Box::new(LdsmCheck::new(Size::Bench, seed))
    }),
    entry("scale_read", |seed| {
        Box::new(ScaleRead::new(Size::Bench, seed))
    }),
    entry("quantise", |seed| {
        Box::new(Quantise::new(Size::Bench, seed))
    }),
    entry("q_proj KD=4", |seed| {
        Box::new(Product::q_proj(Tile::Wide4, seed))
    }),
    entry("q_proj KD=8", |seed| {
        Box::new(Product::q_proj(Tile::Wide8, seed))
    }),
    entry("q_proj NB", |seed| {
        Box::new(Product::q_proj(Tile::Narrow, seed))
    }),
];

const fn entry(name: &'static str, make: fn(u64) -> Box<dyn Problem>) -> Entry {
    Entry { name, make }
}

/// Finds an entry by its name.
pub fn find(entries: &'static [Entry], name: &str) -> Option<&'static Entry> {
    entries.iter().find(|entry| entry.name == name)
}

/// The names of entries, for people.
pub fn names(entries: &[Entry]) -> String {
    let names: Vec<&str> = entries.iter().map(|entry| entry.name).collect();
    names.join(", ")
}
