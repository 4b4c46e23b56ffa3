//! The machine: environment record, device, locks.
//!
//! Reads what the system tells about itself; must not change anything but lock files, and must
//! not report a reading that is not there as zero.

pub mod canary;
mod card;
pub mod clocks;
mod device;
pub mod drain;
mod environment;
mod gpu;
mod lock;
mod nvml;
pub mod sensors;

pub use card::{Card, PcieLink};
pub use device::{device_state, lock_device};
pub use environment::Environment;
pub use gpu::Gpu;
pub use lock::{HeldLock, Holder, LockError};
pub use nvml::{GpuMemory, GpuProcess, NvmlError, NvmlGpu};
