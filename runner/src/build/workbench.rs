//! Builds sides in the slot and keeps them ready to be launched.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::key::key;
use super::log::{first_error, machine_failure};
use super::outputs::{collect, unchanged};
use super::slot::{BuildRecord, Slot};
use super::{ArtifactSink, BuildError};
use crate::config::{Build, CommandLine, Config};
use crate::git::{CheckedOut, GitError, Repository};
use crate::machine::Holder;
use crate::model::{BuildEvidence, CommitInfo, PerSide, Side};
use crate::process::{self, EnvPlan, Finished, PrivateDir, Spec};
use crate::progress::Progress;
use crate::toolchain::Toolchain;

/// What a workbench needs.
#[derive(Debug, Clone)]
pub struct WorkbenchPlan {
    /// The repository.
    pub repository: Repository,
    /// The effective config.
    pub config: Config,
    /// The toolchain.
    pub toolchain: Toolchain,
    /// The runner's cache folder.
    pub cache: PathBuf,
    /// The run; every process it starts is marked with it.
    pub run_id: String,
    /// The program that `runner` stands for in commands: the running one.
    pub runner_exe: PathBuf,
    /// What commands see as `CUDA_VISIBLE_DEVICES`; the runner's own without it.
    pub visible_devices: Option<String>,
    /// What the run does, for whoever finds the slot taken.
    pub what: String,
    /// Build also what is in the cache.
    pub rebuild: bool,
}

/// What a side is built from.
#[derive(Debug, Clone, Copy)]
pub struct BuildSource<'a> {
    /// The commit.
    pub commit: &'a CommitInfo,
    /// The side's own recipe.
    pub recipe: &'a Build,
    /// The side's own architectures; builds see them as `CUDA_ARCH`, blank-separated.
    pub arch: &'a [String],
}

/// A side that is ready.
#[derive(Debug, Clone)]
pub(super) struct Ready {
    pub key: String,
    pub record: BuildRecord,
}

/// The slot with the sides that have been built. See the module above.
#[derive(Debug)]
pub struct Workbench {
    pub(super) plan: WorkbenchPlan,
    pub(super) slot: Slot,
    pub(super) sides: PerSide<Option<Ready>>,
    pub(super) session: Option<(Side, Arc<AtomicBool>)>,
}

impl Workbench {
    /// Takes the slot of this campaign and repository; repairs what a crash left in it.
    pub fn open(plan: WorkbenchPlan) -> Result<Workbench, BuildError> {
        let slot = Slot::open(
            &plan.cache,
            &plan.config.campaign.name,
            plan.repository.git_dir(),
            &Holder::this_process(&plan.run_id, &plan.what),
        )?;
        super::room(&plan.cache, plan.config.limits.free_disk_bytes)?;
        Ok(Workbench {
            plan,
            slot,
            sides: PerSide {
                base: None,
                head: None,
            },
            session: None,
        })
    }

    /// Builds a commit for a side, or finds it built. A build command that fails is evidence,
    /// not an error.
    pub async fn build(
        &mut self,
        side: Side,
        source: &BuildSource<'_>,
        sink: &dyn ArtifactSink,
        progress: &Progress,
    ) -> Result<BuildEvidence, BuildError> {
        let (evidence, ready) = self.build_commit(source, sink, progress).await?;
        *self.sides.get_mut(side) = ready;
        Ok(evidence)
    }

    /// Builds a commit that is neither side: the state before an experiment that head reverts.
    /// Gives the files with their present places, until the next call.
    pub async fn build_aside(
        &mut self,
        source: &BuildSource<'_>,
        sink: &dyn ArtifactSink,
        progress: &Progress,
    ) -> Result<(BuildEvidence, Vec<(String, PathBuf)>), BuildError> {
        let (evidence, ready) = self.build_commit(source, sink, progress).await?;
        let files = ready.map(|ready| self.files_of(&ready)).unwrap_or_default();
        Ok((evidence, files))
    }

