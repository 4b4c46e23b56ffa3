//! The client's side of the harness protocol, version 1 (`docs/harness-protocol.md`): one JSON
//! line asks, one JSON line answers. It holds no opinion on the numbers it is given.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::judge::shortened;
use crate::model::{Facts, Failure};
use crate::process::{Finished, HarnessSession};

/// The protocol's version that this client speaks.
pub const PROTOCOL: u32 = 1;

/// How long a harness may take to end after `bye`; freeing a large model takes its time.
const FAREWELL: Duration = Duration::from_secs(60);

/// Whom a harness holds responsible for an error that it reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Blame {
    /// The code under test.
    Case,
    /// The device.
    Device,
    /// The request: an unknown operation, case or bench.
    Input,
}

impl Blame {
    fn word(self) -> &'static str {
        match self {
            Blame::Case => "case",
            Blame::Device => "device",
            Blame::Input => "input",
        }
    }
}

/// Why a request got no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HarnessError {
    /// The process or the protocol failed; the session is of no further use.
    #[error("the harness did not answer `{op}`")]
    Broken {
        /// What was asked.
        op: &'static str,
        /// What went wrong.
        failure: Failure,
    },
    /// The harness answered that it could not.
    #[error("the harness refused `{op}`: {message}")]
    Refused {
        /// What was asked.
        op: &'static str,
        /// Whom it holds responsible.
        blame: Blame,
        /// What it said.
        message: String,
    },
}

impl HarnessError {
    /// The failure to record.
    pub fn into_failure(self) -> Failure {
        match self {
            HarnessError::Broken { failure, .. } => failure,
            HarnessError::Refused {
                blame: Blame::Device,
                message,
                ..
            } => Failure::Device { message },
            HarnessError::Refused { op, blame, message } => Failure::Harness {
                message: format!("`{op}` refused, {} at fault: {message}", blame.word()),
            },
        }
    }
}

/// The answer to `hello`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Hello {
    /// The version the harness speaks.
    pub protocol: u32,
    /// Its name, for people.
    pub name: String,
    /// The parity cases it has.
    pub cases: Vec<String>,
    /// The benches it has.
    pub benches: Vec<HelloBench>,
}

/// A bench that a harness offers.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct HelloBench {
    /// Its name.
    pub name: String,
    /// The unit of its values.
    pub unit: String,
}

/// The answer to `parity`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ParityAnswer {
    /// Whether the harness itself is content.
    pub passed: bool,
    /// Figures by name: numbers, `null` or a string such as `"NaN"` where a number is not finite.
    pub figures: BTreeMap<String, Value>,
}

/// The answer to `generate`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct GenerateAnswer {
    /// Token ids in order.
    pub tokens: Vec<i64>,
    /// The text they make.
    pub text: String,
}

/// What `sample` asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampleRequest<'a> {
    /// The bench.
    pub bench: &'a str,
    /// Untimed runs first.
    pub warmup: u32,
    /// Timed runs, of which the answer gives the median.
    pub inner: u32,
    /// Seed of the inputs.
    pub seed: u64,
}

/// The answer to `sample`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct SampleAnswer {
    /// Unit of the value.
    pub unit: String,
    /// The value; `null` or a string where it is not finite.
    pub value: Value,
    /// Values of the timed runs.
    pub inner: Vec<f64>,
    /// What was reported besides.
    #[serde(flatten)]
    pub facts: Facts,
}

/// Speaks to one running harness.
#[derive(Debug)]
pub struct Client<S> {
    session: S,
    last_id: u64,
}

impl<S: HarnessSession> Client<S> {
    /// Wraps a session that has not been spoken to.
    pub fn new(session: S) -> Self {
        Client {
            session,
            last_id: 0,
        }
    }

    /// Asks who is there, and checks the protocol's version.
    ///
    /// # Errors
    /// [`HarnessError`], also for another version.
    pub async fn hello(&mut self, timeout: Duration) -> Result<Hello, HarnessError> {
        let hello: Hello = self.ask("hello", json!({}), timeout).await?;
        if hello.protocol != PROTOCOL {
            return Err(broken(
                "hello",
                format!(
                    "it speaks protocol {}, and this runner speaks {PROTOCOL}; update the older one",
                    hello.protocol
                ),
            ));
        }
        Ok(hello)
    }

    /// Runs one parity case.
    ///
    /// # Errors
    /// [`HarnessError`].
    pub async fn parity(
        &mut self,
        case: &str,
        timeout: Duration,
    ) -> Result<ParityAnswer, HarnessError> {
        self.ask("parity", json!({ "case": case }), timeout).await
    }

    /// Decodes greedily.
    ///
    /// # Errors
    /// [`HarnessError`].
    pub async fn generate(
        &mut self,
        tokens: u32,
        seed: u64,
        timeout: Duration,
    ) -> Result<GenerateAnswer, HarnessError> {
        self.ask(
            "generate",
            json!({ "tokens": tokens, "seed": seed }),
            timeout,
        )
        .await
    }

    /// Takes one sample.
    ///
    /// # Errors
    /// [`HarnessError`].
    pub async fn sample(
        &mut self,
        request: &SampleRequest<'_>,
        timeout: Duration,
    ) -> Result<SampleAnswer, HarnessError> {
        let fields = json!({
            "bench": request.bench,
            "warmup": request.warmup,
            "inner": request.inner,
            "seed": request.seed,
        });
        self.ask("sample", fields, timeout).await
    }

