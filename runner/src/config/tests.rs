//! Scenarios of whole files.

use super::*;
use crate::model::{Bar, Better};

const MINIMAL: &str = r#"
[campaign]
name = "mmq"

[toolchain]
cuda = "13.0"
arch = ["sm_121"]

[build]
command = "make -j engine"
outputs = ["engine"]
"#;

#[track_caller]
fn good(text: &str) -> Config {
    match parse(text, "campaign.toml") {
        Ok(config) => config,
        Err(errors) => panic!("{errors}"),
    }
}

fn with(more: &str) -> String {
    format!("{MINIMAL}\n{more}")
}

/// The errors of a file that is right but for `more`.
#[track_caller]
fn errors(more: &str) -> Vec<ConfigError> {
    errors_of(&with(more))
}

#[track_caller]
fn errors_of(text: &str) -> Vec<ConfigError> {
    match parse(text, "campaign.toml") {
        Ok(_) => panic!("no error in:\n{text}"),
        Err(ConfigErrors(errors)) => errors,
    }
}

/// A single error whose text holds all of `parts`, and whose caret stands under `marked`.
#[track_caller]
fn one(text: &str, marked: &str, parts: &[&str]) {
    let errors = errors_of(text);
    assert_eq!(errors.len(), 1, "{}", ConfigErrors(errors));
    let error = &errors[0];
    let shown = error.to_string();
    for part in parts {
        assert!(shown.contains(part), "`{part}` is not in:\n{shown}");
    }
    let at: String = error
        .excerpt
        .chars()
        .skip(error.mark - 1)
        .take(error.width)
        .collect();
    assert_eq!(at, marked, "\n{shown}");
    assert_eq!(
        text.lines().nth(error.line - 1),
        Some(error.excerpt.as_str()),
        "\n{shown}"
    );
}

#[test]
fn the_smallest_file_gets_the_documented_defaults() {
    let config = good(MINIMAL);
    assert_eq!(config.campaign.title, "mmq");
    assert_eq!(config.campaign.default_branch, None);
    assert_eq!(config.toolchain.cuda, Cuda::Pinned("13.0".into()));
    assert_eq!(config.device.kind, DeviceKind::Cuda);
    assert_eq!(config.build.directory, ".");
    assert_eq!(config.build.timeout_s, 3600);
    assert_eq!(config.protocol, DEFAULT_PROTOCOL);
    assert_eq!(config.limits.output_bytes, 64 << 20);
    assert_eq!(config.limits.free_disk_bytes, 2 << 30);
    assert_eq!(config.environment, Environment::default());
    assert!(config.benches.is_empty() && config.parity.is_empty());
}

#[test]
fn a_campaign_without_cuda_runs_on_the_cpu() {
    let text = MINIMAL.replace("cuda = \"13.0\"\narch = [\"sm_121\"]", "cuda = \"none\"");
    let config = good(&text);
    assert_eq!(config.device.kind, DeviceKind::Cpu);
    assert!(config.toolchain.arch.is_empty());
    let explicit = good(&format!("{text}\n[device]\nkind = \"cuda\"\nindex = 1\n"));
    assert_eq!(
        (explicit.device.kind, explicit.device.index),
        (DeviceKind::Cuda, 1)
    );
}

const FULL: &str = r#"
[campaign]
name = "mmqr"
title = "q4_K MMQ on GB10"
default_branch = "main"
claims = ["spills /^mmq_/ == 0", 'regs mmq_wide <= 149']

[toolchain]
cuda = "system"
arch = ["sm_121", "sm_90a"]

[device]
index = 0

[build]
command = ["make", "-j", "engine", ""]
directory = "src/engine"
outputs = ["engine", "build/**/*.cubin"]
runtime = ["shaders/**"]
env = { MODE = "release", EMPTY = "" }
timeout_s = 7_200

[[kernel]]
name = "^mmq_wide"
threads = 256
dynamic_smem = 98304

[[kernel]]
name = "mmq_nb"
dynamic_smem = "44 KiB"