    /// The built files of a side: path in the worktree, and where the file is now. Launching
    /// the other side moves them.
    pub fn files(&self, side: Side) -> Vec<(String, PathBuf)> {
        self.sides
            .get(side)
            .as_ref()
            .map(|ready| self.files_of(ready))
            .unwrap_or_default()
    }

    /// The worktree of a side, where it is now.
    pub fn tree(&self, side: Side) -> Option<PathBuf> {
        let ready = self.sides.get(side).as_ref()?;
        Some(self.slot.place(&ready.key))
    }

    /// The path at which both sides are built and run.
    pub fn slot_path(&self) -> PathBuf {
        self.slot.tree()
    }

    /// The folder of the toolchain's programs.
    pub fn toolchain_bin(&self) -> Option<&Path> {
        self.plan.toolchain.bin.as_deref()
    }

    /// What was checked out for a side: asserted when it was, and kept with a cached build.
    pub fn checked_out(&self, side: Side) -> Option<&CheckedOut> {
        Some(&self.sides.get(side).as_ref()?.record.checked_out)
    }

    /// The environment that commands get, with `extra` of their own.
    pub fn environment(&self, extra: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        let private = PrivateDir::at(&self.slot.private());
        self.environment_in(&private, extra)
    }

    fn environment_in(
        &self,
        private: &PrivateDir,
        extra: &BTreeMap<String, String>,
    ) -> BTreeMap<String, String> {
        let mut additions = self.plan.toolchain.env.clone();
        if let Some(devices) = &self.plan.visible_devices {
            additions.insert("CUDA_VISIBLE_DEVICES".to_owned(), devices.clone());
        }
        process::effective_env(&EnvPlan {
            run_id: &self.plan.run_id,
            private,
            path_first: self.plan.toolchain.bin.as_slice(),
            additions: &additions,
            config: &self.plan.config.environment,
            extra,
        })
    }

    fn build_environment(&self, source: &BuildSource<'_>) -> BTreeMap<String, String> {
        let mut extra = BTreeMap::from([("CUDA_ARCH".to_owned(), source.arch.join(" "))]);
        extra.extend(source.recipe.env.clone());
        self.environment(&extra)
    }

    fn files_of(&self, ready: &Ready) -> Vec<(String, PathBuf)> {
        let tree = self.slot.place(&ready.key);
        let outputs = ready.record.outputs.iter();
        outputs
            .map(|output| (output.path.clone(), tree.join(&output.path)))
            .collect()
    }

    /// The key under which a commit's build is kept.
    pub fn key_of(&self, source: &BuildSource<'_>) -> String {
        let env = self.build_environment(source);
        let toolchain = &self.plan.toolchain.fingerprint.fingerprint;
        key(source, &self.plan.config.environment, toolchain, &env)
    }

    /// Whether the build under a key is at hand, whole and unchanged.
    pub fn is_built(&self, key: &str) -> bool {
        let record = self.slot.record(key);
        record.is_some_and(|record| unchanged(&self.slot.place(key), &record))
    }

    async fn build_commit(
        &mut self,
        source: &BuildSource<'_>,
        sink: &dyn ArtifactSink,
        progress: &Progress,
    ) -> Result<(BuildEvidence, Option<Ready>), BuildError> {
        let BuildSource { commit, recipe, .. } = *source;
        let env = self.build_environment(source);
        let key = self.key_of(source);
        if let Some(record) = self.cached(&key, sink)? {
            self.slot.touch(&key);
            let evidence = evidence_of(&key, &record, true);
            return Ok((evidence, Some(Ready { key, record })));
        }
        progress.note(format!("checking out {}", commit.sha.short()));
        let checked_out = self.fresh_tree(&key, commit).await?;
        self.slot.bring_in(&key)?;
        let finished = self.run_recipe(recipe, env).await?;
        let log_text = log_text(&recipe.command, &finished);
        let log = sink
            .put_bytes(log_text.as_bytes())
            .map_err(BuildError::io("store the log of", &self.slot.tree()))?;
        let wall_ms = u64::try_from(finished.wall.as_millis()).unwrap_or(u64::MAX);
        let outcome = match finished.failure {
            Some(failure) => Err(machine_failure(&log_text).unwrap_or(failure)),
            None => collect(&self.slot.tree(), &recipe.outputs, sink)?,
        };
        match outcome {
            Ok(collected) => {
                let record = BuildRecord {
                    checked_out,
                    wall_ms,
                    outputs: collected.files,
                    changed_ns: collected.changed_ns,
                    log,
                };
                self.slot.finish(&key, &record)?;
                let evidence = evidence_of(&key, &record, false);
                Ok((evidence, Some(Ready { key, record })))
            }
            Err(failure) => {
                self.slot.discard(&key)?;
                let first_error = first_error(&log_text);
                let evidence = BuildEvidence {
                    key,
                    cached: false,
                    wall_ms,
                    failure: Some(failure),
                    first_error,
                    outputs: Vec::new(),
                    log: Some(log),
                };
                Ok((evidence, None))
            }
        }
    }

