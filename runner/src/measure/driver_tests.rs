//! Scenarios for the driver: who is launched when a launch fails, and what is stored.

use serde_json::json;

use super::*;
use crate::config::{DEFAULT_PROTOCOL, Probe, Protocol};
use crate::measure::Known;
use crate::measure::fake::{
    FakeLauncher, FakeRecorder, bench, config, finished, pleasantries, with_harness,
};
use crate::model::{Bar, RegisteredBar, Source, UnixMillis};
use crate::process::Finished;

/// Measures with seed 1: three pairs per bench where the config says nothing else.
async fn run(config: &Config, launcher: &mut FakeLauncher) -> (Vec<BenchEvidence>, FakeRecorder) {
    run_registered(config, &Registration::default(), launcher).await
}

async fn run_registered(
    config: &Config,
    registration: &Registration,
    launcher: &mut FakeLauncher,
) -> (Vec<BenchEvidence>, FakeRecorder) {
    let mut recorder = FakeRecorder::default();
    let measurement = Measurement {
        config,
        registration,
        seed: 1,
        progress: &Progress::silent(),
        watch: None,
        launches: &KnownLaunches::new(),
    };
    let evidence = measure(&measurement, launcher, &mut recorder)
        .await
        .expect("the recorder never fails");
    (evidence, recorder)
}

/// The same under the sequential protocol.
fn sequential(benches: &[&str]) -> Config {
    let mut config = config(benches.iter().map(|name| bench(name)).collect());
    config.protocol = DEFAULT_PROTOCOL;
    config
}

fn bar_on(bench: &str) -> Registration {
    Registration {
        bars: vec![RegisteredBar {
            bench: bench.to_owned(),
            bar: Bar::Relative { percent: 1.5 },
            source: Source::Trailer,
            text: bench.to_owned(),
        }],
        ..Registration::default()
    }
}

/// A launcher that never fails, with head's speed by bench where base's is 100.
fn speeds(head: impl Fn(&str) -> f64 + 'static) -> FakeLauncher {
    FakeLauncher::commands(move |side, command| {
        let speed = match side {
            Side::Base => 100.0,
            Side::Head => head(command),
        };
        finished(format!("{speed} tok/s\n"), None)
    })
}

fn pairs_taken(evidence: &BenchEvidence) -> usize {
    let of_pairs = evidence
        .samples
        .iter()
        .filter(|s| s.role == SampleRole::Pair);
    of_pairs.count() / 2
}

/// A launcher whose n-th launch (from 1) of a side fails where `fails` says so.
fn failing(fails: impl Fn(Side, u32) -> Option<Failure> + 'static) -> FakeLauncher {
    let mut launches = (0, 0);
    FakeLauncher::commands(move |side, _| {
        let n = match side {
            Side::Base => &mut launches.0,
            Side::Head => &mut launches.1,
        };
        *n += 1;
        match fails(side, *n) {
            Some(failure) => finished("", Some(failure)),
            None => finished("1311.8 tok/s\n", None),
        }
    })
}

fn crash() -> Option<Failure> {
    Some(Failure::Signal { signal: 11 })
}

fn letters(samples: &[Sample]) -> String {
    samples
        .iter()
        .map(|s| match (s.role, s.side, s.value.is_some()) {
            (SampleRole::ThrowAway, Side::Base, true) => "B",
            (SampleRole::ThrowAway, Side::Head, true) => "H",
            (SampleRole::Pair, Side::Base, true) => "b",
            (SampleRole::Pair, Side::Head, true) => "h",
            (_, Side::Base, false) => "(base)",
            (_, Side::Head, false) => "(head)",
        })
        .collect()
}

