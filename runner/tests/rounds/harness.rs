//! The harness of JSON lines: a small one in Python, in the repository under test.

use crate::scenario::Scenario;

const HARNESS: &str = r#"
import json, os, random, sys, time
SPEED = 100.0
for line in sys.stdin:
    asked = json.loads(line)
    op, answer = asked["op"], {"id": asked["id"], "ok": True}
    if op == "hello":
        answer |= {"protocol": 1, "name": "toy", "cases": ["small"],
                   "benches": [{"name": "speed", "unit": "tok/s"}]}
    elif op == "parity":
        answer |= {"passed": True, "figures": {"nmse": 1e-9}}
    elif op == "generate":
        answer |= {"tokens": list(range(asked["tokens"])), "text": "text"}
    elif op == "sample":
        inner = [SPEED * random.uniform(.998, 1.002) for _ in range(asked["inner"])]
        answer |= {"unit": "tok/s", "value": sorted(inner)[len(inner) // 2], "inner": inner}
        pass # here
    print(json.dumps(answer), flush=True)
    if op == "bye":
        break
"#;

const CAMPAIGN: &str = r#"
[campaign]
name = "toy"

[toolchain]
cuda = "none"

[build]
command = "cp harness.py engine && chmod +x engine"
outputs = ["engine"]

[harness]
command = ["python3", "engine"]
start_timeout_s = 20

[[parity]]
name = "small"
harness = true
figures = [{ name = "nmse", max = 1e-4 }]

[identity]
harness = true

[[bench]]
name = "speed"
harness = true
unit = "tok/s"
better = "higher"
bar = "+1.5%"
timeout_s = 1

[protocol]
pairs = 6
"#;

fn scenario(from: &str, to: &str) -> Scenario {
    let scenario = Scenario::empty();
    scenario.write("harness.py", HARNESS);
    scenario.write("campaign.toml", CAMPAIGN);
    scenario.commit("harness: first version");
    scenario.edit("harness.py", from, to);
    scenario.commit("harness: another");
    scenario
}

#[test]
fn a_round_by_harness_alone() {
    let run = scenario("SPEED = 100.0", "SPEED = 105.0")
        .run(&[])
        .expect_verdict("LANDED");
    let gates = run.at("/evidence/gates").as_array().expect("gates").clone();
    assert_eq!(gates.len(), 2);
    assert!(
        gates
            .iter()
            .all(|gate| gate["outcome"]["outcome"] == "passed"),
        "{gates:#?}"
    );
    let samples = run
        .at("/evidence/benches/0/samples")
        .as_array()
        .expect("samples")
        .clone();
    assert_eq!(samples.len(), 14);
    assert!(
        samples
            .iter()
            .all(|sample| sample["inner"].as_array().map(Vec::len) == Some(8))
    );

    let other = r#"list(range(asked["tokens"])), "text": "text"}; answer["tokens"][5] = 99"#;
    let from = r#"list(range(asked["tokens"])), "text": "text"}"#;
    let run = scenario(from, other).run(&[]).expect_verdict("BROKEN");
    assert!(run.reasons().contains("99"), "{}", run.reasons());
}

#[test]
fn a_harness_that_misbehaves_is_broken_and_gone() {
    let cases = [
        ("os._exit(3)", "BROKEN", "exit", "status 3"),
        ("os.kill(os.getpid(), 11)", "BROKEN", "signal", "SIGSEGV"),
        (
            "print('garbage', flush=True)",
            "BROKEN",
            "harness",
            "`garbage`, which is not JSON",
        ),
        ("print('\\udcff', flush=True)", "BROKEN", "harness", ""),
        (
            "os.system('setsid sleep 4751 &'); time.sleep(60)",
            "BROKEN",
            "timed-out",
            "limit of 1 s",
        ),
        (
            "sys.stdout.write('x' * 100000000)",
            "BROKEN",
            "too-much-output",
            "",
        ),
        ("answer['id'] = 99", "BROKEN", "harness", "with number 99"),
        (
            "del answer['value']",
            "BROKEN",
            "harness",
            "missing field `value`",
        ),
        ("answer['value'] = 'NaN'", "BROKEN", "not-a-number", "NaN"),
        ("answer['value'] = 0", "BROKEN", "not-positive", ""),
        (
            "answer['value'] *= 1.1",
            "BROKEN",
            "harness",
            "not the median of its inner runs",
        ),
        ("answer['unit'] = 's'", "BROKEN", "other-unit", ""),
        (
            "answer |= {'ok': False, 'error': 'launch failed', 'fault': 'case'}",
            "BROKEN",
            "harness",
            "launch failed",
        ),
        // The harness itself says that it was not the code.
        (
            "answer |= {'ok': False, 'error': 'fell off the bus', 'fault': 'device'}",
            "ENV-INVALID",
            "device",
            "fell off the bus",
        ),
    ];
    // Gates would only take time.
    let gates = CAMPAIGN.find("[[parity]]").zip(CAMPAIGN.find("[[bench]]"));
    let (from, to) = gates.expect("the config has both");
    let benches_only = format!("{}{}", &CAMPAIGN[..from], &CAMPAIGN[to..]);
    for (line, verdict, kind, said) in cases {
        let scenario = scenario("pass # here", line);
        let bare = scenario.path("bare.toml");
        std::fs::write(&bare, &benches_only).expect("a file");
        let bare = bare.to_str().expect("UTF-8");
        let run = scenario.run(&["--config", bare]).expect_verdict(verdict);
        let samples = run
            .at("/evidence/benches/0/samples")
            .as_array()
            .expect("samples")
            .clone();
        let head: Vec<_> = samples
            .iter()
            .filter(|sample| sample["side"] == "head")
            .collect();
        assert_eq!(head.len(), 2, "{line}: once more before it counts");
        for sample in head {
            assert_eq!(sample["failure"]["kind"], kind, "{line}");
            assert!(sample["value"].is_null(), "{line}");
        }
        assert!(
            run.reasons().contains(said) || run.outcome.stdout.contains(said),
            "{line}"
        );
        assert_eq!(scenario.processes(), [""; 0], "{line}");
    }
}

/// Where campaign.toml gives no number of timed runs, the first run takes the default for want of
/// anything known, a run after a calibration takes the rule, and a replay takes what was taken.
#[test]
fn timed_runs_are_planned_and_replayed() {
    let scenario = scenario("SPEED = 100.0", "SPEED = 105.0");
    let plan = |run: &crate::scenario::Run| run.at("/evidence/benches/0/plan").clone();
    let first = scenario.run(&[]).expect_verdict("LANDED");
    assert_eq!(plan(&first)["inner"], 8);
    assert_eq!(plan(&first)["reason"]["from"], "default");

    scenario
        .runner(&["calibrate", "--pairs", "6"])
        .expect_code(0);
    let second = scenario.run(&[]).expect_verdict("LANDED");
    let planned = plan(&second);
    assert_eq!(planned["reason"]["from"], "rule", "{planned}");
    assert_eq!(planned["reason"]["scatter"]["source"], "profile");
    let samples = second.at("/evidence/benches/0/samples").clone();
    let runs = |at: usize| samples[at]["inner"].as_array().map(Vec::len);
    assert_eq!(runs(0), Some(8), "a throw-away has the default");
    let inner = planned["inner"].as_u64().map(|inner| inner as usize);
    assert_eq!(runs(2), inner);
    assert!(samples[2]["answer_ms"].is_f64(), "{samples}");

    let run = second.at("/run/id").to_string();
    scenario.runner(&["replay", &run, "--json"]);
    let replayed = scenario.runner(&["show", "4", "--json"]).json();
    let again = &replayed["evidence"]["benches"][0]["plan"];
    assert_eq!(again["inner"], planned["inner"], "{again}");
    assert_eq!(again["reason"]["from"], "replayed");
}
