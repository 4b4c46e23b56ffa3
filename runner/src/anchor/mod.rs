//! Where a campaign stands against a pinned commit: the anchor.
//!
//! The anchor's stored build is base of a window of its own, head is what is measured, and what
//! is measured and how was settled when the anchor was pinned. Values of different windows are
//! never compared, only effects. What a series says is in `series`, which is pure.

mod series;

use anyhow::{Context as _, bail};

use crate::cli::Dirs;
use crate::config::{Config, Protocol};
use crate::git::{Lineage, Repository};
use crate::model::{Judgement, PerSide, Sha};
use crate::pipeline::{self, Compared, Options, Recipe, Request};
use crate::progress::Progress;
use crate::record::{AnchorPin, AnchorSeries, Records, RunId};
use crate::render::view::{DriftView, drift_views};
use crate::stats::rounds::ANCHOR_PAIRS;

pub use series::{Change, Claimed, Drift, Landed, Point, Standing, standing};

/// What to pin.
#[derive(Debug, Clone)]
pub struct Pinning {
    /// The commit, as the user names it.
    pub commit: String,
    /// The benches; all of the config's where none is named.
    pub benches: Vec<String>,
    /// The pairs of each measurement; the fixed protocol's or [`ANCHOR_PAIRS`] without.
    pub pairs: Option<u32>,
    /// A config to use instead of the commit's own.
    pub config: Option<std::path::PathBuf>,
    /// Who pins it.
    pub by: String,
}

/// Pins a commit as its campaign's anchor. Gives the campaign's name.
///
/// # Errors
/// Where the commit's build is not in the store: what is measured must be a binary that stays.
pub async fn pin(
    what: &Pinning,
    repository: &Repository,
    records: &Records,
) -> anyhow::Result<String> {
    let sha = repository.resolve(&what.commit).await?;
    let commit = repository.commit_info(&sha).await?;
    let config = pipeline::config_of(repository, &sha, what.config.as_deref()).await?;
    let Some((build, _)) = records.build_of(&sha).await? else {
        bail!(
            "there is no stored build of {}: run a round whose base or head it is (`runner run \
             --base {}`), then pin it",
            sha.short(),
            sha.short()
        );
    };
    let config = measured(&config, what)?;
    records
        .anchor_pin(&commit, build, &config, &what.by)
        .await?;
    Ok(config.campaign.name)
}

/// What is measured against the anchor, from now on.
fn measured(config: &Config, what: &Pinning) -> anyhow::Result<Config> {
    let benches = match what.benches.is_empty() {
        true => config.benches.iter().map(|b| b.name.clone()).collect(),
        false => what.benches.clone(),
    };
    if benches.is_empty() {
        bail!("campaign.toml has no [[bench]], so there is nothing to measure against an anchor");
    }
    // Not the sequential protocol: where it stops depends on the effect, and so would the
    // estimate and its scatter.
    let default = u32::try_from(ANCHOR_PAIRS).unwrap_or(u32::MAX);
    let pairs = what.pairs.or(config.protocol.fixed_pairs());
    let protocol = Protocol::Pairs(pairs.unwrap_or(default));
    pipeline::measured_alone(config, &benches, protocol)
}

/// The anchor that counts.
pub async fn current(campaign: &str, records: &Records) -> anyhow::Result<AnchorPin> {
    let pins = records.anchors(campaign).await?;
    pins.into_iter().next().with_context(|| {
        format!("no anchor is pinned for {campaign}: `runner anchor pin COMMIT` pins one")
    })
}

/// What a measurement came to.
#[derive(Debug)]
pub struct Measured {
    /// The run under which it is recorded.
    pub run: RunId,
    /// What was concluded.
    pub judgement: Judgement,
}

