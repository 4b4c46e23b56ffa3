//! What is shown of a record: corrections, several campaigns in one database, levers that were
//! measured again, and decisions.

use crate::scenario::Scenario;

const FASTER: (&str, &str, &str) = ("engine.c", "SPEED 100.0", "SPEED 105.0");

fn page(scenario: &Scenario, name: &str) -> String {
    let file = scenario.path("site").join(name);
    std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

fn write_pages(scenario: &Scenario) -> String {
    let out = scenario.path("site");
    let out = out.to_str().expect("UTF-8");
    scenario
        .runner(&["index", "--out", out])
        .expect_code(0)
        .stdout
}

#[test]
fn lesson_30_corrections_lead_and_the_first_figures_stay() {
    let scenario = Scenario::engine_pair(&[], &[FASTER]);
    scenario.run(&[]).expect_verdict("LANDED");
    for (field, value) in [("verdict", "REVERTED"), ("bench:speed:estimate", "60")] {
        let why = ["--reason", "the base was wrong", "--by", "P"];
        let args = [
            &["correct", "1", "--field", field, "--value", value][..],
            &why,
        ];
        scenario.runner(&args.concat()).expect_code(0);
    }
    let said = "corrected, was LANDED, by P because the base was wrong";
    let show = scenario.runner(&["show", "1"]).expect_code(0);
    assert!(
        show.stdout
            .starts_with("\u{21a9} REVERTED (corrected, was LANDED)"),
        "{}",
        show.stdout
    );
    let show = show.expect_text(said).expect_text("As judged: ");
    assert!(show.stdout.contains("+60.00 % (was"), "{}", show.stdout);
    let markdown = scenario
        .runner(&["show", "1", "--markdown"])
        .expect_code(0)
        .stdout;
    assert!(
        markdown.starts_with(&format!("### \u{21a9}\u{fe0f} REVERTED: {said}\n")),
        "{markdown}"
    );
    let json = scenario
        .runner(&["show", "1", "--json"])
        .expect_code(0)
        .json();
    // The engine is noisy: what was judged stands in the record.
    let judged = json["judgement"]["benches"][0]["effect"]["estimate"].as_f64();
    let judged = judged.expect("an estimate");
    assert!((4.0..6.0).contains(&judged), "{judged}");
    let was = format!("**+60.00&nbsp;%**<br><sub>corrected, was {judged:+.2}&nbsp;%");
    assert!(markdown.contains(&was), "{was}\n{markdown}");
    scenario
        .runner(&["compare", "1", "1"])
        .expect_text("REVERTED (corrected, was LANDED)");

    assert_eq!(json["judgement"]["verdict"], "LANDED");
    assert_eq!(json["shown"]["verdict"], "REVERTED");
    assert_eq!(json["shown"]["headline"], said);
    assert_eq!(json["shown"]["benches"][0]["estimate"], 60.0);
    assert!(json["shown"]["benches"][0]["finding"].is_null());

    let docs = include_str!("../../../docs/json.md");
    for part in [
        &json,
        &json["shown"],
        &json["shown"]["benches"][0],
        &json["corrections"][0],
    ] {
        for key in part.as_object().expect("an object").keys() {
            assert!(
                docs.contains(key.as_str()),
                "docs/json.md does not name {key}"
            );
        }
    }

    let list = scenario.runner(&["show", "--json"]).expect_code(0).json();
    assert_eq!(list["runs"][0]["verdict"], "REVERTED");
    assert_eq!(list["runs"][0]["judged_verdict"], "LANDED");

    write_pages(&scenario);
    let index = page(&scenario, "index.html");
    assert!(index.contains("No round has landed yet"), "{index}");
    assert!(index.contains("corrected, was LANDED"), "{index}");
    assert!(index.contains("+60.00"), "{index}");
    assert!(page(&scenario, "lever/1.html").contains(said));
    // A decision is recorded beside it and says what counts.
    scenario
        .runner(&["decide", "1", "--land", "--reason", "r", "--by", "P"])
        .expect_code(0)
        .expect_text("recorded on run 1: land, by P: r run 1: REVERTED (corrected, was LANDED)");
}

#[test]
fn of_several_campaigns_the_repository_s_own_is_shown() {
    let scenario = Scenario::engine_pair(&[], &[FASTER]);
    scenario.run(&[]).expect_verdict("LANDED");
    scenario.edit("campaign.toml", "name = \"toy\"", "name = \"other\"");
    scenario.commit("engine: another campaign");
    scenario.edit("engine.c", "SPEED 105.0", "SPEED 110.0");
    scenario.commit("engine: quick");
    scenario.run(&[]).expect_verdict("LANDED");

    let list = scenario.runner(&["show"]).expect_code(0);
    assert!(list.stdout.contains("engine: quick"), "{}", list.stdout);
    assert!(!list.stdout.contains("engine: head"), "{}", list.stdout);
    list.expect_text("1 run of other campaigns not shown: runner show --all");
    let all = scenario.runner(&["show", "--all"]).expect_code(0);
    assert!(!all.stdout.contains("not shown"), "{}", all.stdout);
    for text in ["engine: quick", "engine: head", "Campaign", "toy", "other"] {
        assert!(all.stdout.contains(text), "{text}: {}", all.stdout);
    }
    let json = scenario.runner(&["show", "--json"]).expect_code(0).json();
    assert_eq!(json["not_shown"], 1);
    assert!(write_pages(&scenario).starts_with("1 round of other"));
    scenario
        .runner(&["show", "--campaign", "nope"])
        .expect_code(2)
        .expect_text("there is no campaign `nope` in the database; there are: ");

    // From elsewhere, and with a campaign that has no run yet, nothing is hidden.
    let away = scenario.shell("cd / && $RUNNER show").expect_code(0);
    assert!(
        away.stdout.contains("toy") && away.stdout.contains("other"),
        "{}",
        away.stdout
    );
    scenario.edit("campaign.toml", "name = \"other\"", "name = \"third\"");
    let list = scenario.runner(&["show"]).expect_code(0).stdout;
    assert!(list.contains("toy") && list.contains("other"), "{list}");
    let out = scenario.path("none");
    scenario
        .runner(&["index", "--out", out.to_str().expect("UTF-8")])
        .expect_code(2)
        .expect_text("the database holds several campaigns: name one with --campaign");
}

#[test]
fn a_lever_that_was_measured_again_stands_once_and_is_asked_about() {
    let scenario = Scenario::engine_pair(&[], &[FASTER]);
    scenario.run(&[]).expect_verdict("LANDED");
    scenario.run(&[]).expect_verdict("LANDED");
    assert!(write_pages(&scenario).starts_with("1 round of toy"));
    let index = page(&scenario, "index.html");
    assert_eq!(
        index.matches("<tr>").count(),
        2,
        "the heading and one round: {index}"
    );
    assert!(
        index.contains("attempt 1 of 2 stands") && index.contains("lever/1.html"),
        "{index}"
    );
    let newest = page(&scenario, "lever/2.html");
    assert!(
        newest.contains("<a href=\"../lever/1.html\">run 1</a>, attempt 1"),
        "{newest}"
    );
    let earlier = page(&scenario, "lever/1.html");
    assert!(earlier.contains("Measured again since"), "{earlier}");
    let document: serde_json::Value =
        serde_json::from_str(&page(&scenario, "campaign.json")).expect("JSON");
    assert_eq!(
        document["rows"][0]["later_attempts"],
        serde_json::json!(["2"])
    );
    let list = scenario.runner(&["show"]).expect_code(0).stdout;
    assert_eq!(list.matches("LANDED").count(), 2, "none is hidden: {list}");

    // Reading takes the newest; writing asks.
    let shown = scenario.runner(&["show", "HEAD"]).expect_code(0);
    assert!(shown.stderr.contains("earlier runs of it: 1"), "{shown:?}");
    for args in [
        &["decide", "HEAD", "--land"][..],
        &[
            "correct", "HEAD", "--field", "verdict", "--value", "REVERTED",
        ],
        &[
            "correct", "1", "--source", "HEAD", "--field", "verdict", "--value", "REVERTED",
        ],
    ] {
        scenario
            .runner(&[args, &["--reason", "r", "--by", "P"]].concat())
            .expect_code(2)
            .expect_text("`HEAD` fits several runs: say which by its number")
            .expect_text("run 1: LANDED run 2: LANDED");
    }
    let counts = "print(db.execute('select (select count(*) from decision) + \
                  (select count(*) from correction)').fetchone()[0])";
    assert_eq!(scenario.database(counts), "0");
    scenario
        .runner(&["decide", "2", "--land", "--reason", "r", "--by", "P"])
        .expect_code(0);
}
