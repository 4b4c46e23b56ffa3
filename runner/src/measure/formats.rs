//! The output formats of four common benchmark programs.
//!
//! | format | how to call | field | unit | `select` |
//! |---|---|---|---|---|
//! | llama-bench | `-o json` or `-o jsonl` | `avg_ts` | tok/s | the test: `pp512`, `tg128`, `pp512+tg128`, `pp512 @ d4096` |
//! | Google Benchmark | `--benchmark_format=json` | `real_time` in `time_unit`; with repetitions the aggregate `median`, else the median of the repetitions | ns, us, ms or s: converted to the bench's | `run_name` |
//! | NVBench | `--json stdout --quiet` | summary `nv/cold/time/gpu/mean` | s | the benchmark's name, the state's, or both with a blank between |
//! | hyperfine | `--style none --export-json -` (or `/dev/stdout`) | `mean` | s | `command` |
//!
//! hyperfine and NVBench write their document to a file unless they are told standard output as
//! above; values are only ever read from standard output, never from a file that the code under
//! test could write.

use serde_json::Value;

use crate::config::NamedFormat;
use crate::model::Failure;
use crate::stats::median;

use super::values::json_number;

/// One named number of a document.
struct Entry {
    /// Names by which it can be selected; the first one is shown.
    names: Vec<String>,
    value: Result<f64, Failure>,
    unit: String,
}

/// Reads the one entry that `select` names, or the only one there is.
pub(super) fn read(
    format: NamedFormat,
    select: Option<&str>,
    documents: &[Value],
    unit: Option<&str>,
) -> Result<f64, Failure> {
    let entries = match format {
        NamedFormat::LlamaBench => llama_bench(documents),
        NamedFormat::GoogleBenchmark => google_benchmark(documents, select),
        NamedFormat::Nvbench => nvbench(documents),
        NamedFormat::Hyperfine => hyperfine(documents),
    };
    let mut chosen = entries
        .into_iter()
        .filter(|e| select.is_none_or(|wanted| e.names.iter().any(|name| name == wanted)));
    let entry = chosen.next().ok_or(Failure::NoValue)?;
    let others: Vec<String> = chosen.filter_map(|e| e.names.into_iter().next()).collect();
    if !others.is_empty() {
        let first = entry.names.first().map_or("", String::as_str);
        return Err(several(first, &others));
    }
    in_unit(entry.value?, &entry.unit, unit, format)
}

fn several(first: &str, others: &[String]) -> Failure {
    let shown: Vec<&str> = others.iter().map(String::as_str).take(4).collect();
    let more = if others.len() > shown.len() {
        ", …"
    } else {
        ""
    };
    Failure::NotANumber {
        text: format!(
            "{} entries ({first}, {}{more}); name the one to read with `select`",
            others.len() + 1,
            shown.join(", ")
        ),
    }
}

/// Converts Google Benchmark's `time_unit`, which the program under test chooses; any other
/// difference of units is refused.
fn in_unit(
    value: f64,
    found: &str,
    wanted: Option<&str>,
    format: NamedFormat,
) -> Result<f64, Failure> {
    let Some(wanted) = wanted else {
        return Ok(value);
    };
    let tokens = ["tok/s", "t/s", "tokens/s"];
    if found == wanted || (found == "tok/s" && tokens.contains(&wanted)) {
        return Ok(value);
    }
    let exponent = |unit| match format {
        NamedFormat::GoogleBenchmark => seconds_exponent(unit),
        _ => None,
    };
    match (exponent(found), exponent(wanted)) {
        // Powers of ten up to 9 are exact, so a division loses no more than one rounding.
        (Some(from), Some(to)) if from >= to => Ok(value * 10f64.powi(from - to)),
        (Some(from), Some(to)) => Ok(value / 10f64.powi(to - from)),
        _ => Err(Failure::OtherUnit {
            found: found.to_owned(),
        }),
    }
}

fn seconds_exponent(unit: &str) -> Option<i32> {
    match unit {
        "ns" => Some(-9),
        "us" | "µs" | "μs" => Some(-6),
        "ms" => Some(-3),
        "s" => Some(0),
        _ => None,
    }
}

fn text<'a>(object: &'a Value, key: &str) -> &'a str {
    object.get(key).and_then(Value::as_str).unwrap_or("")
}

fn field(object: &Value, key: &str) -> Result<f64, Failure> {
    json_number(object.get(key).ok_or(Failure::NoValue)?)
}

/// The array `key` of the last document that has one.
fn last_array<'a>(documents: &'a [Value], key: &str) -> &'a [Value] {
    documents
        .iter()
        .rev()
        .find_map(|d| d.get(key)?.as_array())
        .map_or(&[], Vec::as_slice)
}

fn llama_bench(documents: &[Value]) -> Vec<Entry> {
    documents
        .iter()
        .flat_map(|d| d.as_array().map_or(std::slice::from_ref(d), Vec::as_slice))
        .filter(|row| row.get("avg_ts").is_some())
        .map(|row| Entry {
            names: vec![llama_test_name(row)],
            value: field(row, "avg_ts"),
            unit: "tok/s".to_owned(),
        })
        .collect()
}

