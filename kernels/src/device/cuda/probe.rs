//! Finds the driver and its devices.

use cudarc::driver::sys::{self, CUdevice_attribute_enum as Attribute};
use cudarc::driver::{DriverError, result};

use super::error::text;
use crate::device::{DeviceInfo, NoDriver};

/// The oldest driver interface that is used (parameter sizes of a kernel came with it).
const OLDEST_DRIVER: (i32, i32) = (12, 4);

/// Finds the CUDA devices of this machine, cheaply: no context is made on any of them.
///
/// # Errors
/// [`NoDriver`] where there is no driver, it is too old, it does not start, or has no device.
pub fn probe() -> Result<Vec<DeviceInfo>, NoDriver> {
    let version = start_driver()?;
    let count = result::device::get_count().map_err(|e| no_driver("counting devices", e))?;
    if count == 0 {
        let reason = "the driver is there but sees no device (CUDA_VISIBLE_DEVICES?)".to_owned();
        return Err(NoDriver { reason });
    }
    (0..count)
        .map(|index| {
            describe(index, &version).map_err(|e| no_driver(&format!("asking device {index}"), e))
        })
        .collect()
}

/// Loads and initialises the driver, and gives its version.
fn start_driver() -> Result<String, NoDriver> {
    // SAFETY: tries to load the driver library by name, and drops it again; the library's own
    // initialisers are all that runs.
    if !unsafe { sys::is_culib_present() } {
        let reason = "libcuda is not on this machine; install NVIDIA's driver to use a GPU";
        return Err(NoDriver {
            reason: reason.to_owned(),
        });
    }
    let mut version = 0;
    // SAFETY: the library is present, and the pointer is to a live integer.
    unsafe { sys::cuDriverGetVersion(&raw mut version) }
        .result()
        .map_err(|e| no_driver("asking the driver's version", e))?;
    let (major, minor) = (version / 1000, version % 1000 / 10);
    if (major, minor) < OLDEST_DRIVER {
        let (want, want_minor) = OLDEST_DRIVER;
        return Err(NoDriver {
            reason: format!(
                "the driver supports CUDA {major}.{minor}; {want}.{want_minor} or newer is needed"
            ),
        });
    }
    result::init().map_err(|e| no_driver("starting the driver", e))?;
    Ok(format!("{major}.{minor}"))
}

fn no_driver(doing: &str, error: DriverError) -> NoDriver {
    NoDriver {
        reason: format!("{doing}: {}", text(error)),
    }
}

fn describe(index: i32, driver_version: &str) -> Result<DeviceInfo, DriverError> {
    let device = result::device::get(index)?;
    let attribute = |which| {
        // SAFETY: the driver is initialised and `device` came from it.
        unsafe { result::device::get_attribute(device, which) }
    };
    let positive = |which| attribute(which).map(|n| u32::try_from(n).unwrap_or(0));
    // SAFETY: as above.
    let memory = unsafe { result::device::total_mem(device) }?;
    let uuid = result::device::get_uuid(device)?;
    Ok(DeviceInfo {
        index: u32::try_from(index).unwrap_or(0),
        name: result::device::get_name(device)?,
        uuid: uuid_text(&uuid.bytes.map(|b| b as u8)),
        cc: (
            positive(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            positive(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        ),
        driver_version: driver_version.to_owned(),
        sm_count: positive(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        memory_bytes: memory as u64,
        smem_optin: positive(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
        l2_bytes: u64::from(positive(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?),
        clock_khz: positive(Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE)
            .ok()
            .filter(|khz| *khz > 0),
    })
}

/// As nvidia-smi prints it.
fn uuid_text(bytes: &[u8; 16]) -> String {
    let mut out = String::from("GPU");
    for (i, byte) in bytes.iter().enumerate() {
        if matches!(i, 0 | 4 | 6 | 8 | 10) {
            out.push('-');
        }
        out.push_str(&format!("{byte:02x}"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuid_is_written_as_nvidia_smi_does() {
        let bytes = std::array::from_fn(|i| i as u8 * 17);
        assert_eq!(
            uuid_text(&bytes),
            "GPU-00112233-4455-6677-8899-aabbccddeeff"
        );
    }

    #[test]
    fn probe_answers_on_any_machine() {
        match probe() {
            Ok(devices) => assert!(devices.iter().all(|d| d.cc.0 > 0 && d.sm_count > 0)),
            Err(error) => assert!(error.to_string().starts_with("no CUDA device: ")),
        }
    }
}
