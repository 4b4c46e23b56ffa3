//! A device that holds buffers and runs kernels.
//!
//! [`Device`] is the seam between what is run (cases, harness) and where: a CUDA device, loaded
//! at run time, or a stand-in on the CPU ([`host`]; an emulator takes its place here). Nothing in
//! this module knows a kernel by name.

mod cuda;
pub mod host;
mod image;

use std::fmt;

pub use cuda::{Cuda, probe};

/// What is known about a device before anything runs on it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct DeviceInfo {
    /// As the driver numbers it.
    pub index: u32,
    /// Marketing name.
    pub name: String,
    /// `GPU-` and the UUID, as nvidia-smi prints it.
    pub uuid: String,
    /// Compute capability, major and minor.
    pub cc: (u32, u32),
    /// The newest CUDA version that the driver supports, for example `13.0`.
    pub driver_version: String,
    /// Streaming multiprocessors.
    pub sm_count: u32,
    /// Device memory, bytes.
    pub memory_bytes: u64,
    /// The most shared memory that a block may ask for, bytes.
    pub smem_optin: u32,
    /// L2 cache, bytes.
    pub l2_bytes: u64,
    /// The highest SM clock, kHz; `None` where the driver does not say.
    pub clock_khz: Option<u32>,
}

impl DeviceInfo {
    /// The architecture as nvcc names it, for example `sm_121`.
    pub fn arch(&self) -> String {
        format!("sm_{}{}", self.cc.0, self.cc.1)
    }
}

/// There is no CUDA device to use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no CUDA device: {reason}")]
pub struct NoDriver {
    /// Why, and what to do about it.
    pub reason: String,
}

/// Memory on a device. Valid until it is freed, on the device that gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Buffer(pub(crate) usize);

/// A kernel of a loaded image, on the device that loaded it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Kernel(pub(crate) usize);

/// A number among the arguments of a launch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scalar {
    /// A 32-bit integer.
    I32(i32),
    /// A 32-bit float.
    F32(f32),
}

impl From<i32> for Scalar {
    fn from(number: i32) -> Self {
        Scalar::I32(number)
    }
}

impl From<f32> for Scalar {
    fn from(number: f32) -> Self {
        Scalar::F32(number)
    }
}

/// One argument of a launch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Arg {
    /// The address of a buffer.
    Buffer(Buffer),
    /// An address within a buffer.
    Within {
        /// The buffer.
        buffer: Buffer,
        /// Bytes from its beginning; less than it has.
        offset: usize,
    },
    /// A number.
    Scalar(Scalar),
}

impl From<Buffer> for Arg {
    fn from(buffer: Buffer) -> Self {
        Arg::Buffer(buffer)
    }
}

impl From<i32> for Arg {
    fn from(number: i32) -> Self {
        Arg::Scalar(number.into())
    }
}

impl From<f32> for Arg {
    fn from(number: f32) -> Self {
        Arg::Scalar(number.into())
    }
}

/// The shape of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    /// Blocks of the grid.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Dynamic shared memory, bytes a block.
    pub dynamic_smem: u32,
}

/// One launch of a kernel.
#[derive(Debug, Clone, PartialEq)]
pub struct Launch {
    /// The kernel.
    pub kernel: Kernel,
    /// Grid, block and shared memory.
    pub geometry: Geometry,
    /// Arguments, in the order of the kernel's parameters.
    pub args: Vec<Arg>,
}

/// Whose fault an error is, in the words of the harness protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fault {
    /// The code under test.
    Case,
    /// The device or its driver.
    Device,
    /// What was asked.
    Input,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fault::Case => "case",
            Fault::Device => "device",
            Fault::Input => "input",
        })
    }
}

