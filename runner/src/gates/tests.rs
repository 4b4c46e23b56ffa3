//! Scenarios for the gates.

use std::collections::BTreeMap;

use serde_json::json;

use super::*;
use crate::config::{CommandLine, Extract, FigureRule, Identity, Parity, Probe};
use crate::measure::fake::{
    FakeLauncher, FakeRecorder, config, finished, pleasantries, with_harness,
};
use crate::model::{Failure, GateKind, GateOutcome};

fn command(text: &str) -> Probe {
    Probe::Command(CommandLine::Shell(text.to_owned()))
}

fn case(name: &str) -> Parity {
    Parity {
        name: name.to_owned(),
        probe: command(&format!("selftest {name}")),
        figures: Vec::new(),
        env: BTreeMap::new(),
        timeout_s: 10,
    }
}

fn figure(name: &str, max: f64) -> FigureRule {
    FigureRule {
        name: name.to_owned(),
        value: Some(Extract::Regex(format!("{name}=(\\S+)"))),
        max,
    }
}

fn identity(probe: Probe) -> Identity {
    Identity {
        probe,
        drop_lines: vec!["tok/s".to_owned()],
        tokens: 32,
        count: None,
        env: BTreeMap::new(),
        timeout_s: 10,
    }
}

async fn gates(config: &Config, launcher: &mut FakeLauncher) -> Vec<GateEvidence> {
    let mut recorder = FakeRecorder::default();
    run(config, launcher, &mut recorder, &Progress::silent())
        .await
        .expect("the recorder never fails")
}

fn words(gates: &[GateEvidence]) -> Vec<String> {
    gates.iter().map(gate_words).collect()
}

fn parity_config(cases: Vec<Parity>) -> Config {
    let mut config = config(Vec::new());
    config.parity = cases;
    config
}

/// A config with one case that has the figure `nmse <= 1e-6`.
fn figure_config() -> Config {
    let mut case = case("KD=4");
    case.figures = vec![figure("nmse", 1e-6)];
    parity_config(vec![case])
}

#[tokio::test]
async fn a_passing_suite_runs_once_on_head_only() {
    let config = parity_config(vec![case("KD=4"), case("KD=8")]);
    let mut launcher = FakeLauncher::commands(|_, _| finished("ok\n", None));
    let found = gates(&config, &mut launcher).await;
    assert_eq!(
        words(&found),
        ["parity KD=4 on head passed", "parity KD=8 on head passed"]
    );
    assert_eq!(launcher.launched.len(), 2);
    assert_eq!(found[0].logs.len(), 1);
}

#[tokio::test]
async fn a_failure_that_goes_away_is_flaky_and_says_what_was_seen() {
    let config = parity_config(vec![case("KD=4"), case("KD=8")]);
    let mut launches = 0;
    let mut launcher = FakeLauncher::commands(move |_, _| {
        launches += 1;
        finished("", (launches == 1).then_some(Failure::Exit { code: 1 }))
    });
    let found = gates(&config, &mut launcher).await;
    assert_eq!(
        found[0].outcome,
        GateOutcome::Flaky {
            first: "exited with status 1".to_owned()
        }
    );
    assert_eq!(found[1].outcome, GateOutcome::Passed);
    assert_eq!(
        launcher.launched.len(),
        4,
        "the whole suite runs again, base does not"
    );
}

#[tokio::test]
async fn a_suite_that_fails_twice_is_run_on_base_to_know_who_is_at_fault() {
    let mut config = parity_config(vec![case("KD=4")]);
    config.identity = Some(identity(command("generate")));
    let mut launcher = FakeLauncher::commands(|side, _| {
        finished(
            "",
            (side == Side::Head).then_some(Failure::Signal { signal: 6 }),
        )
    });
    let found = gates(&config, &mut launcher).await;
    assert_eq!(
        words(&found),
        [
            "parity KD=4 on head failed: was ended by signal 6 (SIGABRT)",
            "parity KD=4 on base passed",
            "identity greedy-32 was not run: parity did not pass",
        ]
    );
    assert_eq!(found[0].logs.len(), 0, "nothing was printed");
    assert!(found[0].failure.is_some());
}