[harness]
command = ["./engine", "--serve"]
env = { LOG = "0" }
start_timeout_s = 60

[[parity]]
name = "KD=4"
command = ["./engine", "--selftest", "--kd", "4"]
figures = [{ name = "nmse", value = { json = "/nmse" }, max = 1e-6 }, { name = "flips", value = { regex = 'flips (\d+)' }, max = 0 }]

[[parity]]
name = "KD=8"
harness = true
[[parity.figures]]
name = "nmse"
max = 1e-6

[identity]
harness = "greedy"
drop_lines = ["tok/s", '^\[time\]']
tokens = 64

[[bench]]
name = "prefill"
command = ["./engine", "--bench"]
value = { regex = '(?<value>[0-9.]+) (?<unit>tok/s)' }
unit = "tok/s"
better = "higher"
bar = ">= 1350"

[[bench]]
name = "llama"
command = "llama-bench -o json"
value = "llama-bench"
bar = "+1.5%"

[[bench]]
name = "axpy"
command = "./b --json /dev/stdout"
value = { format = "google-benchmark", select = "BM_axpy/1024" }
unit = "us"

[[bench]]
name = "scale_read"
harness = true
unit = "µs"
better = "lower"
bar = "<= 2.1 µs"
warmup = 3
inner = 16
env = {}

[[counters]]
name = "q_proj"
command = ["./engine", "--launch", "q_proj"]
kernels = "^mmq_(wide|nb)"
launches = 3
metrics = ["ldsm_conflicts_sass", "lts__t_bytes.sum"]
env = { ENGINE_SEED = "1" }
timeout_s = 900

[[counters]]
name = "down"
command = "./engine --launch down"
kernels = "mmq_nb"

[protocol]
samples = 45

[environment]
allow = ["ENGINE_HOME"]
set = { ENGINE_MMQ = "1" }

[limits]
output_bytes = "1 MiB"
free_disk_bytes = 0
"#;

#[test]
fn every_key_is_read() {
    let text = FULL.replace("env = {}\n", "");
    let config = good(&text);
    assert_eq!(config.campaign.title, "q4_K MMQ on GB10");
    assert_eq!(config.claims.len(), 2);
    assert_eq!(config.toolchain.arch, ["sm_121", "sm_90a"]);
    assert_eq!(
        config.build.command,
        CommandLine::Argv(["make", "-j", "engine", ""].map(String::from).to_vec())
    );
    assert_eq!(config.build.outputs, ["engine", "build/**/*.cubin"]);
    assert_eq!(config.build.env["EMPTY"], "");
    assert_eq!(config.build.timeout_s, 7200);
    assert_eq!(config.kernels[0].threads, Some(256));
    assert_eq!(config.kernels[1].dynamic_smem, 45_056);
    assert_eq!(config.parity[0].figures[1].max, 0.0);
    assert_eq!(
        config.parity[0].figures[0].value,
        Some(Extract::Json("/nmse".into()))
    );
    assert_eq!(config.parity[1].probe, Probe::Harness("KD=8".into()));
    assert_eq!(config.parity[1].figures[0].value, None);
    let identity = config.identity.as_ref().expect("there is one");
    assert_eq!(identity.probe, Probe::Harness("greedy".into()));
    assert_eq!(identity.tokens, 64);
    assert_eq!(config.benches[0].bar, Some(Bar::Absolute { value: 1350.0 }));
    assert_eq!(config.benches[1].unit, "tok/s");
    assert_eq!(config.benches[1].better, Better::Higher);
    assert_eq!(
        config.benches[2].value,
        Some(Extract::Format {
            format: NamedFormat::GoogleBenchmark,
            select: Some("BM_axpy/1024".into())
        })
    );
    assert_eq!(config.benches[2].better, Better::Lower);
    assert_eq!(
        (config.benches[3].warmup, config.benches[3].inner),
        (3, Some(16))
    );
    let counters = &config.counters;
    assert_eq!(counters[0].kernels, "^mmq_(wide|nb)");
    assert_eq!((counters[0].launches, counters[0].timeout_s), (3, 900));
    assert_eq!(
        counters[0].metrics,
        ["ldsm_conflicts_sass", "lts__t_bytes.sum"]
    );
    assert_eq!(counters[0].env["ENGINE_SEED"], "1");
    assert_eq!((counters[1].launches, counters[1].timeout_s), (1, 600));
    assert!(counters[1].metrics.is_empty());
    assert_eq!(config.protocol, Protocol::Samples(45));
    assert_eq!(config.environment.set["ENGINE_MMQ"], "1");
    assert_eq!(config.limits.output_bytes, 1 << 20);
    assert_eq!(config.limits.free_disk_bytes, 0);
}

