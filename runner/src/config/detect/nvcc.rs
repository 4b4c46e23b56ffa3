//! CUDA sources without a build file.

use std::collections::BTreeSet;
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

/// The folders that nvcc must be told of: those of included files that are in the repository and
/// not found from the file that includes them.
pub(super) fn includes(root: &Path, files: &[PathBuf]) -> Vec<String> {
    static INCLUDE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r#"(?m)^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">]"#)
            .expect("the pattern is constant")
    });
    let code = ["cu", "cuh", "h", "hpp", "hxx", "inl", "inc"];
    let is_code = |file: &&PathBuf| {
        let ending = file.extension().and_then(|ending| ending.to_str());
        ending.is_some_and(|ending| code.contains(&ending))
    };
    let mut folders: BTreeSet<String> = BTreeSet::new();
    for file in files.iter().filter(is_code) {
        let text = text_of(&root.join(file)).unwrap_or_default();
        for found in INCLUDE.captures_iter(&text) {
            let wanted = Path::new(&found[1]);
            let beside = file.parent().unwrap_or(Path::new("")).join(wanted);
            if root.join(beside).exists() {
                continue;
            }
            let folder = files.iter().find_map(|other| folder_before(other, wanted));
            folders.extend(folder);
        }
    }
    folders.into_iter().collect()
}

/// `include` for `include/x/y.cuh` and `x/y.cuh`; `.` where nothing stands before it.
fn folder_before(file: &Path, wanted: &Path) -> Option<String> {
    if !file.ends_with(wanted) {
        return None;
    }
    let above = file.ancestors().nth(wanted.components().count())?;
    match above.to_str()? {
        "" => Some(".".to_owned()),
        folder => Some(folder.to_owned()),
    }
}

/// A file's name without folder and ending.
pub(super) fn stem(path: &str) -> String {
    let stem = Path::new(path)
        .file_stem()
        .map(|stem| stem.to_string_lossy());
    stem.unwrap_or_default().into_owned()
}
