//! Sorts the driver's errors into ours.

use cudarc::driver::DriverError;
use cudarc::driver::sys::CUresult;

use crate::device::DeviceError;

/// The driver's words for an error, and its name.
pub(super) fn text(error: DriverError) -> String {
    let name = error.error_name().map(|n| n.to_string_lossy().into_owned());
    let words = error
        .error_string()
        .map(|n| n.to_string_lossy().into_owned());
    match (name, words) {
        (Ok(name), Ok(words)) => format!("{words} ({name})"),
        _ => format!("CUDA error {}", error.0 as u32),
    }
}

/// Sorts an error that came up while `doing` something.
pub(super) fn failed(doing: &str, error: DriverError) -> DeviceError {
    use CUresult as R;
    let doing = doing.to_owned();
    let reason = text(error);
    match error.0 {
        R::CUDA_ERROR_ILLEGAL_ADDRESS
        | R::CUDA_ERROR_LAUNCH_TIMEOUT
        | R::CUDA_ERROR_ASSERT
        | R::CUDA_ERROR_HARDWARE_STACK_ERROR
        | R::CUDA_ERROR_ILLEGAL_INSTRUCTION
        | R::CUDA_ERROR_MISALIGNED_ADDRESS
        | R::CUDA_ERROR_INVALID_ADDRESS_SPACE
        | R::CUDA_ERROR_INVALID_PC
        | R::CUDA_ERROR_LAUNCH_FAILED => DeviceError::KernelFailed { doing, reason },
        _ => DeviceError::Driver { doing, reason },
    }
}

/// The same for an error of a launch, which may have been asked for wrongly.
pub(super) fn launch_failed(kernel: &str, error: DriverError) -> DeviceError {
    match error.0 {
        CUresult::CUDA_ERROR_INVALID_VALUE
        | CUresult::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES
        | CUresult::CUDA_ERROR_INVALID_IMAGE => DeviceError::BadLaunch {
            kernel: kernel.to_owned(),
            reason: text(error),
        },
        _ => failed(&format!("launching `{kernel}`"), error),
    }
}
