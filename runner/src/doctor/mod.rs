//! What `runner check` says: what is right and wrong with the campaign, the tools and the
//! machine, each with the remedy. Must not install or build anything, nor change anything but the
//! mirror of the repository in the cache and the schema of a database from an older version.

mod card;
mod commands;
mod host;
mod noise;
mod project;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::config::Config;

/// How good a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// As it should be.
    Ok,
    /// Runs work, with something missing.
    Warn,
    /// Runs do not work.
    Bad,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What was looked at.
    pub topic: String,
    /// How it is.
    pub status: Status,
    /// What was found.
    pub found: String,
    /// What to do about it, where it is not as it should be.
    pub remedy: Option<String>,
}

impl Finding {
    fn ok(topic: &str, found: impl Into<String>) -> Finding {
        Finding {
            topic: topic.to_owned(),
            status: Status::Ok,
            found: found.into(),
            remedy: None,
        }
    }

    fn warn(topic: &str, found: impl Into<String>, remedy: impl Into<String>) -> Finding {
        Finding {
            status: Status::Warn,
            remedy: Some(remedy.into()),
            ..Finding::ok(topic, found)
        }
    }

    fn bad(topic: &str, found: impl Into<String>, remedy: impl Into<String>) -> Finding {
        Finding {
            status: Status::Bad,
            ..Finding::warn(topic, found, remedy)
        }
    }
}

/// What to look at.
#[derive(Debug)]
pub struct Request<'a> {
    /// The config, or what is wrong with it.
    pub config: Result<Config, String>,
    /// Where the config is or should be.
    pub config_file: &'a Path,
    /// A folder in the repository.
    pub repository: &'a Path,
    /// Where records are kept.
    pub data: &'a Path,
    /// Where what can be made again is kept.
    pub cache: &'a Path,
    /// Where the machine-wide locks are.
    pub locks: &'a Path,
}

/// Looks at everything.
pub async fn examine(request: &Request<'_>) -> Vec<Finding> {
    let mut findings = vec![project::config(request)];
    findings.extend(project::repository(request).await);
    let config = request.config.as_ref().ok();
    findings.extend(host::toolchain(config, request.cache).await);
    if let Some(config) = config {
        findings.extend(host::build_tools(config));
        findings.extend(commands::programs(config));
        findings.extend(host::device(config, request.locks));
        findings.extend(host::profiler(config).await);
    }
    let needed = config.map_or(0, |config| config.limits.free_disk_bytes);
    for (topic, folder) in [
        ("data folder", request.data),
        ("cache folder", request.cache),
        ("locks folder", request.locks),
    ] {
        findings.push(host::folder(topic, folder, needed));
    }
    findings.extend(host::database(request.data).await);
    if let Some(config) = config {
        findings.extend(noise::noise(config, request).await);
    }
    findings.push(host::sandbox());
    findings
}

/// The nearest folder at or above `path` that exists.
fn existing(path: &Path) -> PathBuf {
    path.ancestors()
        .find(|folder| folder.is_dir())
        .unwrap_or(Path::new("/"))
        .to_owned()
}
