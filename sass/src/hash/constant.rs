//! Which constant-bank entries a piece of machine code reads, decoded from the encodings that
//! hold from Volta to Blackwell. A test compares the answer with nvdisasm's.

use crate::cubin::INSTRUCTION_BYTES;

/// Operand forms (bits 9 to 11) that take an operand from a constant bank.
const CONSTANT_FORMS: [u64; 2] = [3, 5];
/// BAR, which has such a form and no such operand.
const BAR: u64 = 0xb1d;
/// Low 12 bits of the instructions that load from a bank: LDC, ULDC, LDCU.
const LDC: u64 = 0xb82;
const ULDC: u64 = 0xab9;
const LDCU: u64 = 0x7ac;
/// The register field's value for "no register".
const NO_REGISTER: u64 = 0xff;
/// Size field's value for 128 bits.
const SIZE_128: u64 = 6;

/// One read of a constant bank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConstantRead {
    /// The bank.
    pub bank: u8,
    /// Bytes from the bank's start, before a register is added.
    pub offset: u32,
    /// Bytes that are read, or more where the encoding does not tell.
    pub bytes: u32,
    /// Whether a register is added to the offset.
    pub indexed: bool,
}

/// All reads in `code`.
pub fn constant_reads(code: &[u8]) -> impl Iterator<Item = ConstantRead> + '_ {
    code.chunks_exact(INSTRUCTION_BYTES).filter_map(|bytes| {
        let (low, high) = bytes.split_at(8);
        decode(
            u64::from_le_bytes(low.try_into().ok()?),
            u64::from_le_bytes(high.try_into().ok()?),
        )
    })
}

fn decode(low: u64, high: u64) -> Option<ConstantRead> {
    let opcode = low & 0xfff;
    if opcode == BAR || !CONSTANT_FORMS.contains(&(opcode >> 9)) {
        return None;
    }
    let is_load = matches!(opcode, LDC | ULDC | LDCU);
    let offset = if opcode == LDCU {
        low >> 37 & 0x1_ffff
    } else {
        low >> 38 & 0xffff
    };
    let register = low >> 24 & 0xff;
    // ULDC leaves the field zero where the others write "no register".
    let none = register == NO_REGISTER || (opcode == ULDC && register == 0);
    let indexed = is_load && !none;
    let wide = is_load && high >> 9 & 7 == SIZE_128;
    Some(ConstantRead {
        bank: (low >> 54 & 0x1f) as u8,
        offset: offset as u32,
        bytes: if wide { 16 } else { 8 },
        indexed,
    })
}
