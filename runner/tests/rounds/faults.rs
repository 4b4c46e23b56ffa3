//! Commands that misbehave, configs and commits that cannot be used: each on the whole program.

use crate::scenario::Scenario;

const PRINT: &str = r#"printf("speed: %.4f tok/s\n", SPEED * (1 + 0.004 * noise()))"#;
const FASTER: (&str, &str, &str) = ("engine.c", "SPEED 100.0", "SPEED 105.0");

/// A scenario whose head runs `code` where the engine should print its speed.
fn bench(code: &str) -> Scenario {
    let code = format!("({{ double x = noise(); (void)x; {code}; }})");
    Scenario::engine_pair(
        &[
            (
                "campaign.toml",
                "bar = \"+1.5%\"",
                "bar = \"+1.5%\"\ntimeout_s = 1",
            ),
            (
                "campaign.toml",
                "[protocol]",
                "[limits]\noutput_bytes = \"8 MiB\"\n\n[protocol]",
            ),
        ],
        &[("engine.c", PRINT, &code)],
    )
}

#[test]
fn a_bench_that_fails_in_any_way_breaks_head_and_leaves_nothing_running() {
    let cases = [
        ("exit(7)", "exit"),
        ("raise(11)", "signal"),
        (r#"printf("nothing here\n")"#, "no-value"),
        (
            r#"(void)!system("setsid sleep 4711 & (setsid sh -c 'trap : TERM; sleep 4712; :' &) ; sleep 4713")"#,
            "timed-out",
        ),
        ("for (;;) puts(\"speed: 1.0 tok/s\")", "too-much-output"),
        ("for (;;) putchar('x')", "too-much-output"),
    ];
    for (code, kind) in cases {
        let scenario = bench(code);
        // A runner that held all that is printed would not live in this much memory.
        let outcome = scenario
            .shell("ulimit -v 2000000; exec \"$RUNNER\" run --json")
            .expect_code(1);
        let document = outcome.json();
        assert_eq!(document["judgement"]["verdict"], "BROKEN", "{code}");
        let samples = document["evidence"]["benches"][0]["samples"].clone();
        let failed: Vec<_> = samples
            .as_array()
            .expect("samples")
            .iter()
            .filter(|sample| sample["side"] == "head")
            .collect();
        assert!(failed.len() >= 2, "{code}: head gets a second chance");
        for sample in failed {
            assert_eq!(sample["failure"]["kind"], kind, "{code}");
            assert!(sample["value"].is_null(), "{code}");
        }
        assert_eq!(scenario.processes(), [""; 0], "{code}");
    }
}

#[test]
fn a_build_that_fails_in_any_way_breaks_head_and_leaves_nothing_running() {
    let cases = [
        ("setsid sleep 4721 & sleep 4722", "timed-out"),
        ("yes", "too-much-output"),
        ("tr '\\\\0' x < /dev/zero", "too-much-output"),
        ("kill -SEGV $$", "signal"),
        ("true", "missing-output"),
        ("ln -s /etc/passwd engine", "missing-output"),
        ("mkdir engine", "missing-output"),
        ("mkfifo engine", "missing-output"),
    ];
    for (command, kind) in cases {
        let command = format!("command = \"{command}\"\ntimeout_s = 2");
        let scenario = Scenario::engine_pair(
            &[],
            &[("campaign.toml", "command = \"make engine\"", &command)],
        );
        let run = scenario.run(&[]).expect_verdict("BROKEN");
        let failure = run.at("/evidence/builds/head/failure").clone();
        assert_eq!(failure["kind"], kind, "{command}");
        assert_eq!(scenario.processes(), [""; 0], "{command}");
    }
}

#[test]
fn a_parity_case_that_hangs_is_ended() {
    let scenario = Scenario::engine_pair(
        &[(
            "campaign.toml",
            "command = [\"./engine\", \"parity\"]",
            "command = [\"./engine\", \"parity\"]\ntimeout_s = 1",
        )],
        &[(
            "engine.c",
            "printf(\"nmse %g\\n\", PARITY_ERROR)",
            "(void)!system(\"setsid sleep 4731 & sleep 4732\")",
        )],
    );
    let run = scenario.run(&[]).expect_verdict("BROKEN");
    assert!(run.reasons().contains("limit of 1 s"), "{}", run.reasons());
    assert_eq!(scenario.processes(), [""; 0]);
}

#[test]
fn parity_that_passes_the_second_time_is_shown_as_flaky_everywhere() {
    let scenario = Scenario::engine_pair(&[], &[FASTER]);
    let seen = scenario.path("seen");
    let command = format!(
        "command = \"test -e {0} && ./engine parity || {{ touch {0}; exit 1; }}\"",
        seen.display()
    );
    scenario.edit(
        "campaign.toml",
        "command = [\"./engine\", \"parity\"]",
        &command,
    );
    let run = scenario
        .run(&["--config", "campaign.toml"])
        .expect_verdict("LANDED");
    assert_eq!(run.at("/evidence/gates/0/outcome/outcome"), "flaky");
    scenario
        .runner(&["show", "1"])
        .expect_text("\u{2248} flaky");
    scenario
        .runner(&["show", "1", "--markdown"])
        .expect_text("**flaky**");
    let site = scenario.path("site");
    let site = site.to_str().expect("UTF-8");
    scenario.runner(&["index", "--out", site]).expect_code(0);
    let page = std::fs::read_to_string(format!("{site}/lever/1.html")).expect("a page");
    assert!(page.contains("flaky"));
}

#[test]
fn errors_of_a_config_show_file_place_and_the_nearest_key() {
    let scenario = Scenario::engine_pair(&[], &[FASTER]);
    let check = |file: &str| {
        let outcome = scenario.runner(&["run"]).expect_code(2);
        let place = format!("{file}:24:11: unknown key `regx`");
        for text in [place.as_str(), "          ^^^^\n", "did you mean `regex`?"] {
            assert!(outcome.stderr.contains(text), "{text}: {}", outcome.stderr);
        }
    };
    let slip = || {
        scenario.edit(
            "campaign.toml",
            "value = { regex = 'speed",
            "value = { regx = 'speed",
        )
    };
    slip();
    let head = scenario.commit("config: a slip");
    check(&format!("{}:campaign.toml (head)", &head[..10]));
    scenario.edit("campaign.toml", "regx", "regex");
    scenario.commit("config: mended");
    check(&format!("{}:campaign.toml (base)", &head[..10]));

    // Nothing is recorded of a run that could not begin.
    scenario
        .runner(&["show"])
        .expect_text("no runs are recorded");

    scenario.git(&["rm", "-q", "--cached", "campaign.toml"]);
    scenario.git(&["commit", "-q", "-m", "config: gone"]);
    scenario.edit("engine.c", "SPEED 105.0", "SPEED 106.0");
    scenario.git(&["commit", "-q", "-a", "-m", "engine: again"]);
    slip();
    check("campaign.toml");
    std::fs::write(scenario.repo().join("campaign.toml"), b"\xff\xfe").expect("a file");
    scenario
        .runner(&["run"])
        .expect_code(2)
        .expect_text("not UTF-8");
}

#[test]
fn no_secret_of_the_runner_reaches_a_command() {
    let scenario = Scenario::engine();
    let dump = scenario.path("environments");
    let note = format!("env >> {}; ", dump.display());
    for (from, to) in [
        ("\"make engine\"", format!("\"{note}make engine\"")),
        (
            "[\"./engine\", \"parity\"]",
            format!("\"{note}./engine parity\""),
        ),
        (
            "[\"./engine\", \"greedy\"]",
            format!("\"{note}./engine greedy\""),
        ),
        (
            "[\"./engine\", \"bench\"]",
            format!("\"{note}./engine bench\""),
        ),
    ] {
        scenario.edit("campaign.toml", from, &to);
    }
    scenario.commit("config: notes its environment");
    scenario.edit("engine.c", "SPEED 100.0", "SPEED 105.0");
    scenario.commit("engine: faster");
    let secrets = [
        "GITHUB_TOKEN",
        "GH_PAT",
        "MY_SECRET",
        "AWS_SECRET_ACCESS_KEY",
        "ROUNDHOUSE_TOKEN",
        "LC_SECRET",
        "SSH_AUTH_SOCK",
        "ACTIONS_RUNTIME_TOKEN",
        "HARMLESS",
    ];
    let mut command = scenario.command();
    command.args(["run", "--json"]);
    for name in secrets {
        command.env(name, "ghp_do-not-pass");
    }
    let output = command.output().expect("runner starts");
    assert!(output.status.success(), "{output:?}");
    let seen = std::fs::read_to_string(&dump).expect("the commands' environments");
    let commands = seen.matches("ROUNDHOUSE_RUN=").count();
    assert_eq!(commands, 2 + 1 + 2 + 14, "every command noted its own");
    for name in secrets {
        assert!(!seen.contains(&format!("{name}=")), "{name} passed");
    }
    assert!(!seen.contains("ghp_do-not-pass"));
    let shown = scenario.runner(&["show", "1", "--json"]).text();
    assert!(!shown.contains("ghp_do-not-pass"));
}
