//! Writes the `campaign.toml` that `runner init` proposes.
//!
//! Pure. Lines of words begin with `# `; lines that would be config if the `#` were taken away
//! begin with `#` and no blank, and are right as they stand: a test takes them all in.

use std::fmt::Write;

use super::commands::{cmake_command, is_plain, make_note, nvcc_command};
use super::detect::{Found, Recipe};
use super::machine::DEFAULT_DRAIN_S;
use super::parse::PINNED_CUDA;
use crate::stats::SMALLEST_WORTHWHILE;

/// The reference machine's architecture, where the repository names none.
const DEFAULT_ARCH: &str = "sm_121";

/// The proposal for a repository.
pub fn render(found: &Found) -> String {
    let build = Build::of(found);
    let mut text = String::new();
    head(&mut text, found);
    toolchain(&mut text, found);
    build.write(&mut text);
    gates(&mut text, &build);
    benches(&mut text, &build);
    rest(&mut text);
    text
}

/// A TOML string.
fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

fn list(items: &[String]) -> String {
    let items: Vec<String> = items.iter().map(|item| quoted(item)).collect();
    format!("[{}]", items.join(", "))
}

/// Adds lines to a text; writing to a `String` cannot fail.
fn add(text: &mut String, lines: impl std::fmt::Display) {
    let written = writeln!(text, "{lines}");
    debug_assert!(written.is_ok());
}

fn head(text: &mut String, found: &Found) {
    add(
        text,
        format_args!(
            "\
# What `runner` builds, checks and measures for each commit. Written by `runner init`: read it
# through, fill in what is commented out and of use, and try it with `runner check`.
# Every key with its unit and default is explained in docs/campaign-toml.md of Roundhouse.

[campaign]
name = {name}
# Title of pages.
#title = {name}
# The branch against which a commit's base is found; by default what origin/HEAD names.
#default_branch = \"main\"
# Claims that must hold for every commit; those of a single commit are `Claim:` trailers.
#claims = [\"spills * == 0\"]
",
            name = quoted(&found.name)
        ),
    );
}

fn toolchain(text: &mut String, found: &Found) {
    let pinned = PINNED_CUDA.first().copied().unwrap_or("system");
    let (archs, why) = match found.archs.as_slice() {
        [] => (
            vec![DEFAULT_ARCH.to_owned()],
            "The build files name no architecture; this is GB10.",
        ),
        archs => (archs.to_vec(), "As the build files name them."),
    };
    add(
        text,
        format_args!(
            "\
[toolchain]
# A pinned toolchain that the runner installs once; or \"system\" for what is on PATH, or \"none\".
cuda = {pinned}
# {why} Builds see the list as CUDA_ARCH.
arch = {archs}

# What gates and benches run on: \"cuda\", or \"cpu\" for any machine.
#[device]
#kind = \"cuda\"
#index = 0
",
            pinned = quoted(pinned),
            archs = list(&archs)
        ),
    );
}

/// What `[build]` says, and a program that examples can name.
struct Build {
    note: String,
    command: String,
    outputs: Vec<String>,
    more: Vec<String>,
    program: String,
}

impl Build {
    fn of(found: &Found) -> Self {
        let archs = match found.archs.as_slice() {
            [] => vec![DEFAULT_ARCH.to_owned()],
            archs => archs.to_vec(),
        };
        let (note, command, outputs, more) = match &found.recipe {
            Recipe::Make {
                file,
                goal,
                toolchain,
                outputs,
                others,
            } => {
                let goal = goal.as_deref().filter(|goal| is_plain(goal)).unwrap_or("");
                let set = toolchain
                    .iter()
                    .map(|(name, value)| format!("{name}={value} "));
                let set: String = set.collect();
                (
                    make_note(file, toolchain),
                    format!("make -j\"$(nproc)\" {set}{goal}")
                        .trim_end()
                        .to_owned(),
                    outputs.clone(),
                    others.clone(),
                )
            }
            Recipe::CMake {
                outputs,
                conditional,
            } => (
                "Recognised: CMake.".to_owned(),
                cmake_command(&archs),
                outputs.clone(),
                conditional.clone(),
            ),
            Recipe::Nvcc { units, includes } => {
                let (command, outputs) = nvcc_command(units, includes, &archs);
                (
                    "Recognised: CUDA sources.".to_owned(),
                    command,
                    outputs,
                    Vec::new(),
                )
            }
            Recipe::Unknown => (
                "Nothing was recognised: say here how the repository is built.".to_owned(),
                "make".to_owned(),
                Vec::new(),
                Vec::new(),
            ),
        };
        let mut build = Build {
            note,
            command,
            outputs: usable(outputs),
            more: usable(more),
            program: String::new(),
        };
        build.choose_program();
        build
    }

