//! CUDA devices through the driver, loaded when first asked for. The only module that uses
//! cudarc, and the only one with `unsafe`; every error of the driver leaves it as a
//! [`DeviceError`], and on a machine without a driver it says so and does nothing else.
#![expect(
    unsafe_code,
    reason = "the driver's interface is C; nothing else in the crate may be unsafe"
)]

use std::cell::Cell;
use std::sync::Arc;

use cudarc::driver::sys::{
    self, CUdevice_attribute_enum as Attribute, CUevent_flags,
    CUfunction_attribute_enum as FuncAttribute, CUresult,
};
use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, DevicePtr, DriverError, LaunchConfig,
    PushKernelArg, result,
};
use cudarc::nvrtc::Ptx;

use super::{Arg, Buffer, Device, DeviceError, DeviceInfo, Kernel, Launch, NoDriver, image};

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

fn text(error: DriverError) -> String {
    let name = error.error_name().map(|n| n.to_string_lossy().into_owned());
    let words = error
        .error_string()
        .map(|n| n.to_string_lossy().into_owned());
    match (name, words) {
        (Ok(name), Ok(words)) => format!("{words} ({name})"),
        _ => format!("CUDA error {}", error.0 as u32),
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

/// A CUDA device with its primary context, opened for this process.
pub struct Cuda {
    info: DeviceInfo,
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    buffers: Vec<Option<CudaSlice<u8>>>,
    modules: Vec<Arc<cudarc::driver::CudaModule>>,
    kernels: Vec<LoadedKernel>,
}

struct LoadedKernel {
    name: String,
    function: CudaFunction,
    /// Sizes of the parameters, bytes.
    parameters: Vec<usize>,
    max_threads: u32,
    static_smem: u32,
    /// The most dynamic shared memory that the function has been allowed so far, bytes.
    allowed_dynamic: Cell<u32>,
}

impl LoadedKernel {
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
            .map_err(|e| launch_failed(&self.name, e))?;
        self.allowed_dynamic.set(bytes);
        Ok(())
    }
}

impl Cuda {
    /// Opens a device.
    ///
    /// # Errors
    /// [`DeviceError::NoDriver`] where there is none of that number.
    pub fn open(index: u32) -> Result<Self, DeviceError> {
        let devices = probe()?;
        let Some(info) = devices.get(index as usize).cloned() else {
            let reason = format!("device {index} was asked for; there are {}", devices.len());
            return Err(NoDriver { reason }.into());
        };
        let context =
            CudaContext::new(index as usize).map_err(|e| failed("opening the device", e))?;
        // SAFETY: everything here is on one stream, in order; no two streams share a buffer.
        unsafe { context.disable_event_tracking() };
        let stream = context.default_stream();
        Ok(Cuda {
            info,
            context,
            stream,
            buffers: Vec::new(),
            modules: Vec::new(),
            kernels: Vec::new(),
        })
    }

    fn slot(&self, buffer: Buffer, bytes: usize) -> Result<&CudaSlice<u8>, DeviceError> {
        let slice = self.buffers.get(buffer.0).and_then(Option::as_ref);
        let slice = slice.ok_or_else(|| {
            DeviceError::BadBuffer(format!("buffer {} is not allocated", buffer.0))
        })?;
        if slice.len() < bytes {
            let (number, has) = (buffer.0, slice.len());
            return Err(DeviceError::BadBuffer(format!(
                "buffer {number} has {has} bytes, {bytes} were asked for"
            )));
        }
        Ok(slice)
    }

    fn loaded(&self, kernel: Kernel) -> Result<&LoadedKernel, DeviceError> {
        self.kernels
            .get(kernel.0)
            .ok_or_else(|| DeviceError::BadBuffer(format!("kernel {} is not loaded", kernel.0)))
    }

    /// Refuses a launch that the kernel or the device cannot hold.
    fn check(&self, launch: &Launch) -> Result<(), DeviceError> {
        let kernel = self.loaded(launch.kernel)?;
        let bad = |reason| DeviceError::BadLaunch {
            kernel: kernel.name.clone(),
            reason,
        };
        let threads: u64 = launch
            .geometry
            .block
            .iter()
            .map(|n| u64::from(*n))
            .product();
        if threads == 0 || threads > u64::from(kernel.max_threads) {
            let most = kernel.max_threads;
            return Err(bad(format!(
                "{threads} threads a block; it can have {most}"
            )));
        }
        if launch.geometry.grid.contains(&0) {
            return Err(bad("the grid is empty".to_owned()));
        }
        let sizes: Vec<usize> = launch.args.iter().map(Arg::bytes).collect();
        if sizes != kernel.parameters {
            return Err(bad(format!(
                "its parameters have {:?} bytes, the arguments {sizes:?}",
                kernel.parameters
            )));
        }
        let asked = u64::from(kernel.static_smem) + u64::from(launch.geometry.dynamic_smem);
        if asked > u64::from(self.info.smem_optin) {
            return Err(DeviceError::SharedMemory {
                kernel: kernel.name.clone(),
                asked,
                limit: u64::from(self.info.smem_optin),
            });
        }
        Ok(())
    }

    /// Checks a launch and brings it into the driver's form.
    fn ready(&self, launch: &Launch) -> Result<Ready<'_>, DeviceError> {
        self.check(launch)?;
        let kernel = self.loaded(launch.kernel)?;
        kernel.allow_dynamic(launch.geometry.dynamic_smem)?;
        let values = launch.args.iter().map(|arg| self.value(arg));
        let [x, y, z] = launch.geometry.grid;
        let [bx, by, bz] = launch.geometry.block;
        Ok(Ready {
            kernel,
            values: values.collect::<Result<_, _>>()?,
            config: LaunchConfig {
                grid_dim: (x, y, z),
                block_dim: (bx, by, bz),
                shared_mem_bytes: launch.geometry.dynamic_smem,
            },
        })
    }

    fn value(&self, arg: &Arg) -> Result<ArgValue, DeviceError> {
        Ok(match *arg {
            Arg::Buffer(buffer) => {
                let (address, _in_order) = self.slot(buffer, 0)?.device_ptr(&self.stream);
                ArgValue::Pointer(address)
            }
            Arg::I32(number) => ArgValue::I32(number),
        })
    }

    fn event(&self) -> Result<cudarc::driver::CudaEvent, DeviceError> {
        self.stream
            .record_event(Some(CUevent_flags::CU_EVENT_DEFAULT))
            .map_err(|e| failed("recording an event", e))
    }
}

