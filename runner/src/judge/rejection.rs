//! Which pairs are rejected, and when a window is lost to it. Decided by the machine's state while
//! the pair was taken, never by the measured values: both halves go, whichever caused it.
//!
//! Recorded only: the software power cap (a hungrier kernel earns it), idle, application clocks.

use crate::model::{Evidence, GpuUser, Sample, SampleRole, SampleState, Side, Throttle, Verdict};
use crate::numbers;
use crate::stats::fair_coin;

use super::benches::begun_pairs;
use super::reasons::{Reasons, Ruling};
use super::words::{count, list};

/// The largest share of a bench's pairs that may be rejected.
const MOST_REJECTED: f64 = 0.2;
/// Fewer rejected pairs end nothing, whatever share they are: two of the first six are no sign of
/// a bad machine yet.
const LEAST_REJECTED: usize = 3;
/// Rejections differ between the arms where a fair coin would fall so unevenly more rarely.
const UNEVEN: f64 = 0.05;
/// How far the SM clock's median may be from the lock, as a share of it.
const OFF_LOCK: f64 = 0.01;
/// How far apart a pair's temperatures may be, degrees Celsius.
const APART_C: f64 = 5.0;
/// Foreign processes that a sentence names.
const NAMED: usize = 2;

/// Why a pair is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// Too hot, as the driver or the hardware noticed.
    ThermalSlowdown,
    /// The power supply asked for less.
    PowerBrake,
    /// The hardware slowed down for another reason.
    HardwareSlowdown,
    /// Clocks were held together with another GPU's.
    SyncBoost,
    /// Somebody else computed on the GPU.
    ForeignProcess,
    /// A new uncorrected ECC error.
    EccError,
    /// An Xid error.
    Xid,
    /// The SM clock was not what it is locked to.
    OffLock,
    /// Other processes took more of the processors than is allowed.
    ForeignLoad,
    /// The two halves were taken at different temperatures.
    TemperaturesApart,
}

impl Cause {
    /// As it is counted: `7 hardware slowdown`.
    pub fn word(self) -> &'static str {
        match self {
            Cause::ThermalSlowdown => "thermal slowdown",
            Cause::PowerBrake => "power brake",
            Cause::HardwareSlowdown => "hardware slowdown",
            Cause::SyncBoost => "sync boost",
            Cause::ForeignProcess => "foreign process",
            Cause::EccError => "uncorrected ECC error",
            Cause::Xid => "Xid error",
            Cause::OffLock => "clock off its lock",
            Cause::ForeignLoad => "load of other processes",
            Cause::TemperaturesApart => "temperatures apart",
        }
    }

    /// What a person can do about it.
    fn advice(self) -> &'static str {
        match self {
            Cause::ThermalSlowdown => "cool the device, or lock its clocks lower",
            Cause::PowerBrake | Cause::HardwareSlowdown => {
                "see to power supply and cooling, or lock the clocks lower"
            }
            Cause::SyncBoost => "take the GPU out of its sync boost group",
            Cause::ForeignProcess => "end what else computes on the GPU",
            Cause::EccError | Cause::Xid => "the device needs attention: see `dmesg`",
            Cause::OffLock => "the lock does not hold: see what else sets the clocks",
            Cause::ForeignLoad => "end what else runs on the machine",
            Cause::TemperaturesApart => "let the device come to a steady temperature",
        }
    }
}

/// One reason to reject a pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// What it is.
    pub cause: Cause,
    /// The side whose half shows it; `None` where it takes both.
    pub side: Option<Side>,
    /// In words: `foreign process 4711 (python)`.
    pub text: String,
}

/// A pair that does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedPair {
    /// Its index, from 0.
    pub pair: u32,
    /// Why, the first being the one that it is counted under.
    pub found: Vec<Found>,
}

impl RejectedPair {
    /// `foreign process 4711 (python) on head, temperatures 7 °C apart`.
    pub fn words(&self) -> String {
        let one = |found: &Found| match found.side {
            Some(side) => format!("{} on {side}", found.text),
            None => found.text.clone(),
        };
        let words: Vec<String> = self.found.iter().map(one).collect();
        words.join(", ")
    }

    /// The side that caused it, where it was one alone.
    fn side(&self) -> Option<Side> {
        let mut sides = self.found.iter().filter_map(|found| found.side);
        let first = sides.next()?;
        sides.all(|side| side == first).then_some(first)
    }
}

/// The pairs among a bench's samples that have both values and are rejected, in order.
pub fn rejected_pairs(samples: &[Sample]) -> Vec<RejectedPair> {
    (0..begun_pairs(samples))
        .filter_map(|pair| rejected_pair(samples, pair))
        .collect()
}

