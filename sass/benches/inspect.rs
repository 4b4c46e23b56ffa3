//! The cost of an inspection: `inspect_files` on an executable with 500 kernels for each of two
//! architectures, against `nvdisasm -json` alone over the same cubins on all cores, and the peak memory.
//!
//! `cargo bench -p sass --bench inspect`. The figures depend
//! on what else the machine does; the two are therefore measured in turn.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use sass::container::{ImageKind, images};
use sass::{InspectInput, Options, inspect_files};

const UNITS: usize = 10;
const KERNELS_PER_UNIT: usize = 50;
const ROUNDS: usize = 5;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let bin = runner::testing::cuda_bin();
    let folder = tempfile::tempdir()?;
    let binary = build(&bin, folder.path())?;
    let nvdisasm = bin.join("nvdisasm");
    let input = [InspectInput {
        path: binary.clone(),
        name: "engine".to_owned(),
    }];
    let options = Options {
        nvdisasm: Some(nvdisasm.clone()),
        ..Options::default()
    };
    let report = inspect_files(&input, &options)?;
    // Nothing else has used memory yet.
    let peak_kb = peak_memory_kb()?;
    let cubins = extract(&binary, folder.path())?;
    let (mut ours, mut alone) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        ours.push(time(|| {
            inspect_files(&input, &options)
                .map(drop)
                .map_err(Into::into)
        })?);
        alone.push(time(|| disassemble(&nvdisasm, &cubins))?);
    }
    let instructions: u64 = report
        .kernels
        .iter()
        .flat_map(|k| &k.census)
        .map(|c| c.total)
        .sum();
    println!("kernels            {}", report.kernels.len());
    println!("cubins             {}", cubins.len());
    println!("instructions       {instructions}");
    println!(
        "inspect            {:.3} s (median of {ROUNDS})",
        median(&mut ours).as_secs_f64()
    );
    println!(
        "nvdisasm alone     {:.3} s (median of {ROUNDS})",
        median(&mut alone).as_secs_f64()
    );
    println!(
        "ratio              {:.3}",
        median(&mut ours).as_secs_f64() / median(&mut alone).as_secs_f64()
    );
    println!(
        "peak memory        {:.1} MB (without the nvdisasm processes)",
        peak_kb as f64 / 1024.0
    );
    Ok(())
}

/// Source with many instantiations of a kernel that does a little of everything.
fn source(unit: usize) -> Result<String, std::fmt::Error> {
    let mut text = String::from(
        "template <int N> __global__ void kernel(const float* a, const float* b, float* c, int n) {\n\
         __shared__ float tile[32 * (N % 7 + 1)];\n\
         float sum[N % 13 + 1] = {};\n\
         for (int i = threadIdx.x; i < n; i += blockDim.x) {\n\
           tile[threadIdx.x % 32] = a[i]; __syncthreads();\n\
           _Pragma(\"unroll\") for (int j = 0; j < N % 13 + 1; j++)\n\
             _Pragma(\"unroll\") for (int k = 0; k < N % 17 + 4; k++)\n\
               sum[j] = sum[j] * tile[(k + j) % 32] + b[i * N + k] * __expf(sum[j]);\n\
         }\n\
         for (int j = 0; j < N % 13 + 1; j++) c[threadIdx.x + j] = sum[j] / (N + j);\n}\n",
    );
    let first = unit * KERNELS_PER_UNIT;
    for n in first..first + KERNELS_PER_UNIT {
        writeln!(
            text,
            "template __global__ void kernel<{}>(const float*, const float*, float*, int);",
            n + 1
        )?;
    }
    if unit == 0 {
        text.push_str("int main() { return 0; }\n");
    }
    Ok(text)
}

fn build(bin: &Path, folder: &Path) -> Result<PathBuf, Box<dyn std::error::Error>> {
    let mut args = Vec::new();
    for unit in 0..UNITS {
        let name = format!("unit{unit}.cu");
        std::fs::write(folder.join(&name), source(unit)?)?;
        args.push(name);
    }
    let mut command = Command::new(bin.join("nvcc"));
    command
        .args(["-O3", "--threads", "0", "-o", "engine"])
        .args(["-gencode", "arch=compute_90,code=sm_90"])
        .args(["-gencode", "arch=compute_121,code=sm_121"])
        .arg(format!("-L{}", bin.join("../lib").display()))
        .args(args)
        .current_dir(folder);
    if !command.status()?.success() {
        return Err("nvcc failed".into());
    }
    Ok(folder.join("engine"))
}

fn extract(binary: &Path, folder: &Path) -> Result<Vec<PathBuf>, Box<dyn std::error::Error>> {
    let data = std::fs::read(binary)?;
    let mut paths = Vec::new();
    for image in images("engine", &data)? {
        if image.kind == ImageKind::Cubin {
            let path = folder.join(format!("{}.cubin", paths.len()));
            std::fs::write(&path, image.bytes()?)?;
            paths.push(path);
        }
    }
    paths.sort_by_key(|path| std::cmp::Reverse(std::fs::metadata(path).map_or(0, |m| m.len())));
    Ok(paths)
}

/// `nvdisasm -json` over all cubins, one process for each core, output thrown away.
fn disassemble(nvdisasm: &Path, cubins: &[PathBuf]) -> Result<(), Box<dyn std::error::Error>> {
    let next = AtomicUsize::new(0);
    let failed = AtomicUsize::new(0);
    let workers = std::thread::available_parallelism()?.get();
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(cubin) = cubins.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let status = Command::new(nvdisasm)
                        .arg("-json")
                        .arg(cubin)
                        .stdout(Stdio::null())
                        .status();
                    if !status.is_ok_and(|s| s.success()) {
                        failed.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    match failed.into_inner() {
        0 => Ok(()),
        n => Err(format!("nvdisasm failed on {n} cubins").into()),
    }
}

fn time(
    work: impl FnOnce() -> Result<(), Box<dyn std::error::Error>>,
) -> Result<Duration, Box<dyn std::error::Error>> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed())
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn peak_memory_kb() -> Result<u64, Box<dyn std::error::Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    let number = line
        .and_then(|l| l.split_whitespace().next())
        .ok_or("no peak memory")?;
    Ok(number.parse()?)
}
