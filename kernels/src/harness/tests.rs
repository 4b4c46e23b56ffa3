//! The server as the runner sees it: lines in, lines out, on a device that runs closures.

use serde_json::{Value, json};

use super::*;
use crate::device::host::{Host, Invocation};

/// Computes `ldsm_check` from the buffers, block by block and chunk by chunk as the kernel does,
/// independently of the case's own reference.
fn ldsm_check(call: &mut Invocation<'_>) -> Result<(), DeviceError> {
    let (k, ods) = (call.integer(0)?, call.integer(1)?);
    let [tiles, od_tiles, _] = call.geometry.grid;
    assert_eq!(od_tiles as usize * 64, ods);
    let (acts, weights) = (call.bytes(0)?, call.bytes(1)?);
    let mut sums = vec![0i32; tiles as usize * 128 * ods];
    for chunk in 0..k / 32 {
        for token in 0..tiles as usize * 128 {
            let act = &acts[token * k + chunk * 32..][..32];
            for od in 0..ods {
                let weight = &weights[od * k + chunk * 32..][..32];
                let dot = act.iter().zip(weight);
                sums[token * ods + od] += dot
                    .map(|(a, w)| i32::from(*a as i8) * i32::from(*w as i8))
                    .sum::<i32>();
            }
        }
    }
    let bytes: Vec<u8> = sums.iter().flat_map(|s| s.to_le_bytes()).collect();
    call.write(2, &bytes)
}

fn talk(backend: Backend<'_>, lines: &[Value]) -> Vec<Value> {
    let input: String = lines.iter().map(|line| format!("{line}\n")).collect();
    talk_raw(backend, input.as_bytes())
}

fn talk_raw(backend: Backend<'_>, input: &[u8]) -> Vec<Value> {
    let mut output = Vec::new();
    let options = HarnessOptions::default();
    serve(input, &mut output, backend, &options).expect("memory does not fail");
    parsed(output)
}

/// The answers of a server.
pub(super) fn parsed(output: Vec<u8>) -> Vec<Value> {
    let text = String::from_utf8(output).expect("answers are UTF-8");
    let parse = |line| serde_json::from_str(line).expect("every line is JSON");
    text.lines().map(parse).collect()
}

#[test]
fn hello_names_cases_and_benches() {
    let mut device = Host::new();
    let answers = talk(
        Backend::Ready(&mut device),
        &[json!({"id": 1, "op": "hello"})],
    );
    assert_eq!(
        answers,
        [json!({
            "id": 1, "ok": true, "protocol": 1,
            "name": "roundhouse sample kernels: host",
            "cases": [
                "ldsm_check", "scale_read", "quantise",
                "mmq KD=4", "mmq KD=4 ragged", "mmq KD=8", "mmq KD=8 ragged",
                "mmq NB", "mmq NB ragged",
                "weights", "embed", "embed f32", "rms_norm", "rope", "rope interleaved",
                "attention", "attention ragged", "attention window",
                "attention decode", "attention decode hd64", "attention decode window",
                "swiglu", "geglu", "add", "matvec", "matvec ragged", "matmul f32",
                "argmax", "argmax negative", "argmax nan",
            ],
            "benches": [
                {"name": "ldsm_check", "unit": "us"}, {"name": "scale_read", "unit": "us"},
                {"name": "quantise", "unit": "us"}, {"name": "q_proj KD=4", "unit": "us"},
                {"name": "q_proj KD=8", "unit": "us"}, {"name": "q_proj NB", "unit": "us"},
                {"name": "matvec", "unit": "us"}, {"name": "attention", "unit": "us"},
                {"name": "prefill", "unit": "tok/s"},
            ],
        })]
    );
}

#[test]
fn parity_passes_for_a_kernel_that_computes_the_product() {
    let mut device = Host::new().with("ldsm_check", ldsm_check);
    let request = json!({"id": 2, "op": "parity", "case": "ldsm_check", "hint": "ignored"});
    let answers = talk(Backend::Ready(&mut device), &[request]);
    assert_eq!(
        answers,
        [json!({"id": 2, "ok": true, "passed": true, "figures": {
            "nmse": 0.0, "max_abs": 0.0, "mismatches": 0.0, "non_finite": 0.0,
            "compared": 256.0 * 128.0,
        }})]
    );
    assert_eq!(device.live(), 0, "nothing stays allocated");
}

#[test]
fn one_wrong_output_fails_parity() {
    let mut device = Host::new().with("ldsm_check", |call| {
        ldsm_check(call)?;
        let mut output = call.bytes(2)?.to_vec();
        output[4000] ^= 1;
        call.write(2, &output)
    });
    let request = json!({"id": 2, "op": "parity", "case": "ldsm_check"});
    let answer = &talk(Backend::Ready(&mut device), &[request])[0];
    assert_eq!(answer["ok"], true);
    assert_eq!(answer["passed"], false);
    assert_eq!(answer["figures"]["mismatches"], 1.0);
}

