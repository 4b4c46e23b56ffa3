//! NVIDIA's management library, loaded at run time, and one device in it, found by its UUID.
//!
//! The only place that opens the library. Every reading can be missing: [`NvmlError`] says why, and
//! a reading that is not there is never a zero. Nothing here waits, and nothing but
//! [`NvmlGpu::lock_sm_clock`] and [`NvmlGpu::reset_sm_clock`] changes the device.

use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::Clock;
use nvml_wrapper::enums::device::{GpuLockedClocksSetting, UsedGpuMemory};
use nvml_wrapper::error::NvmlError as Source;
use nvml_wrapper::struct_wrappers::device::ProcessInfo;
use nvml_wrapper::{Device, Nvml};

/// Why the management library did not do or tell what it was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NvmlError {
    /// There is no library, or no driver behind it.
    #[error(
        "NVIDIA's management library (libnvidia-ml.so.1) cannot be used: {reason}; it comes with \
         NVIDIA's driver"
    )]
    NoLibrary {
        /// What the loader or the library said.
        reason: String,
    },
    /// The library does not know the device.
    #[error(
        "NVIDIA's management library knows no device {uuid}; `nvidia-smi -L` lists those it does"
    )]
    NoDevice {
        /// The UUID that was looked for.
        uuid: String,
    },
    /// This user may not.
    #[error("{doing}: not permitted")]
    NotPermitted {
        /// What was being done.
        doing: &'static str,
    },
    /// This device or driver cannot.
    #[error("{doing}: not supported by this device or driver")]
    NotSupported {
        /// What was being done.
        doing: &'static str,
    },
    /// The device was there and is no more.
    #[error("{doing}: the device is lost; `dmesg` may say why, and a restart may be needed")]
    Gone {
        /// What was being done.
        doing: &'static str,
    },
    /// Anything else.
    #[error("{doing}: {reason}")]
    Other {
        /// What was being done.
        doing: &'static str,
        /// What the library said.
        reason: String,
    },
}

impl NvmlError {
    pub(super) fn new(doing: &'static str, error: &Source) -> NvmlError {
        match error {
            Source::LibloadingError(_)
            | Source::LibraryNotFound
            | Source::DriverNotLoaded
            | Source::LibRmVersionMismatch => NvmlError::NoLibrary {
                reason: error.to_string(),
            },
            Source::NoPermission => NvmlError::NotPermitted { doing },
            // An older library lacks the newer functions.
            Source::NotSupported | Source::FunctionNotFound | Source::FailedToLoadSymbol(_) => {
                NvmlError::NotSupported { doing }
            }
            Source::GpuLost | Source::ResetRequired => NvmlError::Gone { doing },
            other => NvmlError::Other {
                doing,
                reason: other.to_string(),
            },
        }
    }
}

/// A process that has a context on the device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GpuProcess {
    /// Its number. The driver's own, which is another one inside a container.
    pub pid: u32,
    /// The program's name, where this machine tells.
    pub name: Option<String>,
    /// Device memory that it uses, bytes, where the driver tells.
    pub memory_bytes: Option<u64>,
}

/// Device memory, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GpuMemory {
    /// In use, without what the driver reserves for itself.
    pub used: u64,
    /// All there is.
    pub total: u64,
}

/// The library, opened, and the device that is asked.
#[derive(Debug)]
pub struct NvmlGpu {
    nvml: Nvml,
    uuid: String,
}

impl NvmlGpu {
    /// Opens the library and finds the device with this UUID (`GPU-…`, as CUDA and nvidia-smi
    /// give it): indices of the two differ where `CUDA_VISIBLE_DEVICES` is set.
    ///
    /// # Errors
    /// [`NvmlError::NoLibrary`], [`NvmlError::NoDevice`], or what else the library says.
    pub fn open(uuid: &str) -> Result<NvmlGpu, NvmlError> {
        let nvml =
            Nvml::init().map_err(|e| NvmlError::new("opening NVIDIA's management library", &e))?;
        let uuid = uuid.to_owned();
        let gpu = NvmlGpu { nvml, uuid };
        gpu.device()?;
        Ok(gpu)
    }

    /// The UUID that it was found by.
    pub fn uuid(&self) -> &str {
        &self.uuid
    }

