//! The stage that counts: after the gates, before the first sample where a claim needs it (a
//! failed claim ends the run), else after the last one.

use std::sync::Arc;

use super::stages::Stages;
use crate::build::Workbench;
use crate::claims::{ClaimContext, CounterFacts};
use crate::counters::{self, Taking};
use crate::inspect;
use crate::model::{
    ClaimEvidence, ClaimOutcome, CounterProfile, DeviceState, Evidence, PerSide, Stage,
};

/// Why claims on counters stay open where the campaign takes none.
const NOT_DECLARED: &str =
    "counters are taken where campaign.toml has a [[counters]] that launches the kernel";

impl Stages<'_> {
    /// Whether a claim of this run is about a counter that can be taken.
    pub(super) fn claims_need_counters(&self) -> bool {
        let claims = &self.evidence.registration.claims;
        !self.prepared.config.counters.is_empty()
            && !crate::claims::counters_named(claims).is_empty()
    }

    /// Takes the counters and evaluates the claims anew, where any is about one.
    pub(super) async fn take_counters(&mut self, bench: &mut Workbench) -> anyhow::Result<()> {
        let entries = &self.prepared.config.counters;
        if entries.is_empty() {
            return Ok(());
        }
        self.begin(Stage::Counters, None).await?;
        let asked = crate::claims::counters_named(&self.evidence.registration.claims);
        let profiler = counters::find_profiler(bench.toolchain_bin()).await;
        let what = Taking {
            entries,
            asked: &asked,
            profiler: &profiler,
            progress: self.progress,
        };
        let vault = Arc::clone(self.recorder.records().vault());
        let mut keep = |bytes: Vec<u8>| Ok(Some(vault.put_bytes(&bytes)?));
        let profiles = counters::take(&what, bench, &mut keep).await?;
        let claims = claims_with(&self.evidence, &profiles)?;
        self.recorder.counters(&profiles, &claims).await?;
        let failed = profiles.iter().filter(|p| p.failure.is_some()).count();
        let summary = match failed {
            0 => format!("{} profiled", commands(profiles.len())),
            n => format!("{n} of {} not profiled", commands(profiles.len())),
        };
        self.evidence.counters = profiles;
        if !claims.is_empty() {
            self.evidence.claims = claims;
        }
        self.end(Stage::Counters, None, summary, failed == 0);
        Ok(())
    }
}

fn commands(n: usize) -> String {
    crate::numbers::counted(n, "command")
}

/// What claims on counters rest on before any were taken.
pub(super) fn before_taking(evidence: &Evidence) -> Result<(), String> {
    match (&evidence.device, evidence.config.counters.is_empty()) {
        (_, true) => Err(NOT_DECLARED.to_owned()),
        (DeviceState::Absent { .. }, _) => {
            Err("counters need a device, and there is none".to_owned())
        }
        (DeviceState::Present { .. }, false) => Ok(()),
    }
}

/// A recorded run's claims, evaluated with counters that were taken since; none where it has no
/// claim on a counter. A claim that held or failed stays so until it is evaluated again.
///
/// # Errors
/// Where the record's `[[kernel]]` tables do not compile.
pub fn claims_with(
    evidence: &Evidence,
    profiles: &[CounterProfile],
) -> anyhow::Result<Vec<ClaimEvidence>> {
    match crate::claims::counters_named(&evidence.registration.claims).is_empty() {
        true => Ok(Vec::new()),
        false => {
            let claims = evaluated(evidence, CounterFacts::Taken(profiles))?;
            let claims = claims.into_iter();
            Ok(claims.map(|claim| kept(evidence, claim)).collect())
        }
    }
}

/// What is on record of a claim, where it could not be evaluated this time.
fn kept(evidence: &Evidence, claim: ClaimEvidence) -> ClaimEvidence {
    let is_open =
        |claim: &ClaimEvidence| matches!(claim.outcome, ClaimOutcome::NotEvaluated { .. });
    if !is_open(&claim) {
        return claim;
    }
    let same = |known: &&ClaimEvidence| known.text == claim.text && known.source == claim.source;
    let recorded = evidence.claims.iter().filter(|known| !is_open(known));
    recorded.clone().find(same).cloned().unwrap_or(claim)
}

/// All claims of a run, evaluated on its evidence; none where its code was not compared.
pub(super) fn evaluated(
    evidence: &Evidence,
    counters: CounterFacts<'_>,
) -> anyhow::Result<Vec<ClaimEvidence>> {
    let Some(code) = &evidence.code else {
        return Ok(Vec::new());
    };
    let facts: &[_] = &evidence.config.kernels;
    let launches = inspect::LaunchFacts::new(facts)?;
    let context = ClaimContext {
        reports: &code.reports,
        facts: PerSide {
            base: facts,
            head: facts,
        },
        occupancy: &|_, kernel| inspect::kernel_occupancy(kernel, &launches),
        counters,
    };
    Ok(crate::claims::evaluate(
        &evidence.registration.claims,
        &context,
    ))
}
