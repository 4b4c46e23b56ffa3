//! Numbers as people write them: thousands commas, and byte units.

/// A number with the text behind it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scanned<'a> {
    /// The value.
    pub value: f64,
    /// The text it was read from.
    pub text: &'a str,
    /// What follows.
    pub rest: &'a str,
}

/// Reads a non-negative decimal number from the start of `text`: digits, either plain or in
/// groups of three with commas (`45,056`), then optionally a fraction and an exponent.
///
/// Gives `None` where there is no number, or its commas do not separate thousands.
pub(crate) fn scan(text: &str) -> Option<Scanned<'_>> {
    let whole = integer_length(text)?;
    let mut end = whole;
    let after = &text[end..];
    if let Some(fraction) = after.strip_prefix('.') {
        let digits = digits(fraction);
        if digits == 0 {
            return None;
        }
        end += 1 + digits;
    }
    end += exponent_length(&text[end..]);
    let number = &text[..end];
    let value: f64 = number.replace(',', "").parse().ok()?;
    value.is_finite().then_some(Scanned {
        value,
        text: number,
        rest: &text[end..],
    })
}

fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

/// The length of the digits before the point, commas included.
fn integer_length(text: &str) -> Option<usize> {
    let first = digits(text);
    if first == 0 {
        return None;
    }
    let mut end = first;
    while let Some(group) = text[end..].strip_prefix(',') {
        match digits(group) {
            3 if first <= 3 => end += 4,
            0 => break,
            _ => return None,
        }
    }
    Some(end)
}

fn exponent_length(text: &str) -> usize {
    let Some(rest) = text.strip_prefix(['e', 'E']) else {
        return 0;
    };
    let unsigned = rest.strip_prefix(['+', '-']).unwrap_or(rest);
    match digits(unsigned) {
        0 => 0,
        n => 1 + (rest.len() - unsigned.len()) + n,
    }
}

/// Bytes per unit; `K` is 1,024 as in CUDA's documents. `None` for an unknown unit.
pub(crate) fn bytes_per(unit: &str) -> Option<u64> {
    match unit {
        "" | "B" => Some(1),
        "K" | "KiB" => Some(1 << 10),
        "M" | "MiB" => Some(1 << 20),
        "G" | "GiB" => Some(1 << 30),
        _ => None,
    }
}

/// The units [`bytes_per`] knows, for messages.
pub(crate) const BYTE_UNITS: &str = "`B`, `K` or `KiB` (1,024 B), `MiB`, `GiB`";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_with_and_without_commas() {
        for (text, value, rest) in [
            ("43008", 43_008.0, ""),
            ("45,056 -> 43,008", 45_056.0, " -> 43,008"),
            ("16,859,136", 16_859_136.0, ""),
            ("1.5%", 1.5, "%"),
            ("2.1e-3ms", 0.0021, "ms"),
            ("5 e", 5.0, " e"),
            ("5e", 5.0, "e"),
            ("3, 4", 3.0, ", 4"),
        ] {
            let scanned = scan(text).expect(text);
            assert_eq!((scanned.value, scanned.rest), (value, rest), "{text}");
        }
        for text in [
            "", "x", "-1", "+1", ".5", "1.", "45,05", "45,0567", "4505,678", "1e999",
        ] {
            assert_eq!(scan(text), None, "{text}");
        }
    }
}