    /// Says goodbye, where that still makes sense, and waits for the process to end.
    pub async fn finish(mut self, well: bool) -> Finished {
        if well {
            // Whether it answers or not, closing its input ends it, by force if need be.
            let _: Result<Value, HarnessError> = self.ask("bye", json!({}), FAREWELL).await;
        }
        self.session.close(FAREWELL).await
    }

    async fn ask<A: DeserializeOwned>(
        &mut self,
        op: &'static str,
        fields: Value,
        timeout: Duration,
    ) -> Result<A, HarnessError> {
        self.last_id += 1;
        let mut request = json!({ "id": self.last_id, "op": op });
        if let (Some(request), Value::Object(fields)) = (request.as_object_mut(), fields) {
            request.extend(fields);
        }
        let line = self
            .session
            .ask(&request.to_string(), timeout)
            .await
            .map_err(|failure| HarnessError::Broken { op, failure })?;
        read_answer(op, self.last_id, &line)
    }
}

fn broken(op: &'static str, message: String) -> HarnessError {
    HarnessError::Broken {
        op,
        failure: Failure::Harness { message },
    }
}

/// The part of every answer that says how to read the rest.
#[derive(Deserialize)]
struct Head {
    id: u64,
    ok: bool,
    error: Option<String>,
    fault: Option<Blame>,
}

fn read_answer<A: DeserializeOwned>(
    op: &'static str,
    id: u64,
    line: &str,
) -> Result<A, HarnessError> {
    let quoted = || shortened(line.trim_end(), 160);
    let unreadable = |error: serde_json::Error| {
        broken(op, format!("answered `{op}` with `{}`: {error}", quoted()))
    };
    let answer: Value = serde_json::from_str(line).map_err(|error| {
        broken(
            op,
            format!(
                "answered `{op}` with `{}`, which is not JSON ({error}); programs must log to \
                 standard error",
                quoted()
            ),
        )
    })?;
    let head = Head::deserialize(&answer).map_err(unreadable)?;
    if head.id != id {
        return Err(broken(
            op,
            format!(
                "answered `{op}` number {id} with number {}: `{}`",
                head.id,
                quoted()
            ),
        ));
    }
    if !head.ok {
        let (Some(message), Some(blame)) = (head.error, head.fault) else {
            return Err(broken(
                op,
                format!("refused `{op}` without `error` and `fault`: `{}`", quoted()),
            ));
        };
        return Err(HarnessError::Refused { op, blame, message });
    }
    A::deserialize(answer).map_err(unreadable)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use super::*;
    use crate::config::{CommandLine, Harness};
    use crate::measure::fake::FakeLauncher;
    use crate::model::Side;
    use crate::process::Launcher as _;

    const DOCS: &str = include_str!("../../../docs/harness-protocol.md");

    fn lines(marker: &str) -> Vec<Value> {
        DOCS.lines()
            .filter_map(|line| line.strip_prefix(marker))
            .map(|line| serde_json::from_str(line).expect("an example is JSON"))
            .collect()
    }

    /// The page's conversation, held by the client with a harness that answers as the page says.
    #[tokio::test]
    async fn the_protocols_page_is_what_the_client_speaks() {
        let answers = lines("    <- ");
        let asked = Rc::new(RefCell::new(Vec::new()));
        let log = Rc::clone(&asked);
        let mut launcher = FakeLauncher::harness(move |_, request| {
            log.borrow_mut().push(request.clone());
            let answer = answers.iter().find(|a| a["id"] == request["id"]);
            Ok(answer.expect("an answer on the page").to_string())
        });
        let harness = Harness {
            command: CommandLine::Shell("engine".to_owned()),
            env: BTreeMap::new(),
            start_timeout_s: 1,
        };
        let session = launcher
            .open(Side::Head, &harness)
            .await
            .expect("it starts");
        let mut client = Client::new(session);
        let limit = Duration::from_secs(1);
        let hello = client.hello(limit).await.expect("hello");
        assert_eq!((hello.name.as_str(), hello.benches.len()), ("mmqr", 1));
        let parity = client.parity("KD=4", limit).await.expect("parity");
        assert!(parity.passed && parity.figures.len() == 2);
        let text = client.generate(32, 0, limit).await.expect("generate");
        assert_eq!(text.tokens, [1, 2, 3]);
        let request = SampleRequest {
            bench: "prefill",
            warmup: 1,
            inner: 8,
            seed: 123,
        };
        let sample = client.sample(&request, limit).await.expect("sample");
        assert_eq!((sample.value, sample.inner.len()), (json!(1311.8), 3));
        client.finish(true).await;
        assert_eq!(*asked.borrow(), lines("    -> "));
    }

    #[test]
    fn the_page_shows_an_error_that_the_client_reads() {
        let error = lines("    <- ")
            .pop()
            .expect("the last example is an error");
        let read = read_answer::<SampleAnswer>("sample", 4, &error.to_string());
        assert!(matches!(
            read,
            Err(HarnessError::Refused {
                blame: Blame::Case,
                ..
            })
        ));
    }
}
