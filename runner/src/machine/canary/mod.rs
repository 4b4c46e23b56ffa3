//! The canary: a fixed work in a process of its own, before and after every window. Its times on
//! this machine are known from earlier windows, so that a state of the machine shows which neither
//! clocks nor counters tell.
//!
//! Runs and reports; what its times mean is decided in [`crate::judge`].

mod cpu;

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use kernels::device::Cuda;
use serde::{Deserialize, Serialize};

use crate::config::{Config, DeviceKind};
use crate::model::{CanaryOutcome, CanaryTimes};
use crate::process::RUN_VARIABLE;

/// How long the canary may take; it takes a second or two.
const LIMIT: Duration = Duration::from_secs(120);

/// Whether it runs for a campaign. On a CPU it must be asked for: machines on which CPU benches
/// run are often shared, and there its times say what the neighbours do.
pub fn is_wanted(config: &Config) -> bool {
    config
        .machine
        .canary
        .unwrap_or(config.device.kind == DeviceKind::Cuda)
}

/// Which work runs on a device.
pub fn work(device: DeviceKind) -> &'static str {
    match device {
        DeviceKind::Cuda => kernels::canary::WORK,
        DeviceKind::Cpu => cpu::WORK,
    }
}

/// What the canary's process prints.
#[derive(Debug, Serialize, Deserialize)]
struct Report {
    work: String,
    #[serde(flatten)]
    times: CanaryTimes,
}

/// The canary's process: runs the work on the CUDA device with this UUID, or on the CPU, and gives
/// the line to print.
///
/// # Errors
/// Where the device is not there, or cannot run it.
pub fn report(uuid: Option<&str>) -> anyhow::Result<String> {
    let (kind, times) = match uuid {
        Some(uuid) => (DeviceKind::Cuda, cuda(uuid)?),
        None => (DeviceKind::Cpu, cpu::measure()),
    };
    let work = work(kind).to_owned();
    Ok(serde_json::to_string(&Report { work, times })?)
}

fn cuda(uuid: &str) -> anyhow::Result<CanaryTimes> {
    let devices = kernels::device::probe()?;
    let device = devices.iter().find(|device| device.uuid == uuid);
    let device = device.ok_or_else(|| anyhow::anyhow!("CUDA sees no device {uuid}"))?;
    let mut device = Cuda::open(device.index)?;
    let times = kernels::canary::measure(&mut device, kernels::canary::IMAGE)?;
    Ok(CanaryTimes {
        compute_us: times.compute_us,
        copy_us: times.copy_us,
    })
}

/// Runs the canary in a process of its own. `uuid` names a CUDA device; without one it runs on the
/// CPU. The process carries the run's mark, so that it goes with a run that is killed.
pub async fn run(runner_exe: &Path, uuid: Option<&str>, run_id: &str) -> CanaryOutcome {
    let mut command = tokio::process::Command::new(runner_exe);
    command.arg("canary").env(RUN_VARIABLE, run_id);
    if let Some(uuid) = uuid {
        command.args(["--uuid", uuid]);
    }
    command.stdin(Stdio::null()).kill_on_drop(true);
    let failed = |reason: String| CanaryOutcome::Failed { reason };
    let output = match tokio::time::timeout(LIMIT, command.output()).await {
        Ok(Ok(output)) => output,
        Ok(Err(error)) => return failed(format!("it could not be started: {error}")),
        Err(_) => return failed(format!("it took more than {} s", LIMIT.as_secs())),
    };
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().last().unwrap_or_default();
        let last = last.trim_start_matches("error: ");
        return failed(format!("it ended with {}: {last}", output.status));
    }
    match serde_json::from_slice::<Report>(&output.stdout) {
        Ok(report) if is_time(report.times.compute_us) && is_time(report.times.copy_us) => {
            CanaryOutcome::Measured(report.times)
        }
        Ok(_) => failed("it took no time".to_owned()),
        Err(error) => failed(format!("its answer cannot be read: {error}")),
    }
}

fn is_time(us: f64) -> bool {
    us.is_finite() && us > 0.0
}
