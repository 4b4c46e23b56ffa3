//! Times the prefill of the whole stack: a prompt in, the next token out, by events. The timed
//! runs are proved by the token and the logits that they end in.

use std::collections::BTreeMap;

use super::synthetic::prompt;
use super::{ModelError, Stack};
use crate::device::{Device, Launch};
use crate::standalone::timing::{floor_us, median, rounds_for, sha256};

/// The unit of the bench.
pub const PREFILL_UNIT: &str = "tok/s";

/// What to time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrefillRequest {
    /// The seed of the prompt.
    pub seed: u64,
    /// Untimed inner runs.
    pub warmup: u32,
    /// Timed inner runs.
    pub inner: u32,
}

/// One sample.
#[derive(Debug, Clone, PartialEq)]
pub struct Prefill {
    /// The median of the inner runs, tokens a second.
    pub value: f64,
    /// Each inner run, tokens a second, in order.
    pub inner: Vec<f64>,
    /// The token after the prompt.
    pub token: i32,
    /// Launches of one prefill.
    pub launches: usize,
    /// SHA-256 of the token and the logits in which the timed runs end, hex.
    pub output: String,
    /// Launches of the timed runs by kernel.
    pub ran: BTreeMap<&'static str, u64>,
}

/// What a prefill ends in.
#[derive(PartialEq)]
struct Outcome {
    token: i32,
    logits: Vec<f32>,
}

impl Outcome {
    fn sha256(&self) -> String {
        let logits = self.logits.iter().flat_map(|logit| logit.to_le_bytes());
        let logits: Vec<u8> = logits.collect();
        sha256(&[&self.token.to_le_bytes(), &logits])
    }
}

/// How often each kernel of a pass is launched in so many passes.
fn ran(kernels: &[&'static str], passes: u64) -> BTreeMap<&'static str, u64> {
    let mut ran = BTreeMap::new();
    for kernel in kernels {
        *ran.entry(*kernel).or_default() += passes;
    }
    ran
}

impl Stack {
    /// Takes one sample of the prefill of as many tokens as the shape says.
    ///
    /// # Errors
    /// Where the device fails, the timed runs end in something else than an untimed run, or the
    /// time is impossible.
    pub fn sample_prefill(
        &self,
        device: &mut dyn Device,
        request: PrefillRequest,
    ) -> Result<Prefill, ModelError> {
        let pass = self.pass(device, self.prefill_span())?;
        self.begin(device, request.seed)?;
        device.time(&pass.launches)?;
        let untimed = self.outcome(device)?;

        // No kernel reads what it wrote in the pass before, so passes may follow one another.
        let count = pass.launches.len();
        let rounds = rounds_for(device.time(&pass.launches)? / count as f64, count);
        let launches = pass.launches.iter().cycle();
        let run: Vec<Launch> = launches
            .take(rounds * pass.launches.len())
            .cloned()
            .collect();
        for _ in 0..request.warmup {
            device.time(&run)?;
        }
        self.begin(device, request.seed)?;
        let mut passes_us = Vec::new();
        for _ in 0..request.inner.max(1) {
            passes_us.push(device.time(&run)? / rounds as f64);
        }
        let timed = self.outcome(device)?;
        if timed != untimed {
            return Err(ModelError::WrongOutput {
                timed: timed.token,
                untimed: untimed.token,
            });
        }
        let floor_us = floor_us(device.info(), pass.multiplications, 0);
        let measured_us = passes_us.iter().copied().fold(f64::INFINITY, f64::min);
        if !(measured_us.is_finite() && measured_us >= floor_us) {
            return Err(ModelError::Impossible {
                measured_us,
                floor_us,
            });
        }
        let passes = rounds as u64 * passes_us.len() as u64;
        let tokens = self.shape().prefill as f64;
        let inner: Vec<f64> = passes_us.iter().map(|us| tokens / us * 1e6).collect();
        Ok(Prefill {
            value: median(&inner),
            inner,
            token: timed.token,
            launches: pass.launches.len(),
            output: timed.sha256(),
            ran: ran(&pass.kernels, passes),
        })
    }

    /// Runs the prefill once, for a profiler to watch, and gives the token after the prompt.
    ///
    /// # Errors
    /// Where the device fails, or the pass ends in NaN.
    pub fn prefill_once(&self, device: &mut dyn Device, seed: u64) -> Result<i32, ModelError> {
        let pass = self.pass(device, self.prefill_span())?;
        self.begin(device, seed)?;
        for launch in &pass.launches {
            device.launch(launch)?;
        }
        device.synchronize()?;
        Ok(self.outcome(device)?.token)
    }

    /// Nothing of an earlier run is left, and the prompt is there.
    fn begin(&self, device: &mut dyn Device, seed: u64) -> Result<(), ModelError> {
        let shape = self.shape();
        self.poison(device)?;
        let prompt = prompt(seed, shape.prefill, shape.vocabulary);
        self.write_prompt(device, &prompt, 1)
    }

    fn outcome(&self, device: &mut dyn Device) -> Result<Outcome, ModelError> {
        let tokens = self.read_tokens(device, self.shape().prefill, 1)?;
        Ok(Outcome {
            token: tokens.first().copied().unwrap_or(-1),
            logits: self.logits(device)?,
        })
    }
}