#[test]
fn the_hash_follows_the_meaning_and_not_the_text() {
    let a = good(MINIMAL);
    let b = good(&format!(
        "# a comment\n{}",
        MINIMAL.replace("[\"sm_121\"]", "\"sm_121\"")
    ));
    let c = good(&MINIMAL.replace("-j engine", "-j"));
    assert_eq!(a.sha256(), b.sha256());
    assert_ne!(a.sha256(), c.sha256());
    let text = serde_json::to_string(&a).expect("plain data");
    let again: Config = serde_json::from_str(&text).expect("what was written");
    assert_eq!(again.sha256(), a.sha256());
}

#[test]
fn syntax_errors_have_their_place() {
    one(
        &MINIMAL.replace("name = \"mmq\"", "name = mmq"),
        "mmq",
        &["campaign.toml:3:8: not valid TOML"],
    );
    let open = errors_of("[campaign\nname = \"x\"\n");
    assert_eq!((open[0].line, open[0].column), (1, 10), "{open:?}");
    let twice = errors("[limits]\noutput_bytes = 4096\noutput_bytes = 4096\n");
    assert!(twice[0].message.contains("duplicate key"), "{twice:?}");
    let several = errors_of("a = \nb = \"x\nc = 1\n");
    assert!(several.len() >= 2, "{several:?}");
}

#[test]
fn unknown_keys_name_the_nearest() {
    one(
        &with("[protocl]\npairs = 5\n"),
        "protocl",
        &[
            "unknown key `protocl` in the file",
            "did you mean `protocol`?",
        ],
    );
    one(
        &MINIMAL.replace("outputs =", "runtime = []\noutput ="),
        "output",
        &[
            "unknown key `output` in `[build]`",
            "did you mean `outputs`?",
        ],
    );
    one(
        &MINIMAL.replace("arch =", "arc = 1\narch ="),
        "arc",
        &["did you mean `arch`?"],
    );
    one(
        &with("[limits]\nzzz = 1\n"),
        "zzz",
        &["there is `output_bytes`, `free_disk_bytes`"],
    );
    one(
        &with(
            "[[bench]]\nname = \"a\"\ncommand = \"a\"\nvalue = { regxe = '(a)', json = \"\" }\nunit = \"s\"\nbetter = \"lower\"\n",
        ),
        "regxe",
        &["did you mean `regex`?"],
    );
}

#[test]
fn later_keys_are_reserved() {
    for (text, key) in [
        ("[ruler]\npaths = []\n", "ruler"),
        ("[[variant]]\nname = \"x\"\n", "variant"),
    ] {
        one(
            &with(text),
            key,
            &[&format!("`{key}` is not supported yet")],
        );
    }
}

