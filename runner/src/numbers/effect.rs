//! Effects in percent, their intervals, and the bars they are held against.

use serde::Serialize;

use super::MISSING;
use super::faithful::faithful;
use super::quantity::grouped;
use crate::model::{Bar, Better};

/// Decimals of a percentage where no comparison asks for more.
const DECIMALS: usize = 2;

/// A bar with at most this many decimals was written by a person and is shown as written; one
/// with more was computed from an absolute bar.
const WRITTEN_DECIMALS: usize = 6;

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
/// exactly as the real ones do, and are in the same order.
pub fn effect_text(estimate: f64, ends: (f64, f64), bar: Option<f64>) -> EffectText {
    let values = [estimate, ends.0, ends.1];
    let bar = bar
        .filter(|b| b.is_finite())
        .map(|b| bar_digits(b, &values));
    let shown_bar = bar.as_deref().and_then(|text| text.parse::<f64>().ok());
    EffectText {
        estimate: percent(estimate, shown_bar),
        interval: interval(ends, shown_bar),
        bar: bar.map(|digits| format!("{digits} %")),
    }
}

/// A percentage with its sign and two decimals, more where it takes more to stand to `against`
/// and to zero as the real value does: 9.9996 against 10 is `+9.9996 %`.
pub fn percent(value: f64, against: Option<f64>) -> String {
    match signed(value, against) {
        Some(digits) => format!("{digits} %"),
        None => MISSING.to_owned(),
    }
}

/// An interval in percent: `[+0.80, +1.32]`; each end stands to `against` and to zero as the real
/// one does.
pub fn interval(ends: (f64, f64), against: Option<f64>) -> String {
    let end = |value| signed(value, against).unwrap_or_else(|| MISSING.to_owned());
    format!("[{}, {}]", end(ends.0), end(ends.1))
}

fn signed(value: f64, against: Option<f64>) -> Option<String> {
    if !value.is_finite() {
        return None;
    }
    let limits: Vec<f64> = [0.0].into_iter().chain(against).collect();
    let digits = faithful(value, DECIMALS, &limits);
    Some(if value > 0.0 {
        format!("+{digits}")
    } else {
        digits
    })
}

/// A bar as an effect, beside no effect: `+1.5 %`.
pub fn bar_percent(bar: f64) -> String {
    match bar.is_finite() {
        true => format!("{} %", bar_digits(bar, &[])),
        false => MISSING.to_owned(),
    }
}

/// The bar as it was written; a computed one with as few decimals as keep its order with `values`.
fn bar_digits(bar: f64, values: &[f64]) -> String {
    let exact = format!("{bar:+}");
    let decimals = exact.split_once('.').map_or(0, |(_, digits)| digits.len());
    if decimals <= WRITTEN_DECIMALS {
        return exact;
    }
    let digits = faithful(bar, DECIMALS, values);
    match digits.starts_with('-') {
        true => digits,
        false => format!("+{digits}"),
    }
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
            format!("{sign} {} {unit}", grouped(&value.to_string()))
        }
    }
}

