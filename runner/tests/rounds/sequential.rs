//! Rounds under the sequential protocol. The engine's noise is at most 0.2 % to either side, so a
//! pair's effect lies within 0.41 points of the true one, and every outcome below is certain.

use std::process::Command;

use crate::scenario::{Run, Scenario};

const FASTER: (&str, &str, &str) = ("engine.c", "SPEED 100.0", "SPEED 105.0");
/// The protocol of the engine's campaign, and none in its place.
const DEFAULT: (&str, &str, &str) = ("campaign.toml", "[protocol]\npairs = 6\n", "");

/// A second bench without a bar: a guard.
const GUARD: (&str, &str, &str) = (
    "campaign.toml",
    "[[bench]]\n",
    r#"[[bench]]
name = "decode"
command = ["./engine", "decode"]
value = { regex = 'speed: (?<value>\S+) (?<unit>\S+)' }
unit = "tok/s"
better = "higher"

[[bench]]
"#,
);

const DECODE: (&str, &str, &str) = (
    "engine.c",
    "    else if (!strcmp(mode, \"greedy\"))",
    "    else if (!strcmp(mode, \"decode\")) printf(\"speed: %.4f tok/s\\n\", DECODE * (1 + 0.004 * noise()));\n    else if (!strcmp(mode, \"greedy\"))",
);

const DECODE_SPEED: (&str, &str, &str) = (
    "engine.c",
    "#define FIRST_TOKEN 7",
    "#define FIRST_TOKEN 7\n#define DECODE 50.0",
);

/// Base under the default protocol, and head with these edits.
fn head(edits: &[(&str, &str, &str)]) -> Scenario {
    Scenario::engine_pair(&[DEFAULT], edits)
}

fn guarded(edits: &[(&str, &str, &str)]) -> Scenario {
    Scenario::engine_pair(&[DEFAULT, GUARD, DECODE, DECODE_SPEED], edits)
}

/// The pairs at each look of a bench.
fn looks(run: &Run, bench: u32) -> Vec<u64> {
    let looks = run.at(&format!("/judgement/benches/{bench}/looks"));
    let looks = looks.as_array().cloned().unwrap_or_default();
    looks.iter().filter_map(|l| l["pairs"].as_u64()).collect()
}

#[test]
fn a_real_effect_lands_at_the_first_look_that_can_say_so() {
    let scenario = head(&[FASTER]);
    let run = scenario.run(&[]).expect_verdict("LANDED");
    assert_eq!(run.at("/judgement/benches/0/pairs"), 10);
    assert_eq!(looks(&run, 0), [6, 10]);
    assert!(run.at("/judgement/benches/0/looks/0/real").is_null());
    assert_eq!(run.at("/judgement/benches/0/looks/0/is_real"), false);
    assert_eq!(run.at("/judgement/benches/0/looks/1/is_real"), true);
    let low = |name: &str| run.at(&format!("/judgement/benches/0/{name}/low")).as_f64();
    assert!(low("effect").is_some_and(|low| low > 0.0));
    assert_eq!(low("effect"), low("looks/1/real"));
    assert!(low("looks/1/close") >= low("looks/1/real"));
    assert!(run.reasons().contains("in at most 0.98 % of runs"));
    assert!(!run.reasons().contains("fixed protocol"));
    let recorded = run.at("/evidence/config/protocol/sequential/smallest_worthwhile");
    assert_eq!(recorded, 0.5);

    let docs = include_str!("../../../docs/json.md");
    let look = run.at("/judgement/benches/0/looks/0").as_object();
    for key in look.expect("an object").keys() {
        assert!(docs.contains(&format!("`{key}`")), "docs/json.md: {key}");
    }
    let shown = scenario.runner(&["show", "1"]).expect_code(0);
    let shown = shown.expect_text("look 2 of 5").stdout;
    let listed = shown.split("\nLooks\n").nth(1).unwrap_or_default();
    assert!(listed.contains(" 6 pairs"), "{shown}");
    scenario
        .runner(&["show", "1", "--markdown"])
        .expect_text("<summary>Looks of the sequential protocol</summary>");
    let out = scenario.path("site");
    let out = out.to_str().expect("UTF-8");
    scenario.runner(&["index", "--out", out]).expect_code(0);
    let page = std::fs::read_to_string(format!("{out}/lever/1.html")).expect("a page");
    assert!(page.contains("look 2 of 5"), "{page}");

    let replayed = scenario.runner(&["replay", "1", "--json"]).json();
    assert_eq!(replayed["comparison"]["code"]["outcome"], "SAME");
    let protocol = "/evidence/config/protocol/sequential";
    let repeated = scenario.runner(&["show", "2", "--json"]).json();
    assert!(repeated.pointer(protocol).is_some(), "the same protocol");
    assert_eq!(repeated["judgement"]["benches"][0]["pairs"], 10);
}

