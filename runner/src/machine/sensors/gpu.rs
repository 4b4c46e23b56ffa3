//! A GPU's sensors, by NVIDIA's management library. What a device does not support is asked for
//! once and absent from then on.

use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::{Clock, EccCounter, MemoryError, TemperatureSensor};

use super::own::{Own, Standing};
use super::xid::Xids;
use super::{Moment, gone};
use crate::machine::nvml::{GpuProcess, NvmlError, NvmlGpu};
use crate::model::{Absent, GpuReading, GpuUser, Throttle};

/// One device.
#[derive(Debug)]
pub(super) struct GpuSensors {
    gpu: &'static NvmlGpu,
    xids: Result<Xids, NvmlError>,
    own: Own,
    /// What this device does not support, so that it need not be asked again.
    unsupported: Vec<Absent>,
}

/// A reading of many: its name, and what to do.
struct Asking<'a> {
    gpu: &'a NvmlGpu,
    unsupported: &'a mut Vec<Absent>,
    absent: &'a mut Vec<Absent>,
    /// Why the device does not answer any more.
    lost: Option<String>,
}

impl Asking<'_> {
    fn ask<T>(
        &mut self,
        name: &str,
        ask: impl FnOnce(&NvmlGpu) -> Result<T, NvmlError>,
    ) -> Option<T> {
        if self.lost.is_some() {
            return None;
        }
        if let Some(known) = self.unsupported.iter().find(|a| a.reading == name) {
            self.absent.push(known.clone());
            return None;
        }
        match ask(self.gpu) {
            Ok(value) => Some(value),
            Err(error @ (NvmlError::Gone { .. } | NvmlError::NoLibrary { .. })) => {
                self.lost = Some(error.to_string());
                None
            }
            Err(error @ NvmlError::NotSupported { .. }) => {
                let absent = gone(name, error.to_string());
                self.unsupported.push(absent.clone());
                self.absent.push(absent);
                None
            }
            Err(error) => {
                self.absent.push(gone(name, error.to_string()));
                None
            }
        }
    }
}

impl GpuSensors {
    /// Finds the device. The library stays open until the program ends, because events borrow it:
    /// a run opens it once.
    pub(super) fn open(uuid: &str, own: Own) -> Result<GpuSensors, NvmlError> {
        let gpu: &'static NvmlGpu = Box::leak(Box::new(NvmlGpu::open(uuid)?));
        Ok(GpuSensors {
            gpu,
            xids: Xids::of(gpu),
            own,
            unsupported: Vec::new(),
        })
    }

    /// Reads all of the device's sensors; `None` where it does not answer any more.
    pub(super) fn read(&mut self, moment: Moment, absent: &mut Vec<Absent>) -> Option<GpuReading> {
        if moment == Moment::Before {
            self.own.forget();
        }
        let mut asking = Asking {
            gpu: self.gpu,
            unsupported: &mut self.unsupported,
            absent,
            lost: None,
        };
        let mut reading = clocks(&mut asking);
        condition(&mut asking, &mut reading);
        let xids = &self.xids;
        reading.xids = asking.ask("GPU Xid errors", |_| match xids {
            Ok(xids) => xids.new_ones(),
            Err(error) => Err(error.clone()),
        });
        let users = asking.ask("GPU processes", NvmlGpu::compute_processes);
        if let Some(reason) = asking.lost {
            absent.push(gone("GPU", reason));
            return None;
        }
        self.sort_users(users, &mut reading);
        Some(reading)
    }

    /// Tells the launch's own processes from foreign ones.
    fn sort_users(&mut self, users: Option<Vec<GpuProcess>>, reading: &mut GpuReading) {
        let Some(users) = users else {
            return;
        };
        let mut foreign = Vec::new();
        for user in users {
            let standing = self.own.standing(user.pid);
            if standing == Standing::Own {
                let own = reading.own_memory_bytes.unwrap_or(0);
                reading.own_memory_bytes = match user.memory_bytes {
                    Some(bytes) => Some(own + bytes),
                    None => reading.own_memory_bytes,
                };
                continue;
            }
            foreign.push(GpuUser {
                pid: user.pid,
                name: user.name,
                memory_bytes: user.memory_bytes,
                is_visible: standing == Standing::Foreign,
            });
        }
        reading.foreign = Some(foreign);
    }
}

fn clocks(asking: &mut Asking<'_>) -> GpuReading {
    let mut clock = |name: &str, doing: &'static str, clock: Clock| {
        asking.ask(name, |gpu| {
            gpu.ask(doing, |device| device.clock_info(clock))
        })
    };
    GpuReading {
        sm_clock_mhz: clock("GPU SM clock", "asking for the SM clock", Clock::SM),
        memory_clock_mhz: clock(
            "GPU memory clock",
            "asking for the memory clock",
            Clock::Memory,
        ),
        ..GpuReading::default()
    }
}

fn condition(asking: &mut Asking<'_>, reading: &mut GpuReading) {
    let reasons = asking.ask("GPU throttle reasons", |gpu| {
        gpu.ask("asking what holds the clocks", |device| {
            device.current_throttle_reasons()
        })
    });
    reading.throttle = reasons.map(throttle);
    let celsius = asking.ask("GPU temperature", |gpu| {
        gpu.ask("asking for the temperature", |device| {
            device.temperature(TemperatureSensor::Gpu)
        })
    });
    reading.temperature_c = celsius.map(f64::from);
    let milliwatts = asking.ask("GPU power", |gpu| {
        gpu.ask("asking for the power", |device| device.power_usage())
    });
    reading.power_w = milliwatts.map(|mw| f64::from(mw) / 1e3);
    let used = asking.ask("GPU utilisation", |gpu| {
        gpu.ask("asking for the utilisation", |device| {
            device.utilization_rates()
        })
    });
    reading.utilisation_percent = used.map(|used| f64::from(used.gpu));
    let memory = asking.ask("GPU memory in use", NvmlGpu::memory);
    reading.used_memory_bytes = memory.map(|memory| memory.used);
    reading.ecc_uncorrected = asking.ask("GPU ECC errors", |gpu| {
        gpu.ask("asking for ECC errors", |device| {
            device.total_ecc_errors(MemoryError::Uncorrected, EccCounter::Volatile)
        })
    });
}

/// The driver's bits as words.
fn throttle(bits: ThrottleReasons) -> Vec<Throttle> {
    [
        (ThrottleReasons::GPU_IDLE, Throttle::Idle),
        (
            ThrottleReasons::APPLICATIONS_CLOCKS_SETTING,
            Throttle::ApplicationClocks,
        ),
        (ThrottleReasons::SW_POWER_CAP, Throttle::SoftwarePowerCap),
        (ThrottleReasons::HW_SLOWDOWN, Throttle::HardwareSlowdown),
        (ThrottleReasons::SYNC_BOOST, Throttle::SyncBoost),
        (
            ThrottleReasons::SW_THERMAL_SLOWDOWN,
            Throttle::SoftwareThermal,
        ),
        (
            ThrottleReasons::HW_THERMAL_SLOWDOWN,
            Throttle::HardwareThermal,
        ),
        (
            ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN,
            Throttle::PowerBrake,
        ),
        (
            ThrottleReasons::DISPLAY_CLOCK_SETTING,
            Throttle::DisplayClocks,
        ),
    ]
    .into_iter()
    .filter(|(bit, _)| bits.contains(*bit))
    .map(|(_, word)| word)
    .collect()
}