/// Measures a head against the campaign's anchor, and records that as part of its series.
pub async fn measure(
    campaign: &str,
    head: &str,
    wait: bool,
    places: &Places<'_>,
) -> anyhow::Result<Measured> {
    let Places {
        repository,
        records,
        dirs,
        progress,
    } = *places;
    let pin = current(campaign, records).await?;
    let head = repository.resolve(head).await?;
    if head == pin.sha {
        bail!(
            "{} is the anchor itself: there is nothing to measure it against",
            head.short()
        );
    }
    let passed = repository.passed(&pin.sha, &head, Lineage::All).await?;
    let options = Options {
        wait,
        purpose: db::Purpose::Anchor,
        stored_builds: PerSide {
            base: Some(pin.build.clone()),
            head: None,
        },
        series: Some(AnchorSeries {
            anchor: pin.id,
            passed,
        }),
        ..Options::default()
    };
    let prepared = prepared(&pin, &head, places, &options).await?;
    let run = pipeline::execute(prepared, &options, records, dirs, progress).await?;
    let stored = records.load(run).await?;
    let judgement = stored.judgement.context("the run was not judged")?;
    Ok(Measured { run, judgement })
}

/// Where things are.
#[derive(Debug, Clone, Copy)]
pub struct Places<'a> {
    /// The campaign's repository.
    pub repository: &'a Repository,
    /// The record.
    pub records: &'a Records,
    /// The runner's folders.
    pub dirs: &'a Dirs,
    /// Who is told.
    pub progress: &'a Progress,
}

/// The anchor's own config and recipe for base, head's own recipe for head.
async fn prepared(
    pin: &AnchorPin,
    head: &Sha,
    places: &Places<'_>,
    options: &Options,
) -> anyhow::Result<pipeline::Prepared> {
    let root = places
        .repository
        .root()
        .unwrap_or(std::path::Path::new("."));
    let request = Request {
        repo: root.to_owned(),
        base: Some(pin.sha.to_string()),
        head: Some(head.to_string()),
        options: options.clone(),
        ..Request::default()
    };
    let benches: Vec<String> = pin.config.benches.iter().map(|b| b.name.clone()).collect();
    let how = Compared {
        benches: &benches,
        protocol: Some(pin.config.protocol),
        allowed_loss: None,
        name: &format!("anchor: {} against {}", head.short(), pin.sha.short()),
    };
    let mut prepared = pipeline::compared(&request, &how, &places.dirs.cache).await?;
    prepared.config = pin.config.clone();
    prepared.recipes.base = serde_json::from_str::<Recipe>(&pin.recipe)
        .context("reading the recorded recipe of the anchor")?;
    Ok(prepared)
}

/// A series: an anchor's measurements on one bench and one machine, held against the rounds.
#[derive(Debug)]
pub struct Series {
    /// The machine, for people.
    pub machine: String,
    /// What it says.
    pub standing: Standing,
}

/// All series of an anchor, by bench; of each, the machine that measured last comes last. Benches
/// without a measurement have none.
pub async fn all_series(pin: &AnchorPin, records: &Records) -> anyhow::Result<Vec<Series>> {
    let mut all = Vec::new();
    for bench in &pin.config.benches {
        for (machine, points) in records.anchor_points(pin.id, &bench.name).await? {
            let landed = records.landed(&pin.config.campaign.name, machine).await?;
            if let Some(standing) = standing(&bench.name, points, &landed) {
                let machine = records.machine_name(machine).await?;
                all.push(Series { machine, standing });
            }
        }
    }
    Ok(all)
}

/// Where a campaign stands against its anchor, by bench, on the machine that measured last; empty
/// where nothing was measured.
pub async fn views(campaign: &str, records: &Records) -> anyhow::Result<Vec<DriftView>> {
    let pins = records.anchors(campaign).await?;
    let Some(pin) = pins.first() else {
        return Ok(Vec::new());
    };
    let mut newest: Vec<Standing> = Vec::new();
    for series in all_series(pin, records).await? {
        newest.retain(|known| known.bench != series.standing.bench);
        newest.push(series.standing);
    }
    Ok(drift_views(&newest, pin.sha.short()))
}
