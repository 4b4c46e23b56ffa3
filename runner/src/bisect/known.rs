//! What the record already knows of a comparison.

use super::report::{Comparison, Said};
use crate::config::Config;
use crate::judge::judge;
use crate::model::{Evidence, Verdict};
use crate::pipeline::Prepared;
use crate::record::Records;

/// Earlier runs of the same pair on this machine that answer the question or leave it open,
/// newest first: comparisons of earlier searches, and rounds that measured the bench in the same
/// way. A round's samples are asked the guard question; where they are too few for it, the round
/// says nothing here, and its samples are not pooled with others.
pub(super) async fn comparisons(
    prepared: &Prepared,
    commit: usize,
    records: &Records,
) -> crate::record::Result<Vec<Comparison>> {
    let commits = &prepared.commits;
    let machine = crate::machine::Environment::read().fingerprint;
    let mut known = Vec::new();
    for run in records
        .runs_between(&commits.base.sha, &commits.head.sha, &machine)
        .await?
    {
        let stored = records.load(run).await?;
        let judged = stored.judgement.as_ref().map(|judgement| judgement.verdict);
        if matches!(judged, None | Some(Verdict::EnvInvalid)) {
            continue;
        }
        let Some(asked) = asked_again(&stored.evidence, prepared) else {
            continue;
        };
        let comparison = Comparison {
            is_reused: true,
            ..Comparison::of(commit, run, &judge(&asked))
        };
        if !matches!(comparison.said, Said::Stopped { .. }) {
            known.push(comparison);
        }
    }
    Ok(known)
}

/// The evidence of a run as that of the comparison that is wanted; `None` where it was measured
/// in another way.
fn asked_again(evidence: &Evidence, prepared: &Prepared) -> Option<Evidence> {
    let wanted = &prepared.config;
    let same_benches = wanted
        .benches
        .iter()
        .all(|bench| evidence.config.benches.contains(bench));
    let otherwise = Config {
        benches: wanted.benches.clone(),
        parity: wanted.parity.clone(),
        identity: wanted.identity.clone(),
        counters: wanted.counters.clone(),
        claims: wanted.claims.clone(),
        protocol: wanted.protocol,
        anchor: wanted.anchor,
        ..evidence.config.clone()
    };
    if !same_benches || otherwise != *wanted {
        return None;
    }
    let is_wanted = |name: &str| wanted.benches.iter().any(|bench| bench.name == name);
    let mut asked = Evidence {
        config: otherwise,
        registration: prepared.registration.clone(),
        gates: Vec::new(),
        claims: Vec::new(),
        counters: Vec::new(),
        revert: None,
        decision: None,
        ..evidence.clone()
    };
    asked.benches.retain(|bench| is_wanted(&bench.bench));
    Some(asked)
}
