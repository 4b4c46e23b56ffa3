//! The campaign's file and its repository.

use super::commands::counter_claims;
use super::{Finding, Request};
use crate::config::Config;
use crate::git::{GitError, PairRequest, Repository};
use crate::model::Registration;
use crate::numbers::counted;

/// The config file.
pub(super) fn config(request: &Request<'_>) -> Finding {
    let file = request.config_file.display();
    match &request.config {
        Ok(config) => {
            let found = format!(
                "{file}: campaign {}; {}, {}, identity {}",
                config.campaign.name,
                counted(config.benches.len(), "bench"),
                counted(config.parity.len(), "parity case"),
                if config.identity.is_some() {
                    "on"
                } else {
                    "off"
                },
            );
            match config.benches.is_empty() {
                true => Finding::warn(
                    "config",
                    found,
                    "without a [[bench]] only the compiled code is judged, and no lever can land",
                ),
                false => Finding::ok("config", found),
            }
        }
        Err(_) if !request.config_file.exists() => Finding::bad(
            "config",
            format!("there is no {file}"),
            "`runner init` writes one for this repository",
        ),
        Err(error) => Finding::bad("config", error.clone(), format!("correct {file}")),
    }
}

/// The repository, and what a run would compare.
pub(super) async fn repository(request: &Request<'_>) -> Vec<Finding> {
    let repository = match Repository::open(request.repository, request.cache).await {
        Ok(repository) => repository,
        Err(error) => {
            let remedy = match &error {
                GitError::NoGit(_) => "install git (for example `apt install git`)",
                GitError::NoRepository { .. } => "run this in a checkout of the repository",
                _ => "see what git says; a repository of another user needs `safe.directory`",
            };
            return vec![Finding::bad("git", with_causes(&error), remedy)];
        }
    };
    let root = repository.root().unwrap_or(request.repository);
    let mut findings = vec![Finding::ok("git", format!("repository {}", root.display()))];
    let branch = request
        .config
        .as_ref()
        .ok()
        .and_then(|config| config.campaign.default_branch.as_deref());
    let asked = PairRequest {
        default_branch: branch,
        ..PairRequest::default()
    };
    findings.push(match repository.pair(asked).await {
        Ok(pair) => Finding::ok(
            "base and head",
            format!("{} against {}", pair.head.short(), pair.base.short()),
        ),
        Err(error @ GitError::NotFound { .. }) => Finding::bad(
            "base and head",
            with_causes(&error),
            "commit something, or correct `default_branch`",
        ),
        Err(error) => Finding::warn(
            "base and head",
            with_causes(&error),
            "give --base when you run",
        ),
    });
    if let Ok(config) = &request.config
        && let Some(registration) = registered(&repository, config).await
    {
        findings.extend(trailers(&registration));
        findings.extend(counter_claims(&registration, config));
    }
    findings.extend(uncommitted(&repository).await);
    findings.extend(lfs(&repository).await);
    findings
}

/// What HEAD registers; `None` without a commit.
async fn registered(repository: &Repository, config: &Config) -> Option<Registration> {
    let head = repository.resolve("HEAD").await.ok()?;
    let commit = repository.commit_info(&head).await.ok()?;
    Some(crate::registration::from_commit(&commit.message, config))
}

/// Whether HEAD's trailers can be read.
fn trailers(registration: &Registration) -> Option<Finding> {
    if registration.errors.is_empty() {
        return None;
    }
    Some(Finding::bad(
        "trailers",
        format!("HEAD: {}", registration.errors.join("; ")),
        "correct them, for example with `git commit --amend`",
    ))
}

/// Whether the checkout is what would be measured.
async fn uncommitted(repository: &Repository) -> Option<Finding> {
    let files = match repository.uncommitted().await {
        0 => return None,
        1 => "1 file has".to_owned(),
        n => format!("{n} files have"),
    };
    Some(Finding::warn(
        "checkout",
        format!("{files} uncommitted changes; a run measures HEAD without them"),
        "commit what is to be measured",
    ))
}

/// git-lfs, where the head commit has files in it.
async fn lfs(repository: &Repository) -> Option<Finding> {
    let head = repository.resolve("HEAD").await.ok()?;
    let attributes = repository.file_at(&head, ".gitattributes").await.ok()??;
    let used = String::from_utf8_lossy(&attributes).contains("filter=lfs");
    used.then(|| match which::which("git-lfs") {
        Ok(path) => Finding::ok("git-lfs", path.display().to_string()),
        Err(_) => Finding::bad(
            "git-lfs",
            "the repository uses it and it is not installed",
            "install it (for example `apt install git-lfs`)",
        ),
    })
}

/// An error with its causes on one line.
pub(super) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
