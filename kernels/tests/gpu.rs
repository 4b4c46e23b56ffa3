//! The tests that need a GPU. Without one each is listed as not run; with one they run, on the
//! cubins of every step of the series.
//!
//! `cargo test -p kernels --test gpu` builds the cubins itself (ROUNDHOUSE_TEST_CUDA names nvcc's
//! folder). The program can also be carried to another machine: ROUNDHOUSE_GPU_STEPS names a
//! folder with a folder of cubins for each step, `1` to `6`, and nothing else is needed.
//! `gpu --launch KERNEL --cubins DIR` launches one kernel once, for a profiler to watch.

mod common;
#[path = "common/cuda.rs"]
mod cuda;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use common::{Result, apply};
use cuda::make;
use kernels::device::{Arg, Cuda, Device, DeviceError, Geometry, Launch, probe};
use kernels::harness::load_images;
use kernels::series::PATCHES;
use kernels::standalone::{Case, Problem, SampleRequest, Size, launch_once, parity, sample};

/// A test on a device that has loaded the cubins of a step.
type Test = fn(&mut Cuda) -> Result;

/// Tests that do not depend on the step; the last one ends the device's context.
const TESTS: &[(&str, Test)] = &[
    ("device: describes itself", describes_itself),
    ("device: buffers keep what is written", buffers_keep),
    ("device: a damaged cubin is refused", damaged_cubin),
    ("device: a missing kernel is named", missing_kernel),
    ("device: too much shared memory is refused", too_much_smem),
    ("device: shared memory beyond 48 KB is granted", more_smem),
    ("device: a launch that does not fit is refused", bad_launch),
    ("device: a faulting kernel is reported", faulting_kernel),
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [launch, kernel, cubins, dir] = args.as_slice()
        && launch == "--launch"
        && cubins == "--cubins"
    {
        return report("launch", launch_for_profiler(kernel, Path::new(dir)));
    }
    match probe() {
        Err(none) => {
            for name in names() {
                println!("test {name} ... not run: {none}");
            }
            println!("\ntest result: nothing run, {} need a GPU", names().len());
            ExitCode::SUCCESS
        }
        Ok(_) => run_all(),
    }
}

fn names() -> Vec<String> {
    let mut names = Vec::new();
    for step in 1..=PATCHES.len() {
        for case in Case::ALL {
            names.push(parity_name(step, case));
            names.push(sample_name(step, case));
        }
    }
    names.extend(TESTS.iter().map(|(name, _)| (*name).to_owned()));
    names
}

fn parity_name(step: usize, case: Case) -> String {
    format!("step {step}: {} parity", case.name())
}

fn sample_name(step: usize, case: Case) -> String {
    format!("step {step}: {} sample", case.name())
}

