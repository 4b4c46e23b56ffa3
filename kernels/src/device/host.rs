//! A stand-in for a device: buffers in host memory, and kernels that are Rust closures. It runs
//! one launch after another and takes a made-up time for each; nothing measured on it means
//! anything. Tests plug in kernels that are right, wrong, or fault.

use std::collections::BTreeMap;

use super::{Arg, Buffer, Device, DeviceError, DeviceInfo, Geometry, Kernel, Launch, Scalar};

/// A kernel: reads and writes through the launch's arguments.
pub type Body = Box<dyn FnMut(&mut Invocation<'_>) -> Result<(), DeviceError>>;

/// What a kernel gets: its arguments and its geometry.
///
/// Pointers and numbers are counted apart, each from 0. An access outside a buffer is what it is
/// on a GPU: a kernel that failed.
pub struct Invocation<'a> {
    /// Grid, block and shared memory of the launch.
    pub geometry: Geometry,
    memory: &'a mut Memory,
    pointers: Vec<(Buffer, usize)>,
    scalars: Vec<Scalar>,
}

fn fault(reason: String) -> DeviceError {
    DeviceError::KernelFailed {
        doing: "running it on the stand-in device".to_owned(),
        reason,
    }
}

impl Invocation<'_> {
    /// The bytes from a pointer on to the end of its buffer.
    ///
    /// # Errors
    /// Where there is no such pointer.
    pub fn bytes(&self, pointer: usize) -> Result<&[u8], DeviceError> {
        let (buffer, offset) = self.pointer(pointer)?;
        let bytes = self.memory.get(buffer)?.get(offset..);
        bytes.ok_or_else(|| fault(format!("pointer {pointer} lies outside its buffer")))
    }

    /// The first `count` floats from a pointer on.
    ///
    /// # Errors
    /// Where they reach past the end of the buffer.
    pub fn floats(&self, pointer: usize, count: usize) -> Result<Vec<f32>, DeviceError> {
        let bytes = self.bytes(pointer)?.get(..count * 4);
        let bytes = bytes
            .ok_or_else(|| fault(format!("{count} floats of pointer {pointer} are not there")))?;
        let words = bytes.as_chunks::<4>().0.iter();
        Ok(words.map(|word| f32::from_le_bytes(*word)).collect())
    }

    /// Writes bytes from a pointer on.
    ///
    /// # Errors
    /// Where they reach past the end of the buffer.
    pub fn write(&mut self, pointer: usize, bytes: &[u8]) -> Result<(), DeviceError> {
        let (buffer, offset) = self.pointer(pointer)?;
        let to = self.memory.get_mut(buffer)?;
        let to = to
            .get_mut(offset..)
            .and_then(|to| to.get_mut(..bytes.len()));
        let count = bytes.len();
        to.ok_or_else(|| fault(format!("{count} bytes do not fit behind pointer {pointer}")))?
            .copy_from_slice(bytes);
        Ok(())
    }

    /// Writes floats from a pointer on.
    ///
    /// # Errors
    /// As [`Invocation::write`].
    pub fn write_floats(&mut self, pointer: usize, values: &[f32]) -> Result<(), DeviceError> {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.write(pointer, &bytes)
    }

    /// Integer `n` among the numbers; a negative one is an error.
    ///
    /// # Errors
    /// Where it is none.
    pub fn integer(&self, n: usize) -> Result<usize, DeviceError> {
        match self.scalars.get(n) {
            Some(Scalar::I32(number)) if *number >= 0 => Ok(*number as usize),
            other => Err(fault(format!("number {n} is {other:?}, not a count"))),
        }
    }

    /// The 32 bits of integer `n` among the numbers.
    ///
    /// # Errors
    /// Where it is none.
    pub fn word(&self, n: usize) -> Result<u32, DeviceError> {
        match self.scalars.get(n) {
            Some(Scalar::I32(number)) => Ok(*number as u32),
            other => Err(fault(format!("number {n} is {other:?}, not an integer"))),
        }
    }

    /// Float `n` among the numbers.
    ///
    /// # Errors
    /// Where it is none.
    pub fn float(&self, n: usize) -> Result<f32, DeviceError> {
        match self.scalars.get(n) {
            Some(Scalar::F32(number)) => Ok(*number),
            other => Err(fault(format!("number {n} is {other:?}, not a float"))),
        }
    }

    fn pointer(&self, n: usize) -> Result<(Buffer, usize), DeviceError> {
        let pointer = self.pointers.get(n).copied();
        pointer.ok_or_else(|| fault(format!("there is no pointer {n}")))
    }
}