    /// A build under this key that is whole and unchanged, with its artefacts in the store.
    fn cached(
        &self,
        key: &str,
        sink: &dyn ArtifactSink,
    ) -> Result<Option<BuildRecord>, BuildError> {
        if self.plan.rebuild {
            return Ok(None);
        }
        let Some(record) = self.slot.record(key) else {
            return Ok(None);
        };
        let tree = self.slot.place(key);
        if !unchanged(&tree, &record) {
            return Ok(None);
        }
        for output in &record.outputs {
            let file = tree.join(&output.path);
            let fail = BuildError::io("store", &file);
            let stored = match sink.contains(&output.artifact) {
                Ok(true) => Ok(output.artifact.clone()),
                Ok(false) => sink.put_file(&file),
                Err(error) => Err(error),
            };
            if stored.map_err(fail)? != output.artifact {
                return Ok(None);
            }
        }
        Ok(Some(record))
    }

    /// Checks a commit out under a key, in place of what is there.
    pub(super) async fn fresh_tree(
        &mut self,
        key: &str,
        commit: &CommitInfo,
    ) -> Result<CheckedOut, BuildError> {
        self.slot.discard(key)?;
        let tree = self.slot.parked(key);
        let fail = |source| BuildError::Checkout {
            commit: commit.sha.short().to_owned(),
            source,
        };
        let found = self
            .plan
            .repository
            .checkout(&commit.sha, &tree)
            .await
            .map_err(fail)?;
        if found.tree == commit.tree {
            return Ok(found);
        }
        let wrong = GitError::WrongCheckout {
            wanted: commit.tree.to_string(),
            found: found.tree.to_string(),
            path: tree,
        };
        self.slot.discard(key)?;
        Err(fail(wrong))
    }

    async fn run_recipe(
        &self,
        build: &Build,
        env: BTreeMap<String, String>,
    ) -> Result<Finished, BuildError> {
        let private = self.slot.private();
        PrivateDir::fresh(&private, &self.plan.runner_exe)
            .map_err(BuildError::io("prepare", &private))?;
        Ok(process::run(&Spec {
            command: build.command.clone(),
            cwd: self.slot.tree().join(&build.directory),
            env,
            timeout: Duration::from_secs(build.timeout_s),
            output_limit: self.plan.config.limits.output_bytes,
        })
        .await)
    }
}

fn evidence_of(key: &str, record: &BuildRecord, cached: bool) -> BuildEvidence {
    BuildEvidence {
        key: key.to_owned(),
        cached,
        wall_ms: record.wall_ms,
        failure: None,
        first_error: None,
        outputs: record.outputs.clone(),
        log: Some(record.log.clone()),
    }
}

fn log_text(command: &CommandLine, finished: &Finished) -> String {
    let command = match command {
        CommandLine::Shell(script) => script.clone(),
        CommandLine::Argv(words) => words.join(" "),
    };
    let end = match &finished.failure {
        None => "succeeded".to_owned(),
        Some(failure) => format!("failed: {failure:?}"),
    };
    format!(
        "$ {command}\n{}{}\n[{end} after {:.1} s]\n",
        String::from_utf8_lossy(&finished.stdout),
        String::from_utf8_lossy(&finished.stderr),
        finished.wall.as_secs_f64(),
    )
}
