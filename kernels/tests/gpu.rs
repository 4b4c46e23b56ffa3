//! The tests that need a GPU. Without one each is listed as not run; with one they run, on the
//! cubins of every step of the series.
//!
//! `cargo test -p kernels --test gpu` builds the cubins itself (ROUNDHOUSE_TEST_CUDA names nvcc's
//! folder). The program can also be carried to another machine: ROUNDHOUSE_GPU_STEPS names a
//! folder with a folder of cubins for each step, `1` to `6` for the demo's series and `mmq-1` to
//! `mmq-10` for that of the matrix products, and nothing else is needed. ROUNDHOUSE_GPU_SERIES
//! (`demo` or `mmq`) chooses one of the two.
//! `gpu --launch BENCH --cubins DIR` launches one bench's kernel once, for a profiler to watch.

#[path = "common/bits.rs"]
mod bits;
mod common;
#[path = "common/cuda.rs"]
mod cuda;
#[path = "common/stack.rs"]
mod stack;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bits::{BITS, SEED, digest};
use common::{Result, apply};
use cuda::make;
use kernels::canary;
use kernels::catalogue::{self, BENCHES, Entry, PARITY};
use kernels::device::{Arg, Cuda, Device, DeviceError, Geometry, Launch, probe};
use kernels::harness::load_images;
use kernels::mmq::Tile;
use kernels::series::{MMQ_PATCHES, PATCHES, Patch};
use kernels::standalone::{
    LdsmCheck, Problem, SampleRequest, Size, launch_once, parity, run_once, sample,
};

/// A test on a device that has loaded the cubins of a step.
type Test = fn(&mut Cuda) -> Result;

/// Tests that do not depend on the step; the last one ends the device's context.
const TESTS: &[(&str, Test)] = &[
    ("device: describes itself", describes_itself),
    ("device: buffers keep what is written", buffers_keep),
    ("canary: runs and leaves nothing", canary_runs),
    ("device: a damaged cubin is refused", damaged_cubin),
    ("device: a missing kernel is named", missing_kernel),
    ("device: too much shared memory is refused", too_much_smem),
    ("device: shared memory beyond 48 KB is granted", more_smem),
    ("device: a launch that does not fit is refused", bad_launch),
    ("device: a faulting kernel is reported", faulting_kernel),
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [launch, bench, cubins, dir] = args.as_slice()
        && launch == "--launch"
        && cubins == "--cubins"
    {
        return report("launch", launch_for_profiler(bench, Path::new(dir)));
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

/// A step of a series: the repository after one of its patches.
struct Step {
    /// `1`, `mmq-1`: what reports and folders call it.
    label: String,
    patches: &'static [Patch],
    parity: Vec<&'static Entry>,
    benches: Vec<&'static Entry>,
    /// Whether it is one of the matrix products, with the model around them.
    has_model: bool,
    /// Whether the large model's prefill is timed: where a lever came in.
    times_prefill: bool,
}

/// The step of the matrix products that brings the narrow kernel.
const FIRST_NARROW: usize = 7;
/// The steps that bring a lever.
const LEVERS: [usize; 5] = [2, 4, 6, 8, 10];

/// Whether a series was chosen, or none in particular.
fn wanted(series: &str) -> bool {
    std::env::var("ROUNDHOUSE_GPU_SERIES").map_or(true, |chosen| chosen == series)
}

/// The tests that need a kernel of the demo, if it was chosen.
fn device_tests() -> &'static [(&'static str, Test)] {
    if wanted("demo") { TESTS } else { &[] }
}

/// Every step of the series that were chosen, in order.
fn steps() -> Vec<Step> {
    let mut steps = Vec::new();
    if wanted("demo") {
        steps.extend((1..=PATCHES.len()).map(|n| Step {
            label: n.to_string(),
            patches: &PATCHES[..n],
            parity: entries(PARITY, demo),
            benches: entries(BENCHES, demo),
            has_model: false,
            times_prefill: false,
        }));
    }
    if wanted("mmq") {
        steps.extend((1..=MMQ_PATCHES.len()).map(|n| {
            let has = |name: &str| !demo(name) && (n >= FIRST_NARROW || !name.contains(" NB"));
            // No step changes attention, and its operands and its reference take seconds.
            let timed = |name: &str| has(name) && (n == 1 || name != "attention");
            Step {
                label: format!("mmq-{n}"),
                patches: &MMQ_PATCHES[..n],
                parity: entries(PARITY, has),
                benches: entries(BENCHES, timed),
                has_model: true,
                times_prefill: LEVERS.contains(&n),
            }
        }));
    }
    steps
}

/// Whether a problem is one of the demo's.
fn demo(name: &str) -> bool {
    ["ldsm_check", "scale_read"].contains(&name)
}

