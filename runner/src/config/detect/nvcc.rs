//! CUDA sources without a build file.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use super::{Unit, text_of};

/// What nvcc would be called for: one program of all sources where a single one has a `main`,
/// else a program for each that has one, and kernels alone for the rest.
pub(super) fn find(root: &Path, files: &[PathBuf]) -> Vec<Unit> {
    static MAIN: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?m)^[^/\n]*\bint\s+main\s*\(").expect("the pattern is constant")
    });
    let mut programs: Vec<String> = Vec::new();
    let mut kernels: Vec<String> = Vec::new();
    for file in files {
        if file.extension().is_none_or(|ext| ext != "cu") {
            continue;
        }
        let (Some(path), Some(text)) = (file.to_str(), text_of(&root.join(file))) else {
            continue;
        };
        match MAIN.is_match(&text) {
            true => programs.push(path.to_owned()),
            false => kernels.push(path.to_owned()),
        }
    }
    if let [program] = programs.as_slice() {
        let name = stem(program);
        let sources = [vec![program.clone()], kernels].concat();
        return vec![Unit {
            sources,
            program: Some(name),
        }];
    }
    let unit = |source: String, program: Option<String>| Unit {
        sources: vec![source],
        program,
    };
    let programs = programs.into_iter().map(|source| {
        let name = stem(&source);
        unit(source, Some(name))
    });
    let kernels = kernels.into_iter().map(|source| unit(source, None));
    programs.chain(kernels).collect()
}

/// A file's name without folder and ending.
pub(super) fn stem(path: &str) -> String {
    let stem = Path::new(path)
        .file_stem()
        .map(|stem| stem.to_string_lossy());
    stem.unwrap_or_default().into_owned()
}