/// A coverage in 0..1 as a percentage, rounded down so that it is never overstated: `93.75 %`.
pub fn coverage(coverage: f64) -> String {
    if !coverage.is_finite() {
        return MISSING.to_owned();
    }
    // The epsilon undoes the last bit of the multiplication: .9375 is 93.75 and not 93.74.
    let hundredths = (coverage * 1e4 + 1e-6).floor();
    format!("{} %", hundredths / 100.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn number(text: &str) -> f64 {
        let digits = text.trim_end_matches(" %");
        digits.parse().expect("it reads back")
    }

    fn shown_ends(text: &str) -> (f64, f64) {
        let inside = text.trim_matches(['[', ']']);
        let (low, high) = inside.split_once(", ").expect("two ends");
        (number(low), number(high))
    }

    #[test]
    fn two_decimals_where_that_is_true() {
        assert_eq!(percent(1.5, Some(1.5)), "+1.50 %");
        assert_eq!(percent(1.0668, Some(1.5)), "+1.07 %");
        assert_eq!(percent(-19.52, None), "-19.52 %");
        assert_eq!(percent(0.0, None), "0.00 %");
        assert_eq!(percent(-0.0, None), "0.00 %");
        assert_eq!(percent(f64::NAN, Some(1.0)), MISSING);
        assert_eq!(percent(f64::INFINITY, None), MISSING);
    }

    #[test]
    fn lesson_31_a_rounded_figure_stays_on_its_side_of_the_bar() {
        assert_eq!(percent(9.9996, Some(10.0)), "+9.9996 %");
        assert_eq!(percent(1.4951, Some(1.5)), "+1.495 %");
        assert_eq!(percent(0.0004, None), "+0.0004 %");
        assert_eq!(percent(-0.0004, None), "-0.0004 %");
        assert_eq!(percent(1.5 + 1e-13, Some(1.5)), "+1.5000000000001 %");
    }

    #[test]
    fn the_shown_bar_keeps_its_order_with_the_shown_estimate() {
        let text = effect_text(2.914, (1.0, 2.9141), Some(2.91412));
        assert_eq!(text.bar.as_deref(), Some("+2.91412 %"));
        assert_eq!(text.interval, "[+1.00, +2.91]");
        let text = effect_text(1.07, (0.8, 1.32), Some(1.5));
        assert_eq!(text.estimate, "+1.07 %");
        assert_eq!(text.bar.as_deref(), Some("+1.5 %"));
        let computed = 100.0 * (1350.0f64 / 1300.0 - 1.0);
        let text = effect_text(1.07, (0.8, 1.32), Some(computed));
        assert_eq!(text.bar.as_deref(), Some("+3.85 %"));
        assert_eq!(bar_percent(computed), "+3.85 %");
        assert_eq!(bar_percent(1.5), "+1.5 %");
        assert_eq!(bar_percent(f64::NAN), MISSING);
    }

    #[test]
    fn bars_and_coverages() {
        let relative = Bar::Relative { percent: 1.5 };
        let absolute = Bar::Absolute { value: 1350.0 };
        assert_eq!(declared_bar(relative, Better::Lower, "tok/s"), "+1.5 %");
        assert_eq!(
            declared_bar(absolute, Better::Higher, "tok/s"),
            ">= 1,350 tok/s"
        );
        assert_eq!(declared_bar(absolute, Better::Lower, "ms"), "<= 1,350 ms");
        assert_eq!(coverage(0.9375), "93.75 %");
        assert_eq!(coverage(0.75), "75 %");
        assert_eq!(coverage(0.949_999), "94.99 %");
        assert_eq!(coverage(f64::NAN), MISSING);
    }

    proptest! {
        #[test]
        fn rounding_never_crosses_a_limit(v in -50.0f64..50.0, b in -20.0f64..20.0, near in -1e-7f64..1e-7) {
            for v in [v, b, b + near, (v * 10.0).round() / 10.0] {
                let shown = number(&percent(v, Some(b)));
                prop_assert_eq!(shown.partial_cmp(&b), v.partial_cmp(&b));
                prop_assert_eq!(shown.partial_cmp(&0.0), v.partial_cmp(&0.0));
            }
        }

        #[test]
        fn what_is_shown_of_an_effect_compares_as_what_is(
            bar in -20.0f64..20.0,
            off in -0.2f64..0.2,
            scale in 0i32..8,
            below in 0.0f64..0.4,
            above in 0.0f64..0.4,
        ) {
            for bar in [bar, (bar * 100.0).round() / 100.0] {
                let estimate = bar + off / 10f64.powi(scale);
                let ends = (estimate - below, estimate + above);
                let text = effect_text(estimate, ends, Some(bar));
                let shown_bar = number(text.bar.as_deref().expect("a bar"));
                let (low, high) = shown_ends(&text.interval);
                let shown = number(&text.estimate);
                for (shown, real) in [(shown, estimate), (low, ends.0), (high, ends.1)] {
                    prop_assert_eq!(shown.partial_cmp(&shown_bar), real.partial_cmp(&bar));
                    prop_assert_eq!(shown.partial_cmp(&0.0), real.partial_cmp(&0.0));
                }
                prop_assert!(low <= shown && shown <= high, "{text:?}");
            }
        }
    }
}
