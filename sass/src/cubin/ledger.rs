//! The ledger, straight from the ELF.

use super::{Attribute, Cubin, Entry, INSTRUCTION_BYTES, Record};
use crate::Ledger;

/// Shared memory that the driver reserves in each block from sm_90 on, bytes.
const RESERVED_SMEM: u64 = 1024;
/// Annotation of an instruction that spills or refills a register.
const SPILL_REFILL: u32 = 1;
/// Low 12 bits of the encodings of STL and LDL.
const OPCODE_MASK: u16 = 0xfff;
const STL: u16 = 0x387;
const LDL: u16 = 0x983;

pub(super) fn ledger(cubin: &Cubin<'_>, entry: &Entry<'_>) -> Ledger {
    let about_kernel = |attribute| {
        cubin
            .info_about(entry.symbol_index)
            .iter()
            .filter(|r| r.attribute == attribute)
            .find_map(|r| r.word(1))
    };
    let own = |attribute| entry.info.iter().find(move |r| r.attribute == attribute);
    let (spill_stores, spill_loads) = spills(cubin, entry);
    Ledger {
        registers: about_kernel(Attribute::REGCOUNT).unwrap_or(0),
        spill_stores,
        spill_loads,
        stack_bytes: about_kernel(Attribute::MIN_STACK_SIZE)
            .max(about_kernel(Attribute::FRAME_SIZE))
            .unwrap_or(0),
        static_smem: static_smem(cubin, entry),
        barriers: own(Attribute::NUM_BARRIERS).map_or(0, |r| u32::from(r.value & 0xff)),
        max_threads: own(Attribute::MAX_THREADS)
            .and_then(shape)
            .map(|[x, y, z]| x.saturating_mul(y.max(1)).saturating_mul(z.max(1))),
        required_threads: own(Attribute::REQUIRED_THREADS).and_then(shape),
        param_bytes: own(Attribute::PARAM_BYTES).map_or(0, |r| r.value.into()),
        code_bytes: cubin.sections[entry.section].size,
    }
}

fn shape(record: &Record<'_>) -> Option<[u32; 3]> {
    Some([record.word(0)?, record.word(1)?, record.word(2)?])
}

fn static_smem(cubin: &Cubin<'_>, entry: &Entry<'_>) -> u32 {
    let size = cubin
        .section_named(&format!(".nv.shared.{}", entry.symbol))
        .map_or(0, |s| s.size);
    let own = if cubin.reserves_smem() {
        size.saturating_sub(RESERVED_SMEM)
    } else {
        size
    };
    u32::try_from(own).unwrap_or(u32::MAX)
}

/// Counts the instructions that the cubin's annotations name as spills or refills: (stores, loads).
fn spills(cubin: &Cubin<'_>, entry: &Entry<'_>) -> (u32, u32) {
    let code = cubin.sections[entry.section].data;
    let (mut stores, mut loads) = (0, 0);
    for record in entry
        .info
        .iter()
        .filter(|r| r.attribute == Attribute::ANNOTATIONS)
    {
        let mut index = 0;
        // Other kinds of annotations have other lengths, which are not known here.
        while record.word(index) == Some(SPILL_REFILL) {
            let opcode = record
                .word(index + 1)
                .and_then(|offset| opcode_at(code, offset));
            match opcode {
                Some(STL) => stores += 1,
                Some(LDL) => loads += 1,
                _ => {}
            }
            index += 2;
        }
    }
    (stores, loads)
}

fn opcode_at(code: &[u8], offset: u32) -> Option<u16> {
    let at = offset as usize;
    let instruction = code.get(at..at.checked_add(INSTRUCTION_BYTES)?)?;
    Some(u16::from_le_bytes([instruction[0], instruction[1]]) & OPCODE_MASK)
}
