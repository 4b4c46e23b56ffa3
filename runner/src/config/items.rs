//! The gates and benches of `campaign.toml`: what is asked of a side, and where the answer is.

use super::bar::parse_bar;
use super::floor;
use super::reader::{Item, Section};
use super::schema;
use super::sections::timeout;
use super::values::{command, environment, extract, pattern};
use super::{Bench, Extract, FigureRule, Identity, NamedFormat, OutputClass, Parity, Probe};
use crate::model::{Bar, Better};

/// Time limit for one launch where none is given, seconds.
pub(super) const LAUNCH_S: u64 = 600;
/// Tokens that identity promises where no number is given: greedy-32.
const TOKENS: u64 = 32;
/// Untimed runs inside a harness's launch where no number is given.
const WARMUP: u32 = 2;

/// What gates and benches need to know of the rest of the file.
pub(super) struct Context<'s, 'a> {
    /// The document.
    pub(super) root: &'s Section<'a>,
    /// Whether there is a `[harness]`.
    pub(super) harness: bool,
}

impl<'a> Context<'_, 'a> {
    /// How an item is asked: exactly one of `command` and `harness`.
    fn probe(&self, section: &Section<'a>, name: Option<&str>) -> Option<Probe> {
        match (section.get("command"), section.get("harness")) {
            (Some(item), None) => command(item).map(Probe::Command),
            (None, Some(item)) => self.case(item, name),
            (Some(_), Some(item)) => {
                item.reject(
                    "both `command` and `harness` are given",
                    "keep one: a command of its own, or a case of the harness",
                );
                None
            }
            (None, None) => {
                section.sink.error_help(
                    section.span(),
                    "neither `command` nor `harness` is given",
                    "add `command = [\"./engine\", …]`, or `harness = true` to ask the harness",
                );
                None
            }
        }
    }

    fn case(&self, item: Item<'a>, name: Option<&str>) -> Option<Probe> {
        if !self.harness {
            item.reject(
                "`harness` is used, but the file has no `[harness]`",
                "add `[harness]` with a `command`, or give this item a `command` of its own",
            );
            return None;
        }
        match item.value.get_ref().as_bool() {
            Some(true) => name.map(|name| Probe::Harness(name.to_owned())),
            Some(false) => {
                item.reject("`harness = false` says nothing", "leave it out");
                None
            }
            None if item.value.get_ref().is_str() => {
                item.filled().map(|text| Probe::Harness(text.into_inner()))
            }
            None => {
                item.wrong_type("`true` or the case's name in quotes");
                None
            }
        }
    }
}

/// A name that is unique among its kind.
pub(super) fn name(
    section: &Section<'_>,
    taken: &mut Vec<String>,
    example: &str,
) -> Option<String> {
    let item = section.required("name", example)?;
    let text = item.filled()?;
    let name = text.get_ref();
    let odd = name.trim() != name || name.chars().any(char::is_control) || name.len() > 100;
    if odd || name.contains(['<', '>', '"', '`']) {
        item.reject(
            format!("`{}` will not do as a name", name.escape_debug()),
            "at most 100 characters, without blanks at the ends, control characters, quotes, \
             `<` and `>`",
        );
        return None;
    }
    if taken.contains(name) {
        item.reject(
            format!("the name `{name}` is used twice"),
            "names are how trailers, records and pages refer to an item; choose another",
        );
        return None;
    }
    taken.push(name.clone());
    Some(text.into_inner())
}

/// `[[parity]]`.
pub(super) fn parity(context: &Context<'_, '_>) -> Vec<Parity> {
    let mut taken = Vec::new();
    let mut cases = Vec::new();
    for section in context.root.sections(&schema::PARITY) {
        let name = name(&section, &mut taken, "\"KD=4\"");
        let probe = context.probe(&section, name.as_deref());
        let figures = figures(&section);
        let env = own_environment(&section);
        let timeout_s = timeout(&section, "timeout_s", LAUNCH_S);
        if let (Some(name), Some(probe)) = (name, probe) {
            cases.push(Parity {
                name,
                probe,
                figures,
                env,
                timeout_s,
            });
        }
    }
    cases
}

