//! Texts that try to be more than texts: in commit messages, file names and what commands print.

use crate::scenario::Scenario;

const MESSAGE: &str = "engine: \u{1b}[31mred\u{1b}[0m <img src=x onerror=alert(1)> @octocat \
    [a](javascript:x) | pipe ``` \u{202e}rtl\n\nRound: r<b>1\nLever: @everyone | `tick` \
    <script>alert(2)</script>\nHypothesis: \u{1b}]0;title\u{7} $(rm) ![i](http://x/y.png) #1 GH-1\n";

/// Fails with a line of a megabyte, invalid UTF-8, escape sequences and markup.
const PRINTS: &str = r#"({ for (int i = 0; i < 1000000; i++) putchar('a');
    printf("\n```\n</code><script>alert(3)</script> @octocat | a |\x1b[2J\x9b\xff\xfe\x07\n");
    fprintf(stderr, "\x1b]0;t\x07\xff<script>alert(4)</script>\n"); exit(1); })"#;

/// Neither escape sequences nor changes of the direction of writing.
fn harmless(what: &str, text: &str) {
    let odd = |c: &char| c.is_control() && *c != '\n' || ('\u{202a}'..='\u{202e}').contains(c);
    // Documents are data, and say what was said; JSON itself escapes control characters.
    let document = what.contains("json");
    let found = text
        .chars()
        .find(|c| odd(c) && (c.is_control() || !document));
    assert_eq!(found, None, "{what}: {}", text.escape_debug());
}

/// A Markdown text without its fenced code blocks, all of which must be closed.
fn prose(markdown: &str) -> String {
    let mut fence = 0;
    let mut prose = String::new();
    for line in markdown.lines() {
        let ticks = line.len() - line.trim_start_matches('`').len();
        match fence {
            0 if ticks >= 3 => fence = ticks,
            0 => prose.extend([line, "\n"]),
            open if ticks >= open && line.len() == ticks => fence = 0,
            _ => {}
        }
    }
    assert_eq!(fence, 0, "a code block was left open: {markdown}");
    prose
}

#[test]
fn hostile_texts_stay_texts_everywhere() {
    let scenario = Scenario::engine_pair(&[], &[]);
    let file = "we\u{1b}[31mird | <b> `x` @octocat \u{202e}.txt";
    scenario.write(file, "one\n");
    scenario.edit(
        "campaign.toml",
        "outputs = [\"engine\"]",
        "outputs = [\"engine\"]\nruntime = [\"*.txt\"]",
    );
    scenario.commit("engine: a file with an odd name");
    scenario.write(file, "two\n");
    scenario.edit("engine.c", "printf(\"nmse %g\\n\", PARITY_ERROR)", PRINTS);
    scenario.commit(MESSAGE);
    let run = scenario.run(&[]).expect_verdict("BROKEN");
    harmless("--json", &run.outcome.stdout);
    harmless("progress", &run.outcome.stderr);
    assert_eq!(run.at("/evidence/code/runtime_files_changed/0"), file);

    let site = scenario.path("site");
    let site = site.to_str().expect("UTF-8");
    for args in [
        &["show", "1"][..],
        &["show"],
        &["show", "1", "--markdown"],
        &["compare", "1", "1"],
        &["index", "--out", site],
        &["replay", "1"],
    ] {
        let outcome = scenario.runner(args);
        harmless(&args.join(" "), &outcome.text());
        assert!(
            outcome.text().len() < 100_000,
            "{args:?}: a megabyte was shown"
        );
    }
    let comment = scenario.runner(&["show", "1", "--markdown"]).stdout;
    assert!(comment.len() < 65_536, "GitHub takes no longer comments");
    let logs = comment.matches("**small, head** (`").count();
    assert_eq!(logs, 1, "the same words twice: {comment}");
    let prose = prose(&comment);
    for text in [
        "<script",
        "<img",
        "@octocat",
        "@everyone",
        "](javascript",
        "![i]",
        "GH-1 ",
    ] {
        assert!(!prose.contains(text), "{text}: {prose}");
    }
    for page in ["index.html", "lever/1.html"] {
        let html = std::fs::read_to_string(format!("{site}/{page}")).expect("a page");
        harmless(page, &html);
        assert!(
            !html.contains("<script") && !html.contains("<img src=x"),
            "{page}"
        );
        assert!(html.len() < 500_000, "{page}: {} bytes", html.len());
    }
    let campaign = std::fs::read_to_string(format!("{site}/campaign.json")).expect("JSON");
    let _: serde_json::Value = serde_json::from_str(&campaign).expect("JSON");
    harmless("campaign.json", &campaign);
}
