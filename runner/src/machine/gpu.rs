//! What the CUDA driver says about devices.

use serde::{Deserialize, Serialize};

use super::card::Card;

/// A CUDA device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gpu {
    /// As the driver numbers it.
    pub index: u32,
    /// Marketing name.
    pub name: String,
    /// `GPU-` and the UUID.
    pub uuid: String,
    /// Compute capability, major and minor.
    pub cc: (u32, u32),
    /// The newest CUDA version that the driver supports.
    pub driver_version: String,
    /// Streaming multiprocessors.
    pub sm_count: u32,
    /// Device memory, bytes.
    pub memory_bytes: u64,
    /// What NVIDIA's management library says of it; `None` where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card: Option<Card>,
}

/// The devices, or why there are none.
pub(super) fn probe() -> Result<Vec<Gpu>, String> {
    let found = kernels::device::probe().map_err(|none| none.reason)?;
    Ok(found
        .into_iter()
        .map(|device| Gpu {
            card: Card::read(&device.uuid),
            index: device.index,
            name: device.name,
            uuid: device.uuid,
            cc: device.cc,
            driver_version: device.driver_version,
            sm_count: device.sm_count,
            memory_bytes: device.memory_bytes,
        })
        .collect())
}
