//! `[[reference]]` of `campaign.toml`: another program that is measured beside a bench's pairs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::items::{LAUNCH_S, name};
use super::reader::{Item, Section};
use super::sections::timeout;
use super::values::{command, environment, extract};
use super::{Bench, CommandLine, Extract, schema, suggestion};

/// `[[reference]]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reference {
    /// Name, for people: `llama.cpp`.
    pub name: String,
    /// The bench beside which it is measured; its unit and direction are the reference's too.
    pub bench: String,
    /// How it is asked.
    pub asks: ReferenceProbe,
    /// What it is: `commit b4567`.
    pub pinned: String,
    /// Files that make it what it is, such as its program and weights; hashed before each window.
    pub files: Vec<String>,
    /// Extra environment.
    pub env: BTreeMap<String, String>,
    /// Time limit for one launch, seconds; 600 by default.
    pub timeout_s: u64,
}

/// How a reference is asked for its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReferenceProbe {
    /// By a command that prints the value.
    Command {
        /// The command.
        command: CommandLine,
        /// Where the value is.
        value: Extract,
    },
    /// By a harness of its own, under the bench's name.
    Harness {
        /// How to start it.
        command: CommandLine,
    },
}

/// Reads the tables.
pub(super) fn references(root: &Section<'_>, benches: &[Bench]) -> Vec<Reference> {
    let mut taken = Vec::new();
    root.sections(&schema::REFERENCE)
        .iter()
        .filter_map(|section| one(section, benches, &mut taken))
        .collect()
}

fn one(section: &Section<'_>, benches: &[Bench], taken: &mut Vec<String>) -> Option<Reference> {
    let name = name(section, taken, "\"llama.cpp\"");
    let bench = section
        .required("bench", "\"prefill\"")
        .and_then(|item| bench(item, benches));
    let asks = probe(section, bench);
    let pinned = pinned(section);
    let files = section
        .get("files")
        .map(|item| item.list())
        .unwrap_or_default();
    let env = environment(section, "env");
    let timeout_s = timeout(section, "timeout_s", LAUNCH_S);
    Some(Reference {
        name: name?,
        bench: bench?.name.clone(),
        asks: asks?,
        pinned: pinned?,
        files: files.into_iter().map(|text| text.into_inner()).collect(),
        env,
        timeout_s,
    })
}

fn bench<'b>(item: Item<'_>, benches: &'b [Bench]) -> Option<&'b Bench> {
    let text = item.filled()?;
    let found = benches.iter().find(|bench| bench.name == *text.get_ref());
    if found.is_none() {
        let known = benches.iter().map(|bench| bench.name.as_str());
        item.reject(
            format!("`{}` is no bench of this file", text.get_ref()),
            suggestion(text.get_ref(), known),
        );
    }
    found
}

fn probe(section: &Section<'_>, bench: Option<&Bench>) -> Option<ReferenceProbe> {
    match (section.get("command"), section.get("harness")) {
        (Some(item), None) => {
            let own = match section.get("value") {
                Some(item) => extract(item),
                // As the bench's own command prints it.
                None => bench.and_then(|bench| bench.value.clone()),
            };
            if own.is_none() && section.get("value").is_none() {
                section.required("value", "{ regex = '([0-9.]+) tok/s' }");
            }
            Some(ReferenceProbe::Command {
                command: command(item)?,
                value: own?,
            })
        }
        (None, Some(item)) => {
            if let Some(value) = section.get("value") {
                value.reject(
                    "`value` is given for a reference that is a harness",
                    "it answers with the number itself; leave it out",
                );
            }
            Some(ReferenceProbe::Harness {
                command: command(item)?,
            })
        }
        (Some(_), Some(item)) => {
            item.reject(
                "both `command` and `harness` are given",
                "keep one: a command prints its value, a harness answers requests",
            );
            None
        }
        (None, None) => {
            section.required(
                "command",
                "[\"/opt/llama.cpp/llama-bench\", \"-o\", \"json\"]",
            );
            None
        }
    }
}

