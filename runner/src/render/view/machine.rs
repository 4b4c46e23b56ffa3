//! The machine while a bench's samples were taken: a line for a summary, a table of both sides,
//! and the pairs that did not count.

use serde::Serialize;

use super::bench::effect_estimate;
use crate::judge::rejected_pairs;
use crate::model::{
    BenchEvidence, BenchJudgement, During, Finding, Sample, SampleRole, SampleState, Side, Throttle,
};
use crate::numbers::{self, MISSING};
use crate::stats::median;

/// The state of the machine for one bench.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MachineView {
    /// In one line: `SM clock 1,980 MHz, at most 61 °C, 312 W; 1 of 11 pairs rejected: 1 power brake`.
    pub summary: String,
    /// Each reading on both sides, over the pairs that count.
    pub rows: Vec<MachineRow>,
    /// The pairs that were rejected, with the reason: `pair 3: power brake on head`.
    pub rejected: Vec<String>,
    /// What could not be read, with the reason.
    pub absent: Vec<String>,
}

/// One reading on both sides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MachineRow {
    /// What it is, with its unit: `power, W`.
    pub name: String,
    /// Base's.
    pub base: String,
    /// Head's.
    pub head: String,
    /// What the sides' difference comes to, where that is worth a word.
    pub difference: String,
}

/// `None` where nobody watched.
pub(super) fn machine_view(
    taken: Option<&BenchEvidence>,
    judged: Option<&BenchJudgement>,
) -> Option<MachineView> {
    let samples = &taken?.samples;
    let states = || samples.iter().filter_map(|sample| sample.state.as_ref());
    states().next()?;
    let rejected = rejected_pairs(samples);
    let counts = |sample: &Sample| {
        sample.role == SampleRole::Pair
            && sample.value.is_some()
            && !rejected.iter().any(|r| r.pair == sample.pair)
    };
    let of = |side: Side| -> Vec<&SampleState> {
        let own = samples.iter().filter(|s| s.side == side && counts(s));
        own.filter_map(|sample| sample.state.as_ref()).collect()
    };
    let (base, head) = (Figures::of(&of(Side::Base)), Figures::of(&of(Side::Head)));
    let all: Vec<&SampleState> = states().collect();
    let mut absent: Vec<String> = Vec::new();
    for one in all.iter().flat_map(|state| &state.absent) {
        let text = format!("{}: {}", one.reading, one.reason);
        if !absent.contains(&text) {
            absent.push(text);
        }
    }
    let begun = samples
        .iter()
        .filter(|s| s.role == SampleRole::Pair)
        .map(|s| s.pair + 1);
    let pairs = numbers::counted(begun.max().unwrap_or(0) as usize, "pair");
    Some(MachineView {
        summary: summary(&Figures::of(&all), rejected.len(), &pairs),
        rows: rows(&base, &head, judged),
        rejected: rejected
            .iter()
            .map(|r| format!("pair {}: {}", r.pair + 1, r.words()))
            .collect(),
        absent,
    })
}

/// What the states of several samples come to. Medians of samples, but extremes where the extreme
/// is what matters.
#[derive(Debug, Default)]
struct Figures {
    sm_clock: Option<f64>,
    memory_clock: Option<f64>,
    temperature: Option<f64>,
    power: Option<f64>,
    utilisation: Option<f64>,
    held_by: Option<Vec<Throttle>>,
    peak_memory: Option<u64>,
    cpu_clock: Option<f64>,
    foreign_cpu: Option<f64>,
    pressure: Option<f64>,
}

impl Figures {
    fn of(states: &[&SampleState]) -> Figures {
        let middle = |of: fn(&During) -> Option<f64>| {
            median(
                &states
                    .iter()
                    .filter_map(|s| of(&s.during))
                    .collect::<Vec<f64>>(),
            )
        };
        let highest = |of: fn(&During) -> Option<f64>| {
            states.iter().filter_map(|s| of(&s.during)).reduce(f64::max)
        };
        let mut held_by: Option<Vec<Throttle>> = None;
        for reasons in states.iter().filter_map(|s| s.during.throttle.as_ref()) {
            held_by.get_or_insert_default().extend(reasons);
        }
        if let Some(reasons) = &mut held_by {
            reasons.sort_unstable();
            reasons.dedup();
        }
        Figures {
            sm_clock: middle(|d| Some(d.sm_clock_mhz?.median)),
            memory_clock: middle(|d| Some(d.memory_clock_mhz?.median)),
            temperature: highest(|d| d.temperature_max_c),
            power: middle(|d| Some(d.power_w?.mean)),
            utilisation: middle(|d| d.utilisation_percent),
            held_by,
            peak_memory: states
                .iter()
                .filter_map(|s| s.during.peak_memory_bytes)
                .max(),
            cpu_clock: middle(|d| Some(d.cpu_mhz?.median)),
            foreign_cpu: highest(|d| d.foreign_cpu),
            pressure: highest(|d| d.memory_pressure_percent),
        }
    }
}

