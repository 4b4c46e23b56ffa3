//! Writes one run as it goes on. Everything is committed before the call returns.

use serde_json::json;

use super::begin::commit_row;
use super::convert::{json, tag};
use super::{Records, Result, RunId, now};
use crate::model::{
    ArtifactHash, BenchPlan, BuildEvidence, ClaimEvidence, CodeEvidence, CommitInfo,
    CounterProfile, DeviceState, Fault, GateEvidence, GateOutcome, Judgement, ReferenceSample,
    RevertEvidence, Sample, Side, Stage, UnixMillis,
};

/// The writing end of one run's record.
#[derive(Debug)]
pub struct Recorder {
    records: Records,
    run: RunId,
    uuid: String,
    machine: db::MachineId,
    toolchain: Option<db::ToolchainId>,
}

/// A build to store: what was observed, and what it was made from.
#[derive(Debug)]
pub struct BuildRecord<'a> {
    /// The side it serves.
    pub side: Side,
    /// The commit it was built from.
    pub commit: &'a CommitInfo,
    /// The effective recipe, JSON.
    pub recipe_json: String,
    /// When it began.
    pub started_at: UnixMillis,
    /// The build.
    pub build: &'a BuildEvidence,
    /// What its outputs hold; `None` when the build failed.
    pub inspected: Option<&'a Inspected>,
}

/// What the outputs of a build hold.
#[derive(Debug)]
pub struct Inspected {
    /// The kernels and files.
    pub report: sass::Report,
    /// What the disassembler printed for each container; empty where the record has it already.
    pub listings: Vec<(String, ArtifactHash)>,
}

impl Recorder {
    pub(super) fn new(
        records: Records,
        run: RunId,
        uuid: String,
        machine: db::MachineId,
        toolchain: Option<db::ToolchainId>,
    ) -> Recorder {
        Recorder {
            records,
            run,
            uuid,
            machine,
            toolchain,
        }
    }

    /// The run.
    pub fn run(&self) -> RunId {
        self.run
    }

    /// The run's identity across databases; also marks its processes.
    pub fn uuid(&self) -> &str {
        &self.uuid
    }

    /// The records it belongs to.
    pub fn records(&self) -> &Records {
        &self.records
    }

    async fn event(&self, kind: &str, detail: serde_json::Value) -> Result<()> {
        let mut tx = self.begin().await?;
        append_event(&mut tx, self.run, kind, &detail).await?;
        Ok(tx.commit().await?)
    }

    /// A transaction in which everything put into the vault so far is noted.
    pub(super) async fn begin(&self) -> Result<db::Tx> {
        let mut tx = self.records.db.write().await?;
        self.records.vault.note(&mut tx, now().0).await?;
        Ok(tx)
    }

    /// Notes that a stage began.
    pub async fn stage(&self, stage: Stage, side: Option<Side>) -> Result<()> {
        self.event("stage-started", json!({ "stage": stage, "side": side }))
            .await
    }

    /// Stores what a reader should know about how the run was set up.
    pub async fn notes(&self, notes: &[String]) -> Result<()> {
        for note in notes {
            self.event("note", json!({ "text": note })).await?;
        }
        Ok(())
    }

    /// Stores a fault outside single gates and samples.
    pub async fn fault(&self, fault: &Fault) -> Result<()> {
        self.event("fault", serde_json::to_value(fault).unwrap_or_default())
            .await
    }

    /// Stores the build of a side, or notes that an earlier one serves it again.
    pub async fn build(&self, record: &BuildRecord<'_>) -> Result<()> {
        let known = match record.build.cached {
            true => self.known_build(record.build).await?,
            false => None,
        };
        let mut tx = self.begin().await?;
        let id = match known {
            Some(id) => {
                // The store may have lost what the record knows of.
                if let Some(found) = record.inspected {
                    self.put_report(&found.report)?;
                }
                id
            }
            None => self.insert_build(&mut tx, record).await?,
        };
        let row = db::RunBuild {
            side: record.side.as_str().to_owned(),
            build_id: id,
            cached: record.build.cached,
        };
        db::run_build_insert(&mut tx, self.run, &row).await?;
        Ok(tx.commit().await?)
    }

