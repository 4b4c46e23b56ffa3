//! Numbers and times as people read them. Rounding never contradicts a comparison that the
//! verdict rests on (lesson 31), and a number that is not finite never gets out (lesson 32).

use jiff::Timestamp;
use serde::{Serialize, Serializer};

use crate::model::{Bar, Better, UnixMillis};

/// What stands where there is no value.
pub const MISSING: &str = "–";

/// Decimals shown of a percentage where no comparison asks for more.
const PERCENT_DECIMALS: usize = 2;
/// The most decimals tried before the shortest exact text is used.
const MAX_DECIMALS: usize = 9;
/// Significant digits of a measured value.
const SIGNIFICANT: i32 = 5;

/// A number that is finite or missing; missing is `null` in JSON.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Finite(Option<f64>);

impl Finite {
    /// Keeps a finite value; anything else is missing.
    pub fn new(value: f64) -> Self {
        Finite(Some(value).filter(|v| v.is_finite()))
    }

    /// The value, where there is one.
    pub fn get(self) -> Option<f64> {
        self.0
    }
}

impl From<Option<f64>> for Finite {
    fn from(value: Option<f64>) -> Self {
        Finite(value.filter(|v| v.is_finite()))
    }
}

impl Serialize for Finite {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

/// An effect in words: estimate, interval and bar, consistent with one another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EffectText {
    /// The estimate: `+1.07 %`.
    pub estimate: String,
    /// The interval: `[+0.80, +1.32]`, in percent.
    pub interval: String,
    /// The bar: `+1.5 %`; `None` where there is none.
    pub bar: Option<String>,
}

/// Writes an effect with its bar. The shown estimate and ends stand to the shown bar and to zero
/// exactly as the real ones do.
pub fn effect_text(estimate: f64, interval: (f64, f64), bar: Option<f64>) -> EffectText {
    let values = [estimate, interval.0, interval.1];
    let bar = bar.filter(|b| b.is_finite()).map(|b| bar_text(b, &values));
    let shown_bar = bar.as_deref().and_then(|t| t.parse::<f64>().ok());
    let digits = |v| percent_digits(v, shown_bar);
    EffectText {
        estimate: with_sign(&digits(estimate)),
        interval: format!("[{}, {}]", digits(interval.0), digits(interval.1)),
        bar: bar.map(|b| with_sign(&b)),
    }
}

/// Writes one percentage so that it stands to `bar` and to zero as the real value does:
/// 9.9996 against a bar of 10 is `+9.9996 %`.
pub fn percent(value: f64, bar: Option<f64>) -> String {
    with_sign(&percent_digits(value, bar))
}

fn with_sign(digits: &str) -> String {
    if digits == MISSING {
        MISSING.to_owned()
    } else {
        format!("{digits} %")
    }
}

fn percent_digits(value: f64, bar: Option<f64>) -> String {
    if !value.is_finite() {
        return MISSING.to_owned();
    }
    let value = if value == 0.0 { 0.0 } else { value };
    let faithful = |shown: f64, limit: f64| value.partial_cmp(&limit) == shown.partial_cmp(&limit);
    (PERCENT_DECIMALS..=MAX_DECIMALS)
        .map(|decimals| format!("{value:+.decimals$}"))
        .find(|text| {
            text.parse().is_ok_and(|shown| {
                faithful(shown, 0.0) && bar.is_none_or(|bar| faithful(shown, bar))
            })
        })
        .unwrap_or_else(|| format!("{value:+}"))
}

/// The bar with as few decimals as keep its order with `values`.
fn bar_text(bar: f64, values: &[f64]) -> String {
    let exact = format!("{bar:+}");
    if exact
        .split('.')
        .nth(1)
        .is_none_or(|d| d.len() <= PERCENT_DECIMALS)
    {
        return exact;
    }
    let keeps_order = |shown: f64| {
        values
            .iter()
            .all(|v| v.partial_cmp(&bar) == v.partial_cmp(&shown))
    };
    (PERCENT_DECIMALS..=MAX_DECIMALS)
        .map(|decimals| format!("{bar:+.decimals$}"))
        .find(|text| text.parse().is_ok_and(keeps_order))
        .unwrap_or(exact)
}

/// A declared bar as its author would write it: `+1.5 %`, `>= 1,350 tok/s`.
pub fn declared_bar(bar: Bar, better: Better, unit: &str) -> String {
    match bar {
        Bar::Relative { percent } if percent.is_finite() => format!("{percent:+} %"),
        Bar::Relative { .. } => MISSING.to_owned(),
        Bar::Absolute { value } if !value.is_finite() => MISSING.to_owned(),
        Bar::Absolute { value } => {
            let sign = match better {
                Better::Higher => ">=",
                Better::Lower => "<=",
            };
            format!("{sign} {} {unit}", grouped_text(&format!("{value}")))
        }
    }
}