/// The same for one pair.
pub fn rejected_pair(samples: &[Sample], pair: u32) -> Option<RejectedPair> {
    let half = |side: Side| {
        samples.iter().find(|s| {
            s.role == SampleRole::Pair && s.pair == pair && s.side == side && s.value.is_some()
        })
    };
    let (base, head) = (half(Side::Base)?, half(Side::Head)?);
    let mut found = Vec::new();
    for sample in [base, head] {
        if let Some(state) = &sample.state {
            found.extend(causes(state).into_iter().map(|(cause, text)| Found {
                cause,
                side: Some(sample.side),
                text,
            }));
        }
    }
    found.extend(apart(base, head));
    found.sort_by_key(|found| found.cause);
    (!found.is_empty()).then_some(RejectedPair { pair, found })
}

/// What a state alone gives as reasons to reject.
pub(super) fn causes(state: &SampleState) -> Vec<(Cause, String)> {
    let during = &state.during;
    let mut found: Vec<(Cause, String)> = throttle(during.throttle.as_deref().unwrap_or_default())
        .into_iter()
        .map(|cause| (cause, cause.word().to_owned()))
        .collect();
    if let Some(users) = during.foreign.as_deref().filter(|users| !users.is_empty()) {
        found.push((Cause::ForeignProcess, users_words(users)));
    }
    if let Some(errors) = during.new_ecc_uncorrected.filter(|n| *n > 0) {
        let text = count(errors as usize, "new uncorrected ECC error");
        found.push((Cause::EccError, text));
    }
    if let Some(xids) = during.xids.as_deref().filter(|xids| !xids.is_empty()) {
        let numbers: Vec<String> = xids.iter().map(ToString::to_string).collect();
        found.push((Cause::Xid, format!("Xid {}", list(&numbers))));
    }
    if let (Some(lock), Some(clock)) = (state.held_to.sm_clock_mhz, during.sm_clock_mhz)
        && (clock.median - f64::from(lock)).abs() > OFF_LOCK * f64::from(lock)
    {
        let text = format!("SM clock at {:.0} MHz, locked to {lock} MHz", clock.median);
        found.push((Cause::OffLock, text));
    }
    if let (Some(most), Some(load)) = (state.held_to.foreign_cpu, during.foreign_cpu)
        && load > most
    {
        let load = beside(load, most);
        let text = format!("other processes used {load} processors, over the limit of {most}");
        found.push((Cause::ForeignLoad, text));
    }
    found
}

/// The hardware's general bit is set with its special ones: then those say it.
fn throttle(reasons: &[Throttle]) -> Vec<Cause> {
    let has = |reason| reasons.contains(&reason);
    let thermal = has(Throttle::HardwareThermal) || has(Throttle::SoftwareThermal);
    let special = has(Throttle::HardwareThermal) || has(Throttle::PowerBrake);
    [
        (thermal, Cause::ThermalSlowdown),
        (has(Throttle::PowerBrake), Cause::PowerBrake),
        (
            has(Throttle::HardwareSlowdown) && !special,
            Cause::HardwareSlowdown,
        ),
        (has(Throttle::SyncBoost), Cause::SyncBoost),
    ]
    .into_iter()
    .filter_map(|(is_so, cause)| is_so.then_some(cause))
    .collect()
}

fn users_words(users: &[GpuUser]) -> String {
    let mut names: Vec<String> = users
        .iter()
        .take(NAMED)
        .map(|user| match &user.name {
            Some(name) => format!("{} ({name})", user.pid),
            None => user.pid.to_string(),
        })
        .collect();
    if users.len() > NAMED {
        names.push(format!("{} more", users.len() - NAMED));
    }
    let noun = if users.len() == 1 {
        "process"
    } else {
        "processes"
    };
    format!("foreign {noun} {}", list(&names))
}

fn apart(base: &Sample, head: &Sample) -> Option<Found> {
    let difference =
        (temperature(base.state.as_ref()?)? - temperature(head.state.as_ref()?)?).abs();
    (difference > APART_C).then(|| Found {
        cause: Cause::TemperaturesApart,
        side: None,
        text: format!("temperatures {} °C apart", beside(difference, APART_C)),
    })
}

