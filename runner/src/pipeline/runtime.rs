//! Which changed files are read at run time: a change in one of them is a change of the lever,
//! even where the machine code is the same.

use globset::{Glob, GlobSet, GlobSetBuilder};

use crate::config::{CommandLine, Config};

/// The changed files that may be read at run time. `changed` holds paths relative to the
/// worktree.
///
/// Where the config declares what is read (`[build] runtime`), that and the files that commands
/// name count. Where it does not, every file counts that is neither compiled into the outputs nor
/// a document: to measure for nothing costs minutes, to call a change none is a wrong verdict.
pub(super) fn changed(config: &Config, changed: &[String]) -> Vec<String> {
    let declared = globs(&config.build.runtime);
    let named = words(config);
    let undeclared = config.build.runtime.is_empty();
    let read = |path: &&String| {
        declared.is_match(path)
            || named.iter().any(|word| reads(word, path))
            || (undeclared && !is_inert(path))
    };
    changed.iter().filter(read).cloned().collect()
}

/// Languages and build systems whose files reach a run only through what is built, by the
/// ending of the name.
const COMPILED: [&str; 27] = [
    "c", "cc", "cpp", "cxx", "cu", "cuh", "h", "hh", "hpp", "hxx", "inc", "inl", "ipp", "tpp", "s",
    "asm", "f", "f90", "f95", "rs", "go", "zig", "d", "cmake", "mk", "ninja", "bazel",
];

/// Documents, by the ending of the name.
const DOCUMENTS: [&str; 6] = ["md", "rst", "adoc", "org", "tex", "pdf"];

/// Files that no run reads, by their whole name in lower case.
const NAMES: [&str; 16] = [
    "makefile",
    "gnumakefile",
    "cmakelists.txt",
    "build",
    "workspace",
    "meson.build",
    "configure",
    "readme",
    "license",
    "licence",
    "copying",
    "notice",
    "authors",
    "changelog",
    ".gitignore",
    ".gitattributes",
];

/// Folders of documents and of the hosting service.
const FOLDERS: [&str; 4] = ["docs/", "doc/", ".github/", ".gitlab/"];

/// Whether a file can change a run only through what is built from it, or not at all.
fn is_inert(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    let name = path.rsplit('/').next().unwrap_or(&path);
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let stem = name.split('.').next().unwrap_or(name);
    // The campaign's own file is compared by what it says, not as a file.
    path == crate::config::FILE_NAME
        || FOLDERS.iter().any(|folder| path.starts_with(folder))
        || NAMES.contains(&name)
        || (NAMES.contains(&stem) && ending == "txt")
        || COMPILED.contains(&ending)
        || DOCUMENTS.contains(&ending)
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
    let mut found = Vec::new();
    for (_, command) in config.commands() {
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

    #[test]
    fn what_is_compiled_or_a_document_is_not_read() {
        for path in [
            "src/mmq.cu",
            "Makefile",
            "cmake/cuda.cmake",
            "README",
            "README.md",
            "LICENSE.txt",
            "docs/shapes.json",
            ".github/workflows/ci.yml",
            "campaign.toml",
            "include/Q4.HPP",
        ] {
            assert!(is_inert(path), "{path}");
        }
        for path in [
            "v",
            "prompt.txt",
            "bench.py",
            "run.sh",
            "shapes.json",
            "model/config.toml",
        ] {
            assert!(!is_inert(path), "{path}");
        }
    }
}
