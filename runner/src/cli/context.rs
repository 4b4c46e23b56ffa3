//! What every subcommand shares: folders and the repository.

use std::path::PathBuf;

use anyhow::Context as _;

use super::Dirs;
use crate::git::Repository;
use crate::model::CommitInfo;
use crate::record::{RecordError, Records, Reference, Resolved, RunId};

/// Arguments that every subcommand takes.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Where things are")]
pub(super) struct Args {
    /// The git repository of the campaign [default: the current folder's].
    #[arg(long, short = 'C', global = true, value_name = "DIR")]
    repo: Option<PathBuf>,
    /// Folder of the database and artefacts [default: $XDG_DATA_HOME/roundhouse].
    #[arg(
        long,
        global = true,
        env = "ROUNDHOUSE_DATA",
        value_name = "DIR",
        hide_env_values = true
    )]
    data: Option<PathBuf>,
    /// Folder of toolchains, mirrors and built trees [default: $XDG_CACHE_HOME/roundhouse].
    #[arg(
        long,
        global = true,
        env = "ROUNDHOUSE_CACHE",
        value_name = "DIR",
        hide_env_values = true
    )]
    cache: Option<PathBuf>,
    /// Folder of the machine-wide device locks [default: roundhouse-locks in the temporary folder].
    #[arg(
        long,
        global = true,
        env = "ROUNDHOUSE_LOCKS",
        value_name = "DIR",
        hide_env_values = true
    )]
    locks: Option<PathBuf>,
}

/// What every subcommand shares.
#[derive(Debug, Clone)]
pub struct Context {
    /// The runner's folders.
    pub dirs: Dirs,
    /// The campaign's repository, as given.
    pub repo: PathBuf,
}

impl Context {
    /// Resolves folders from arguments and environment.
    pub(super) fn new(args: Args) -> anyhow::Result<Context> {
        let dirs = Dirs::resolve(args.data, args.cache, args.locks).context(
            "cannot tell where to keep data: set HOME, or ROUNDHOUSE_DATA and ROUNDHOUSE_CACHE",
        )?;
        let repo = args.repo.unwrap_or_else(|| PathBuf::from("."));
        Ok(Context { dirs, repo })
    }

    /// Finds the run that a person names: by number, commit, tree or patch-id as the record holds
    /// them, else by what the name means in the repository, also where the commit was rewritten.
    pub(super) async fn find_run(
        &self,
        records: &Records,
        text: &str,
    ) -> Result<Resolved, RecordError> {
        let unknown = match records.resolve(&Reference::parse(text)).await {
            Err(error @ RecordError::NothingFound(_)) => error,
            other => return other,
        };
        let Some(commit) = self.commit(text).await else {
            return Err(unknown);
        };
        match records.resolve_commit(&commit).await {
            // As the person typed it, not as git spells it.
            Err(RecordError::NothingFound(_)) => Err(unknown),
            found => found,
        }
    }

    /// Finds the one run that is to be written to. Where the name fits several runs, a person must
    /// say which: writing to the wrong one is worse than asking.
    pub(super) async fn find_one_run(
        &self,
        records: &Records,
        text: &str,
    ) -> anyhow::Result<Resolved> {
        let found = self.find_run(records, text).await?;
        if records.load(found.run).await?.row.purpose == db::Purpose::Calibration {
            anyhow::bail!(
                "run {} is a calibration: it has no verdict and no claims that could be added to",
                found.run
            );
        }
        if found.runs.len() < 2 {
            return Ok(found);
        }
        let outcomes = records.outcomes(&found.runs).await?;
        let lines: Vec<String> = outcomes
            .iter()
            .map(|(run, outcome)| format!("\n  run {run}: {outcome}"))
            .collect();
        anyhow::bail!(
            "`{text}` fits several runs: say which by its number{}",
            lines.concat()
        )
    }

    /// The repository's commit of that name; `None` where there is no repository or no such commit.
    async fn commit(&self, name: &str) -> Option<CommitInfo> {
        let repository = Repository::open(&self.repo, &self.dirs.cache).await.ok()?;
        let sha = repository.resolve(name).await.ok()?;
        repository.commit_info(&sha).await.ok()
    }

    /// The disassembler of an installed toolchain, for commands on files without a campaign.
    pub(super) fn installed_nvdisasm(&self) -> Option<PathBuf> {
        let newest = crate::toolchain::pinned_versions()
            .into_iter()
            .next_back()?;
        let bin = crate::toolchain::installed(newest, &self.dirs.cache)?
            .join("bin")
            .join("nvdisasm");
        bin.is_file().then_some(bin)
    }
}

/// Reads a reason: a text that says something.
pub(super) fn reason(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("a reason in words is needed".to_owned()),
        words => Ok(words.to_owned()),
    }
}

/// Says on standard error when a run was found by something weaker than its commit.
pub(super) fn tell_caveat(found: &Resolved, run: RunId) {
    if let Some(caveat) = found.caveat() {
        eprintln!("note: run {run} was {caveat}");
    }
}
