//! Repeats a recorded lever and says SAME, CHANGED or DRIFT.
//!
//! Everything comes from the record: commits from their packs, the config, each side's recipe,
//! the registration and the seed. What the comparison means is in [`compare`], which is pure.

mod compare;

use anyhow::Context as _;

use crate::cli::Dirs;
use crate::git::Repository;
use crate::model::{BuildEvidence, PerSide, Sha, Side};
use crate::pipeline::{self, Options, Prepared, Recipe};
use crate::progress::Progress;
use crate::record::{Records, RunId, StoredRun};

pub use compare::{Comparison, Outcome, Part, compare};

/// What to repeat, and how.
#[derive(Debug, Clone, Copy)]
pub struct ReplayRequest {
    /// The run.
    pub run: RunId,
    /// Use the stored binaries instead of building.
    pub artifacts: bool,
    /// Wait for the device where another run holds it.
    pub wait: bool,
}

/// A finished replay.
#[derive(Debug)]
pub struct Replayed {
    /// The run under which the repetition is recorded.
    pub run: RunId,
    /// The comparison.
    pub comparison: Comparison,
}

/// Repeats a run and compares; the repetition is recorded as a run of its own.
pub async fn replay(
    request: &ReplayRequest,
    repository: Option<Repository>,
    records: &Records,
    dirs: &Dirs,
    progress: &Progress,
) -> anyhow::Result<Replayed> {
    let original = records.load(request.run).await?;
    if original.row.purpose == db::Purpose::Calibration {
        anyhow::bail!(
            "run {} is a calibration: it measured the machine, and `runner calibrate` measures it \
             again",
            original.row.id
        );
    }
    let prepared = prepared(&original, repository, records, dirs).await?;
    let stored_builds = match request.artifacts {
        true => Some(stored_builds(&original)?),
        false => None,
    };
    let options = Options {
        seed: Some(original.row.seed.0),
        wait: request.wait,
        // What was measured is measured again, whatever its claims came to.
        measure_anyway: original
            .evidence
            .benches
            .iter()
            .any(|b| !b.samples.is_empty()),
        replay_of: Some(original.row.id),
        purpose: original.row.purpose,
        calibration: None,
        inner: planned(&original),
        confirms: None,
        rebuild: stored_builds.is_none(),
        stored_builds: stored_builds.map_or_else(PerSide::default, |stored| PerSide {
            base: Some(stored.base),
            head: Some(stored.head),
        }),
        series: None,
    };
    let run = pipeline::execute(prepared, &options, records, dirs, progress).await?;
    let repeated = records.load(run).await?;
    let kept = |stored: &StoredRun| kept_outputs(records, stored);
    let outputs = (kept(&original), kept(&repeated));
    let comparison = compare(&original, &repeated, outputs);
    records.store_comparison(run, &comparison).await?;
    Ok(Replayed { run, comparison })
}

/// The timed runs that each bench's launches had.
fn planned(original: &StoredRun) -> std::collections::BTreeMap<String, u32> {
    let benches = original.evidence.benches.iter();
    benches
        .filter_map(|bench| Some((bench.bench.clone(), bench.plan.as_ref()?.inner)))
        .collect()
}

/// What the pipeline needs, from the record.
pub(crate) async fn prepared(
    original: &StoredRun,
    repository: Option<Repository>,
    records: &Records,
    dirs: &Dirs,
) -> anyhow::Result<Prepared> {
    let commits = &original.evidence.commits;
    let repository = match repository {
        Some(repository) if holds(&repository, commits).await => repository,
        _ => restored(original, records, dirs).await?,
    };
    let config = original.evidence.config.clone();
    let recipe = |side: Side| match original.recipes.get(side) {
        Some(text) => serde_json::from_str::<Recipe>(text)
            .with_context(|| format!("reading {side}'s recorded recipe")),
        None => Ok(Recipe {
            build: config.build.clone(),
            toolchain: config.toolchain.clone(),
        }),
    };
    Ok(Prepared {
        repository,
        commits: commits.clone(),
        recipes: PerSide {
            base: recipe(Side::Base)?,
            head: recipe(Side::Head)?,
        },
        registration: original.evidence.registration.clone(),
        notes: Vec::new(),
        config,
    })
}

/// Whether a repository still has both commits. Where it has, submodules and LFS files come from
/// where they came from before.
async fn holds(repository: &Repository, commits: &PerSide<crate::model::CommitInfo>) -> bool {
    for side in Side::BOTH {
        if repository.fetch(&commits.get(side).sha).await.is_err() {
            return false;
        }
    }
    true
}

/// A repository made from the recorded packs.
async fn restored(
    original: &StoredRun,
    records: &Records,
    dirs: &Dirs,
) -> anyhow::Result<Repository> {
    let commits = &original.evidence.commits;
    let format = object_format(&commits.head.sha);
    let name = &original.row.campaign;
    let repository = Repository::detached(name, format, &dirs.cache).await?;
    for side in Side::BOTH {
        let wanted = &commits.get(side).sha;
        let packs = records.packs_of(wanted).await?;
        if packs.is_empty() {
            anyhow::bail!(
                "the record of run {} does not hold {side} {}: give the repository that has it with -C",
                original.row.id,
                wanted.short()
            );
        }
        for (sha, pack) in packs {
            let bytes = records.vault().get(&pack)?;
            repository.restore_pack(&sha, &bytes).await?;
        }
    }
    Ok(repository)
}

fn object_format(sha: &Sha) -> &'static str {
    if sha.as_str().len() == 64 {
        "sha256"
    } else {
        "sha1"
    }
}

/// Both sides' stored builds; an error names the side that has none.
pub(crate) fn stored_builds(original: &StoredRun) -> anyhow::Result<PerSide<BuildEvidence>> {
    let of = |side: Side| {
        original
            .evidence
            .builds
            .get(side)
            .clone()
            .filter(|build| build.failure.is_none())
            .with_context(|| format!("run {} has no stored binaries of {side}", original.row.id))
    };
    Ok(PerSide {
        base: of(Side::Base)?,
        head: of(Side::Head)?,
    })
}

/// What each gate printed, without the lines that may differ; `None` for a log that is lost.
fn kept_outputs(records: &Records, stored: &StoredRun) -> Vec<Option<Vec<u8>>> {
    let drop_lines = stored
        .evidence
        .config
        .identity
        .as_ref()
        .map(|identity| &identity.drop_lines);
    stored
        .evidence
        .gates
        .iter()
        .flat_map(|gate| &gate.logs)
        .map(|log| {
            let text = records.vault().get(log).ok()?;
            Some(crate::gates::kept_bytes(
                &text,
                drop_lines.map_or(&[], Vec::as_slice),
            ))
        })
        .collect()
}