#[tokio::test]
async fn every_sample_is_stored_in_the_plans_order_with_its_log() {
    let config = config(vec![bench("a"), bench("b")]);
    let mut launcher = failing(|_, _| None);
    let (evidence, recorder) = run(&config, &mut launcher).await;
    assert_eq!(evidence.len(), 2);
    assert_eq!(letters(&evidence[0].samples), "BHbhhbhb");
    assert_eq!(letters(&recorder.samples[..8]), "BHbhhbhb");
    assert_eq!(recorder.samples.len(), 16);
    assert_eq!(recorder.logs[0], b"1311.8 tok/s\n");
    let sample = &evidence[1].samples[2];
    assert_eq!(sample.value, Some(1311.8));
    assert_eq!(sample.wall_ms, 250.0);
    assert!(sample.log.is_some());
    assert!(
        launcher.launched[8..]
            .iter()
            .all(|l| l.ends_with("bench b"))
    );
}

#[tokio::test]
async fn one_crash_is_repeated_at_its_place() {
    let config = config(vec![bench("a")]);
    let mut launcher = failing(|side, n| (side == Side::Head && n == 3).then(crash).flatten());
    let (evidence, _) = run(&config, &mut launcher).await;
    assert_eq!(letters(&evidence[0].samples), "BHbh(head)hbhb");
    let again = &evidence[0].samples[5];
    assert_eq!((again.attempt, again.pair, again.slot), (2, 1, 0));
}

#[tokio::test]
async fn a_head_that_crashes_twice_stops_after_a_control_launch_of_base() {
    let config = config(vec![bench("a"), bench("b")]);
    let mut launcher = failing(|side, n| (side == Side::Head && n > 1).then(crash).flatten());
    let (evidence, recorder) = run(&config, &mut launcher).await;
    assert_eq!(letters(&evidence[0].samples), "BHb(head)(head)B");
    let control = evidence[0].samples.last().expect("a control launch");
    assert_eq!(control.pair, CONTROL_LAUNCH);
    assert!(
        evidence[1].samples.is_empty(),
        "the next bench is not begun"
    );
    assert!(recorder.samples.iter().all(|s| s.value != Some(0.0)));
}

#[tokio::test]
async fn a_base_that_fails_twice_stops_at_once() {
    let config = config(vec![bench("a")]);
    let mut launcher = failing(|side, _| (side == Side::Base).then(crash).flatten());
    let (evidence, _) = run(&config, &mut launcher).await;
    assert_eq!(letters(&evidence[0].samples), "(base)(base)");
}

/// Lesson 35: repetitions are bounded.
#[tokio::test]
async fn repetitions_are_bounded_over_the_whole_run() {
    let mut config = config(vec![bench("a")]);
    config.protocol = Protocol::Pairs(30);
    // Every other launch of head fails, so that each repetition succeeds.
    let mut launcher = failing(|side, n| (side == Side::Head && n % 2 == 0).then(crash).flatten());
    let (evidence, _) = run(&config, &mut launcher).await;
    let samples = &evidence[0].samples;
    let repeated = samples.iter().filter(|s| s.attempt == 2).count();
    assert_eq!(repeated, REPETITIONS as usize);
    let failed = samples.iter().filter(|s| s.failure.is_some()).count();
    assert_eq!(failed, REPETITIONS as usize + 1);
    assert_eq!(samples.last().map(|s| s.pair), Some(CONTROL_LAUNCH));
}

#[tokio::test]
async fn a_full_disk_stops_without_a_repetition() {
    let config = config(vec![bench("a")]);
    let mut launcher = failing(|_, n| (n == 2).then_some(Failure::DiskFull));
    let (evidence, _) = run(&config, &mut launcher).await;
    assert_eq!(letters(&evidence[0].samples), "BH(base)");
}

/// Lesson 12: a missing measurement is its own state.
#[tokio::test]
async fn output_without_a_value_is_a_failure_and_never_a_zero() {
    let config = config(vec![bench("a")]);
    for (out, expected) in [
        ("done\n", Failure::NoValue),
        (
            "0.00 tok/s\n",
            Failure::NotPositive {
                value: crate::model::f64_text::F64Text("0".to_owned()),
            },
        ),
    ] {
        let mut launcher = FakeLauncher::commands(move |_, _| finished(out, None));
        let (evidence, _) = run(&config, &mut launcher).await;
        let first = &evidence[0].samples[0];
        assert_eq!(first.value, None);
        assert_eq!(first.failure.as_ref(), Some(&expected));
    }
}

