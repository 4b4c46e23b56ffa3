//! CMake: the targets that the lists name. Reads the text; conditions are not evaluated, and
//! what stands under one is proposed as a comment only.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use super::{Candidate, Recipe, text_of};

/// Finds a `CMakeLists.txt` at the root, and those below it.
pub(super) fn find(root: &Path, files: &[PathBuf]) -> Option<Candidate> {
    const LISTS: &str = "CMakeLists.txt";
    let top = text_of(&root.join(LISTS))?;
    let mut texts = vec![top];
    let below = files.iter().filter(|file| {
        file.file_name().is_some_and(|name| name == LISTS) && file.as_path() != Path::new(LISTS)
    });
    texts.extend(below.filter_map(|file| text_of(&root.join(file))));
    let mut project = Project::default();
    for text in &texts {
        project.read(text);
    }
    let cuda = texts
        .iter()
        .any(|text| text.contains("CUDA") || text.contains(".cu"));
    Some(Candidate {
        recipe: Recipe::CMake {
            outputs: project.outputs,
            conditional: project.conditional,
        },
        texts,
        cuda,
    })
}

#[derive(Default)]
struct Project {
    name: String,
    outputs: Vec<String>,
    conditional: Vec<String>,
}

impl Project {
    fn read(&mut self, text: &str) {
        static COMMAND: LazyLock<Regex> = LazyLock::new(|| {
            Regex::new(r"(?m)^[ \t]*([A-Za-z_]+)[ \t]*\(([^()]*)").expect("the pattern is constant")
        });
        let text: String = text
            .lines()
            .map(|line| format!("{}\n", line.split('#').next().unwrap_or_default()))
            .collect();
        let mut depth = 0usize;
        for command in COMMAND.captures_iter(&text) {
            let words: Vec<&str> = command[2].split_whitespace().collect();
            match command[1].to_ascii_lowercase().as_str() {
                "if" | "foreach" | "function" | "macro" | "while" => depth += 1,
                "endif" | "endforeach" | "endfunction" | "endmacro" | "endwhile" => {
                    depth = depth.saturating_sub(1);
                }
                "project" if self.name.is_empty() => {
                    self.name = words.first().copied().unwrap_or_default().to_owned();
                }
                "add_executable" => self.target(&words, depth, |name| name.to_owned()),
                "add_library" => match words.get(1).copied().unwrap_or_default() {
                    "INTERFACE" | "OBJECT" | "ALIAS" | "IMPORTED" => {}
                    "SHARED" | "MODULE" => self.target(&words, depth, |n| format!("lib{n}.so")),
                    _ => self.target(&words, depth, |name| format!("lib{name}.a")),
                },
                _ => {}
            }
        }
    }

    fn target(&mut self, words: &[&str], depth: usize, file: impl Fn(&str) -> String) {
        let Some(name) = words.first() else {
            return;
        };
        let name = name
            .replace("${PROJECT_NAME}", &self.name)
            .replace("${CMAKE_PROJECT_NAME}", &self.name);
        let other = words
            .get(1)
            .is_some_and(|word| matches!(*word, "ALIAS" | "IMPORTED"));
        if other || name.contains(['$', '"', ':']) {
            return;
        }
        let output = format!("build/**/{}", file(&name));
        let list = match depth {
            0 => &mut self.outputs,
            _ => &mut self.conditional,
        };
        if !list.contains(&output) {
            list.push(output);
        }
    }
}
