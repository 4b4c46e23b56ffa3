//! The protocol's lines as types. Unknown fields of a request are ignored; missing ones are errors.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::facts::Facts;
use crate::device::{DeviceError, Fault};
use crate::model::ModelError;
use crate::standalone::{CaseError, Figures as Compared, Tolerance};

/// A request, without its id.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub(super) enum Request {
    Hello,
    Parity {
        case: String,
    },
    Generate {
        tokens: u32,
        #[serde(default)]
        seed: u64,
    },
    Sample {
        bench: String,
        warmup: u32,
        inner: u32,
        #[serde(default)]
        seed: u64,
    },
    Bye,
}

const OPS: [&str; 5] = ["hello", "parity", "generate", "sample", "bye"];

/// A request that was not served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unserved {
    pub(super) error: String,
    pub(super) fault: Fault,
    /// Whether this process can do no more.
    pub(super) device_lost: bool,
}

impl Unserved {
    pub(super) fn input(error: impl Into<String>) -> Self {
        Unserved {
            error: error.into(),
            fault: Fault::Input,
            device_lost: false,
        }
    }
}

impl From<CaseError> for Unserved {
    fn from(error: CaseError) -> Self {
        Unserved {
            fault: error.fault(),
            device_lost: matches!(&error, CaseError::Device(e) if e.loses_device()),
            error: with_causes(&error),
        }
    }
}

impl From<ModelError> for Unserved {
    fn from(error: ModelError) -> Self {
        Unserved {
            fault: error.fault(),
            device_lost: error.loses_device(),
            error: with_causes(&error),
        }
    }
}

/// A device that could not be opened is not lost: it is told to everyone who asks.
impl From<&DeviceError> for Unserved {
    fn from(error: &DeviceError) -> Self {
        Unserved {
            fault: error.fault(),
            device_lost: false,
            error: with_causes(error),
        }
    }
}

/// An error's message with those of what caused it.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    text
}

/// Reads a line: the id, as far as there is one, and the request.
pub(super) fn parse(line: &str) -> (Option<u64>, Result<Request, Unserved>) {
    let value: Value = match serde_json::from_str(line) {
        Ok(value) => value,
        Err(error) => {
            let text = format!("the request is not JSON: {error}");
            return (None, Err(Unserved::input(text)));
        }
    };
    let Some(id) = value.get("id").and_then(Value::as_u64) else {
        let text = "a request has an `id`, a whole number";
        return (None, Err(Unserved::input(text)));
    };
    (Some(id), request(value))
}

fn request(value: Value) -> Result<Request, Unserved> {
    let op = value.get("op").and_then(Value::as_str).map(str::to_owned);
    match op {
        Some(op) if OPS.contains(&op.as_str()) => serde_json::from_value(value)
            .map_err(|error| Unserved::input(format!("request `{op}`: {error}"))),
        Some(op) => Err(Unserved::input(format!(
            "unknown op `{op}`; known are: {}",
            OPS.join(", ")
        ))),
        None => Err(Unserved::input("a request has an `op`, a text")),
    }
}

/// A line of output.
#[derive(Debug, Serialize)]
pub(super) struct Reply {
    id: Option<u64>,
    ok: bool,
    #[serde(flatten)]
    body: Body,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Body {
    Answer(Answer),
    Error { error: String, fault: Fault },
}

impl Reply {
    pub(super) fn ok(id: Option<u64>, answer: Answer) -> Self {
        Reply {
            id,
            ok: true,
            body: Body::Answer(answer),
        }
    }

    pub(super) fn error(id: Option<u64>, unserved: &Unserved) -> Self {
        Reply {
            id,
            ok: false,
            body: Body::Error {
                error: unserved.error.clone(),
                fault: unserved.fault,
            },
        }
    }
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Answer {
    Hello {
        protocol: u32,
        name: String,
        cases: Vec<&'static str>,
        benches: Vec<BenchName>,
    },
    Parity {
        passed: bool,
        figures: Figures,
    },
    Generate {
        tokens: Vec<i32>,
        /// Empty where the model has no vocabulary.
        text: String,
    },
    Sample {
        unit: &'static str,
        value: f64,
        inner: Vec<f64>,
        #[serde(flatten)]
        facts: Facts,
    },
    Bye {},
}

impl Answer {
    pub(super) fn parity(figures: &Compared, tolerance: Tolerance) -> Answer {
        Answer::Parity {
            passed: figures.passed(tolerance),
            figures: Figures {
                nmse: figures.nmse,
                max_abs: figures.max_abs,
                mismatches: figures.mismatches as f64,
                non_finite: figures.non_finite as f64,
                compared: figures.compared as f64,
            },
        }
    }
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct BenchName {
    pub(super) name: &'static str,
    pub(super) unit: &'static str,
}

/// All finite: JSON has no other numbers.
#[derive(Debug, Serialize)]
pub(super) struct Figures {
    pub(super) nmse: f64,
    pub(super) max_abs: f64,
    pub(super) mismatches: f64,
    pub(super) non_finite: f64,
    pub(super) compared: f64,
}