    /// The device in the library; looked up anew each time, because it borrows the library.
    pub(super) fn device(&self) -> Result<Device<'_>, NvmlError> {
        self.nvml
            .device_by_uuid(self.uuid.as_str())
            .map_err(|error| match error {
                Source::NotFound | Source::InvalidArg => NvmlError::NoDevice {
                    uuid: self.uuid.clone(),
                },
                other => NvmlError::new("finding the device", &other),
            })
    }

    /// Asks the device for something; `doing` is what an error calls it.
    pub(super) fn ask<T>(
        &self,
        doing: &'static str,
        ask: impl FnOnce(&mut Device<'_>) -> Result<T, Source>,
    ) -> Result<T, NvmlError> {
        ask(&mut self.device()?).map_err(|e| NvmlError::new(doing, &e))
    }

    /// Processes that compute on the device.
    pub fn compute_processes(&self) -> Result<Vec<GpuProcess>, NvmlError> {
        let found = self.ask("listing compute processes", |device| {
            device.running_compute_processes()
        })?;
        Ok(self.described(found))
    }

    /// Processes that draw on the device.
    pub fn graphics_processes(&self) -> Result<Vec<GpuProcess>, NvmlError> {
        let found = self.ask("listing graphics processes", |device| {
            device.running_graphics_processes()
        })?;
        Ok(self.described(found))
    }

    fn described(&self, found: Vec<ProcessInfo>) -> Vec<GpuProcess> {
        let one = |process: ProcessInfo| GpuProcess {
            pid: process.pid,
            name: self.process_name(process.pid),
            memory_bytes: match process.used_gpu_memory {
                UsedGpuMemory::Used(bytes) => Some(bytes),
                UsedGpuMemory::Unavailable => None,
            },
        };
        found.into_iter().map(one).collect()
    }

    /// The program's name without its folder and arguments.
    fn process_name(&self, pid: u32) -> Option<String> {
        const LONGEST: usize = 256;
        let here = std::fs::read_to_string(format!("/proc/{pid}/comm"));
        let name = here
            .ok()
            .or_else(|| self.nvml.sys_process_name(pid, LONGEST).ok())?;
        let name = name.trim().rsplit('/').next()?.to_owned();
        (!name.is_empty()).then_some(name)
    }

    /// Device memory. Devices that share the machine's memory (GB10) do not tell.
    pub fn memory(&self) -> Result<GpuMemory, NvmlError> {
        let info = self.ask("asking for the device's memory", |device| {
            device.memory_info()
        })?;
        Ok(GpuMemory {
            used: info.used,
            total: info.total,
        })
    }

    /// Whether the device is split into instances (MIG); a device that cannot be is not.
    pub fn is_split(&self) -> Result<bool, NvmlError> {
        const SPLIT: u32 = 1;
        match self.ask("asking whether the device is split (MIG)", |device| {
            device.mig_mode()
        }) {
            Ok(mode) => Ok(mode.current == SPLIT),
            Err(NvmlError::NotSupported { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The SM clock now, MHz.
    pub fn sm_clock(&self) -> Result<u32, NvmlError> {
        self.ask("asking for the SM clock", |device| {
            device.clock_info(Clock::SM)
        })
    }

    /// The highest SM clock, MHz.
    pub fn max_sm_clock(&self) -> Result<u32, NvmlError> {
        self.ask("asking for the highest SM clock", |device| {
            device.max_clock_info(Clock::SM)
        })
    }

    /// The SM clock that applications are given, MHz.
    pub fn application_sm_clock(&self) -> Result<u32, NvmlError> {
        self.ask("asking for the application clock", |device| {
            device.applications_clock(Clock::SM)
        })
    }

    /// The same as the vendor set it, MHz: what the device is rated to hold.
    pub fn default_application_sm_clock(&self) -> Result<u32, NvmlError> {
        self.ask("asking for the default application clock", |device| {
            device.default_applications_clock(Clock::SM)
        })
    }

    /// Whether the driver says that a setting of somebody's holds the clocks now.
    pub fn is_clock_held_by_setting(&self) -> Result<bool, NvmlError> {
        let reasons = self.ask("asking what holds the clocks", |device| {
            device.current_throttle_reasons()
        })?;
        Ok(reasons.contains(ThrottleReasons::APPLICATIONS_CLOCKS_SETTING))
    }

    /// Locks the SM clock to a value, MHz. It stays so until it is reset, the driver is unloaded
    /// or the machine restarts; who calls this has seen to it that it is undone.
    pub fn lock_sm_clock(&self, mhz: u32) -> Result<(), NvmlError> {
        let setting = GpuLockedClocksSetting::Numeric {
            min_clock_mhz: mhz,
            max_clock_mhz: mhz,
        };
        self.ask("locking the SM clock", |device| {
            device.set_gpu_locked_clocks(setting)
        })
    }

    /// Takes a lock of the SM clock away.
    pub fn reset_sm_clock(&self) -> Result<(), NvmlError> {
        self.ask("resetting the SM clock", |device| {
            device.reset_gpu_locked_clocks()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_the_library_are_sorted() {
        let sorted = |source: Source| NvmlError::new("locking the SM clock", &source);
        let doing = "locking the SM clock";
        assert_eq!(
            sorted(Source::NoPermission),
            NvmlError::NotPermitted { doing }
        );
        assert_eq!(
            sorted(Source::FailedToLoadSymbol("x".into())),
            NvmlError::NotSupported { doing }
        );
        assert_eq!(sorted(Source::GpuLost), NvmlError::Gone { doing });
        assert!(matches!(
            sorted(Source::DriverNotLoaded),
            NvmlError::NoLibrary { .. }
        ));
        let other = sorted(Source::Timeout).to_string();
        assert!(other.starts_with("locking the SM clock: "), "{other}");
    }
}
