//! From rows and artefacts back to a run's evidence.

use serde::{Deserialize, Serialize};

use super::convert::parse;
use super::{RecordError, Records, Result, RunId};
use crate::model::{
    ArtifactHash, BenchEvidence, BuildEvidence, ClaimEvidence, ClaimOutcome, CodeEvidence,
    CommitInfo, Decision, DecisionAction, DeviceState, Evidence, Facts, GateEvidence, GateOutcome,
    Judgement, KernelOccupancy, OutputFile, PastEstimate, PerSide, Sample, Sha, Side, UnixMillis,
};

/// How many earlier windows of a bench are looked at.
const HISTORY: u32 = 50;

/// A run with everything that is known about it.
#[derive(Debug, Clone)]
pub struct StoredRun {
    /// The run's row.
    pub row: db::Run,
    /// What was observed.
    pub evidence: Evidence,
    /// The newest judgement; `None` when it was never judged.
    pub judgement: Option<Judgement>,
    /// Corrections, oldest first.
    pub corrections: Vec<db::Correction>,
    /// From which bundles it came, oldest first; none for a run that was measured here.
    pub imports: Vec<db::bundle::Import>,
    /// The uuid of the run that it repeats, where that one is not here.
    pub absent_original: Option<String>,
    /// The machine.
    pub machine: serde_json::Value,
    /// The toolchain; null for a campaign without one.
    pub toolchain: serde_json::Value,
    /// The run that it was declared to confirm.
    pub confirms: Option<RunId>,
    /// The sides' recipes, as stored with their builds.
    pub recipes: PerSide<Option<String>>,
}

impl StoredRun {
    /// What head's outputs hold.
    pub fn head_report(&self) -> Option<&sass::Report> {
        self.evidence.code.as_ref().map(|code| &code.reports.head)
    }
}

/// The part of the code comparison that is stored with the run; reports are with the builds.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CodeDocument {
    pub(super) delta: sass::Delta,
    pub(super) occupancy: Vec<KernelOccupancy>,
    pub(super) runtime_files_changed: Vec<String>,
}

/// A side's build with what belongs to it.
struct LoadedBuild {
    evidence: BuildEvidence,
    report: Option<sass::Report>,
    recipe: String,
}

impl Records {
    /// Loads a run.
    pub async fn load(&self, id: RunId) -> Result<StoredRun> {
        let mut read = self.db.read().await?;
        self.load_from(&mut read, id).await
    }

    /// Loads a run as a connection sees it: inside a transaction, for example.
    pub(crate) async fn load_from(&self, conn: &mut db::Conn, id: RunId) -> Result<StoredRun> {
        let row = db::run_get(conn, id)
            .await?
            .ok_or(RecordError::NoSuchRun(id))?;
        let base = self.load_build(conn, &row, Side::Base).await?;
        let head = self.load_build(conn, &row, Side::Head).await?;
        let code = load_code(conn, id, base.as_ref(), head.as_ref()).await?;
        let base_key = base.as_ref().map(|build| build.evidence.key.clone());
        let evidence = Evidence {
            config: parse(id, "config", &row.config_json)?,
            registration: parse(id, "registration", &row.registration_json)?,
            commits: PerSide {
                base: load_commit(conn, id, &row.base_sha).await?,
                head: load_commit(conn, id, &row.head_sha).await?,
            },
            code,
            revert: document(conn, id, "revert").await?,
            gates: load_gates(conn, id).await?,
            claims: load_claims(conn, id).await?,
            references: super::references::load(conn, &row).await?,
            counters: super::counters::load(conn, id).await?,
            device: document(conn, id, "device")
                .await?
                .unwrap_or_else(unknown_device),
            benches: load_benches(conn, &row, base_key.as_deref()).await?,
            window: super::window::load(conn, &row).await?,
            faults: super::events::faults(conn, id).await?,
            notes: super::events::notes(conn, id).await?,
            interrupted: row.state == db::RunState::Interrupted,
            decision: load_decision(conn, id).await?,
            builds: PerSide {
                base: base.as_ref().map(|build| build.evidence.clone()),
                head: head.as_ref().map(|build| build.evidence.clone()),
            },
        };
        let judgement = match db::judgements_by_run(conn, id).await?.into_iter().next() {
            Some(stored) => Some(parse(id, "judgement", &stored.json)?),
            None => None,
        };
        let machine = db::machine_get(conn, row.machine_id).await?;
        let toolchain = match row.toolchain_id {
            Some(toolchain) => db::toolchain_get(conn, toolchain).await?,
            None => None,
        };
        let described = |stored: Option<db::Fingerprinted>| {
            stored
                .and_then(|s| serde_json::from_str(&s.json).ok())
                .unwrap_or_default()
        };
        let confirms = db::confirmation_get(conn, id).await?.map(|c| c.confirms);
        Ok(StoredRun {
            confirms,
            corrections: db::corrections_by_run(conn, id).await?,
            imports: db::bundle::imports_by_run(conn, id).await?,
            absent_original: db::bundle::absent_original(conn, id).await?,
            machine: described(machine),
            toolchain: described(toolchain),
            recipes: PerSide {
                base: base.map(|build| build.recipe),
                head: head.map(|build| build.recipe),
            },
            row,
            evidence,
            judgement,
        })
    }

