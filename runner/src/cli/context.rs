//! What every subcommand shares: folders and the repository.

use std::path::PathBuf;

use anyhow::Context as _;

use super::Dirs;
use crate::git::Repository;
use crate::record::{RecordError, Records, Reference, Resolved};

/// Arguments that every subcommand takes.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The git repository of the campaign; the current folder's by default.
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
    /// Folder of the machine-wide device locks.
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

    /// Finds the run that a person named: by what is recorded, else by what git makes of the
    /// name here, such as a branch, or a commit that was rewritten since it was measured.
    pub(super) async fn find_run(&self, records: &Records, name: &str) -> anyhow::Result<Resolved> {
        let nothing = match records.resolve(&Reference::parse(name)).await {
            Err(nothing @ RecordError::NothingFound(_)) => nothing,
            found => return Ok(found?),
        };
        let Ok(repository) = Repository::open(&self.repo, &self.dirs.cache).await else {
            return Err(nothing.into());
        };
        let Ok(sha) = repository.resolve(name).await else {
            return Err(nothing.into());
        };
        let commit = repository.commit_info(&sha).await?;
        match records.resolve_commit(&commit).await {
            Err(RecordError::NothingFound(_)) => Err(nothing.into()),
            found => Ok(found?),
        }
    }
}

/// Reads a reason: a text that says something.
pub(super) fn reason(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("a reason in words is needed".to_owned()),
        words => Ok(words.to_owned()),
    }
}
