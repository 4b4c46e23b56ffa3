//! Values of several keys' kinds: commands, patterns, paths, architectures, extracts, environment.
//!
//! Each function reads one value, notes what is wrong with it, and gives `None` then.

use std::collections::BTreeMap;

use toml::de::DeValue;

use super::diagnostic::suggestion;
use super::reader::{Item, Section, Text};
use super::schema;
use super::{CommandLine, Extract, NamedFormat};

/// Architectures that CUDA 13.0 compiles for.
pub(super) const ARCHS: &[&str] = &[
    "sm_75", "sm_80", "sm_86", "sm_87", "sm_88", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a",
    "sm_100f", "sm_103", "sm_103a", "sm_103f", "sm_110", "sm_110a", "sm_110f", "sm_120", "sm_120a",
    "sm_120f", "sm_121", "sm_121a", "sm_121f",
];

/// Architectures that only older toolchains compile for.
const OLD_ARCHS: &[&str] = &[
    "sm_50", "sm_52", "sm_53", "sm_60", "sm_61", "sm_62", "sm_70", "sm_72",
];

/// The output formats by name.
pub(super) const FORMATS: &[(&str, NamedFormat)] = &[
    ("llama-bench", NamedFormat::LlamaBench),
    ("google-benchmark", NamedFormat::GoogleBenchmark),
    ("nvbench", NamedFormat::Nvbench),
    ("hyperfine", NamedFormat::Hyperfine),
];

/// A command: a text for the shell, or a list of program and arguments.
pub(super) fn command(item: Item<'_>) -> Option<CommandLine> {
    match item.value.get_ref() {
        DeValue::String(_) => item
            .filled()
            .map(|text| CommandLine::Shell(text.into_inner())),
        DeValue::Array(array) => {
            let words: Option<Vec<String>> = array
                .iter()
                .map(|value| Item { value, ..item }.text().map(|t| t.into_inner()))
                .collect();
            match words?.as_slice() {
                [program, ..] if program.trim().is_empty() => {
                    item.reject("the command's program is empty", "name a program first");
                    None
                }
                [] => {
                    item.reject(
                        "the command is empty",
                        "name a program and its arguments, such as `[\"make\", \"-j\"]`",
                    );
                    None
                }
                words => Some(CommandLine::Argv(words.to_vec())),
            }
        }
        _ => {
            item.wrong_type("a text in quotes or a list of texts");
            None
        }
    }
}

/// The largest compiled regular expression, bytes; a hostile file could ask for much time.
const PATTERN_BYTES: usize = 2 << 20;

/// A regular expression that compiles.
pub(super) fn pattern(text: &Text, item: Item<'_>) -> Option<regex::Regex> {
    let built = regex::RegexBuilder::new(text.get_ref())
        .size_limit(PATTERN_BYTES)
        .build();
    match built {
        Ok(regex) => Some(regex),
        Err(error) => {
            let reason = error.to_string();
            let reason = reason.lines().last().unwrap_or_default();
            let reason = reason.strip_prefix("error: ").unwrap_or(reason);
            item.sink.error_help(
                text.span(),
                format!("`{}` is not a regular expression: {reason}", text.get_ref()),
                "single quotes ('…') keep backslashes as they are",
            );
            None
        }
    }
}

/// A path or glob that stays in the worktree.
pub(super) fn inside(text: &Text, item: Item<'_>) -> bool {
    let path = text.get_ref();
    let wrong = if path.starts_with('/') || path.starts_with('~') {
        "it must be relative to the worktree"
    } else if path.split('/').any(|part| part == "..") {
        "it must not leave the worktree by `..`"
    } else {
        return true;
    };
    item.sink.error_help(
        text.span(),
        format!("`{path}` is outside the worktree"),
        wrong,
    );
    false
}