#[test]
fn an_effect_that_is_worth_nothing_is_given_up_early() {
    let scenario = head(&[("engine.c", "SPEED 100.0", "SPEED 100.01")]);
    let run = scenario.run(&[]).expect_verdict("REVERTED");
    assert_eq!(looks(&run, 0), [6]);
    assert_eq!(run.at("/judgement/benches/0/finding"), "no-effect");
    assert!(run.outcome.code == 1, "{}", run.outcome.code);
}

#[test]
fn a_sub_bar_effect_is_told_apart() {
    let scenario = head(&[("engine.c", "SPEED 100.0", "SPEED 101.0")]);
    let run = scenario.run(&[]).expect_verdict("REVERTED");
    assert_eq!(looks(&run, 0), [6, 10]);
    assert_eq!(run.at("/judgement/benches/0/finding"), "below-bar");
    assert!(run.reasons().contains("no sub-bar landing"));
}

#[test]
fn a_guard_decides_whatever_the_target_gained() {
    let slower = ("engine.c", "DECODE 50.0", "DECODE 47.5");
    let run = guarded(&[FASTER, slower])
        .run(&[])
        .expect_verdict("REVERTED");
    assert_eq!(run.at("/judgement/benches/0/finding"), "reaches-bar");
    assert_eq!(run.at("/judgement/benches/1/bench"), "decode");
    assert_eq!(run.at("/judgement/benches/1/finding"), "regression");
    assert_eq!(looks(&run, 1), [6, 10]);
    let high = run.at("/judgement/benches/1/effect/high").as_f64();
    assert!(high.is_some_and(|high| high < 0.0), "{high:?}");

    let run = guarded(&[FASTER]).run(&[]).expect_verdict("LANDED");
    assert_eq!(run.at("/judgement/benches/1/finding"), "not-worse");
    assert_eq!(looks(&run, 1), [6]);
}

#[test]
fn nothing_more_is_measured_once_a_target_is_lost() {
    let nothing = ("engine.c", "SPEED 100.0", "SPEED 100.01");
    let scenario = guarded(&[nothing]);
    let run = scenario.run(&[]).expect_verdict("REVERTED");
    assert_eq!(run.at("/judgement/benches/1/finding"), "not-measured");
    assert_eq!(run.at("/judgement/benches/1/pairs_missing"), 0);
    let reasons = run.reasons();
    let said = "decode was not measured: the verdict was settled";
    assert!(reasons.contains(said), "{reasons}");
    let taken = "print(db.execute('select count(*) from sample').fetchone()[0])";
    assert_eq!(scenario.database(taken), "14");
}

