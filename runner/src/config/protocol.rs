//! `[protocol]`: the sequential protocol, or a fixed one by its number of pairs.

use super::reader::{Item, Section};
use super::{Protocol, number, schema};
use crate::stats::SMALLEST_WORTHWHILE;

/// The fewest pairs: a verdict never rests on single samples.
pub const LEAST_PAIRS: u32 = 3;

const MOST_PAIRS: u64 = 1000;

/// The largest effect that may count as not worth having, percent.
const MOST_WORTHWHILE: f64 = 100.0;

/// What is measured where the file does not say.
pub const DEFAULT_PROTOCOL: Protocol = Protocol::Sequential {
    smallest_worthwhile: SMALLEST_WORTHWHILE,
};

/// `[protocol]`.
pub(super) fn protocol(root: &Section<'_>) -> Option<Protocol> {
    let Some(section) = root.section(&schema::PROTOCOL) else {
        return Some(DEFAULT_PROTOCOL);
    };
    let bounds = u64::from(LEAST_PAIRS)..MOST_PAIRS + 1;
    let meaning = "how many base and head samples are compared; a verdict never rests on single \
                   samples";
    let count = |key| -> Option<Option<u32>> {
        match section.get(key) {
            Some(item) => Some(Some(item.integer(bounds.clone(), meaning)? as u32)),
            None => Some(None),
        }
    };
    let (pairs, samples, sequential) = (count("pairs"), count("samples"), sequential(&section));
    let fixed = match (pairs?, samples?) {
        (Some(_), Some(_)) => {
            section.sink.error_help(
                section.span(),
                "`[protocol]` has both `pairs` and `samples`",
                "keep one: both say how many samples each side gets",
            );
            return None;
        }
        (Some(n), None) => Some(Protocol::Pairs(n)),
        (None, Some(n)) => Some(Protocol::Samples(n)),
        (None, None) => None,
    };
    match (fixed, sequential?) {
        (Some(fixed), Said::No | Said::Nothing) => Some(fixed),
        (None, Said::Yes(sequential)) => Some(sequential),
        (None, Said::Nothing) => Some(DEFAULT_PROTOCOL),
        (Some(_), Said::Yes(_)) => {
            section.sink.error_help(
                section.span(),
                "`[protocol]` asks for a fixed number of pairs and for the sequential protocol",
                "keep `pairs` or `samples`, or `sequential` and `smallest_worthwhile`",
            );
            None
        }
        (None, Said::No) => {
            section.sink.error_help(
                section.span(),
                "`[protocol]` turns the sequential protocol off and names no other",
                "add `pairs = 10`, or leave `sequential = false` out",
            );
            None
        }
    }
}

/// What the file says of the sequential protocol.
enum Said {
    Yes(Protocol),
    No,
    Nothing,
}

/// `sequential` and `smallest_worthwhile`; `None` where one of them is wrong.
fn sequential(section: &Section<'_>) -> Option<Said> {
    let wanted = match section.get("sequential") {
        Some(item) => Some(item.truth()?),
        None => None,
    };
    let smallest = match section.get("smallest_worthwhile") {
        Some(item) => Some((item, percentage(item)?)),
        None => None,
    };
    match (wanted, smallest) {
        (Some(false), Some((item, _))) => {
            item.reject(
                "`smallest_worthwhile` belongs to the sequential protocol, which is turned off",
                "leave one of the two out",
            );
            None
        }
        (Some(false), None) => Some(Said::No),
        (None, None) => Some(Said::Nothing),
        (Some(true) | None, Some((_, smallest_worthwhile))) => {
            Some(Said::Yes(Protocol::Sequential {
                smallest_worthwhile,
            }))
        }
        (Some(true), None) => Some(Said::Yes(DEFAULT_PROTOCOL)),
    }
}

/// A percentage above 0, such as `0.5%`.
fn percentage(item: Item<'_>) -> Option<f64> {
    let text = item.filled()?;
    let scanned = number::scan(text.get_ref().trim());
    let value = scanned.filter(|found| found.rest.trim() == "%");
    match value.map(|found| found.value) {
        Some(percent) if percent > 0.0 && percent <= MOST_WORTHWHILE => Some(percent),
        _ => {
            item.reject(
                format!("`{}` is not a smallest worthwhile effect", text.get_ref()),
                "write a percentage above 0 and at most 100, such as `\"0.5%\"`",
            );
            None
        }
    }
}