#[test]
fn everything_that_is_wrong_is_said_at_once() {
    let text = r#"
[campaign]
name = "a b"
titel = "x"
[toolchain]
cuda = "12.9"
arch = ["sm_122", "compute_90"]
[device]
kind = "gpu"
[[bench]]
name = "x"
[[bench]]
name = "x"
command = []
value = { regex = '(' }
unit = 3
better = "up"
[protocol]
pairs = 2
"#;
    let errors = errors_of(text);
    let lines: Vec<usize> = errors.iter().map(|error| error.line).collect();
    assert!(lines.is_sorted(), "{lines:?}");
    let all = ConfigErrors(errors).to_string();
    for part in [
        "the file has no `[build]`",
        "`a b` will not do",
        "did you mean `title`?",
        "`12.9` is not a toolchain",
        "`sm_122` is not an architecture",
        "did you mean `sm_90`?",
        "`gpu` is not a value of `kind`",
        "neither `command` nor `harness`",
        "has no `value`",
        "has no `unit`",
        "has no `better`",
        "`x` is used twice",
        "the command is empty",
        "not a regular expression",
        "`unit` must be a text",
        "`up` is not a value of `better`",
        "`pairs` = 2 is out of range",
    ] {
        assert!(all.contains(part), "`{part}` is not in:\n{all}");
    }
}

#[test]
fn missing_sections_and_keys_say_what_to_add() {
    let all = ConfigErrors(errors_of("")).to_string();
    for part in [
        "no `[campaign]`",
        "no `[toolchain]`",
        "no `[build]`",
        "runner init",
    ] {
        assert!(all.contains(part), "{all}");
    }
    one(
        &MINIMAL.replace("outputs = [\"engine\"]\n", ""),
        "[build]",
        &["`[build]` has no `outputs`", "outputs = [\"engine\"]"],
    );
    one(
        &MINIMAL.replace("arch = [\"sm_121\"]", ""),
        "[toolchain]",
        &["has no `arch`"],
    );
    one(
        &with("[[kernel]]\nthreads = 1\n"),
        "[[kernel]]",
        &["`[[kernel]]` has no `name`"],
    );
}

#[test]
fn wrong_types_say_what_was_wanted() {
    one(
        &MINIMAL.replace("[\"engine\"]", "\"engine\""),
        "\"engine\"",
        &["`outputs` must be a list"],
    );
    one(
        &MINIMAL.replace("[\"engine\"]", "[\"engine\", 3]"),
        "3",
        &["put it in quotes: `\"3\"`"],
    );
    one(
        &with("[bench]\nname = \"x\"\n"),
        "[bench]",
        &["`[[bench]]`"],
    );
    one(
        &with("[[build.x]]\n"),
        "x",
        &["unknown key `x` in `[build]`"],
    );
    one(
        &MINIMAL.replace("outputs", "env = { A = 1 }\noutputs"),
        "1",
        &["put it in quotes: `\"1\"`"],
    );
    one(
        &with("[limits]\noutput_bytes = 1.5\n"),
        "1.5",
        &["a whole number"],
    );
    one(
        &with("[limits]\noutput_bytes = \"64 MB\"\n"),
        "\"64 MB\"",
        &["is not a number of bytes", "`MiB`"],
    );
    one(
        &with("[device]\nkind = true\n"),
        "true",
        &["must be a text"],
    );
}

#[test]
fn paths_stay_in_the_worktree() {
    for path in ["/etc/passwd", "../x", "a/../../b", "~/x"] {
        one(
            &MINIMAL.replace("[\"engine\"]", &format!("[\"{path}\"]")),
            &format!("\"{path}\""),
            &["is outside the worktree"],
        );
        one(
            &MINIMAL.replace("outputs", &format!("directory = \"{path}\"\noutputs")),
            &format!("\"{path}\""),
            &["is outside the worktree"],
        );
    }
    one(
        &MINIMAL.replace("[\"engine\"]", "[\"a[\"]"),
        "\"a[\"",
        &["is not a glob"],
    );
    one(
        &MINIMAL.replace("[\"engine\"]", "[]"),
        "[]",
        &["`outputs` is empty"],
    );
}

