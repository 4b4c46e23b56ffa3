//! Across rounds: bisections and anchors. The bench prints a number from a file, so that every
//! outcome is certain and nothing depends on time.

use serde_json::Value;

use crate::scenario::{Outcome, Scenario};

const CAMPAIGN: &str = r#"
[campaign]
name = "steady"

[toolchain]
cuda = "none"

[build]
command = "sh build.sh"
outputs = ["engine"]

[[bench]]
name = "speed"
command = ["./engine"]
value = { regex = '(\S+) tok/s' }
unit = "tok/s"
better = "higher"
"#;

/// The engine prints what the build found in `speed`.
const BUILD: &str =
    "printf '#!/bin/sh\\necho %s tok/s\\n' \"$(cat speed)\" > engine\nchmod +x engine\n";

struct Steady {
    scenario: Scenario,
    commits: Vec<String>,
}

impl Steady {
    /// A repository whose first commit has this speed.
    fn new(speed: &str) -> Steady {
        let scenario = Scenario::empty();
        scenario.write("campaign.toml", CAMPAIGN);
        scenario.write("build.sh", BUILD);
        scenario.write("speed", speed);
        let first = scenario.commit("engine: first version");
        Steady {
            scenario,
            commits: vec![first],
        }
    }

    /// Commits a speed.
    fn speed(&mut self, speed: &str, message: &str) -> String {
        self.scenario.write("speed", speed);
        self.scenario.write("notes.md", message);
        let commit = self.scenario.commit(message);
        self.commits.push(commit.clone());
        commit
    }

    fn bisect(&self, args: &[&str]) -> Outcome {
        self.scenario.runner(&[&["bisect", "speed"], args].concat())
    }

    /// `bisect --json` from the first commit to the last.
    fn search(&self, args: &[&str]) -> (Outcome, Value) {
        let ends = [self.commits[0].as_str(), "HEAD", "--json"];
        let outcome = self.bisect(&[&ends, args].concat());
        let document = serde_json::from_str(&outcome.stdout).unwrap_or(Value::Null);
        (outcome, document)
    }

    fn runs(&self, purpose: &str) -> u32 {
        let count = format!(
            "print(db.execute(\"select count(*) from run where purpose = '{purpose}'\").fetchone()[0])"
        );
        self.scenario.database(&count).parse().expect("a number")
    }
}

/// Twelve commits after the good one; the eighth of them is slow.
fn slow_at_eight() -> Steady {
    let mut steady = Steady::new("100.0");
    for n in 1..=12 {
        let speed = if n < 8 { 100.0 } else { 95.0 } + f64::from(n) / 1000.0;
        steady.speed(&speed.to_string(), &format!("engine: change {n}"));
    }
    steady
}

fn found(document: &Value) -> Option<&str> {
    let commit = document["bisect"]["commit"].as_u64()?;
    document["bisect"]["commits"][usize::try_from(commit).ok()?]["subject"].as_str()
}

#[test]
fn the_first_bad_commit_is_found_and_nothing_is_measured_twice() {
    let steady = slow_at_eight();
    let (outcome, document) = steady.search(&[]);
    let outcome = outcome.expect_code(0);
    assert_eq!(found(&document), Some("engine: change 8"), "{document:#}");
    // Both ends, and at most four between twelve.
    let made = document["comparisons_made"].as_u64().expect("a number");
    assert!((4..=5).contains(&made), "{made}\n{}", outcome.stderr);
    assert_eq!(u64::from(steady.runs("bisect")), made);
    assert_eq!(steady.runs("lever"), 0);
    let first = &document["bisect"]["comparisons"][0];
    assert_eq!(first["said"], "slower");
    let estimate = first["effect"]["estimate"].as_f64().expect("an effect");
    assert!((estimate + 4.988).abs() < 0.01, "{estimate}");

    let again = steady.bisect(&[&steady.commits[0], "HEAD"]);
    let again = again
        .expect_code(0)
        .expect_text("first bad commit: ")
        .expect_text("engine: change 8")
        .expect_text(&format!(
            "0 comparisons made and {made} on record, 12 commits"
        ));
    assert!(
        again.stdout.contains("slower, on record"),
        "{}",
        again.stdout
    );
    assert_eq!(u64::from(steady.runs("bisect")), made);
    // No bisection is a round.
    let out = steady.scenario.path("site");
    let out = out.to_str().expect("UTF-8");
    let index = steady.scenario.runner(&["index", "--out", out]);
    index.expect_code(0).expect_text("0 rounds of steady");
}

