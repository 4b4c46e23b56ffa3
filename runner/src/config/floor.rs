//! Floors: what no sample can beat, from the work that a run has to do and what the machine can do
//! at most. The bound is worked out here, once, in the bench's unit; samples are held against it
//! as they are taken.

use serde::{Deserialize, Serialize};

use super::number;
use super::reader::{Item, Section};
use super::schema;
use crate::model::Better;
use crate::numbers;

/// The best that is possible on a bench.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Floor {
    /// The best value, in the bench's unit: no sample is below it where lower is better, none above
    /// it where higher is.
    pub limit: f64,
    /// Where it comes from: `11.2 MB at 273 GB/s`.
    pub how: String,
}

impl Floor {
    /// What is wrong with a value that is better than possible: `12.3 us is below the floor of
    /// 41.0 us: 11.2 MB at 273 GB/s`.
    pub fn refusal(&self, value: f64, unit: &str, better: Better) -> Option<String> {
        let (impossible, side) = match better {
            Better::Lower => (value < self.limit, "below the floor of"),
            Better::Higher => (value > self.limit, "above the ceiling of"),
        };
        impossible.then(|| {
            let text = |v: f64, beside: f64| numbers::value_beside(v, &[beside]);
            format!(
                "{} {unit} is {side} {} {unit}: {}",
                text(value, self.limit),
                text(self.limit, value),
                self.how
            )
        })
    }
}

/// What the machine can do at most, a second, as declared in `[machine]`.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Peaks {
    bandwidth: Option<Amount>,
    operations: Option<Amount>,
}

/// A number with the text that it was written as.
#[derive(Debug, Clone, PartialEq)]
struct Amount {
    value: f64,
    text: String,
}

/// Units that may follow a number's prefix.
const BYTES: [&str; 3] = ["B", "byte", "bytes"];
const BYTES_PER_S: [&str; 2] = ["B/s", "bytes/s"];
const OPERATIONS: [&str; 5] = ["", "OP", "OPS", "FLOP", "ops"];
const OPERATIONS_PER_S: [&str; 5] = ["/s", "OP/s", "OPS", "FLOP/s", "FLOPS"];

/// Reads `[machine] peak_bandwidth` and `peak_operations`.
pub(super) fn peaks(root: &Section<'_>) -> Peaks {
    let Some(section) = root.section(&schema::MACHINE) else {
        return Peaks::default();
    };
    let read = |key, units: &[&str], example| {
        section
            .get(key)
            .and_then(|item| amount(item, units, example))
    };
    Peaks {
        bandwidth: read("peak_bandwidth", &BYTES_PER_S, "\"273 GB/s\""),
        operations: read("peak_operations", &OPERATIONS_PER_S, "\"31 TFLOP/s\""),
    }
}

/// The bench that a floor is for.
pub(super) struct Of<'a> {
    pub(super) unit: &'a str,
    pub(super) better: Better,
    pub(super) peaks: &'a Peaks,
}

/// Reads a bench's `floor`. `None` where something is wrong with it, which was said then.
pub(super) fn floor(section: &Section<'_>, of: &Of<'_>) -> Option<Floor> {
    let item = section.get("floor")?;
    let table = item.section(&schema::FLOOR)?;
    let parts = ["bytes", "operations", "work"].map(|key| table.get(key));
    match (table.get("best_possible"), parts) {
        (Some(best), [None, None, None]) => given(best, of),
        (Some(best), _) => {
            best.reject(
                "`best_possible` is the floor itself, and parts of one are given too",
                "give either `best_possible`, or `bytes`, `operations` and `work`",
            );
            None
        }
        (None, parts) => worked_out(item, parts, of),
    }
}

/// `best_possible`: a value in the bench's unit.
fn given(item: Item<'_>, of: &Of<'_>) -> Option<Floor> {
    let text = item.filled()?;
    let number = number::scan(text.get_ref().trim());
    match number {
        Some(n) if n.value > 0.0 && super::bar::same_unit(n.rest.trim(), of.unit) => Some(Floor {
            limit: n.value,
            how: "`best_possible` in campaign.toml".to_owned(),
        }),
        _ => {
            item.reject(
                format!("`{}` is no value of this bench above zero", text.get_ref()),
                format!("write a number in its unit, such as `\"41 {}\"`", of.unit),
            );
            None
        }
    }
}