    /// The packs from which a commit can be restored, in the order in which they must be: those
    /// that its own leaves out first. Empty where the record does not hold it.
    pub async fn packs_of(&self, sha: &Sha) -> Result<Vec<(Sha, ArtifactHash)>> {
        let mut read = self.db.read().await?;
        let mut chain = Vec::new();
        let mut next = Some(sha.to_string());
        while let Some(name) = next {
            let Some(row) = db::commit_get(&mut read, &name).await? else {
                return Ok(Vec::new());
            };
            let (Some(pack), Ok(sha)) = (row.pack_artifact, row.sha.parse()) else {
                return Ok(Vec::new());
            };
            if chain.iter().any(|(known, _)| *known == sha) {
                return Ok(Vec::new());
            }
            chain.push((sha, ArtifactHash(pack)));
            next = row.pack_base;
        }
        chain.reverse();
        Ok(chain)
    }

    async fn load_build(
        &self,
        conn: &mut db::Conn,
        run: &db::Run,
        side: Side,
    ) -> Result<Option<LoadedBuild>> {
        let builds = db::builds_by_run(conn, run.id).await?;
        let Some(link) = builds.into_iter().find(|build| build.side == side.as_str()) else {
            return Ok(None);
        };
        let Some(build) = db::build_get(conn, link.build_id).await? else {
            return Ok(None);
        };
        let outputs = db::outputs_by_build(conn, build.id).await?;
        let evidence = build_evidence(run.id, &build, outputs, link.cached)?;
        let report = match build.report_artifact {
            Some(hash) => {
                let text = self.vault.get(&ArtifactHash(hash))?;
                let report =
                    serde_json::from_slice(&text).map_err(|error| RecordError::Unreadable {
                        run: run.id,
                        what: "inspection report",
                        detail: error.to_string(),
                    })?;
                Some(report)
            }
            None => None,
        };
        Ok(Some(LoadedBuild {
            evidence,
            report,
            recipe: build.config_json,
        }))
    }
}

pub(super) fn build_evidence(
    run: RunId,
    build: &db::Build,
    outputs: Vec<db::BuildOutput>,
    cached: bool,
) -> Result<BuildEvidence> {
    let failure = match &build.failure_json {
        Some(text) => Some(parse(run, "build failure", text)?),
        None => None,
    };
    Ok(BuildEvidence {
        key: build.key.clone(),
        cached,
        wall_ms: u64::try_from(build.wall_ms).unwrap_or(0),
        failure,
        first_error: build.first_error.clone(),
        outputs: outputs
            .into_iter()
            .map(|output| OutputFile {
                path: output.path,
                artifact: ArtifactHash(output.artifact),
                bytes: u64::try_from(output.bytes).unwrap_or(0),
                executable: output.executable,
            })
            .collect(),
        log: build.log_artifact.clone().map(ArtifactHash),
    })
}

fn unknown_device() -> DeviceState {
    DeviceState::Absent {
        reason: "the run ended before a device was looked for".to_owned(),
    }
}

pub(super) async fn document<T: serde::de::DeserializeOwned>(
    conn: &mut db::Conn,
    run: RunId,
    name: &'static str,
) -> Result<Option<T>> {
    match db::run_document_get(conn, run, name).await? {
        Some(text) => Ok(Some(parse(run, name, &text)?)),
        None => Ok(None),
    }
}

