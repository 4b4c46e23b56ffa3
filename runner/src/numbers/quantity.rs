//! Measured values, counts, sizes and durations.

use super::MISSING;
use super::faithful::faithful;

/// Significant digits of a measured value.
const SIGNIFICANT: i32 = 5;

/// A measured value with five significant digits and thousands separators: `1,311.8`.
pub fn value(value: f64) -> String {
    value_beside(value, &[])
}

/// A measured value as [`value`] writes it, with more digits where it takes more to compare with
/// each of `limits` as the exact one does: 1349.96 beside 1350 is `1,349.96`.
pub fn value_beside(value: f64, limits: &[f64]) -> String {
    if !value.is_finite() {
        return MISSING.to_owned();
    }
    let size = value.abs();
    if size != 0.0 && !(1e-4..1e12).contains(&size) {
        let short = format!("{value:.4e}");
        let agrees = short.parse().is_ok_and(|shown: f64| {
            let same = |limit: &f64| shown.partial_cmp(limit) == value.partial_cmp(limit);
            limits.iter().all(same)
        });
        return if agrees { short } else { format!("{value:e}") };
    }
    let magnitude = if size == 0.0 {
        0
    } else {
        size.log10().floor() as i32
    };
    let decimals = usize::try_from(SIGNIFICANT - 1 - magnitude).unwrap_or(0);
    grouped(&faithful(value, decimals, limits))
}

/// A figure of a parity case, in scientific notation where that is shorter.
pub fn figure(value: f64) -> String {
    if !value.is_finite() {
        return "not a number".to_owned();
    }
    if value == 0.0 || (1e-3..1e6).contains(&value.abs()) {
        let plain = format!("{value:.6}");
        return plain.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    let text = format!("{value:.3e}");
    match text.split_once('e') {
        Some((digits, power)) => {
            format!(
                "{}e{power}",
                digits.trim_end_matches('0').trim_end_matches('.')
            )
        }
        None => text,
    }
}

/// A whole number with thousands separators: `98,304`.
pub fn count(value: u64) -> String {
    grouped(&value.to_string())
}

/// A number of things: `1 pair`, `2 pairs`, `0 benches`.
pub fn counted(n: usize, noun: &str) -> String {
    let plural = match noun {
        _ if n == 1 => "",
        noun if noun.ends_with("ch") => "es",
        _ => "s",
    };
    format!("{} {noun}{plural}", count(n as u64))
}

/// Thousands separators in a number that is already text.
pub(super) fn grouped(text: &str) -> String {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text),
    };
    let (whole, fraction) = match rest.find(|c: char| !c.is_ascii_digit()) {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    let mut grouped = String::with_capacity(text.len() + text.len() / 3);
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{sign}{grouped}{fraction}")
}

/// A duration: `850 ms`, `12.3 s`, `4 min 05 s`, `2 h 03 min`.
pub fn duration(ms: u64) -> String {
    let seconds = ms / 1000;
    match seconds {
        0 => format!("{ms} ms"),
        1..=59 => format!("{}.{} s", seconds, ms % 1000 / 100),
        60..=3599 if seconds.is_multiple_of(60) => format!("{} min", seconds / 60),
        60..=3599 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// A size: `512 B`, `1.5 MiB`.
pub fn bytes(n: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if n < 1024 {
        return format!("{n} B");
    }
    let mut size = n as f64 / 1024.0;
    let mut unit = 0;
    while size >= 1023.95 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    format!("{size:.1} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn things_are_counted_in_words() {
        assert_eq!(counted(1, "bench"), "1 bench");
        assert_eq!(counted(0, "bench"), "0 benches");
        assert_eq!(counted(1, "parity case"), "1 parity case");
        assert_eq!(counted(1200, "kernel"), "1,200 kernels");
    }

    #[test]
    fn values_read_well() {
        assert_eq!(value(1311.84), "1,311.8");
        assert_eq!(value(0.2041), "0.20410");
        assert_eq!(value(0.012345), "0.012345");
        assert_eq!(value(153_945.2), "153,945");
        assert_eq!(value(2_500_000.0), "2,500,000");
        assert_eq!(value(2.0e-7), "2.0000e-7");
        assert_eq!(value(0.0), "0.0000");
        assert_eq!(value(f64::NAN), MISSING);
    }

    #[test]
    fn values_keep_their_side_of_a_limit() {
        assert_eq!(value_beside(1349.96, &[1350.0]), "1,349.96");
        assert_eq!(value_beside(1349.96, &[]), "1,350.0");
        assert_eq!(value_beside(1.000_001e-5, &[1e-5]), "1.000001e-5");
    }

    #[test]
    fn figures_counts_sizes_and_durations_read_well() {
        assert_eq!(figure(1e-6), "1e-6");
        assert_eq!(figure(1.2e-9), "1.2e-9");
        assert_eq!(figure(0.0125), "0.0125");
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(16_859_136), "16,859,136");
        assert_eq!(duration(245_000), "4 min 05 s");
        assert_eq!(duration(600_000), "10 min");
        assert_eq!(bytes(64 << 20), "64.0 MiB");
    }

    proptest! {
        #[test]
        fn values_never_cross_a_limit(b in 1e-6f64..1e13, near in -1e-7f64..1e-7) {
            for v in [b, b * (1.0 + near), b * 1.01] {
                let shown = value_beside(v, &[b]).replace(',', "");
                let shown: f64 = shown.parse().expect("it reads back");
                prop_assert_eq!(shown.partial_cmp(&b), v.partial_cmp(&b));
            }
        }
    }
}
