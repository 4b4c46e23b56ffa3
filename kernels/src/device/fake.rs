//! A device for tests: it keeps buffers in host memory and runs closures as kernels. Launches
//! take a made-up time. Tests plug in kernels that are right, wrong, or fault.

use std::collections::BTreeMap;

use super::{Arg, Buffer, Device, DeviceError, DeviceInfo, Geometry, Kernel, Launch, Scalar};

/// What a fake kernel gets: the buffers of its pointer arguments, the integers, the geometry.
pub(crate) struct Invocation<'a> {
    pub(crate) buffers: Vec<Vec<u8>>,
    pub(crate) scalars: Vec<Scalar>,
    pub(crate) geometry: &'a Geometry,
}

type Body = Box<dyn FnMut(&mut Invocation<'_>) -> Result<(), DeviceError>>;

pub(crate) struct Fake {
    info: DeviceInfo,
    buffers: Vec<Option<Vec<u8>>>,
    kernels: Vec<(String, Body)>,
    pub(crate) launches: BTreeMap<String, u32>,
    pub(crate) launch_us: f64,
    images: usize,
}

impl Invocation<'_> {
    /// Integer argument `n` among the numbers.
    pub(crate) fn integer(&self, n: usize) -> usize {
        match self.scalars[n] {
            Scalar::I32(number) => number as usize,
            Scalar::F32(number) => panic!("argument {n} is the float {number}"),
        }
    }
}

impl Fake {
    pub(crate) fn new() -> Self {
        Fake {
            info: DeviceInfo {
                index: 0,
                name: "fake".to_owned(),
                uuid: "GPU-fake".to_owned(),
                cc: (12, 1),
                driver_version: "13.0".to_owned(),
                sm_count: 48,
                memory_bytes: 1 << 30,
                smem_optin: 101_376,
                l2_bytes: 0,
                clock_khz: Some(2_418_000),
            },
            buffers: Vec::new(),
            kernels: Vec::new(),
            launches: BTreeMap::new(),
            launch_us: 1000.0,
            images: 0,
        }
    }

    pub(crate) fn with(
        mut self,
        name: &str,
        body: impl FnMut(&mut Invocation<'_>) -> Result<(), DeviceError> + 'static,
    ) -> Self {
        self.kernels.push((name.to_owned(), Box::new(body)));
        self
    }

    /// How many buffers are allocated now.
    pub(crate) fn live(&self) -> usize {
        self.buffers.iter().flatten().count()
    }

    fn buffer(&mut self, buffer: Buffer) -> Result<&mut Vec<u8>, DeviceError> {
        let slot = self.buffers.get_mut(buffer.0).and_then(Option::as_mut);
        slot.ok_or_else(|| DeviceError::BadBuffer("not allocated".to_owned()))
    }
}

impl Device for Fake {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn allocate(&mut self, bytes: usize) -> Result<Buffer, DeviceError> {
        self.buffers.push(Some(vec![0xcd; bytes]));
        Ok(Buffer(self.buffers.len() - 1))
    }

    fn free(&mut self, buffer: Buffer) {
        self.buffers[buffer.0] = None;
    }

    fn write(&mut self, buffer: Buffer, bytes: &[u8]) -> Result<(), DeviceError> {
        self.buffer(buffer)?[..bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn read(&mut self, buffer: Buffer, bytes: &mut [u8]) -> Result<(), DeviceError> {
        let from = self.buffer(buffer)?;
        bytes.copy_from_slice(&from[..bytes.len()]);
        Ok(())
    }

    fn load(&mut self, image: &[u8]) -> Result<(), DeviceError> {
        match image {
            b"fake image" => self.images += 1,
            b"other arch" => {
                let arch = self.info.arch();
                return Err(DeviceError::WrongArch { arch });
            }
            _ => return Err(DeviceError::BadImage("not a fake image".to_owned())),
        }
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
            buffers: Vec::new(),
            scalars: Vec::new(),
            geometry: &launch.geometry,
        };
        let mut at = Vec::new();
        for arg in &launch.args {
            match *arg {
                Arg::Buffer(buffer) => {
                    at.push(buffer);
                    invocation
                        .buffers
                        .push(std::mem::take(self.buffer(buffer)?));
                }
                Arg::Within { .. } => {
                    let reason = "no fake kernel takes a part of a buffer".to_owned();
                    return Err(DeviceError::BadBuffer(reason));
                }
                Arg::Scalar(n) => invocation.scalars.push(n),
            }
        }
        let (name, body) = &mut self.kernels[launch.kernel.0];
        *self.launches.entry(name.clone()).or_default() += 1;
        let result = body(&mut invocation);
        for (buffer, bytes) in at.into_iter().zip(invocation.buffers) {
            *self.buffer(buffer)? = bytes;
        }
        result
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