/// Head with a counter of its launches, some of which fail.
fn failing(launches: &str) -> Scenario {
    let fails = format!(
        "if (!strcmp(mode, \"bench\")) {{ FILE *f = fopen(getenv(\"COUNTER\"), \"a+\"); int n = 1; \
         while (fgetc(f) != EOF) n++; fputc('x', f); fclose(f); if ({launches}) return 3; }}\n    \
         if (!strcmp(mode, \"bench\"))"
    );
    let scenario = Scenario::empty();
    let counter = scenario.path("counter").display().to_string();
    scenario.write("engine.c", crate::scenario::ENGINE);
    scenario.write("Makefile", crate::scenario::MAKEFILE);
    let variable = format!("[environment]\nset = {{ COUNTER = \"{counter}\" }}\n");
    let campaign = crate::scenario::CAMPAIGN.replace(DEFAULT.1, &variable);
    scenario.write("campaign.toml", &campaign);
    scenario.commit("engine: base");
    scenario.edit(FASTER.0, FASTER.1, FASTER.2);
    scenario.edit("engine.c", "if (!strcmp(mode, \"bench\"))", &fails);
    scenario.commit("engine: head");
    scenario
}

#[test]
fn a_launch_that_fails_in_the_middle_of_a_block_costs_a_pair_and_no_verdict() {
    let run = failing("n == 5 || n == 6")
        .run(&[])
        .expect_verdict("LANDED");
    assert_eq!(run.at("/judgement/benches/0/pairs"), 10);
    assert_eq!(run.at("/judgement/benches/0/pairs_missing"), 1);
    let reasons = run.reasons();
    let said = "another pair was measured in the place of its own";
    assert!(reasons.contains(said), "{reasons}");

    let run = failing("n == 5").run(&[]).expect_verdict("LANDED");
    assert_eq!(run.at("/judgement/benches/0/pairs_missing"), 0);
    let reasons = run.reasons();
    assert!(reasons.contains("its pair counts"), "{reasons}");

    let run = failing("n >= 5").run(&[]).expect_verdict("BROKEN");
    let reasons = run.reasons();
    assert!(reasons.contains("while base works"), "{reasons}");
}

#[test]
fn values_that_never_change_have_an_outcome() {
    let constant = ("engine.c", "0.004 * noise()", "0.0 * noise()");
    for (speed, verdict, taken) in [("105.0", "LANDED", 10), ("100.00", "REVERTED", 6)] {
        let speed = format!("SPEED {speed}");
        // A change of the machine code that the speed does not show.
        let other = ("engine.c", "return 2", "return 3");
        let edits = [constant, ("engine.c", "SPEED 100.0", &speed), other];
        let scenario = Scenario::engine_pair(&[DEFAULT, constant], &edits[1..]);
        let run = scenario.run(&[]).expect_verdict(verdict);
        assert_eq!(run.at("/judgement/benches/0/pairs"), taken);
    }
}

#[test]
fn a_run_that_is_stopped_between_looks_is_not_judged() {
    let wait =
        "if (!strcmp(mode, \"bench\")) usleep(400 * 1000);\n    if (!strcmp(mode, \"bench\"))";
    let slow = ("engine.c", "if (!strcmp(mode, \"bench\"))", wait);
    let scenario = Scenario::engine_pair(&[DEFAULT, slow], &[FASTER]);
    let mut child = scenario.start(&["run"]);
    let count = "print(db.execute(\"select count(*) from sqlite_schema, sample \
                 where name = 'sample'\").fetchone()[0])";
    // After the first look, whose last sample is the fourteenth; the second has 22.
    scenario.until("it is past the first look", || {
        scenario.path("data/roundhouse.db").exists()
            && scenario
                .database(count)
                .parse::<u32>()
                .is_ok_and(|n| n > 14)
    });
    let sent = Command::new("/bin/kill")
        .args(["-TERM", &child.id().to_string()])
        .status();
    assert!(sent.is_ok_and(|status| status.success()));
    assert_eq!(child.wait().expect("waited for").code(), Some(3));
    let shown = scenario.runner(&["show", "1", "--json"]).json();
    assert_eq!(shown["judgement"]["verdict"], "ENV-INVALID");
    assert_eq!(shown["judgement"]["benches"], serde_json::json!([]));
    let run = scenario.run(&[]).expect_verdict("LANDED");
    assert_eq!(run.at("/judgement/benches/0/pairs"), 10);
    assert_eq!(
        run.at("/evidence/benches/0/base_history"),
        &serde_json::json!([])
    );
}
