//! Times a case by events: warm-up, then inner runs whose median is the sample.
//!
//! Buffers rotate over more than the L2 cache holds. After the timed runs every output is
//! verified, and a time below what the hardware could do is refused: a launch that silently did
//! nothing must not look fast.

use sha2::{Digest as _, Sha256};

use super::parity::{Set, some};
use super::{CaseError, Problem, compare};
use crate::device::{Device, DeviceError, DeviceInfo, Launch};

/// An inner run lasts at least about this long, so that the events' resolution does not matter.
const INNER_RUN_US: f64 = 1000.0;
const MOST_LAUNCHES: usize = 2000;
const MOST_SETS: usize = 16;

/// More 8-bit multiplications than any known SM does in a clock.
const MULTIPLICATIONS_PER_CLOCK: f64 = 16_384.0;
/// A higher clock than any known GPU has, for drivers that do not tell theirs, kHz.
const HIGHEST_CLOCK_KHZ: f64 = 4_000_000.0;
/// More than any known device memory moves in a microsecond: the fastest of 2025, HBM3e of a
/// B300, is rated at 8 TB/s.
const MEMORY_BYTES_PER_US: f64 = 12e6;

/// What to time.
#[derive(Clone, Copy)]
pub struct SampleRequest<'a> {
    /// The problem, at the size at which it is timed.
    pub problem: &'a dyn Problem,
    /// Untimed inner runs.
    pub warmup: u32,
    /// Timed inner runs.
    pub inner: u32,
}

/// One sample.
#[derive(Debug, Clone, PartialEq)]
pub struct Timing {
    /// The median of the inner runs, microseconds a launch.
    pub value_us: f64,
    /// Each inner run, microseconds a launch, in order.
    pub inner_us: Vec<f64>,
    /// Launches of an inner run.
    pub launches: u32,
    /// Sets of operands over which they rotate.
    pub sets: u32,
    /// Launches of all inner runs.
    pub timed_launches: u64,
    /// SHA-256 of the output, hex.
    pub output: String,
}

/// Takes one sample of a case.
///
/// # Errors
/// Where the device could not run it, the timed runs' output is wrong, or the time impossible.
pub fn sample(device: &mut dyn Device, request: &SampleRequest<'_>) -> Result<Timing, CaseError> {
    let mut sets = Vec::new();
    let result = allocate(device, request.problem, &mut sets)
        .map_err(CaseError::from)
        .and_then(|()| timed(device, &sets, request));
    sets.into_iter().for_each(|set| set.free(device));
    result
}

fn allocate(
    device: &mut dyn Device,
    problem: &dyn Problem,
    sets: &mut Vec<Set>,
) -> Result<(), DeviceError> {
    for _ in 0..sets_beyond(device.info().l2_bytes, bytes(problem)) {
        sets.push(Set::new(device, problem)?);
    }
    Ok(())
}

/// Bytes that a launch must move.
fn bytes(problem: &dyn Problem) -> u64 {
    let inputs: usize = problem.inputs().iter().map(|input| input.len()).sum();
    (inputs + problem.outputs() * 4) as u64
}

/// How many sets are more than 1.5 times the L2 cache.
fn sets_beyond(l2_bytes: u64, set_bytes: u64) -> usize {
    let sets = (l2_bytes * 3 / 2 / set_bytes.max(1)) as usize + 1;
    sets.clamp(2, MOST_SETS)
}

