//! Looks at a repository to see how it is built. It reads files and runs nothing; what it finds
//! is a proposal that `template` writes down for a person to check.

mod cmake;
mod make;
mod nvcc;

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;
use walkdir::WalkDir;

use super::values::ARCHS;

/// How a repository seems to be built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// A name for the campaign.
    pub name: String,
    /// The kind of build.
    pub recipe: Recipe,
    /// Architectures that the build files name; empty where they name none.
    pub archs: Vec<String>,
}

/// A recognised kind of build. Paths are relative to the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recipe {
    /// A makefile.
    Make {
        /// Its name.
        file: String,
        /// The goal that is made when none is named, if it has a plain name.
        goal: Option<String>,
        /// Variables that name a CUDA toolchain by an absolute path, with what they are set to
        /// so that the runner's is used; shell words.
        toolchain: Vec<(String, String)>,
        /// Files that the goal makes.
        outputs: Vec<String>,
        /// Other targets.
        others: Vec<String>,
    },
    /// CMake.
    CMake {
        /// What the build makes in its folder whatever the options.
        outputs: Vec<String>,
        /// What it makes only under conditions.
        conditional: Vec<String>,
    },
    /// CUDA sources without a build file.
    Nvcc {
        /// What is compiled to what.
        units: Vec<Unit>,
        /// Folders in which included files are found.
        includes: Vec<String>,
    },
    /// Nothing recognised.
    Unknown,
}

/// One call of nvcc.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// The sources.
    pub sources: Vec<String>,
    /// The program's name; `None` where no source has a `main`, so that kernels are all there is.
    pub program: Option<String>,
}

/// The largest build file that is read, bytes.
const MOST_BYTES: u64 = 1 << 20;
/// How deep folders are looked into.
const DEPTH: usize = 5;

/// Looks at the repository whose root is `root`.
pub fn detect(root: &Path) -> Found {
    let files = files(root);
    let make = make::find(root);
    let cmake = cmake::find(root, &files);
    let mut texts: Vec<String> = Vec::new();
    let recipe = match (cmake, make) {
        (Some(cmake), None) => take(cmake, &mut texts),
        (Some(cmake), Some(make)) if cmake.cuda || !make.cuda => take(cmake, &mut texts),
        (_, Some(make)) => take(make, &mut texts),
        (None, None) => match nvcc::find(root, &files) {
            units if units.is_empty() => Recipe::Unknown,
            units => Recipe::Nvcc {
                units,
                includes: nvcc::includes(root, &files),
            },
        },
    };
    Found {
        name: campaign_name(root),
        archs: archs(&texts),
        recipe,
    }
}

/// What one way of building looks like.
struct Candidate {
    recipe: Recipe,
    texts: Vec<String>,
    /// Whether it mentions CUDA.
    cuda: bool,
}

fn take(candidate: Candidate, texts: &mut Vec<String>) -> Recipe {
    *texts = candidate.texts;
    candidate.recipe
}

/// Files of the repository without those of tools, builds and vendored code.
fn files(root: &Path) -> Vec<PathBuf> {
    const SKIPPED: &[&str] = &[
        "build",
        "target",
        "third_party",
        "third-party",
        "extern",
        "external",
        "vendor",
        "node_modules",
        "_deps",
    ];
    WalkDir::new(root)
        .max_depth(DEPTH)
        .sort_by_file_name()
        .into_iter()
        .filter_entry(|entry| {
            let name = entry.file_name().to_string_lossy();
            let folder = entry.file_type().is_dir() && entry.depth() > 0;
            !(folder && (name.starts_with('.') || SKIPPED.contains(&name.as_ref())))
        })
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_file())
        .filter_map(|entry| entry.path().strip_prefix(root).ok().map(Path::to_owned))
        .take(20_000)
        .collect()
}

/// The text of a file, if it can be read and is not too large.
fn text_of(path: &Path) -> Option<String> {
    let size = std::fs::metadata(path).ok()?.len();
    if size > MOST_BYTES {
        return None;
    }
    let bytes = std::fs::read(path).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn campaign_name(root: &Path) -> String {
    let folder = root.file_name().map(|name| name.to_string_lossy());
    let name: String = folder
        .unwrap_or_default()
        .chars()
        .map(|c| match c {
            c if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') => c,
            _ => '-',
        })
        .take(64)
        .collect();
    match name.trim_start_matches(['.', '-']) {
        "" => "campaign".to_owned(),
        name => name.to_owned(),
    }
}

/// Architectures named in flags of nvcc and settings of CMake, in the order of [`ARCHS`].
fn archs(texts: &[String]) -> Vec<String> {
    static SM: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"\b(?:sm|compute)_([0-9]{2,3}[af]?)\b").expect("the pattern is constant")
    });
    static CMAKE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r#"CUDA_ARCHITECTURES["\s=]+([0-9][0-9af;\s"-]*(?:(?:real|virtual)[0-9af;\s"-]*)*)"#,
        )
        .expect("the pattern is constant")
    });
    static NUMBER: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\b[0-9]{2,3}[af]?\b").expect("the pattern is constant"));
    let mut names: Vec<String> = Vec::new();
    for text in texts {
        // Makefiles and CMake have the same comments.
        let lines = text
            .lines()
            .map(|line| line.split('#').next().unwrap_or_default());
        let text = &lines.collect::<Vec<_>>().join("\n");
        let flags = SM
            .captures_iter(text)
            .map(|found| format!("sm_{}", &found[1]));
        names.extend(flags);
        for list in CMAKE.captures_iter(text) {
            let numbers = NUMBER.find_iter(list.get(1).map_or("", |list| list.as_str()));
            names.extend(numbers.map(|number| format!("sm_{}", number.as_str())));
        }
    }
    let known = ARCHS.iter().filter(|arch| names.iter().any(|n| n == *arch));
    known.map(|arch| (*arch).to_owned()).collect()
}

#[cfg(test)]
mod tests;
