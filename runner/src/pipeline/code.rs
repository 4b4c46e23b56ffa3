//! The stages that need no device: building, inspecting, comparing, claims.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::stages::Stages;
use crate::build::{BuildError, Workbench};
use crate::claims::CounterFacts;
use crate::inspect;
use crate::model::{BuildEvidence, CommitInfo, PerSide, RevertEvidence, Sha, Side, Stage};
use crate::record::{BuildRecord, Inspected, now};
use crate::toolchain::Toolchain;

impl Stages<'_> {
    /// Builds and inspects base, then head; `None` when a side has no code to compare.
    pub(super) async fn build_both(
        &mut self,
        bench: &mut Workbench,
        toolchain: &Toolchain,
    ) -> anyhow::Result<Option<PerSide<sass::Report>>> {
        let mut reports = PerSide::default();
        for side in Side::BOTH {
            let report = self.build(bench, toolchain, side).await?;
            *reports.get_mut(side) = report;
            if !self.evidence.faults.is_empty() {
                return Ok(None);
            }
        }
        match (reports.base, reports.head) {
            (Some(base), Some(head)) => Ok(Some(PerSide { base, head })),
            _ => Ok(None),
        }
    }

    async fn build(
        &mut self,
        bench: &mut Workbench,
        toolchain: &Toolchain,
        side: Side,
    ) -> anyhow::Result<Option<sass::Report>> {
        self.begin(Stage::Build, Some(side)).await?;
        let prepared = self.prepared;
        let commit = prepared.commits.get(side);
        let started_at = now();
        let source = prepared.recipes.get(side).source(commit);
        let built = match self.stored(bench, side, &source).await? {
            Some(stored) => self.restore(bench, side, &stored).await,
            None => {
                let vault = Arc::clone(self.recorder.records().vault());
                bench.build(side, &source, &*vault, self.progress).await
            }
        };
        let build = match built {
            Ok(build) => build,
            Err(error) => {
                self.end(Stage::Build, Some(side), error.to_string(), false);
                let failure = error.failure();
                self.fault(Stage::Build, Some(side), Some(failure), &error.into())
                    .await?;
                return Ok(None);
            }
        };
        let (summary, ok) = build_summary(&build);
        self.end(Stage::Build, Some(side), summary, ok);
        let inspected = self.inspect(bench, toolchain, side, &build).await?;
        let recipe = prepared.recipes.get(side);
        let record = BuildRecord {
            side,
            commit,
            recipe_json: serde_json::to_string(recipe)?,
            started_at,
            build: &build,
            inspected: inspected.as_ref(),
        };
        self.recorder.build(&record).await?;
        *self.evidence.builds.get_mut(side) = Some(build);
        Ok(inspected.map(|inspected| inspected.report))
    }

    async fn restore(
        &self,
        bench: &mut Workbench,
        side: Side,
        stored: &BuildEvidence,
    ) -> Result<BuildEvidence, BuildError> {
        let vault = Arc::clone(self.recorder.records().vault());
        let commit = self.prepared.commits.get(side);
        bench.restore(side, commit, stored, &*vault).await?;
        Ok(BuildEvidence {
            cached: true,
            ..stored.clone()
        })
    }

    /// What a built side's outputs hold: from the record where the same build was inspected
    /// before, else by reading them.
    async fn inspect(
        &mut self,
        bench: &Workbench,
        toolchain: &Toolchain,
        side: Side,
        build: &BuildEvidence,
    ) -> anyhow::Result<Option<Inspected>> {
        if build.failure.is_some() {
            return Ok(None);
        }
        if build.cached
            && let Some(report) = self.recorder.known_report(build).await?
        {
            let listings = Vec::new();
            return Ok(Some(Inspected { report, listings }));
        }
        self.begin(Stage::Inspect, Some(side)).await?;
        match self.inspect_and_keep(bench, toolchain, side).await {
            Ok(inspected) => {
                let report = &inspected.report;
                let summary = match report.kernels.len() {
                    1 => "1 kernel".to_owned(),
                    n => format!("{n} kernels"),
                };
                self.end(Stage::Inspect, Some(side), summary, true);
                Ok(Some(inspected))
            }
            Err(error) => {
                self.end(Stage::Inspect, Some(side), error.to_string(), false);
                self.fault(Stage::Inspect, Some(side), None, &error).await?;
                Ok(None)
            }
        }
    }

    /// Reads a side's built files, and stores what the disassembler printed.
    async fn inspect_and_keep(
        &self,
        bench: &Workbench,
        toolchain: &Toolchain,
        side: Side,
    ) -> anyhow::Result<Inspected> {
        let commit = self.prepared.commits.get(side);
        let folder = tempfile::tempdir()?;
        let files = bench.files(side);
        let kept = Some(folder.path());
        let report = inspect_files(bench, toolchain, commit, files, kept).await?;
        let mut listings = std::collections::BTreeMap::new();
        for kernel in &report.kernels {
            let file = folder.path().join(sass::listing_file(&kernel.container));
            if file.is_file() && !listings.contains_key(&kernel.container) {
                let hash = self.recorder.records().vault().put_file(&file)?;
                listings.insert(kernel.container.clone(), hash);
            }
        }
        let listings = listings.into_iter().collect();
        Ok(Inspected { report, listings })
    }

    /// Compares the sides' code and the files that commands read.
    pub(super) async fn compare(&mut self, reports: PerSide<sass::Report>) -> anyhow::Result<()> {
        let prepared = self.prepared;
        let commits = &prepared.commits;
        let changed = prepared
            .repository
            .tree_diff(&commits.base.sha, &commits.head.sha)
            .await?;
        let read = super::runtime::changed(&prepared.config, &changed);
        let code = inspect::compare(reports, &prepared.config.kernels, read)?;
        self.recorder.code(&code).await?;
        self.evidence.code = Some(code);
        Ok(())
    }

    /// Where head reverts an earlier commit: whether its code equals the state before that one.
    pub(super) async fn look_at_revert(
        &mut self,
        bench: &mut Workbench,
        toolchain: &Toolchain,
    ) -> anyhow::Result<()> {
        let repository = &self.prepared.repository;
        let Some(reverts) = repository.reverted(&self.prepared.commits.head).await? else {
            return Ok(());
        };
        let mut revert = RevertEvidence {
            reverts: reverts.clone(),
            before: None,
            equal: None,
            detail: Vec::new(),
        };
        match self.state_before(bench, toolchain, &reverts).await {
            Ok((before, report)) => {
                let head = &self.prepared.commits.head.sha;
                let changed = repository.tree_diff(&before, head).await?;
                let read = super::runtime::changed(&self.prepared.config, &changed);
                if let Some(code) = &self.evidence.code {
                    let delta = sass::diff(&report, &code.reports.head);
                    revert.equal = Some(delta.is_identical() && read.is_empty());
                    revert.detail = inspect::differences(&delta);
                    let files = read.iter().map(|file| format!("{file} differs"));
                    revert.detail.extend(files);
                }
                revert.before = Some(before);
            }
            Err(error) => revert.detail = vec![format!("{error:#}")],
        }
        self.recorder.revert(&revert).await?;
        self.evidence.revert = Some(revert);
        Ok(())
    }

    async fn state_before(
        &mut self,
        bench: &mut Workbench,
        toolchain: &Toolchain,
        reverts: &Sha,
    ) -> anyhow::Result<(Sha, sass::Report)> {
        let repository = &self.prepared.repository;
        let experiment = repository.commit_info(reverts).await?;
        let parent = experiment.parent.ok_or_else(|| {
            anyhow::anyhow!("the reverted commit {} has no parent", reverts.short())
        })?;
        let before = repository.commit_info(&parent).await?;
        let recipe =
            super::prepare::recipe_of(repository, &parent, &self.prepared.recipes.head).await?;
        let vault = Arc::clone(self.recorder.records().vault());
        let (build, files) = bench
            .build_aside(&recipe.source(&before), &*vault, self.progress)
            .await?;
        if let Some(failure) = &build.failure {
            let words = crate::judge::failure_words(failure);
            anyhow::bail!(
                "the state before the experiment, {}, does not build: {words}",
                parent.short()
            );
        }
        let report = inspect_files(bench, toolchain, &before, files, None).await?;
        Ok((parent, report))
    }

    /// Evaluates the claims on the compiled code; those on counters stay open until these are
    /// taken.
    pub(super) async fn evaluate_claims(&mut self) -> anyhow::Result<()> {
        let counters = super::counters::before_taking(&self.evidence);
        let facts = match &counters {
            Ok(()) => CounterFacts::Pending,
            Err(why) => CounterFacts::Unavailable(why),
        };
        let claims = super::counters::evaluated(&self.evidence, facts)?;
        self.recorder.claims(&claims).await?;
        self.evidence.claims = claims;
        Ok(())
    }
}

async fn inspect_files(
    bench: &Workbench,
    toolchain: &Toolchain,
    commit: &CommitInfo,
    files: Vec<(String, PathBuf)>,
    listings: Option<&Path>,
) -> anyhow::Result<sass::Report> {
    let mask = sass::HostMask {
        paths: vec![bench.slot_path().to_string_lossy().into_owned()],
        commits: vec![commit.sha.to_string()],
    };
    let inputs = files
        .into_iter()
        .map(|(name, path)| sass::InspectInput { path, name })
        .collect();
    let options = sass::Options {
        nvdisasm: toolchain.nvdisasm.clone(),
        listings: listings.map(Path::to_owned),
        mask,
    };
    Ok(inspect::inspect(inputs, options).await?)
}

fn build_summary(build: &BuildEvidence) -> (String, bool) {
    match &build.failure {
        None if build.cached => ("cached".to_owned(), true),
        None => ("built".to_owned(), true),
        Some(failure) => (crate::judge::failure_words(failure), false),
    }
}
