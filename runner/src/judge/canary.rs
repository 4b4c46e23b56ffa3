//! The canary's verdict on a window: was the machine as fast as it is known to be? And what else
//! was done about the machine.

use crate::config::DeviceKind;
use crate::model::{
    CanaryEvidence, CanaryOutcome, CanaryTimes, ClockState, Evidence, PastCanary, Phase, Verdict,
};
use crate::stats::median;

use super::reasons::{Reasons, Ruling};
use super::words::list;

/// Fewer earlier windows make no band.
const LEAST_HISTORY: usize = 5;

/// Makes the median absolute deviation of normal noise its standard deviation.
const MAD_TO_SD: f64 = 1.4826;

/// Half the band's width in such standard deviations.
const BAND_SD: f64 = 3.0;

/// Half the band's width at least, as a share of the median.
const BAND_LEAST: f64 = 0.01;

/// Without a band: the largest difference between before and after, as a share.
const STEADY: f64 = 0.03;

/// One of the canary's two works.
struct Part {
    name: &'static str,
    of: fn(&CanaryTimes) -> f64,
}

const PARTS: [Part; 2] = [
    Part {
        name: "compute",
        of: |times| times.compute_us,
    },
    Part {
        name: "copy",
        of: |times| times.copy_us,
    },
];

/// A window in which the canary left its band, or did not come back.
pub(super) fn drift(evidence: &Evidence, reasons: &mut Reasons) -> Option<Ruling> {
    let drifts = drifts(evidence);
    if drifts.is_empty() {
        return None;
    }
    let text = format!(
        "the machine was not in its usual state: {}; look for what slows it (power, heat, other \
         work) and run again",
        list(&drifts)
    );
    reasons.rule(Verdict::EnvInvalid, text)
}

/// What the canary found, a sentence each; none where the window is good.
fn drifts(evidence: &Evidence) -> Vec<String> {
    let Some(canary) = &evidence.window.canary else {
        return Vec::new();
    };
    let (Some(before), after) = (at(canary, Phase::Before), at(canary, Phase::After)) else {
        // It never ran, so nothing is known; `remarks` says so.
        return Vec::new();
    };
    if let Some(CanaryOutcome::Failed { reason }) = outcome(canary, Phase::After) {
        return vec![format!(
            "the canary ran before the window and not after it: {reason}"
        )];
    }
    let history = known(canary, evidence);
    PARTS
        .iter()
        .filter_map(|part| drift_of(part, before, after, &history))
        .collect()
}

fn drift_of(
    part: &Part,
    before: CanaryTimes,
    after: Option<CanaryTimes>,
    history: &[CanaryTimes],
) -> Option<String> {
    let Part { name, of } = part;
    let (first, last) = (of(&before), after.as_ref().map(of));
    let values: Vec<f64> = history.iter().map(of).collect();
    if let Some((center, half)) = band(&values) {
        let outside = |value: f64| (value - center).abs() > half;
        let (value, when) = match (outside(first), last) {
            (true, _) => (first, "before"),
            (false, Some(last)) if outside(last) => (last, "after"),
            _ => return None,
        };
        return Some(format!(
            "canary {name} {} than its median over {} windows on this machine ({when} the \
             window; its band is ± {:.1} %)",
            against(value, center),
            values.len(),
            100.0 * half / center,
        ));
    }
    let last = last?;
    ((last / first - 1.0).abs() > STEADY).then(|| {
        format!(
            "canary {name} {} after the window than before it (at most {:.0} % is steady, while \
             fewer than {LEAST_HISTORY} earlier windows on this machine make a band)",
            against(last, first),
            100.0 * STEADY
        )
    })
}

/// `6.1 % slower`.
fn against(value: f64, expected: f64) -> String {
    let percent = 100.0 * (value / expected - 1.0);
    let word = if percent > 0.0 { "slower" } else { "faster" };
    format!("{:.1} % {word}", percent.abs())
}

