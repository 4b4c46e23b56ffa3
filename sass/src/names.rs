//! Names that nvcc derives from the place of the source file, and how they are made equal for
//! the same source built elsewhere; and demangling for people.
//!
//! nvcc puts a *module id* `_<hash of the path>_<length>_<file name>_<first symbol>` into the
//! names of things with internal linkage:
//!
//! | form | becomes |
//! |---|---|
//! | `35_GLOBAL__N__034f0929_4_a_cu_visible` (anonymous namespace; the number is its length) | `12_GLOBAL__N_1`, as g++ writes it |
//! | `33_INTERNAL_034f0929_4_a_cu_visible` (static, older nvcc) | `9_INTERNAL` |
//! | `__nv_static_24__034f0929_4_a_cu_visible_` (static, relocatable device code) | `__nv_static_` |
//! | the bare id, as in `__fatbinwrap_034f0929_4_a_cu_visible` | `_module_id` |
//!
//! The hash may also be older nvcc's `_<length>_tmpxft_<pid>_<number>_…`.

use std::borrow::Cow;

/// Prefix that nvcc gives static functions and variables of relocatable device code.
const STATIC_PREFIX: &[u8] = b"__nv_static_";
/// What follows the length in the mangled name of an anonymous namespace.
const ANONYMOUS: &[u8] = b"_GLOBAL__N_";
/// The same for older nvcc's statics.
const INTERNAL: &[u8] = b"_INTERNAL";

/// Replaces every module id in `text`; borrows when there is none.
pub fn normalise(text: &[u8]) -> Cow<'_, [u8]> {
    let mut out: Option<Vec<u8>> = None;
    let mut copied = 0;
    let mut at = 0;
    while let Some(id) = next_id(text, at) {
        let found = extent(text, &id, copied);
        let buffer = out.get_or_insert_with(|| Vec::with_capacity(text.len()));
        buffer.extend_from_slice(&text[copied..found.start]);
        buffer.extend_from_slice(found.replacement);
        copied = found.end;
        at = found.end;
    }
    match out {
        None => Cow::Borrowed(text),
        Some(mut buffer) => {
            buffer.extend_from_slice(&text[copied..]);
            Cow::Owned(buffer)
        }
    }
}

/// [`normalise`] for a symbol.
pub fn normalise_symbol(symbol: &str) -> String {
    String::from_utf8_lossy(&normalise(symbol.as_bytes())).into_owned()
}

/// The name for people: demangled, with module ids and internal prefixes taken out. A symbol
/// that is no C++ name is given as it is.
pub fn demangle(symbol: &str) -> String {
    let normal = normalise_symbol(symbol);
    let mangled = normal.strip_prefix("__nv_static__").unwrap_or(&normal);
    cpp_demangle::Symbol::new(mangled)
        .ok()
        .and_then(|parsed| parsed.demangle().ok())
        .map_or_else(
            || mangled.to_owned(),
            |name| name.replace("_INTERNAL::", ""),
        )
}

/// The part of a module id whose form is certain.
struct Id {
    /// Where its leading underscore is.
    start: usize,
    /// The end of the file name in it.
    end: usize,
}

/// What to replace, and by what.
struct Found {
    start: usize,
    end: usize,
    replacement: &'static [u8],
}

/// Finds the next `_<8 hex digits>_<n>_<n identifier characters>` or
/// `_<n>_tmpxft_<8 hex digits>_…` at or after `from`.
fn next_id(text: &[u8], from: usize) -> Option<Id> {
    let mut at = from;
    while at < text.len() {
        let start = at + text[at..].iter().position(|b| *b == b'_')?;
        if let Some(end) = hashed_id_end(text, start).or_else(|| temporary_id_end(text, start)) {
            return Some(Id { start, end });
        }
        at = start + 1;
    }
    None
}

