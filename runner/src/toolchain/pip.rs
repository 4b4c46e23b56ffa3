//! Runs pip for an installation, in its folder, and tells how far it is.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::ToolchainError;
use super::install::{Installation, TICK};
use crate::config::CommandLine;
use crate::process::{self, Finished, Spec};
use crate::progress::Event;

/// Time limit for one run of pip.
const PIP_LIMIT: Duration = Duration::from_secs(1800);

impl Installation<'_> {
    pub(super) async fn python(&self) -> Result<String, ToolchainError> {
        let missing = |what, remedy| ToolchainError::Missing {
            version: self.pinned.version.to_owned(),
            what,
            remedy,
        };
        let python = which::which("python3").map_err(|_| {
            missing(
                "python3 with pip",
                "install both (for example `apt install python3-pip`)",
            )
        })?;
        let python = python.to_string_lossy().into_owned();
        let pip = self.pip(&python, &["--version"]).await;
        if pip.failure.is_some() {
            return Err(missing(
                "pip for python3",
                "install it (for example `apt install python3-pip`)",
            ));
        }
        Ok(python)
    }

    pub(super) async fn pip(&self, python: &str, arguments: &[&str]) -> Finished {
        let mut words = vec![python.to_owned(), "-m".to_owned(), "pip".to_owned()];
        words.extend(arguments.iter().map(|a| (*a).to_owned()));
        let mut env: BTreeMap<String, String> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .filter(|(name, _)| !process::looks_secret(name))
            .collect();
        // The user's settings for where to fetch from hold; those for where to install do not.
        for name in [
            "PIP_TARGET",
            "PIP_PREFIX",
            "PIP_ROOT",
            "PIP_CONSTRAINT",
            "PIP_REQUIREMENT",
        ] {
            env.remove(name);
        }
        let own = [
            ("PIP_REQUIRE_VIRTUALENV", "0"),
            ("PIP_USER", "0"),
            ("PIP_NO_INPUT", "1"),
            ("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
            ("PIP_NO_COLOR", "1"),
            ("LC_ALL", "C.UTF-8"),
        ];
        env.extend(own.map(|(name, value)| (name.to_owned(), value.to_owned())));
        env.insert(
            "TMPDIR".into(),
            self.half.join("tmp").to_string_lossy().into_owned(),
        );
        process::run(&Spec {
            command: CommandLine::Argv(words),
            cwd: self.half.to_owned(),
            env,
            timeout: PIP_LIMIT,
            output_limit: 8 << 20,
        })
        .await
    }

    /// Awaits `work` while telling how the folders grow.
    pub(super) async fn watch(
        &self,
        work: impl Future<Output = Finished>,
        what: &str,
        folders: &[PathBuf],
        total: Option<u64>,
    ) -> Finished {
        let mut work = std::pin::pin!(work);
        let mut ticks = tokio::time::interval(TICK);
        let tell = || {
            let size: u64 = folders.iter().map(|folder| folder_bytes(folder)).sum();
            self.progress.emit(Event::Transfer {
                what: what.to_owned(),
                done: total.map_or(size, |total| size.min(total)),
                total,
            });
        };
        loop {
            tokio::select! {
                done = &mut work => {
                    tell();
                    return done;
                }
                _ = ticks.tick() => tell(),
            }
        }
    }
}

pub(super) fn complaint(done: &Finished) -> String {
    let mut said = String::from_utf8_lossy(&done.stderr).into_owned();
    if said.trim().is_empty() {
        said = String::from_utf8_lossy(&done.stdout).into_owned();
    }
    if said.trim().is_empty() {
        said = format!("pip ended with {:?}", done.failure);
    }
    said
}

pub(super) fn last_line(said: &str) -> String {
    let line = said.lines().rev().find(|line| !line.trim().is_empty());
    line.unwrap_or_default().trim().to_owned()
}

fn folder_bytes(folder: &Path) -> u64 {
    walkdir::WalkDir::new(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.metadata().ok()?.len()))
        .sum()
}