#[tokio::test]
async fn a_suite_whose_cases_fail_in_turn_has_not_passed() {
    let config = parity_config(vec![case("A"), case("B")]);
    let mut launches = 0;
    let mut launcher = FakeLauncher::commands(move |side, _| {
        launches += 1;
        let fails = side == Side::Head && (launches == 1 || launches == 4);
        finished("", fails.then_some(Failure::Exit { code: 2 }))
    });
    let found = gates(&config, &mut launcher).await;
    assert!(matches!(found[0].outcome, GateOutcome::Flaky { .. }));
    assert_eq!(
        found[1].outcome,
        GateOutcome::Failed {
            reason: "passed at first, then: exited with status 2".to_owned()
        }
    );
    assert_eq!(found.len(), 4, "base was asked too");
}

/// Lesson 13: a missing figure is no data; a default never makes a gate green.
#[tokio::test]
async fn figures_decide_and_a_missing_one_is_no_data() {
    for (out, expected) in [
        ("nmse=1e-9", "parity KD=4 on head passed"),
        ("nmse=0", "parity KD=4 on head passed"),
        (
            "nmse=0.5",
            "parity KD=4 on head failed: nmse is 0.5, over its limit of 0.000001",
        ),
        (
            "nmse=nan",
            "parity KD=4 on head failed: nmse is no finite number: nan",
        ),
        (
            "passed!",
            "parity KD=4 on head gave no data: figure `nmse` was not printed",
        ),
    ] {
        let mut launcher = FakeLauncher::commands(move |_, _| finished(out, None));
        let found = gates(&figure_config(), &mut launcher).await;
        assert_eq!(words(&found)[0], expected);
        assert_eq!(found[0].figures[0].max, 1e-6);
    }
}

fn harness_parity() -> Config {
    let mut config = figure_config();
    config.parity[0].probe = Probe::Harness("KD=4".to_owned());
    config.parity[0].figures[0].value = None;
    let mut second = config.parity[0].clone();
    second.name = "KD=8".to_owned();
    second.figures.clear();
    config.parity.push(second);
    with_harness(config)
}

/// Gates over a harness that gives every parity case `answer`.
async fn answered(answer: serde_json::Value) -> (Vec<GateEvidence>, FakeLauncher) {
    let mut launcher = FakeLauncher::harness(move |_, request| {
        Ok(pleasantries(request).unwrap_or_else(|| {
            let mut answer = answer.clone();
            answer["id"] = request["id"].clone();
            answer.to_string()
        }))
    });
    let found = gates(&harness_parity(), &mut launcher).await;
    (found, launcher)
}

#[tokio::test]
async fn one_harness_answers_all_cases_of_a_suite() {
    let (found, launcher) =
        answered(json!({"ok": true, "passed": true, "figures": {"nmse": 1e-9}})).await;
    assert!(found.iter().all(parity::passes), "{:?}", words(&found));
    assert_eq!(launcher.launched, ["head: <harness>"]);
    assert_eq!(found[0].logs, found[1].logs);
    assert_eq!(found[0].figures[0].value, Some(1e-9));
}

