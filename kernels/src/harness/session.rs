//! What lives as long as the process: the device, and the model once it was asked for.

use super::protocol::{Answer, Unserved};
use super::{HarnessOptions, PARITY_SEED, facts};
use crate::catalogue::{self, BENCHES, Entry, PARITY};
use crate::device::Device;
use crate::model::synthetic::prompt;
use crate::model::{ModelError, PREFILL_UNIT, PrefillRequest, Stack, TensorSource};
use crate::standalone::{SampleRequest, UNIT, parity, sample};

/// The bench of the whole stack.
pub const PREFILL: &str = "prefill";
/// Tokens of the prompt of `generate`; no multiple of any tile.
const PROMPT_TOKENS: usize = 77;

/// A model that was built, and where it came from.
struct Model {
    stack: Stack,
    source: Box<dyn TensorSource>,
}

/// A device, what it was told to run, and the model once it is built.
pub(super) struct Session<'a> {
    pub(super) device: &'a mut dyn Device,
    options: &'a HarnessOptions,
    model: Option<Box<Model>>,
}

impl<'a> Session<'a> {
    pub(super) fn new(device: &'a mut dyn Device, options: &'a HarnessOptions) -> Self {
        Session {
            device,
            options,
            model: None,
        }
    }

    /// The device, and the model, which is built at the first request that needs it.
    fn model(&mut self) -> Result<(&mut dyn Device, &mut Model), ModelError> {
        let model = match self.model.take() {
            Some(model) => model,
            None => {
                let mut source = self.options.model.open()?;
                let stack = Stack::new(self.device, source.as_mut(), self.options.tile)?;
                Box::new(Model { stack, source })
            }
        };
        Ok((self.device, self.model.insert(model)))
    }

    pub(super) fn parity(&mut self, case: &str) -> Result<Answer, Unserved> {
        let problem = find(PARITY, case, "case", &[])?.problem(PARITY_SEED);
        let figures = parity(self.device, problem.as_ref())?;
        Ok(Answer::parity(&figures, problem.tolerance()))
    }

    pub(super) fn generate(&mut self, tokens: u32, seed: u64) -> Result<Answer, Unserved> {
        let (device, model) = self.model()?;
        let prompt = prompt(seed, PROMPT_TOKENS, model.stack.shape().vocabulary);
        let tokens = model.stack.generate(device, &prompt, tokens as usize)?;
        Ok(Answer::Generate {
            text: model.source.text(&tokens).unwrap_or_default(),
            tokens,
        })
    }

    pub(super) fn sample(
        &mut self,
        bench: &str,
        request: PrefillRequest,
    ) -> Result<Answer, Unserved> {
        if bench == PREFILL {
            let (device, model) = self.model()?;
            let prefill = model.stack.sample_prefill(device, request)?;
            return Ok(Answer::Sample {
                facts: facts::of_prefill(model.stack.shape(), request, &prefill),
                unit: PREFILL_UNIT,
                value: prefill.value,
                inner: prefill.inner,
            });
        }
        let problem = find(BENCHES, bench, "bench", &[PREFILL])?.problem(request.seed);
        let timed = SampleRequest {
            problem: problem.as_ref(),
            warmup: request.warmup,
            inner: request.inner,
        };
        let timing = sample(self.device, &timed)?;
        Ok(Answer::Sample {
            facts: facts::of_kernel(problem.as_ref(), request, &timing),
            unit: UNIT,
            value: timing.value_us,
            inner: timing.inner_us,
        })
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        if let Some(model) = self.model.take() {
            model.stack.free(self.device);
        }
    }
}

fn find(
    entries: &'static [Entry],
    name: &str,
    what: &str,
    others: &[&str],
) -> Result<&'static Entry, Unserved> {
    catalogue::find(entries, name).ok_or_else(|| {
        let mut known = catalogue::names(entries);
        others
            .iter()
            .for_each(|other| known += &format!(", {other}"));
        Unserved::input(format!("no {what} `{name}`; there are: {known}"))
    })
}
