//! What the machine was like while one sample was taken. Every reading can be absent, and an
//! absent one is never a zero.

use serde::{Deserialize, Serialize};

/// The machine before, during and after one launch.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SampleState {
    /// What the launch is held to.
    #[serde(skip_serializing_if = "HeldTo::is_empty")]
    pub held_to: HeldTo,
    /// Just before the process was started.
    pub before: Reading,
    /// While it ran.
    pub during: During,
    /// Just after it had ended.
    pub after: Reading,
    /// What could not be read, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<Absent>,
    /// What a reader should know: sensors that vanished, a clock that was set back.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Limits that hold for a launch, as they were when it was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HeldTo {
    /// The clock to which the SM clock is locked, MHz; `None` where it is not locked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sm_clock_mhz: Option<u32>,
    /// The most processors that other processes may use on average; `None` without a limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub foreign_cpu: Option<f64>,
}

impl HeldTo {
    fn is_empty(&self) -> bool {
        *self == HeldTo::default()
    }
}

/// A reading that is not there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Absent {
    /// Which: `GPU power`, or `GPU` for all of a device's.
    pub reading: String,
    /// Why.
    pub reason: String,
}

/// All sensors at one moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reading {
    /// The device; `None` where there is none, or it does not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu: Option<GpuReading>,
    /// The computer around it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<HostReading>,
}

/// A GPU at one moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GpuReading {
    /// SM clock, MHz.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sm_clock_mhz: Option<u32>,
    /// Memory clock, MHz.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_clock_mhz: Option<u32>,
    /// What holds the clocks below their highest; empty where nothing does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttle: Option<Vec<Throttle>>,
    /// Degrees Celsius.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature_c: Option<f64>,
    /// Watts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power_w: Option<f64>,
    /// Share of the driver's last interval in which a kernel ran, percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub utilisation_percent: Option<f64>,
    /// Processes that compute on it and are not of the launch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub foreign: Option<Vec<GpuUser>>,
    /// Device memory that the launch's own processes use, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own_memory_bytes: Option<u64>,
    /// Device memory that is used in all, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used_memory_bytes: Option<u64>,
    /// Uncorrected ECC errors since the driver was loaded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecc_uncorrected: Option<u64>,
    /// Xid errors since the last reading; `None` where they cannot be had.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub xids: Option<Vec<u64>>,
}

/// A process on a GPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuUser {
    /// As the driver numbers it.
    pub pid: u32,
    /// The program, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Device memory, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Whether the process is among those that this system shows. One of another container is
    /// not, and neither is the launch's own where the driver numbers processes otherwise.
    pub is_visible: bool,
}

/// What holds a GPU's clocks below their highest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Throttle {
    /// Nothing runs.
    Idle,
    /// A setting: application clocks or a lock.
    ApplicationClocks,
    /// The power limit, held by the driver.
    SoftwarePowerCap,
    /// The hardware slows down, for whatever reason.
    HardwareSlowdown,
    /// Clocks are held together with another GPU's.
    SyncBoost,
    /// Too hot, noticed by the driver.
    SoftwareThermal,
    /// Too hot, noticed by the hardware.
    HardwareThermal,
    /// The power supply asks for less.
    PowerBrake,
    /// The display's clocks.
    DisplayClocks,
}

/// The computer at one moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostReading {
    /// Load average over a minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<f64>,
    /// Mean frequency of the processors in use, MHz; absent while none is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_mhz: Option<f64>,
    /// Processors that other processes used, on average since the last such reading.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub foreign_cpu: Option<f64>,
    /// Share of the last 10 s in which some process waited for memory, percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_pressure_percent: Option<f64>,
    /// The hottest thermal zone, degrees Celsius.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature_c: Option<f64>,
}

/// A summary of the readings while a launch ran.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct During {
    /// How many readings there were; a launch that is shorter than their distance has none.
    pub readings: u32,
    /// From the reading before to the one after, milliseconds.
    pub span_ms: f64,
    /// The longest time without a reading, milliseconds.
    pub longest_gap_ms: f64,
    /// SM clock while the GPU was in use, MHz.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sm_clock_mhz: Option<Spread>,
    /// Memory clock while the GPU was in use, MHz.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_clock_mhz: Option<Spread>,
    /// Every reason that was seen to hold the clocks; `None` where they cannot be had.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttle: Option<Vec<Throttle>>,
    /// The highest temperature of the GPU, degrees Celsius.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature_max_c: Option<f64>,
    /// Power, watts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power_w: Option<Range>,
    /// Mean utilisation, percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub utilisation_percent: Option<f64>,
    /// Foreign processes on the GPU, before and after included; `None` where they cannot be had.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub foreign: Option<Vec<GpuUser>>,
    /// The most device memory that the launch's own processes used, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_memory_bytes: Option<u64>,
    /// The most device memory that was used in all, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_used_memory_bytes: Option<u64>,
    /// New uncorrected ECC errors; `None` where they are not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_ecc_uncorrected: Option<u64>,
    /// Xid errors; `None` where they cannot be had.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub xids: Option<Vec<u64>>,
    /// Frequency of the processors in use, MHz.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_mhz: Option<Spread>,
    /// Processors that other processes used, on average.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub foreign_cpu: Option<f64>,
    /// The highest share of 10 s in which some process waited for memory, percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_pressure_percent: Option<f64>,
}

/// Lowest, middle and highest.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The lowest.
    pub min: f64,
    /// The median.
    pub median: f64,
    /// The highest.
    pub max: f64,
}

/// Lowest, mean and highest.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Range {
    /// The lowest.
    pub min: f64,
    /// The mean.
    pub mean: f64,
    /// The highest.
    pub max: f64,
}
