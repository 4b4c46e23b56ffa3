//! A model on a device: weights, buffers, and the passes that generate tokens. The tokens stay
//! on the device until the last one is there: `argmax` writes each where the next embedding
//! reads it.

use std::collections::BTreeMap;

use super::ModelError;
use super::buffers::Buffers;
use super::pass::{Parts, Pass, Span};
use super::shape::ModelShape;
use super::tensor::TensorSource;
use super::weights::{Arena, Weights};
use crate::device::{Buffer, Device, DeviceError};
use crate::mmq::Tile;

/// No token, and no result of `argmax`.
const NO_TOKEN: i32 = i32::MIN;

/// A model on a device. Its memory is the device's until [`Stack::free`].
#[derive(Debug)]
pub struct Stack {
    shape: ModelShape,
    tile: Tile,
    weights: Weights,
    buffers: Buffers,
    memory: Vec<Buffer>,
    launches: BTreeMap<&'static str, u64>,
}

/// Bytes of device memory that a model needs.
///
/// # Errors
/// Where its shape or one of its tensors is wrong.
pub fn needed_bytes(source: &dyn TensorSource) -> Result<u64, ModelError> {
    source.shape().check()?;
    let weights = Weights::bytes(source)?;
    Ok(weights.saturating_add(Buffers::bytes(source.shape())))
}

impl Stack {
    /// Builds a model: memory first, then kernels, then the weights. On an error nothing stays
    /// allocated.
    ///
    /// # Errors
    /// Where the shape is wrong, the device is too small, lacks a kernel, or a tensor cannot be
    /// had.
    pub fn new(
        device: &mut dyn Device,
        source: &mut dyn TensorSource,
        tile: Tile,
    ) -> Result<Stack, ModelError> {
        let needed = needed_bytes(source)?;
        let has = device.info().memory_bytes;
        let model = source.shape().name.clone();
        let too_large = |reason: String| ModelError::Memory {
            model: model.clone(),
            needed,
            has,
            reason,
        };
        if needed > has {
            return Err(too_large("that is too small".to_owned()));
        }
        let mut arena = Arena {
            device,
            buffers: Vec::new(),
        };
        let made = Stack::make(&mut arena, source, tile);
        if made.is_err() {
            let Arena { device, buffers } = arena;
            buffers.into_iter().for_each(|buffer| device.free(buffer));
        }
        made.map_err(|error| match error {
            ModelError::Device(error @ DeviceError::OutOfMemory { .. }) => {
                too_large(error.to_string())
            }
            other => other,
        })
    }

    fn make(
        arena: &mut Arena<'_>,
        source: &mut dyn TensorSource,
        tile: Tile,
    ) -> Result<Stack, ModelError> {
        let weights = Weights::allocate(source, arena)?;
        let buffers = Buffers::allocate(source.shape(), arena)?;
        let stack = Stack {
            shape: source.shape().clone(),
            tile,
            weights,
            buffers,
            memory: arena.buffers.clone(),
            launches: BTreeMap::new(),
        };
        // A kernel that is missing shows here rather than after gigabytes were filled.
        let prefill = stack.prefill_span();
        stack.pass(arena.device, prefill)?;
        stack.pass(
            arena.device,
            Span {
                tokens: 1,
                ..prefill
            },
        )?;
        stack.weights.fill(source, arena.device)?;
        stack.buffers.fill(&stack.shape, arena.device)?;
        stack.buffers.poison(arena.device)?;
        Ok(stack)
    }

    /// Gives the memory back.
    pub fn free(self, device: &mut dyn Device) {
        self.memory
            .into_iter()
            .for_each(|buffer| device.free(buffer));
    }

    /// The model's shape.
    pub fn shape(&self) -> &ModelShape {
        &self.shape
    }

    /// The weights.
    pub fn weights(&self) -> &Weights {
        &self.weights
    }

