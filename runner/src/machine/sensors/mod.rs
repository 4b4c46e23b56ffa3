//! What the machine is like: the GPU by NVIDIA's management library, the computer by `/proc` and
//! `/sys`. Reads and changes nothing; draws no conclusions (those are `crate::judge`'s).

mod collect;
mod gpu;
mod host;
mod own;
#[cfg(test)]
pub(crate) mod scripted;
mod watch;
mod xid;

pub use watch::{INTERVAL, Watch};

use crate::model::{Absent, DeviceState, Reading};
use gpu::GpuSensors;
use host::HostSensors;
use own::Own;

/// When a reading is taken: those while a launch runs must cost next to nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Just before a launch.
    Before,
    /// While it runs.
    During,
    /// Just after it.
    After,
}

/// A reading, and what of it is not there.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Taken {
    /// What was read.
    pub reading: Reading,
    /// What was not, and why.
    pub absent: Vec<Absent>,
}

/// Sensors of a machine; tests script their own.
pub trait Sensors: Send {
    /// Reads all of them.
    fn read(&mut self, moment: Moment) -> Taken;
}

/// The sensors of this machine.
#[derive(Debug)]
pub struct MachineSensors {
    /// The device's, or why it has none; `None` where the campaign uses no GPU.
    gpu: Option<Result<GpuSensors, String>>,
    host: HostSensors,
}

impl MachineSensors {
    /// The sensors of the device that a run uses and of the computer around it. `run` is the mark
    /// that the run's processes carry: they are not foreign.
    pub fn open(device: &DeviceState, run: &str) -> MachineSensors {
        let own = Own::of_run(run);
        let gpu = match device {
            DeviceState::Present { id, .. } if id.starts_with("GPU-") => {
                Some(GpuSensors::open(id, own).map_err(|error| error.to_string()))
            }
            DeviceState::Present { .. } | DeviceState::Absent { .. } => None,
        };
        MachineSensors {
            gpu,
            host: HostSensors::of_this_machine(),
        }
    }
}

impl Sensors for MachineSensors {
    fn read(&mut self, moment: Moment) -> Taken {
        let mut absent = Vec::new();
        let gpu = match &mut self.gpu {
            None => None,
            Some(Ok(sensors)) => sensors.read(moment, &mut absent),
            Some(Err(reason)) => {
                absent.push(gone("GPU", reason.clone()));
                None
            }
        };
        let host = self.host.read(moment, &mut absent);
        Taken {
            reading: Reading { gpu, host },
            absent,
        }
    }
}

/// A reading that is not there.
fn gone(reading: &str, reason: impl Into<String>) -> Absent {
    Absent {
        reading: reading.to_owned(),
        reason: reason.into(),
    }
}
