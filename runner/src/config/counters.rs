//! `[[counters]]` of `campaign.toml`: what is run under a profiler, and what is counted.

use super::items::{LAUNCH_S, name};
use super::reader::{Item, Section};
use super::schema;
use super::sections::timeout;
use super::values::{command, environment, pattern};
use super::{CommandLine, Counters, suggestion};
use crate::counters::{TABLE, find, is_raw_metric, is_time};

/// Launches that are profiled where no number is given.
const LAUNCHES: u64 = 1;
/// The most launches: each is replayed once per pass of the profiler.
const MOST_LAUNCHES: u64 = 100;
/// The most metrics of one table: each may need a pass of its own.
const MOST_METRICS: usize = 64;

/// `[[counters]]`.
pub(super) fn counters(root: &Section<'_>) -> Vec<Counters> {
    let mut taken = Vec::new();
    root.sections(&schema::COUNTERS)
        .iter()
        .filter_map(|section| one(section, &mut taken))
        .collect()
}

fn one(section: &Section<'_>, taken: &mut Vec<String>) -> Option<Counters> {
    let name = name(section, taken, "\"q_proj\"");
    let command = section
        .required("command", "[\"./engine\", \"--launch\", \"q_proj\"]")
        .and_then(program);
    let kernels = section
        .required("kernels", "\"mmq_wide\"")
        .and_then(kernels);
    let launches = section
        .get("launches")
        .and_then(|item| item.integer(1..MOST_LAUNCHES + 1, "how many launches are profiled"))
        .unwrap_or(LAUNCHES);
    let metrics = section.get("metrics").map(metrics).unwrap_or_default();
    let env = environment(section, "env");
    let timeout_s = timeout(section, "timeout_s", LAUNCH_S);
    Some(Counters {
        name: name?,
        command: command?,
        kernels: kernels?,
        launches: launches as u32,
        metrics,
        env,
        timeout_s,
    })
}

/// A command that the profiler does not take for an option of its own.
fn program(item: Item<'_>) -> Option<CommandLine> {
    let command = command(item)?;
    let first = match &command {
        CommandLine::Argv(words) => words.first(),
        CommandLine::Shell(script) => Some(script),
    };
    let first = first.map(|word| word.trim_start()).unwrap_or_default();
    if !first.starts_with('-') {
        return Some(command);
    }
    item.reject(
        "the command begins with `-`, as an option of the profiler does",
        "name a program first; write one of that name as `./-name`",
    );
    None
}

/// An expression that also the profiler reads.
fn kernels(item: Item<'_>) -> Option<String> {
    let text = item.filled()?;
    pattern(&text, item)?;
    Some(text.into_inner())
}

fn metrics(item: Item<'_>) -> Vec<String> {
    let mut metrics: Vec<String> = Vec::new();
    for text in item.list() {
        let name = text.get_ref();
        let wrong = if find(name).is_none() && !is_raw_metric(name) {
            let known = TABLE.iter().map(|counter| counter.name);
            Some((
                format!("`{name}` is neither a counter nor a metric"),
                format!(
                    "{}; the profiler's own names look like `smsp__inst_executed.sum`",
                    suggestion(name, known)
                ),
            ))
        } else if is_time(name) {
            Some((
                format!("`{name}` is a time, and a time under a profiler is no measurement"),
                "leave it out; measure times by a `[[bench]]`".to_owned(),
            ))
        } else if metrics.contains(name) {
            Some((
                format!("`{name}` is listed twice"),
                "leave one of them out".to_owned(),
            ))
        } else {
            None
        };
        match wrong {
            Some((message, help)) => item.sink.error_help(text.span(), message, help),
            None => metrics.push(text.into_inner()),
        }
    }
    if metrics.len() > MOST_METRICS {
        item.reject(
            format!("`metrics` names {} metrics", metrics.len()),
            format!("name at most {MOST_METRICS}; each may need a pass of its own"),
        );
    }
    metrics
}
