//! From what was asked for to two commits, a config, each side's own recipe, and a registration.

use std::path::Path;

use anyhow::{Context as _, bail};

use crate::build::BuildSource;
use crate::config::{self, Build, Config, Toolchain};
use crate::git::{PairRequest, Repository};
use crate::model::{CommitInfo, PerSide, Registration, Sha, Side};

use super::Request;

/// How a side is built: its own recipe and toolchain.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Recipe {
    /// `[build]` of the side's own file.
    pub build: Build,
    /// `[toolchain]` of the side's own file.
    pub toolchain: Toolchain,
}

impl Recipe {
    /// What building a commit by this recipe needs.
    pub fn source<'a>(&'a self, commit: &'a CommitInfo) -> BuildSource<'a> {
        BuildSource {
            commit,
            recipe: &self.build,
            arch: &self.toolchain.arch,
        }
    }
}

/// Everything that is settled before the first stage.
#[derive(Debug)]
pub struct Prepared {
    /// The repository.
    pub repository: Repository,
    /// Both commits.
    pub commits: PerSide<CommitInfo>,
    /// The config that says what is checked and measured.
    pub config: Config,
    /// Each side's recipe.
    pub recipes: PerSide<Recipe>,
    /// What head declares.
    pub registration: Registration,
    /// What the user should know about where the config came from.
    pub notes: Vec<String>,
}

impl Prepared {
    /// Puts another toolchain in place of the configs'.
    pub fn replace_toolchain(&mut self, toolchain: &Toolchain) {
        self.config.toolchain = toolchain.clone();
        for side in Side::BOTH {
            self.recipes.get_mut(side).toolchain = toolchain.clone();
        }
    }

    /// One run has one CUDA toolchain: two would measure the toolchains.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        let PerSide { base, head } = &self.recipes;
        if base.toolchain.cuda != head.toolchain.cuda {
            bail!(
                "base is built with {} and head with {}: a run has one toolchain; give one for \
                 both sides in a file of its own with --config",
                cuda_words(&base.toolchain.cuda),
                cuda_words(&head.toolchain.cuda)
            );
        }
        Ok(())
    }
}

fn cuda_words(cuda: &config::Cuda) -> String {
    match cuda {
        config::Cuda::Pinned(version) => format!("CUDA {version}"),
        config::Cuda::System => "the system's CUDA".to_owned(),
        config::Cuda::None => "no CUDA".to_owned(),
    }
}

/// The recipe of a commit that is neither side; `otherwise` where it has no readable file.
pub(super) async fn recipe_of(
    repository: &Repository,
    sha: &Sha,
    otherwise: &Recipe,
) -> anyhow::Result<Recipe> {
    let Some(bytes) = repository.file_at(sha, config::FILE_NAME).await? else {
        return Ok(otherwise.clone());
    };
    let text = String::from_utf8_lossy(&bytes);
    match config::parse(&text, config::FILE_NAME) {
        Ok(config) => Ok(Recipe {
            build: config.build,
            ..otherwise.clone()
        }),
        Err(_) => Ok(otherwise.clone()),
    }
}

/// Finds commits, config and registration.
pub async fn prepare(request: &Request, cache: &Path) -> anyhow::Result<Prepared> {
    let repository = Repository::open(&request.repo, cache).await?;
    let working = working_config(&repository);
    let explicit = match &request.config {
        Some(path) => Some(Config::from_file(path)?),
        None => None,
    };
    // The default branch steers how base is found, so it has to come from a file that needs no
    // base: the one given, or the one in the working tree if that can be read.
    let branch = explicit
        .as_ref()
        .or_else(|| working.as_ref().and_then(|found| found.as_ref().ok()))
        .and_then(|config| config.campaign.default_branch.clone());
    let pair = repository
        .pair(PairRequest {
            base: request.base.as_deref(),
            head: request.head.as_deref(),
            default_branch: branch.as_deref(),
        })
        .await?;
    if pair.base == pair.head {
        bail!(
            "base and head are the same commit {}: give another --base, or --head",
            pair.head.short()
        );
    }
    let commits = PerSide {
        base: repository.commit_info(&pair.base).await?,
        head: repository.commit_info(&pair.head).await?,
    };
    let files = match explicit {
        Some(config) => Files::given(config),
        None => Files::found(&repository, &pair, working).await?,
    };
    let mut notes = files.notes;
    notes.extend(uncommitted(&repository, request).await);
    // What compares commits as they are asks nothing of what they declare.
    let registration = match request.options.purpose {
        db::Purpose::Anchor | db::Purpose::Bisect => Registration::default(),
        _ => {
            notes.extend(earlier_trailers(&repository, &pair, &files.config).await);
            declared(&commits.head, &files.config)?
        }
    };
    Ok(Prepared {
        repository,
        commits,
        recipes: files.recipes,
        config: files.config,
        registration,
        notes,
    })
}