/// Prints how a test ended.
fn report(name: &str, result: Result) -> ExitCode {
    match result {
        Ok(()) => {
            println!("test {name} ... ok");
            ExitCode::SUCCESS
        }
        Err(error) => {
            println!("test {name} ... FAILED: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run_all() -> ExitCode {
    let mut failed = 0;
    let mut count = |code: ExitCode| failed += usize::from(code != ExitCode::SUCCESS);
    let arch = match Cuda::open(0) {
        Ok(device) => device.info().arch(),
        Err(error) => return report("open", Err(error.into())),
    };
    let steps = match Steps::find(&arch) {
        Ok(steps) => steps,
        Err(error) => return report("cubins", Err(error)),
    };
    for step in 1..=PATCHES.len() {
        for case in Case::ALL {
            count(report(
                &parity_name(step, case),
                steps.open(step).and_then(|d| is_right(d, case)),
            ));
            count(report(
                &sample_name(step, case),
                steps.open(step).and_then(|d| times(d, case)),
            ));
        }
    }
    for (name, test) in TESTS {
        count(report(
            name,
            steps.open(1).and_then(|mut device| test(&mut device)),
        ));
    }
    println!("\ntest result: {} run, {failed} failed", names().len());
    ExitCode::from(u8::from(failed > 0))
}

/// Where the cubins of each step are.
struct Steps {
    folders: Vec<PathBuf>,
    /// Keeps the folders that were made here.
    _made: Vec<tempfile::TempDir>,
}

impl Steps {
    fn find(arch: &str) -> Result<Steps> {
        if let Some(given) = std::env::var_os("ROUNDHOUSE_GPU_STEPS") {
            let folder = |step: usize| Path::new(&given).join(step.to_string());
            return Ok(Steps {
                folders: (1..=PATCHES.len()).map(folder).collect(),
                _made: Vec::new(),
            });
        }
        let mut made = Vec::new();
        for step in 1..=PATCHES.len() {
            let dir = apply(step)?;
            make(dir.path(), arch, "all")?;
            made.push(dir);
        }
        Ok(Steps {
            folders: made.iter().map(|dir| dir.path().join("build")).collect(),
            _made: made,
        })
    }

    fn open(&self, step: usize) -> Result<Cuda> {
        open(&self.folders[step - 1])
    }
}

/// A device that has loaded every cubin of a folder.
fn open(folder: &Path) -> Result<Cuda> {
    let mut device = Cuda::open(0)?;
    let mut images = Vec::new();
    let entries = std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "cubin") {
            images.push(std::fs::read(path)?);
        }
    }
    load_images(&mut device, images).map_err(|e| format!("{}: {e}", folder.display()))?;
    Ok(device)
}

fn launch_for_profiler(kernel: &str, folder: &Path) -> Result {
    let case = Case::find(kernel).ok_or_else(|| format!("no kernel `{kernel}`"))?;
    let problem = case.problem(Size::Bench, 0);
    let figures = launch_once(&mut open(folder)?, problem.as_ref())?;
    println!("{kernel}: {figures}");
    Ok(())
}

fn is_right(mut device: Cuda, case: Case) -> Result {
    let problem = case.problem(Size::Parity, 1);
    let figures = parity(&mut device, problem.as_ref())?;
    println!("  {}: {figures}", case.name());
    if figures.passed(problem.tolerance()) {
        Ok(())
    } else {
        Err(format!("{figures}").into())
    }
}

fn times(mut device: Cuda, case: Case) -> Result {
    let request = SampleRequest {
        case,
        seed: 1,
        warmup: 3,
        inner: 15,
    };
    let timing = sample(&mut device, &request)?;
    let (min, max) = timing
        .inner_us
        .iter()
        .fold((f64::INFINITY, 0f64), |(min, max), t| {
            (min.min(*t), max.max(*t))
        });
    println!(
        "  {}: {:.3} us, {min:.3} to {max:.3}, {} launches over {} sets an inner run",
        case.name(),
        timing.value_us,
        timing.launches,
        timing.sets
    );
    Ok(())
}

/// Fails with `text` unless `condition` holds.
fn ensure(condition: bool, text: impl Into<String>) -> Result {
    if condition {
        Ok(())
    } else {
        Err(text.into().into())
    }
}

fn describes_itself(device: &mut Cuda) -> Result {
    let info = device.info();
    println!("  {info:?}");
    ensure(
        info.uuid.len() == 40 && info.uuid.starts_with("GPU-"),
        "uuid",
    )?;
    ensure(info.sm_count > 0 && info.memory_bytes > 1 << 30, "size")?;
    ensure(
        info.smem_optin >= 99 * 1024 && info.l2_bytes > 1 << 20,
        "memories",
    )
}

fn buffers_keep(device: &mut Cuda) -> Result {
    let pattern: Vec<u8> = (0..1_000_003u32).map(|n| ((n * 7) >> 3) as u8).collect();
    let (one, two) = (device.allocate(pattern.len())?, device.allocate(64)?);
    device.write(one, &pattern)?;
    device.write(two, &[9; 64])?;
    let mut back = vec![0; pattern.len()];
    device.read(one, &mut back)?;
    ensure(back == pattern, "content")?;
    ensure(device.write(two, &[0; 65]).is_err(), "written past its end")?;
    device.free(one);
    ensure(
        device.read(one, &mut back).is_err(),
        "read after it was freed",
    )
}

fn damaged_cubin(device: &mut Cuda) -> Result {
    for image in [&b"\x7fELF"[..], b"", b"not a cubin at all"] {
        let refused = matches!(device.load(image), Err(DeviceError::BadImage(_)));
        ensure(refused, format!("{image:?} was not refused"))?;
    }
    Ok(())
}

fn missing_kernel(device: &mut Cuda) -> Result {
    let error = device.kernel("no_such_kernel").err().ok_or("found")?;
    ensure(
        error.to_string().contains("no_such_kernel"),
        error.to_string(),
    )
}

/// A launch of `ldsm_check` at its parity size, and its buffers' worth of operands.
fn ldsm_launch(device: &mut Cuda) -> Result<(Launch, Box<dyn Problem>)> {
    let problem = Case::LdsmCheck.problem(Size::Parity, 1);
    let mut args = Vec::new();
    for input in problem.inputs() {
        let buffer = device.allocate(input.len())?;
        device.write(buffer, input)?;
        args.push(Arg::Buffer(buffer));
    }
    args.push(Arg::Buffer(device.allocate(problem.outputs() * 4)?));
    args.extend(problem.scalars().into_iter().map(Arg::I32));
    let launch = Launch {
        kernel: device.kernel(problem.kernel())?,
        geometry: problem.geometry(),
        args,
    };
    Ok((launch, problem))
}

fn too_much_smem(device: &mut Cuda) -> Result {
    let (mut launch, _) = ldsm_launch(device)?;
    launch.geometry.dynamic_smem = device.info().smem_optin - 32_768 + 16;
    let error = device.launch(&launch).err().ok_or("launched")?;
    ensure(
        matches!(error, DeviceError::SharedMemory { .. }),
        error.to_string(),
    )
}

fn more_smem(device: &mut Cuda) -> Result {
    let (mut launch, _) = ldsm_launch(device)?;
    launch.geometry.dynamic_smem = 56 * 1024;
    device.launch(&launch)?;
    device.synchronize()?;
    Ok(())
}

fn bad_launch(device: &mut Cuda) -> Result {
    let (launch, _) = ldsm_launch(device)?;
    let refused = |device: &mut Cuda, change: fn(&mut Launch)| {
        let mut launch = launch.clone();
        change(&mut launch);
        matches!(device.launch(&launch), Err(DeviceError::BadLaunch { .. }))
    };
    ensure(
        refused(device, |l| l.geometry.block = [1024, 1, 1]),
        "too many threads",
    )?;
    ensure(
        refused(device, |l| l.geometry.grid = [1, 0, 1]),
        "an empty grid",
    )?;
    ensure(refused(device, |l| l.args.truncate(4)), "too few arguments")?;
    ensure(
        refused(device, |l| l.args.push(Arg::I32(0))),
        "too many arguments",
    )?;
    ensure(
        refused(device, |l| l.args[0] = Arg::I32(0)),
        "a number for a pointer",
    )?;
    device.launch(&launch)?;
    Ok(device.synchronize()?)
}

fn faulting_kernel(device: &mut Cuda) -> Result {
    let (mut launch, _) = ldsm_launch(device)?;
    // Rows a gigabyte apart: far outside the operands.
    launch.args[3] = Arg::I32(1 << 30);
    launch.geometry = Geometry {
        grid: [1, 1, 1],
        ..launch.geometry
    };
    let result = device.launch(&launch).and_then(|()| device.synchronize());
    let error = result.err().ok_or("no fault was seen")?;
    println!("  {error}");
    ensure(
        matches!(error, DeviceError::KernelFailed { .. }),
        error.to_string(),
    )
}
