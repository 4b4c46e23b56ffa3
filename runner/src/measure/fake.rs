//! A launcher, a harness and a recorder for tests, scripted by closures.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::config::{
    Bench, Build, Campaign, CommandLine, Config, Cuda, Device, DeviceKind, Environment, Extract,
    Harness, Limits, OutputClass, Probe, Protocol, Toolchain,
};
use crate::model::{
    ArtifactHash, BenchPlan, Better, Failure, ReferenceSample, Sample, Side, UnixMillis,
};
use crate::process::{Finished, HarnessSession, LaunchRequest, Launcher};

use super::recorder::Recorder;

/// A process that printed `stdout` and ended as `failure` says.
pub(crate) fn finished(stdout: impl Into<Vec<u8>>, failure: Option<Failure>) -> Finished {
    Finished {
        stdout: stdout.into(),
        stderr: Vec::new(),
        failure,
        started_at: UnixMillis(1_000),
        wall: Duration::from_millis(250),
    }
}

type Command = Box<dyn FnMut(Side, &str) -> Finished>;
type Answer = Box<dyn FnMut(Side, &Value) -> Result<String, Failure>>;

/// Runs closures instead of processes, and remembers what was launched.
pub(crate) struct FakeLauncher {
    command: Command,
    answer: Option<Answer>,
    /// `base: command` or `head: <harness>`, in order.
    pub(crate) launched: Vec<String>,
    /// How sessions end.
    pub(crate) session_end: Option<Failure>,
}

impl FakeLauncher {
    /// Commands only; a command is given as its shell text.
    pub(crate) fn commands(run: impl FnMut(Side, &str) -> Finished + 'static) -> Self {
        FakeLauncher {
            command: Box::new(run),
            answer: None,
            launched: Vec::new(),
            session_end: None,
        }
    }

    /// A harness that answers each request by `answer`.
    pub(crate) fn harness(
        answer: impl FnMut(Side, &Value) -> Result<String, Failure> + 'static,
    ) -> Self {
        let mut fake = FakeLauncher::commands(|_, _| finished("", None));
        fake.answer = Some(Box::new(answer));
        fake
    }
}

/// A session of [`FakeLauncher`]; borrows nothing so that it can outlive the call.
pub(crate) struct FakeSession {
    side: Side,
    answer: Answer,
    end: Option<Failure>,
    printed: Vec<u8>,
}

impl HarnessSession for FakeSession {
    async fn ask(&mut self, line: &str, _timeout: Duration) -> Result<String, Failure> {
        let request: Value = serde_json::from_str(line).expect("requests are JSON");
        let answer = (self.answer)(self.side, &request)?;
        self.printed.extend_from_slice(answer.as_bytes());
        self.printed.push(b'\n');
        Ok(answer)
    }

    async fn close(self, _timeout: Duration) -> Finished {
        finished(self.printed, self.end)
    }
}

impl Launcher for FakeLauncher {
    type Session = FakeSession;

    async fn launch(&mut self, request: &LaunchRequest<'_>) -> Finished {
        let text = match request.command {
            CommandLine::Shell(text) => text.clone(),
            CommandLine::Argv(words) => words.join(" "),
        };
        self.launched.push(format!("{}: {text}", request.side));
        (self.command)(request.side, &text)
    }

    async fn open(&mut self, side: Side, _harness: &Harness) -> Result<FakeSession, Failure> {
        self.launched.push(format!("{side}: <harness>"));
        let answer = self.answer.take().ok_or(Failure::NotStarted {
            reason: "no such file".to_owned(),
        })?;
        // The closure is shared between this session and the next ones.
        let shared = Rc::new(RefCell::new(answer));
        let (ours, theirs) = (shared.clone(), shared);
        self.answer = Some(Box::new(move |s, v| (ours.borrow_mut())(s, v)));
        Ok(FakeSession {
            side,
            answer: Box::new(move |s, v| (theirs.borrow_mut())(s, v)),
            end: self.session_end.clone(),
            printed: Vec::new(),
        })
    }
}