/// Median and half width of the range in which a time is expected.
fn band(values: &[f64]) -> Option<(f64, f64)> {
    if values.len() < LEAST_HISTORY {
        return None;
    }
    let center = median(values)?;
    let deviations: Vec<f64> = values.iter().map(|v| (v - center).abs()).collect();
    let half = (BAND_SD * MAD_TO_SD * median(&deviations)?).max(BAND_LEAST * center);
    Some((center, half))
}

/// The earlier windows that make the band: steady ones, and once there are enough, those that were
/// within the band of the ones before. A machine that stays slow does not become the usual one.
fn known(canary: &CanaryEvidence, evidence: &Evidence) -> Vec<CanaryTimes> {
    let since = evidence.config.machine.canary_since;
    let recent = |past: &&PastCanary| since.is_none_or(|since| past.at.0 >= since.0);
    let mut known: Vec<CanaryTimes> = Vec::new();
    for past in canary.history.iter().filter(recent) {
        let drifts = PARTS
            .iter()
            .any(|part| drift_of(part, past.before, Some(past.after), &known).is_some());
        if !drifts {
            known.push(mean(past));
        }
    }
    known
}

fn mean(past: &PastCanary) -> CanaryTimes {
    let mean = |of: fn(&CanaryTimes) -> f64| f64::midpoint(of(&past.before), of(&past.after));
    CanaryTimes {
        compute_us: mean(PARTS[0].of),
        copy_us: mean(PARTS[1].of),
    }
}

fn outcome(canary: &CanaryEvidence, phase: Phase) -> Option<&CanaryOutcome> {
    let mut readings = canary.readings.iter();
    let found = readings.find(|reading| reading.phase == phase)?;
    Some(&found.outcome)
}

fn at(canary: &CanaryEvidence, phase: Phase) -> Option<CanaryTimes> {
    match outcome(canary, phase)? {
        CanaryOutcome::Measured(times) => Some(*times),
        CanaryOutcome::Failed { .. } => None,
    }
}

/// What a reader should know about the machine around the window, whatever the verdict.
pub(super) fn remarks(evidence: &Evidence, ruling: &Ruling, reasons: &mut Reasons) {
    match &evidence.window.clocks {
        Some(ClockState::Locked { mhz }) => {
            reasons.note(format!(
                "the SM clock was locked at {mhz} MHz for the window"
            ));
        }
        Some(ClockState::NotLocked { reason }) => {
            reasons.warn(format!("clocks were not locked: {reason}"));
        }
        None => {}
    }
    let is_measured = evidence.benches.iter().any(|b| !b.samples.is_empty());
    let Some(canary) = &evidence.window.canary else {
        let is_off = evidence.config.machine.canary == Some(false)
            && evidence.config.device.kind == DeviceKind::Cuda;
        if is_off && is_measured {
            reasons.note("no canary watched the machine: `canary = false` in [machine]");
        }
        return;
    };
    if let Some(CanaryOutcome::Failed { reason }) = outcome(canary, Phase::Before) {
        reasons.warn(format!("no canary watched the machine: {reason}"));
        return;
    }
    let drifts = drifts(evidence);
    if !drifts.is_empty() {
        let is_said = |drift: &String| ruling.headline.contains(drift);
        let others = drifts.into_iter().filter(|drift| !is_said(drift));
        others.for_each(|drift| reasons.warn(drift));
        return;
    }
    if at(canary, Phase::After).is_some() {
        let text = match known(canary, evidence).len() {
            n if n >= LEAST_HISTORY => {
                format!("the canary was within its band of {n} earlier windows on this machine")
            }
            n => format!(
                "the canary was the same before and after the window, within {:.0} %; {n} of the \
                 {LEAST_HISTORY} earlier windows that make a band are there",
                100.0 * STEADY
            ),
        };
        reasons.note(text);
    }
}

#[cfg(test)]
#[path = "canary_tests.rs"]
mod tests;
