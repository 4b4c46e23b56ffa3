//! What a sample says about itself besides its value: the work, what came out, and which kernels
//! were launched. Told by the process that timed them; whether it is enough is not decided here.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::model::{ModelShape, Prefill, PrefillRequest};
use crate::standalone::{Problem, Timing, sha256};

/// The facts of a sample, as the protocol names them.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub(super) struct Facts {
    /// What was computed: equal for both halves of a pair, whatever the kernels are.
    work: BTreeMap<&'static str, Value>,
    /// SHA-256 of the output of the timed runs.
    output: String,
    /// Launches of the timed runs by kernel.
    ran: BTreeMap<&'static str, u64>,
}

/// Of one kernel that was timed.
pub(super) fn of_kernel(problem: &dyn Problem, request: PrefillRequest, timing: &Timing) -> Facts {
    let inputs = problem.inputs();
    let scalars: Vec<String> = problem.scalars().iter().map(|s| format!("{s:?}")).collect();
    Facts {
        work: BTreeMap::from([
            ("seed", json!(request.seed)),
            ("inputs", json!(sha256(&inputs))),
            (
                "input_bytes",
                json!(inputs.iter().map(|i| i.len()).sum::<usize>()),
            ),
            ("outputs", json!(problem.outputs())),
            ("scalars", json!(scalars.join(" "))),
        ]),
        output: timing.output.clone(),
        ran: BTreeMap::from([(problem.kernel(), timing.timed_launches)]),
    }
}

/// Of the whole stack's prefill.
pub(super) fn of_prefill(shape: &ModelShape, request: PrefillRequest, prefill: &Prefill) -> Facts {
    Facts {
        work: BTreeMap::from([
            ("seed", json!(request.seed)),
            ("model", json!(shape.name)),
            ("tokens", json!(shape.prefill)),
            ("layers", json!(shape.layers)),
            ("hidden", json!(shape.hidden)),
            ("vocabulary", json!(shape.vocabulary)),
        ]),
        output: prefill.output.clone(),
        ran: prefill.ran.clone(),
    }
}
