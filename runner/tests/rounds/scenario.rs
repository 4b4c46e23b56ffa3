//! Scenarios: a real git repository with a small CPU engine in C, a `campaign.toml`, and the
//! real program run on it with its own HOME, data and cache folders.

use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// The engine: prints its speed with a little noise, 32 tokens, and a parity figure. What it
/// does is set by the macros at its top, so that a commit changes one line.
pub const ENGINE: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#define SPEED 100.0
#define FIRST_TOKEN 7
#define PARITY_ERROR 1e-6
static double noise(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    unsigned x = (unsigned)t.tv_nsec * 2654435761u ^ (unsigned)getpid() * 40503u;
    return ((x >> 8) % 1000) / 1000.0 - 0.5;
}
int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "";
    if (!strcmp(mode, "bench")) printf("speed: %.4f tok/s\n", SPEED * (1 + 0.004 * noise()));
    else if (!strcmp(mode, "greedy")) {
        printf("took %d ns\n", (int)time(0));
        for (int i = 0; i < 32; i++) printf("%d ", FIRST_TOKEN + i);
        printf("\n");
    } else if (!strcmp(mode, "parity")) printf("nmse %g\n", PARITY_ERROR);
    else return 2;
    return 0;
}
"#;

/// The engine's recipe.
pub const MAKEFILE: &str = "engine: engine.c\n\t$(CC) -O1 -o $@ engine.c\n";

/// The engine's campaign: one target bench with a bar of +1.5 %, parity and greedy-32.
pub const CAMPAIGN: &str = r#"
[campaign]
name = "toy"

[toolchain]
cuda = "none"

[build]
command = "make engine"
outputs = ["engine"]

[[parity]]
name = "small"
command = ["./engine", "parity"]
figures = [{ name = "nmse", value = { regex = 'nmse (\S+)' }, max = 1e-4 }]

[identity]
command = ["./engine", "greedy"]
drop_lines = ["^took "]

[[bench]]
name = "speed"
command = ["./engine", "bench"]
value = { regex = 'speed: (?<value>\S+) (?<unit>\S+)' }
unit = "tok/s"
better = "higher"
bar = "+1.5%"

[protocol]
pairs = 6
"#;

/// A repository and the program's folders, in one temporary folder.
pub struct Scenario {
    root: tempfile::TempDir,
}

impl Scenario {
    /// An empty repository on branch `main`.
    pub fn empty() -> Scenario {
        let root = tempfile::tempdir().expect("a temporary folder");
        let scenario = Scenario { root };
        for folder in ["repo", "home"] {
            std::fs::create_dir(scenario.root.path().join(folder)).expect("a folder");
        }
        scenario.git(&["init", "-q", "-b", "main"]);
        scenario
    }

    /// A repository with the engine, committed once.
    pub fn engine() -> Scenario {
        let scenario = Scenario::empty();
        scenario.write("engine.c", ENGINE);
        scenario.write("Makefile", MAKEFILE);
        scenario.write("campaign.toml", CAMPAIGN);
        scenario.write("README.md", "A toy engine.\n");
        scenario.commit("engine: first version");
        scenario
    }

    /// The repository's folder.
    pub fn repo(&self) -> PathBuf {
        self.root.path().join("repo")
    }

    /// A path under the scenario's own folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Writes a file of the repository.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.repo().join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }

    /// Replaces text in a file of the repository; the text must be there.
    pub fn edit(&self, path: &str, from: &str, to: &str) {
        let file = self.repo().join(path);
        let text = std::fs::read_to_string(&file).expect("the file");
        assert!(text.contains(from), "{path} does not hold {from:?}");
        std::fs::write(file, text.replacen(from, to, 1)).expect("a file");
    }