/// The end of `_034f0929_4_a_cu` when it begins at `start`.
fn hashed_id_end(text: &[u8], start: usize) -> Option<usize> {
    let hash = text.get(start + 1..start + 9)?;
    let hex = hash
        .iter()
        .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(b));
    if !hex || text.get(start + 9) != Some(&b'_') {
        return None;
    }
    let (length, name) = number_then_underscore(text, start + 10)?;
    identifier_of(text, name, length)
}

/// The end of `_40_tmpxft_00001234_00000000_7_a_cpp1_ii` when it begins at `start`.
fn temporary_id_end(text: &[u8], start: usize) -> Option<usize> {
    let (length, name) = number_then_underscore(text, start + 1)?;
    text.get(name..)?.starts_with(b"tmpxft_").then_some(())?;
    identifier_of(text, name, length)
}

/// Reads `<digits>_` at `at`: the number, and where what follows begins.
fn number_then_underscore(text: &[u8], at: usize) -> Option<(usize, usize)> {
    let digits = text
        .get(at..)?
        .iter()
        .take(5)
        .take_while(|b| b.is_ascii_digit())
        .count();
    let number = std::str::from_utf8(&text[at..at + digits])
        .ok()?
        .parse()
        .ok()?;
    (text.get(at + digits) == Some(&b'_')).then_some((number, at + digits + 1))
}

/// The end of `length` identifier characters at `at`.
fn identifier_of(text: &[u8], at: usize, length: usize) -> Option<usize> {
    let name = text.get(at..at.checked_add(length)?)?;
    (length > 0 && name.iter().all(|b| is_identifier(*b))).then_some(at + length)
}

fn is_identifier(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'.')
}

/// How far the name around an id extends. Nothing before `floor` is looked at.
fn extent(text: &[u8], id: &Id, floor: usize) -> Found {
    let before = &text[floor..id.start];
    for (prefix, replacement) in [
        (ANONYMOUS, b"12_GLOBAL__N_1".as_slice()),
        (INTERNAL, b"9_INTERNAL".as_slice()),
    ] {
        if let Some(head) = before.strip_suffix(prefix) {
            let name = id.start - prefix.len();
            if let Some((start, end)) = length_before(text, floor, head.len(), name, id.end) {
                return Found {
                    start,
                    end,
                    replacement,
                };
            }
        }
    }
    if let Some(head) = before.strip_suffix(b"_") {
        let name = id.start;
        if let Some((start, end)) = length_before(text, floor, head.len(), name, id.end) {
            let prefix = &text[floor..start];
            if prefix.ends_with(STATIC_PREFIX) {
                return Found {
                    start: start - STATIC_PREFIX.len(),
                    end,
                    replacement: STATIC_PREFIX,
                };
            }
        }
    }
    let rest = text[id.end..]
        .iter()
        .take_while(|b| is_identifier(**b))
        .count();
    Found {
        start: id.start,
        end: id.end + rest,
        replacement: b"_module_id",
    }
}

/// Reads the decimal length that ends `digits_end` bytes after `floor`, and gives where its
/// digits begin and where the name of that length, which begins at `name`, ends. Of a longer run
/// of digits the shortest tail that reaches `least` is the length.
fn length_before(
    text: &[u8],
    floor: usize,
    digits_end: usize,
    name: usize,
    least: usize,
) -> Option<(usize, usize)> {
    let end = floor + digits_end;
    let mut start = end;
    while start > floor && end - start < 5 && text[start - 1].is_ascii_digit() {
        start -= 1;
        let length: usize = std::str::from_utf8(&text[start..end]).ok()?.parse().ok()?;
        let name_end = name.checked_add(length)?;
        if text[start] != b'0' && name_end >= least && name_end <= text.len() {
            return Some((start, name_end));
        }
    }
    None
}

/// A kernel's name without its parameters: `void ns::mmq<8>(int)` is `void ns::mmq<8>`.
pub(crate) fn without_parameters(name: &str) -> &str {
    match name.rfind('(') {
        Some(at) if at > 0 => &name[..at],
        _ => name,
    }
}

