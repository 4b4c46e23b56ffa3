//! What NVIDIA's management library says of a card that stays the same while a run goes on. Every
//! fact is optional; one that is not told is absent, never zero.

use nvml_wrapper::Device;
use nvml_wrapper::error::NvmlError as Source;
use serde::{Deserialize, Serialize};

use super::nvml::NvmlGpu;

/// A card's firmware, settings and link.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Card {
    /// The driver, as the library names it; a container may hide the kernel's own word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// The video BIOS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vbios: Option<String>,
    /// The power limit in force, mW.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power_limit_mw: Option<u32>,
    /// The PCIe link.
    pub pcie: PcieLink,
    /// Whether the driver stays loaded without a process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persistence: Option<bool>,
    /// Whether memory errors are corrected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecc: Option<bool>,
}

/// A PCIe link: what it can do with this card and slot, and what it did when the run began. It
/// falls back to an early generation while nothing runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PcieLink {
    /// The newest generation that both support.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation_max: Option<u32>,
    /// The generation when the run began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<u32>,
    /// The most lanes that both support.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub width_max: Option<u32>,
    /// The lanes when the run began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub width: Option<u32>,
}

impl Card {
    /// Reads a card; `None` where there is no library, or it does not know the card.
    pub(super) fn read(uuid: &str) -> Option<Card> {
        let gpu = NvmlGpu::open(uuid).ok()?;
        Some(Card {
            driver: told(&gpu, |device| device.nvml().sys_driver_version()),
            vbios: told(&gpu, |device| device.vbios_version()),
            power_limit_mw: told(&gpu, |device| device.enforced_power_limit()),
            pcie: PcieLink {
                generation_max: told(&gpu, |device| device.max_pcie_link_gen()),
                generation: told(&gpu, |device| device.current_pcie_link_gen()),
                width_max: told(&gpu, |device| device.max_pcie_link_width()),
                width: told(&gpu, |device| device.current_pcie_link_width()),
            },
            persistence: told(&gpu, |device| device.is_in_persistent_mode()),
            ecc: told(&gpu, |device| {
                Ok(device.is_ecc_enabled()?.currently_enabled)
            }),
        })
    }

    /// In words: `VBIOS 96.00.68.00.01, 700 W, PCIe 5.0 x16, persistence on, ECC on`.
    pub fn words(&self) -> String {
        let on = |name: &str, is_on: bool| format!("{name} {}", if is_on { "on" } else { "off" });
        let mut parts: Vec<String> = Vec::new();
        parts.extend(
            self.vbios
                .as_ref()
                .map(|version| format!("VBIOS {version}")),
        );
        parts.extend(
            self.power_limit_mw
                .map(|mw| format!("{} W", f64::from(mw) / 1e3)),
        );
        let link = (self.pcie.generation_max, self.pcie.width_max);
        if let (Some(generation), Some(width)) = link {
            parts.push(format!("PCIe {generation}.0 x{width}"));
        }
        parts.extend(self.persistence.map(|is_on| on("persistence", is_on)));
        parts.extend(self.ecc.map(|is_on| on("ECC", is_on)));
        parts.join(", ")
    }
}

fn told<T>(gpu: &NvmlGpu, ask: impl FnOnce(&mut Device<'_>) -> Result<T, Source>) -> Option<T> {
    gpu.ask("asking about the card", ask).ok()
}
