//! Bars as people write them, in `campaign.toml` and in `Bar:` trailers.

use super::number;
use crate::model::{Bar, Better};

/// Why a bar cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} ({help})")]
pub struct BarError {
    /// What is wrong.
    pub message: String,
    /// How to write it.
    pub help: String,
}

/// Reads a bar: relative (`+1.5%`, `1.5 %`) or absolute (`>= 1350`, `<= 2.1 ms`).
///
/// A relative bar is an improvement, so it is positive whichever way is better. An absolute bar
/// must point in the bench's direction and, where it names a unit, in the bench's unit.
pub fn parse_bar(text: &str, unit: &str, better: Better) -> Result<Bar, BarError> {
    let text = text.trim();
    let operators = [
        (">=", ">="),
        ("\u{2265}", ">="),
        ("<=", "<="),
        ("\u{2264}", "<="),
    ];
    for (written, operator) in operators {
        if let Some(rest) = text.strip_prefix(written) {
            return absolute(text, operator, rest.trim(), unit, better);
        }
    }
    relative(text, unit, better)
}

/// A bar as [`parse_bar`] reads it: `+1.5%`, `>= 1350 tok/s`.
pub fn bar_text(bar: Bar, unit: &str, better: Better) -> String {
    match bar {
        Bar::Relative { percent } => format!("+{percent}%"),
        Bar::Absolute { value } => format!("{} {value} {unit}", operator_of(better)),
    }
}

fn example(unit: &str, better: Better) -> String {
    let operator = operator_of(better);
    format!("write `+1.5%`, or `{operator} VALUE {unit}`")
}

fn operator_of(better: Better) -> &'static str {
    match better {
        Better::Higher => ">=",
        Better::Lower => "<=",
    }
}

fn absolute(
    text: &str,
    operator: &str,
    rest: &str,
    unit: &str,
    better: Better,
) -> Result<Bar, BarError> {
    let wanted = operator_of(better);
    if operator != wanted {
        let way = match better {
            Better::Higher => "higher",
            Better::Lower => "lower",
        };
        return Err(BarError {
            message: format!("bar `{text}` points the wrong way: {way} is better for this bench"),
            help: format!("write `{wanted}`"),
        });
    }
    let number = number::scan(rest).ok_or_else(|| BarError {
        message: format!("bar `{text}` has no number after `{operator}`"),
        help: example(unit, better),
    })?;
    let found = number.rest.trim();
    if found == "%" {
        return Err(BarError {
            message: format!("bar `{text}` mixes an absolute bar with percent"),
            help: format!("a relative bar is `+{}%`", number.text),
        });
    }
    if !found.is_empty() && !same_unit(found, unit) {
        return Err(BarError {
            message: format!("bar `{text}` is in `{found}`, but the bench is in `{unit}`"),
            help: format!("give the value in `{unit}`"),
        });
    }
    if number.value <= 0.0 {
        return Err(BarError {
            message: format!("bar `{text}` is not above zero"),
            help: "benches have positive values, so the bar must be positive".to_owned(),
        });
    }
    Ok(Bar::Absolute {
        value: number.value,
    })
}

fn relative(text: &str, unit: &str, better: Better) -> Result<Bar, BarError> {
    let wrong = |message: String, help: String| Err(BarError { message, help });
    if text.starts_with(['-', '\u{2212}']) {
        return wrong(
            format!("bar `{text}` is negative"),
            "a bar is an improvement: write `+1.5%` also where lower is better".to_owned(),
        );
    }
    if text.starts_with(['>', '<', '=']) {
        return wrong(
            format!("bar `{text}` is neither relative nor absolute"),
            example(unit, better),
        );
    }
    let unsigned = text.strip_prefix('+').unwrap_or(text).trim_start();
    let Some(number) = number::scan(unsigned) else {
        return wrong(
            format!("bar `{text}` is not a number"),
            example(unit, better),
        );
    };
    match number.rest.trim() {
        "%" if number.value > 0.0 => Ok(Bar::Relative {
            percent: number.value,
        }),
        "%" => wrong(
            format!("bar `{text}` is zero"),
            "every positive effect would reach it: leave the bar out, or write one such as `+0.5%`"
                .to_owned(),
        ),
        "" => wrong(
            format!("bar `{text}` has no `%`"),
            format!(
                "write `+{0}%` for an improvement, or `{1} {0} {unit}` for a value to reach",
                number.text,
                operator_of(better)
            ),
        ),
        rest => wrong(
            format!("bar `{text}` has `{rest}` after the number"),
            example(unit, better),
        ),
    }
}

/// Whether two units are the same; the three ways to write microseconds count as one.
pub(super) fn same_unit(a: &str, b: &str) -> bool {
    let plain = |unit: &str| unit.replace(['\u{b5}', '\u{3bc}'], "u");
    plain(a) == plain(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn higher(text: &str) -> Result<Bar, BarError> {
        parse_bar(text, "tok/s", Better::Higher)
    }

    #[test]
    fn relative_bars() {
        for text in ["+1.5%", "1.5 %", " + 1.5 % "] {
            assert_eq!(higher(text), Ok(Bar::Relative { percent: 1.5 }), "{text}");
        }
        assert_eq!(
            parse_bar("+2%", "ms", Better::Lower),
            Ok(Bar::Relative { percent: 2.0 })
        );
    }

    #[test]
    fn absolute_bars() {
        for text in [">= 1350", ">=1,350 tok/s", "\u{2265} 1350"] {
            assert_eq!(higher(text), Ok(Bar::Absolute { value: 1350.0 }), "{text}");
        }
        let micro = parse_bar("<= 2.1 \u{3bc}s", "\u{b5}s", Better::Lower);
        assert_eq!(micro, Ok(Bar::Absolute { value: 2.1 }));
    }

    #[test]
    fn bars_read_back_as_they_are_written() {
        for bar in [
            Bar::Relative { percent: 0.25 },
            Bar::Absolute { value: 1350.5 },
        ] {
            for better in [Better::Higher, Better::Lower] {
                let text = bar_text(bar, "tok/s", better);
                assert_eq!(parse_bar(&text, "tok/s", better), Ok(bar), "{text}");
            }
        }
    }

    #[test]
    fn wrong_bars_say_what_to_write() {
        for (text, part) in [
            ("-1.5%", "negative"),
            ("0 %", "is zero"),
            ("1.5", "has no `%`"),
            ("<= 1350", "wrong way"),
            (">= 2.1 ms", "is in `ms`, but the bench is in `tok/s`"),
            (">= 0", "not above zero"),
            (">= 3%", "mixes"),
            (">=", "no number"),
            ("> 5", "neither"),
            ("fast", "not a number"),
            ("+1.5% more", "after the number"),
            ("", "not a number"),
        ] {
            let error = higher(text).expect_err(text);
            assert!(error.message.contains(part), "{text}: {error}");
            assert!(!error.help.is_empty());
        }
    }
}
