//! What was built and run, as facts.

use super::lever::{Fact, fact};
use crate::config::{CommandLine, Config, Cuda, Probe, Protocol};
use crate::numbers::counted;
use crate::render::text;
use crate::stats::sequential::LOOKS;

/// What was built and run, from the effective config.
pub(super) fn setup_facts(config: &Config) -> Vec<Fact> {
    let cuda = match &config.toolchain.cuda {
        Cuda::Pinned(version) => format!("{version} (pinned)"),
        Cuda::System => "system".to_owned(),
        Cuda::None => "none".to_owned(),
    };
    let protocol = match config.protocol {
        Protocol::Sequential {
            smallest_worthwhile,
        } => format!(
            "sequential, looks after {} pairs, smallest worthwhile effect {smallest_worthwhile} %",
            LOOKS.map(|look| look.pairs.to_string()).join(", ")
        ),
        Protocol::Pairs(n) => format!("fixed, {}", counted(n as usize, "pair")),
        Protocol::Samples(n) => {
            let samples = counted(n as usize, "sample");
            format!("fixed, {samples} of each side, in pairs")
        }
    };
    let mut out = vec![
        fact("CUDA", cuda),
        fact("architectures", config.toolchain.arch.join(", ")),
        fact("build", command_text(&config.build.command)),
        fact("outputs", config.build.outputs.join(", ")),
        fact("protocol", protocol),
    ];
    for bench in &config.benches {
        out.push(fact(
            &format!("bench {}", bench.name),
            probe_text(&bench.probe),
        ));
    }
    for case in &config.parity {
        out.push(fact(
            &format!("parity {}", case.name),
            probe_text(&case.probe),
        ));
    }
    for entry in &config.counters {
        out.push(fact(
            &format!("counters {}", entry.name),
            command_text(&entry.command),
        ));
    }
    if let Some(identity) = &config.identity {
        out.push(fact("identity", probe_text(&identity.probe)));
    }
    for (name, value) in &config.environment.set {
        out.push(fact(&format!("environment {name}"), value.clone()));
    }
    out.retain(|f| !f.value.is_empty());
    out
}

fn command_text(command: &CommandLine) -> String {
    match command {
        CommandLine::Shell(line) => text::one_line(line),
        CommandLine::Argv(words) => words.join(" "),
    }
}

fn probe_text(probe: &Probe) -> String {
    match probe {
        Probe::Command(command) => command_text(command),
        Probe::Harness(name) => format!("harness, as {name}"),
    }
}

/// What matters most of a machine; `device` stands for all devices.
pub(super) const MACHINE: [&str; 8] = [
    "imported",
    "added by import",
    "device",
    "card",
    "driver",
    "processor",
    "system",
    "fingerprint",
];

/// What matters most of a toolchain; the host compiler is g++ for nvcc.
pub(super) const TOOLCHAIN: [&str; 5] = ["source", "nvcc", "nvdisasm", "g++", "fingerprint"];

/// The facts of those names; all of them where the description is of an unknown kind.
pub(super) fn essential(facts: &[Fact], names: &[&str]) -> Vec<Fact> {
    if !facts.iter().any(|fact| fact.name == "fingerprint") {
        return facts.to_vec();
    }
    let is_named = |fact: &&Fact| {
        let name = fact
            .name
            .trim_end_matches(|c: char| c == ' ' || c.is_ascii_digit());
        names.contains(&name)
    };
    facts.iter().filter(is_named).cloned().collect()
}
