//! A kernel as the driver has loaded it, and a launch of it that was checked.

use std::cell::Cell;

use cudarc::driver::sys::{self, CUfunction_attribute_enum as FuncAttribute, CUresult};
use cudarc::driver::{CudaFunction, CudaStream, DriverError, LaunchConfig, PushKernelArg};

use super::error::launch_failed;
use crate::device::{Arg, DeviceError, Launch, Scalar};

/// A kernel, with what its launches are checked against.
pub(super) struct LoadedKernel {
    name: String,
    function: CudaFunction,
    /// Sizes of the parameters, bytes.
    parameters: Vec<usize>,
    max_threads: u32,
    static_smem: u32,
    /// Local memory, bytes a thread.
    local_bytes: u32,
    /// The most dynamic shared memory that the function has been allowed so far, bytes.
    allowed_dynamic: Cell<u32>,
}

impl LoadedKernel {
    /// Reads what launches are checked against.
    pub(super) fn new(name: &str, function: CudaFunction) -> Result<Self, DriverError> {
        Ok(LoadedKernel {
            name: name.to_owned(),
            parameters: parameter_sizes(&function)?,
            max_threads: u32::try_from(function.max_threads_per_block()?).unwrap_or(0),
            static_smem: u32::try_from(function.shared_size_bytes()?).unwrap_or(0),
            local_bytes: u32::try_from(function.local_size_bytes()?).unwrap_or(0),
            allowed_dynamic: Cell::new(0),
            function,
        })
    }

    /// The kernel's symbol.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Checks a launch on a device that gives a block at most `smem_optin` bytes of shared
    /// memory. `values` are the launch's arguments, their buffers' addresses found.
    pub(super) fn ready(
        &self,
        launch: &Launch,
        values: Vec<ArgValue>,
        smem_optin: u32,
    ) -> Result<Ready<'_>, DeviceError> {
        self.check(launch, smem_optin)?;
        self.allow_dynamic(launch.geometry.dynamic_smem)?;
        let [x, y, z] = launch.geometry.grid;
        let [bx, by, bz] = launch.geometry.block;
        Ok(Ready {
            kernel: self,
            values,
            config: LaunchConfig {
                grid_dim: (x, y, z),
                block_dim: (bx, by, bz),
                shared_mem_bytes: launch.geometry.dynamic_smem,
            },
        })
    }

    /// Refuses a launch that the kernel or the device cannot hold.
    fn check(&self, launch: &Launch, smem_optin: u32) -> Result<(), DeviceError> {
        let bad = |reason| DeviceError::BadLaunch {
            kernel: self.name.clone(),
            reason,
        };
        let threads: u64 = launch
            .geometry
            .block
            .iter()
            .map(|n| u64::from(*n))
            .product();
        if threads == 0 || threads > u64::from(self.max_threads) {
            let most = self.max_threads;
            return Err(bad(format!(
                "{threads} threads a block; it can have {most}"
            )));
        }
        if launch.geometry.grid.contains(&0) {
            return Err(bad("the grid is empty".to_owned()));
        }
        let sizes: Vec<usize> = launch.args.iter().map(Arg::bytes).collect();
        if sizes != self.parameters {
            return Err(bad(format!(
                "its parameters have {:?} bytes, the arguments {sizes:?}",
                self.parameters
            )));
        }
        let asked = u64::from(self.static_smem) + u64::from(launch.geometry.dynamic_smem);
        if asked > u64::from(smem_optin) {
            return Err(DeviceError::SharedMemory {
                kernel: self.name.clone(),
                asked,
                limit: u64::from(smem_optin),
            });
        }
        Ok(())
    }

    /// Asks for dynamic shared memory beyond what a function has without asking.
    fn allow_dynamic(&self, bytes: u32) -> Result<(), DeviceError> {
        if bytes <= self.allowed_dynamic.get() {
            return Ok(());
        }
        self.function
            .set_attribute(
                FuncAttribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                i32::try_from(bytes).unwrap_or(i32::MAX),
            )
            .map_err(|e| launch_failed(&self.name, self.local_bytes, e))?;
        self.allowed_dynamic.set(bytes);
        Ok(())
    }
}

/// A launch that was checked. It borrows the device's kernel, and with it the device:
/// no buffer can be freed before it goes.
pub(super) struct Ready<'a> {
    kernel: &'a LoadedKernel,
    values: Vec<ArgValue>,
    config: LaunchConfig,
}

impl Ready<'_> {
    pub(super) fn go(&self, stream: &CudaStream) -> Result<(), DeviceError> {
        let mut builder = stream.launch_builder(&self.kernel.function);
        for value in &self.values {
            match value {
                ArgValue::Pointer(address) => builder.arg(address),
                ArgValue::Scalar(Scalar::I32(number)) => builder.arg(number),
                ArgValue::Scalar(Scalar::F32(number)) => builder.arg(number),
            };
        }
        // SAFETY: number and sizes of the arguments equal the kernel's parameters (`check`), the
        // pointers are to live buffers of this device, and `values` outlives the call, which
        // copies them. What the kernel itself does cannot be checked here: it is the code under
        // test, and whoever loads it trusts this process to it, as with any program that is run.
        unsafe { builder.launch(self.config) }
            .map_err(|e| launch_failed(&self.kernel.name, self.kernel.local_bytes, e))?;
        Ok(())
    }
}

pub(super) enum ArgValue {
    Pointer(u64),
    Scalar(Scalar),
}

impl Arg {
    fn bytes(&self) -> usize {
        match self {
            Arg::Buffer(_) | Arg::Within { .. } => size_of::<u64>(),
            Arg::Scalar(Scalar::I32(_)) => size_of::<i32>(),
            Arg::Scalar(Scalar::F32(_)) => size_of::<f32>(),
        }
    }
}

fn parameter_sizes(function: &CudaFunction) -> Result<Vec<usize>, DriverError> {
    let mut sizes = Vec::new();
    loop {
        let (mut offset, mut size) = (0usize, 0usize);
        // SAFETY: the function is loaded, the pointers are to live integers; the driver is at
        // least 12.4 (`start_driver`), so the symbol exists.
        let answer = unsafe {
            sys::cuFuncGetParamInfo(
                function.cu_function(),
                sizes.len(),
                &raw mut offset,
                &raw mut size,
            )
        };
        match answer {
            // Past the last parameter.
            CUresult::CUDA_ERROR_INVALID_VALUE => return Ok(sizes),
            answer => answer.result()?,
        }
        sizes.push(size);
    }
}
