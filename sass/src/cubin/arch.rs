//! Which architecture a cubin is for.

use super::elf::{Place, Raw};
use super::info;
use crate::Error;

/// ABI version from which on `e_flags` holds the number in its second byte.
const ABI_WITH_SECOND_BYTE: u8 = 8;
/// `e_flags` bit of the older ABI for accelerated features (`sm_90a`).
const OLD_ACCELERATED: u32 = 0x800;
/// Record of `.nv.compat` that tells of accelerated features.
const COMPAT_ACCELERATOR: u8 = 0x09;

/// The architecture as nvcc names it: `sm_90`, `sm_90a`, `sm_120f`.
pub(super) fn name(place: Place<'_>, raw: &Raw<'_>) -> Result<String, Error> {
    let (number, old_suffix) = if raw.abi_version >= ABI_WITH_SECOND_BYTE {
        (raw.flags >> 8 & 0xff, false)
    } else {
        (raw.flags & 0xff, raw.flags & OLD_ACCELERATED != 0)
    };
    if number < 10 {
        return Err(place.error(
            48,
            format!(
                "the cubin's ELF flags {:#x} name no architecture",
                raw.flags
            ),
        ));
    }
    let base = format!("sm_{number}");
    if let Some(named) = from_tool_note(raw, &base) {
        return Ok(named);
    }
    let accelerated = old_suffix
        || raw
            .sections
            .iter()
            .filter(|s| s.name == ".nv.compat")
            .flat_map(info::compat)
            .any(|r| r.attribute.0 == COMPAT_ACCELERATOR && r.value & 0xff == 1);
    Ok(if accelerated { base + "a" } else { base })
}

/// The `-arch` option among the tool's options in `.note.nv.tkinfo`, where it fits `base`.
fn from_tool_note(raw: &Raw<'_>, base: &str) -> Option<String> {
    let note = raw.sections.iter().find(|s| s.name == ".note.nv.tkinfo")?;
    let text = String::from_utf8_lossy(note.data);
    let mut words = text.split(|c: char| c.is_whitespace() || matches!(c, '\0' | '='));
    while let Some(word) = words.next() {
        if !matches!(word, "-arch" | "--arch" | "--gpu-name") {
            continue;
        }
        let suffix = words.next().and_then(|arch| arch.strip_prefix(base));
        if let Some(suffix @ ("" | "a" | "f")) = suffix {
            return Some(format!("{base}{suffix}"));
        }
    }
    None
}
