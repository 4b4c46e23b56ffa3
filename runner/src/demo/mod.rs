//! `runner demo`: a git repository made from the sample campaign's patch series, and its rounds.
//!
//! This module makes the repository and says which commits are rounds; running them is the
//! pipeline's. The commits come out the same on every machine: the user's git configuration,
//! hooks, signing and clock have no part in them, and a series that gives other commits is an
//! error.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use kernels::device;
use kernels::series::{MMQ_PATCHES, PATCHES, Patch};

use crate::config::Cuda;
use crate::model::{NotASha, Sha};

/// The architecture that is always built: the reference machine's.
pub const REFERENCE_ARCH: &str = "sm_121";

/// A sample campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Campaign {
    /// The two stand-alone kernels: the rounds' mechanisms in a minute.
    Checks,
    /// The matrix products with a model around them.
    Mmq,
}

impl Campaign {
    /// All campaigns.
    pub const ALL: [Campaign; 2] = [Campaign::Checks, Campaign::Mmq];

    /// What the user calls it.
    pub fn name(self) -> &'static str {
        match self {
            Campaign::Checks => "checks",
            Campaign::Mmq => "mmq",
        }
    }

    /// What its `campaign.toml` calls it.
    pub fn recorded_name(self) -> &'static str {
        match self {
            Campaign::Checks => "mmq-checks",
            Campaign::Mmq => "mmq-7b",
        }
    }

    /// Its commits, oldest first.
    fn patches(self) -> &'static [Patch] {
        match self {
            Campaign::Checks => PATCHES,
            Campaign::Mmq => MMQ_PATCHES,
        }
    }
}

/// What the demo does differently from its `campaign.toml`, which is part of the commits and
/// therefore fixed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Which campaign.
    pub campaign: Campaign,
    /// The toolchain.
    pub cuda: Cuda,
    /// The architectures; [`default_arch`] where the user names none.
    pub arch: Vec<String>,
}

/// The demo's repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DemoRepo {
    /// The working tree, at the last commit of the series.
    pub path: PathBuf,
    /// The steps to run, oldest first.
    pub rounds: Vec<DemoRound>,
    /// To put in place of the `toolchain` of each side's config.
    pub options: Options,
}

impl DemoRepo {
    /// The toolchain to use in place of each side's.
    pub fn toolchain(&self) -> crate::config::Toolchain {
        crate::config::Toolchain {
            cuda: self.options.cuda.clone(),
            arch: self.options.arch.clone(),
        }
    }
}

/// One step: a commit against the one before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DemoRound {
    /// The commit before.
    pub base: Sha,
    /// The commit.
    pub head: Sha,
    /// Its subject.
    pub title: String,
}

/// The demo's repository could not be made.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// The folder is in use.
    #[error("{0} is not empty; give `--dir` an empty or new folder")]
    NotEmpty(PathBuf),
    /// A file or folder could not be read or written.
    #[error("{doing} {path}")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// To what.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: std::io::Error,
    },
    /// git could not be started.
    #[error("git cannot be started; install git 2.28 or newer")]
    NoGit(#[source] std::io::Error),
    /// git refused.
    #[error("git {step} failed in {path}:\n{complaint}")]
    Git {
        /// The git command, and the patch where it was about one.
        step: String,
        /// The repository.
        path: PathBuf,
        /// What git printed.
        complaint: String,
    },
    /// A patch made another commit than it should.
    #[error(
        "{patch} became commit {got} instead of {expected}; this git applies mails in another way, \
         please report its version"
    )]
    OtherCommit {
        /// The patch.
        patch: &'static str,
        /// What git made.
        got: String,
        /// What the series records.
        expected: &'static str,
    },
    /// A recorded commit is no object name.
    #[error("the series is damaged")]
    Damaged(#[from] NotASha),
}