    /// How often each kernel was launched to generate tokens.
    pub fn launches(&self) -> &BTreeMap<&'static str, u64> {
        &self.launches
    }

    /// The tokens of the prefill that is timed.
    pub(super) fn prefill_span(&self) -> Span {
        Span {
            first: 0,
            tokens: self.shape.prefill,
            next: true,
        }
    }

    pub(super) fn pass(&self, device: &mut dyn Device, span: Span) -> Result<Pass, ModelError> {
        let parts = Parts {
            shape: &self.shape,
            tile: self.tile,
            weights: &self.weights,
            buffers: &self.buffers,
        };
        parts.pass(device, span)
    }

    fn run(&mut self, device: &mut dyn Device, span: Span) -> Result<(), ModelError> {
        let pass = self.pass(device, span)?;
        for (launch, kernel) in pass.launches.iter().zip(&pass.kernels) {
            device.launch(launch)?;
            *self.launches.entry(kernel).or_default() += 1;
        }
        Ok(())
    }

    /// Fills what passes write with NaN.
    pub(super) fn poison(&self, device: &mut dyn Device) -> Result<(), ModelError> {
        Ok(self.buffers.poison(device)?)
    }

    /// Writes a prompt, and no token behind it.
    pub(super) fn write_prompt(
        &self,
        device: &mut dyn Device,
        prompt: &[i32],
        room: usize,
    ) -> Result<(), ModelError> {
        let tokens = prompt
            .iter()
            .copied()
            .chain(std::iter::repeat_n(NO_TOKEN, room));
        let bytes: Vec<u8> = tokens.flat_map(i32::to_le_bytes).collect();
        Ok(device.write(self.buffers.tokens, &bytes)?)
    }

    /// Reads `count` tokens from behind a prompt of `prompt` tokens.
    pub(super) fn read_tokens(
        &self,
        device: &mut dyn Device,
        prompt: usize,
        count: usize,
    ) -> Result<Vec<i32>, ModelError> {
        let mut bytes = vec![0; (prompt + count) * 4];
        device.read(self.buffers.tokens, &mut bytes)?;
        let words = bytes.as_chunks::<4>().0.iter().skip(prompt);
        let tokens: Vec<i32> = words.map(|word| i32::from_le_bytes(*word)).collect();
        let known = 0..self.shape.vocabulary as i64;
        match tokens.iter().position(|t| !known.contains(&i64::from(*t))) {
            None => Ok(tokens),
            Some(at) => Err(ModelError::NoToken {
                number: at + 1,
                count,
                token: tokens[at],
                vocabulary: self.shape.vocabulary,
            }),
        }
    }

    /// Reads the logits of the last pass.
    ///
    /// # Errors
    /// Where the device fails.
    pub fn logits(&self, device: &mut dyn Device) -> Result<Vec<f32>, ModelError> {
        let mut bytes = vec![0; self.shape.vocabulary * 4];
        device.read(self.buffers.logits, &mut bytes)?;
        let words = bytes.as_chunks::<4>().0.iter();
        Ok(words.map(|word| f32::from_le_bytes(*word)).collect())
    }

    /// Generates `count` tokens after a prompt, always the likeliest.
    ///
    /// # Errors
    /// Where prompt and tokens do not fit the model, the device fails, or a pass ends in NaN.
    pub fn generate(
        &mut self,
        device: &mut dyn Device,
        prompt: &[i32],
        count: usize,
    ) -> Result<Vec<i32>, ModelError> {
        self.check_request(prompt, count)?;
        self.write_prompt(device, prompt, count)?;
        let mut first = 0;
        while first < prompt.len() {
            let tokens = self.shape.prefill.min(prompt.len() - first);
            let next = first + tokens == prompt.len();
            self.run(
                device,
                Span {
                    first,
                    tokens,
                    next,
                },
            )?;
            first += tokens;
        }
        for first in prompt.len()..prompt.len() + count - 1 {
            self.run(
                device,
                Span {
                    first,
                    tokens: 1,
                    next: true,
                },
            )?;
        }
        device.synchronize()?;
        self.read_tokens(device, prompt.len(), count)
    }

    fn check_request(&self, prompt: &[i32], count: usize) -> Result<(), ModelError> {
        let positions = self.shape.positions;
        if prompt.is_empty() || count == 0 || count > positions - prompt.len().min(positions) {
            let text = format!(
                "{count} tokens after a prompt of {} do not fit: the model `{}` has {positions} \
                 positions, and both are at least 1",
                prompt.len(),
                self.shape.name
            );
            return Err(ModelError::Request(text));
        }
        let vocabulary = self.shape.vocabulary as i64;
        match prompt
            .iter()
            .find(|t| !(0..vocabulary).contains(&i64::from(**t)))
        {
            None => Ok(()),
            Some(token) => Err(ModelError::Request(format!(
                "token {token} of the prompt is not one of {vocabulary}"
            ))),
        }
    }
}
