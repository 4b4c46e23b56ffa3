//! Numbers from what a command printed. Reads only the bytes it is given; never a file.
//!
//! A number that is not there, not finite or in another unit is a [`Failure`], never a zero.

use regex::{Captures, Regex};
use serde_json::Value;

use crate::config::Extract;
use crate::model::f64_text::F64Text;
use crate::model::{Facts, Failure};

use super::documents;
use super::formats;

/// Reads a bench's value: finite and positive.
///
/// # Errors
/// The [`Failure`] that says what was printed instead.
pub fn bench_value(extract: &Extract, stdout: &[u8], unit: &str) -> Result<f64, Failure> {
    positive(number(extract, stdout, Some(unit))?)
}

/// Reads any finite number; `unit` is checked where the output says one and it is given.
///
/// # Errors
/// The [`Failure`] that says what was printed instead.
pub fn number(extract: &Extract, stdout: &[u8], unit: Option<&str>) -> Result<f64, Failure> {
    let text = String::from_utf8_lossy(stdout);
    match extract {
        Extract::Regex(pattern) => by_regex(pattern, &text, unit),
        Extract::Json(pointer) => by_pointer(pointer, &text),
        Extract::Format { format, select } => {
            formats::read(*format, select.as_deref(), &documents::all(&text), unit)
        }
    }
}

/// What a command says about its work: `facts` in the JSON document in which its value is. Nothing
/// where the value is found in another way, or the document has none.
///
/// # Errors
/// Where `facts` is there and cannot be read.
pub fn reported_facts(extract: &Extract, stdout: &[u8]) -> Result<Facts, Failure> {
    let Extract::Json(_) = extract else {
        return Ok(Facts::default());
    };
    let document = documents::last(&String::from_utf8_lossy(stdout));
    let Some(found) = document.as_ref().and_then(|d| d.get("facts")) else {
        return Ok(Facts::default());
    };
    let unreadable = |error: serde_json::Error| Failure::Harness {
        message: format!("its `facts` cannot be read: {error}"),
    };
    kept(serde_json::from_value(found.clone()).map_err(unreadable)?)
}

/// Passes facts that can be kept.
///
/// # Errors
/// Says what is wrong with them.
pub fn kept(facts: Facts) -> Result<Facts, Failure> {
    match facts.fault() {
        None => Ok(facts),
        Some(fault) => Err(Failure::Harness {
            message: format!("what it reports besides its value cannot be kept: {fault}"),
        }),
    }
}

/// Passes a value that can enter a comparison.
///
/// # Errors
/// `NotANumber` for NaN and infinities, `NotPositive` for zero and below.
pub fn positive(value: f64) -> Result<f64, Failure> {
    if !value.is_finite() {
        return Err(not_a_number(value.to_string()));
    }
    if value <= 0.0 {
        return Err(Failure::NotPositive {
            value: F64Text(value.to_string()),
        });
    }
    Ok(value)
}

/// The number in a JSON value: a number, or a string that holds one (NVBench prints such).
pub(crate) fn json_number(value: &Value) -> Result<f64, Failure> {
    match value {
        Value::Number(n) => n.as_f64().ok_or_else(|| not_a_number(n.to_string())),
        Value::String(text) => parse(text),
        other => Err(not_a_number(other.to_string())),
    }
}

fn not_a_number(text: impl Into<String>) -> Failure {
    Failure::NotANumber { text: text.into() }
}

fn parse(text: &str) -> Result<f64, Failure> {
    let text = text.trim();
    if text.is_empty() {
        return Err(Failure::NoValue);
    }
    if is_grouped(text) {
        return Err(not_a_number(format!(
            "{text} (digits in groups; print the number without thousands separators)"
        )));
    }
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => Err(not_a_number(text)),
    }
}

fn by_pointer(pointer: &str, text: &str) -> Result<f64, Failure> {
    let document = documents::last(text).ok_or(Failure::NoValue)?;
    json_number(document.pointer(pointer).ok_or(Failure::NoValue)?)
}