    /// The stored report on a build that was inspected before.
    pub async fn known_report(&self, build: &BuildEvidence) -> Result<Option<sass::Report>> {
        let Some(known) = self.known_build(build).await? else {
            return Ok(None);
        };
        let mut read = self.records.db.read().await?;
        let row = db::build_get(&mut read, known).await?;
        let Some(hash) = row.and_then(|row| row.report_artifact) else {
            return Ok(None);
        };
        // A report that is lost or damaged is made again.
        let Ok(text) = self.records.vault.get(&ArtifactHash(hash)) else {
            return Ok(None);
        };
        Ok(serde_json::from_slice(&text).ok())
    }

    /// The stored build that made exactly these outputs.
    async fn known_build(&self, build: &BuildEvidence) -> Result<Option<db::BuildId>> {
        let mut read = self.records.db.read().await?;
        for known in db::builds_by_key(&mut read, &build.key).await? {
            let outputs = db::outputs_by_build(&mut read, known.id).await?;
            let mut theirs: Vec<_> = outputs
                .iter()
                .map(|output| (&*output.path, &*output.artifact))
                .collect();
            let mut ours: Vec<_> = build
                .outputs
                .iter()
                .map(|output| (&*output.path, &*output.artifact.0))
                .collect();
            theirs.sort_unstable();
            ours.sort_unstable();
            if known.failure_json.is_none() && known.report_artifact.is_some() && theirs == ours {
                return Ok(Some(known.id));
            }
        }
        Ok(None)
    }

    fn put_report(&self, report: &sass::Report) -> Result<ArtifactHash> {
        self.records.vault.put_bytes(json(report).as_bytes())
    }

    async fn insert_build(&self, tx: &mut db::Tx, record: &BuildRecord<'_>) -> Result<db::BuildId> {
        let report = match record.inspected {
            Some(found) => Some(self.put_report(&found.report)?),
            None => None,
        };
        self.records.vault.note(tx, now().0).await?;
        db::commit_upsert(tx, &commit_row(record.commit, None)).await?;
        let build = record.build;
        let new = db::NewBuild {
            key: build.key.clone(),
            tree: record.commit.tree.to_string(),
            commit_sha: record.commit.sha.to_string(),
            config_json: record.recipe_json.clone(),
            toolchain_id: self.toolchain,
            machine_id: self.machine,
            started_at: record.started_at.0,
            wall_ms: i64::try_from(build.wall_ms).unwrap_or(i64::MAX),
            failure_json: build.failure.as_ref().map(json),
            first_error: build.first_error.clone(),
            log_artifact: build.log.as_ref().map(|log| log.0.clone()),
            report_artifact: report.map(|hash| hash.0),
        };
        let id = db::build_insert(tx, &new).await?;
        let outputs: Vec<db::BuildOutput> = build
            .outputs
            .iter()
            .map(|output| db::BuildOutput {
                path: output.path.clone(),
                artifact: output.artifact.0.clone(),
                bytes: i64::try_from(output.bytes).unwrap_or(i64::MAX),
                executable: output.executable,
            })
            .collect();
        db::build_outputs_insert(tx, id, &outputs).await?;
        if let Some(found) = record.inspected {
            let kernels: Vec<db::Kernel> = found.report.kernels.iter().map(kernel_row).collect();
            db::kernels_insert(tx, id, &kernels).await?;
            let listings: Vec<db::BuildListing> = found
                .listings
                .iter()
                .map(|(container, artifact)| db::BuildListing {
                    container: container.clone(),
                    artifact: artifact.0.clone(),
                })
                .collect();
            db::build_listings_insert(tx, id, &listings).await?;
        }
        Ok(id)
    }

    /// Stores the comparison of the built code. The sides' reports are stored with their builds.
    pub async fn code(&self, code: &CodeEvidence) -> Result<()> {
        let document = super::load::CodeDocument {
            delta: code.delta.clone(),
            occupancy: code.occupancy.clone(),
            runtime_files_changed: code.runtime_files_changed.clone(),
        };
        self.document("code", &document).await
    }

