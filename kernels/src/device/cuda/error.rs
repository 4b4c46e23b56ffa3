//! Sorts the driver's errors into ours.

use cudarc::driver::DriverError;
use cudarc::driver::sys::{self, CUresult};

use crate::device::DeviceError;

/// The driver's words for an error, and its name; its number where there is no driver to ask.
pub(super) fn text(error: DriverError) -> String {
    // SAFETY: only looks whether the library can be loaded.
    if !unsafe { sys::is_culib_present() } {
        return format!("CUDA error {}", error.0 as u32);
    }
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

/// The same for an error of a launch, which may have been asked for wrongly. `local_bytes` is the
/// kernel's local memory a thread: the driver makes room for it at the launch.
pub(super) fn launch_failed(kernel: &str, local_bytes: u32, error: DriverError) -> DeviceError {
    match error.0 {
        CUresult::CUDA_ERROR_INVALID_VALUE
        | CUresult::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES
        | CUresult::CUDA_ERROR_INVALID_IMAGE => DeviceError::BadLaunch {
            kernel: kernel.to_owned(),
            reason: text(error),
        },
        CUresult::CUDA_ERROR_OUT_OF_MEMORY if local_bytes > 0 => DeviceError::LocalMemory {
            kernel: kernel.to_owned(),
            per_thread: local_bytes,
            reason: text(error),
        },
        _ => failed(&format!("launching `{kernel}`"), error),
    }
}

/// The same for an error of loading an image of `bytes` bytes on a device of architecture `arch`.
pub(super) fn load_failed(bytes: usize, arch: String, error: DriverError) -> DeviceError {
    match error.0 {
        CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU => DeviceError::WrongArch { arch },
        // The image's own faults, those that the driver's compiler finds in PTX among them.
        CUresult::CUDA_ERROR_INVALID_IMAGE
        | CUresult::CUDA_ERROR_INVALID_SOURCE
        | CUresult::CUDA_ERROR_INVALID_PTX
        | CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION
        | CUresult::CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND => DeviceError::BadImage(text(error)),
        CUresult::CUDA_ERROR_OUT_OF_MEMORY => DeviceError::OutOfMemory {
            bytes,
            reason: text(error),
        },
        _ => failed("loading the image", error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Fault;

    fn error(result: CUresult) -> DriverError {
        DriverError(result)
    }

    #[test]
    fn what_the_code_asks_for_is_the_codes_fault_and_the_rest_the_devices() {
        use CUresult as R;
        let at_launch = |local, result| launch_failed("k", local, error(result)).fault();
        assert_eq!(at_launch(4096, R::CUDA_ERROR_OUT_OF_MEMORY), Fault::Case);
        assert_eq!(at_launch(0, R::CUDA_ERROR_OUT_OF_MEMORY), Fault::Device);
        assert_eq!(at_launch(0, R::CUDA_ERROR_INVALID_VALUE), Fault::Case);
        assert_eq!(at_launch(0, R::CUDA_ERROR_ILLEGAL_ADDRESS), Fault::Case);
        assert_eq!(at_launch(0, R::CUDA_ERROR_ECC_UNCORRECTABLE), Fault::Device);
        let at_load = |result| load_failed(64, "sm_90".to_owned(), error(result)).fault();
        assert_eq!(at_load(R::CUDA_ERROR_INVALID_PTX), Fault::Case);
        assert_eq!(at_load(R::CUDA_ERROR_NO_BINARY_FOR_GPU), Fault::Case);
        assert_eq!(at_load(R::CUDA_ERROR_OUT_OF_MEMORY), Fault::Device);
        assert_eq!(at_load(R::CUDA_ERROR_JIT_COMPILER_NOT_FOUND), Fault::Device);
    }
}
