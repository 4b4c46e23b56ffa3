//! Runs git with an environment of our own: no `GIT_DIR` of a hook we may run in, no user
//! hooks, no prompts, no optional locks in the user's repository.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use super::GitError;

/// Variables of git that pass through: how to reach a server, and which configuration files.
const PASSED: [&str; 10] = [
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_SSH_VARIANT",
    "GIT_ASKPASS",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CEILING_DIRECTORIES",
];

/// Settings for every command. Hooks and background work of the user's have no place here, and
/// line ends must not depend on whose machine it is.
const SETTINGS: [&str; 12] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.autocrlf=false",
    "core.quotePath=false",
    "safe.bareRepository=all",
    "gc.auto=0",
    "maintenance.auto=false",
    "protocol.version=2",
    "fetch.recurseSubmodules=false",
    "submodule.recurse=false",
    "advice.detachedHead=false",
    "i18n.logOutputEncoding=UTF-8",
];

/// With less room than this, bytes, a write that failed is taken to have failed for want of it.
const LEAST_ROOM: u64 = 1 << 20;

/// Git, in a directory.
#[derive(Debug, Clone)]
pub(super) struct Git {
    directory: Option<PathBuf>,
    settings: Vec<String>,
    path: Option<OsString>,
}

/// How a git command ended.
#[derive(Debug)]
pub(super) struct Output {
    /// Whether it exited with status 0.
    pub ok: bool,
    /// Its standard output.
    pub stdout: Vec<u8>,
    /// Its standard error, lossily decoded and trimmed.
    pub stderr: String,
}

impl Git {
    pub fn new() -> Git {
        Git {
            directory: None,
            settings: SETTINGS.map(str::to_owned).to_vec(),
            path: None,
        }
    }

    /// With another PATH.
    #[cfg(test)]
    pub fn with_path(mut self, path: impl Into<OsString>) -> Git {
        self.path = Some(path.into());
        self
    }

    /// In another directory.
    pub fn at(&self, directory: &Path) -> Git {
        Git {
            directory: Some(directory.to_owned()),
            ..self.clone()
        }
    }

    /// With more settings (`name=value`).
    pub fn with(&self, settings: impl IntoIterator<Item = String>) -> Git {
        let mut git = self.clone();
        git.settings.extend(settings);
        git
    }

    /// Runs a command to its end.
    pub async fn output<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
        input: &[u8],
    ) -> Result<Output, GitError> {
        let mut child = self
            .command(arguments)
            .stdin(if input.is_empty() {
                Stdio::null()
            } else {
                Stdio::piped()
            })
            .spawn()
            .map_err(GitError::NoGit)?;
        let stdin = child.stdin.take();
        let write = async move {
            if let Some(mut stdin) = stdin {
                // A command that ends early says so by its status.
                let _ = stdin.write_all(input).await;
            }
        };
        let (output, ()) = tokio::join!(child.wait_with_output(), write);
        let output = output.map_err(GitError::NoGit)?;
        Ok(Output {
            ok: output.status.success(),
            stdout: output.stdout,
            stderr: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        })
    }

    /// The standard output of a command that must succeed.
    pub async fn bytes<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
        input: &[u8],
    ) -> Result<Vec<u8>, GitError> {
        let arguments: Vec<OsString> = arguments
            .into_iter()
            .map(|a| a.as_ref().to_owned())
            .collect();
        let output = self.output(&arguments, input).await?;
        if output.ok {
            return Ok(output.stdout);
        }
        let doing = arguments
            .iter()
            .map(|a| a.to_string_lossy())
            .collect::<Vec<_>>()
            .join(" ");
        let full = output.stderr.contains("No space left on device")
            // A checkout only says that it failed to write.
            || output.stderr.contains("unable to write file") && self.is_short_of_room();
        Err(if full {
            GitError::DiskFull { doing }
        } else {
            GitError::Command {
                doing,
                said: output.stderr,
            }
        })
    }

    /// Whether hardly anything can be written where git works.
    fn is_short_of_room(&self) -> bool {
        let directory = self.directory.as_deref().unwrap_or(Path::new("."));
        rustix::fs::statvfs(directory)
            .is_ok_and(|facts| facts.f_bavail.saturating_mul(facts.f_frsize) < LEAST_ROOM)
    }

    /// The standard output of a command that must succeed, as text without the final newline.
    pub async fn text<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<String, GitError> {
        let bytes = self.bytes(arguments, b"").await?;
        Ok(String::from_utf8_lossy(&bytes)
            .trim_end_matches('\n')
            .to_owned())
    }

    /// The text of a command that may say no.
    pub async fn ask<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<Option<String>, GitError> {
        let output = self.output(arguments, b"").await?;
        Ok(output.ok.then(|| {
            String::from_utf8_lossy(&output.stdout)
                .trim_end_matches('\n')
                .to_owned()
        }))
    }

    fn command<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Command {
        let mut command = Command::new("git");
        if let Some(directory) = &self.directory {
            command.arg("-C").arg(directory);
        }
        for setting in &self.settings {
            command.arg("-c").arg(setting);
        }
        command.args(arguments);
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("GIT_") && !PASSED.contains(&text.as_ref()) {
                command.env_remove(&name);
            }
        }
        command
            .env("LC_ALL", "C")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        if let Some(path) = &self.path {
            command.env("PATH", path);
        }
        command
    }
}