fn summary(all: &Figures, rejected: usize, pairs: &str) -> String {
    let whole = |value: f64| numbers::count(value.round().max(0.0) as u64);
    let mut parts: Vec<String> = Vec::new();
    let mut add = |text: Option<String>| parts.extend(text);
    add(all
        .sm_clock
        .map(|mhz| format!("SM clock {} MHz", whole(mhz))));
    add(all.temperature.map(|c| format!("at most {c:.0} °C")));
    add(all.power.map(|watts| format!("{} W", whole(watts))));
    add(all
        .peak_memory
        .map(|bytes| format!("at most {} of device memory", numbers::bytes(bytes))));
    add(all
        .cpu_clock
        .filter(|_| all.sm_clock.is_none())
        .map(|mhz| format!("processors at {} MHz", whole(mhz))));
    add(all
        .foreign_cpu
        .map(|cpus| format!("others used at most {cpus:.2} processors")));
    if parts.is_empty() {
        parts.push("the machine tells nothing".to_owned());
    }
    format!("{}; {rejected} of {pairs} rejected", parts.join(", "))
}

fn rows(base: &Figures, head: &Figures, judged: Option<&BenchJudgement>) -> Vec<MachineRow> {
    let number = |decimals: usize| move |value: f64| format!("{value:.decimals$}");
    let whole = |value: f64| numbers::count(value.round().max(0.0) as u64);
    let mut rows = Vec::new();
    let mut add = |name: &str, base: Option<String>, head: Option<String>, difference: String| {
        if base.is_some() || head.is_some() {
            let text = |side: Option<String>| side.unwrap_or_else(|| MISSING.to_owned());
            rows.push(MachineRow {
                name: name.to_owned(),
                base: text(base),
                head: text(head),
                difference,
            });
        }
    };
    let none = String::new;
    add(
        "SM clock, MHz",
        base.sm_clock.map(whole),
        head.sm_clock.map(whole),
        none(),
    );
    add(
        "memory clock, MHz",
        base.memory_clock.map(whole),
        head.memory_clock.map(whole),
        none(),
    );
    add(
        "clocks held by",
        base.held_by.as_deref().map(held_by),
        head.held_by.as_deref().map(held_by),
        none(),
    );
    add(
        "highest temperature, °C",
        base.temperature.map(number(0)),
        head.temperature.map(number(0)),
        none(),
    );
    add(
        "power, W",
        base.power.map(number(0)),
        head.power.map(number(0)),
        none(),
    );
    add(
        "utilisation, %",
        base.utilisation.map(number(0)),
        head.utilisation.map(number(0)),
        none(),
    );
    add(
        "peak device memory",
        base.peak_memory.map(numbers::bytes),
        head.peak_memory.map(numbers::bytes),
        memory_difference(base.peak_memory, head.peak_memory, judged),
    );
    add(
        "processors' clock, MHz",
        base.cpu_clock.map(whole),
        head.cpu_clock.map(whole),
        none(),
    );
    add(
        "processors used by others",
        base.foreign_cpu.map(number(2)),
        head.foreign_cpu.map(number(2)),
        none(),
    );
    add(
        "memory pressure, %",
        base.pressure.map(number(1)),
        head.pressure.map(number(1)),
        none(),
    );
    rows
}

/// What head needs more or less, and what a percent of its effect costs (lesson 22).
fn memory_difference(
    base: Option<u64>,
    head: Option<u64>,
    judged: Option<&BenchJudgement>,
) -> String {
    const MIB: f64 = 1_048_576.0;
    let (Some(base), Some(head)) = (base, head) else {
        return String::new();
    };
    if base == head {
        return "the same".to_owned();
    }
    let mib = (head as f64 - base as f64) / MIB;
    let sign = if mib > 0.0 { "+" } else { "-" };
    let difference = format!("{sign}{:.1} MiB", mib.abs());
    let is_gain =
        |b: &&BenchJudgement| matches!(b.finding, Finding::ReachesBar | Finding::BelowBar);
    let effect = judged.filter(is_gain).and_then(effect_estimate);
    match effect.filter(|effect| *effect > 0.0 && mib > 0.0) {
        Some(effect) => format!("{difference}, {:.1} MiB per percent gained", mib / effect),
        None => difference,
    }
}

fn held_by(reasons: &[Throttle]) -> String {
    let words: Vec<&str> = reasons
        .iter()
        .map(|reason| throttle_word(*reason))
        .collect();
    match words.as_slice() {
        [] => "nothing".to_owned(),
        words => words.join(", "),
    }
}

fn throttle_word(reason: Throttle) -> &'static str {
    match reason {
        Throttle::Idle => "idle",
        Throttle::ApplicationClocks => "application clocks",
        Throttle::SoftwarePowerCap => "software power cap",
        Throttle::HardwareSlowdown => "hardware slowdown",
        Throttle::SyncBoost => "sync boost",
        Throttle::SoftwareThermal => "thermal slowdown (driver)",
        Throttle::HardwareThermal => "thermal slowdown (hardware)",
        Throttle::PowerBrake => "power brake",
        Throttle::DisplayClocks => "display clocks",
    }
}
