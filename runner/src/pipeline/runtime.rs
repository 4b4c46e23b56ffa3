//! Which changed files are read at run time: a change in one of them is a change of the lever,
//! even where the machine code is the same.

use globset::{Glob, GlobSet, GlobSetBuilder};

use crate::config::{CommandLine, Config, Probe};

/// The changed files that commands name or the config declares. `changed` holds paths relative
/// to the worktree.
pub(super) fn changed(config: &Config, changed: &[String]) -> Vec<String> {
    let declared = globs(&config.build.runtime);
    let named = words(config);
    let read =
        |path: &&String| declared.is_match(path) || named.iter().any(|word| reads(word, path));
    changed.iter().filter(read).cloned().collect()
}

/// A word names the file, or a folder that it is in.
fn reads(word: &str, path: &str) -> bool {
    let word = word.trim_start_matches("./").trim_end_matches('/');
    !word.is_empty()
        && word != "."
        && path
            .strip_prefix(word)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn globs(patterns: &[String]) -> GlobSet {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        // The config's parser has compiled each of them before.
        if let Ok(glob) = Glob::new(pattern) {
            set.add(glob);
        }
    }
    set.build().unwrap_or_else(|_| GlobSet::empty())
}

/// Every word of the commands that gates and benches run; `--file=PATH` counts as PATH too.
fn words(config: &Config) -> Vec<String> {
    let probes = config
        .parity
        .iter()
        .map(|parity| &parity.probe)
        .chain(config.identity.iter().map(|identity| &identity.probe))
        .chain(config.benches.iter().map(|bench| &bench.probe));
    let commands = probes.filter_map(|probe| match probe {
        Probe::Command(command) => Some(command),
        Probe::Harness(_) => None,
    });
    let harness = config.harness.iter().map(|harness| &harness.command);
    let mut found = Vec::new();
    for command in commands.chain(harness) {
        match command {
            CommandLine::Argv(argv) => found.extend(argv.iter().cloned()),
            CommandLine::Shell(text) => found.extend(
                text.split(|c: char| c.is_whitespace() || "'\"();|&<>`$".contains(c))
                    .map(str::to_owned),
            ),
        }
    }
    let values: Vec<String> = found
        .iter()
        .filter_map(|word| Some(word.split_once('=')?.1.to_owned()))
        .collect();
    found.extend(values);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_folders_that_words_name_are_read() {
        assert!(reads("./prompts/a.txt", "prompts/a.txt"));
        assert!(reads("prompts/", "prompts/a.txt"));
        assert!(!reads("prompts", "prompts.txt"));
        assert!(!reads(".", "prompts/a.txt"));
        assert!(!reads("", "prompts/a.txt"));
    }
}