/// A list of globs that stay in the worktree.
pub(super) fn globs(item: Item<'_>) -> Vec<String> {
    let mut globs: Vec<String> = Vec::new();
    for text in item.list() {
        if !inside(&text, item) {
            continue;
        }
        match globset::Glob::new(text.get_ref()) {
            Err(error) => item.sink.error_help(
                text.span(),
                format!("`{}` is not a glob: {}", text.get_ref(), error.kind()),
                "`*` stands for part of a name, `**` for folders, `[…]` for one of some characters",
            ),
            Ok(_) if globs.contains(text.get_ref()) => item.sink.error_help(
                text.span(),
                format!("`{}` is listed twice", text.get_ref()),
                "leave one of them out",
            ),
            Ok(_) => globs.push(text.into_inner()),
        }
    }
    globs
}

/// An architecture, as nvcc names it.
pub(super) fn arch(text: &Text, item: Item<'_>, system: bool) -> Option<String> {
    let name = text.get_ref().as_str();
    if ARCHS.contains(&name) || (system && OLD_ARCHS.contains(&name)) {
        return Some(name.to_owned());
    }
    if OLD_ARCHS.contains(&name) {
        item.sink.error_help(
            text.span(),
            format!("CUDA 13.0 does not compile for `{name}`"),
            "use `cuda = \"system\"` with an older toolchain on PATH",
        );
        return None;
    }
    let digits: String = name.chars().filter(char::is_ascii_digit).collect();
    let by_number = format!("sm_{digits}");
    let help = match ARCHS.iter().find(|arch| **arch == by_number) {
        Some(arch) => format!("did you mean `{arch}`?"),
        None => suggestion(name, ARCHS.iter().copied()),
    };
    item.sink.error_help(
        text.span(),
        format!("`{name}` is not an architecture"),
        help,
    );
    None
}

/// Where a number is in an output.
pub(super) fn extract(item: Item<'_>) -> Option<Extract> {
    if item.value.get_ref().is_str() {
        return item.word(FORMATS).map(|format| Extract::Format {
            format,
            select: None,
        });
    }
    if !item.value.get_ref().is_table() {
        item.wrong_type("a table such as `{ regex = '…' }`, or a format's name in quotes");
        return None;
    }
    let section = item.section(&schema::VALUE)?;
    let kinds: Vec<Item<'_>> = ["regex", "json", "format"]
        .into_iter()
        .filter_map(|key| section.get(key))
        .collect();
    let [kind] = kinds.as_slice() else {
        item.reject(
            format!(
                "`{}` needs exactly one of `regex`, `json`, `format`",
                item.key
            ),
            "such as `{ regex = '([0-9.]+) tok/s' }` or `{ json = \"/a/b\" }`",
        );
        return None;
    };
    let select = section.get("select");
    if let (Some(select), true) = (select, kind.key != "format") {
        select.reject("`select` goes with `format` only", "leave it out");
    }
    match kind.key {
        "regex" => regex_extract(*kind),
        "json" => json_extract(*kind),
        _ => Some(Extract::Format {
            format: kind.word(FORMATS)?,
            select: match select {
                Some(select) => Some(select.filled()?.into_inner()),
                None => None,
            },
        }),
    }
}

fn regex_extract(item: Item<'_>) -> Option<Extract> {
    let text = item.filled()?;
    let regex = pattern(&text, item)?;
    let named = regex.capture_names().flatten().any(|name| name == "value");
    if regex.captures_len() < 2 {
        item.reject(
            format!("`{}` has no group that holds the value", text.get_ref()),
            "put the number in parentheses, such as '([0-9.]+) tok/s'",
        );
        return None;
    }
    if !named && regex.capture_names().flatten().any(|name| name == "unit") {
        item.reject(
            format!(
                "`{}` has a group `unit` but none called `value`",
                text.get_ref()
            ),
            "name the number's group, such as '(?<value>[0-9.]+) (?<unit>\\S+)'",
        );
        return None;
    }
    Some(Extract::Regex(text.into_inner()))
}