fn figures(parity: &Section<'_>) -> Vec<FigureRule> {
    let asks_harness = parity.get("harness").is_some();
    let mut taken = Vec::new();
    let mut figures = Vec::new();
    for section in parity.sections(&schema::FIGURE) {
        let name = name(&section, &mut taken, "\"nmse\"");
        let value = where_it_is(&section, "value", asks_harness);
        let max = section
            .required("max", "1e-6")
            .and_then(|item| item.positive_or_zero());
        if let (Some(name), Some(value), Some(max)) = (name, value, max) {
            figures.push(FigureRule { name, value, max });
        }
    }
    figures
}

/// Where a number is in a command's output: needed with a command, wrong with a harness.
/// `None` when something is wrong, `Some(None)` with a harness.
fn where_it_is(
    section: &Section<'_>,
    key: &'static str,
    asks_harness: bool,
) -> Option<Option<Extract>> {
    match (section.get(key), asks_harness) {
        (Some(item), false) => extract(item).map(Some),
        (None, true) => Some(None),
        (Some(item), true) => {
            item.reject(
                format!("`{key}` is given for an item that asks the harness"),
                "the harness answers with the number itself; leave it out",
            );
            None
        }
        (None, false) => {
            section.required(key, "{ regex = '([0-9.]+) tok/s' }");
            None
        }
    }
}

/// Environment of one item. A harness is one process for all its cases, so it has none.
fn own_environment(section: &Section<'_>) -> std::collections::BTreeMap<String, String> {
    if let (Some(item), Some(_)) = (section.get("env"), section.get("harness")) {
        item.reject(
            "`env` is given for an item that asks the harness",
            "the harness is one process for all its cases: set `env` in `[harness]`",
        );
    }
    environment(section, "env")
}

/// `[identity]`.
pub(super) fn identity(context: &Context<'_, '_>) -> Option<Identity> {
    let section = context.root.section(&schema::IDENTITY)?;
    let probe = context.probe(&section, Some("greedy-32"));
    let drop_lines = match section.get("drop_lines") {
        Some(item) => item
            .list()
            .into_iter()
            .filter(|text| pattern(text, item).is_some())
            .map(|text| text.into_inner())
            .collect(),
        None => Vec::new(),
    };
    let tokens = section
        .get("tokens")
        .and_then(|item| item.integer(1..100_001, "how many tokens are promised"))
        .unwrap_or(TOKENS);
    let count = match section.get("count") {
        Some(_) => where_it_is(&section, "count", section.get("harness").is_some()).flatten(),
        None => None,
    };
    Some(Identity {
        probe: probe?,
        drop_lines,
        tokens: tokens as u32,
        count,
        env: own_environment(&section),
        timeout_s: timeout(&section, "timeout_s", LAUNCH_S),
    })
}

/// `[[bench]]`.
pub(super) fn benches(context: &Context<'_, '_>) -> Vec<Bench> {
    let mut taken = Vec::new();
    let peaks = floor::peaks(context.root);
    let read = |section: &Section<'_>| {
        let bench = bench(context, section, &mut taken)?;
        let of = floor::Of {
            unit: &bench.unit,
            better: bench.better,
            peaks: &peaks,
        };
        let floor = floor::floor(section, &of);
        Some(Bench { floor, ..bench })
    };
    context
        .root
        .sections(&schema::BENCH)
        .iter()
        .filter_map(read)
        .collect()
}