fn worked_out(whole: Item<'_>, parts: [Option<Item<'_>>; 3], of: &Of<'_>) -> Option<Floor> {
    let [bytes, operations, work] = parts;
    let peaks = of.peaks;
    let bytes = bytes.map(|item| {
        let amount = amount(item, &BYTES, "\"11.2 MB\"")?;
        seconds(
            item,
            amount,
            peaks.bandwidth.as_ref(),
            "peak_bandwidth = \"273 GB/s\"",
        )
    });
    let operations = operations.map(|item| {
        let amount = amount(item, &OPERATIONS, "\"67.6 GOP\"")?;
        seconds(
            item,
            amount,
            peaks.operations.as_ref(),
            "peak_operations = \"31 TFLOP/s\"",
        )
    });
    let times: Option<Vec<(f64, String)>> = [bytes, operations].into_iter().flatten().collect();
    let slowest = times?.into_iter().max_by(|a, b| a.0.total_cmp(&b.0));
    let Some((seconds, how)) = slowest else {
        whole.reject(
            "`floor` says nothing to work one out from",
            "give `bytes`, `operations`, or `best_possible`",
        );
        return None;
    };
    match of.better {
        Better::Lower => as_time(whole, work, of.unit, (seconds, how)),
        Better::Higher => as_throughput(whole, work, of.unit, (seconds, how)),
    }
}

/// How long an amount takes at a peak.
fn seconds(
    item: Item<'_>,
    amount: Amount,
    peak: Option<&Amount>,
    example: &str,
) -> Option<(f64, String)> {
    let Some(peak) = peak else {
        item.reject(
            format!(
                "`{}` gives a floor only with a peak of the machine",
                item.key
            ),
            format!("add `[machine]` with, for example, `{example}`"),
        );
        return None;
    };
    let how = format!("{} at {}", amount.text, peak.text);
    Some((amount.value / peak.value, how))
}

fn as_time(
    whole: Item<'_>,
    work: Option<Item<'_>>,
    unit: &str,
    (seconds, how): (f64, String),
) -> Option<Floor> {
    if let Some(work) = work {
        work.reject(
            "`work` is for benches where higher is better",
            "leave it out: the value is the time of the whole run",
        );
        return None;
    }
    let per_second = match unit {
        "ns" => 1e9,
        "us" | "\u{b5}s" | "\u{3bc}s" => 1e6,
        "ms" => 1e3,
        "s" => 1.0,
        other => {
            whole.reject(
                format!("a floor from bytes or operations is a time, and the unit is `{other}`"),
                "give `best_possible` instead; units of time are ns, us, ms, s",
            );
            return None;
        }
    };
    Some(Floor {
        limit: seconds * per_second,
        how,
    })
}

fn as_throughput(
    whole: Item<'_>,
    work: Option<Item<'_>>,
    unit: &str,
    (seconds, how): (f64, String),
) -> Option<Floor> {
    let (Some(what), Some(work)) = (unit.strip_suffix("/s"), work) else {
        whole.reject(
            format!("a ceiling of a throughput in `{unit}` needs what a run does"),
            "add `work = 512`, how much of the unit before `/s` a run does; or give \
             `best_possible`",
        );
        return None;
    };
    let done = work.positive_or_zero()?;
    if done <= 0.0 {
        work.reject(
            "`work` is zero",
            "give what one run does, such as `work = 512`",
        );
        return None;
    }
    Some(Floor {
        limit: done / seconds,
        how: format!("{done} {what} for {how}"),
    })
}

/// A number with a prefix (`k`, `M`, `G`, `T`, `P` by 1,000; `Ki`, `Mi`, `Gi` by 1,024) and a unit;
/// above zero.
fn amount(item: Item<'_>, units: &[&str], example: &str) -> Option<Amount> {
    let text = item.filled()?;
    let written = text.get_ref().trim();
    let value = number::scan(written).and_then(|number| {
        let rest = number.rest.trim();
        let factor = units
            .iter()
            .find_map(|unit| prefix(rest.strip_suffix(unit)?))?;
        Some(number.value * factor)
    });
    match value {
        Some(value) if value > 0.0 && value.is_finite() => Some(Amount {
            value,
            text: written.to_owned(),
        }),
        _ => {
            item.reject(
                format!("`{written}` is no amount above zero in one of the units it may have"),
                format!("write it as {example}"),
            );
            None
        }
    }
}

fn prefix(text: &str) -> Option<f64> {
    Some(match text.trim() {
        "" => 1.0,
        "k" | "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "P" => 1e15,
        "Ki" => 1024.0,
        "Mi" => 1024.0 * 1024.0,
        "Gi" => 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    })
}

#[cfg(test)]
#[path = "floor_tests.rs"]
mod tests;
