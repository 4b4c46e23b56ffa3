//! Prepares comparisons of two commits that are no rounds: against an anchor, and for a bisection.
//! Only benches are measured: gates, counters and claims were the rounds' business.

use std::path::Path;

use anyhow::Context as _;

use super::prepare::working_config;
use super::{Prepared, Request, prepare};
use crate::config::{self, Config, DEFAULT_PROTOCOL, Protocol};
use crate::git::Repository;
use crate::model::{Bar, RegisteredBar, Registration, RoundKind, Sha, Source};

/// What to compare by.
#[derive(Debug, Clone, Copy)]
pub struct Compared<'a> {
    /// The benches.
    pub benches: &'a [String],
    /// How many pairs; without, the config's sequential protocol, or the default one.
    pub protocol: Option<Protocol>,
    /// How much slower head may be before that counts, percent.
    pub allowed_loss: Option<f64>,
    /// What the run is, for people.
    pub name: &'a str,
}

/// Prepares a comparison of the two commits of a request, whose purpose says what for.
pub async fn compared(
    request: &Request,
    how: &Compared<'_>,
    cache: &Path,
) -> anyhow::Result<Prepared> {
    let mut prepared = prepare(request, cache).await?;
    let sequential = match prepared.config.protocol {
        own @ Protocol::Sequential { .. } => own,
        _ => DEFAULT_PROTOCOL,
    };
    let protocol = how.protocol.unwrap_or(sequential);
    prepared.config = measured_alone(&prepared.config, how.benches, protocol)?;
    prepared.registration = registration(how);
    Ok(prepared)
}

/// What the runner itself declares before a comparison.
fn registration(how: &Compared<'_>) -> Registration {
    let bars = how.allowed_loss.into_iter().flat_map(|percent| {
        how.benches.iter().map(move |bench| RegisteredBar {
            bench: bench.clone(),
            bar: Bar::Relative { percent },
            source: Source::File,
            text: format!("{percent}%"),
        })
    });
    Registration {
        lever: how.name.to_owned(),
        kind: RoundKind::Compared,
        bars: bars.collect(),
        ..Registration::default()
    }
}

/// A config reduced to some of its benches.
///
/// # Errors
/// Names what is not among its benches.
pub fn measured_alone(
    config: &Config,
    benches: &[String],
    protocol: Protocol,
) -> anyhow::Result<Config> {
    for wanted in benches {
        let known: Vec<&str> = config.benches.iter().map(|b| b.name.as_str()).collect();
        if !known.contains(&wanted.as_str()) {
            anyhow::bail!(
                "campaign.toml has no bench `{wanted}`; it has {}",
                if known.is_empty() {
                    "none".to_owned()
                } else {
                    known.join(", ")
                }
            );
        }
    }
    let mut reduced = config.clone();
    reduced
        .benches
        .retain(|bench| benches.contains(&bench.name));
    reduced.parity.clear();
    reduced.identity = None;
    reduced.counters.clear();
    reduced.claims.clear();
    reduced.anchor = config::Anchor::default();
    reduced.protocol = protocol;
    Ok(reduced)
}

/// A commit's own config; the working tree's where it has none, or the one given.
pub async fn config_of(
    repository: &Repository,
    sha: &Sha,
    given: Option<&Path>,
) -> anyhow::Result<Config> {
    if let Some(file) = given {
        return Ok(Config::from_file(file)?);
    }
    if let Some(bytes) = repository.file_at(sha, config::FILE_NAME).await? {
        let name = format!("{}:{}", sha.short(), config::FILE_NAME);
        let text = String::from_utf8(bytes).with_context(|| format!("{name} is not UTF-8"))?;
        return Ok(config::parse(&text, &name)?);
    }
    let working = working_config(repository).transpose()?;
    working.with_context(|| {
        format!(
            "neither {} nor the working tree has a campaign.toml: `runner init` writes one",
            sha.short()
        )
    })
}
