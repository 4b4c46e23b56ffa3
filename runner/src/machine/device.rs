//! Which device a campaign runs on, and the lock that keeps others off it.

use std::path::Path;

use super::environment::Environment;
use super::gpu::Gpu;
use super::lock::{HeldLock, Holder, LockError};
use crate::config::{Config, DeviceKind};
use crate::model::DeviceState;
use crate::progress::Progress;

/// The device that the config asks for, or what was found instead.
pub fn device_state(config: &Config, environment: &Environment) -> DeviceState {
    match config.device.kind {
        DeviceKind::Cpu => DeviceState::Present {
            name: environment.cpu.clone(),
            id: format!("cpu-{}", environment.machine_id),
        },
        DeviceKind::Cuda => cuda_state(
            &environment.gpus,
            environment.no_gpu.as_deref(),
            config.device.index,
            &config.toolchain.arch,
        ),
    }
}

fn cuda_state(gpus: &[Gpu], no_gpu: Option<&str>, index: u32, arch: &[String]) -> DeviceState {
    if gpus.is_empty() {
        return DeviceState::Absent {
            reason: no_gpu.unwrap_or("the driver sees no device").to_owned(),
        };
    }
    let Some(gpu) = gpus.iter().find(|gpu| gpu.index == index) else {
        let found: Vec<String> = gpus
            .iter()
            .map(|g| format!("{} ({})", g.index, g.name))
            .collect();
        return DeviceState::Absent {
            reason: format!("there is no device {index}; found {}", found.join(", ")),
        };
    };
    if arch.iter().any(|arch| runs_on(arch, gpu.cc)) {
        return DeviceState::Present {
            name: gpu.name.clone(),
            id: gpu.uuid.clone(),
        };
    }
    let (major, minor) = gpu.cc;
    DeviceState::Absent {
        reason: format!(
            "device {index} is {} (sm_{major}{minor}), which cannot run code for {}",
            gpu.name,
            arch.join(", ")
        ),
    }
}

/// Whether machine code for `arch` runs on a device: on its own compute capability, and without
/// the suffix `a` on later minor ones of the same major.
fn runs_on(arch: &str, (major, minor): (u32, u32)) -> bool {
    let Some(name) = arch.strip_prefix("sm_") else {
        return false;
    };
    let digits = name.trim_end_matches(['a', 'f']);
    let Some(number) = digits.parse::<u32>().ok() else {
        return false;
    };
    let (own_major, own_minor) = (number / 10, number % 10);
    own_major == major && (own_minor == minor || (own_minor < minor && !name.ends_with('a')))
}

/// A device's id as part of a file's name.
pub(super) fn file_name(id: &str) -> String {
    let plain = |c: char| match c.is_ascii_alphanumeric() || c == '-' {
        true => c,
        false => '_',
    };
    id.chars().map(plain).collect()
}

/// Takes the machine-wide lock of a device (`id` of [`DeviceState::Present`]). With `wait`, it
/// is waited for and the progress told whom for; else whoever has it is named in the error.
pub async fn lock_device(
    locks: &Path,
    id: &str,
    holder: &Holder,
    wait: Option<&Progress>,
) -> Result<HeldLock, LockError> {
    let path = locks.join(format!("{}.lock", file_name(id)));
    match wait {
        None => HeldLock::take(&path, holder, true),
        Some(progress) => {
            HeldLock::wait(&path, holder, true, |held| {
                progress.note(format!("waiting for the device: {held}"));
            })
            .await
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gpu(index: u32, cc: (u32, u32)) -> Gpu {
        Gpu {
            index,
            name: format!("G{index}"),
            uuid: format!("GPU-{index}"),
            cc,
            driver_version: "13.0".into(),
            sm_count: 48,
            memory_bytes: 1,
            card: None,
        }
    }

    fn state(gpus: &[Gpu], index: u32, arch: &[&str]) -> Result<String, String> {
        let arch: Vec<String> = arch.iter().map(|a| (*a).to_owned()).collect();
        match cuda_state(gpus, Some("no driver"), index, &arch) {
            DeviceState::Present { id, .. } => Ok(id),
            DeviceState::Absent { reason } => Err(reason),
        }
    }

    #[test]
    fn the_device_must_run_one_of_the_architectures() {
        let gb10 = [gpu(0, (12, 1))];
        assert_eq!(state(&gb10, 0, &["sm_90", "sm_121"]), Ok("GPU-0".into()));
        assert_eq!(state(&gb10, 0, &["sm_121a"]), Ok("GPU-0".into()));
        assert_eq!(state(&gb10, 0, &["sm_120"]), Ok("GPU-0".into()));
        assert!(state(&gb10, 0, &["sm_120a"]).is_err());
        let reason = state(&gb10, 0, &["sm_90"]).expect_err("another");
        assert!(
            reason.contains("G0 (sm_121)") && reason.contains("sm_90"),
            "{reason}"
        );
        assert_eq!(state(&[], 0, &["sm_90"]), Err("no driver".into()));
        let reason = state(&gb10, 1, &["sm_121"]).expect_err("no such device");
        assert!(reason.contains("no device 1; found 0 (G0)"), "{reason}");
    }

    #[tokio::test]
    async fn one_run_at_a_time_per_device() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let holder = Holder::this_process("r", "measuring");
        let locks = folder.path().join("locks");
        let held = lock_device(&locks, "GPU-1/../x", &holder, None)
            .await
            .expect("free");
        let error = lock_device(&locks, "GPU-1/../x", &holder, None)
            .await
            .expect_err("taken");
        assert!(error.to_string().contains("measuring"), "{error}");
        lock_device(&locks, "GPU-2", &holder, None)
            .await
            .expect("another device");
        drop(held);
        lock_device(&locks, "GPU-1/../x", &holder, Some(&Progress::silent()))
            .await
            .expect("free");
        assert!(locks.join("GPU-1____x.lock").exists());
    }
}