/// The reference machine's architecture, and this machine's own where it has a device.
pub fn default_arch() -> Vec<String> {
    let own = device::probe().unwrap_or_default();
    let mut arch = vec![REFERENCE_ARCH.to_owned()];
    for device in own {
        if !arch.contains(&device.arch()) {
            arch.push(device.arch());
        }
    }
    arch
}

/// Makes the repository in `dir`, which must be empty or not exist yet.
///
/// # Errors
/// Where the folder is in use, git is missing or refuses, or the commits come out differently.
pub fn create(dir: &Path, options: Options) -> Result<DemoRepo, DemoError> {
    let io = |doing| {
        move |source| DemoError::Io {
            doing,
            path: dir.to_owned(),
            source,
        }
    };
    std::fs::create_dir_all(dir).map_err(io("creating the folder"))?;
    let mut entries = std::fs::read_dir(dir).map_err(io("reading the folder"))?;
    if entries.next().is_some() {
        return Err(DemoError::NotEmpty(dir.to_owned()));
    }
    let path = dir.canonicalize().map_err(io("resolving"))?;
    let repo = Repo { path: &path };
    repo.git(
        &[
            "init",
            "--quiet",
            "--template=",
            "--object-format=sha1",
            ".",
        ],
        "",
    )?;
    // Not `init -b`: a branch that git would name by itself depends on its version.
    repo.git(&["symbolic-ref", "HEAD", "refs/heads/main"], "")?;
    let patches = options.campaign.patches();
    for patch in patches {
        repo.apply(patch)?;
    }
    Ok(DemoRepo {
        rounds: rounds(patches)?,
        path,
        options,
    })
}

/// Each commit of the series against the one before it.
fn rounds(patches: &[Patch]) -> Result<Vec<DemoRound>, DemoError> {
    patches
        .windows(2)
        .map(|pair| {
            Ok(DemoRound {
                base: pair[0].commit.parse()?,
                head: pair[1].commit.parse()?,
                title: subject(pair[1].mail),
            })
        })
        .collect()
}

/// The subject of a mail, its folded lines joined.
fn subject(mail: &str) -> String {
    let mut lines = mail.lines().skip_while(|l| !l.starts_with("Subject: "));
    let first = lines.next().unwrap_or_default();
    let folded = lines.take_while(|l| l.starts_with(' '));
    let mut subject = first.trim_start_matches("Subject: ").to_owned();
    folded.for_each(|line| subject.push_str(line));
    subject
}

struct Repo<'a> {
    path: &'a Path,
}

