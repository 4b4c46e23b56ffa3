//! The code hash of a kernel: what a launch of it can depend on in its cubin, and nothing that
//! depends on where the source lies.
//!
//! In it: the architecture; the machine code; its relocations, each by what it points to; the
//! device functions reached through them, by content; the kernel's own constant banks and the
//! size of its shared memory; its launch attributes; and the module's data (`__constant__` and
//! `__device__` variables, printf strings) that it reaches through relocations, through constant
//! banks that its code reads, or through pointers in such data. Data that no kernel of the cubin
//! can be seen to reach counts to every kernel, so that no change goes unseen.
//!
//! Not in it: the kernel's own name (a renamed kernel keeps its hash), module ids (see
//! [`crate::names`]), debug and line information, call graphs, the order of symbols and sections.
//!
//! What cannot be made equal: nvcc gives addresses within a module in the order of symbol names
//! as far as they are equal in binding. Names with module ids could in principle sort
//! differently in another directory and move entries of the address table (constant bank 4),
//! whose offsets stand in the machine code. The hash then differs although nothing else does.

pub mod constant;
pub(crate) mod digest;
mod module;
mod walk;

pub use constant::{ConstantRead, constant_reads};

use crate::cubin::{Attribute, Cubin, Entry, Record};
use crate::{HostMask, names};
use digest::Digest;
use module::Module;
use walk::Walk;

/// Code hashes of all kernels, in the order of [`Cubin::entries`]. `mask` is applied to the module's
/// data: an `assert` puts the source's path there.
pub fn code_hashes(cubin: &Cubin<'_>, mask: &HostMask) -> Vec<String> {
    let module = Module::new(cubin, mask);
    let walks: Vec<Walk> = cubin
        .entries
        .iter()
        .map(|entry| Walk::from_code(&module, entry.section))
        .collect();
    let rest = module.unreached(&walks);
    cubin
        .entries
        .iter()
        .zip(&walks)
        .map(|(entry, walk)| {
            let mut digest = Digest::new("roundhouse kernel 1");
            digest.text(&cubin.arch);
            launch(cubin, entry, &mut digest);
            walk.write(&module, &mut digest);
            digest.text(&rest);
            digest.hex()
        })
        .collect()
}

/// Writes the launch attributes: all of the kernel's records but those that only describe the
/// build or name symbols by number.
fn launch(cubin: &Cubin<'_>, entry: &Entry<'_>, digest: &mut Digest) {
    let mut lines: Vec<(u8, u16, Vec<u8>)> = cubin
        .info_about(entry.symbol_index)
        .iter()
        .map(|r| {
            (
                r.attribute.0,
                0,
                r.payload.get(4..).unwrap_or_default().to_vec(),
            )
        })
        .collect();
    for record in &entry.info {
        match record.attribute {
            Attribute::ANNOTATIONS | Attribute::MAXREG_COUNT => {}
            Attribute::PARAM_CBANK => lines.push((
                record.attribute.0,
                0,
                record.payload.get(4..).unwrap_or_default().to_vec(),
            )),
            Attribute::EXTERNS => lines.push((record.attribute.0, 0, extern_names(cubin, record))),
            _ => lines.push((record.attribute.0, record.value, record.payload.to_vec())),
        }
    }
    lines.sort();
    digest.number(lines.len() as u64);
    for (attribute, value, payload) in lines {
        digest.number(attribute.into());
        digest.number(value.into());
        digest.bytes(&payload);
    }
}

/// The names behind a record's symbol numbers.
fn extern_names(cubin: &Cubin<'_>, record: &Record<'_>) -> Vec<u8> {
    let mut found: Vec<String> = (0..record.payload.len() / 4)
        .filter_map(|i| record.word(i))
        .filter_map(|index| cubin.symbols.get(index as usize))
        .map(|symbol| names::normalise_symbol(&symbol.name))
        .collect();
    found.sort();
    found.join("\0").into_bytes()
}
