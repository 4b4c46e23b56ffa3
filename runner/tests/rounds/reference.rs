//! Another program beside the pairs, and floors, in whole rounds.

use crate::scenario::{Run, Scenario};

const FASTER: (&str, &str, &str) = ("engine.c", "SPEED 100.0", "SPEED 105.0");

/// The engine's campaign under the sequential protocol, with a reference that prints what the file
/// `other` holds.
fn scenario() -> Scenario {
    let scenario = Scenario::engine();
    let other = scenario.path("other").display().to_string();
    let program = scenario.path("program").display().to_string();
    let reference = format!(
        "[[reference]]\nname = \"other\"\nbench = \"speed\"\ncommand = \"cat {other}\"\n\
         commit = \"b4567\"\nfiles = [\"{program}\"]\n"
    );
    scenario.edit("campaign.toml", "[protocol]\npairs = 6\n", &reference);
    scenario.commit("engine: base");
    scenario.edit(FASTER.0, FASTER.1, FASTER.2);
    scenario.commit("engine: head");
    std::fs::write(&program, "a program").expect("a file");
    scenario
}

fn other(scenario: &Scenario, text: &str) {
    std::fs::write(scenario.path("other"), text).expect("a file");
}

fn ratio(run: &Run) -> f64 {
    run.at("/references/0/ratio").as_f64().expect("a ratio")
}

#[test]
fn lesson_23_a_reference_is_measured_in_the_same_window() {
    let scenario = scenario();
    other(&scenario, "speed: 50.0 tok/s");
    let run = scenario.run(&[]).expect_verdict("LANDED");
    assert!((ratio(&run) - 2.1).abs() < 0.01, "{}", ratio(&run));
    assert_eq!(
        run.at("/references/0/blocks"),
        5,
        "one a block of two pairs"
    );
    let file = run.at("/evidence/references/0/files/0");
    // sha256 of `a program`.
    let sha256 = "d69ea8cda2433733c1ce02de65da8f48e6a3dbba6bb18876a2062908e54ef7cb";
    assert_eq!(file["sha256"], sha256);
    let reasons = run.reasons();
    assert!(
        reasons.contains("times as fast as other (commit b4567)"),
        "{reasons}"
    );

    // Enough windows for a band; then the reference is another one, and the lever is what it was.
    scenario.run(&[]).expect_verdict("LANDED");
    scenario.run(&[]).expect_verdict("LANDED");
    other(&scenario, "speed: 40.0 tok/s");
    let run = scenario.run(&[]).expect_verdict("LANDED");
    assert_eq!(
        run.at("/evidence/references/0/history"),
        &serde_json::json!([50.0, 50.0, 50.0])
    );
    let reasons = run.reasons();
    assert!(
        reasons.contains("other is outside its own history"),
        "{reasons}"
    );
    // With another program under its name it has no history.
    std::fs::write(scenario.path("program"), "another").expect("a file");
    let run = scenario.run(&[]).expect_verdict("LANDED");
    assert_eq!(
        run.at("/evidence/references/0/history"),
        &serde_json::json!([])
    );
}

#[test]
fn a_reference_that_is_broken_has_no_say_in_the_verdict() {
    let scenario = scenario();
    std::fs::remove_file(scenario.path("program")).expect("it was there");
    let run = scenario.run(&[]).expect_verdict("LANDED");
    assert_eq!(run.outcome.code, 0);
    assert_eq!(run.at("/references/0/ratio"), &serde_json::Value::Null);
    let reasons = run.reasons();
    assert!(reasons.contains("2 of 2 launches failed"), "{reasons}");
    assert!(reasons.contains("was not hashed"), "{reasons}");
}

#[test]
fn lesson_15_an_impossible_value_of_head_is_broken_with_the_arithmetic() {
    let floor = (
        "campaign.toml",
        "bar = \"+1.5%\"",
        "bar = \"+1.5%\"\nfloor = { bytes = \"1 GB\", work = 1 }",
    );
    let machine = (
        "campaign.toml",
        "[protocol]",
        "[machine]\npeak_bandwidth = \"120 GB/s\"\n[protocol]",
    );
    let impossible = ("engine.c", "SPEED 100.0", "SPEED 153945.0");
    let run = Scenario::engine_pair(&[floor, machine], &[impossible])
        .run(&[])
        .expect_verdict("BROKEN");
    let headline = run.at("/judgement/headline").as_str().unwrap_or_default();
    assert!(
        headline.contains("above the ceiling of 120")
            && headline.contains("1 tok for 1 GB at 120 GB/s"),
        "{headline}"
    );
    Scenario::engine_pair(&[floor, machine], &[FASTER])
        .run(&[])
        .expect_verdict("LANDED");
}
