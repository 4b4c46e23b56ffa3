//! From readings to the state of one sample. Pure: times are given.

use std::time::Duration;

use super::Taken;
use crate::model::{
    Absent, During, GpuReading, GpuUser, HeldTo, Range, Reading, SampleState, Spread, Throttle,
};

/// So many times the usual distance without a reading is worth a note.
const LONG_GAP: f64 = 10.0;
/// A shorter gap is not, however short the distance is, milliseconds.
const SHORTEST_GAP_MS: f64 = 1000.0;

/// The readings around and during one launch.
#[derive(Debug)]
pub(super) struct Collector {
    held_to: HeldTo,
    distance_ms: f64,
    before: Reading,
    /// Milliseconds since the reading before, and the reading.
    during: Vec<(f64, Reading)>,
    absent: Vec<Absent>,
    notes: Vec<String>,
    has_gpu: bool,
}

impl Collector {
    /// Begins with the reading before the launch. `distance` is that of the readings to come.
    pub(super) fn begin(before: Taken, held_to: HeldTo, distance: Duration) -> Collector {
        let mut collector = Collector {
            held_to,
            distance_ms: distance.as_secs_f64() * 1e3,
            has_gpu: before.reading.gpu.is_some(),
            before: Reading::default(),
            during: Vec::new(),
            absent: Vec::new(),
            notes: Vec::new(),
        };
        collector.before = collector.noted(0.0, before);
        collector
    }

    /// Adds a reading while the launch runs.
    pub(super) fn push(&mut self, at: Duration, taken: Taken) {
        let at_ms = at.as_secs_f64() * 1e3;
        let reading = self.noted(at_ms, taken);
        self.during.push((at_ms, reading));
    }

    /// Ends with the reading after the launch.
    pub(super) fn end(mut self, at: Duration, after: Taken) -> SampleState {
        let span_ms = at.as_secs_f64() * 1e3;
        let after = self.noted(span_ms, after);
        let during = self.summary(span_ms, &after);
        if during.longest_gap_ms > (LONG_GAP * self.distance_ms).max(SHORTEST_GAP_MS) {
            self.notes.push(format!(
                "no reading of the machine for {:.1} s of this launch",
                during.longest_gap_ms / 1e3
            ));
        }
        SampleState {
            held_to: self.held_to,
            before: self.before,
            during,
            after,
            absent: self.absent,
            notes: self.notes,
        }
    }

    /// Keeps what is absent, once each, and notes that a device stopped answering.
    fn noted(&mut self, at_ms: f64, taken: Taken) -> Reading {
        let Taken { reading, absent } = taken;
        let is_gone = self.has_gpu && reading.gpu.is_none();
        if is_gone {
            let why = absent.iter().find(|a| a.reading == "GPU");
            let why = why.map_or("it gives no reason", |a| a.reason.as_str());
            self.notes.push(format!(
                "the GPU's sensors stopped answering {at_ms:.0} ms into the launch: {why}"
            ));
            self.has_gpu = false;
        }
        for one in absent {
            if !self.absent.iter().any(|known| known.reading == one.reading) {
                self.absent.push(one);
            }
        }
        reading
    }

    fn summary(&self, span_ms: f64, after: &Reading) -> During {
        let gpu: Vec<&GpuReading> = self
            .during
            .iter()
            .filter_map(|(_, r)| r.gpu.as_ref())
            .collect();
        let all = || {
            let before_and_after = [&self.before, after].into_iter();
            before_and_after.chain(self.during.iter().map(|(_, reading)| reading))
        };
        let all_gpu: Vec<&GpuReading> = all().filter_map(|r| r.gpu.as_ref()).collect();
        let in_use: Vec<&&GpuReading> = gpu.iter().filter(|r| is_in_use(r)).collect();
        let host = |of: fn(&crate::model::HostReading) -> Option<f64>| -> Vec<f64> {
            all().filter_map(|r| of(r.host.as_ref()?)).collect()
        };
        let clock = |of: fn(&GpuReading) -> Option<u32>| {
            spread(in_use.iter().filter_map(|r| of(r).map(f64::from)).collect())
        };
        let mean = |values: Vec<f64>| range(&values).map(|range| range.mean);
        During {
            readings: u32::try_from(self.during.len()).unwrap_or(u32::MAX),
            span_ms,
            longest_gap_ms: self.longest_gap(span_ms),
            sm_clock_mhz: clock(|r| r.sm_clock_mhz),
            memory_clock_mhz: clock(|r| r.memory_clock_mhz),
            throttle: throttle(if gpu.is_empty() {
                after.gpu.as_slice().iter().collect()
            } else {
                gpu.clone()
            }),
            temperature_max_c: highest(gpu.iter().filter_map(|r| r.temperature_c)),
            power_w: range(&gpu.iter().filter_map(|r| r.power_w).collect::<Vec<_>>()),
            utilisation_percent: mean(gpu.iter().filter_map(|r| r.utilisation_percent).collect()),
            foreign: foreign(&all_gpu, self.before.gpu.as_ref(), after.gpu.as_ref()),
            peak_memory_bytes: all_gpu.iter().filter_map(|r| r.own_memory_bytes).max(),
            peak_used_memory_bytes: gpu.iter().filter_map(|r| r.used_memory_bytes).max(),
            new_ecc_uncorrected: new_errors(&all_gpu),
            xids: xids(&all_gpu),
            cpu_mhz: spread(host(|h| h.cpu_mhz)),
            foreign_cpu: after.host.as_ref().and_then(|h| h.foreign_cpu),
            memory_pressure_percent: highest(host(|h| h.memory_pressure_percent).into_iter()),
        }
    }