    /// Commits everything and gives the commit's name.
    pub fn commit(&self, message: &str) -> String {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Runs git in the repository and gives what it printed.
    pub fn git(&self, args: &[&str]) -> String {
        let output = self
            .clean(Command::new("git"))
            .args(args)
            .current_dir(self.repo())
            .output()
            .expect("git runs");
        assert!(
            output.status.success(),
            "git {args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Puts a command's own environment in place of the test's.
    pub fn clean(&self, mut command: Command) -> Command {
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path("home"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_NAME", "A Person")
            .env("GIT_AUTHOR_EMAIL", "person@example.invalid")
            .env("GIT_COMMITTER_NAME", "A Person")
            .env("GIT_COMMITTER_EMAIL", "person@example.invalid")
            .env("ROUNDHOUSE_DATA", self.path("data"))
            .env("ROUNDHOUSE_CACHE", self.path("cache"))
            .env("ROUNDHOUSE_LOCKS", self.path("locks"));
        command
    }

    /// The program with its environment, ready for arguments.
    pub fn command(&self) -> Command {
        let mut command = self.clean(Command::new(env!("CARGO_BIN_EXE_runner")));
        command.current_dir(self.repo());
        command
    }

    /// The engine with another one on top: base is the engine with `base` replaced, head that
    /// with `head` replaced.
    pub fn engine_pair(base: &[(&str, &str, &str)], head: &[(&str, &str, &str)]) -> Scenario {
        let scenario = Scenario::engine();
        for (message, edits) in [("engine: base", base), ("engine: head", head)] {
            for (file, from, to) in edits {
                scenario.edit(file, from, to);
            }
            scenario.commit(message);
        }
        scenario
    }

    /// Runs the program in a shell script, as `$RUNNER`.
    pub fn shell(&self, script: &str) -> Outcome {
        let mut command = self.clean(Command::new("/bin/sh"));
        command
            .env("RUNNER", env!("CARGO_BIN_EXE_runner"))
            .current_dir(self.repo())
            .args(["-c", script]);
        Outcome::of(command.output().expect("a shell starts"), &[script])
    }

    /// Starts the program, with its output thrown away.
    pub fn start(&self, args: &[&str]) -> Child {
        self.command()
            .args(args)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("runner starts")
    }

    /// What a line of Python prints that has the database open as `db`.
    pub fn database(&self, line: &str) -> String {
        let script = format!(
            "import sqlite3, sys\ndb = sqlite3.connect(sys.argv[1], timeout=30)\n{line}\ndb.commit()\n"
        );
        let output = Command::new("python3")
            .args(["-c", &script])
            .arg(self.path("data/roundhouse.db"))
            .output()
            .expect("python3 starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{script}\n{said}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// The living processes that were started by a run in this scenario.
    pub fn processes(&self) -> Vec<String> {
        let root = self.root.path().join("cache").join("work");
        let root = root.to_string_lossy().into_owned();
        let processes = std::fs::read_dir("/proc").expect("/proc is readable");
        processes
            .flatten()
            .filter(|process| {
                let read = |name| std::fs::read(process.path().join(name)).unwrap_or_default();
                let state = String::from_utf8_lossy(&read("stat")).into_owned();
                let zombie = state
                    .rsplit(") ")
                    .next()
                    .is_some_and(|s| s.starts_with('Z'));
                !zombie && String::from_utf8_lossy(&read("environ")).contains(&root)
            })
            .map(|process| {
                let line = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
                let line = String::from_utf8_lossy(&line).replace('\0', " ");
                format!("{} {line}", process.file_name().to_string_lossy())
            })
            .collect()
    }

    /// Waits until something is so, for half a minute.
    pub fn until(&self, what: &str, mut so: impl FnMut() -> bool) {
        let clock = Instant::now();
        while !so() {
            assert!(
                clock.elapsed() < Duration::from_secs(30),
                "waiting until {what}"
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Runs the program.
    pub fn runner(&self, args: &[&str]) -> Outcome {
        Outcome::of(
            self.command().args(args).output().expect("runner starts"),
            args,
        )
    }

    /// `runner run --json` with more arguments; the document it prints.
    pub fn run(&self, args: &[&str]) -> Run {
        let outcome = self.runner(&[&["run", "--json"], args].concat());
        let document = serde_json::from_str(&outcome.stdout).unwrap_or(Value::Null);
        Run { outcome, document }
    }
}

/// What the program printed and how it ended.
#[derive(Debug)]
pub struct Outcome {
    /// The arguments.
    pub args: Vec<String>,
    /// Exit status.
    pub code: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Outcome {
    /// Of a program that was started by hand.
    pub fn of(output: Output, args: &[&str]) -> Outcome {
        Outcome {
            args: args.iter().map(|&arg| arg.to_owned()).collect(),
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Asserts the exit status.
    pub fn expect_code(self, code: i32) -> Outcome {
        assert_eq!(
            self.code, code,
            "{:?}\n--- stdout\n{}\n--- stderr\n{}",
            self.args, self.stdout, self.stderr
        );
        self
    }

    /// Asserts that something was printed, however the lines were broken.
    pub fn expect_text(self, text: &str) -> Outcome {
        let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            flat(&self.text()).contains(&flat(text)),
            "no {text:?} in\n{}",
            self.text()
        );
        self
    }

    /// Standard output as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}: {}", self.text()))
    }

    /// Everything printed.
    pub fn text(&self) -> String {
        format!("{}\n{}", self.stdout, self.stderr)
    }
}

/// A finished `runner run --json`.
#[derive(Debug)]
pub struct Run {
    /// How the program ended.
    pub outcome: Outcome,
    /// The document it printed.
    pub document: Value,
}

impl Run {
    /// Asserts the verdict's word.
    pub fn expect_verdict(self, word: &str) -> Run {
        let found = self
            .document
            .pointer("/judgement/verdict")
            .and_then(Value::as_str);
        assert_eq!(
            found,
            Some(word),
            "reasons: {:#}\n--- stderr\n{}",
            self.document
                .pointer("/judgement/reasons")
                .unwrap_or(&Value::Null),
            self.outcome.stderr
        );
        self
    }

    /// A value by JSON pointer.
    pub fn at(&self, pointer: &str) -> &Value {
        self.document.pointer(pointer).unwrap_or(&Value::Null)
    }

    /// The reasons' sentences, one a line.
    pub fn reasons(&self) -> String {
        let reasons = self
            .at("/judgement/reasons")
            .as_array()
            .cloned()
            .unwrap_or_default();
        let texts = reasons.iter().filter_map(|reason| reason["text"].as_str());
        texts.collect::<Vec<_>>().join("\n")
    }
}
