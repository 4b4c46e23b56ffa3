//! Devices and weights that fail.

use super::*;
use crate::device::{Device, DeviceError, Fault};

fn build(device: &mut Host) -> Result<Stack, ModelError> {
    Stack::new(device, &mut synthetic(small()), Tile::Wide8)
}

fn run(device: &mut Host) -> Result<Vec<i32>, ModelError> {
    let mut stack = build(device)?;
    let prompt = prompt(1, 20, stack.shape().vocabulary);
    stack.generate(device, &prompt, 4)
}

#[test]
fn a_model_that_does_not_fit_says_how_large_it_is() {
    let needed = needed_bytes(&synthetic(small())).expect("it is right");
    for memory in [needed - 1, needed / 2] {
        let mut device = cpu::host().with_memory(memory);
        let error = build(&mut device).expect_err("it does not fit");
        let text = error.to_string();
        assert!(text.contains(&format!("needs {needed} bytes")), "{text}");
        assert_eq!(error.fault(), Fault::Device);
        assert_eq!((device.live(), device.launches("synthesise_q4k")), (0, 0));
    }
    assert!(build(&mut cpu::host().with_memory(needed)).is_ok());
}

#[test]
fn memory_that_others_hold_is_missed_before_anything_is_filled() {
    let needed = needed_bytes(&synthetic(small())).expect("it is right");
    let mut device = cpu::host().with_memory(needed + 999);
    device.allocate(1000).expect("there is room");
    let error = build(&mut device).expect_err("it does not fit").to_string();
    assert!(error.contains(&format!("needs {needed} bytes")), "{error}");
    assert!(error.contains("cannot be allocated"), "{error}");
    assert_eq!((device.live(), device.launches("synthesise_q4k")), (1, 0));
}

#[test]
fn a_missing_kernel_is_named_before_anything_is_filled() {
    let kernels = [
        "mmq_wide_kd8",
        "matvec_q4k",
        "attention_decode_hd64",
        "argmax",
    ];
    for kernel in kernels {
        let mut device = cpu::host().without(kernel);
        let error = build(&mut device).expect_err("it is missing");
        assert!(error.to_string().contains(kernel), "{error}");
        assert_eq!(error.fault(), Fault::Case);
        assert_eq!((device.live(), device.launches("synthesise_q4k")), (0, 0));
    }
}

#[test]
fn a_nan_anywhere_ends_in_an_error_and_not_in_a_token() {
    use LayerTensor as L;
    let names = [
        TensorName::FinalNorm,
        TensorName::Layer(0, L::AttnNorm),
        TensorName::Layer(1, L::FfnNorm),
    ];
    for name in names {
        let mut device = cpu::host();
        let mut stack = build(&mut device).expect("it is built");
        let norm = stack.weights().find(name).expect("it has it");
        let nan = f32::NAN.to_le_bytes();
        device.content(norm.buffer).expect("it is there")[12..16].copy_from_slice(&nan);
        let prompt = prompt(1, 20, stack.shape().vocabulary);
        let error = stack.generate(&mut device, &prompt, 4).expect_err("NaN");
        assert!(
            matches!(
                error,
                ModelError::NoToken {
                    number: 1,
                    token: -1,
                    ..
                }
            ),
            "{name}: {error}"
        );
        assert_eq!(error.fault(), Fault::Case);
    }
}

#[test]
fn a_kernel_that_does_nothing_ends_in_an_error() {
    for kernel in [
        "embed_q4k",
        "rms_norm",
        "quantise_q8",
        "mmq_wide_kd8",
        "attention_hd64",
        "matvec_q4k",
        "argmax",
    ] {
        let error = run(&mut cpu::host().with(kernel, |_| Ok(()))).expect_err(kernel);
        assert!(
            matches!(error, ModelError::NoToken { .. }),
            "{kernel}: {error}"
        );
    }
}

