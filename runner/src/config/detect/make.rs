//! Makefiles: the default goal and what it makes. Reads the text, as far as it is simple; what
//! functions and includes do is left to make.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::{Candidate, Recipe, text_of};

/// Finds the makefile that make would take.
pub(super) fn find(root: &Path) -> Option<Candidate> {
    let names = ["GNUmakefile", "makefile", "Makefile"];
    let (file, text) = names
        .iter()
        .find_map(|name| Some((*name, text_of(&root.join(name))?)))?;
    // What CMake and configure scripts write is the result of a build, not its recipe.
    if text.starts_with("# CMAKE generated file") {
        return None;
    }
    let cuda = text.contains("nvcc") || text.contains(".cu");
    Some(Candidate {
        recipe: read(file, &text),
        texts: vec![text],
        cuda,
    })
}

#[derive(Default)]
struct Makefile {
    variables: BTreeMap<String, String>,
    /// Targets in order, with their prerequisites.
    rules: Vec<(String, Vec<String>)>,
    phony: BTreeSet<String>,
    toolchain: Vec<(String, String)>,
}

fn read(file: &str, text: &str) -> Recipe {
    let makefile = Makefile::parse(text);
    let goal = makefile.rules.first().map(|(target, _)| target.clone());
    let outputs = match &goal {
        Some(goal) => makefile.made_by(goal, &mut BTreeSet::new()),
        None => Vec::new(),
    };
    let aside = ["clean", "distclean", "install", "help", "format", "fmt"];
    let mut others: Vec<String> = Vec::new();
    for (target, _) in &makefile.rules {
        let known = Some(target) == goal.as_ref() || outputs.contains(target);
        if !known
            && !is_object(target)
            && !aside.contains(&target.as_str())
            && !others.contains(target)
        {
            others.push(target.clone());
        }
    }
    Recipe::Make {
        file: file.to_owned(),
        goal,
        toolchain: makefile.toolchain,
        outputs,
        others,
    }
}

/// What a variable is set to that names a CUDA toolchain by an absolute path: the runner's own
/// toolchain, as commands see it. `None` for other variables.
fn toolchain_of(value: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    if !value.starts_with('/') || !value.chars().all(plain) {
        return None;
    }
    let last = value.trim_end_matches('/').rsplit('/').next()?;
    match last {
        "nvcc" => Some("nvcc".to_owned()),
        folder if folder.to_ascii_lowercase().starts_with("cuda") => {
            Some(format!("\"${{CUDA_HOME:-{value}}}\""))
        }
        _ => None,
    }
}

impl Makefile {
    fn parse(text: &str) -> Self {
        let mut makefile = Makefile::default();
        for line in text.replace("\\\n", " ").lines() {
            if line.starts_with('\t') {
                continue;
            }
            let line = line.split('#').next().unwrap_or_default();
            if !makefile.assignment(line) {
                makefile.rule(line);
            }
        }
        makefile
    }

    /// `NAME = value` in its kinds.
    fn assignment(&mut self, line: &str) -> bool {
        let Some((left, value)) = line.split_once('=') else {
            return false;
        };
        let name = left.trim_end_matches([':', '?', '+']).trim();
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(plain) {
            return left.contains(['$', ' ']) && !left.contains(':');
        }
        if let Some(ours) = toolchain_of(value.trim()) {
            self.toolchain.retain(|(known, _)| known != name);
            self.toolchain.push((name.to_owned(), ours));
        }
        let value = self.expand(value.trim());
        let slot = self.variables.entry(name.to_owned()).or_default();
        if left.ends_with('+') && !slot.is_empty() {
            slot.push(' ');
            slot.push_str(&value);
        } else if !left.ends_with('?') || slot.is_empty() {
            *slot = value;
        }
        true
    }

    fn rule(&mut self, line: &str) {
        let Some((targets, prerequisites)) = line.split_once(':') else {
            return;
        };
        let targets = self.expand(targets);
        let prerequisites = self.expand(prerequisites.split([';', '|']).next().unwrap_or_default());
        let prerequisites: Vec<String> = words(&prerequisites).collect();
        for target in words(&targets) {
            match target.as_str() {
                ".PHONY" => self.phony.extend(prerequisites.iter().cloned()),
                name if name.starts_with('.') && !name.contains('/') => {}
                name if name.contains(['%', '$', '(']) => {}
                _ => self.rules.push((target, prerequisites.clone())),
            }
        }
    }

    /// Puts simple variables in; the rest stays as it is.
    fn expand(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, value) in &self.variables {
            for form in [format!("$({name})"), format!("${{{name}}}")] {
                text = text.replace(&form, value);
            }
        }
        text
    }

    /// The files that a goal stands for: itself, or what a phony goal asks for.
    fn made_by(&self, goal: &str, seen: &mut BTreeSet<String>) -> Vec<String> {
        if !seen.insert(goal.to_owned()) {
            return Vec::new();
        }
        let is_target = |name: &str| self.rules.iter().any(|(target, _)| target == name);
        if !self.phony.contains(goal) && goal != "all" {
            return match is_object(goal) {
                true => Vec::new(),
                false => vec![goal.to_owned()],
            };
        }
        let mut outputs = Vec::new();
        let rules = self.rules.iter().filter(|(target, _)| target == goal);
        for name in rules.flat_map(|(_, prerequisites)| prerequisites) {
            let made = match is_target(name) {
                true => self.made_by(name, seen),
                // Made by a pattern rule, if it is a compiled file.
                false if is_compiled(name) => vec![name.clone()],
                false => Vec::new(),
            };
            outputs.extend(made);
        }
        outputs
    }
}

fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split_whitespace().map(str::to_owned)
}

fn is_object(name: &str) -> bool {
    [".o", ".d", ".obj", ".dep"]
        .iter()
        .any(|end| name.ends_with(end))
}

fn is_compiled(name: &str) -> bool {
    let ends = [".cubin", ".fatbin", ".so", ".a"];
    !name.contains(['$', '%', '(']) && ends.iter().any(|end| name.ends_with(end))
}