async fn load_code(
    conn: &mut db::Conn,
    run: RunId,
    base: Option<&LoadedBuild>,
    head: Option<&LoadedBuild>,
) -> Result<Option<CodeEvidence>> {
    let Some(document) = document::<CodeDocument>(conn, run, "code").await? else {
        return Ok(None);
    };
    let report = |build: Option<&LoadedBuild>| build.and_then(|b| b.report.clone());
    let (Some(base), Some(head)) = (report(base), report(head)) else {
        return Ok(None);
    };
    Ok(Some(CodeEvidence {
        reports: PerSide { base, head },
        delta: document.delta,
        occupancy: document.occupancy,
        runtime_files_changed: document.runtime_files_changed,
    }))
}

async fn load_commit(conn: &mut db::Conn, run: RunId, sha: &str) -> Result<CommitInfo> {
    let broken = |detail: String| RecordError::Unreadable {
        run,
        what: "commit",
        detail,
    };
    let row = db::commit_get(conn, sha)
        .await?
        .ok_or_else(|| broken(format!("{sha} has no row")))?;
    let parse_sha = |text: &str| {
        text.parse()
            .map_err(|e: crate::model::NotASha| broken(e.to_string()))
    };
    Ok(CommitInfo {
        sha: parse_sha(&row.sha)?,
        tree: parse_sha(&row.tree)?,
        patch_id: row.patch_id,
        parent: row.parent.as_deref().map(parse_sha).transpose()?,
        subject: row.subject,
        message: row.message,
        author: row.author,
        committed_at: UnixMillis(row.committed_at),
    })
}

async fn load_gates(conn: &mut db::Conn, run: RunId) -> Result<Vec<GateEvidence>> {
    let rows = db::gates_by_run(conn, run).await?;
    rows.into_iter().map(|row| gate(run, row)).collect()
}

fn gate(run: RunId, row: db::Gate) -> Result<GateEvidence> {
    let reason = row.reason.unwrap_or_default();
    let outcome = match row.outcome.as_str() {
        "passed" => GateOutcome::Passed,
        "flaky" => GateOutcome::Flaky { first: reason },
        "failed" => GateOutcome::Failed { reason },
        "no-data" => GateOutcome::NoData { reason },
        _ => GateOutcome::NotRun { reason },
    };
    let failure = match &row.failure_json {
        Some(text) => Some(parse(run, "gate failure", text)?),
        None => None,
    };
    Ok(GateEvidence {
        kind: word(run, "gate kind", &row.kind)?,
        name: row.name,
        side: row
            .side
            .as_deref()
            .map(|side| word(run, "side", side))
            .transpose()?,
        outcome,
        figures: parse(run, "figures", &row.figures_json)?,
        failure,
        logs: row.logs.into_iter().map(ArtifactHash).collect(),
    })
}

async fn load_claims(conn: &mut db::Conn, run: RunId) -> Result<Vec<ClaimEvidence>> {
    let rows = db::claims_by_run(conn, run).await?;
    rows.into_iter()
        .map(|row| {
            Ok(ClaimEvidence {
                source: word(run, "claim source", &row.source)?,
                outcome: match row.outcome.as_str() {
                    "holds" => ClaimOutcome::Holds,
                    "fails" => ClaimOutcome::Fails,
                    _ => ClaimOutcome::NotEvaluated {
                        reason: row.reason.unwrap_or_default(),
                    },
                },
                text: row.text,
                expected: row.expected,
                observed: row.observed,
            })
        })
        .collect()
}