    fn longest_gap(&self, span_ms: f64) -> f64 {
        let mut last = 0.0;
        let mut longest = 0.0f64;
        for at in self.during.iter().map(|(at, _)| *at).chain([span_ms]) {
            longest = longest.max(at - last);
            last = at;
        }
        longest
    }
}

/// Clocks of a GPU on which nothing runs say nothing about a sample.
fn is_in_use(reading: &GpuReading) -> bool {
    let throttle = reading.throttle.as_deref();
    !throttle.is_some_and(|reasons| reasons.contains(&Throttle::Idle))
}

/// The union of reasons; `None` where no reading has any.
fn throttle(readings: Vec<&GpuReading>) -> Option<Vec<Throttle>> {
    let mut seen: Option<Vec<Throttle>> = None;
    for reasons in readings.iter().filter_map(|r| r.throttle.as_ref()) {
        let seen = seen.get_or_insert_default();
        seen.extend(reasons);
        seen.sort_unstable();
        seen.dedup();
    }
    seen
}

/// Foreign processes. One that this system does not show counts where it was there before the
/// launch and after it: in a container, the launch's own may be numbered otherwise.
fn foreign(
    all: &[&GpuReading],
    before: Option<&GpuReading>,
    after: Option<&GpuReading>,
) -> Option<Vec<GpuUser>> {
    let listed = |reading: Option<&GpuReading>, pid: u32| {
        let users = reading.and_then(|r| r.foreign.as_ref());
        users.is_some_and(|users| users.iter().any(|user| user.pid == pid))
    };
    let mut found: Option<Vec<GpuUser>> = None;
    for users in all.iter().filter_map(|r| r.foreign.as_ref()) {
        let found = found.get_or_insert_default();
        for user in users {
            let counts = user.is_visible || (listed(before, user.pid) && listed(after, user.pid));
            match found.iter_mut().find(|known| known.pid == user.pid) {
                Some(known) => {
                    known.memory_bytes = known.memory_bytes.max(user.memory_bytes);
                    known.is_visible |= user.is_visible;
                }
                None if counts => found.push(user.clone()),
                None => {}
            }
        }
    }
    found
}

/// How far the counter went. It begins anew when the driver is loaded again.
fn new_errors(all: &[&GpuReading]) -> Option<u64> {
    let counts = || all.iter().filter_map(|r| r.ecc_uncorrected);
    Some(counts().max()?.saturating_sub(counts().min()?))
}

fn xids(all: &[&GpuReading]) -> Option<Vec<u64>> {
    let mut seen: Option<Vec<u64>> = None;
    for xids in all.iter().filter_map(|r| r.xids.as_ref()) {
        seen.get_or_insert_default().extend(xids);
    }
    seen
}

fn highest(values: impl Iterator<Item = f64>) -> Option<f64> {
    values.reduce(f64::max)
}

fn spread(mut values: Vec<f64>) -> Option<Spread> {
    values.sort_by(f64::total_cmp);
    Some(Spread {
        min: *values.first()?,
        median: crate::stats::median(&values)?,
        max: *values.last()?,
    })
}

fn range(values: &[f64]) -> Option<Range> {
    Some(Range {
        min: values.iter().copied().reduce(f64::min)?,
        mean: values.iter().sum::<f64>() / values.len() as f64,
        max: values.iter().copied().reduce(f64::max)?,
    })
}

#[cfg(test)]
#[path = "collect_tests.rs"]
mod tests;