/// A kernel's name without its parameters and scopes: `void ns::mmq<8>(int)` is `mmq<8>`.
pub fn short_name(name: &str) -> &str {
    let without_parameters = without_parameters(name);
    let until_template = without_parameters
        .find('<')
        .unwrap_or(without_parameters.len());
    let start = without_parameters[..until_template]
        .rfind([' ', ':'])
        .map_or(0, |at| at + 1);
    &without_parameters[start..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normal(text: &str) -> String {
        normalise_symbol(text)
    }

    #[test]
    fn leaves_other_names_alone() {
        for name in [
            "",
            "_",
            "_Z4statPf",
            "a_12345678_b",
            "_ZN3foo3barEv",
            "_deadbeef_",
            "_deadbeef_9_a_cu",
        ] {
            assert_eq!(normal(name), name);
            assert!(matches!(normalise(name.as_bytes()), Cow::Borrowed(_)));
        }
    }

    #[test]
    fn replaces_anonymous_namespaces() {
        assert_eq!(
            normal(".text._ZN35_GLOBAL__N__034f0929_4_a_cu_visible4anonEPi"),
            ".text._ZN12_GLOBAL__N_14anonEPi"
        );
        assert_eq!(
            normal("_ZN35_GLOBAL__N__85db7b87_4_a_cu_visible4anonEPi"),
            normal("_ZN40_GLOBAL__N__034f0929_9_other1_cu_visible4anonEPi"),
        );
    }

    #[test]
    fn finds_the_length_behind_a_digit() {
        assert_eq!(
            normal("_Z1fI2A235_GLOBAL__N__034f0929_4_a_cu_visible"),
            "_Z1fI2A212_GLOBAL__N_1"
        );
    }

    #[test]
    fn replaces_statics_of_relocatable_code() {
        assert_eq!(
            normal("__nv_static_24__5d4400da_5_x1_cu__Z1kPf__Z2stPf"),
            "__nv_static___Z2stPf"
        );
        assert_eq!(
            demangle("__nv_static_24__5d4400da_5_x1_cu__Z1kPf__Z2stPf"),
            "st(float*)"
        );
    }

    #[test]
    fn replaces_bare_ids() {
        assert_eq!(
            normal("__fatbinwrap_034f0929_4_a_cu_visible"),
            "__fatbinwrap_module_id"
        );
        assert_eq!(
            normalise(b"def _034f0929_4_a_cu_visible\0\0_034f0929_4_a_cu_visible\0").as_ref(),
            b"def _module_id\0\0_module_id\0"
        );
    }

    #[test]
    fn replaces_older_forms() {
        assert_eq!(
            normal(
                "_ZN69_INTERNAL_44_tmpxft_00001234_00000000_7_a_compute_cpp1_ii_12345678_994statEPf"
            ),
            normal(
                "_ZN69_INTERNAL_44_tmpxft_00009999_00000000_7_a_compute_cpp1_ii_12345678_994statEPf"
            ),
        );
        assert_eq!(
            demangle("_ZN33_INTERNAL_034f0929_4_a_cu_visible4statEPf"),
            "stat(float*)"
        );
    }

    #[test]
    fn demangles() {
        assert_eq!(
            demangle("_ZN35_GLOBAL__N__034f0929_4_a_cu_visible3tplINS_3TagEEEvPf"),
            "void (anonymous namespace)::tpl<(anonymous namespace)::Tag>(float*)"
        );
        assert_eq!(demangle("dyn"), "dyn");
    }

    #[test]
    fn short_names_drop_parameters_and_scopes() {
        assert_eq!(
            short_name("void ns::mmq<8, true>(int const*, float)"),
            "mmq<8, true>"
        );
        assert_eq!(short_name("mmq_nb"), "mmq_nb");
        assert_eq!(short_name("k(int)"), "k");
        assert_eq!(short_name("(anonymous namespace)::k(int)"), "k");
    }
}