fn bench<'a>(
    context: &Context<'_, 'a>,
    section: &Section<'a>,
    taken: &mut Vec<String>,
) -> Option<Bench> {
    let asks_harness = section.get("harness").is_some();
    let name = name(section, taken, "\"prefill\"");
    let probe = context.probe(section, name.as_deref());
    let value = where_it_is(section, "value", asks_harness);
    let format = value
        .as_ref()
        .and_then(Option::as_ref)
        .and_then(|value| match value {
            Extract::Format { format, .. } => Some(*format),
            _ => None,
        });
    let unit = unit(section, format);
    let better = better(section, format);
    let bar = match (section.get("bar"), unit.as_deref(), better) {
        (Some(item), Some(unit), Some(better)) => bar(item, unit, better).map(Some),
        (Some(_), _, _) => None,
        (None, _, _) => Some(None),
    };
    let env = own_environment(section);
    let timeout_s = timeout(section, "timeout_s", LAUNCH_S);
    let warmup = inner_runs(section, "warmup", 0).unwrap_or(WARMUP);
    let inner = inner_runs(section, "inner", 1);
    let output = section.get("output").and_then(output_class);
    Some(Bench {
        name: name?,
        probe: probe?,
        value: value?,
        unit: unit?,
        better: better?,
        bar: bar?,
        env,
        timeout_s,
        warmup,
        inner,
        output: output.unwrap_or_default(),
        floor: None,
    })
}

fn output_class(item: Item<'_>) -> Option<OutputClass> {
    item.word(&[
        ("tolerance", OutputClass::Tolerance),
        ("bytes", OutputClass::Bytes),
    ])
}

/// A number of runs inside a harness's launch.
fn inner_runs(section: &Section<'_>, key: &'static str, least: u64) -> Option<u32> {
    let item = section.get(key)?;
    if section.get("harness").is_none() {
        item.reject(
            format!("`{key}` has an effect only with `harness`"),
            "a command does its own warm-up and repetitions; give them in its arguments",
        );
    }
    item.integer(least..100_001, "runs inside one launch of the harness")
        .map(|runs| runs as u32)
}

/// A bench's unit; what the named formats print is known.
fn unit(section: &Section<'_>, format: Option<NamedFormat>) -> Option<String> {
    let known: &[&str] = match format {
        Some(NamedFormat::LlamaBench) => &["tok/s"],
        Some(NamedFormat::Nvbench | NamedFormat::Hyperfine) => &["s"],
        Some(NamedFormat::GoogleBenchmark) => &["ns", "us", "ms", "s"],
        None => &[],
    };
    let Some(item) = section.get("unit") else {
        if let [only] = known {
            return Some((*only).to_owned());
        }
        section.required("unit", "\"tok/s\"");
        return None;
    };
    let text = item.filled()?;
    let unit = text.get_ref();
    if unit.trim() != unit || unit.chars().any(char::is_control) || unit.len() > 32 {
        item.reject(
            "the unit has blanks at its ends, control characters, or more than 32 bytes",
            "write it as the output does, such as `tok/s`",
        );
        return None;
    }
    if !known.is_empty() && !known.contains(&unit.as_str()) {
        item.reject(
            format!("the format's values are not in `{unit}`"),
            format!("they are in {}", known.join(", ")),
        );
        return None;
    }
    Some(text.into_inner())
}

/// A bench's direction; that of the named formats is known.
fn better(section: &Section<'_>, format: Option<NamedFormat>) -> Option<Better> {
    let words = [("higher", Better::Higher), ("lower", Better::Lower)];
    if let Some(item) = section.get("better") {
        return item.word(&words);
    }
    match format {
        Some(NamedFormat::LlamaBench) => Some(Better::Higher),
        Some(_) => Some(Better::Lower),
        None => {
            section.required("better", "\"higher\"");
            None
        }
    }
}

fn bar(item: Item<'_>, unit: &str, better: Better) -> Option<Bar> {
    let text = item.filled()?;
    match parse_bar(text.get_ref(), unit, better) {
        Ok(bar) => Some(bar),
        Err(error) => {
            item.reject(error.message, error.help);
            None
        }
    }
}