    /// The first output that looks like a program; outputs are never left empty.
    fn choose_program(&mut self) {
        if self.outputs.is_empty() {
            self.note
                .push_str(" What it makes could not be seen: correct `outputs`.");
            self.outputs = vec!["build/**/*.cubin".to_owned()];
        }
        let program = self.outputs.iter().find(|output| {
            let file = output.rsplit('/').next().unwrap_or_default();
            !file.contains(['.', '*'])
        });
        self.program = program.map_or_else(
            || "./program".to_owned(),
            |program| format!("./{}", program.replace("/**", "")),
        );
    }

    fn write(&self, text: &mut String) {
        add(
            text,
            format_args!(
                "\
# How a side is built, in a worktree of its own; by /bin/sh, or as a list without a shell.
# {note}
[build]
command = {command}
# What it makes: every cubin inside is inspected. Each must match a file.
outputs = {outputs}",
                note = self.note,
                command = quoted(&self.command),
                outputs = list(&self.outputs)
            ),
        );
        if !self.more.is_empty() {
            let more: Vec<&str> = self.more.iter().take(20).map(String::as_str).collect();
            add(
                text,
                format_args!("# Also seen, and left out: {}", more.join(", ")),
            );
        }
        add(
            text,
            "\
# Where the command runs.
#directory = \".\"
# Tracked files that are read at run time: a change in one is a change of the lever.
#runtime = [\"prompts/**\"]
#env = { BUILD_TYPE = \"Release\" }
# Seconds.
#timeout_s = 3600

# Launch facts that the binary does not hold, for occupancy and `smem` claims. `name` is a regular
# expression on the demangled name.
#[[kernel]]
#name = \"^mmq_wide\"
#threads = 256
#dynamic_smem = \"96 KiB\"
",
        );
    }
}

/// Outputs that the config takes, each once.
fn usable(outputs: Vec<String>) -> Vec<String> {
    let mut usable: Vec<String> = Vec::new();
    for output in outputs {
        let output = output.trim_start_matches("./").to_owned();
        let inside = !output.starts_with(['/', '~']) && output.split('/').all(|part| part != "..");
        let odd = output.is_empty() || output.contains(['$', '(', '\n']) || output.contains('\r');
        let glob = globset::Glob::new(&output).is_ok();
        if inside && !odd && glob && !usable.contains(&output) {
            usable.push(output);
        }
    }
    usable
}

fn gates(text: &mut String, build: &Build) {
    add(
        text,
        format_args!(
            "\
# Gates. A parity case passes by its exit status, or by figures with limits.
#[[parity]]
#name = \"selftest\"
#command = [{program}, \"--selftest\"]
#timeout_s = 600
#[[parity.figures]]
#name = \"nmse\"
#value = {{ regex = 'nmse ([0-9.e+-]+)' }}
#max = 1e-6

# Greedy-32: both sides' outputs must be equal byte by byte, lines with timings left out.
#[identity]
#command = [{program}, \"--prompt\", \"prompt.txt\", \"-n\", \"32\", \"--temp\", \"0\"]
#drop_lines = [\"tok/s\"]
#tokens = 32

# A program that stays alive and answers JSON lines, so that a model is loaded once per launch.
#[harness]
#command = [{program}, \"--serve\"]
#start_timeout_s = 300
",
            program = quoted(&build.program)
        ),
    );
}