/// A measured value with five significant digits and thousands separators: `1,311.8`.
pub fn value(value: f64) -> String {
    if !value.is_finite() {
        return MISSING.to_owned();
    }
    let size = value.abs();
    if size != 0.0 && !(1e-4..1e12).contains(&size) {
        return format!("{value:.4e}");
    }
    let digits_before = if size < 1.0 {
        0
    } else {
        size.log10().floor() as i32 + 1
    };
    let decimals = (SIGNIFICANT - digits_before).clamp(0, 8) as usize;
    let text = format!("{value:.decimals$}");
    grouped_text(&text)
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
    grouped_text(&value.to_string())
}

fn grouped_text(text: &str) -> String {
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

/// A share in percent without a sign: `95.1 %`.
pub fn share(fraction: f64) -> String {
    if !fraction.is_finite() {
        return MISSING.to_owned();
    }
    let text = format!("{:.2}", fraction * 100.0);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

/// A time to the minute, in UTC: `2026-09-03 14:02 UTC`.
pub fn time(at: UnixMillis) -> String {
    match Timestamp::from_millisecond(at.0) {
        Ok(stamp) => stamp.strftime("%Y-%m-%d %H:%M UTC").to_string(),
        Err(_) => MISSING.to_owned(),
    }
}

/// A day, in UTC: `2026-09-03`.
pub fn day(at: UnixMillis) -> String {
    match Timestamp::from_millisecond(at.0) {
        Ok(stamp) => stamp.strftime("%Y-%m-%d").to_string(),
        Err(_) => MISSING.to_owned(),
    }
}

/// A time for machines (`<time datetime>`): `2026-09-03T14:02:11Z`; empty where it is no time.
pub fn iso(at: UnixMillis) -> String {
    match Timestamp::from_millisecond(at.0) {
        Ok(stamp) => stamp.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        Err(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lesson_31_a_rounded_figure_stays_on_its_side_of_the_bar() {
        assert_eq!(percent(9.9996, Some(10.0)), "+9.9996 %");
        assert_eq!(percent(10.0, Some(10.0)), "+10.00 %");
        assert_eq!(percent(1.4951, Some(1.5)), "+1.495 %");
        assert_eq!(percent(0.0004, None), "+0.0004 %");
        assert_eq!(percent(-0.0004, None), "-0.0004 %");
        assert_eq!(percent(0.0, None), "+0.00 %");
        assert_eq!(percent(-0.0, None), "+0.00 %");
        assert_eq!(percent(f64::NAN, Some(1.0)), MISSING);
        assert_eq!(percent(f64::INFINITY, None), MISSING);
    }

    #[test]
    fn the_shown_bar_keeps_its_order_with_the_shown_estimate() {
        let text = effect_text(2.914, (1.0, 2.9141), Some(2.91412));
        assert_eq!(text.bar.as_deref(), Some("+2.91412 %"));
        assert_eq!(text.interval, "[+1.00, +2.91]");
        let text = effect_text(1.07, (0.8, 1.32), Some(1.5));
        assert_eq!(text.estimate, "+1.07 %");
        assert_eq!(text.bar.as_deref(), Some("+1.5 %"));
    }

    #[test]
    fn values_read_well() {
        assert_eq!(value(1311.84), "1,311.8");
        assert_eq!(value(0.012345), "0.01235");
        assert_eq!(value(153_945.2), "153,945");
        assert_eq!(value(2.0e-7), "2.0000e-7");
        assert_eq!(figure(1e-6), "1e-6");
        assert_eq!(figure(1.2e-9), "1.2e-9");
        assert_eq!(figure(0.0125), "0.0125");
        assert_eq!(count(16_859_136), "16,859,136");
        assert_eq!(duration(245_000), "4 min 05 s");
        assert_eq!(duration(600_000), "10 min");
        assert_eq!(bytes(64 << 20), "64.0 MiB");
        assert_eq!(share(0.9375), "93.75 %");
        assert_eq!(time(UnixMillis(1_788_444_131_000)), "2026-09-03 14:02 UTC");
        assert_eq!(time(UnixMillis(i64::MAX)), MISSING);
    }

    proptest! {
        #[test]
        fn rounding_never_crosses_the_bar(bar in -20.0f64..20.0, off in -0.2f64..0.2, scale in 0i32..8) {
            let estimate = bar + off / 10f64.powi(scale);
            let text = effect_text(estimate, (estimate - 0.3, estimate + 0.3), Some(bar));
            let number = |t: &str| t.trim_end_matches(" %").parse::<f64>().expect("a number");
            let shown_bar = number(text.bar.as_deref().expect("a bar"));
            prop_assert_eq!(number(&text.estimate).partial_cmp(&shown_bar), estimate.partial_cmp(&bar));
            prop_assert_eq!(number(&text.estimate).partial_cmp(&0.0), estimate.partial_cmp(&0.0));
        }
    }
}