#[test]
fn a_commit_that_does_not_build_is_skipped() {
    let mut steady = Steady::new("100");
    for n in 1..=8 {
        // The middle one does not build.
        match n {
            4 => steady.scenario.write("build.sh", "exit 7\n"),
            _ => steady.scenario.write("build.sh", BUILD),
        }
        let speed = if n < 7 { 100 } else { 95 };
        steady.speed(&speed.to_string(), &format!("engine: change {n}"));
    }
    let (outcome, document) = steady.search(&[]);
    outcome.expect_code(0).expect_text("skipped: ");
    assert_eq!(found(&document), Some("engine: change 7"));

    let mut steady = Steady::new("100");
    for n in 1..=3 {
        match n {
            1 | 2 => steady.scenario.write("build.sh", "exit 7\n"),
            _ => steady.scenario.write("build.sh", BUILD),
        }
        let speed = if n < 2 { 100 } else { 95 };
        steady.speed(&speed.to_string(), &format!("engine: change {n}"));
    }
    let outcome = steady.bisect(&[&steady.commits[0], "HEAD"]);
    outcome
        .expect_code(1)
        .expect_text("the first bad commit is one of these:")
        .expect_text("engine: change 1")
        .expect_text("engine: change 3");
}

#[test]
fn end_points_that_do_not_differ_or_fit_are_said() {
    let mut steady = Steady::new("100");
    steady.speed("100.01", "engine: as fast");
    steady.speed("103", "engine: faster");
    let outcome = steady.bisect(&[&steady.commits[0], "HEAD"]);
    outcome
        .expect_code(1)
        .expect_text("speed is not slower at bad: there is no commit to find");
    assert_eq!(steady.runs("bisect"), 1);
    let backwards = steady.bisect(&["HEAD", &steady.commits[0]]);
    backwards
        .expect_code(2)
        .expect_text("is no ancestor of bad");
    let other = steady
        .scenario
        .runner(&["bisect", "decode", &steady.commits[0], "HEAD"]);
    other
        .expect_code(2)
        .expect_text("campaign.toml has no bench `decode`; it has speed");
    let same = steady.bisect(&["HEAD", "HEAD"]);
    same.expect_code(2).expect_text("the same commit");
}

#[test]
fn a_threshold_lets_smaller_losses_pass() {
    let mut steady = Steady::new("100");
    for (n, speed) in [99.0, 99.01, 99.02, 95.0, 95.01].into_iter().enumerate() {
        steady.speed(&speed.to_string(), &format!("engine: change {}", n + 1));
    }
    let (outcome, document) = steady.search(&[]);
    outcome.expect_code(0);
    assert_eq!(found(&document), Some("engine: change 1"));
    let (outcome, document) = steady.search(&["--threshold", "2%"]);
    outcome.expect_code(0);
    assert_eq!(found(&document), Some("engine: change 4"));
    // A comparison with another threshold is asked again of the samples there are.
    assert!(document["comparisons_on_record"].as_u64() >= Some(1));
}

#[test]
fn a_merge_is_one_commit_unless_its_branch_is_wanted() {
    let mut steady = Steady::new("100");
    let scenario = &steady.scenario;
    scenario.git(&["checkout", "-q", "-b", "side"]);
    scenario.write("side.md", "a");
    scenario.commit("side: a note");
    scenario.write("speed", "95");
    scenario.commit("side: slower");
    scenario.git(&["checkout", "-q", "main"]);
    scenario.write("other.md", "b");
    scenario.commit("main: a note");
    scenario.git(&["merge", "-q", "--no-ff", "-m", "merge of side", "side"]);
    steady.speed("95.01", "main: after the merge");
    let (outcome, document) = steady.search(&[]);
    outcome.expect_code(0);
    assert_eq!(found(&document), Some("merge of side"));
    let (outcome, document) = steady.search(&["--all-parents"]);
    outcome.expect_code(0);
    assert_eq!(found(&document), Some("side: slower"));
}

