//! The key under which a build is cached: everything that can change what it makes.

use std::collections::BTreeMap;

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::BuildSource;
use crate::config::{CommandLine, Environment};
use crate::model::Sha;

/// Changed when the way of building changes, so that older builds are not used again.
const FORMAT: u32 = 1;

#[derive(Serialize)]
struct Ingredients<'a> {
    format: u32,
    tree: &'a Sha,
    command: &'a CommandLine,
    directory: &'a str,
    outputs: &'a [String],
    env: &'a BTreeMap<String, String>,
    set: &'a BTreeMap<String, String>,
    passed: BTreeMap<&'a str, &'a str>,
    arch: &'a [String],
    toolchain: &'a str,
}

/// The key of a build. `env` is the build's whole environment, of which the variables that the
/// config lets through count.
pub(super) fn key(
    source: &BuildSource<'_>,
    environment: &Environment,
    toolchain: &str,
    env: &BTreeMap<String, String>,
) -> String {
    let recipe = source.recipe;
    let passed = environment
        .allow
        .iter()
        .filter_map(|name| Some((name.as_str(), env.get(name)?.as_str())))
        .collect();
    let ingredients = Ingredients {
        format: FORMAT,
        tree: &source.commit.tree,
        command: &recipe.command,
        directory: &recipe.directory,
        outputs: &recipe.outputs,
        env: &recipe.env,
        set: &environment.set,
        passed,
        arch: source.arch,
        toolchain,
    };
    // Maps with text for keys and plain values: this cannot fail, and if it did, no build would
    // be found in the cache by the empty text.
    let text = serde_json::to_string(&ingredients).unwrap_or_default();
    hex::encode(&Sha256::digest(text.as_bytes())[..20])
}
