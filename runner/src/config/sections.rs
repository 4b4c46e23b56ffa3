//! The smaller tables of `campaign.toml`: build, kernels, harness, environment, limits.

use super::reader::Section;
use super::schema;
use super::values::{self, command, environment, globs, inside};
use super::{Anchor, Build, Environment, Harness, KernelFacts, Limits};

/// The longest time limit, seconds: a week.
const LONGEST_S: u64 = 7 * 24 * 3600;
/// The largest dynamic shared memory of a known GPU, bytes per block.
const MOST_SMEM: u64 = 227 * 1024;

/// `[build]`.
pub(super) fn build(section: &Section<'_>) -> Option<Build> {
    let command = section.required("command", "\"make -j\"").and_then(command);
    let directory = section.get("directory").and_then(|item| {
        let text = item.filled()?;
        inside(&text, item).then(|| text.into_inner())
    });
    let outputs = section.required("outputs", "[\"engine\"]").map(|item| {
        if item
            .value
            .get_ref()
            .as_array()
            .is_some_and(|a| a.is_empty())
        {
            item.reject(
                "`outputs` is empty",
                "name what the build makes; every cubin inside is inspected",
            );
        }
        globs(item)
    });
    Some(Build {
        command: command?,
        directory: directory.unwrap_or_else(|| ".".to_owned()),
        outputs: outputs?,
        runtime: section.get("runtime").map(globs).unwrap_or_default(),
        env: environment(section, "env"),
        timeout_s: timeout(section, "timeout_s", 3600),
    })
}

/// A time limit in whole seconds.
pub(super) fn timeout(section: &Section<'_>, key: &'static str, default: u64) -> u64 {
    section
        .get(key)
        .and_then(|item| item.integer(1..LONGEST_S + 1, "a time limit in whole seconds"))
        .unwrap_or(default)
}

/// `[[kernel]]`.
pub(super) fn kernels(root: &Section<'_>) -> Vec<KernelFacts> {
    let mut kernels: Vec<KernelFacts> = Vec::new();
    for section in root.sections(&schema::KERNEL) {
        let name = section.required("name", "\"mmq_wide\"").and_then(|item| {
            let text = item.filled()?;
            values::pattern(&text, item)?;
            if kernels.iter().any(|k| k.name == *text.get_ref()) {
                item.reject(
                    format!("two `[[kernel]]` tables are called `{}`", text.get_ref()),
                    "only the first would count; merge them",
                );
                return None;
            }
            Some(text.into_inner())
        });
        let threads = section
            .get("threads")
            .and_then(|item| item.integer(1..1025, "threads per block"));
        let dynamic_smem = section.get("dynamic_smem").and_then(|item| {
            item.bytes(
                0..MOST_SMEM + 1,
                "dynamic shared memory per block, in bytes",
            )
        });
        if let Some(name) = name {
            kernels.push(KernelFacts {
                name,
                threads: threads.map(|n| n as u32),
                dynamic_smem: dynamic_smem.unwrap_or(0) as u32,
            });
        }
    }
    kernels
}

/// `[harness]`.
pub(super) fn harness(section: &Section<'_>) -> Option<Harness> {
    let command = section
        .required("command", "[\"./engine\", \"--serve\"]")
        .and_then(command);
    let env = environment(section, "env");
    let start_timeout_s = timeout(section, "start_timeout_s", 300);
    Some(Harness {
        command: command?,
        env,
        start_timeout_s,
    })
}

/// `[anchor]`.
pub(super) fn anchor(root: &Section<'_>) -> Anchor {
    let section = root.section(&schema::ANCHOR);
    let item = section.and_then(|section| section.get("after_landing"));
    Anchor {
        after_landing: item.and_then(|item| item.truth()).unwrap_or(false),
    }
}

/// `[environment]`.
pub(super) fn environment_section(root: &Section<'_>) -> Environment {
    let Some(section) = root.section(&schema::ENVIRONMENT) else {
        return Environment::default();
    };
    let mut allow = Vec::new();
    for name in section.get("allow").map(|i| i.list()).unwrap_or_default() {
        match values::check_variable(name.get_ref()) {
            Ok(()) => allow.push(name.into_inner()),
            Err((message, help)) => section.sink.error_help(name.span(), message, help),
        }
    }
    Environment {
        allow,
        set: environment(&section, "set"),
    }
}

/// `[limits]`.
pub(super) fn limits(root: &Section<'_>) -> Limits {
    let section = root.section(&schema::LIMITS);
    let bytes = |key, bounds, meaning, default| {
        section
            .and_then(|s| s.get(key))
            .and_then(|item| item.bytes(bounds, meaning))
            .unwrap_or(default)
    };
    Limits {
        output_bytes: bytes(
            "output_bytes",
            1024..(4 << 30) + 1,
            "the most that a command may print",
            64 << 20,
        ),
        free_disk_bytes: bytes(
            "free_disk_bytes",
            0..(1 << 50) + 1,
            "free disk that a run needs before it starts",
            2 << 30,
        ),
    }
}
