//! The records of `.nv.info` sections.

use super::elf::{Place, Section};
use crate::Error;

/// `sh_type` of `.nv.info` sections.
const SHT_CUDA_INFO: u32 = 0x7000_0000;

/// What a record is about; the numbers are the format's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Attribute(pub u8);

impl Attribute {
    /// Launch bound: most threads in x, y, z.
    pub const MAX_THREADS: Attribute = Attribute(0x05);
    /// Where the parameters lie: symbol of the constant bank's section, offset and size.
    pub const PARAM_CBANK: Attribute = Attribute(0x0a);
    /// Symbols of functions outside the cubin that are called.
    pub const EXTERNS: Attribute = Attribute(0x0f);
    /// Required block shape.
    pub const REQUIRED_THREADS: Attribute = Attribute(0x10);
    /// Stack frame of a function, bytes: symbol, size.
    pub const FRAME_SIZE: Attribute = Attribute(0x11);
    /// Stack with that of callees, bytes: symbol, size.
    pub const MIN_STACK_SIZE: Attribute = Attribute(0x12);
    /// Size of the parameters, bytes.
    pub const PARAM_BYTES: Attribute = Attribute(0x19);
    /// The compiler's register limit; it bounds the build, not the launch.
    pub const MAXREG_COUNT: Attribute = Attribute(0x1b);
    /// Registers: symbol, count.
    pub const REGCOUNT: Attribute = Attribute(0x2f);
    /// Named barriers.
    pub const NUM_BARRIERS: Attribute = Attribute(0x4c);
    /// Notes about single instructions, spills among them.
    pub const ANNOTATIONS: Attribute = Attribute(0x55);
}

/// One record.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    /// What it is about.
    pub attribute: Attribute,
    /// The value of a record without payload.
    pub value: u16,
    /// The payload; empty for a record without.
    pub payload: &'a [u8],
}

impl Record<'_> {
    /// The payload's `index`th little-endian 32-bit word.
    pub fn word(&self, index: usize) -> Option<u32> {
        let at = index.checked_mul(4)?;
        let bytes = self.payload.get(at..at.checked_add(4)?)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    }
}

/// Reads the records of a section.
pub(super) fn records<'a>(
    place: Place<'_>,
    section: &Section<'a>,
) -> Result<Vec<Record<'a>>, Error> {
    if section.kind != SHT_CUDA_INFO {
        return Ok(Vec::new());
    }
    read(section.data).map_err(|at| {
        place.error(
            section.offset.saturating_add(at as u64),
            format!(
                "a record of section {} is cut short or of an unknown format",
                section.name
            ),
        )
    })
}

/// Reads records `{format: u8, attribute: u8, value: u16}`, where with format 4 the value is the
/// length of a payload that follows. The error is the offset of a bad record.
fn read(data: &[u8]) -> Result<Vec<Record<'_>>, usize> {
    let mut records = Vec::new();
    let mut at = 0;
    while at < data.len() {
        let head = data.get(at..at + 4).ok_or(at)?;
        let value = u16::from_le_bytes([head[2], head[3]]);
        let payload = match head[0] {
            1..=3 => &data[..0],
            4 => data.get(at + 4..at + 4 + usize::from(value)).ok_or(at)?,
            _ => return Err(at),
        };
        records.push(Record {
            attribute: Attribute(head[1]),
            value,
            payload,
        });
        at += 4 + payload.len();
    }
    Ok(records)
}

/// The records of `.nv.compat`, which has the same form.
pub(super) fn compat<'a>(section: &Section<'a>) -> Vec<Record<'a>> {
    read(section.data).unwrap_or_default()
}
