//! Numbers as text. Rounding never contradicts the verdict: a number that is shown beside a limit
//! keeps as many decimals as it takes to stand on the same side of it.

use std::cmp::Ordering;

use crate::model::{Bar, Better, Effect};

/// Beyond this many decimals a number is shown in full.
const MOST_DECIMALS: usize = 9;

/// A percentage with its sign and one decimal, more where it takes more to stand on the right
/// side of `against` and of zero: 9.9996 against 10 is `+9.9996 %`.
pub fn percent(value: f64, against: Option<f64>) -> String {
    format!("{} %", signed(value, against))
}

fn signed(value: f64, against: Option<f64>) -> String {
    let mut limits = vec![0.0];
    limits.extend(against);
    let text = faithful(value, 1, &limits);
    if value > 0.0 {
        format!("+{text}")
    } else {
        text
    }
}

/// An interval in percent: `+1.2 … +2.1 %`; both ends stand on the right side of `against`.
pub fn interval(effect: &Effect, against: Option<f64>) -> String {
    format!(
        "{} … {} %",
        signed(effect.low, against),
        signed(effect.high, against)
    )
}

/// A coverage in 0..1 as a percentage, rounded down so that it is never overstated.
pub fn coverage(coverage: f64) -> String {
    // The epsilon undoes the last bit of the multiplication: .9375 is 93.75 and not 93.74.
    let hundredths = (coverage * 1e4 + 1e-6).floor();
    format!("{} %", hundredths / 100.0)
}

/// A value with about five significant digits and its unit; more digits where it takes more to
/// stand on the right side of `against`.
pub fn value(value: f64, unit: &str, against: Option<f64>) -> String {
    const DIGITS: i32 = 5;
    let magnitude = if value == 0.0 || !value.is_finite() {
        0
    } else {
        value.abs().log10().floor() as i32
    };
    let decimals = usize::try_from(DIGITS - 1 - magnitude)
        .unwrap_or(0)
        .min(MOST_DECIMALS);
    let limits: Vec<f64> = against.into_iter().collect();
    let text = if value.abs() < 1e-4 && value != 0.0 {
        // Too small for decimals: the shortest text that reads back as the same number.
        format!("{value:e}")
    } else {
        faithful(value, decimals, &limits)
    };
    format!("{text} {unit}")
}

/// A bar as it is written in trailers: `+1.5 %`, `>= 1350 tok/s`, `<= 2.1 ms`.
pub fn bar(bar: &Bar, unit: &str, better: Better) -> String {
    match (bar, better) {
        (Bar::Relative { percent }, _) => format!("+{percent} %"),
        (Bar::Absolute { value }, Better::Higher) => format!(">= {value} {unit}"),
        (Bar::Absolute { value }, Better::Lower) => format!("<= {value} {unit}"),
    }
}

/// The number with at least `decimals` decimals, and with so many that it compares with every
/// limit as the exact number does.
fn faithful(value: f64, decimals: usize, limits: &[f64]) -> String {
    let agrees = |text: &str| {
        let shown: f64 = text.parse().unwrap_or(f64::NAN);
        limits
            .iter()
            .all(|limit| compare(shown, *limit) == compare(value, *limit))
    };
    (decimals..=decimals.max(MOST_DECIMALS))
        .map(|d| format!("{value:.d$}"))
        .find(|text| agrees(text))
        // The shortest text that reads back as exactly this number.
        .unwrap_or_else(|| value.to_string())
}

fn compare(a: f64, b: f64) -> Option<Ordering> {
    a.partial_cmp(&b)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> f64 {
        let number = text.split(' ').next().expect("a number");
        number.parse().expect("it reads back")
    }

    #[test]
    fn one_decimal_where_that_is_true() {
        assert_eq!(percent(1.5, Some(1.5)), "+1.5 %");
        assert_eq!(percent(1.0668, Some(1.5)), "+1.1 %");
        assert_eq!(percent(-19.52, None), "-19.5 %");
        assert_eq!(percent(0.0, None), "0.0 %");
    }

    #[test]
    fn more_decimals_where_rounding_would_contradict() {
        assert_eq!(percent(9.9996, Some(10.0)), "+9.9996 %");
        assert_eq!(percent(1.46, Some(1.5)), "+1.46 %");
        assert_eq!(percent(0.04, None), "+0.04 %");
        assert_eq!(percent(-0.004, None), "-0.004 %");
        assert_eq!(percent(1.25, Some(1.25)), "+1.25 %");
        assert_eq!(
            percent(1.500_000_000_000_1, Some(1.5)),
            "+1.5000000000001 %"
        );
    }

    #[test]
    fn values_keep_five_digits_and_their_side_of_the_bar() {
        assert_eq!(value(1311.84, "tok/s", None), "1311.8 tok/s");
        assert_eq!(value(0.2041, "s", None), "0.20410 s");
        assert_eq!(value(2_500_000.0, "ns", None), "2500000 ns");
        assert_eq!(value(1349.96, "tok/s", Some(1350.0)), "1349.96 tok/s");
        assert_eq!(value(1.25e-5, "s", None), "1.25e-5 s");
        assert_eq!(value(0.0, "s", None), "0.0000 s");
    }

    #[test]
    fn bars_and_coverages() {
        let relative = Bar::Relative { percent: 1.5 };
        let absolute = Bar::Absolute { value: 1350.0 };
        assert_eq!(bar(&relative, "tok/s", Better::Lower), "+1.5 %");
        assert_eq!(bar(&absolute, "tok/s", Better::Higher), ">= 1350 tok/s");
        assert_eq!(bar(&absolute, "ms", Better::Lower), "<= 1350 ms");
        assert_eq!(coverage(0.9375), "93.75 %");
        assert_eq!(coverage(0.75), "75 %");
        assert_eq!(coverage(0.949_999), "94.99 %");
    }

    proptest! {
        #[test]
        fn rounding_never_crosses_a_bar(v in -50.0f64..50.0, b in -20.0f64..20.0, near in -1e-7f64..1e-7) {
            for v in [v, b, b + near, (v * 10.0).round() / 10.0] {
                let shown = read(&percent(v, Some(b)));
                prop_assert_eq!(shown.partial_cmp(&b), v.partial_cmp(&b));
                prop_assert_eq!(shown.partial_cmp(&0.0), v.partial_cmp(&0.0));
            }
        }

        #[test]
        fn values_never_cross_a_bar(b in 1e-3f64..1e7, near in -1e-7f64..1e-7) {
            for v in [b, b * (1.0 + near), b * 1.01] {
                let shown = read(&value(v, "tok/s", Some(b)));
                prop_assert_eq!(shown.partial_cmp(&b), v.partial_cmp(&b));
            }
        }
    }
}