fn harness_config() -> Config {
    let mut bench = bench("prefill");
    bench.probe = Probe::Harness("pp".to_owned());
    bench.value = None;
    with_harness(config(vec![bench]))
}

#[tokio::test]
async fn a_harness_is_launched_once_per_sample_with_the_pairs_seed() {
    let config = harness_config();
    let mut launcher = FakeLauncher::harness(|side, request| {
        Ok(pleasantries(request).unwrap_or_else(|| {
            assert_eq!(request["op"], "sample");
            assert_eq!(request["bench"], "pp");
            assert_eq!(
                (&request["warmup"], &request["inner"]),
                (&json!(1), &json!(3))
            );
            let value = if side == Side::Base { 100.0 } else { 102.0 };
            json!({"id": request["id"], "ok": true, "unit": "tok/s", "value": value,
                   "inner": [value, value, request["seed"]]})
            .to_string()
        }))
    });
    let (evidence, recorder) = run(&config, &mut launcher).await;
    assert_eq!(launcher.launched.len(), 8, "one process per sample");
    let samples = &evidence[0].samples;
    assert_eq!(letters(samples), "BHbhhbhb");
    assert_eq!(samples[3].value, Some(102.0));
    assert_eq!(
        samples[2].inner[2], samples[3].inner[2],
        "a pair shares its seed"
    );
    assert_ne!(samples[2].inner[2], samples[4].inner[2]);
    assert!(String::from_utf8_lossy(&recorder.logs[0]).contains("\"ok\":true"));
}

/// Where the config gives no number, the throw-aways have the default; then the plan is stored, and
/// what it says is asked for.
#[tokio::test]
async fn the_plan_is_stored_before_the_first_pair_and_followed() {
    let mut config = harness_config();
    config.benches[0].inner = None;
    let mut launcher = FakeLauncher::harness(|_, request| {
        Ok(pleasantries(request).unwrap_or_else(|| {
            let asked = request["inner"].as_u64().expect("a number of runs");
            let inner: Vec<f64> = (0..asked).map(|_| asked as f64).collect();
            json!({"id": request["id"], "ok": true, "unit": "tok/s", "value": asked,
                   "inner": inner})
            .to_string()
        }))
    });
    let mut recorder = FakeRecorder::default();
    let known = [("prefill".to_owned(), Known::Runs(21))];
    let measurement = Measurement {
        config: &config,
        registration: &Registration::default(),
        seed: 1,
        progress: &Progress::silent(),
        watch: None,
        launches: &KnownLaunches::from(known),
    };
    let evidence = measure(&measurement, &mut launcher, &mut recorder)
        .await
        .expect("the recorder never fails");
    let asked: Vec<usize> = evidence[0].samples.iter().map(|s| s.inner.len()).collect();
    assert_eq!(asked, [8, 8, 21, 21, 21, 21, 21, 21]);
    let plan = evidence[0].plan.as_ref().expect("a plan");
    assert_eq!(recorder.plans, [(2, plan.clone())]);
    assert!(evidence[0].samples.iter().all(|s| s.answer_ms.is_some()));

    // A command has no plan.
    let (evidence, recorder) = run(&sequential(&["prefill"]), &mut speeds(|_| 100.0)).await;
    assert_eq!((evidence[0].plan.as_ref(), recorder.plans.len()), (None, 0));
}

/// The failure of the first sample where the harness answers `sample` with `answer`.
async fn refusal(answer: &'static str) -> Failure {
    let mut launcher = FakeLauncher::harness(move |_, request| {
        let id = request["id"].to_string();
        Ok(pleasantries(request).unwrap_or_else(|| answer.replace("ID", &id)))
    });
    let (evidence, _) = run(&harness_config(), &mut launcher).await;
    evidence[0].samples[0].failure.clone().expect("a failure")
}

fn message(failure: &Failure) -> &str {
    match failure {
        Failure::Harness { message } => message,
        other => panic!("another failure: {other:?}"),
    }
}