    /// Stores what was found about a revert.
    pub async fn revert(&self, revert: &RevertEvidence) -> Result<()> {
        self.document("revert", revert).await
    }

    /// Stores the state of the device.
    pub async fn device(&self, device: &DeviceState) -> Result<()> {
        self.document("device", device).await
    }

    pub(super) async fn document<T: serde::Serialize>(&self, name: &str, value: &T) -> Result<()> {
        let mut tx = self.begin().await?;
        db::run_document_insert(&mut tx, self.run, name, &json(value)).await?;
        Ok(tx.commit().await?)
    }

    /// Stores an evaluation of all claims; it counts from now on.
    pub async fn claims(&self, claims: &[ClaimEvidence]) -> Result<()> {
        let mut tx = self.begin().await?;
        super::counters::insert_claims(&mut tx, self.run, claims).await?;
        Ok(tx.commit().await?)
    }

    /// Stores profiles, and the claims as evaluated with them.
    pub async fn counters(
        &self,
        profiles: &[CounterProfile],
        claims: &[ClaimEvidence],
    ) -> Result<()> {
        let mut tx = self.begin().await?;
        super::counters::insert(&mut tx, self.run, profiles, claims).await?;
        Ok(tx.commit().await?)
    }

    /// Stores the gates.
    pub async fn gates(&self, gates: &[GateEvidence]) -> Result<()> {
        let mut tx = self.begin().await?;
        for gate in gates {
            db::gate_append(&mut tx, self.run, &gate_row(gate)).await?;
        }
        Ok(tx.commit().await?)
    }

    /// Stores how a bench's samples are taken.
    pub async fn plan(&self, bench: &str, plan: &BenchPlan) -> Result<()> {
        let mut tx = self.begin().await?;
        let row = db::BenchPlan {
            bench: bench.to_owned(),
            inner: plan.inner,
            json: json(plan),
        };
        db::bench_plan_insert(&mut tx, self.run, &row).await?;
        Ok(tx.commit().await?)
    }

    /// Stores one sample.
    pub async fn sample(&self, sample: &Sample) -> Result<()> {
        let mut tx = self.begin().await?;
        let row = db::Sample {
            bench: sample.bench.clone(),
            side: sample.side.as_str().to_owned(),
            role: tag(&sample.role, ""),
            pair: sample.pair,
            slot: sample.slot,
            attempt: sample.attempt,
            started_at: sample.started_at.0,
            wall_ms: sample.wall_ms,
            answer_ms: sample.answer_ms,
            value: sample.value,
            inner_json: json(&sample.inner),
            failure_json: sample.failure.as_ref().map(json),
            log_artifact: sample.log.as_ref().map(|log| log.0.clone()),
        };
        let seq = db::sample_append(&mut tx, self.run, &row).await?;
        if !sample.facts.is_empty() {
            db::sample_facts_insert(&mut tx, self.run, seq, &json(&sample.facts)).await?;
        }
        if let Some(state) = &sample.state {
            db::sample_state_insert(&mut tx, self.run, seq, &json(state)).await?;
        }
        Ok(tx.commit().await?)
    }
}

impl crate::measure::Recorder for Recorder {
    async fn log(&mut self, bytes: Vec<u8>) -> anyhow::Result<ArtifactHash> {
        Ok(self.records.vault.put_bytes(&bytes)?)
    }

    async fn sample(&mut self, sample: &Sample) -> anyhow::Result<()> {
        Ok(Recorder::sample(self, sample).await?)
    }

    async fn plan(&mut self, bench: &str, plan: &BenchPlan) -> anyhow::Result<()> {
        Ok(Recorder::plan(self, bench, plan).await?)
    }

    async fn reference(&mut self, sample: &ReferenceSample) -> anyhow::Result<()> {
        Ok(Recorder::reference(self, sample).await?)
    }

    fn now(&self) -> UnixMillis {
        now()
    }
}

