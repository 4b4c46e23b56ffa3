//! The canary's work on a CPU: arithmetic on one core, and a copy that no cache holds.

use std::hint::black_box;
use std::time::Instant;

use crate::model::CanaryTimes;

/// The work's name with its version; to be changed with anything here that changes how long it
/// takes. An unoptimised program is another work.
pub(super) const WORK: &str = match cfg!(debug_assertions) {
    true => "cpu-1-unoptimised",
    false => "cpu-1",
};

/// Steps of the chain: each waits for the one before, some 10 clocks.
const STEPS: u32 = 4_000_000;
/// Times taken, of which the median counts.
const TIMES: usize = 9;
/// Bytes of a copy's buffers, at least and at most.
const COPY_BYTES: (usize, usize) = (64 << 20, 512 << 20);
/// The same in sizes of the last cache.
const COPY_CACHES: usize = 4;

/// Runs both works.
pub(super) fn measure() -> CanaryTimes {
    let compute_us = median_us(|| {
        black_box(chain(black_box(1)));
    });
    let bytes = (COPY_CACHES * last_cache()).clamp(COPY_BYTES.0, COPY_BYTES.1);
    let from = vec![0xa5_u8; bytes];
    let mut to = vec![0_u8; bytes];
    let copy_us = median_us(|| {
        to.copy_from_slice(black_box(&from));
        black_box(&mut to);
    });
    CanaryTimes {
        compute_us,
        copy_us,
    }
}

/// A multiplication and an addition each of integers and of floats, each step needing the last.
fn chain(seed: u64) -> u64 {
    let (mut integer, mut float) = (seed, 1.0_f64);
    for _ in 0..STEPS {
        integer = integer
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        float = float * 0.999 + 0.5;
    }
    integer ^ float.to_bits()
}

/// The median of several times, microseconds; the first run is not timed.
fn median_us(mut work: impl FnMut()) -> f64 {
    work();
    let mut times: Vec<f64> = (0..TIMES)
        .map(|_| {
            let clock = Instant::now();
            work();
            clock.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[TIMES / 2]
}

/// The size of the largest cache of the first CPU, bytes; 0 where the kernel does not say.
fn last_cache() -> usize {
    let caches = std::fs::read_dir("/sys/devices/system/cpu/cpu0/cache");
    let sizes = caches.into_iter().flatten().flatten().filter_map(|cache| {
        let text = std::fs::read_to_string(cache.path().join("size")).ok()?;
        cache_size(&text)
    });
    sizes.max().unwrap_or(0)
}

/// `32768K`, `8M`.
fn cache_size(text: &str) -> Option<usize> {
    let text = text.trim();
    let (digits, unit) = match text.strip_suffix('K') {
        Some(digits) => (digits, 1 << 10),
        None => (text.strip_suffix('M')?, 1 << 20),
    };
    digits.parse::<usize>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_caches_are_read() {
        assert_eq!(cache_size("32768K\n"), Some(32 << 20));
        assert_eq!(cache_size("8M"), Some(8 << 20));
        assert_eq!(cache_size("8"), None);
    }

    #[test]
    fn the_chain_is_the_same_work_each_time() {
        assert_eq!(chain(1), chain(1));
        assert_ne!(chain(1), chain(2));
    }
}
