//! Base against base: recorded, profiled, and no round of the campaign.

use crate::interrupted::{samples, send, slow};
use crate::scenario::{Run, Scenario};

fn calibrated(scenario: &Scenario, args: &[&str]) -> serde_json::Value {
    let args = [&["calibrate", "--json"], args].concat();
    scenario.runner(&args).expect_code(0).json()
}

#[test]
fn a_calibration_makes_a_profile_and_is_no_round() {
    let scenario = Scenario::engine_pair(&[], &[("engine.c", "SPEED 100.0", "SPEED 110.0")]);
    let before = scenario.runner(&["check"]);
    assert!(
        before.stdout.contains("no noise profile of speed"),
        "{before:?}"
    );

    let made = calibrated(&scenario, &["--pairs", "8", "--seed", "3"]);
    let profile = &made["profiles"][0];
    assert_eq!(profile["bench"], "speed");
    assert_eq!(profile["noise"]["pairs"], 8);
    assert!(profile["noise"]["sigma"]["value"].is_f64(), "{made}");
    assert!(profile["aa"]["outcome"].is_string(), "{made}");
    let expected = &made["expected"]["benches"][0];
    assert_eq!(expected["outlook"]["asked"], "fixed", "{made}");

    // The same code on both sides was measured all the same, and stored as any run is.
    let stored = scenario
        .runner(&["show", "1", "--json"])
        .expect_code(0)
        .json();
    assert_eq!(stored["run"]["purpose"], "calibration");
    let samples = &stored["evidence"]["benches"][0]["samples"];
    assert_eq!(samples.as_array().map(Vec::len), Some(18));
    let builds = &stored["evidence"]["builds"];
    assert_eq!(builds["base"]["outputs"], builds["head"]["outputs"]);
    scenario
        .runner(&["show", "1"])
        .expect_code(0)
        .expect_text("calibration of toy, run 1")
        .expect_text("speed: sigma");

    // What comes of it: the next run says what to expect, and its base has a history.
    let run = scenario.run(&[]).expect_verdict("LANDED");
    assert!(run.outcome.stderr.contains("by run 1"), "{run:?}");
    scenario
        .runner(&["check"])
        .expect_text("noise: speed: 6 pairs");
    scenario
        .runner(&["calibrate", "--show"])
        .expect_code(0)
        .expect_text("1 bench of this campaign with a noise profile");

    let list = scenario.runner(&["show", "--json"]).json();
    let purposes: Vec<_> = list["runs"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|run| (run["purpose"].clone(), run["verdict"].is_null()))
        .collect();
    assert_eq!(
        purposes,
        [("calibration".into(), true), ("lever".into(), false)]
    );
    let site = scenario.path("site");
    scenario
        .runner(&["index", "--out", site.to_str().expect("UTF-8"), "--json"])
        .expect_code(0);
    let index = std::fs::read_to_string(site.join("campaign.json")).expect("an index");
    let index: serde_json::Value = serde_json::from_str(&index).expect("JSON");
    assert_eq!(index["rows"].as_array().map(Vec::len), Some(1), "{index}");
}

#[test]
fn a_calibrations_base_is_history_of_the_run_on_it() {
    let scenario = Scenario::engine_pair(&[], &[("engine.c", "SPEED 100.0", "SPEED 110.0")]);
    calibrated(&scenario, &["--pairs", "6", "--commit", "HEAD~1"]);
    let run: Run = scenario.run(&[]).expect_verdict("LANDED");
    let history = run.at("/evidence/benches/0/base_history");
    assert_eq!(history.as_array().map(Vec::len), Some(1), "{history}");
}

#[test]
fn what_cannot_be_calibrated_is_refused_with_the_reason() {
    let scenario = Scenario::engine_pair(&[], &[("engine.c", "SPEED 100.0", "SPEED 110.0")]);
    scenario
        .runner(&["calibrate", "--bench", "sped"])
        .expect_code(2)
        .expect_text("campaign.toml has no bench `sped`; it has speed");
    scenario
        .runner(&["calibrate", "--pairs", "3"])
        .expect_code(2);
    scenario
        .runner(&["calibrate", "--commit", "nothing"])
        .expect_code(2);

    scenario.edit("engine.c", "SPEED * (1", "0 * (1");
    scenario.commit("engine: no speed any more");
    scenario
        .runner(&["calibrate", "--pairs", "6"])
        .expect_code(1)
        .expect_text("no profile: 0 valid pairs are too few");
    // The first calibration is run 1: it is no lever that could be repeated.
    scenario
        .runner(&["replay", "1"])
        .expect_code(2)
        .expect_text("run 1 is a calibration");
    scenario
        .runner(&["decide", "1", "--land", "--reason", "it is fast"])
        .expect_code(2)
        .expect_text("run 1 is a calibration");
}

#[test]
fn a_calibration_that_was_stopped_makes_no_profile() {
    let scenario = slow(150);
    let mut child = scenario.start(&["calibrate", "--pairs", "100"]);
    scenario.until("samples are taken", || samples(&scenario) >= 4);
    send("TERM", &child);
    let status = child.wait().expect("it ends");
    assert_eq!(status.code(), Some(1));
    scenario
        .runner(&["show", "1"])
        .expect_code(0)
        .expect_text("it was stopped, so it made no profile");
    scenario
        .runner(&["calibrate", "--show"])
        .expect_code(1)
        .expect_text("without: speed");
}