#[test]
fn a_kernel_that_writes_nothing_leaves_poison_that_is_no_number() {
    let mut device = Host::new().with("scale_read", |_| Ok(()));
    let request = json!({"id": 3, "op": "parity", "case": "scale_read"});
    let answer = &talk(Backend::Ready(&mut device), &[request])[0];
    assert_eq!(answer["passed"], false);
    assert_eq!(answer["figures"]["nmse"], f64::MAX, "a number, not null");
    assert_eq!(
        answer["figures"]["non_finite"],
        answer["figures"]["compared"]
    );
}

#[test]
fn a_sample_is_the_median_of_inner_runs_whose_output_was_verified() {
    let mut device = Host::new().with("ldsm_check", fast_ldsm_check());
    let request =
        json!({"id": 4, "op": "sample", "bench": "ldsm_check", "warmup": 1, "inner": 3, "seed": 9});
    let answer = &talk(Backend::Ready(&mut device), std::slice::from_ref(&request))[0];
    let mut told = answer.clone();
    let told = told.as_object_mut().expect("an object");
    let facts = ["work", "output", "ran"].map(|key| told.remove(key).expect(key));
    assert_eq!(
        json!(told),
        json!({"id": 4, "ok": true, "unit": "us", "value": 1000.0, "inner": [1000.0, 1000.0, 1000.0]})
    );
    assert_eq!(facts[0]["seed"], 9);
    // Two sets, three inner runs of one round each.
    assert_eq!(facts[2], json!({"ldsm_check": 6}));
    let of_seed = |seed: u32| {
        let mut device = Host::new().with("ldsm_check", fast_ldsm_check());
        let mut request = request.clone();
        request["seed"] = json!(seed);
        talk(Backend::Ready(&mut device), &[request]).remove(0)
    };
    assert_eq!(
        of_seed(9),
        *answer,
        "the same seed, the same work and output"
    );
    let other = of_seed(8);
    assert_ne!(other["work"]["inputs"], facts[0]["inputs"]);
    assert_ne!(other["output"], facts[1]);
    // Two sets: twice to learn how long a launch takes, once to warm up, three times timed.
    assert_eq!(device.launches("ldsm_check"), 2 * (2 + 1 + 3));
    assert_eq!(device.live(), 0);
}

/// At the bench's size the product is too much for a debug build: compute each set's output once
/// and copy it afterwards.
fn fast_ldsm_check() -> impl FnMut(&mut Invocation<'_>) -> Result<(), DeviceError> {
    let mut known: Option<Vec<u8>> = None;
    move |call| {
        if known.is_none() {
            known = Some(sampled_ldsm_check(call)?);
        }
        call.write(2, known.as_deref().unwrap_or_default())
    }
}

/// Right where samples are verified, zero elsewhere.
fn sampled_ldsm_check(call: &Invocation<'_>) -> Result<Vec<u8>, DeviceError> {
    let (k, ods) = (call.integer(0)?, call.integer(1)?);
    let outputs = call.bytes(2)?.len() / 4;
    let (acts, weights) = (call.bytes(0)?, call.bytes(1)?);
    let mut sums = vec![0i32; outputs];
    for n in (0..outputs).step_by((outputs / 4096) | 1) {
        let (token, od) = (n / ods, n % ods);
        let value = |bytes: &[u8], at: usize| i32::from(bytes[at] as i8);
        sums[n] = (0..k)
            .map(|i| value(acts, token * k + i) * value(weights, od * k + i))
            .sum();
    }
    Ok(sums.iter().flat_map(|s| s.to_le_bytes()).collect())
}

#[test]
fn a_kernel_that_does_nothing_gives_no_sample() {
    let mut device = Host::new().with("ldsm_check", |_| Ok(()));
    let request = json!({"id": 4, "op": "sample", "bench": "ldsm_check", "warmup": 0, "inner": 1});
    let answer = &talk(Backend::Ready(&mut device), &[request])[0];
    assert_eq!(answer["ok"], false);
    assert_eq!(answer["fault"], "case");
    let error = answer["error"].as_str().expect("a text");
    assert!(
        error.contains("the output of the timed runs is wrong"),
        "{error}"
    );
    assert_eq!(device.live(), 0);
}

#[test]
fn an_impossible_time_gives_no_sample() {
    let mut device = Host::new().with("ldsm_check", fast_ldsm_check());
    device.launch_us = 0.001;
    let request = json!({"id": 4, "op": "sample", "bench": "ldsm_check", "warmup": 0, "inner": 1});
    let answer = &talk(Backend::Ready(&mut device), &[request])[0];
    assert_eq!(answer["fault"], "case");
    assert!(
        answer["error"]
            .as_str()
            .is_some_and(|e| e.contains("impossible"))
    );
}