fn by_regex(pattern: &str, text: &str, unit: Option<&str>) -> Result<f64, Failure> {
    let regex = Regex::new(pattern).map_err(|error| Failure::NotStarted {
        reason: format!("the pattern `{pattern}` is not a regular expression: {error}"),
    })?;
    let captures = regex.captures_iter(text).last().ok_or(Failure::NoValue)?;
    let declares_unit = regex.capture_names().flatten().any(|name| name == "unit");
    if let (true, Some(wanted)) = (declares_unit, unit) {
        let found = captures.name("unit").map_or("", |m| m.as_str());
        if found != wanted {
            return Err(Failure::OtherUnit {
                found: found.to_owned(),
            });
        }
    }
    parse(&whole_number(&captures, text)?)
}

/// The captured text, with a minus sign that stands right before the match; refused where the
/// pattern caught only a part of a longer number (`350` of `1,350`, `1.5` of `1.5e3`).
fn whole_number(captures: &Captures<'_>, text: &str) -> Result<String, Failure> {
    let group = captures.name("value").or_else(|| captures.get(1));
    let (Some(group), Some(all)) = (group, captures.get(0)) else {
        return Err(Failure::NoValue);
    };
    let (mut start, mut end) = (group.start(), group.end());
    if start == all.start() {
        start -= number_before(&text[..start]);
    }
    if end == all.end() {
        end += number_after(&text[start..end], &text[end..]);
    }
    let whole = &text[start..end];
    if whole != group.as_str() && (is_grouped(whole) || whole.parse::<f64>().is_ok()) {
        return Err(not_a_number(format!(
            "{whole} (the pattern takes only `{}` of it)",
            group.as_str()
        )));
    }
    let negative = group.start() == all.start() && is_minus(&text[..group.start()]);
    let sign = if negative { "-" } else { "" };
    Ok(format!("{sign}{}", group.as_str().trim()))
}

fn in_number(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | ',' | '\'' | '_')
}

/// How many bytes right before a number look like a part of it.
fn number_before(before: &str) -> usize {
    let rest = before.trim_end_matches(in_number);
    // The sign of an exponent: the `1.5e+` of `1.5e+03`.
    match rest.strip_suffix(['+', '-']) {
        Some(mantissa) if mantissa.ends_with(['e', 'E']) => {
            before.len() - mantissa.trim_end_matches(in_number).len()
        }
        _ => before.len() - rest.len(),
    }
}

/// How many bytes right after a number look like a part of it.
fn number_after(number: &str, after: &str) -> usize {
    let rest = after.trim_start_matches(in_number);
    let taken = after.len() - rest.len();
    let ends_in_e = after[..taken]
        .chars()
        .next_back()
        .or(number.chars().next_back());
    match (ends_in_e, rest.strip_prefix(['+', '-'])) {
        (Some('e' | 'E'), Some(exponent)) => {
            after.len() - exponent.trim_start_matches(in_number).len()
        }
        _ => taken,
    }
}

/// Whether the text before a number ends in a minus sign rather than a hyphen or a range.
fn is_minus(before: &str) -> bool {
    before.strip_suffix('-').is_some_and(|rest| {
        rest.chars()
            .next_back()
            .is_none_or(|c| c.is_whitespace() || matches!(c, '=' | ':' | '(' | '['))
    })
}

/// Whether the text is one number with digits in groups of three: `1,350`, `1'350.5`, `1_350`.
fn is_grouped(text: &str) -> bool {
    let text = text.strip_prefix(['-', '+']).unwrap_or(text);
    let integer = text.split('.').next().unwrap_or(text);
    let mut groups = integer.split([',', '\'', '_']);
    let digits = |g: &str| !g.is_empty() && g.bytes().all(|b| b.is_ascii_digit());
    let first = groups.next().unwrap_or("");
    let mut rest = 0;
    let all_three = groups.all(|g| {
        rest += 1;
        digits(g) && g.len() == 3
    });
    digits(first) && first.len() <= 3 && all_three && rest > 0
}

#[cfg(test)]
#[path = "values_tests.rs"]
mod tests;