#[test]
fn secrets_are_refused() {
    one(
        &with("[environment]\nallow = [\"GITHUB_TOKEN\"]\n"),
        "\"GITHUB_TOKEN\"",
        &["looks like a secret"],
    );
    one(
        &with("[environment]\nset = { DB_PASSWORD = \"x\" }\n"),
        "DB_PASSWORD",
        &["looks like a secret"],
    );
    one(
        &with("[environment]\nset = { CUDA_ARCH = \"x\" }\n"),
        "CUDA_ARCH",
        &["set by the runner", "`arch`"],
    );
    one(
        &with("[environment]\nallow = [\"A-B\"]\n"),
        "\"A-B\"",
        &["not the name of an environment variable"],
    );
}

#[test]
fn architectures() {
    let arch = |arch: &str| MINIMAL.replace("sm_121", arch);
    one(&arch("sm121"), "\"sm121\"", &["did you mean `sm_121`?"]);
    one(&arch("12.1"), "\"12.1\"", &["did you mean `sm_121`?"]);
    one(&arch("sm_70"), "\"sm_70\"", &["CUDA 13.0 does not compile"]);
    good(&arch("sm_70").replace("13.0", "system"));
    one(&arch("sm_90\", \"sm_90"), "\"sm_90\"", &["listed twice"]);
    one(
        &MINIMAL.replace("[\"sm_121\"]", "[]"),
        "[]",
        &["`arch` is empty"],
    );
}

const BENCH: &str = "[[bench]]\nname = \"b\"\ncommand = \"./b\"\nvalue = { regex = '([0-9.]+) ms' }\nunit = \"ms\"\nbetter = \"lower\"\n";

#[test]
fn benches() {
    good(&with(BENCH));
    let bench = |from: &str, to: &str| with(&BENCH.replace(from, to));
    let bar = |bar: &str| with(&format!("{BENCH}bar = \"{bar}\"\n"));
    one(&bar(">= 3 ms"), "\">= 3 ms\"", &["points the wrong way"]);
    one(
        &bar("<= 3 s"),
        "\"<= 3 s\"",
        &["is in `s`, but the bench is in `ms`"],
    );
    one(&bar("-1%"), "\"-1%\"", &["negative"]);
    one(&bar("0%"), "\"0%\"", &["zero"]);
    one(
        &bench("([0-9.]+)", "[0-9.]+"),
        "'[0-9.]+ ms'",
        &["no group"],
    );
    one(
        &bench("{ regex = '([0-9.]+) ms' }", "{ json = \"a\" }"),
        "\"a\"",
        &["`/a`"],
    );
    one(
        &bench("{ regex = '([0-9.]+) ms' }", "\"hyprfine\""),
        "\"hyprfine\"",
        &["`hyperfine`"],
    );
    one(
        &bench(
            "{ regex = '([0-9.]+) ms' }",
            "{ json = \"\", select = \"x\" }",
        ),
        "\"x\"",
        &["goes with `format`"],
    );
    one(
        &bench("value", "inner = 3\nvalue"),
        "3",
        &["only with `harness`"],
    );
    one(
        &bench("{ regex = '([0-9.]+) ms' }", "\"hyperfine\""),
        "\"ms\"",
        &["the format's values are not in `ms`", "they are in s"],
    );
    one(
        &bench("command = \"./b\"", "command = \" \""),
        "\" \"",
        &["`command` is empty"],
    );
    one(
        &bench("\"./b\"", "[\"\", \"x\"]"),
        "[\"\", \"x\"]",
        &["program is empty"],
    );
    one(
        &bench("name = \"b\"", "name = \"b\\n\""),
        "\"b\\n\"",
        &["will not do as a name"],
    );
}

#[test]
fn harness_cases() {
    let harness = "[harness]\ncommand = [\"./h\"]\n";
    let bench = "[[bench]]\nname = \"b\"\nharness = true\nunit = \"ms\"\nbetter = \"lower\"\n";
    good(&with(&format!("{harness}{bench}")));
    one(&with(bench), "true", &["the file has no `[harness]`"]);
    one(
        &with(&format!("{harness}{bench}value = \"hyperfine\"\n")),
        "\"hyperfine\"",
        &["the harness answers with the number itself"],
    );
    one(
        &with(&format!("{harness}{bench}command = \"x\"\n")),
        "true",
        &["both `command` and `harness`"],
    );
    one(
        &with(&format!("{harness}{bench}env = {{ A = \"1\" }}\n")),
        "{ A = \"1\" }",
        &["set `env` in `[harness]`"],
    );
    one(
        &with(&format!("{harness}{}", bench.replace("true", "false"))),
        "false",
        &["says nothing"],
    );
}