/// What a reference is pinned to: a ratio to something that moves says nothing.
fn pinned(section: &Section<'_>) -> Option<String> {
    let given = ["commit", "version"].map(|key| Some((key, section.get(key)?)));
    match given {
        [Some((key, item)), None] | [None, Some((key, item))] => {
            let text = item.filled()?;
            Some(format!("{key} {}", text.get_ref().trim()))
        }
        [Some(_), Some((_, item))] => {
            item.reject("both `commit` and `version` are given", "keep one");
            None
        }
        [None, None] => {
            section.required("commit", "\"b4567\"");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::parse;

    fn file(reference: &str) -> String {
        format!(
            "[campaign]\nname = \"x\"\n[toolchain]\ncuda = \"none\"\n[build]\ncommand = \"make\"\n\
             outputs = [\"e\"]\n[harness]\ncommand = \"./e\"\n[[bench]]\nname = \"prefill\"\n\
             command = \"./e\"\nvalue = {{ regex = '(\\S+)' }}\nunit = \"tok/s\"\n\
             better = \"higher\"\n[[bench]]\nname = \"decode\"\nharness = true\nunit = \"tok/s\"\n\
             better = \"higher\"\n[[reference]]\nname = \"other\"\n{reference}\n"
        )
    }

    fn read(reference: &str) -> Reference {
        match parse(&file(reference), "campaign.toml") {
            Ok(config) => config.references.into_iter().next().expect("one"),
            Err(errors) => panic!("{errors}"),
        }
    }

    #[test]
    fn a_command_reads_its_value_as_the_bench_does_unless_it_says_otherwise() {
        let own = read("bench = \"prefill\"\ncommand = \"/opt/other\"\ncommit = \"b4567\"");
        let ReferenceProbe::Command { value, .. } = &own.asks else {
            panic!("{own:?}");
        };
        assert_eq!(*value, Extract::Regex("(\\S+)".to_owned()));
        assert_eq!((own.pinned.as_str(), own.timeout_s), ("commit b4567", 600));
        let own = read(
            "bench = \"decode\"\ncommand = [\"/opt/other\"]\nvalue = { json = \"/a\" }\n\
             version = \"1.2\"\nfiles = [\"/opt/other\"]",
        );
        assert_eq!((own.pinned.as_str(), own.files.len()), ("version 1.2", 1));
        let own = read("bench = \"decode\"\nharness = \"/opt/serve\"\nversion = \"1\"");
        assert!(matches!(own.asks, ReferenceProbe::Harness { .. }));
    }

    #[test]
    fn what_is_wrong_with_a_reference_is_said() {
        for (reference, part) in [
            (
                "bench = \"prefil\"\ncommand = \"a\"\ncommit = \"b\"",
                "did you mean `prefill`?",
            ),
            ("bench = \"prefill\"\ncommand = \"a\"", "commit"),
            ("bench = \"prefill\"\ncommit = \"b\"", "command"),
            (
                "bench = \"prefill\"\ncommand = \"a\"\nharness = \"a\"\ncommit = \"b\"",
                "keep one",
            ),
            (
                "bench = \"prefill\"\ncommand = \"a\"\ncommit = \"b\"\nversion = \"c\"",
                "both `commit` and `version`",
            ),
            (
                "bench = \"decode\"\ncommand = \"a\"\ncommit = \"b\"",
                "value",
            ),
            (
                "bench = \"decode\"\nharness = \"a\"\nvalue = { json = \"/a\" }\ncommit = \"b\"",
                "leave it out",
            ),
        ] {
            let errors = parse(&file(reference), "campaign.toml").expect_err(reference);
            let errors = errors.to_string();
            assert!(errors.contains(part), "{reference}\n{errors}");
        }
    }
}
