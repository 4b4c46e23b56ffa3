//! The operations that need a model, on the stand-in device.

use serde_json::{Value, json};

use super::tests::parsed;
use super::*;
use crate::device::host::Host;
use crate::model::cpu;

/// A model that is run within milliseconds.
fn options() -> HarnessOptions {
    HarnessOptions {
        model: ModelChoice::Synthetic(ModelShape {
            hidden: 256,
            ffn: 512,
            layers: 1,
            heads: 4,
            vocabulary: 300,
            positions: 160,
            prefill: 20,
            ..ModelShape::tiny()
        }),
        tile: Tile::Narrow,
    }
}

fn talk(device: &mut Host, options: &HarnessOptions, lines: &[Value]) -> Vec<Value> {
    let input: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let mut output = Vec::new();
    serve(
        input.as_bytes(),
        &mut output,
        Backend::Ready(device),
        options,
    )
    .expect("memory");
    parsed(output)
}

fn generate(id: u32, seed: u32) -> Value {
    json!({"id": id, "op": "generate", "tokens": 8, "seed": seed})
}

fn prefill(id: u32) -> Value {
    json!({"id": id, "op": "sample", "bench": "prefill", "warmup": 1, "inner": 3, "seed": 4})
}

#[test]
fn the_model_is_built_once_and_generates_the_same_again() {
    let mut device = cpu::host();
    let lines = [generate(1, 0), prefill(2), generate(3, 0), generate(4, 7)];
    let answers = talk(&mut device, &options(), &lines);
    assert!(
        answers.iter().all(|answer| answer["ok"] == true),
        "{answers:?}"
    );
    let tokens = |n: usize| answers[n]["tokens"].as_array().expect("tokens").clone();
    assert_eq!(tokens(0).len(), 8);
    assert_eq!(answers[0]["text"], "", "it has no vocabulary");
    assert_eq!(tokens(0), tokens(2));
    assert_ne!(tokens(0), tokens(3), "the prompt is the seed's");
    assert_eq!(device.launches("synthesise_q4k"), 2 + 7, "once a matrix");
    assert_eq!(device.live(), 0, "the model is given back at the end");
}

#[test]
fn a_prefill_is_in_tokens_a_second() {
    let answers = talk(&mut cpu::host(), &options(), &[prefill(1)]);
    let answer = &answers[0];
    assert_eq!(answer["unit"], "tok/s");
    assert_eq!(answer["inner"].as_array().map(Vec::len), Some(3));
    // 20 tokens over launches of 1000 us each.
    let launches = 20.0 / answer["value"].as_f64().expect("a number") / 1e-3;
    assert!(
        (launches - launches.round()).abs() < 1e-9 && launches > 20.0,
        "{launches}"
    );
    assert_eq!(answer["work"]["tokens"], 20);
    let ran = answer["ran"].as_object().expect("kernels");
    let timed: u64 = ran.values().filter_map(Value::as_u64).sum();
    assert!(
        timed as f64 >= 3.0 * launches,
        "three runs of the pass at least: {ran:?}"
    );
    let again = talk(&mut cpu::host(), &options(), &[prefill(1)]);
    assert_eq!(again[0], *answer);
}

#[test]
fn a_device_without_a_model_is_asked_for_no_memory() {
    let mut device = cpu::host();
    let lines = [json!({"id": 1, "op": "parity", "case": "add"})];
    assert_eq!(talk(&mut device, &options(), &lines)[0]["passed"], true);
    assert_eq!(device.launches("synthesise_q4k"), 0);
}

#[test]
fn what_the_model_cannot_do_is_answered_and_the_next_request_is_served() {
    let mut device = cpu::host();
    let lines = [
        json!({"id": 1, "op": "generate", "tokens": 0}),
        json!({"id": 2, "op": "generate", "tokens": 1_000_000}),
        generate(3, 0),
    ];
    let answers = talk(&mut device, &options(), &lines);
    for answer in &answers[..2] {
        assert_eq!(
            (&answer["ok"], &answer["fault"]),
            (&json!(false), &json!("input"))
        );
    }
    assert_eq!(answers[2]["ok"], true);
}

#[test]
fn a_model_that_does_not_fit_is_the_devices_fault() {
    let mut device = cpu::host().with_memory(100_000);
    let lines = [generate(1, 0), json!({"id": 2, "op": "hello"})];
    let answers = talk(&mut device, &options(), &lines);
    assert_eq!(answers[0]["fault"], "device");
    let error = answers[0]["error"].as_str().expect("a text");
    assert!(error.contains("bytes of device memory"), "{error}");
    assert_eq!(answers[1]["ok"], true, "the harness goes on");
}

#[test]
fn a_file_that_is_no_model_is_the_inputs_fault_with_its_cause() {
    let options = HarnessOptions {
        model: ModelChoice::Gguf("/no/such.gguf".into()),
        ..options()
    };
    let answer = &talk(&mut cpu::host(), &options, &[generate(1, 0)])[0];
    assert_eq!(answer["fault"], "input");
    let error = answer["error"].as_str().expect("a text");
    assert!(error.starts_with("loading /no/such.gguf: "), "{error}");
}

#[test]
fn logits_that_are_not_numbers_are_the_cases_fault() {
    let mut device = cpu::host().with("rms_norm", |call| {
        let n = call.geometry.grid[0] as usize * call.integer(0)?;
        call.write_floats(2, &vec![f32::NAN; n])
    });
    for request in [generate(1, 0), prefill(1)] {
        let answer = &talk(&mut device, &options(), &[request])[0];
        assert_eq!(answer["fault"], "case");
        let error = answer["error"].as_str().expect("a text");
        assert!(error.contains("is -1, not one of 300"), "{error}");
    }
}

/// After a fault the context is of no more use: the answer is the last one, and whoever asks next
/// has to start a new process.
#[test]
fn a_kernel_that_faults_ends_the_server_after_its_answer() {
    for request in [
        generate(1, 0),
        prefill(1),
        json!({"id": 1, "op": "parity", "case": "rope"}),
    ] {
        let mut device = cpu::host().with("rope", |_| {
            Err(DeviceError::KernelFailed {
                doing: "waiting for the device".to_owned(),
                reason: "an illegal memory access was encountered".to_owned(),
            })
        });
        let answers = talk(&mut device, &options(), &[request, generate(2, 0)]);
        assert_eq!(answers.len(), 1, "{answers:?}");
        assert_eq!(answers[0]["fault"], "case");
        let error = answers[0]["error"].as_str().expect("a text");
        assert!(error.contains("illegal memory access"), "{error}");
    }
}