#[test]
fn kernels_protocols_and_limits() {
    one(
        &with("[[kernel]]\nname = \"(\"\n"),
        "\"(\"",
        &["not a regular expression"],
    );
    one(
        &with("[[kernel]]\nname = \"k\"\nthreads = 1025\n"),
        "1025",
        &["at most 1,024"],
    );
    one(
        &with("[[kernel]]\nname = \"k\"\ndynamic_smem = \"228 KiB\"\n"),
        "\"228 KiB\"",
        &["at most 232,448"],
    );
    one(
        &with("[[kernel]]\nname = \"k\"\n[[kernel]]\nname = \"k\"\n"),
        "\"k\"",
        &["two `[[kernel]]`"],
    );
    one(
        &with("[protocol]\npairs = 2\n"),
        "2",
        &["never rests on single samples"],
    );
    one(
        &with("[protocol]\npairs = 5\nsamples = 45\n"),
        "[protocol]",
        &["both `pairs` and `samples`"],
    );
    one(
        &with("[limits]\noutput_bytes = -1\n"),
        "-1",
        &["out of range"],
    );
}

#[test]
fn claims_in_the_file_are_marked_at_the_fault() {
    let claims = |claim: &str| {
        MINIMAL.replace(
            "name = \"mmq\"",
            &format!("name = \"mmq\"\nclaims = [{claim}]"),
        )
    };
    one(&claims("'regs k = 3'"), "=", &["did you mean `==`?"]);
    one(
        &claims("\"regs k == 1\", \"sas k LDS == 0\""),
        "sas",
        &["did you mean `sass`?"],
    );
    // With escapes the columns do not agree, so the whole text is marked.
    one(
        &claims(r#""regs \"k\" = 3""#),
        r#""regs \"k\" = 3""#,
        &["`==`"],
    );
}

/// Every key of the file stands in a table under its table's heading of the reference, and
/// every key there is one of the file's.
#[test]
fn the_reference_lists_exactly_the_keys_that_are_read() {
    let document = include_str!("../../../docs/campaign-toml.md");
    let mut heading = None;
    let mut documented: Vec<(String, String)> = Vec::new();
    for line in document.lines() {
        if line.starts_with('#') {
            heading = line.split('`').nth(1);
        } else if let (Some(table), Some(row)) = (heading, line.strip_prefix("| `")) {
            let key = row.split('`').next().unwrap_or_default();
            documented.push((table.to_owned(), key.to_owned()));
        }
    }
    documented.sort();
    let mut known: Vec<(String, String)> = schema::ALL
        .iter()
        .flat_map(|table| {
            let title = match table.path {
                "" => "campaign.toml".to_owned(),
                "value" => "value".to_owned(),
                _ => table.title().replace('`', ""),
            };
            table
                .keys
                .iter()
                .map(move |key| (title.clone(), (*key).to_owned()))
        })
        .collect();
    known.sort();
    assert_eq!(documented, known);
    for text in ["`\"0.5%\"`", "6, 10, 16, 26 and 44", "`3,600`", "`13.0`"] {
        assert!(document.contains(text), "{text}");
    }
}

/// The TOML blocks of the reference are read without an error.
#[test]
fn the_examples_of_the_reference_are_right() {
    let document = include_str!("../../../docs/campaign-toml.md");
    let mut blocks = 0;
    for block in document.split("```toml\n").skip(1) {
        let text = block.split("```").next().unwrap_or_default();
        good(text);
        blocks += 1;
    }
    assert!(blocks >= 2, "{blocks}");
}

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic(cut in 0usize..3000, junk in "[\\[\\]{}=\"'\n a-zµ0-9.#]{0,12}") {
        let mut at = cut.min(FULL.len());
        while !FULL.is_char_boundary(at) { at -= 1; }
        for text in [format!("{}{junk}", &FULL[..at]), format!("{}{junk}{}", &FULL[..at], &FULL[at..])] {
            if let Err(errors) = parse(&text, "f") {
                assert!(!errors.0.is_empty());
                errors.to_string();
            }
        }
    }
}

