//! The kernels of a transformer around the matrix products, as problems for a device: operands
//! from a seed, references in f64, and the launches that the [`model`](crate::model) is made of.
//!
//! [`call`] says how a kernel is launched, [`mod@reference`] what it must compute. Nothing here knows
//! a model, and nothing runs: that is [`standalone`](crate::standalone)'s.

mod attend;
pub mod call;
mod element;
mod matrix;
pub mod reference;

use crate::device::{Geometry, Scalar};
use crate::standalone::{Problem, Tolerance, data};
use call::Call;

pub use attend::{attention, rope};
pub use element::{Argmax, argmax, pairwise, rms_norm};
pub use matrix::{MATVEC_BENCH, embed, matmul_f32, matvec, weights};

/// NMSE of f32 arithmetic of these depths, the exponential's 3e-7 included, is below 1e-12; a
/// misplaced value or a wrong position gives more than 1e-6.
const MAX_NMSE: f64 = 1e-11;

/// What an output element is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Element {
    F32,
    I32,
    U32,
}

/// A kernel of the transformer with its operands and its reference.
pub struct Op {
    call: Call,
    inputs: Vec<Vec<u8>>,
    outputs: usize,
    element: Element,
    tolerance: Tolerance,
    multiplications: u64,
    moved_bytes: u64,
    expected: Box<dyn Fn(usize) -> f64>,
}

impl Op {
    /// An f32 kernel whose output is compared with `expected`, all of it.
    fn floats(call: Call, inputs: Vec<Vec<u8>>, expected: Vec<f64>) -> Op {
        let outputs = expected.len();
        let expected = move |n: usize| expected.get(n).copied().unwrap_or(f64::NAN);
        Op::lazy(call, inputs, outputs, expected)
    }

    /// The same with a reference that is computed element by element.
    fn lazy(
        call: Call,
        inputs: Vec<Vec<u8>>,
        outputs: usize,
        expected: impl Fn(usize) -> f64 + 'static,
    ) -> Op {
        Op {
            call,
            inputs,
            outputs,
            element: Element::F32,
            tolerance: Tolerance::Nmse(MAX_NMSE),
            multiplications: 0,
            moved_bytes: 0,
            expected: Box::new(expected),
        }
    }

    fn exact(mut self, element: Element) -> Op {
        self.element = element;
        self.tolerance = Tolerance::Exact;
        self
    }
}

impl Problem for Op {
    fn kernel(&self) -> &'static str {
        self.call.kernel
    }

    fn inputs(&self) -> Vec<&[u8]> {
        self.inputs.iter().map(Vec::as_slice).collect()
    }

    fn outputs(&self) -> usize {
        self.outputs
    }

    fn scalars(&self) -> Vec<Scalar> {
        self.call.scalars.clone()
    }

    fn geometry(&self) -> Geometry {
        self.call.geometry
    }

    fn expected(&self, n: usize) -> f64 {
        (self.expected)(n)
    }

    fn decode(&self, bytes: [u8; 4]) -> f64 {
        match self.element {
            Element::F32 => data::float(bytes),
            Element::I32 => f64::from(i32::from_le_bytes(bytes)),
            Element::U32 => f64::from(u32::from_le_bytes(bytes)),
        }
    }

    fn tolerance(&self) -> Tolerance {
        self.tolerance
    }

    fn multiplications(&self) -> u64 {
        self.multiplications
    }

    fn moved_bytes(&self) -> u64 {
        self.moved_bytes
    }
}

/// f32 values as the references take them.
fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().copied().map(f64::from).collect()
}

#[cfg(test)]
mod tests;
