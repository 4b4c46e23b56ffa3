//! The canary: a fixed work whose time on a machine is known from earlier, so that a machine that
//! has become slower shows although its clocks and counters say nothing.
//!
//! Two kernels, one that only computes and one that only copies, as PTX for the lowest architecture
//! that is supported: every driver compiles the same text for its own device. What the times mean
//! is decided elsewhere.

use crate::device::{Arg, Device, DeviceError, Geometry, Kernel, Launch};

/// The work's name with its version: times of different ones do not compare. To be changed with
/// anything in this module that changes how long the work takes.
pub const WORK: &str = "cuda-1";

/// The kernels: NUL-terminated PTX.
pub const IMAGE: &[u8] = concat!(include_str!("canary.ptx"), "\0").as_bytes();

/// Threads of a block.
const BLOCK: u32 = 256;
/// Blocks for each SM: as many threads as the largest SMs hold.
const BLOCKS_PER_SM: u32 = 8;
/// Steps of the multiply-add chains: 128 clocks each where an SM does 128 multiply-adds a clock, so
/// some 5 ms at 2 GHz.
const STEPS: i32 = 80_000;
/// Bytes of a copy's buffers at least.
const COPY_BYTES: u64 = 256 << 20;
/// The same in sizes of the L2 cache.
const COPY_CACHES: u64 = 4;
/// The largest part of the device's memory that a buffer takes.
const COPY_SHARE: u64 = 8;
/// Copies that are timed together.
const COPIES: usize = 10;
/// Untimed launches first: an idle device needs some tenths of a second to reach its clocks.
const WARM_UP: usize = 60;
/// Times taken, of which the median counts.
const TIMES: usize = 15;
/// What the copied buffer is filled with, and how much of the copy is looked at.
const PATTERN: u8 = 0xa5;
const LOOKED_AT: usize = 4096;

/// How long the works took, microseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Times {
    /// One launch of the arithmetic.
    pub compute_us: f64,
    /// One copy.
    pub copy_us: f64,
}

/// Runs the canary on a device; `image` is [`IMAGE`], or what a stand-in takes for it.
///
/// # Errors
/// Where the device cannot load or run it, or a copy is not one.
pub fn measure(device: &mut dyn Device, image: &[u8]) -> Result<Times, DeviceError> {
    device.load(image)?;
    let compute_us = compute(device)?;
    let copy_us = copy(device)?;
    Ok(Times {
        compute_us,
        copy_us,
    })
}

fn compute(device: &mut dyn Device) -> Result<f64, DeviceError> {
    let blocks = device.info().sm_count * BLOCKS_PER_SM;
    let out = device.allocate((blocks * BLOCK) as usize * size_of::<f32>())?;
    let kernel = device.kernel("canary_compute")?;
    let launch = launch(kernel, blocks, vec![out.into(), STEPS.into()]);
    for _ in 0..WARM_UP {
        device.launch(&launch)?;
    }
    let time = median_time(device, std::slice::from_ref(&launch))?;
    device.free(out);
    Ok(time)
}

fn copy(device: &mut dyn Device) -> Result<f64, DeviceError> {
    let info = device.info();
    let blocks = info.sm_count * BLOCKS_PER_SM;
    let wanted = COPY_BYTES.max(COPY_CACHES * info.l2_bytes);
    let bytes = wanted.min(info.memory_bytes / COPY_SHARE) as usize / 16 * 16;
    let (from, to) = (device.allocate(bytes)?, device.allocate(bytes)?);
    device.fill(from, PATTERN)?;
    device.fill(to, 0)?;
    let kernel = device.kernel("canary_copy")?;
    let count = i32::try_from(bytes / 16).unwrap_or(i32::MAX);
    let launch = launch(kernel, blocks, vec![from.into(), to.into(), count.into()]);
    device.launch(&launch)?;
    let time = median_time(device, &vec![launch; COPIES])? / COPIES as f64;
    let mut found = vec![0; LOOKED_AT.min(bytes)];
    device.read(to, &mut found)?;
    device.free(from);
    device.free(to);
    if found.iter().any(|byte| *byte != PATTERN) {
        return Err(DeviceError::KernelFailed {
            doing: "copying for the canary".to_owned(),
            reason: "the copy does not hold what was copied".to_owned(),
        });
    }
    Ok(time)
}

fn launch(kernel: Kernel, blocks: u32, args: Vec<Arg>) -> Launch {
    Launch {
        kernel,
        geometry: Geometry {
            grid: [blocks, 1, 1],
            block: [BLOCK, 1, 1],
            dynamic_smem: 0,
        },
        args,
    }
}

/// The median of several times of the same launches.
fn median_time(device: &mut dyn Device, launches: &[Launch]) -> Result<f64, DeviceError> {
    let times = (0..TIMES).map(|_| device.time(launches));
    let mut times = times.collect::<Result<Vec<f64>, _>>()?;
    times.sort_by(f64::total_cmp);
    Ok(times[TIMES / 2])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::host::{Host, Invocation};

    fn host(copies: bool) -> Host {
        let compute = |call: &mut Invocation<'_>| {
            assert_eq!(call.integer(0)?, STEPS as usize);
            let threads = call.geometry.grid[0] * call.geometry.block[0];
            call.floats(0, threads as usize).map(|_| ())
        };
        let copy = move |call: &mut Invocation<'_>| {
            let bytes = call.integer(0)? * 16;
            let from = call.bytes(0)?.to_vec();
            assert_eq!(from.len(), bytes, "the whole buffer");
            match copies {
                true => call.write(1, &from),
                false => Ok(()),
            }
        };
        Host::new()
            .with("canary_compute", compute)
            .with("canary_copy", copy)
            .with_memory(16 << 20)
    }

    #[test]
    fn both_works_are_timed_and_nothing_is_left() {
        let mut device = host(true);
        let times = measure(&mut device, Host::IMAGE).expect("it runs");
        assert_eq!((times.compute_us, times.copy_us), (1000.0, 1000.0));
        assert_eq!(device.live(), 0);
        assert_eq!(device.launches("canary_compute") as usize, WARM_UP + TIMES);
        assert_eq!(device.launches("canary_copy") as usize, 1 + TIMES * COPIES);
    }

    #[test]
    fn a_copy_that_copies_nothing_is_no_time() {
        let error = measure(&mut host(false), Host::IMAGE).expect_err("no copy");
        assert!(error.to_string().contains("does not hold"), "{error}");
    }

    #[test]
    fn the_image_is_text_that_ends_in_nul_for_the_lowest_architecture() {
        let text = IMAGE.strip_suffix(b"\0").expect("NUL-terminated");
        let text = std::str::from_utf8(text).expect("text");
        for line in [".version 7.0", ".target sm_80", ".address_size 64"] {
            assert!(text.lines().any(|l| l == line), "no {line}");
        }
    }
}