async fn load_benches(
    conn: &mut db::Conn,
    run: &db::Run,
    base_key: Option<&str>,
) -> Result<Vec<BenchEvidence>> {
    let mut benches: Vec<BenchEvidence> = Vec::new();
    let mut states = db::sample_states_by_run(conn, run.id).await?;
    let mut facts = super::facts::by_sample(conn, run.id).await?;
    for (seq, row) in (0i64..).zip(db::samples_by_run(conn, run.id).await?) {
        // Reference programs are no side of the lever.
        if row.side == super::references::SIDE {
            continue;
        }
        let mut sample = sample(run.id, row, facts.remove(&seq).unwrap_or_default())?;
        if let Some(state) = states.remove(&seq) {
            sample.state = Some(parse(run.id, "machine state", &state)?);
        }
        match benches.iter_mut().find(|bench| bench.bench == sample.bench) {
            Some(bench) => bench.samples.push(sample),
            None => benches.push(BenchEvidence {
                bench: sample.bench.clone(),
                samples: vec![sample],
                plan: None,
                base_history: Vec::new(),
                past_estimates: Vec::new(),
            }),
        }
    }
    for row in db::bench_plans_by_run(conn, run.id).await? {
        if let Some(bench) = benches.iter_mut().find(|bench| bench.bench == row.bench) {
            bench.plan = Some(parse(run.id, "bench plan", &row.json)?);
        }
    }
    for bench in &mut benches {
        if let Some(key) = base_key {
            bench.base_history = base_history(conn, run, &bench.bench, key).await?;
        }
        bench.past_estimates = past_estimates(conn, run, &bench.bench).await?;
    }
    Ok(benches)
}

fn sample(run: RunId, row: db::Sample, facts: Facts) -> Result<Sample> {
    Ok(Sample {
        side: word(run, "side", &row.side)?,
        role: word(run, "sample role", &row.role)?,
        bench: row.bench,
        pair: row.pair,
        slot: row.slot,
        attempt: row.attempt,
        started_at: UnixMillis(row.started_at),
        wall_ms: row.wall_ms,
        answer_ms: row.answer_ms,
        value: row.value,
        inner: parse(run, "inner values", &row.inner_json)?,
        facts,
        failure: match &row.failure_json {
            Some(text) => Some(parse(run, "sample failure", text)?),
            None => None,
        },
        log: row.log_artifact.map(ArtifactHash),
        state: None,
    })
}

/// Medians of the base side in earlier windows of the same base build on this machine that were
/// not found invalid, measured under the same config.
async fn base_history(
    conn: &mut db::Conn,
    run: &db::Run,
    bench: &str,
    key: &str,
) -> Result<Vec<f64>> {
    let query = db::BaseHistoryQuery {
        bench: bench.to_owned(),
        machine_id: run.machine_id,
        base_build_key: key.to_owned(),
        before: run.id,
        limit: HISTORY,
    };
    let windows = db::base_history(conn, &query).await?;
    let valid = windows.into_iter().filter(|window| {
        window.config_sha256 == run.config_sha256
            && window.verdict.as_deref() != Some(crate::model::Verdict::EnvInvalid.word())
    });
    Ok(valid
        .filter_map(|window| crate::stats::median(&window.values))
        .collect())
}

async fn past_estimates(
    conn: &mut db::Conn,
    run: &db::Run,
    bench: &str,
) -> Result<Vec<PastEstimate>> {
    let query = db::PastQuery {
        campaign: run.campaign.clone(),
        machine_id: run.machine_id,
        bench: bench.to_owned(),
        before: run.id,
        limit: HISTORY,
    };
    let past = db::past_judgements(conn, &query).await?;
    // A judgement that cannot be read any more, or a lever measured again, is no other lever.
    let others = past
        .into_iter()
        .filter(|past| past.head_sha != run.head_sha);
    Ok(others
        .filter_map(|past| {
            let judgement: Judgement = serde_json::from_str(&past.json).ok()?;
            let found = judgement
                .benches
                .iter()
                .find(|found| found.bench == bench)?;
            Some(PastEstimate {
                head: past.head_sha.parse().ok()?,
                estimate: found.effect?.estimate,
                base_values: past.base_values,
            })
        })
        .collect())
}

async fn load_decision(conn: &mut db::Conn, run: RunId) -> Result<Option<Decision>> {
    let newest = db::decisions_by_run(conn, run).await?.into_iter().next();
    Ok(newest.map(|row| Decision {
        action: if row.action == "land" {
            DecisionAction::Land
        } else {
            DecisionAction::Revert
        },
        reason: row.reason,
        by: row.by,
        at: UnixMillis(row.at),
    }))
}

/// A stored word as the enum that serde spells so.
pub(super) fn word<T: serde::de::DeserializeOwned>(
    run: RunId,
    what: &'static str,
    text: &str,
) -> Result<T> {
    serde_json::from_value(serde_json::Value::String(text.to_owned())).map_err(|error| {
        RecordError::Unreadable {
            run,
            what,
            detail: error.to_string(),
        }
    })
}