#[tokio::test]
async fn a_harness_must_pass_and_give_every_figure() {
    let (found, _) = answered(json!({"ok": true, "passed": false, "figures": {"nmse": 0}})).await;
    assert_eq!(
        words(&found)[0],
        "parity KD=4 on head failed: the harness says it did not pass"
    );
    let (found, _) = answered(json!({"ok": true, "passed": true, "figures": {}})).await;
    assert!(matches!(found[0].outcome, GateOutcome::NoData { .. }));
    assert_eq!(found[1].outcome, GateOutcome::Passed);
    let (found, _) =
        answered(json!({"ok": true, "passed": true, "figures": {"nmse": "NaN"}})).await;
    assert!(matches!(found[0].outcome, GateOutcome::Failed { .. }));
    let refused = json!({"ok": false, "error": "launch failed", "fault": "case"});
    let (found, _) = answered(refused).await;
    assert!(words(&found)[0].ends_with("failed: the harness reports: launch failed"));
    let refused = json!({"ok": false, "error": "device lost", "fault": "device"});
    let (found, _) = answered(refused).await;
    assert!(words(&found)[0].contains("gave no data: the harness could not run it: device lost"));
}

#[tokio::test]
async fn a_harness_that_dies_is_started_again_for_the_next_case() {
    let mut launcher = FakeLauncher::harness(|_, request| {
        if request["op"] == "parity" && request["case"] == "KD=4" {
            return Err(Failure::Signal { signal: 11 });
        }
        Ok(pleasantries(request).unwrap_or_default())
    });
    let found = gates(&harness_parity(), &mut launcher).await;
    assert!(words(&found)[0].contains("signal 11"));
    assert!(launcher.launched.len() > 2, "{:?}", launcher.launched);
}

/// A kernel that faults takes the device with it: the harness answers so, and ends.
#[tokio::test]
async fn a_case_after_one_that_lost_the_device_meets_a_new_process() {
    let mut lost = false;
    let mut launcher = FakeLauncher::harness(move |_, request| {
        let op = request["op"].as_str().unwrap_or_default();
        if lost && op != "hello" {
            return Err(Failure::Harness {
                message: "it ended without an answer".to_owned(),
            });
        }
        lost = op == "parity" && request["case"] == "KD=4";
        let refused = json!({"id": request["id"], "ok": false, "fault": "case",
            "error": "a kernel failed: illegal memory access"});
        let passed = json!({"id": request["id"], "ok": true, "passed": true, "figures": {}});
        let parity = if lost { refused } else { passed };
        Ok(pleasantries(request).unwrap_or_else(|| parity.to_string()))
    });
    let mut config = harness_parity();
    config.parity[1].probe = Probe::Harness("KD=8".to_owned());
    let found = gates(&config, &mut launcher).await;
    assert!(words(&found)[0].contains("illegal memory access"));
    assert_eq!(words(&found)[1], "parity KD=8 on head passed");
}

async fn identity_of(base: &'static str, head: &'static str, identity: Identity) -> GateEvidence {
    let mut config = config(Vec::new());
    config.identity = Some(identity);
    let mut launcher = FakeLauncher::commands(move |side, _| {
        finished(if side == Side::Base { base } else { head }, None)
    });
    let mut found = gates(&config, &mut launcher).await;
    assert_eq!(found.len(), 1);
    let gate = found.remove(0);
    assert_eq!(
        (gate.kind, gate.name.as_str()),
        (GateKind::Identity, GREEDY)
    );
    gate
}

const TEXT: &str = "the quick brown fox jumps over the lazy dog\n9.1 tok/s\n";
const OTHER: &str = "the quick brown fox leaps over the lazy dog\n9.2 tok/s\n";

#[tokio::test]
async fn equal_output_passes_and_other_output_is_located() {
    let greedy = || identity(command("generate"));
    let gate = identity_of(TEXT, TEXT, greedy()).await;
    assert_eq!(gate.outcome, GateOutcome::Passed);
    assert_eq!(gate.logs.len(), 2);
    let gate = identity_of(TEXT, OTHER, greedy()).await;
    let GateOutcome::Failed { reason } = &gate.outcome else {
        panic!("{:?}", gate.outcome)
    };
    assert!(reason.contains("line 1, token 5, byte 20"), "{reason}");
    assert!(reason.contains("jumps") && reason.contains("leaps"));
}