#[test]
fn counters() {
    let one = "[[counters]]\nname = \"q\"\ncommand = \"./e\"\nkernels = \"k\"\n";
    assert_eq!(good(&with(one)).counters.len(), 1);
    for (line, parts) in [
        ("launches = 0", &["at least 1", "at most 100"][..]),
        ("launches = 101", &["at most 100"]),
        (
            "metrics = [\"shared_ld_conflict\"]",
            &["did you mean `shared_ld_conflicts`?"],
        ),
        ("metrics = [\"--set\"]", &["neither a counter nor a metric"]),
        (
            "metrics = [\"a__b.sum,c__d.sum\"]",
            &["neither a counter nor a metric"],
        ),
        ("metrics = [\"duration\"]", &["no measurement"]),
        (
            "metrics = [\"gpu__time_duration.avg\"]",
            &["no measurement"],
        ),
        ("metrics = [\"a__b.sum\", \"a__b.sum\"]", &["listed twice"]),
        ("metric = []", &["did you mean `metrics`?"]),
    ] {
        let errors = errors(&format!("{one}{line}\n"));
        assert_eq!(errors.len(), 1, "{line}");
        let shown = errors[0].to_string();
        for part in parts {
            assert!(shown.contains(part), "{line}: {shown}");
        }
    }
    for option in [
        "[\"--set\", \"full\"]",
        "[\"-o\"]",
        "\"-c ./e\"",
        "\" --set full\"",
    ] {
        let errors = errors(&one.replace("\"./e\"", option));
        assert_eq!(errors.len(), 1, "{option}");
        let shown = errors[0].to_string();
        for part in [":15:11", "begins with `-`"] {
            assert!(shown.contains(part), "{option}: {shown}");
        }
    }
    let missing = errors("[[counters]]\nname = \"q\"\n");
    let shown = ConfigErrors(missing).to_string();
    assert!(
        shown.contains("no `command`") && shown.contains("no `kernels`"),
        "{shown}"
    );
    let broken = errors(&one.replace("\"k\"", "\"(\""));
    assert!(broken[0].to_string().contains("not a regular expression"));
    assert_eq!(
        errors(&format!("{one}{one}")).len(),
        1,
        "the name is used twice"
    );
}

/// A config from before `[[counters]]` existed keeps its hash: earlier windows stay comparable.
#[test]
fn a_config_without_counters_is_stored_as_before() {
    let stored = serde_json::to_string(&good(MINIMAL)).expect("plain data");
    assert!(!stored.contains("counters"), "{stored}");
    let read: Config = serde_json::from_str(&stored).expect("plain data");
    assert_eq!(read, good(MINIMAL));
}

/// The example of `docs/counters.md`.
#[test]
fn the_example_of_the_document_on_counters_is_right() {
    let document = include_str!("../../../docs/counters.md");
    let example = document.split("```toml\n").nth(1).expect("an example");
    let example = example.split("```").next().expect("its end");
    assert_eq!(good(&with(example)).counters.len(), 1);
}

