//! Invariants of the source tree that a test can hold: which library is used where, that
//! silenced lints give a reason, that files stay readable, that the README's commands are the
//! ones CI runs.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the workspace")
        .to_owned()
}

fn rust_files() -> Vec<(String, String)> {
    let root = root();
    let mut found = Vec::new();
    for folder in ["runner", "kernels", "sass", "db"] {
        for entry in walkdir::WalkDir::new(root.join(folder)) {
            let entry = entry.expect("a readable folder");
            if entry.path().extension().is_some_and(|ext| ext == "rs") {
                let name = entry.path().strip_prefix(&root).expect("below the root");
                let text = std::fs::read_to_string(entry.path()).expect("UTF-8 source");
                found.push((name.to_string_lossy().into_owned(), text));
            }
        }
    }
    assert!(
        found.len() > 20,
        "the walk found only {} files",
        found.len()
    );
    found
}

/// (library, folders and files that may name it)
const BORDERS: &[(&str, &[&str])] = &[
    ("sqlx", &["db/"]),
    ("minijinja", &["runner/src/render/engine.rs"]),
    ("clap", &["runner/src/cli/"]),
    ("cudarc", &["kernels/src/device/cuda"]),
    ("csv", &["runner/src/counters/"]),
    ("nvml_wrapper", &["runner/src/machine/"]),
    ("object", &["sass/"]),
    ("indicatif", &["runner/src/term/"]),
    ("comfy_table", &["runner/src/term/", "runner/src/cli/"]),
];

#[test]
fn libraries_stay_behind_their_borders() {
    let mut wrong = Vec::new();
    for (file, text) in rust_files() {
        for (library, allowed) in BORDERS {
            if file == "runner/tests/tidy.rs" || allowed.iter().any(|place| file.starts_with(place))
            {
                continue;
            }
            for (number, line) in text.lines().enumerate() {
                let code = line.trim_start();
                if !code.starts_with("//") && code.contains(&format!("{library}::")) {
                    wrong.push(format!("{file}:{}: {library}", number + 1));
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "used outside its place:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn unsafe_code_is_in_one_module() {
    for (file, text) in rust_files() {
        let uses = text.lines().any(|line| {
            let code = line.trim_start();
            !code.starts_with("//") && (code.contains("unsafe {") || code.starts_with("unsafe "))
        });
        if uses && file != "runner/tests/tidy.rs" {
            assert!(
                file.starts_with("kernels/src/device/cuda"),
                "{file} holds unsafe code"
            );
        }
    }
}

#[test]
fn lints_are_silenced_with_a_reason_only() {
    for (file, text) in rust_files() {
        if file == "runner/tests/tidy.rs" {
            continue;
        }
        assert!(
            !text.contains("#[allow("),
            "{file}: use #[expect(…, reason = …)]"
        );
        assert!(
            !text.contains("#![allow("),
            "{file}: use #![expect(…, reason = …)]"
        );
        for line in text.lines() {
            // A test that is a helper process of other tests is started by them.
            let ignored = line.trim_start().starts_with("#[ignore");
            let child = line.contains("\"the child process of ");
            assert!(
                !ignored || child,
                "{file}: a test is never skipped silently"
            );
        }
    }
}

#[test]
fn files_hold_one_idea() {
    let mut long = Vec::new();
    for (file, text) in rust_files() {
        let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or(&text);
        let lines = code.lines().count();
        let is_test = ["tests", "fixtures"].iter().any(|word| file.contains(word));
        if !is_test && lines > 500 {
            long.push(format!("{file}: {lines} lines without tests"));
        }
    }
    assert!(long.is_empty(), "split these:\n{}", long.join("\n"));
}

/// The crates and libraries that a crate's program code depends on.
fn dependencies(krate: &str) -> String {
    let path = root().join(krate).join("Cargo.toml");
    let manifest = std::fs::read_to_string(path).expect("a manifest");
    let section = manifest
        .split("[dependencies]")
        .nth(1)
        .expect("dependencies");
    section.split("\n[").next().unwrap_or_default().to_owned()
}

#[test]
fn dependencies_point_one_way() {
    let forbidden: [(&str, &[&str]); 3] = [
        ("db", &["runner.", "kernels.", "sass."]),
        ("sass", &["runner.", "kernels.", "db.", "tokio", "sqlx"]),
        ("kernels", &["runner.", "db.", "sqlx"]),
    ];
    for (krate, others) in forbidden {
        let dependencies = dependencies(krate);
        for other in others {
            assert!(!dependencies.contains(other), "{krate} depends on {other}");
        }
    }
}

#[test]
fn ci_runs_the_commands_that_the_readme_gives() {
    let readme = std::fs::read_to_string(root().join("README.md")).expect("a README");
    let ci = std::fs::read_to_string(root().join(".ci/run")).expect(".ci/run");
    for command in ["cargo run --release -- demo", "cargo test --workspace"] {
        assert!(
            readme.contains(command),
            "the README does not give `{command}`"
        );
        assert!(ci.contains(command), ".ci/run does not run `{command}`");
    }
}
