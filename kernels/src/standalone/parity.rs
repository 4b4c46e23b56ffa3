//! Runs a case once and compares its output with the reference.

use super::{CaseError, Problem};
use crate::device::{Arg, Buffer, Device, DeviceError, Launch};

/// What counts as right.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Tolerance {
    /// Every element equals the reference.
    Exact,
    /// The normalised mean square error is at most this.
    Nmse(f64),
}

/// How far an output is from its reference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figures {
    /// Elements compared.
    pub compared: u64,
    /// Elements that differ from the reference at all.
    pub mismatches: u64,
    /// Elements that are no finite number.
    pub non_finite: u64,
    /// Sum of squared errors over sum of squares of the reference; the largest f64 where an
    /// element is no finite number.
    pub nmse: f64,
    /// The largest absolute error; the largest f64 where an element is no finite number.
    pub max_abs: f64,
}

impl Figures {
    /// Whether the output is right. Nothing compared is not right.
    pub fn passed(&self, tolerance: Tolerance) -> bool {
        let close = match tolerance {
            Tolerance::Exact => self.mismatches == 0,
            Tolerance::Nmse(most) => self.nmse <= most,
        };
        self.compared > 0 && self.non_finite == 0 && close
    }
}

impl std::fmt::Display for Figures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "of {} outputs {} differ, {} are not finite; nmse {:.3e}, largest error {:.3e}",
            self.compared, self.mismatches, self.non_finite, self.nmse, self.max_abs
        )
    }
}

/// What outputs are filled with before a kernel runs: NaN as a float, and no sum that the
/// integer cases can reach.
pub(super) const POISON: [u8; 4] = 0x7fba_dbadu32.to_le_bytes();

/// Compares the given elements of an output with the reference.
pub fn compare(
    problem: &dyn Problem,
    output: &[u8],
    elements: impl Iterator<Item = usize>,
) -> Figures {
    let mut figures = Figures {
        compared: 0,
        mismatches: 0,
        non_finite: 0,
        nmse: 0.0,
        max_abs: 0.0,
    };
    let (mut error, mut signal) = (0.0, 0.0);
    for n in elements {
        let Some(&[a, b, c, d]) = output.get(n * 4..n * 4 + 4) else {
            continue;
        };
        let (got, want) = (problem.decode([a, b, c, d]), problem.expected(n));
        let off = (got - want).abs();
        figures.compared += 1;
        figures.mismatches += u64::from(got != want);
        figures.non_finite += u64::from(!got.is_finite());
        figures.max_abs = figures.max_abs.max(off);
        error += off * off;
        signal += want * want;
    }
    figures.nmse = if error == 0.0 { 0.0 } else { error / signal };
    if figures.non_finite > 0 || !figures.nmse.is_finite() {
        figures.nmse = f64::MAX;
        figures.max_abs = f64::MAX;
    }
    figures
}

/// A problem's operands in device memory, with a place for its output.
pub(super) struct Set {
    buffers: Vec<Buffer>,
    pub(super) output: Buffer,
    pub(super) launch: Launch,
}

impl Set {
    /// Allocates and copies; on an error nothing stays allocated.
    pub(super) fn new(device: &mut dyn Device, problem: &dyn Problem) -> Result<Set, DeviceError> {
        let mut buffers = Vec::new();
        let made = Set::fill(device, problem, &mut buffers);
        if made.is_err() {
            buffers.iter().for_each(|b| device.free(*b));
        }
        let (output, launch) = made?;
        Ok(Set {
            buffers,
            output,
            launch,
        })
    }

    fn fill(
        device: &mut dyn Device,
        problem: &dyn Problem,
        buffers: &mut Vec<Buffer>,
    ) -> Result<(Buffer, Launch), DeviceError> {
        let kernel = device.kernel(problem.kernel())?;
        for input in problem.inputs() {
            let buffer = device.allocate(input.len())?;
            buffers.push(buffer);
            device.write(buffer, input)?;
        }
        let output = device.allocate(problem.outputs() * 4)?;
        buffers.push(output);
        let args = buffers.iter().map(|b| Arg::Buffer(*b));
        let launch = Launch {
            kernel,
            geometry: problem.geometry(),
            args: args
                .chain(problem.scalars().into_iter().map(Arg::Scalar))
                .collect(),
        };
        Ok((output, launch))
    }

    pub(super) fn poison(
        &self,
        device: &mut dyn Device,
        problem: &dyn Problem,
    ) -> Result<(), DeviceError> {
        device.write(self.output, &POISON.repeat(problem.outputs()))
    }

    pub(super) fn read(
        &self,
        device: &mut dyn Device,
        problem: &dyn Problem,
    ) -> Result<Vec<u8>, DeviceError> {
        let mut output = vec![0; problem.outputs() * 4];
        device.read(self.output, &mut output)?;
        Ok(output)
    }

    pub(super) fn free(self, device: &mut dyn Device) {
        self.buffers.iter().for_each(|b| device.free(*b));
    }
}

/// Runs the kernel once over a poisoned output and compares every element.
///
/// # Errors
/// Where the device could not run it; a wrong output is no error here.
pub fn parity(device: &mut dyn Device, problem: &dyn Problem) -> Result<Figures, CaseError> {
    let output = run_once(device, problem)?;
    Ok(compare(problem, &output, 0..problem.outputs()))
}

/// Runs the kernel once, for a profiler to watch, and checks a part of its output.
///
/// # Errors
/// Where the device could not run it, or the output is wrong.
pub fn launch_once(device: &mut dyn Device, problem: &dyn Problem) -> Result<Figures, CaseError> {
    let output = run_once(device, problem)?;
    let figures = compare(problem, &output, some(problem));
    if figures.passed(problem.tolerance()) {
        Ok(figures)
    } else {
        Err(CaseError::WrongOutput(figures.to_string()))
    }
}

/// About 4,000 elements spread over the output, with a stride that meets every row and column
/// of every tile sooner or later.
pub(super) fn some(problem: &dyn Problem) -> impl Iterator<Item = usize> + use<> {
    let count = problem.outputs();
    let stride = (count / 4096).max(1) | 1;
    (0..count).step_by(stride)
}

/// Runs the kernel once over a poisoned output and gives the output's bytes.
///
/// # Errors
/// Where the device could not run it.
pub fn run_once(device: &mut dyn Device, problem: &dyn Problem) -> Result<Vec<u8>, DeviceError> {
    let set = Set::new(device, problem)?;
    let result = set
        .poison(device, problem)
        .and_then(|()| device.launch(&set.launch))
        .and_then(|()| set.read(device, problem));
    set.free(device);
    result
}