impl Repo<'_> {
    fn apply(&self, patch: &'static Patch) -> Result<(), DemoError> {
        let am = [
            "am",
            "--quiet",
            "--keep",
            "--committer-date-is-author-date",
            "--no-gpg-sign",
        ];
        self.git(&am, patch.mail)?;
        let got = self.git(&["rev-parse", "HEAD"], "")?;
        if got.trim() == patch.commit {
            return Ok(());
        }
        Err(DemoError::OtherCommit {
            patch: patch.file,
            got: got.trim().to_owned(),
            expected: patch.commit,
        })
    }

    /// Runs git with nothing of the user's but PATH; gives its standard output.
    fn git(&self, args: &[&str], input: &str) -> Result<String, DemoError> {
        let mut child = Command::new("git")
            .current_dir(self.path)
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .env("LC_ALL", "C")
            .env("HOME", "/nonexistent")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env(
                "GIT_CEILING_DIRECTORIES",
                self.path.parent().unwrap_or(self.path),
            )
            .env("GIT_COMMITTER_NAME", "Roundhouse")
            .env("GIT_COMMITTER_EMAIL", "demo@roundhouse.invalid")
            .args([
                "-c",
                "core.hooksPath=/dev/null",
                "-c",
                "core.autocrlf=false",
            ])
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(DemoError::NoGit)?;
        // A git that does not read its input has already failed, and says why itself.
        if let Some(mut stdin) = child.stdin.take() {
            let _ = stdin.write_all(input.as_bytes());
        }
        let output = child.wait_with_output().map_err(DemoError::NoGit)?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        Err(DemoError::Git {
            step: args.first().copied().unwrap_or_default().to_owned(),
            path: self.path.to_owned(),
            complaint: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

    fn options(campaign: Campaign) -> Options {
        Options {
            campaign,
            cuda: Cuda::Pinned("13.0".to_owned()),
            arch: vec![REFERENCE_ARCH.to_owned()],
        }
    }

    #[test]
    fn the_repository_holds_the_series_and_its_rounds() -> Result {
        let dir = tempfile::tempdir()?;
        for (campaign, revert) in [
            (Campaign::Checks, "Revert \"scale_read: "),
            (Campaign::Mmq, "Revert \"mmq_wide: "),
        ] {
            let folder = dir.path().join(campaign.name()).join("new");
            let demo = create(&folder, options(campaign))?;
            let patches = campaign.patches();
            assert_eq!(demo.rounds.len(), patches.len() - 1);
            for (round, patch) in demo.rounds.iter().zip(&patches[1..]) {
                assert_eq!(round.head.as_str(), patch.commit);
            }
            for pair in demo.rounds.windows(2) {
                assert_eq!(pair[0].head, pair[1].base);
            }
            is_as_git_says(&demo)?;
            let named = std::fs::read_to_string(demo.path.join("campaign.toml"))?;
            let line = format!("name = \"{}\"", campaign.recorded_name());
            assert!(named.contains(&line), "{named}");
            assert!(demo.rounds.iter().any(|r| r.title.starts_with(revert)));
        }
        Ok(())
    }

    fn is_as_git_says(demo: &DemoRepo) -> Result {
        let repo = Repo { path: &demo.path };
        assert_eq!(
            repo.git(&["symbolic-ref", "HEAD"], "")?.trim(),
            "refs/heads/main"
        );
        assert_eq!(repo.git(&["status", "--porcelain"], "")?, "");
        for round in &demo.rounds {
            let format = ["log", "-1", "--format=%s", round.head.as_str()];
            assert_eq!(repo.git(&format, "")?.trim_end(), round.title);
        }
        Ok(())
    }

    #[test]
    fn a_folder_in_use_is_left_alone() -> Result {
        let dir = tempfile::tempdir()?;
        std::fs::write(dir.path().join("thesis.tex"), "text")?;
        let error = create(dir.path(), options(Campaign::Checks))
            .err()
            .ok_or("must be refused")?;
        assert!(matches!(error, DemoError::NotEmpty(_)));
        assert_eq!(std::fs::read_dir(dir.path())?.count(), 1);
        Ok(())
    }

    #[test]
    fn a_repository_around_it_is_not_touched() -> Result {
        let dir = tempfile::tempdir()?;
        let outer = Repo { path: dir.path() };
        outer.git(&["init", "--quiet", "--template=", "."], "")?;
        let demo = create(&dir.path().join("demo"), options(Campaign::Checks))?;
        let top = Repo { path: &demo.path }.git(&["rev-parse", "--show-toplevel"], "")?;
        assert_eq!(Path::new(top.trim()), demo.path);
        assert!(outer.git(&["rev-parse", "--verify", "HEAD"], "").is_err());
        Ok(())
    }

    #[test]
    fn what_git_says_reaches_the_user() -> Result {
        let dir = tempfile::tempdir()?;
        let repo = Repo { path: dir.path() };
        let error = repo.git(&["am"], "no mail").err().ok_or("must fail")?;
        assert!(error.to_string().contains("git am failed in"), "{error}");
        Ok(())
    }

    #[test]
    fn folded_subjects_are_joined() {
        let mail = "From x\nSubject: a long\n subject\nTo: y\n\nSubject: not this";
        assert_eq!(subject(mail), "a long subject");
    }

    #[test]
    fn the_reference_machine_is_always_built_for() {
        assert_eq!(default_arch()[0], REFERENCE_ARCH);
    }
}