/// Keeps everything in memory.
#[derive(Default)]
pub(crate) struct FakeRecorder {
    /// Every log.
    pub(crate) logs: Vec<Vec<u8>>,
    /// Every sample, in the order it was stored.
    pub(crate) samples: Vec<Sample>,
    /// Every plan, with the number of samples that were stored before it.
    pub(crate) plans: Vec<(usize, BenchPlan)>,
    /// Every reference's sample.
    pub(crate) references: Vec<ReferenceSample>,
}

impl Recorder for FakeRecorder {
    async fn log(&mut self, bytes: Vec<u8>) -> anyhow::Result<ArtifactHash> {
        self.logs.push(bytes);
        Ok(ArtifactHash(format!("log{}", self.logs.len())))
    }

    async fn sample(&mut self, sample: &Sample) -> anyhow::Result<()> {
        self.samples.push(sample.clone());
        Ok(())
    }

    async fn plan(&mut self, _: &str, plan: &BenchPlan) -> anyhow::Result<()> {
        self.plans.push((self.samples.len(), plan.clone()));
        Ok(())
    }

    async fn reference(&mut self, sample: &ReferenceSample) -> anyhow::Result<()> {
        self.references.push(sample.clone());
        Ok(())
    }

    fn now(&self) -> UnixMillis {
        UnixMillis(77)
    }
}

/// A bench read by `([0-9.]+) tok/s`.
pub(crate) fn bench(name: &str) -> Bench {
    Bench {
        name: name.to_owned(),
        probe: Probe::Command(CommandLine::Shell(format!("bench {name}"))),
        value: Some(Extract::Regex("([0-9.]+) tok/s".to_owned())),
        unit: "tok/s".to_owned(),
        better: Better::Higher,
        bar: None,
        env: BTreeMap::new(),
        timeout_s: 10,
        warmup: 1,
        inner: Some(3),
        output: OutputClass::default(),
        floor: None,
    }
}

/// A config with these benches and nothing else.
pub(crate) fn config(benches: Vec<Bench>) -> Config {
    Config {
        campaign: Campaign {
            name: "demo".to_owned(),
            title: "demo".to_owned(),
            default_branch: None,
        },
        toolchain: Toolchain {
            cuda: Cuda::None,
            arch: Vec::new(),
        },
        device: Device {
            kind: DeviceKind::Cpu,
            index: 0,
        },
        build: Build {
            command: CommandLine::Shell("make".to_owned()),
            directory: ".".to_owned(),
            outputs: vec!["engine".to_owned()],
            runtime: Vec::new(),
            env: BTreeMap::new(),
            timeout_s: 60,
        },
        kernels: Vec::new(),
        harness: None,
        parity: Vec::new(),
        identity: None,
        benches,
        references: Vec::new(),
        counters: Vec::new(),
        claims: Vec::new(),
        protocol: Protocol::Pairs(3),
        machine: crate::config::Machine::default(),
        environment: Environment::default(),
        anchor: crate::config::Anchor::default(),
        limits: Limits {
            output_bytes: 1 << 20,
            free_disk_bytes: 0,
        },
    }
}

/// The same config with a harness.
pub(crate) fn with_harness(mut config: Config) -> Config {
    config.harness = Some(Harness {
        command: CommandLine::Shell("engine --serve".to_owned()),
        env: BTreeMap::new(),
        start_timeout_s: 5,
    });
    config
}

/// The usual answer to `hello` and `bye`; `None` for anything else.
pub(crate) fn pleasantries(request: &Value) -> Option<String> {
    let answer = match request["op"].as_str()? {
        "hello" => json!({
            "id": request["id"], "ok": true, "protocol": 1, "name": "fake",
            "cases": ["KD=4"], "benches": [{"name": "prefill", "unit": "tok/s"}],
        }),
        "bye" => json!({"id": request["id"], "ok": true}),
        _ => return None,
    };
    Some(answer.to_string())
}