#[test]
fn a_faulting_kernel_is_the_cases_fault_and_frees_its_buffers() {
    let mut device = Host::new().with("ldsm_check", |_| {
        Err(DeviceError::KernelFailed {
            doing: "waiting for the device".to_owned(),
            reason: "an illegal memory access was encountered".to_owned(),
        })
    });
    for request in [
        json!({"id": 1, "op": "parity", "case": "ldsm_check"}),
        json!({"id": 1, "op": "sample", "bench": "ldsm_check", "warmup": 0, "inner": 1}),
    ] {
        let answer = &talk(Backend::Ready(&mut device), &[request])[0];
        assert_eq!(answer["fault"], "case");
        assert!(
            answer["error"]
                .as_str()
                .is_some_and(|e| e.contains("illegal memory"))
        );
        assert_eq!(device.live(), 0);
    }
}

#[test]
fn requests_that_cannot_be_served_are_the_inputs_fault_and_do_not_end_the_server() {
    let mut device = Host::new();
    let input = concat!(
        "not json\n",
        "{\"op\":\"hello\"}\n",
        "{\"id\":3}\n",
        "{\"id\":4,\"op\":\"dance\"}\n",
        "{\"id\":5,\"op\":\"parity\"}\n",
        "{\"id\":6,\"op\":\"parity\",\"case\":\"KD=4\"}\n",
        "{\"id\":7,\"op\":\"sample\",\"bench\":\"pre\",\"warmup\":0,\"inner\":1}\n",
        "{\"id\":8,\"op\":\"sample\",\"bench\":\"ldsm_check\",\"warmup\":0,\"inner\":0}\n",
        "\n",
        "{\"id\":9,\"op\":\"bye\"}\n",
        "{\"id\":10,\"op\":\"hello\"}\n",
    );
    let answers = talk_raw(Backend::Ready(&mut device), input.as_bytes());
    let errors = [
        (json!(null), "not JSON"),
        (json!(null), "`id`"),
        (json!(3), "`op`"),
        (json!(4), "unknown op `dance`; known are: hello"),
        (json!(5), "missing field `case`"),
        (
            json!(6),
            "no case `KD=4`; there are: ldsm_check, scale_read",
        ),
        (json!(7), "no bench `pre`; there are: ldsm_check"),
        (json!(8), "inner is 1 to"),
    ];
    assert_eq!(
        answers.len(),
        errors.len() + 1,
        "nothing is answered after bye"
    );
    for ((id, part), answer) in errors.iter().zip(&answers) {
        assert_eq!(answer["id"], *id);
        assert_eq!(answer["ok"], false);
        assert_eq!(answer["fault"], "input");
        let error = answer["error"].as_str().expect("a text");
        assert!(error.contains(part), "{error}");
    }
    assert_eq!(answers[8], json!({"id": 9, "ok": true}));
}

#[test]
fn an_endless_line_is_refused_without_being_kept() {
    let mut device = Host::new();
    let mut input = vec![b'x'; 3 * LONGEST_LINE as usize];
    input.extend_from_slice(b"\n{\"id\":1,\"op\":\"bye\"}\n");
    let answers = talk_raw(Backend::Ready(&mut device), &input);
    assert!(
        answers[0]["error"]
            .as_str()
            .is_some_and(|e| e.contains("at most"))
    );
    assert_eq!(answers[1]["ok"], true);
}

#[test]
fn a_missing_kernel_is_the_cases_fault() {
    let mut device = Host::new();
    let request = json!({"id": 1, "op": "parity", "case": "scale_read"});
    let answer = &talk(Backend::Ready(&mut device), &[request])[0];
    assert_eq!(answer["fault"], "case");
    assert!(
        answer["error"]
            .as_str()
            .is_some_and(|e| e.contains("no kernel `scale_read`"))
    );
}

#[test]
fn without_a_device_it_lists_what_there_is_and_says_why_it_cannot() {
    let error = DeviceError::NoDriver(crate::device::NoDriver {
        reason: "libcuda is not on this machine".to_owned(),
    });
    let answers = talk(
        Backend::Broken(error),
        &[
            json!({"id": 1, "op": "hello"}),
            json!({"id": 2, "op": "parity", "case": "add"}),
            json!({"id": 3, "op": "bye"}),
        ],
    );
    let why = "no CUDA device: libcuda is not on this machine";
    assert_eq!(
        answers[0]["name"],
        format!("roundhouse sample kernels: {why}")
    );
    assert!(answers[0]["cases"].as_array().is_some_and(|c| c.len() > 20));
    assert_eq!(
        answers[1],
        json!({"id": 2, "ok": false, "fault": "device", "error": why})
    );
    assert_eq!(answers[2]["ok"], true);
}

#[test]
fn images_for_other_devices_are_passed_over_but_one_must_fit() {
    let images = |list: &[&[u8]]| {
        let mut device = Host::new();
        load_images(&mut device, list.iter().map(|i| i.to_vec()))
    };
    assert!(images(&[Host::OTHER_IMAGE, Host::IMAGE]).is_ok());
    assert!(matches!(
        images(&[Host::OTHER_IMAGE]),
        Err(DeviceError::WrongArch { .. })
    ));
    assert!(matches!(images(&[]), Err(DeviceError::WrongArch { .. })));
    assert!(matches!(images(&[b"junk"]), Err(DeviceError::BadImage(_))));
}
