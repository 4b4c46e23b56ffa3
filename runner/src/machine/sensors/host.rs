//! The computer's own sensors, from `/proc` and `/sys`: load, processors in use and their
//! frequency, what other processes take of them, memory pressure, temperature.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::{Moment, gone, own};
use crate::model::{Absent, HostReading};

/// How often the host is read while a launch runs; the GPU is read more often.
const DISTANCE: Duration = Duration::from_secs(1);
/// The share of time for which a processor that is in use is busy at least.
const IN_USE: f64 = 0.5;
/// Thermal zones outside of this range hold no temperature, degrees Celsius.
const CREDIBLE: std::ops::RangeInclusive<f64> = 1.0..=150.0;

/// The sensors, with what the last reading left to compare with.
#[derive(Debug)]
pub(super) struct HostSensors {
    root: PathBuf,
    pid: u32,
    /// At the last reading of any kind.
    processors: Option<Times>,
    /// At the last reading before or after a launch: all processors, and our own processes.
    shares: Option<(Share, u64)>,
    read_at: Option<Instant>,
}

/// Processor time of a machine, clock ticks.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Times {
    all: Share,
    /// By the processor's number.
    each: Vec<(u32, Share)>,
}

/// Time in use of all time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Share {
    busy: u64,
    total: u64,
}

impl HostSensors {
    /// This machine's.
    pub(super) fn of_this_machine() -> HostSensors {
        HostSensors::below(PathBuf::from("/"), std::process::id())
    }

    fn below(root: PathBuf, pid: u32) -> HostSensors {
        HostSensors {
            root,
            pid,
            processors: None,
            shares: None,
            read_at: None,
        }
    }

    /// Reads; `None` while a launch runs and the last reading is not old enough. What other
    /// processes took is read before and after only: it needs a look at every process.
    pub(super) fn read(&mut self, moment: Moment, absent: &mut Vec<Absent>) -> Option<HostReading> {
        let is_fresh = self.read_at.is_some_and(|at| at.elapsed() < DISTANCE);
        if moment == Moment::During && is_fresh {
            return None;
        }
        self.read_at = Some(Instant::now());
        let processors = self.file("proc/stat").and_then(|text| times(&text));
        let mut reading = HostReading {
            load: self.file("proc/loadavg").and_then(|text| load(&text)),
            cpu_mhz: self.frequency(processors.as_ref()),
            memory_pressure_percent: self
                .file("proc/pressure/memory")
                .and_then(|text| pressure(&text)),
            ..HostReading::default()
        };
        if reading.memory_pressure_percent.is_none() {
            absent.push(gone("memory pressure", "this kernel does not tell"));
        }
        if self
            .file("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq")
            .is_none()
        {
            absent.push(gone("processor frequency", "this kernel does not tell"));
        }
        if moment != Moment::During {
            reading.foreign_cpu = self.foreign(processors.as_ref(), absent);
            reading.temperature_c = self.temperature();
            if reading.temperature_c.is_none() {
                absent.push(gone("host temperature", "there is no thermal zone"));
            }
        }
        self.processors = processors;
        Some(reading)
    }

    fn file(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.root.join(path)).ok()
    }

    /// The mean frequency of the processors that were busy since the last reading, MHz.
    fn frequency(&self, now: Option<&Times>) -> Option<f64> {
        let (now, then) = (now?, self.processors.as_ref()?);
        let in_use = now.each.iter().filter(|(number, share)| {
            let before = then.each.iter().find(|(other, _)| other == number);
            before
                .and_then(|(_, before)| share.since(before))
                .is_some_and(|used| used >= IN_USE)
        });
        let mhz: Vec<f64> = in_use
            .filter_map(|(number, _)| {
                let path = format!("sys/devices/system/cpu/cpu{number}/cpufreq/scaling_cur_freq");
                let khz: f64 = self.file(&path)?.trim().parse().ok()?;
                Some(khz / 1e3)
            })
            .collect();
        (!mhz.is_empty()).then(|| mhz.iter().sum::<f64>() / mhz.len() as f64)
    }

    /// How many processors others used since the last time this was asked.
    fn foreign(&mut self, now: Option<&Times>, absent: &mut Vec<Absent>) -> Option<f64> {
        let own = own::family_ticks(&self.root.join("proc"), self.pid);
        let (Some(now), Some(own)) = (now, own) else {
            absent.push(gone("load of other processes", "/proc does not tell"));
            return None;
        };
        if now.all.total == 0 {
            absent.push(gone(
                "load of other processes",
                "this kernel does not count processor time",
            ));
            return None;
        }
        let (then, own_then) = self.shares.replace((now.all, own))?;
        let busy = now.all.busy.saturating_sub(then.busy);
        let foreign = busy.saturating_sub(own.saturating_sub(own_then));
        let total = now.all.total.checked_sub(then.total).filter(|t| *t > 0)?;
        Some(foreign as f64 / total as f64 * now.each.len().max(1) as f64)
    }

    fn temperature(&self) -> Option<f64> {
        let zones = std::fs::read_dir(self.root.join("sys/class/thermal")).ok()?;
        let read = |zone: std::fs::DirEntry| -> Option<f64> {
            let text = std::fs::read_to_string(zone.path().join("temp")).ok()?;
            Some(text.trim().parse::<f64>().ok()? / 1e3)
        };
        zones
            .filter_map(|zone| read(zone.ok()?))
            .filter(|celsius| CREDIBLE.contains(celsius))
            .reduce(f64::max)
    }
}

impl Share {
    /// The share of the time since `before` in use; `None` where none has passed.
    fn since(&self, before: &Share) -> Option<f64> {
        let total = self.total.checked_sub(before.total).filter(|t| *t > 0)?;
        Some(self.busy.saturating_sub(before.busy) as f64 / total as f64)
    }
}

/// `/proc/stat`. Stolen time counts as in use: another guest had the processor.
fn times(text: &str) -> Option<Times> {
    let share = |line: &str| -> Option<Share> {
        let ticks: Vec<u64> = line
            .split_whitespace()
            .skip(1)
            .map_while(|t| t.parse().ok())
            .collect();
        let field = |index: usize| ticks.get(index).copied().unwrap_or(0);
        // user, nice, system, idle, iowait, irq, softirq, steal; guests are in user.
        let idle = field(3) + field(4);
        let busy = field(0) + field(1) + field(2) + field(5) + field(6) + field(7);
        (ticks.len() >= 4).then_some(Share {
            busy,
            total: busy + idle,
        })
    };
    let all = text.lines().find(|line| line.starts_with("cpu "))?;
    let each = text.lines().filter_map(|line| {
        let (number, _) = line.strip_prefix("cpu")?.split_once(' ')?;
        Some((number.parse().ok()?, share(line)?))
    });
    Some(Times {
        all: share(all)?,
        each: each.collect(),
    })
}

/// `/proc/loadavg`: the average over a minute.
fn load(text: &str) -> Option<f64> {
    text.split_whitespace().next()?.parse().ok()
}

/// `/proc/pressure/memory`: `some`, over 10 s.
fn pressure(text: &str) -> Option<f64> {
    let some = text.lines().find_map(|line| line.strip_prefix("some "))?;
    let average = some
        .split_whitespace()
        .find_map(|w| w.strip_prefix("avg10="))?;
    average.parse().ok()
}

#[cfg(test)]
#[path = "host_tests.rs"]
mod tests;
