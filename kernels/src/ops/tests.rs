//! The references against kernels that were written apart from them, and against known values.

use super::reference;
use crate::catalogue::{PARITY, find};
use crate::device::DeviceError;
use crate::device::host::{Host, Invocation};
use crate::model::cpu;
use crate::standalone::{Figures, Problem, parity};

/// The parity cases whose kernels the stand-in device has.
fn cases() -> impl Iterator<Item = (&'static str, Box<dyn Problem>)> {
    let demo = ["ldsm_check", "scale_read"];
    let cases = PARITY.iter().filter(move |case| !demo.contains(&case.name));
    cases.map(|case| (case.name, case.problem(1)))
}

fn check(device: &mut Host, problem: &dyn Problem) -> (Figures, bool) {
    let figures = parity(device, problem).expect("the stand-in has the kernel");
    (figures, figures.passed(problem.tolerance()))
}

#[test]
fn the_stand_ins_kernels_compute_what_the_references_do() {
    for (name, problem) in cases() {
        let (figures, passed) = check(&mut cpu::host(), problem.as_ref());
        assert!(passed, "{name}: {figures}");
    }
}

/// Changes one element of the output of a kernel that is otherwise right.
fn spoiled(kernel: &'static str, output: usize, element: usize) -> Host {
    let mut right = cpu::host().take(kernel).expect("it has it");
    let spoil = move |call: &mut Invocation<'_>| -> Result<(), DeviceError> {
        right(call)?;
        let mut bytes = call.bytes(output)?.to_vec();
        let value = f32::from_le_bytes([
            bytes[element * 4],
            bytes[element * 4 + 1],
            bytes[element * 4 + 2],
            bytes[element * 4 + 3],
        ]);
        let off = value * 1.01 + 1e-3;
        bytes[element * 4..][..4].copy_from_slice(&off.to_le_bytes());
        call.write(output, &bytes)
    };
    cpu::host().with(kernel, spoil)
}

#[test]
fn one_element_that_is_a_hundredth_off_is_found() {
    for (name, output) in [
        ("embed", 2),
        ("rms_norm", 2),
        ("rope", 2),
        ("attention ragged", 3),
        ("attention decode", 3),
        ("swiglu", 2),
        ("geglu", 2),
        ("add", 2),
        ("matvec ragged", 2),
        ("matmul f32", 2),
    ] {
        let problem = find(PARITY, name).expect("it is there").problem(2);
        let mut device = spoiled(problem.kernel(), output, problem.outputs() - 7);
        let (figures, passed) = check(&mut device, problem.as_ref());
        assert!(!passed, "{name}: {figures}");
    }
}

#[test]
fn seeds_give_the_same_operands_again_and_others_others() {
    for case in PARITY.iter() {
        let [a, b, c] = [5, 5, 6].map(|seed| case.problem(seed));
        assert_eq!(a.inputs(), b.inputs(), "{}", case.name);
        for (a, c) in a.inputs().iter().zip(c.inputs()) {
            // A table of rotations has no seed.
            assert!(*a != c || case.name.starts_with("rope"), "{}", case.name);
        }
    }
}

#[test]
fn gates_have_known_values() {
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-6, "{a} {b}");
    close(reference::swiglu(1.0, 2.0), 2.0 * 0.731_058_578);
    close(reference::swiglu(-40.0, 3.0), 0.0);
    close(reference::geglu(1.0, 1.0), 0.841_191_990);
    close(reference::geglu(-1.0, 2.0), -2.0 * 0.158_808_010);
    close(reference::geglu(30.0, 1.0), 30.0);
}

#[test]
fn the_largest_is_the_first_of_equals_and_nan_is_none() {
    assert_eq!(reference::argmax(&[1.0, 3.0, -2.0, 3.0]), 1);
    assert_eq!(reference::argmax(&[f64::NEG_INFINITY; 3]), 0);
    assert_eq!(reference::argmax(&[1.0, f64::NAN]), -1);
    assert_eq!(reference::argmax(&[]), -1);
}
