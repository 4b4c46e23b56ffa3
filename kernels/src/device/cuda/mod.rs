//! CUDA devices through the driver, loaded when first asked for. The only module that uses
//! cudarc, and the only one with `unsafe`; every error of the driver leaves it as a
//! [`DeviceError`], and on a machine without a driver it says so and does nothing else.
#![expect(
    unsafe_code,
    reason = "the driver's interface is C; nothing else in the crate may be unsafe"
)]

mod error;
mod launch;
mod probe;

use std::sync::Arc;

use cudarc::driver::result::memset_d8_async;
use cudarc::driver::sys::{CUevent_flags, CUresult};
use cudarc::driver::{CudaContext, CudaModule, CudaSlice, CudaStream, DevicePtr};
use cudarc::nvrtc::Ptx;

use self::error::{failed, load_failed, text};
use self::launch::{ArgValue, LoadedKernel, Ready};
pub use self::probe::probe;
use super::{Arg, Buffer, Device, DeviceError, DeviceInfo, Kernel, Launch, NoDriver, image};

/// A CUDA device with its primary context, opened for this process.
pub struct Cuda {
    info: DeviceInfo,
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    buffers: Vec<Option<CudaSlice<u8>>>,
    modules: Vec<Arc<CudaModule>>,
    kernels: Vec<LoadedKernel>,
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

    /// Checks a launch and brings it into the driver's form.
    fn ready(&self, launch: &Launch) -> Result<Ready<'_>, DeviceError> {
        let values = launch.args.iter().map(|arg| self.value(arg));
        let values = values.collect::<Result<_, _>>()?;
        self.loaded(launch.kernel)?
            .ready(launch, values, self.info.smem_optin)
    }

    fn address(&self, buffer: Buffer, offset: usize) -> Result<ArgValue, DeviceError> {
        let (address, _in_order) = self.slot(buffer, offset)?.device_ptr(&self.stream);
        Ok(ArgValue::Pointer(address + offset as u64))
    }

    fn value(&self, arg: &Arg) -> Result<ArgValue, DeviceError> {
        Ok(match *arg {
            Arg::Buffer(buffer) => self.address(buffer, 0)?,
            Arg::Within { buffer, offset } => self.address(buffer, offset)?,
            Arg::Scalar(number) => ArgValue::Scalar(number),
        })
    }

    fn event(&self) -> Result<cudarc::driver::CudaEvent, DeviceError> {
        self.stream
            .record_event(Some(CUevent_flags::CU_EVENT_DEFAULT))
            .map_err(|e| failed("recording an event", e))
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

    fn fill(&mut self, buffer: Buffer, byte: u8) -> Result<(), DeviceError> {
        let slice = self.slot(buffer, 0)?;
        let (address, _in_order) = slice.device_ptr(&self.stream);
        // SAFETY: the address is that of a live buffer of this device of `len` bytes, and whatever
        // uses it next is on the same stream.
        unsafe { memset_d8_async(address, byte, slice.len(), self.stream.cu_stream()) }
            .map_err(|e| failed("filling device memory", e))
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
        let module = loaded.map_err(|e| load_failed(image.len(), self.info.arch(), e))?;
        self.modules.push(module);
        Ok(())
    }

    fn kernel(&mut self, name: &str) -> Result<Kernel, DeviceError> {
        if let Some(known) = self.kernels.iter().position(|k| k.name() == name) {
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
            let loaded = LoadedKernel::new(name, function)
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