/// Lesson 14: both greedy outputs were empty; their hashes agreed.
#[tokio::test]
async fn empty_outputs_are_equal_and_still_do_not_pass() {
    let gate = identity_of("9.1 tok/s\n", "9.1 tok/s\n", identity(command("g"))).await;
    assert_eq!(gate.side, Some(Side::Base));
    assert!(matches!(&gate.outcome, GateOutcome::NoData { reason }
        if reason.contains("printed 0 bytes besides dropped lines, too few for 32 tokens")));
    let gate = identity_of(TEXT, "", identity(command("g"))).await;
    assert_eq!(gate.side, Some(Side::Head));
    assert!(matches!(gate.outcome, GateOutcome::Failed { .. }));
}

#[tokio::test]
async fn a_count_of_tokens_must_keep_the_promise() {
    let counted = || {
        let mut identity = identity(command("g"));
        identity.count = Some(Extract::Regex("n=(\\d+)".to_owned()));
        identity
    };
    let gate = identity_of("n=32\n", "n=32\n", counted()).await;
    assert_eq!(gate.outcome, GateOutcome::Passed);
    let gate = identity_of("n=31\n", "n=31\n", counted()).await;
    assert!(matches!(&gate.outcome, GateOutcome::NoData { reason }
        if reason == "base made 31 of 32 tokens"));
    let gate = identity_of(TEXT, TEXT, counted()).await;
    assert!(matches!(&gate.outcome, GateOutcome::NoData { reason }
        if reason.contains("does not say how many tokens")));
}

#[tokio::test]
async fn an_identity_command_that_fails_names_its_side() {
    for (bad, expected) in [
        (
            Side::Base,
            "identity greedy-32 on base gave no data: base exited with status 3",
        ),
        (
            Side::Head,
            "identity greedy-32 on head failed: head exited with status 3",
        ),
    ] {
        let mut config = config(Vec::new());
        config.identity = Some(identity(command("g")));
        let mut launcher = FakeLauncher::commands(move |side, _| {
            finished(TEXT, (side == bad).then_some(Failure::Exit { code: 3 }))
        });
        let found = gates(&config, &mut launcher).await;
        assert_eq!(words(&found), [expected]);
    }
}

/// Identity over a harness that decodes these token ids.
async fn tokens_of(base: Vec<i64>, head: Vec<i64>) -> GateEvidence {
    let mut config = with_harness(config(Vec::new()));
    config.identity = Some(identity(Probe::Harness("greedy".to_owned())));
    let mut launcher = FakeLauncher::harness(move |side, request| {
        Ok(pleasantries(request).unwrap_or_else(|| {
            assert_eq!(
                (&request["op"], &request["tokens"]),
                (&json!("generate"), &json!(32))
            );
            let tokens = if side == Side::Base { &base } else { &head };
            let text = format!("{tokens:?}");
            json!({"id": request["id"], "ok": true, "tokens": tokens, "text": text}).to_string()
        }))
    });
    gates(&config, &mut launcher).await.remove(0)
}

#[tokio::test]
async fn a_harness_compares_token_ids() {
    let all: Vec<i64> = (100..132).collect();
    assert_eq!(
        tokens_of(all.clone(), all.clone()).await.outcome,
        GateOutcome::Passed
    );
    let mut other = all.clone();
    other[6] = 5;
    let gate = tokens_of(all.clone(), other).await;
    assert!(
        matches!(&gate.outcome, GateOutcome::Failed { reason }
        if reason.contains("token 7: base has id 106, head has id 5")),
        "{:?}",
        gate.outcome
    );
    let gate = tokens_of(all.clone(), all[..31].to_vec()).await;
    assert!(matches!(&gate.outcome, GateOutcome::Failed { reason }
        if reason == "head made 31 of 32 tokens"));
    let gate = tokens_of(Vec::new(), Vec::new()).await;
    assert!(
        matches!(gate.outcome, GateOutcome::NoData { .. }),
        "both empty must not pass"
    );
}