/// A launch that was checked. It borrows the device, so no buffer can be freed before it goes.
struct Ready<'a> {
    kernel: &'a LoadedKernel,
    values: Vec<ArgValue>,
    config: LaunchConfig,
}

impl Ready<'_> {
    fn go(&self, stream: &CudaStream) -> Result<(), DeviceError> {
        let mut builder = stream.launch_builder(&self.kernel.function);
        for value in &self.values {
            match value {
                ArgValue::Pointer(address) => builder.arg(address),
                ArgValue::I32(number) => builder.arg(number),
            };
        }
        // SAFETY: number and sizes of the arguments equal the kernel's parameters (`check`), the
        // pointers are to live buffers of this device, and `values` outlives the call, which
        // copies them. What the kernel itself does cannot be checked here: it is the code under
        // test, and whoever loads it trusts this process to it, as with any program that is run.
        unsafe { builder.launch(self.config) }.map_err(|e| launch_failed(&self.kernel.name, e))?;
        Ok(())
    }
}

enum ArgValue {
    Pointer(u64),
    I32(i32),
}

impl Arg {
    fn bytes(&self) -> usize {
        match self {
            Arg::Buffer(_) => size_of::<u64>(),
            Arg::I32(_) => size_of::<i32>(),
        }
    }
}