fn benches(text: &mut String, build: &Build) {
    add(
        text,
        format_args!(
            "\
# What is measured; one launch is one sample. A bench with a bar is a target, every other one a
# guard that must not get worse. Without a bench, only the compiled code is judged.
#[[bench]]
#name = \"prefill\"
#command = [{program}, \"--bench\"]
#value = {{ regex = '([0-9.]+) tok/s' }}
#unit = \"tok/s\"
#better = \"higher\"
#bar = \"+1.5%\"
#timeout_s = 600
# No sample can be better than this; also from bytes and operations (docs/fairness.md).
#floor = {{ best_possible = \"100000 tok/s\" }}

# A value may also be a JSON pointer ({{ json = \"/mean\" }}) or come from a format by name:
# \"llama-bench\", \"google-benchmark\", \"nvbench\", \"hyperfine\". A harness gives it itself:
#[[bench]]
#name = \"q_proj\"
#harness = true
#unit = \"ms\"
#better = \"lower\"
#bar = \"<= 2.1 ms\"
#warmup = 2

# What Nsight Compute counts on both sides, as evidence for claims such as
# `Claim: counter q_proj shared_ld_conflicts == 0`: a command that launches the kernel once.
#[[counters]]
#name = \"q_proj\"
#command = [{program}, \"--launch\", \"q_proj\"]
#kernels = \"q_proj\"
#launches = 1
",
            program = quoted(&build.program)
        ),
    );
}

fn rest(text: &mut String) {
    add(
        text,
        format_args!(
            "\
# Pairs of a base and a head sample are measured until the question is answered, with a look after
# 6, 10, 16, 26 and at most 44. A fixed number instead: `pairs` (or `samples`), at least 3.
#[protocol]
#sequential = true
#smallest_worthwhile = \"{SMALLEST_WORTHWHILE}%\"

# The machine (docs/machine-control.md): how long a device that others use is waited for, and the
# canary, a fixed work before and after every window. Clocks are locked only where asked for.
#[machine]
#lock_clocks = true
#sm_clock = 1500
#drain_s = {DEFAULT_DRAIN_S}
#canary = true
#max_foreign_cpu = 0.5

# Commands see PATH, the locale and what the runner sets, and nothing else, but for these. Names
# that look like secrets are refused.
#[environment]
#allow = [\"MODEL_DIR\"]
#set = {{ OMP_NUM_THREADS = \"1\" }}

# A round that landed is measured against the pinned anchor at once (`runner anchor pin`).
#[anchor]
#after_landing = true

#[limits]
#output_bytes = \"64 MiB\"
#free_disk_bytes = \"2 GiB\""
        ),
    );
}

#[cfg(test)]
mod tests {
    use super::super::{Config, Unit, parse};
    use super::*;

    fn found(recipe: Recipe, archs: &[&str]) -> Found {
        Found {
            name: "my-repo".to_owned(),
            recipe,
            archs: archs.iter().map(|arch| (*arch).to_owned()).collect(),
        }
    }

    fn texts(items: &[&str]) -> Vec<String> {
        items.iter().map(|item| (*item).to_owned()).collect()
    }

    fn unit(sources: &[&str], program: Option<&str>) -> Unit {
        Unit {
            sources: texts(sources),
            program: program.map(str::to_owned),
        }
    }