#[test]
fn protocols_are_read_and_keep_their_recorded_form() {
    let read = |text: &str| good(&with(&format!("[protocol]\n{text}\n"))).protocol;
    let sequential = |smallest_worthwhile| Protocol::Sequential {
        smallest_worthwhile,
    };
    for (text, expected, recorded) in [
        (
            "",
            sequential(0.5),
            r#"{"sequential":{"smallest_worthwhile":0.5}}"#,
        ),
        (
            "sequential = true",
            sequential(0.5),
            r#"{"sequential":{"smallest_worthwhile":0.5}}"#,
        ),
        (
            "smallest_worthwhile = \" 1.25 % \"",
            sequential(1.25),
            r#"{"sequential":{"smallest_worthwhile":1.25}}"#,
        ),
        ("pairs = 10", Protocol::Pairs(10), r#"{"pairs":10}"#),
        (
            "sequential = false\npairs = 5",
            Protocol::Pairs(5),
            r#"{"pairs":5}"#,
        ),
        ("samples = 45", Protocol::Samples(45), r#"{"samples":45}"#),
    ] {
        let protocol = read(text);
        assert_eq!(protocol, expected, "{text}");
        let json = serde_json::to_string(&protocol).expect("plain data");
        assert_eq!(json, recorded);
        let again: Protocol = serde_json::from_str(&json).expect("reads back");
        assert_eq!(again, protocol);
    }
}

#[test]
fn protocols_that_contradict_themselves_are_refused() {
    for (key, marked, message) in [
        (
            "sequential = true\npairs = 6",
            "[protocol]",
            "a fixed number of pairs and for the sequential",
        ),
        (
            "smallest_worthwhile = \"1%\"\npairs = 6",
            "[protocol]",
            "a fixed number of pairs and for the sequential",
        ),
        ("sequential = false", "[protocol]", "names no other"),
        ("sequential = 1", "1", "must be `true` or `false`"),
        ("smallest_worthwhile = 0.5", "0.5", "put it in quotes"),
        (
            "smallest_worthwhile = \"0%\"",
            "\"0%\"",
            "a percentage above 0",
        ),
        (
            "smallest_worthwhile = \"-1%\"",
            "\"-1%\"",
            "a percentage above 0",
        ),
        (
            "smallest_worthwhile = \"0.5\"",
            "\"0.5\"",
            "a percentage above 0",
        ),
        (
            "smallest_worthwhile = \"nan%\"",
            "\"nan%\"",
            "a percentage above 0",
        ),
        (
            "sequential = false\nsmallest_worthwhile = \"1%\"",
            "\"1%\"",
            "turned off",
        ),
    ] {
        one(&with(&format!("[protocol]\n{key}\n")), marked, &[message]);
    }
}

#[test]
fn the_machine_is_read_and_left_out_where_it_says_nothing() {
    let plain = good(&with(""));
    assert!(plain.machine.is_default());
    let stored = serde_json::to_value(&plain).expect("JSON");
    assert!(
        stored.get("machine").is_none(),
        "its hash stays what it was"
    );
    assert_eq!(
        serde_json::from_value::<Config>(stored).expect("a config"),
        plain
    );
    let machine = good(&with(
        "[machine]\nlock_clocks = true\nsm_clock = 1500\ndrain_s = 0\ndrain_cpu = 0.5\n\
         canary = false\ncanary_since = \"2026-12-01\"\nmax_foreign_cpu = 0.25\n",
    ))
    .machine;
    assert_eq!(
        machine,
        Machine {
            lock_clocks: true,
            sm_clock: Some(1500),
            drain_s: 0,
            drain_cpu: Some(0.5),
            canary: Some(false),
            canary_since: Some(crate::model::UnixMillis(1_796_083_200_000)),
            max_foreign_cpu: Some(0.25),
        }
    );
    for (text, marked, message) in [
        ("sm_clock = 1500", "1500", "not locked"),
        (
            "canary_since = \"yesterday\"",
            "\"yesterday\"",
            "not a date",
        ),
        ("drain_s = 3601", "3601", "drained device"),
        ("max_foreign_cpu = -1", "-1", "0 or above"),
        ("lock_clocks = 1", "1", "`true` or `false`"),
        ("lock_clock = true", "lock_clock", "lock_clocks"),
    ] {
        one(&with(&format!("[machine]\n{text}\n")), marked, &[message]);
    }
}