impl Records {
    /// Adds a judgement to a run; it counts from now on.
    pub async fn judgement_add(
        &self,
        run: RunId,
        judgement: &Judgement,
        reason: &str,
    ) -> Result<()> {
        let mut tx = self.db.write().await?;
        let new = db::NewJudgement {
            at: now().0,
            verdict: judgement.verdict.word().to_owned(),
            headline: judgement.headline.clone(),
            json: json(judgement),
            judge_version: env!("CARGO_PKG_VERSION").to_owned(),
            reason: reason.to_owned(),
        };
        db::judgement_insert(&mut tx, run, &new).await?;
        Ok(tx.commit().await?)
    }

    /// Closes a run that was cut short.
    pub async fn mark_interrupted(&self, run: RunId, reason: &str) -> Result<()> {
        self.close(run, db::EVENT_INTERRUPTED, &json!({ "reason": reason }))
            .await
    }

    /// Closes a run that came to its end.
    pub async fn end(&self, run: RunId) -> Result<()> {
        self.close(run, db::EVENT_ENDED, &json!({})).await
    }

    async fn close(&self, run: RunId, kind: &str, detail: &serde_json::Value) -> Result<()> {
        let mut tx = self.db.write().await?;
        append_event(&mut tx, run, kind, detail).await?;
        Ok(tx.commit().await?)
    }

    /// The runs that are in progress, or were killed and not noticed yet.
    pub async fn open_runs(&self) -> Result<Vec<db::Run>> {
        let mut read = self.db.read().await?;
        Ok(db::runs_open(&mut read).await?)
    }

    /// How many samples a run has.
    pub async fn sample_count(&self, run: RunId) -> Result<usize> {
        let mut read = self.db.read().await?;
        Ok(db::samples_by_run(&mut read, run).await?.len())
    }

    /// Whether the store holds a pack of this commit.
    pub async fn has_pack(&self, commit: &CommitInfo) -> Result<bool> {
        let mut read = self.db.read().await?;
        let known = db::commit_get(&mut read, commit.sha.as_str()).await?;
        let Some(pack) = known.and_then(|row| row.pack_artifact) else {
            return Ok(false);
        };
        Ok(self.vault.store().contains(&pack)?)
    }
}

async fn append_event(
    conn: &mut db::Conn,
    run: RunId,
    kind: &str,
    detail: &serde_json::Value,
) -> Result<()> {
    let event = db::RunEvent {
        at: now().0,
        kind: kind.to_owned(),
        detail_json: detail.to_string(),
    };
    db::run_event_append(conn, run, &event).await?;
    Ok(())
}

fn gate_row(gate: &GateEvidence) -> db::Gate {
    let reason = match &gate.outcome {
        GateOutcome::Passed => None,
        GateOutcome::Flaky { first } => Some(first.clone()),
        GateOutcome::Failed { reason }
        | GateOutcome::NoData { reason }
        | GateOutcome::NotRun { reason } => Some(reason.clone()),
    };
    db::Gate {
        kind: tag(&gate.kind, ""),
        name: gate.name.clone(),
        side: gate.side.map(|side| side.as_str().to_owned()),
        outcome: tag(&gate.outcome, "outcome"),
        reason,
        figures_json: json(&gate.figures),
        failure_json: gate.failure.as_ref().map(json),
        logs: gate.logs.iter().map(|log| log.0.clone()).collect(),
    }
}

fn kernel_row(kernel: &sass::Kernel) -> db::Kernel {
    let ledger = &kernel.ledger;
    db::Kernel {
        name: kernel.name.clone(),
        symbol: kernel.symbol.clone(),
        arch: kernel.arch.clone(),
        container: kernel.container.clone(),
        code_hash: kernel.code_hash.clone(),
        registers: ledger.registers,
        spill_stores: ledger.spill_stores,
        spill_loads: ledger.spill_loads,
        stack_bytes: ledger.stack_bytes,
        static_smem: ledger.static_smem,
        barriers: ledger.barriers,
        max_threads: ledger.max_threads,
        required_threads: ledger.required_threads.as_ref().map(json),
        param_bytes: ledger.param_bytes,
        code_bytes: i64::try_from(ledger.code_bytes).unwrap_or(i64::MAX),
        census_json: kernel.census.as_ref().map(json),
    }
}