#[test]
fn a_kernel_that_faults_is_the_cases_fault_and_loses_the_device() {
    let fault = || DeviceError::KernelFailed {
        doing: "waiting for the device".to_owned(),
        reason: "an illegal memory access was encountered".to_owned(),
    };
    let error = run(&mut cpu::host().with("rope", move |_| Err(fault()))).expect_err("it faults");
    assert!(error.loses_device());
    assert_eq!(error.fault(), Fault::Case);
}

#[test]
fn what_does_not_fit_the_model_is_the_inputs_fault() {
    let mut device = cpu::host();
    let mut stack = build(&mut device).expect("it is built");
    let refused: [(&[i32], usize); 5] = [(&[], 4), (&[1], 0), (&[1], 128), (&[300], 4), (&[-1], 4)];
    for (prompt, count) in refused {
        let error = stack.generate(&mut device, prompt, count).expect_err("no");
        assert_eq!(error.fault(), Fault::Input, "{error}");
    }
    assert!(stack.generate(&mut device, &[1], 127).is_ok());
}

/// A source that promises one thing and gives another.
struct Liar(Synthetic);

impl TensorSource for Liar {
    fn shape(&self) -> &ModelShape {
        self.0.shape()
    }

    fn format(&self, name: TensorName) -> Result<Format, SourceError> {
        self.0.format(name)
    }

    fn tensor(&mut self, name: TensorName) -> Result<Tensor, SourceError> {
        match name {
            TensorName::Head => Ok(Tensor::Q4K(vec![0; 144])),
            name => self.0.tensor(name),
        }
    }
}

#[test]
fn a_tensor_that_is_not_what_was_promised_is_named() {
    let mut device = cpu::host();
    let error = Stack::new(&mut device, &mut Liar(synthetic(small())), Tile::Wide8);
    let error = error.expect_err("the head is short");
    assert!(
        error
            .to_string()
            .starts_with("filling tensor output.weight: 144 bytes came"),
        "{error}"
    );
    assert_eq!(device.live(), 0);
}

const REQUEST: PrefillRequest = PrefillRequest {
    seed: 3,
    warmup: 1,
    inner: 3,
};

#[test]
fn a_prefill_is_tokens_a_second_over_all_its_launches() {
    let mut device = cpu::host();
    let stack = build(&mut device).expect("it is built");
    let sample = stack.sample_prefill(&mut device, REQUEST).expect("it runs");
    // The stand-in takes 1000 us a launch.
    let wanted = 64.0 / (sample.launches as f64 * 1e-3);
    assert!((sample.value - wanted).abs() < 1e-9, "{}", sample.value);
    assert_eq!(sample.inner.len(), 3);
    assert_eq!(
        stack.prefill_once(&mut device, 3).expect("it runs"),
        sample.token
    );
}

#[test]
fn timed_runs_that_end_in_something_else_give_no_sample() {
    let mut calls = 0;
    let mut device = cpu::host().with("argmax", move |call| {
        calls += 1;
        call.write(1, &i32::from(calls > 4).to_le_bytes())
    });
    let stack = build(&mut device).expect("it is built");
    let error = stack
        .sample_prefill(&mut device, REQUEST)
        .expect_err("it changes");
    assert!(
        matches!(
            error,
            ModelError::WrongOutput {
                timed: 1,
                untimed: 0
            }
        ),
        "{error}"
    );
}

#[test]
fn an_impossible_prefill_gives_no_sample() {
    let mut device = cpu::host();
    device.launch_us = 1e-6;
    let shape = ModelShape {
        prefill: 4,
        ..small()
    };
    let stack = Stack::new(&mut device, &mut synthetic(shape), Tile::Wide8);
    let stack = stack.expect("it is built");
    let error = stack
        .sample_prefill(&mut device, REQUEST)
        .expect_err("too fast");
    assert!(error.to_string().contains("impossible"), "{error}");
    assert_eq!(error.fault(), Fault::Case);
}