fn timed(
    device: &mut dyn Device,
    sets: &[Set],
    request: &SampleRequest<'_>,
) -> Result<Timing, CaseError> {
    let problem = request.problem;
    let round: Vec<Launch> = sets.iter().map(|set| set.launch.clone()).collect();
    device.time(&round)?;
    let once_us = device.time(&round)? / round.len() as f64;
    let rounds = rounds_for(once_us, round.len());
    let run: Vec<Launch> = round
        .iter()
        .cycle()
        .take(rounds * round.len())
        .cloned()
        .collect();
    for _ in 0..request.warmup {
        device.time(&run)?;
    }
    for set in sets {
        set.poison(device, problem)?;
    }
    let mut inner_us = Vec::new();
    for _ in 0..request.inner.max(1) {
        inner_us.push(device.time(&run)? / run.len() as f64);
    }
    let output = verify(device, problem, sets)?;
    let timing = Timing {
        timed_launches: run.len() as u64 * inner_us.len() as u64,
        output: sha256(&[&output]),
        value_us: median(&inner_us),
        inner_us,
        launches: run.len() as u32,
        sets: sets.len() as u32,
    };
    possible(device.info(), problem, &timing)?;
    Ok(timing)
}

/// How often all sets are gone through in an inner run.
pub(crate) fn rounds_for(once_us: f64, sets: usize) -> usize {
    let most = (MOST_LAUNCHES / sets).max(1);
    let wanted = INNER_RUN_US / (once_us * sets as f64);
    // A time of zero gives infinity, which the clamp brings back.
    (wanted.ceil() as usize).clamp(1, most)
}

/// Checks a part of the first set's output against the reference, and that all others are the
/// same to the byte; gives it.
fn verify(
    device: &mut dyn Device,
    problem: &dyn Problem,
    sets: &[Set],
) -> Result<Vec<u8>, CaseError> {
    let mut first: Option<Vec<u8>> = None;
    for (n, set) in sets.iter().enumerate() {
        let output = set.read(device, problem)?;
        match &first {
            None => {
                let figures = compare(problem, &output, some(problem));
                if !figures.passed(problem.tolerance()) {
                    return Err(CaseError::WrongOutput(figures.to_string()));
                }
                first = Some(output);
            }
            Some(first) if *first != output => {
                let text = format!("set {n} of the same operands gave other results than set 0");
                return Err(CaseError::WrongOutput(text));
            }
            Some(_) => {}
        }
    }
    Ok(first.unwrap_or_default())
}

/// SHA-256 of texts of bytes, one after another, hex.
pub(crate) fn sha256(parts: &[&[u8]]) -> String {
    let mut digest = Sha256::new();
    parts.iter().for_each(|part| digest.update(part));
    hex::encode(digest.finalize())
}

/// The least time that so many multiplications alone take, or so many bytes alone, microseconds.
pub(crate) fn floor_us(info: &DeviceInfo, multiplications: u64, moved_bytes: u64) -> f64 {
    let khz = info.clock_khz.map_or(HIGHEST_CLOCK_KHZ, f64::from);
    let per_us = f64::from(info.sm_count.max(1)) * MULTIPLICATIONS_PER_CLOCK * khz / 1000.0;
    let multiplying = multiplications as f64 / per_us;
    multiplying.max(moved_bytes as f64 / MEMORY_BYTES_PER_US)
}

fn possible(info: &DeviceInfo, problem: &dyn Problem, timing: &Timing) -> Result<(), CaseError> {
    let floor_us = floor_us(info, problem.multiplications(), problem.moved_bytes());
    let fastest = timing
        .inner_us
        .iter()
        .copied()
        .fold(f64::INFINITY, f64::min);
    if fastest.is_finite() && fastest >= floor_us {
        return Ok(());
    }
    Err(CaseError::Impossible {
        measured_us: fastest,
        floor_us,
    })
}

pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    match n {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_hold_more_than_the_cache() {
        assert_eq!(sets_beyond(0, 8 << 20), 2);
        assert_eq!(sets_beyond(24 << 20, 8 << 20), 5);
        assert_eq!(sets_beyond(1 << 40, 8 << 20), MOST_SETS);
    }

    #[test]
    fn inner_runs_are_long_enough_and_bounded() {
        assert_eq!(rounds_for(10.0, 10), 10);
        assert_eq!(rounds_for(5000.0, 4), 1);
        assert_eq!(rounds_for(0.0, 4), 500);
        assert_eq!(rounds_for(f64::NAN, 4), 1);
    }

    #[test]
    fn medians() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
    }
}