/// A value without the digits that say nothing, on the side of the limit on which it is.
fn beside(value: f64, limit: f64) -> String {
    let text = numbers::value_beside(value, &[limit]);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// The GPU's temperature while a sample was taken: the highest, or that before and after where
/// nothing was read meanwhile.
fn temperature(state: &SampleState) -> Option<f64> {
    let around = || {
        let readings = [&state.before, &state.after].into_iter();
        readings
            .filter_map(|reading| reading.gpu.as_ref()?.temperature_c)
            .reduce(f64::max)
    };
    state.during.temperature_max_c.or_else(around)
}

/// Whether a bench has lost so many pairs to the machine that its window is lost: the reason in
/// words. More than a fifth of those begun, and at least three.
pub fn too_many_rejected(samples: &[Sample]) -> Option<String> {
    let rejected = rejected_pairs(samples);
    let begun = begun_pairs(samples);
    let most = MOST_REJECTED * f64::from(begun);
    let is_lost = rejected.len() >= LEAST_REJECTED && rejected.len() as f64 > most;
    is_lost.then(|| {
        format!(
            "{} of {} rejected: {}",
            rejected.len(),
            count(begun as usize, "pair"),
            counted(&rejected)
        )
    })
}

/// `7 hardware slowdown, 2 foreign process`, the most frequent first.
pub fn counted(rejected: &[RejectedPair]) -> String {
    let causes = by_cause(rejected).into_iter();
    let words: Vec<String> = causes
        .map(|(cause, n)| format!("{n} {}", cause.word()))
        .collect();
    words.join(", ")
}

/// Each pair under its first cause.
fn by_cause(rejected: &[RejectedPair]) -> Vec<(Cause, usize)> {
    let mut counts: Vec<(Cause, usize)> = Vec::new();
    for cause in rejected
        .iter()
        .filter_map(|pair| Some(pair.found.first()?.cause))
    {
        match counts.iter_mut().find(|(known, _)| *known == cause) {
            Some((_, n)) => *n += 1,
            None => counts.push((cause, 1)),
        }
    }
    counts.sort_by_key(|(cause, n)| (std::cmp::Reverse(*n), *cause));
    counts
}

/// Whether one side's state caused so many more rejections than the other's that what is left is
/// a choice: the reason in words.
fn uneven(rejected: &[RejectedPair]) -> Option<String> {
    let of = |side| {
        rejected
            .iter()
            .filter(|pair| pair.side() == Some(side))
            .count()
    };
    let (base, head) = (of(Side::Base), of(Side::Head));
    let p = fair_coin(u32::try_from(base).ok()?, u32::try_from(head).ok()?);
    (p < UNEVEN).then(|| {
        format!(
            "rejections differ between the sides, {head} by head's state and {base} by base's \
             (binomial p = {p:.3}): {}",
            counted(rejected)
        )
    })
}

/// A window with too many rejected pairs, or with rejections that differ between the sides.
pub(super) fn window(evidence: &Evidence, reasons: &mut Reasons) -> Option<Ruling> {
    let mut sentences = evidence.benches.iter().filter_map(|bench| {
        let rejected = rejected_pairs(&bench.samples);
        let why = too_many_rejected(&bench.samples).or_else(|| uneven(&rejected))?;
        let advice = by_cause(&rejected)
            .first()
            .map_or("", |(cause, _)| cause.advice());
        Some(format!("`{}`: {why}; {advice} and run again", bench.bench))
    });
    let first = sentences.next()?;
    let ruling = reasons.rule(Verdict::EnvInvalid, first);
    sentences.for_each(|sentence| reasons.decisive(sentence));
    ruling
}

/// What the machine did that a reader should know, whatever the verdict.
pub(super) fn remarks(evidence: &Evidence, verdict: Verdict, reasons: &mut Reasons) {
    for bench in &evidence.benches {
        let rejected = rejected_pairs(&bench.samples);
        if rejected.is_empty() {
            continue;
        }
        match too_many_rejected(&bench.samples).or_else(|| uneven(&rejected)) {
            Some(_) if verdict == Verdict::EnvInvalid => {}
            Some(why) => reasons.warn(format!("`{}`: {why}", bench.bench)),
            None => reasons.note(format!(
                "`{}`: {} of {} rejected for the machine's state and measured again: {}",
                bench.bench,
                rejected.len(),
                numbers::counted(begun_pairs(&bench.samples) as usize, "pair"),
                counted(&rejected)
            )),
        }
    }
    for (text, times) in notes(evidence) {
        reasons.note(match times {
            1 => text,
            n => format!("{text} (and {} alike)", n - 1),
        });
    }
}

/// The notes of all samples; those that differ in numbers only are alike.
fn notes(evidence: &Evidence) -> Vec<(String, usize)> {
    let mut found: Vec<(String, String, usize)> = Vec::new();
    let samples = evidence.benches.iter().flat_map(|bench| &bench.samples);
    for note in samples
        .filter_map(|s| s.state.as_ref())
        .flat_map(|s| &s.notes)
    {
        let kind: String = note.chars().filter(|c| !c.is_ascii_digit()).collect();
        match found.iter_mut().find(|(known, ..)| *known == kind) {
            Some((.., times)) => *times += 1,
            None => found.push((kind, note.clone(), 1)),
        }
    }
    found
        .into_iter()
        .map(|(_, text, times)| (text, times))
        .collect()
}

#[cfg(test)]
#[path = "rejection_tests.rs"]
mod tests;
