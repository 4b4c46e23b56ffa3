//! A lever that is measured again: what stands, and the one confirmation.

use serde_json::json;

use crate::scenario::{CAMPAIGN, ENGINE, MAKEFILE, Scenario};

/// An engine whose head is as fast as the file `speed` says when it runs: the world outside the
/// record that makes attempts differ.
fn moody() -> Scenario {
    let scenario = Scenario::empty();
    let file = scenario.path("speed").display().to_string();
    scenario.write("engine.c", ENGINE);
    scenario.write("Makefile", MAKEFILE);
    let variable = format!("[environment]\nset = {{ SPEED_FILE = \"{file}\" }}\n[protocol]\n");
    scenario.write(
        "campaign.toml",
        &CAMPAIGN.replace("[protocol]\n", &variable),
    );
    scenario.commit("engine: base");
    scenario.edit(
        "engine.c",
        "SPEED * (1",
        "atof(fgets((char[32]){0}, 31, fopen(getenv(\"SPEED_FILE\"), \"r\"))) * (1",
    );
    scenario.commit("engine: head\n\nRound: r1\nLever: moody\nBar: speed +1.5%");
    scenario.speed("100.0");
    scenario
}

impl Scenario {
    fn speed(&self, speed: &str) {
        std::fs::write(self.path("speed"), speed).expect("a file");
    }

    /// Run, verdict and attempt of each row of the index.
    fn index(&self) -> serde_json::Value {
        let out = self.path("site").display().to_string();
        let document = self
            .runner(&["index", "--json", "--out", &out])
            .expect_code(0)
            .json();
        let rows = document["rows"].as_array().expect("rows").iter();
        rows.map(|row| json!([row["run_id"], row["verdict"]["word"], row["attempt_text"]]))
            .collect()
    }
}

#[test]
fn the_first_verdict_stands_until_the_one_confirmation() {
    let scenario = moody();
    let first = scenario.run(&[]).expect_verdict("REVERTED");
    assert_eq!(first.outcome.code, 1);
    scenario
        .runner(&["confirm", "1"])
        .expect_code(2)
        .expect_text("is not flaky");

    scenario.speed("105.0");
    let second = scenario.run(&[]).expect_verdict("LANDED");
    assert_eq!(second.outcome.code, 1, "a lucky attempt opens no door");
    let text = "attempt 2 of the same registration; attempt 1 stands: REVERTED";
    assert_eq!(second.at("/attempt/standing/text"), text);
    scenario
        .runner(&["show", "2"])
        .expect_text("REVERTED stands")
        .expect_text(text)
        .expect_text("This run: LANDED");
    scenario.runner(&["replay", "2"]);
    assert_eq!(
        scenario.index(),
        json!([["1", "REVERTED", "attempt 1 of 2 stands"]]),
        "a replay is no attempt"
    );

    scenario
        .runner(&["confirm", "HEAD"])
        .expect_code(0)
        .expect_text("attempts disagree: REVERTED by run 1, LANDED by run 2")
        .expect_text("Attempt 3, declared to confirm run 1; its verdict replaces that one");
    let confirmed = json!([["4", "LANDED", "attempt 3 of 3, a confirmation, stands"]]);
    assert_eq!(scenario.index(), confirmed);
    let declared = "print(db.execute('select run_id, confirms from confirmation').fetchall())";
    assert_eq!(scenario.database(declared), "[(4, 1)]");
    let seeds = "print(db.execute('select count(distinct seed) from run where id in (1, 4)')\
                 .fetchone()[0])";
    assert_eq!(
        scenario.database(seeds),
        "2",
        "a confirmation draws its own order"
    );

    scenario
        .runner(&["confirm", "2"])
        .expect_code(2)
        .expect_text("a registration is confirmed once, and its confirmation, run 4, gave LANDED");
    scenario
        .runner(&["confirm", "3"])
        .expect_code(2)
        .expect_text("confirm run 2");

    // The same code under other words is another registration, and says so.
    let message = "engine: head\n\nRound: r1\nLever: moody\nBar: speed +0.5%";
    scenario.git(&["commit", "-q", "--amend", "-m", message]);
    scenario.speed("100.0");
    let again = scenario.run(&[]).expect_verdict("REVERTED");
    let text = "registered again after run 4 was LANDED";
    assert_eq!(again.at("/attempt/standing/text"), text);
    let rows = json!([confirmed[0], ["5", "REVERTED", text]]);
    assert_eq!(scenario.index(), rows);
}

/// Reworded trailers aside, an amended commit with the same tree is an attempt at the same thing.
#[test]
fn a_commit_that_only_says_other_words_is_the_same_registration() {
    let scenario = moody();
    scenario.run(&[]).expect_verdict("REVERTED");
    scenario.speed("105.0");
    let message = "engine: another title\n\nRound: r1\nLever: moody\nBar: speed +1.5%";
    scenario.git(&["commit", "-q", "--amend", "-m", message]);
    let second = scenario.run(&[]).expect_verdict("LANDED");
    assert_eq!(second.at("/attempt/number"), 2);
    assert_eq!(
        scenario.index(),
        json!([["1", "REVERTED", "attempt 1 of 2 stands"]])
    );
}