/// The name that llama-bench prints in its table's `test` column.
fn llama_test_name(row: &Value) -> String {
    let count = |key| row.get(key).and_then(Value::as_u64).unwrap_or(0);
    let work = match (count("n_prompt"), count("n_gen")) {
        (prompt, 0) => format!("pp{prompt}"),
        (0, generated) => format!("tg{generated}"),
        (prompt, generated) => format!("pp{prompt}+tg{generated}"),
    };
    match count("n_depth") {
        0 => work,
        depth => format!("{work} @ d{depth}"),
    }
}

fn google_benchmark(documents: &[Value], select: Option<&str>) -> Vec<Entry> {
    let rows = last_array(documents, "benchmarks");
    let run_name = |row: &Value| match text(row, "run_name") {
        "" => text(row, "name").to_owned(),
        name => name.to_owned(),
    };
    let mut names: Vec<String> = Vec::new();
    for name in rows.iter().map(run_name) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let mut entries: Vec<Entry> = names
        .into_iter()
        .map(|name| {
            let of_name: Vec<&Value> = rows.iter().filter(|r| run_name(r) == name).collect();
            google_entry(name, &of_name)
        })
        .collect();
    // A single row of an aggregate can be named in full: `BM_X_mean`.
    let exact = rows.iter().find(|row| {
        let is_run = entries.iter().any(|e| Some(e.names[0].as_str()) == select);
        !is_run && Some(text(row, "name")) == select
    });
    if let Some(row) = exact {
        entries = vec![google_entry(text(row, "name").to_owned(), &[row])];
    }
    entries
}

fn google_entry(name: String, rows: &[&Value]) -> Entry {
    let is_aggregate = |r: &&&Value| text(r, "run_type") == "aggregate";
    let runs: Vec<&Value> = rows.iter().filter(|r| !is_aggregate(r)).copied().collect();
    let aggregate = |kind| rows.iter().find(|r| text(r, "aggregate_name") == kind);
    let failed = rows
        .iter()
        .find(|r| r.get("error_occurred") == Some(&Value::Bool(true)));
    let chosen = match (aggregate("median"), runs.is_empty(), rows) {
        (Some(row), ..) => vec![*row],
        (None, true, [row]) => vec![*row],
        (None, true, _) => aggregate("mean").map(|r| vec![*r]).unwrap_or_default(),
        (None, false, _) => runs,
    };
    let value = match failed {
        Some(row) => Err(Failure::NotANumber {
            text: format!("error: {}", text(row, "error_message")),
        }),
        None => chosen
            .iter()
            .map(|row| field(row, "real_time"))
            .collect::<Result<Vec<f64>, Failure>>()
            .and_then(|times| median(&times).ok_or(Failure::NoValue)),
    };
    let unit = chosen.first().map_or("", |row| text(row, "time_unit"));
    Entry {
        names: vec![name],
        value,
        unit: unit.to_owned(),
    }
}

fn nvbench(documents: &[Value]) -> Vec<Entry> {
    let mut entries = Vec::new();
    for bench in last_array(documents, "benchmarks") {
        let states = bench.get("states").and_then(Value::as_array);
        for state in states.into_iter().flatten() {
            if state.get("is_skipped") == Some(&Value::Bool(true)) {
                continue;
            }
            let (bench, state_name) = (text(bench, "name"), text(state, "name"));
            entries.push(Entry {
                names: vec![
                    format!("{bench} {state_name}"),
                    bench.to_owned(),
                    state_name.to_owned(),
                ],
                value: nvbench_mean(state),
                unit: "s".to_owned(),
            });
        }
    }
    entries
}

fn nvbench_mean(state: &Value) -> Result<f64, Failure> {
    let with = |list: &Value, key: &str, wanted: &str| {
        let items = list.as_array()?;
        items.iter().find(|item| text(item, key) == wanted).cloned()
    };
    state
        .get("summaries")
        .and_then(|all| with(all, "tag", "nv/cold/time/gpu/mean"))
        .and_then(|summary| with(summary.get("data")?, "name", "value"))
        .ok_or(Failure::NoValue)
        .and_then(|value| field(&value, "value"))
}

fn hyperfine(documents: &[Value]) -> Vec<Entry> {
    last_array(documents, "results")
        .iter()
        .map(|result| {
            let codes = result.get("exit_codes").and_then(Value::as_array);
            let failed = codes
                .into_iter()
                .flatten()
                .find_map(|code| code.as_i64().filter(|c| *c != 0));
            let value = match failed {
                Some(code) => Err(Failure::Exit {
                    code: i32::try_from(code).unwrap_or(i32::MAX),
                }),
                None => field(result, "mean"),
            };
            Entry {
                names: vec![text(result, "command").to_owned()],
                value,
                unit: "s".to_owned(),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    /// The page for users names the fields that are read and the options that print them.
    #[test]
    fn the_values_page_agrees() {
        let page = include_str!("../../../docs/values.md");
        for words in [
            "avg_ts",
            "real_time",
            "nv/cold/time/gpu/mean",
            "--json stdout --quiet",
            "--export-json -",
            "--export-json /dev/stdout",
            "pp512 @ d4096",
        ] {
            assert!(page.contains(words), "docs/values.md does not say {words}");
        }
    }
}