    fn variants() -> Vec<Found> {
        vec![
            found(Recipe::Unknown, &[]),
            found(
                Recipe::Make {
                    file: "Makefile".into(),
                    goal: Some("all".into()),
                    toolchain: vec![("NVCC".into(), "nvcc".into())],
                    outputs: texts(&[
                        "engine", "./engine", "k.cubin", "/abs", "../up", "$(X)", "a[", "",
                    ]),
                    others: texts(&["bench", "weird\"name"]),
                },
                &["sm_90a", "sm_121"],
            ),
            found(
                Recipe::Make {
                    file: "Makefile".into(),
                    goal: Some("-x; rm".into()),
                    toolchain: Vec::new(),
                    outputs: Vec::new(),
                    others: Vec::new(),
                },
                &[],
            ),
            found(
                Recipe::CMake {
                    outputs: texts(&["build/**/mmq", "build/**/libk.a"]),
                    conditional: texts(&["build/**/tests"]),
                },
                &["sm_90a", "sm_121"],
            ),
            found(
                Recipe::CMake {
                    outputs: Vec::new(),
                    conditional: Vec::new(),
                },
                &[],
            ),
            found(
                Recipe::Nvcc {
                    units: vec![unit(&["it's.cu", "k.cu"], Some("it's"))],
                    includes: texts(&["include", "my headers"]),
                },
                &[],
            ),
            found(
                Recipe::Nvcc {
                    units: vec![
                        unit(&["a/main.cu"], Some("main")),
                        unit(&["b/main.cu"], Some("main")),
                        unit(&["k.cu"], None),
                    ],
                    includes: Vec::new(),
                },
                &["sm_80"],
            ),
        ]
    }

    #[track_caller]
    fn read(text: &str) -> Config {
        match parse(text, "campaign.toml") {
            Ok(config) => config,
            Err(errors) => panic!("{errors}\n{text}"),
        }
    }

    #[test]
    fn every_proposal_is_a_right_config_as_it_is_and_with_all_examples_taken_in() {
        for found in variants() {
            let text = render(&found);
            let config = read(&text);
            assert_eq!(config.campaign.name, "my-repo");
            let uncommented: String = text
                .lines()
                .map(|line| match line.strip_prefix('#') {
                    Some(example) if !example.starts_with(' ') => format!("{example}\n"),
                    _ => format!("{line}\n"),
                })
                .collect();
            let full = read(&uncommented);
            assert_eq!(full.build.command, config.build.command);
            assert_eq!(full.benches.len(), 2);
            assert_eq!(full.counters.len(), 1);
            assert_eq!(full.parity[0].figures.len(), 1);
            assert_eq!(full.kernels.len(), 1);
            assert!(full.harness.is_some() && full.identity.is_some());
            assert!(text.lines().all(|line| line.len() <= 400), "{text}");
        }
    }

    #[test]
    fn what_was_found_is_what_is_written() {
        let command = |found: &Found| match read(&render(found)).build.command {
            crate::config::CommandLine::Shell(command) => command,
            other => panic!("{other:?}"),
        };
        let all = variants();
        assert_eq!(command(&all[1]), "make -j\"$(nproc)\" NVCC=nvcc all");
        assert_eq!(read(&render(&all[1])).build.outputs, ["engine", "k.cubin"]);
        assert_eq!(read(&render(&all[1])).toolchain.arch, ["sm_90a", "sm_121"]);
        assert_eq!(command(&all[2]), "make -j\"$(nproc)\"");
        assert!(command(&all[3]).contains("-DCMAKE_CUDA_ARCHITECTURES='90a;121' "));
        assert!(command(&all[5]).contains(" -I include -I 'my headers' -gencode"));
        assert!(command(&all[5]).contains("-o 'build/it'\\''s' 'it'\\''s.cu' k.cu"));
        assert_eq!(
            command(&all[6]),
            "mkdir -p build && nvcc -O3 -std=c++17 -gencode arch=compute_80,code=sm_80 -o build/main a/main.cu \
             && nvcc -O3 -std=c++17 -gencode arch=compute_80,code=sm_80 -o build/b_main b/main.cu \
             && nvcc -O3 -std=c++17 -fatbin -gencode arch=compute_80,code=sm_80 -o build/k.fatbin k.cu"
        );
        assert!(render(&all[3]).contains("[\"./build/mmq\", \"--bench\"]"));
    }
}