/// All buffers.
#[derive(Debug, Default)]
struct Memory(Vec<Option<Vec<u8>>>);

impl Memory {
    fn get(&self, buffer: Buffer) -> Result<&Vec<u8>, DeviceError> {
        let slot = self.0.get(buffer.0).and_then(Option::as_ref);
        slot.ok_or_else(|| Memory::missing(buffer))
    }

    fn get_mut(&mut self, buffer: Buffer) -> Result<&mut Vec<u8>, DeviceError> {
        let slot = self.0.get_mut(buffer.0).and_then(Option::as_mut);
        slot.ok_or_else(|| Memory::missing(buffer))
    }

    fn missing(buffer: Buffer) -> DeviceError {
        DeviceError::BadBuffer(format!("buffer {} is not allocated", buffer.0))
    }

    fn used(&self) -> u64 {
        self.0.iter().flatten().map(|b| b.len() as u64).sum()
    }
}

/// The stand-in device.
pub struct Host {
    info: DeviceInfo,
    memory: Memory,
    kernels: Vec<(String, Body)>,
    launches: BTreeMap<String, u32>,
    images: usize,
    /// How long a launch takes, microseconds.
    pub launch_us: f64,
}

impl Default for Host {
    fn default() -> Self {
        Host::new()
    }
}

impl Host {
    /// What [`Host`] takes for an image, since there is no code to load.
    pub const IMAGE: &'static [u8] = b"host image";
    /// The same for another architecture.
    pub const OTHER_IMAGE: &'static [u8] = b"other arch";

    /// A device without kernels.
    pub fn new() -> Self {
        Host {
            info: DeviceInfo {
                index: 0,
                name: "host".to_owned(),
                uuid: "GPU-host".to_owned(),
                cc: (12, 1),
                driver_version: "13.0".to_owned(),
                sm_count: 48,
                memory_bytes: 1 << 30,
                smem_optin: 101_376,
                l2_bytes: 0,
                clock_khz: Some(2_418_000),
            },
            memory: Memory::default(),
            kernels: Vec::new(),
            launches: BTreeMap::new(),
            launch_us: 1000.0,
            images: 0,
        }
    }

    /// The same device with a kernel more, in place of one of that name.
    #[must_use]
    pub fn with(
        mut self,
        name: &str,
        body: impl FnMut(&mut Invocation<'_>) -> Result<(), DeviceError> + 'static,
    ) -> Self {
        self.kernels.retain(|(known, _)| known != name);
        self.kernels.push((name.to_owned(), Box::new(body)));
        self
    }

    /// The same device without a kernel.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.kernels.retain(|(known, _)| known != name);
        self
    }

    /// Takes a kernel out of the device, to wrap it into another.
    pub fn take(mut self, name: &str) -> Option<Body> {
        let at = self.kernels.iter().position(|(known, _)| known == name)?;
        Some(self.kernels.swap_remove(at).1)
    }

    /// The same device with so much memory.
    #[must_use]
    pub fn with_memory(mut self, bytes: u64) -> Self {
        self.info.memory_bytes = bytes;
        self
    }

    /// How many buffers are allocated now.
    pub fn live(&self) -> usize {
        self.memory.0.iter().flatten().count()
    }

    /// How often a kernel was launched.
    pub fn launches(&self, kernel: &str) -> u32 {
        self.launches.get(kernel).copied().unwrap_or(0)
    }