#[test]
fn samples_of_a_round_answer_where_they_are_enough() {
    let mut steady = Steady::new("100");
    steady.speed("105", "engine: faster");
    steady.scenario.run(&[]).expect_verdict("LANDED");
    let (outcome, document) = steady.search(&[]);
    outcome.expect_code(1);
    assert_eq!(document["bisect"]["ending"], "not-slower");
    assert_eq!(document["comparisons_on_record"], 1);
    assert_eq!(steady.runs("bisect"), 0);

    // This round gave up after the first look, at which a loss cannot be shown to be real.
    let mut steady = Steady::new("100");
    steady.speed("95", "engine: slower");
    let run = steady.scenario.run(&[]).expect_verdict("REVERTED");
    assert_eq!(run.at("/judgement/benches/0/pairs"), 6);
    let (outcome, document) = steady.search(&[]);
    outcome.expect_code(0);
    assert_eq!(found(&document), Some("engine: slower"));
    assert_eq!(document["bisect"]["comparisons"][0]["pairs"], 10);
    assert_eq!(steady.runs("bisect"), 1);
}

#[test]
fn an_interrupted_search_goes_on() {
    let mut steady = Steady::new("100");
    let slow = format!("{BUILD}sed -i 's/^echo/sleep 0.05; echo/' engine\n");
    steady.scenario.write("build.sh", &slow);
    let good = steady.speed("100", "engine: good");
    for n in 1..=4 {
        let speed = if n < 3 { 100.0 } else { 95.0 } + f64::from(n) / 1000.0;
        steady.speed(&speed.to_string(), &format!("engine: change {n}"));
    }
    let mut child = steady.scenario.start(&["bisect", "speed", &good, "HEAD"]);
    let count = "print(db.execute(\"select count(*) from sqlite_schema, run \
                 where name = 'run'\").fetchone()[0])";
    steady.scenario.until("the second comparison began", || {
        steady.scenario.path("data/roundhouse.db").exists()
            && steady
                .scenario
                .database(count)
                .parse::<u32>()
                .is_ok_and(|n| n >= 2)
    });
    let sent = std::process::Command::new("/bin/kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(sent.is_ok_and(|status| status.success()));
    assert_eq!(child.wait().expect("waited for").code(), Some(3));
    let outcome = steady.bisect(&[&good, "HEAD", "--json"]).expect_code(0);
    let document = outcome.json();
    assert_eq!(found(&document), Some("engine: change 3"));
    let comparisons = document["bisect"]["comparisons"].as_array();
    let runs: Vec<_> = comparisons
        .into_iter()
        .flatten()
        .map(|one| (one["run"].as_i64(), one["is_reused"].as_bool()))
        .collect();
    assert_eq!(runs[0], (Some(1), Some(true)));
    assert!(
        !runs.contains(&(Some(2), Some(true))),
        "it was stopped: {runs:?}"
    );
}

#[test]
fn an_anchor_gives_the_cumulated_effect_beside_what_was_claimed() {
    let mut steady = Steady::new("100");
    let anchor = steady.commits[0].clone();
    let unbuilt = steady
        .scenario
        .runner(&["anchor", "pin", &anchor, "--by", "A"]);
    unbuilt
        .expect_code(2)
        .expect_text("there is no stored build of");
    let scenario = |steady: &Steady, args: &[&str]| steady.scenario.runner(args);
    for (speed, name) in [("105", "r1"), ("109.2", "r2")] {
        steady.speed(
            speed,
            &format!("engine: {name}\n\nRound: {name}\nBar: speed +1%\n"),
        );
        steady
            .scenario
            .run(&["--base", "HEAD~1"])
            .expect_verdict("LANDED");
    }
    scenario(&steady, &["anchor", "show"])
        .expect_code(0)
        .expect_text("no anchor is pinned for steady");
    scenario(&steady, &["anchor", "pin", &anchor, "--by", "A"])
        .expect_code(0)
        .expect_text("speed, 26 pairs each");
    scenario(&steady, &["anchor", "measure", &anchor])
        .expect_code(2)
        .expect_text("is the anchor itself");
    // What landed is not all there: something between took a part of it away.
    steady.speed("106.8", "engine: a refactoring");
    scenario(&steady, &["anchor", "measure"])
        .expect_code(0)
        .expect_text("speed: claimed +9.20 %, measured +6.80 % [+6.80, +6.80]");
    let shown = scenario(&steady, &["anchor", "show", "--json"]).json();
    let standing = &shown["anchors"][0]["series"][0]["standing"];
    assert_eq!(standing["points"][0]["pairs"], 26);
    assert_eq!(
        standing["claimed"]["rounds"].as_array().map(Vec::len),
        Some(2)
    );
    scenario(&steady, &["show"])
        .expect_code(0)
        .expect_text("steady speed: claimed +9.20 %, measured +6.80 %");
    assert_eq!(steady.runs("anchor"), 1);

    // The index says it, and the anchor's run is no round.
    scenario(&steady, &["anchor", "measure", "HEAD~1"]).expect_code(0);
    let out = steady.scenario.path("site");
    let out = out.to_str().expect("UTF-8");
    scenario(&steady, &["index", "--out", out])
        .expect_code(0)
        .expect_text("2 rounds of steady");
    let page = std::fs::read_to_string(format!("{out}/index.html")).expect("a page");
    for said in [
        "Against the anchor",
        "+9.20",
        "+6.80",
        "measured heads against the anchor",
    ] {
        assert!(page.contains(said), "{said}");
    }

    // Pinned again: a new series, and the old one stays.
    scenario(
        &steady,
        &["anchor", "pin", "HEAD~1", "--pairs", "10", "--by", "A"],
    )
    .expect_code(0)
    .expect_text("a new series, that of");
    let shown = scenario(&steady, &["anchor", "show", "--json"]).json();
    assert_eq!(shown["anchors"][0]["series"], serde_json::json!([]));
    assert_eq!(shown["anchors"][0]["replaces"], Value::String(anchor));
    let points = &shown["anchors"][1]["series"][0]["standing"]["points"];
    assert_eq!(points.as_array().map(Vec::len), Some(2));
}

/// A cache that was cleaned is no reason to build again what the record holds.
#[test]
fn stored_builds_serve_where_the_cache_is_gone() {
    let mut steady = Steady::new("100");
    let counter = steady.scenario.path("builds").display().to_string();
    steady
        .scenario
        .write("build.sh", &format!("echo x >> {counter}\n{BUILD}"));
    let good = steady.speed("100", "engine: good");
    steady.speed("95", "engine: slower");
    let builds = || {
        let text = std::fs::read_to_string(&counter).unwrap_or_default();
        text.lines().count()
    };
    steady.bisect(&[&good, "HEAD"]).expect_code(0);
    assert_eq!(builds(), 2);
    std::fs::remove_dir_all(steady.scenario.path("cache/work")).expect("built trees");
    // Another threshold asks for more than the record says, and needs no build.
    let (outcome, document) = (
        steady.bisect(&[&good, "HEAD", "--threshold", "4.5%"]),
        steady.runs("bisect"),
    );
    outcome.expect_code(0).expect_text("first bad commit");
    assert_eq!((builds(), document), (2, 1), "asked again of what is there");
    steady.scenario.write("more.md", "more");
    steady.speed("94", "engine: slower still");
    steady.bisect(&[&good, "HEAD"]).expect_code(0);
    assert_eq!(builds(), 3, "only what is new is built");
}

#[test]
fn another_machine_has_a_series_of_its_own() {
    let mut steady = Steady::new("100");
    let anchor = steady.commits[0].clone();
    steady.speed("105", "engine: faster\n\nRound: r1\nBar: speed +1%\n");
    steady.scenario.run(&[]).expect_verdict("LANDED");
    let runner = |args: &[&str]| steady.scenario.runner(args);
    runner(&["anchor", "pin", &anchor, "--by", "A"]).expect_code(0);
    runner(&["anchor", "measure"]).expect_code(0);
    // The same database, and what was recorded so far comes from elsewhere.
    steady.scenario.database(
        "db.execute('drop trigger machine_no_update'); \
         db.execute(\"update machine set fingerprint = 'other', \
         json = json_set(json, '$.hostname', 'elsewhere', '$.fingerprint', 'other')\")",
    );
    runner(&["anchor", "measure"]).expect_code(0);
    let shown = runner(&["anchor", "show", "--json"]).json();
    let series = shown["anchors"][0]["series"].as_array().cloned();
    let series = series.expect("an array");
    assert_eq!(series.len(), 2, "{shown:#}");
    let points = |at: usize| series[at]["standing"]["points"].as_array().map(Vec::len);
    assert_eq!((points(0), points(1)), (Some(1), Some(1)));
    let text = runner(&["anchor", "show"]).expect_code(0);
    text.expect_text("on elsewhere (")
        .expect_text("1 of the 1 round that claim were measured on another machine");
}

#[test]
fn a_round_that_landed_is_measured_against_the_anchor_where_that_is_wanted() {
    let mut steady = Steady::new("100");
    let wanted = format!("{CAMPAIGN}[anchor]\nafter_landing = true\n");
    steady.scenario.write("campaign.toml", &wanted);
    let anchor = steady.speed("100", "engine: the anchor");
    steady.speed("105", "engine: faster\n\nRound: r1\nBar: speed +1%\n");
    let run = steady.scenario.run(&[]).expect_verdict("LANDED");
    let said = "not measured against the anchor: no anchor is pinned";
    assert!(run.outcome.stderr.contains(said), "{}", run.outcome.stderr);
    steady
        .scenario
        .runner(&["anchor", "pin", &anchor, "--by", "A"])
        .expect_code(0);
    steady.speed(
        "110.25",
        "engine: faster still\n\nRound: r2\nBar: speed +1%\n",
    );
    let run = steady.scenario.run(&["--base", "HEAD~1"]);
    let run = run.expect_verdict("LANDED");
    let said = "speed: claimed +10.25 %, measured +10.25 %";
    assert!(run.outcome.stderr.contains(said), "{}", run.outcome.stderr);
    assert_eq!(steady.runs("anchor"), 1);
    steady.speed("110", "engine: slower");
    steady
        .scenario
        .run(&["--base", "HEAD~1"])
        .expect_verdict("REVERTED");
    assert_eq!(steady.runs("anchor"), 1);
}

/// Gains and losses in turn, such that no look of the protocol can say whether there is a loss.
#[test]
fn a_comparison_that_stays_open_is_made_twice_and_never_pooled() {
    let mut steady = Steady::new("100");
    let counter = steady.scenario.path("counter").display().to_string();
    // 45 launches are a run: a throw-away, and 44 pairs.
    let open = format!(
        "cat > engine <<'END'\n#!/bin/sh\nn=$(cat {counter} 2>/dev/null || echo 0)\n\
         echo $((n + 1)) > {counter}\ni=$((n % 45 - 1))\n\
         case $i in\n41|43|*[02468]) echo 108.6957 tok/s;;\n*) echo 90.9091 tok/s;;\nesac\nEND\n\
         chmod +x engine\n"
    );
    steady.scenario.write("build.sh", &open);
    steady.speed("0", "engine: restless");
    let (outcome, document) = steady.search(&[]);
    outcome
        .expect_code(1)
        .expect_text("once more, from the start: samples are never pooled");
    assert_eq!(document["bisect"]["ending"], "ends-open", "{document:#}");
    let comparisons = document["bisect"]["comparisons"].as_array().cloned();
    let comparisons = comparisons.unwrap_or_default();
    assert_eq!(comparisons.len(), 2);
    for comparison in &comparisons {
        assert_eq!(
            (&comparison["said"], &comparison["pairs"]),
            (&"open".into(), &44.into())
        );
    }
    let again = steady.bisect(&[&steady.commits[0], "HEAD"]).expect_code(1);
    again.expect_text("it cannot be said whether speed is slower at bad");
    assert_eq!(steady.runs("bisect"), 2, "twice is enough");
}
