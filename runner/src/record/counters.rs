//! Profiles and the claims that rest on them, to rows and back; also those that are added to a
//! run after it ended.

use super::convert::{json, parse, tag};
use super::load::word;
use super::{Records, Result, RunId, now};
use crate::model::{
    ArtifactHash, ClaimEvidence, ClaimOutcome, CounterLaunch, CounterProfile, CounterValue,
    Judgement, UnixMillis,
};

/// Stores a taking of counters, and all claims as evaluated with it where there are any.
pub(super) async fn insert(
    conn: &mut db::Conn,
    run: RunId,
    profiles: &[CounterProfile],
    claims: &[ClaimEvidence],
) -> Result<()> {
    let rows: Vec<db::CounterProfile> = profiles.iter().map(row).collect();
    db::counter_profiles_insert(conn, run, &rows).await?;
    insert_claims(conn, run, claims).await
}

/// Stores an evaluation of all claims.
pub(super) async fn insert_claims(
    conn: &mut db::Conn,
    run: RunId,
    claims: &[ClaimEvidence],
) -> Result<()> {
    let rows: Vec<db::Claim> = claims.iter().map(claim_row).collect();
    Ok(db::claims_insert(conn, run, &rows).await?)
}

fn claim_row(claim: &ClaimEvidence) -> db::Claim {
    let reason = match &claim.outcome {
        ClaimOutcome::NotEvaluated { reason } => Some(reason.clone()),
        ClaimOutcome::Holds | ClaimOutcome::Fails => None,
    };
    db::Claim {
        text: claim.text.clone(),
        source: tag(&claim.source, ""),
        outcome: tag(&claim.outcome, "outcome"),
        expected: claim.expected.clone(),
        observed: claim.observed.clone(),
        reason,
    }
}

fn row(profile: &CounterProfile) -> db::CounterProfile {
    db::CounterProfile {
        at: profile.at.0,
        entry: profile.entry.clone(),
        side: profile.side.as_str().to_owned(),
        profiler: profile.profiler.clone(),
        absent_json: json(&profile.absent),
        failure_json: profile.failure.as_ref().map(json),
        log_artifact: profile.log.as_ref().map(|log| log.0.clone()),
        launches: profile.launches.iter().map(launch_row).collect(),
    }
}

fn launch_row(launch: &CounterLaunch) -> db::CounterLaunch {
    let values = launch.values.iter().map(|value| db::CounterValue {
        metric: value.metric.clone(),
        unit: value.unit.clone(),
        value: value.value,
    });
    db::CounterLaunch {
        kernel: launch.kernel.clone(),
        arch: launch.arch.clone(),
        grid: launch.grid.clone(),
        block: launch.block.clone(),
        values: values.collect(),
    }
}

/// The profiles of a run's newest taking.
pub(super) async fn load(conn: &mut db::Conn, run: RunId) -> Result<Vec<CounterProfile>> {
    let rows = db::counter_profiles_by_run(conn, run).await?;
    rows.into_iter().map(|row| profile(run, row)).collect()
}

fn profile(run: RunId, row: db::CounterProfile) -> Result<CounterProfile> {
    let failure = match &row.failure_json {
        Some(text) => Some(parse(run, "profile failure", text)?),
        None => None,
    };
    Ok(CounterProfile {
        entry: row.entry,
        side: word(run, "side", &row.side)?,
        at: UnixMillis(row.at),
        profiler: row.profiler,
        launches: row.launches.into_iter().map(launch).collect(),
        absent: parse(run, "absent metrics", &row.absent_json)?,
        failure,
        log: row.log_artifact.map(ArtifactHash),
    })
}

fn launch(row: db::CounterLaunch) -> CounterLaunch {
    let values = row.values.into_iter().map(|value| CounterValue {
        metric: value.metric,
        unit: value.unit,
        value: value.value,
    });
    CounterLaunch {
        values: values.collect(),
        kernel: row.kernel,
        arch: row.arch,
        grid: row.grid,
        block: row.block,
    }
}

impl Records {
    /// Adds counters that were taken after a run ended, with its claims evaluated anew, and
    /// judges the run again; gives what counts from now on.
    pub async fn counters_add(
        &self,
        run: RunId,
        profiles: &[CounterProfile],
        claims: &[ClaimEvidence],
    ) -> Result<Judgement> {
        let mut tx = self.db.write().await?;
        self.vault.note(&mut tx, now().0).await?;
        insert(&mut tx, run, profiles, claims).await?;
        tx.commit().await?;
        let stored = self.load(run).await?;
        let judgement = crate::judge::judge(&stored.evidence);
        if stored.judgement.as_ref() != Some(&judgement) {
            self.judgement_add(run, &judgement, "counters were taken")
                .await?;
        }
        Ok(judgement)
    }

    /// Notes what was put into the artefact store outside a run: a build that a later run finds
    /// in the cache refers to it.
    pub async fn note_artifacts(&self) -> Result<()> {
        let mut tx = self.db.write().await?;
        self.vault.note(&mut tx, now().0).await?;
        Ok(tx.commit().await?)
    }
}