fn json_extract(item: Item<'_>) -> Option<Extract> {
    let text = item.text()?;
    let pointer = text.get_ref();
    let bad_escape = pointer
        .split('~')
        .skip(1)
        .any(|after| !after.starts_with(['0', '1']));
    if (!pointer.is_empty() && !pointer.starts_with('/')) || bad_escape {
        item.reject(
            format!("`{pointer}` is not a JSON pointer"),
            format!(
                "begin each step with `/`, such as `/{}`; write `~1` for `/` and `~0` for `~`",
                if bad_escape {
                    "results/0/mean"
                } else {
                    pointer
                }
            ),
        );
        return None;
    }
    Some(Extract::Json(text.into_inner()))
}

/// A table of environment variables.
pub(super) fn environment(section: &Section<'_>, key: &'static str) -> BTreeMap<String, String> {
    let mut variables = BTreeMap::new();
    for (name, (at, value)) in section.texts(key) {
        if let Err((message, help)) = check_variable(&name) {
            section.sink.error_help(at.span(), message, help);
        } else if let Some(help) = set_by_runner(&name) {
            section.sink.error_help(
                at.span(),
                format!("`{name}` is set by the runner itself"),
                help,
            );
        } else {
            variables.insert(name, value.into_inner());
        }
    }
    variables
}

fn set_by_runner(name: &str) -> Option<&'static str> {
    match name {
        "CUDA_ARCH" => Some("set `arch` in `[toolchain]`; builds see it as CUDA_ARCH"),
        _ if name.starts_with("ROUNDHOUSE_") => Some("choose another name"),
        _ => None,
    }
}

/// Whether a variable's name is valid and does not look like a secret's; else what is wrong
/// and what to do.
pub(super) fn check_variable(name: &str) -> Result<(), (String, &'static str)> {
    let mut chars = name.chars();
    let valid = chars
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !valid {
        return Err((
            format!("`{name}` is not the name of an environment variable"),
            "letters, digits and `_`, and no digit first",
        ));
    }
    if looks_secret(name) {
        return Err((
            format!("`{name}` looks like a secret"),
            "code under test never sees credentials, and the record keeps the environment; \
             leave it out, or rename it if it is none",
        ));
    }
    Ok(())
}

/// Whether a variable's name looks like that of a credential.
fn looks_secret(name: &str) -> bool {
    const ANYWHERE: &[&str] = &["SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL"];
    const PARTS: &[&str] = &[
        "KEY",
        "KEYS",
        "APIKEY",
        "SSHKEY",
        "ACCESSKEY",
        "PRIVATEKEY",
        "AUTHKEY",
        "DEPLOYKEY",
        "AUTH",
        "PAT",
        "COOKIE",
        "NETRC",
    ];
    let upper = name.to_ascii_uppercase();
    ANYWHERE.iter().any(|word| upper.contains(word))
        || upper
            .split('_')
            .any(|part| part.ends_with("TOKEN") || PARTS.contains(&part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_told_from_ordinary_variables() {
        for name in [
            "GITHUB_TOKEN",
            "GHTOKEN",
            "aws_secret_access_key",
            "DB_PASSWORD",
            "API_KEY",
            "APIKEY",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "SSH_AUTH_SOCK",
            "DEPLOY_PAT",
        ] {
            assert!(looks_secret(name), "{name}");
        }
        for name in [
            "MAX_TOKENS",
            "TOKENIZERS_PARALLELISM",
            "OMP_NUM_THREADS",
            "KEYBOARD",
            "MONKEY",
            "ENGINE_MMQ",
            "PATH",
            "AUTHOR",
        ] {
            assert!(!looks_secret(name), "{name}");
        }
    }

    #[test]
    fn variable_names() {
        for name in ["", "1A", "A B", "A=B", "\u{e4}"] {
            assert!(check_variable(name).is_err(), "{name}");
        }
        assert!(check_variable("_A1").is_ok());
    }
}