/// What head declares.
fn declared(head: &CommitInfo, config: &Config) -> anyhow::Result<Registration> {
    let registration = crate::registration::from_commit(&head.message, config);
    if !registration.errors.is_empty() {
        bail!(
            "the trailers of {} cannot be read, so nothing was measured or recorded:\n  {}\ncorrect \
             them, for example with `git commit --amend`, and run again",
            head.sha.short(),
            registration.errors.join("\n  ")
        );
    }
    Ok(registration)
}

/// Says that the checkout is not what is measured.
async fn uncommitted(repository: &Repository, request: &Request) -> Option<String> {
    if request.head.is_some() {
        return None;
    }
    let files = match repository.uncommitted().await {
        0 => return None,
        1 => "1 file of the checkout has".to_owned(),
        n => format!("{n} files of the checkout have"),
    };
    Some(format!(
        "{files} uncommitted changes; HEAD was measured without them"
    ))
}

/// The most commits between base and head whose trailers are looked at.
const LOOKED_AT: u32 = 200;

/// Says that trailers of commits between base and head do not count: a run has one registration.
async fn earlier_trailers(
    repository: &Repository,
    pair: &PerSide<Sha>,
    config: &Config,
) -> Option<String> {
    let between = repository
        .messages_between(&pair.base, &pair.head, LOOKED_AT)
        .await
        .ok()?;
    let declaring: Vec<_> = between
        .iter()
        .filter(|(_, message)| crate::registration::declares(message, config))
        .map(|(sha, _)| sha.short().to_owned())
        .collect();
    match declaring.as_slice() {
        [] => None,
        some => Some(format!(
            "trailers of {}, between base and head, do not count: a run has the registration of its \
             head; run each of them against its parent to book it",
            some.join(", ")
        )),
    }
}

/// The file in the user's checkout, for campaigns that have not committed it yet.
pub(super) fn working_config(repository: &Repository) -> Option<Result<Config, config::LoadError>> {
    let path = repository.root()?.join(config::FILE_NAME);
    path.is_file().then(|| Config::from_file(&path))
}

/// Which config counts, and each side's recipe.
struct Files {
    config: Config,
    recipes: PerSide<Recipe>,
    notes: Vec<String>,
}

impl Files {
    /// `--config FILE`: one file for everything.
    fn given(config: Config) -> Files {
        let recipe = recipe(&config);
        Files {
            recipes: PerSide {
                base: recipe.clone(),
                head: recipe,
            },
            config,
            notes: Vec::new(),
        }
    }

    /// Base's file says what is measured, so that a change cannot loosen its own bars; each
    /// side's own file says how it is built. A side without a file takes the other's, and where
    /// neither has one the working tree's.
    async fn found(
        repository: &Repository,
        pair: &PerSide<Sha>,
        working: Option<Result<Config, config::LoadError>>,
    ) -> anyhow::Result<Files> {
        let base = committed(repository, &pair.base, Side::Base).await?;
        let head = committed(repository, &pair.head, Side::Head).await?;
        let mut notes = Vec::new();
        let (base, head) = match (base, head) {
            (Some(base), Some(head)) => (base, head),
            (Some(base), None) => (base.clone(), base),
            (None, Some(head)) => {
                notes.push(format!(
                    "base {} has no campaign.toml; head's is used for both sides",
                    pair.base.short()
                ));
                (head.clone(), head)
            }
            (None, None) => {
                let config = working.transpose()?.with_context(|| {
                    format!(
                        "neither {} nor {} has a campaign.toml, and there is none in the working \
                         tree: `runner init` writes one",
                        pair.base.short(),
                        pair.head.short()
                    )
                })?;
                notes.push("campaign.toml is not committed; the working tree's is used".to_owned());
                (config.clone(), config)
            }
        };
        if differ_in_measuring(&base, &head) {
            notes.push(
                "head changes what campaign.toml measures or demands; base's file counts until \
                 the change has landed"
                    .to_owned(),
            );
        }
        let recipes = PerSide {
            base: recipe(&base),
            head: recipe(&head),
        };
        Ok(Files {
            config: base,
            recipes,
            notes,
        })
    }
}

pub(super) fn recipe(config: &Config) -> Recipe {
    Recipe {
        build: config.build.clone(),
        toolchain: config.toolchain.clone(),
    }
}

fn differ_in_measuring(base: &Config, head: &Config) -> bool {
    let measuring = |config: &Config| Config {
        build: base.build.clone(),
        toolchain: base.toolchain.clone(),
        ..config.clone()
    };
    measuring(base) != measuring(head)
}

pub(super) async fn committed(
    repository: &Repository,
    sha: &Sha,
    side: Side,
) -> anyhow::Result<Option<Config>> {
    let Some(bytes) = repository.file_at(sha, config::FILE_NAME).await? else {
        return Ok(None);
    };
    let name = format!("{}:{} ({side})", sha.short(), config::FILE_NAME);
    let text = String::from_utf8(bytes).with_context(|| format!("{name} is not UTF-8"))?;
    Ok(Some(config::parse(&text, &name)?))
}