#[tokio::test]
async fn a_harness_that_breaks_the_protocol_is_quoted() {
    let failure = refusal("Loading model…").await;
    assert!(message(&failure).contains("`Loading model…`, which is not JSON"));
    let failure = refusal(r#"{"id":ID,"ok":true,"unit":"tok/s"}"#).await;
    assert!(message(&failure).contains("missing field `value`"));
    assert!(message(&failure).contains(r#""unit":"tok/s""#));
    let failure = refusal(r#"{"id":99,"ok":true}"#).await;
    assert!(message(&failure).contains("with number 99"));
    let failure = refusal(r#"{"id":ID,"ok":false}"#).await;
    assert!(message(&failure).contains("without `error` and `fault`"));
}

#[tokio::test]
async fn a_harness_that_refuses_or_answers_nonsense_gives_no_value() {
    let failure = refusal(r#"{"id":ID,"ok":false,"error":"no such bench","fault":"input"}"#).await;
    assert_eq!(
        message(&failure),
        "`sample` refused, input at fault: no such bench"
    );
    let answered = r#"{"id":ID,"ok":true,"unit":"ms","value":1.5,"inner":[]}"#;
    assert_eq!(
        refusal(answered).await,
        Failure::OtherUnit {
            found: "ms".to_owned()
        }
    );
    let answered = r#"{"id":ID,"ok":true,"unit":"tok/s","value":null,"inner":[]}"#;
    assert!(matches!(
        refusal(answered).await,
        Failure::NotANumber { .. }
    ));
    let answered = r#"{"id":ID,"ok":true,"unit":"tok/s","value":0,"inner":[],"new":1}"#;
    assert!(matches!(
        refusal(answered).await,
        Failure::NotPositive { .. }
    ));
}

#[tokio::test]
async fn a_harness_of_another_version_is_refused() {
    let mut launcher = FakeLauncher::harness(|_, request| {
        Ok(
            json!({"id": request["id"], "ok": true, "protocol": 2, "name": "x", "cases": [],
                  "benches": []})
            .to_string(),
        )
    });
    let (evidence, _) = run(&harness_config(), &mut launcher).await;
    let failure = evidence[0].samples[0].failure.as_ref().expect("a failure");
    assert!(message(failure).contains("speaks protocol 2"));
}

#[tokio::test]
async fn a_harness_that_crashes_while_it_ends_gives_no_value() {
    let mut launcher = FakeLauncher::harness(|_, request| {
        Ok(pleasantries(request).unwrap_or_else(|| {
            json!({"id": request["id"], "ok": true, "unit": "tok/s", "value": 9, "inner": []})
                .to_string()
        }))
    });
    launcher.session_end = crash();
    let (evidence, _) = run(&harness_config(), &mut launcher).await;
    assert_eq!(evidence[0].samples[0].value, None);
    assert_eq!(evidence[0].samples[0].failure, crash());
}

#[tokio::test]
async fn a_harness_that_does_not_start_is_a_failed_sample_with_a_time() {
    let mut launcher = FakeLauncher::commands(|_, _| -> Finished { finished("", None) });
    let (evidence, _) = run(&harness_config(), &mut launcher).await;
    let first = &evidence[0].samples[0];
    assert!(matches!(first.failure, Some(Failure::NotStarted { .. })));
    assert_eq!(first.started_at, UnixMillis(77));
    assert_eq!(first.log, None);
}

#[tokio::test]
async fn the_sequential_protocol_stops_at_the_look_that_answers() {
    for (head, expected) in [
        (100.0, 6),  // no effect: futile at the first look
        (95.0, 6),   // the same: nothing that is worth having
        (105.0, 10), // an effect that is real at the first look that can say so
        (101.0, 10), // real, and below the bar of 1.5 %
    ] {
        let config = sequential(&["a"]);
        let registration = bar_on("a");
        let mut launcher = speeds(move |_| head);
        let (evidence, _) = run_registered(&config, &registration, &mut launcher).await;
        assert_eq!(pairs_taken(&evidence[0]), expected, "{head}");
        assert!(letters(&evidence[0].samples).starts_with("BHbhhbhbbhbh"));
    }
}

#[tokio::test]
async fn noise_that_stays_undecided_takes_every_look_and_no_more() {
    let mut n = 0u32;
    let mut launcher = FakeLauncher::commands(move |side, _| {
        // Averages of a gain and a loss are worth having, and too many losses keep it from being
        // real. Head's first launch is thrown away.
        n += u32::from(side == Side::Head);
        let is_loss = n.is_multiple_of(2) || [43, 45].contains(&n);
        let speed = match (side, is_loss) {
            (Side::Base, _) => 100.0,
            (Side::Head, true) => 92.0,
            (Side::Head, false) => 110.0,
        };
        finished(format!("{speed} tok/s\n"), None)
    });
    let config = sequential(&["a", "b"]);
    let (evidence, _) = run_registered(&config, &bar_on("a"), &mut launcher).await;
    assert_eq!(pairs_taken(&evidence[0]), 44);
    assert!(pairs_taken(&evidence[1]) > 0, "open settles nothing");
}

#[tokio::test]
async fn targets_come_first_and_a_lost_one_ends_it() {
    let config = sequential(&["guard", "target"]);
    let registration = bar_on("target");
    for (head, guard, target) in [(105.0, 6, 10), (100.0, 0, 6)] {
        let of = move |command: &str| {
            if command.ends_with("target") {
                head
            } else {
                100.0
            }
        };
        let mut launcher = speeds(of);
        let (evidence, recorder) = run_registered(&config, &registration, &mut launcher).await;
        let taken: Vec<usize> = evidence.iter().map(pairs_taken).collect();
        assert_eq!(taken, [guard, target]);
        assert_eq!(recorder.samples[0].bench, "target");
    }
    // A round that is measured for itself has no verdict to settle.
    let measured = Registration {
        kind: RoundKind::Measured,
        ..registration
    };
    let (evidence, _) = run_registered(&config, &measured, &mut speeds(|_| 100.0)).await;
    assert_eq!(pairs_taken(&evidence[0]), 6);
}

#[tokio::test]
async fn a_pair_that_is_lost_is_replaced_in_its_order() {
    // Head's fifth launch is that of the fourth pair, its sixth the repetition.
    let mut launcher = failing(|side, n| {
        (side == Side::Head && [5, 6].contains(&n))
            .then(crash)
            .flatten()
    });
    let (evidence, _) = run(&sequential(&["a"]), &mut launcher).await;
    let samples = &evidence[0].samples;
    assert!(
        letters(samples).starts_with("BHbhhbhbb(head)(head)bh"),
        "{}",
        letters(samples)
    );
    let pairs: Vec<u32> = samples[8..13].iter().map(|s| s.pair).collect();
    assert_eq!(pairs, [3, 3, 3, 4, 4]);
    assert_eq!(samples.last().map(|s| s.pair), Some(6), "six valid ones");
    assert_eq!(samples.len(), 2 + 3 + 12);
}

#[tokio::test]
async fn a_replacement_that_is_lost_too_stops_it() {
    let mut launcher = failing(|side, n| (side == Side::Head && n >= 5).then(crash).flatten());
    let (evidence, _) = run(&sequential(&["a", "b"]), &mut launcher).await;
    assert_eq!(
        letters(&evidence[0].samples),
        "BHbhhbhbb(head)(head)b(head)(head)B"
    );
    assert!(evidence[1].samples.is_empty());
    let mut launcher = failing(|side, n| (side == Side::Base && n >= 5).then(crash).flatten());
    let (evidence, _) = run(&sequential(&["a"]), &mut launcher).await;
    assert_eq!(
        letters(&evidence[0].samples),
        "BHbhhbhb(base)(base)(base)(base)",
        "no control launch for base"
    );
}

#[tokio::test]
async fn replacements_count_as_repetitions() {
    // Each pair that follows a valid one is lost: head's launches fail by twos.
    let mut launcher = failing(|side, n| {
        (side == Side::Head && n > 1 && n % 3 != 2)
            .then(crash)
            .flatten()
    });
    let (evidence, _) = run(&sequential(&["a"]), &mut launcher).await;
    let samples = &evidence[0].samples;
    let repeated = samples.iter().filter(|s| s.attempt == 2).count();
    assert_eq!(repeated, 3, "and three replacements");
    assert_eq!(samples.iter().map(|s| s.pair).max(), Some(7));
    assert_eq!(samples.last().map(|s| s.pair), Some(CONTROL_LAUNCH));
}

#[tokio::test]
async fn a_disk_that_fills_up_during_a_repetition_stops_it_as_well() {
    let mut launcher = failing(|side, n| match (side, n) {
        (Side::Head, 5) => crash(),
        (Side::Head, 6) => Some(Failure::DiskFull),
        _ => None,
    });
    let (evidence, _) = run(&sequential(&["a"]), &mut launcher).await;
    assert_eq!(letters(&evidence[0].samples), "BHbhhbhbb(head)(head)");
}

#[tokio::test]
async fn what_a_harness_reports_is_stored_and_different_work_stops_the_run() {
    let answer = |tokens: u32| {
        move |side: Side, request: &serde_json::Value| {
            let work = match side {
                Side::Base => 512,
                Side::Head => tokens,
            };
            let sample = || {
                json!({
                    "id": request["id"], "ok": true, "unit": "tok/s", "value": 100.0, "inner": [],
                    "work": {"tokens": work, "seed": request["seed"]}, "output": "cafe",
                    "ran": {"mmq": 12},
                })
            };
            Ok(pleasantries(request).unwrap_or_else(|| sample().to_string()))
        }
    };
    let mut asks = bench("prefill");
    asks.probe = Probe::Harness("prefill".to_owned());
    let config = with_harness(config(vec![asks, bench("decode")]));
    let mut launcher = FakeLauncher::harness(answer(512));
    let (evidence, recorder) = run(&config, &mut launcher).await;
    let taken = &evidence[0].samples;
    assert_eq!((taken.len(), pairs_taken(&evidence[0])), (8, 3));
    assert!(taken.iter().all(|s| s.facts.work["tokens"] == json!(512)));
    assert!(
        taken
            .iter()
            .all(|s| s.facts.output.as_deref() == Some("cafe"))
    );
    assert!(taken.iter().all(|s| s.facts.ran.is_some()));
    assert_eq!(recorder.samples[..8], taken[..]);

    let mut launcher = FakeLauncher::harness(answer(256));
    let (evidence, _) = run(&config, &mut launcher).await;
    assert_eq!(pairs_taken(&evidence[0]), 1, "no second pair");
    assert!(evidence[1].samples.is_empty(), "and no other bench");
}

#[tokio::test]
async fn a_command_reports_facts_in_the_document_of_its_value() {
    let printing = |facts: serde_json::Value| {
        FakeLauncher::commands(move |_, _| {
            let document = json!({"speed": 100.0, "facts": facts, "output": "not this one"});
            finished(format!("a line\n{document}\n"), None)
        })
    };
    let mut by_json = bench("prefill");
    by_json.value = Some(crate::config::Extract::Json("/speed".to_owned()));
    let config = config(vec![by_json]);
    let mut launcher = printing(json!({"work": {"tokens": 8}, "output": "cafe"}));
    let (evidence, _) = run(&config, &mut launcher).await;
    let facts = &evidence[0].samples[2].facts;
    assert_eq!(facts.output.as_deref(), Some("cafe"));
    assert_eq!(facts.work["tokens"], json!(8));

    for wrong in [json!({"work": {"tokens": [1]}}), json!("all of it")] {
        let (evidence, _) = run(&config, &mut printing(wrong)).await;
        let failure = evidence[0].samples[0].failure.clone().expect("refused");
        let words = crate::judge::failure_words(&failure);
        assert!(words.contains("cannot be"), "{words}");
    }
}

/// Lesson 15: a time that the work does not allow is no time.
#[tokio::test]
async fn a_value_beyond_the_floor_is_refused_with_the_arithmetic() {
    let mut bounded = bench("prefill");
    bounded.floor = Some(crate::config::Floor {
        limit: 150.0,
        how: "512 tok for 11.2 MB at 273 GB/s".to_owned(),
    });
    let config = config(vec![bounded]);
    let (evidence, _) = run(&config, &mut speeds(|_| 149.0)).await;
    assert_eq!(pairs_taken(&evidence[0]), 3);
    let (evidence, _) = run(&config, &mut speeds(|_| 153_945.0)).await;
    assert_eq!(
        letters(&evidence[0].samples),
        "B(head)(head)B",
        "once more, then a control"
    );
    let Some(Failure::Impossible { message }) = &evidence[0].samples[1].failure else {
        panic!("{:?}", evidence[0].samples[1]);
    };
    let said =
        "153,945 tok/s is above the ceiling of 150.00 tok/s: 512 tok for 11.2 MB at 273 GB/s";
    assert_eq!(message, said);
}

/// A config with a reference beside `prefill`.
fn with_reference(mut config: Config) -> Config {
    config.references.push(crate::config::Reference {
        name: "other".to_owned(),
        bench: "prefill".to_owned(),
        asks: crate::config::ReferenceProbe::Command {
            command: crate::config::CommandLine::Shell("other program".to_owned()),
            value: crate::config::Extract::Regex("([0-9.]+) tok/s".to_owned()),
        },
        pinned: "commit b4567".to_owned(),
        files: Vec::new(),
        env: std::collections::BTreeMap::new(),
        timeout_s: 5,
    });
    config
}

#[tokio::test]
async fn a_reference_is_launched_once_a_block_beside_its_first_pair() {
    let plain = sequential(&["prefill", "decode"]);
    let (alone, _) = run(&plain, &mut speeds(|_| 105.0)).await;
    let config = with_reference(plain);
    let mut launcher = speeds(|_| 105.0);
    let (evidence, recorder) = run(&config, &mut launcher).await;
    let order = |evidence: &[BenchEvidence]| letters(&evidence[0].samples);
    assert_eq!(order(&evidence), order(&alone), "it changes no order");
    assert_eq!(pairs_taken(&evidence[0]), 10);
    let roles: Vec<crate::model::ReferenceRole> =
        recorder.references.iter().map(|r| r.role).collect();
    assert_eq!(roles[0], crate::model::ReferenceRole::ThrowAway);
    let beside = &recorder.references[1..];
    let pairs: Vec<u32> = beside.iter().map(|r| r.pair).collect();
    assert_eq!(pairs, [0, 2, 4, 6, 8]);
    assert!(
        beside
            .iter()
            .all(|r| r.value == Some(100.0) && r.bench == "prefill")
    );
    let slots: std::collections::BTreeSet<u8> = beside.iter().map(|r| r.slot).collect();
    assert_eq!(slots.len(), 2, "before or after by a coin: {beside:?}");
    // Where it was launched is where it says.
    let launched: Vec<&str> = launcher.launched.iter().map(|l| l.as_str()).collect();
    let others: Vec<usize> = (0..launched.len())
        .filter(|at| launched[*at].contains("other program"))
        .collect();
    for (n, (at, sample)) in others[1..].iter().zip(beside).enumerate() {
        // Two throw-aways, its own, then this many pairs and references before it.
        let before = 3 + 2 * (sample.pair as usize + usize::from(sample.slot)) + n;
        assert_eq!(*at, before, "{sample:?}");
    }
}

#[tokio::test]
async fn a_reference_that_fails_is_left_alone_and_the_pairs_go_on() {
    let config = with_reference(sequential(&["prefill"]));
    let mut launcher = FakeLauncher::commands(|side, command| match (side, command) {
        (_, "other program") => finished("", Some(Failure::Exit { code: 3 })),
        (Side::Base, _) => finished("100 tok/s\n", None),
        (Side::Head, _) => finished("105 tok/s\n", None),
    });
    let (evidence, recorder) = run(&config, &mut launcher).await;
    assert_eq!(pairs_taken(&evidence[0]), 10);
    assert_eq!(recorder.references.len(), 2, "the throw-away and one more");
    assert!(recorder.references.iter().all(|r| r.failure.is_some()));
}