    /// The bytes of a buffer, to look at and to spoil.
    ///
    /// # Errors
    /// Where it is not allocated.
    pub fn content(&mut self, buffer: Buffer) -> Result<&mut [u8], DeviceError> {
        self.memory.get_mut(buffer).map(Vec::as_mut_slice)
    }
}

impl Device for Host {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn allocate(&mut self, bytes: usize) -> Result<Buffer, DeviceError> {
        let free = self.info.memory_bytes.saturating_sub(self.memory.used());
        if bytes as u64 > free {
            let reason = format!("{free} bytes are free");
            return Err(DeviceError::OutOfMemory { bytes, reason });
        }
        self.memory.0.push(Some(vec![0xcd; bytes]));
        Ok(Buffer(self.memory.0.len() - 1))
    }

    fn free(&mut self, buffer: Buffer) {
        if let Some(slot) = self.memory.0.get_mut(buffer.0) {
            *slot = None;
        }
    }

    fn write(&mut self, buffer: Buffer, bytes: &[u8]) -> Result<(), DeviceError> {
        let to = self.memory.get_mut(buffer)?;
        let (has, asked) = (to.len(), bytes.len());
        let to = to.get_mut(..asked).ok_or_else(|| too_small(has, asked))?;
        to.copy_from_slice(bytes);
        Ok(())
    }

    fn fill(&mut self, buffer: Buffer, byte: u8) -> Result<(), DeviceError> {
        self.memory.get_mut(buffer)?.fill(byte);
        Ok(())
    }

    fn read(&mut self, buffer: Buffer, bytes: &mut [u8]) -> Result<(), DeviceError> {
        let from = self.memory.get(buffer)?;
        let asked = from.get(..bytes.len());
        let from = asked.ok_or_else(|| too_small(from.len(), bytes.len()))?;
        bytes.copy_from_slice(from);
        Ok(())
    }

    fn load(&mut self, image: &[u8]) -> Result<(), DeviceError> {
        if image == Host::OTHER_IMAGE {
            let arch = self.info.arch();
            return Err(DeviceError::WrongArch { arch });
        }
        if image != Host::IMAGE {
            let reason = "it is no image of the stand-in device".to_owned();
            return Err(DeviceError::BadImage(reason));
        }
        self.images += 1;
        Ok(())
    }

    fn kernel(&mut self, name: &str) -> Result<Kernel, DeviceError> {
        let found = self.kernels.iter().position(|(k, _)| k == name);
        found.map(Kernel).ok_or_else(|| DeviceError::NoKernel {
            name: name.to_owned(),
            images: self.images,
            arch: self.info.arch(),
        })
    }

    fn launch(&mut self, launch: &Launch) -> Result<(), DeviceError> {
        let mut invocation = Invocation {
            geometry: launch.geometry,
            memory: &mut self.memory,
            pointers: Vec::new(),
            scalars: Vec::new(),
        };
        for arg in &launch.args {
            match *arg {
                Arg::Buffer(buffer) => invocation.pointers.push((buffer, 0)),
                Arg::Within { buffer, offset } => invocation.pointers.push((buffer, offset)),
                Arg::Scalar(number) => invocation.scalars.push(number),
            }
        }
        let kernel = self.kernels.get_mut(launch.kernel.0);
        let (name, body) =
            kernel.ok_or_else(|| DeviceError::BadBuffer("the kernel is not loaded".to_owned()))?;
        *self.launches.entry(name.clone()).or_default() += 1;
        body(&mut invocation)
    }

    fn synchronize(&mut self) -> Result<(), DeviceError> {
        Ok(())
    }

    fn time(&mut self, launches: &[Launch]) -> Result<f64, DeviceError> {
        for launch in launches {
            self.launch(launch)?;
        }
        Ok(self.launch_us * launches.len() as f64)
    }
}

fn too_small(has: usize, asked: usize) -> DeviceError {
    DeviceError::BadBuffer(format!("a buffer has {has} bytes, {asked} were asked for"))
}