fn entries(of: &'static [Entry], wanted: impl Fn(&str) -> bool) -> Vec<&'static Entry> {
    of.iter().filter(|entry| wanted(entry.name)).collect()
}

fn names() -> Vec<String> {
    let mut names = Vec::new();
    for step in steps() {
        names.extend(step.parity.iter().map(|entry| step.parity_name(entry)));
        names.extend(step.benches.iter().map(|entry| step.sample_name(entry)));
        names.extend(step.has_model.then(|| step.bits_name()));
        names.extend(step.has_model.then(|| step.greedy_name()));
        names.extend(step.times_prefill.then(|| step.prefill_name()));
    }
    names.extend(device_tests().iter().map(|(name, _)| (*name).to_owned()));
    names
}

impl Step {
    fn parity_name(&self, entry: &Entry) -> String {
        format!("step {}: {} parity", self.label, entry.name)
    }

    fn sample_name(&self, entry: &Entry) -> String {
        format!("step {}: {} sample", self.label, entry.name)
    }

    fn bits_name(&self) -> String {
        format!("step {}: known answers to the bit", self.label)
    }

    fn greedy_name(&self) -> String {
        format!("step {}: greedy-32", self.label)
    }

    fn prefill_name(&self) -> String {
        format!("step {}: prefill", self.label)
    }
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
    let mut first_said: Option<Vec<i32>> = None;
    for step in steps() {
        let cubins = Cubins::of(&step.label, step.patches, &arch);
        let open = || cubins.as_ref().map_err(|e| e.to_string())?.open();
        for entry in &step.parity {
            let result = open().and_then(|device| is_right(device, entry));
            count(report(&step.parity_name(entry), result));
        }
        for entry in &step.benches {
            let result = open().and_then(|device| times(device, entry));
            count(report(&step.sample_name(entry), result));
        }
        if step.has_model {
            let result = open().and_then(|mut device| known_bits(&mut device));
            count(report(&step.bits_name(), result));
            let result = open().and_then(|device| says_the_same(device, &mut first_said));
            count(report(&step.greedy_name(), result));
        }
        if step.times_prefill {
            let tiles = [Tile::Wide8, Tile::Narrow];
            let result = open().and_then(|mut device| stack::prefill(&mut device, &tiles));
            count(report(&step.prefill_name(), result));
        }
    }
    for (name, test) in device_tests() {
        let result = Cubins::of("1", &PATCHES[..1], &arch)
            .and_then(|cubins| cubins.open())
            .and_then(|mut device| test(&mut device));
        count(report(name, result));
    }
    println!("\ntest result: {} run, {failed} failed", names().len());
    ExitCode::from(u8::from(failed > 0))
}

/// Where the cubins of a step are.
struct Cubins {
    folder: PathBuf,
    /// Keeps the folder if it was made here.
    _made: Option<tempfile::TempDir>,
}

impl Cubins {
    fn of(label: &str, patches: &[Patch], arch: &str) -> Result<Cubins> {
        if let Some(given) = std::env::var_os("ROUNDHOUSE_GPU_STEPS") {
            return Ok(Cubins {
                folder: Path::new(&given).join(label),
                _made: None,
            });
        }
        let made = apply(patches)?;
        make(made.path(), arch, "all")?;
        Ok(Cubins {
            folder: made.path().join("build"),
            _made: Some(made),
        })
    }

    fn open(&self) -> Result<Cuda> {
        open(&self.folder)
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

fn launch_for_profiler(bench: &str, folder: &Path) -> Result {
    let entry = catalogue::find(BENCHES, bench).ok_or_else(|| format!("no bench `{bench}`"))?;
    let problem = entry.problem(0);
    let figures = launch_once(&mut open(folder)?, problem.as_ref())?;
    println!("{bench}: {figures}");
    Ok(())
}

/// The kernels around the products compute what they do on a CPU, to the bit.
fn known_bits(device: &mut Cuda) -> Result {
    let mut others = Vec::new();
    for (name, known) in BITS {
        let entry = catalogue::find(PARITY, name).ok_or_else(|| format!("no case `{name}`"))?;
        let output = run_once(device, entry.problem(SEED).as_ref())?;
        if digest(&output) != *known {
            others.push(*name);
        }
    }
    ensure(
        others.is_empty(),
        format!("other bits: {}", others.join(", ")),
    )
}

/// No step changes what the model says.
fn says_the_same(mut device: Cuda, first: &mut Option<Vec<i32>>) -> Result {
    let said = stack::greedy(&mut device)?;
    match first {
        Some(first) if *first != said => Err(format!("an earlier step said {first:?}").into()),
        _ => {
            *first = Some(said);
            Ok(())
        }
    }
}

fn is_right(mut device: Cuda, entry: &Entry) -> Result {
    let problem = entry.problem(1);
    let figures = parity(&mut device, problem.as_ref())?;
    println!("  {}: {figures}", entry.name);
    if figures.passed(problem.tolerance()) {
        Ok(())
    } else {
        Err(format!("{figures}").into())
    }
}

fn times(mut device: Cuda, entry: &Entry) -> Result {
    let problem = entry.problem(1);
    let request = SampleRequest {
        problem: problem.as_ref(),
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
        entry.name, timing.value_us, timing.launches, timing.sets
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

/// Times are printed, not judged: what they should be is known on the machine only.
fn canary_runs(device: &mut Cuda) -> Result {
    for _ in 0..2 {
        let times = canary::measure(device, canary::IMAGE)?;
        println!(
            "canary: compute {:.1} us, copy {:.2} us",
            times.compute_us, times.copy_us
        );
        ensure(times.compute_us > 0.0 && times.copy_us > 0.0, "no time")?;
    }
    Ok(())
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
    let problem: Box<dyn Problem> = Box::new(LdsmCheck::new(Size::Parity, 1));
    let mut args = Vec::new();
    for input in problem.inputs() {
        let buffer = device.allocate(input.len())?;
        device.write(buffer, input)?;
        args.push(Arg::Buffer(buffer));
    }
    args.push(Arg::Buffer(device.allocate(problem.outputs() * 4)?));
    args.extend(problem.scalars().into_iter().map(Arg::Scalar));
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
        refused(device, |l| l.args.push(0.into())),
        "too many arguments",
    )?;
    ensure(
        refused(device, |l| l.args[0] = 0.into()),
        "a number for a pointer",
    )?;
    device.launch(&launch)?;
    Ok(device.synchronize()?)
}

fn faulting_kernel(device: &mut Cuda) -> Result {
    let (mut launch, _) = ldsm_launch(device)?;
    // Rows a gigabyte apart: far outside the operands.
    launch.args[3] = (1 << 30).into();
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