/// Something that a device could not do.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// No device.
    #[error(transparent)]
    NoDriver(#[from] NoDriver),
    /// The bytes are no cubin that could be loaded.
    #[error("the image cannot be loaded: {0}; rebuild it")]
    BadImage(String),
    /// The image holds no code for this device.
    #[error("the image holds no code for {arch}; build it with CUDA_ARCH={arch}")]
    WrongArch {
        /// The device's architecture.
        arch: String,
    },
    /// No loaded image has the kernel.
    #[error("no kernel `{name}` in the {images} images loaded for {arch}")]
    NoKernel {
        /// The kernel.
        name: String,
        /// How many images are loaded.
        images: usize,
        /// The device's architecture.
        arch: String,
    },
    /// A block asks for more shared memory than the device can give it.
    #[error(
        "a block of `{kernel}` needs {asked} bytes of shared memory; this device gives a block at most {limit}"
    )]
    SharedMemory {
        /// The kernel.
        kernel: String,
        /// Static and dynamic together, bytes.
        asked: u64,
        /// The limit, bytes.
        limit: u64,
    },
    /// The launch's shape or arguments do not fit the kernel.
    #[error("`{kernel}` cannot be launched like this: {reason}")]
    BadLaunch {
        /// The kernel.
        kernel: String,
        /// What does not fit.
        reason: String,
    },
    /// A kernel ended with a fault; the device's context is of no more use.
    #[error("a kernel failed while {doing}: {reason}")]
    KernelFailed {
        /// What was being done.
        doing: String,
        /// The driver's words.
        reason: String,
    },
    /// Device memory is exhausted.
    #[error("{bytes} bytes of device memory cannot be allocated: {reason}")]
    OutOfMemory {
        /// How many were asked for.
        bytes: usize,
        /// The driver's words.
        reason: String,
    },
    /// A kernel's local memory (stack, spilled registers) for all threads that the device can
    /// hold at once is more than there is.
    #[error(
        "launching `{kernel}` needs {per_thread} bytes of local memory a thread, for as many threads as the device holds at once, and there is no room: {reason}"
    )]
    LocalMemory {
        /// The kernel.
        kernel: String,
        /// Local memory, bytes a thread.
        per_thread: u32,
        /// The driver's words.
        reason: String,
    },
    /// A buffer is not this device's, was freed, or is smaller than what was asked of it.
    #[error("{0}")]
    BadBuffer(String),
    /// Anything else that the driver refused.
    #[error("{doing}: {reason}")]
    Driver {
        /// What was being done.
        doing: String,
        /// The driver's words.
        reason: String,
    },
}

impl DeviceError {
    /// Whose fault it is.
    pub fn fault(&self) -> Fault {
        match self {
            DeviceError::NoDriver(_)
            | DeviceError::OutOfMemory { .. }
            | DeviceError::Driver { .. } => Fault::Device,
            DeviceError::BadImage(_)
            | DeviceError::WrongArch { .. }
            | DeviceError::NoKernel { .. }
            | DeviceError::SharedMemory { .. }
            | DeviceError::BadLaunch { .. }
            | DeviceError::LocalMemory { .. }
            | DeviceError::KernelFailed { .. } => Fault::Case,
            DeviceError::BadBuffer(_) => Fault::Input,
        }
    }

    /// Whether the device is of no more use to this process.
    pub fn loses_device(&self) -> bool {
        matches!(self, DeviceError::KernelFailed { .. })
    }
}

/// Holds buffers, loads images, runs kernels; one stream, in order.
pub trait Device {
    /// What is known about the device.
    fn info(&self) -> &DeviceInfo;

    /// Allocates memory, its content undefined.
    fn allocate(&mut self, bytes: usize) -> Result<Buffer, DeviceError>;

    /// Frees memory. A buffer that is not there is left alone.
    fn free(&mut self, buffer: Buffer);

    /// Copies bytes to the beginning of a buffer.
    fn write(&mut self, buffer: Buffer, bytes: &[u8]) -> Result<(), DeviceError>;

    /// Fills a buffer with a byte, without bringing it there from the host.
    fn fill(&mut self, buffer: Buffer, byte: u8) -> Result<(), DeviceError>;

    /// Copies the beginning of a buffer to `bytes`, after all launches before it.
    fn read(&mut self, buffer: Buffer, bytes: &mut [u8]) -> Result<(), DeviceError>;

    /// Loads a cubin, a fatbin or NUL-terminated PTX; its kernels are found by [`Device::kernel`].
    ///
    /// # Errors
    /// [`DeviceError::WrongArch`] when it holds no code for this device.
    fn load(&mut self, image: &[u8]) -> Result<(), DeviceError>;

    /// Finds a kernel by its symbol, in the images in the order in which they were loaded.
    fn kernel(&mut self, name: &str) -> Result<Kernel, DeviceError>;

    /// Queues a launch. Faults inside the kernel show at the next call that waits.
    fn launch(&mut self, launch: &Launch) -> Result<(), DeviceError>;

    /// Waits for everything that was queued.
    fn synchronize(&mut self) -> Result<(), DeviceError>;

    /// Runs launches back to back between two events, waits, and gives the time between the
    /// events in microseconds.
    fn time(&mut self, launches: &[Launch]) -> Result<f64, DeviceError>;
}