/// Sorts a driver's error into ours.
fn failed(doing: &str, error: DriverError) -> DeviceError {
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

fn launch_failed(kernel: &str, error: DriverError) -> DeviceError {
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

impl Device for Cuda {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn allocate(&mut self, bytes: usize) -> Result<Buffer, DeviceError> {
        // SAFETY: bytes have no invalid values; the content is undefined until it is written,
        // which `Device::allocate` says.
        let slice = unsafe { self.stream.alloc::<u8>(bytes) }.map_err(|e| match e.0 {
            CUresult::CUDA_ERROR_OUT_OF_MEMORY => DeviceError::OutOfMemory {
                bytes,
                reason: text(e),
            },
            _ => failed("allocating device memory", e),
        })?;
        self.buffers.push(Some(slice));
        Ok(Buffer(self.buffers.len() - 1))
    }

    fn free(&mut self, buffer: Buffer) {
        if let Some(slot) = self.buffers.get_mut(buffer.0) {
            *slot = None;
        }
    }

    fn write(&mut self, buffer: Buffer, bytes: &[u8]) -> Result<(), DeviceError> {
        self.slot(buffer, bytes.len())?;
        let stream = self.stream.clone();
        if let Some(Some(slice)) = self.buffers.get_mut(buffer.0) {
            stream
                .memcpy_htod(bytes, slice)
                .map_err(|e| failed("copying to the device", e))?;
        }
        self.synchronize()
    }

    fn read(&mut self, buffer: Buffer, bytes: &mut [u8]) -> Result<(), DeviceError> {
        let slice = self.slot(buffer, bytes.len())?;
        let view = slice.slice(..bytes.len());
        self.stream
            .memcpy_dtoh(&view, bytes)
            .map_err(|e| failed("copying from the device", e))?;
        self.synchronize()
    }

    fn load(&mut self, image: &[u8]) -> Result<(), DeviceError> {
        image::check(image).map_err(DeviceError::BadImage)?;
        let loaded = self.context.load_module(Ptx::from_binary(image.to_vec()));
        let module = loaded.map_err(|e| match e.0 {
            CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU => DeviceError::WrongArch {
                arch: self.info.arch(),
            },
            CUresult::CUDA_ERROR_INVALID_IMAGE
            | CUresult::CUDA_ERROR_INVALID_SOURCE
            | CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION => DeviceError::BadImage(text(e)),
            _ => failed("loading the image", e),
        })?;
        self.modules.push(module);
        Ok(())
    }

    fn kernel(&mut self, name: &str) -> Result<Kernel, DeviceError> {
        if let Some(known) = self.kernels.iter().position(|k| k.name == name) {
            return Ok(Kernel(known));
        }
        let missing = || DeviceError::NoKernel {
            name: name.to_owned(),
            images: self.modules.len(),
            arch: self.info.arch(),
        };
        if name.contains('\0') {
            return Err(missing());
        }
        for module in &self.modules {
            let function = match module.load_function(name) {
                Ok(function) => function,
                Err(e) if e.0 == CUresult::CUDA_ERROR_NOT_FOUND => continue,
                Err(e) => return Err(failed(&format!("finding kernel `{name}`"), e)),
            };
            let loaded = prepare(name, function)
                .map_err(|e| failed(&format!("preparing kernel `{name}`"), e))?;
            self.kernels.push(loaded);
            return Ok(Kernel(self.kernels.len() - 1));
        }
        Err(missing())
    }

    fn launch(&mut self, launch: &Launch) -> Result<(), DeviceError> {
        self.ready(launch)?.go(&self.stream)
    }

    fn synchronize(&mut self) -> Result<(), DeviceError> {
        self.stream
            .synchronize()
            .map_err(|e| failed("waiting for the device", e))
    }

    fn time(&mut self, launches: &[Launch]) -> Result<f64, DeviceError> {
        // Everything that can be done beforehand is: small kernels are over in the time that
        // checking the next launch takes.
        let ready: Vec<Ready<'_>> = launches
            .iter()
            .map(|launch| self.ready(launch))
            .collect::<Result<_, _>>()?;
        self.stream
            .synchronize()
            .map_err(|e| failed("waiting for the device", e))?;
        let start = self.event()?;
        for launch in &ready {
            launch.go(&self.stream)?;
        }
        let end = self.event()?;
        let ms = start
            .elapsed_ms(&end)
            .map_err(|e| failed("running the timed launches", e))?;
        Ok(f64::from(ms) * 1000.0)
    }
}

/// Reads what launches are checked against.
fn prepare(name: &str, function: CudaFunction) -> Result<LoadedKernel, DriverError> {
    Ok(LoadedKernel {
        name: name.to_owned(),
        parameters: parameter_sizes(&function)?,
        max_threads: u32::try_from(function.max_threads_per_block()?).unwrap_or(0),
        static_smem: u32::try_from(function.shared_size_bytes()?).unwrap_or(0),
        allowed_dynamic: Cell::new(0),
        function,
    })
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
