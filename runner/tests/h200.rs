//! The record of the whole campaign on an H200 (`docs/h200/mmq/record.tar.gz`, made by
//! `scripts/gpu-campaign.sh`), judged anew: what that machine measured gives the same verdicts
//! with today's judge, and its counters say of the mechanisms what they are claimed to say.

use std::path::Path;
use std::process::Command;

use runner::cli::Dirs;
use runner::judge::judge;
use runner::model::{
    ClaimOutcome, DeviceState, Evidence, GateKind, GateOutcome, RoundKind, Verdict,
};
use runner::pipeline::claims_with;
use runner::record::{Records, RunId};

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

/// The rounds of the series, in its order; each is a run.
const ROUNDS: i64 = 9;
const SWIZZLE: usize = 4;

/// The record, unpacked into a folder of its own: opening it may bring its schema up to date.
struct Unpacked {
    records: Records,
    _folder: tempfile::TempDir,
}

async fn unpacked() -> Result<Unpacked> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/h200/mmq/record.tar.gz");
    let folder = tempfile::tempdir()?;
    let tar = Command::new("tar")
        .arg("-xzf")
        .arg(&file)
        .arg("-C")
        .arg(folder.path())
        .status()?;
    assert!(tar.success(), "unpacking {}", file.display());
    let dirs = Dirs {
        data: folder.path().to_owned(),
        cache: folder.path().join("cache"),
        locks: folder.path().join("locks"),
    };
    Ok(Unpacked {
        records: Records::open_existing(&dirs).await?,
        _folder: folder,
    })
}

async fn evidence(records: &Records) -> Result<Vec<Evidence>> {
    let mut all = Vec::new();
    for run in 1..=ROUNDS {
        all.push(records.load(RunId(run)).await?.evidence);
    }
    Ok(all)
}

#[tokio::test]
async fn every_round_is_judged_as_it_was_there() -> Result {
    let unpacked = unpacked().await?;
    for run in 1..=ROUNDS {
        let there = unpacked.records.present(RunId(run)).await?;
        let here = judge(&there.stored.evidence);
        assert_eq!(here.verdict, there.judgement().verdict, "run {run}");
        assert_eq!(here.headline, there.judgement().headline, "run {run}");
        assert_eq!(here.benches, there.judgement().benches, "run {run}");
    }
    Ok(())
}

#[tokio::test]
async fn gates_were_green_and_reverts_verified() -> Result {
    let unpacked = unpacked().await?;
    for (index, round) in evidence(&unpacked.records).await?.iter().enumerate() {
        let subject = &round.commits.head.subject;
        let DeviceState::Present { name, .. } = &round.device else {
            return Err(format!("{subject}: no device").into());
        };
        assert_eq!(name, "NVIDIA H200");
        if let Some(revert) = &round.revert {
            assert_eq!(revert.equal, Some(true), "{subject}");
            assert_eq!(judge(round).verdict, Verdict::Reverted);
            continue;
        }
        let passed = |gate: &&runner::model::GateEvidence| gate.outcome == GateOutcome::Passed;
        assert!(!round.gates.is_empty(), "{subject}");
        assert_eq!(
            round.gates.iter().filter(passed).count(),
            round.gates.len(),
            "{subject}"
        );
        let identity = |gate: &runner::model::GateEvidence| gate.kind == GateKind::Identity;
        assert!(round.gates.iter().any(identity), "{subject}");
        // Samples were taken of every round that is no revert.
        assert!(
            round.benches.iter().all(|bench| bench.samples.len() >= 14),
            "{subject}"
        );
        let is_measured = round.registration.kind == RoundKind::Measured;
        assert_eq!(is_measured, index == 5, "{subject}");
    }
    Ok(())
}

#[tokio::test]
async fn the_swizzle_takes_the_conflicts_of_ldmatrix_from_16_859_136_to_none() -> Result {
    let unpacked = unpacked().await?;
    let swizzle = &evidence(&unpacked.records).await?[SWIZZLE];
    let claims = claims_with(swizzle, &swizzle.counters)?;
    assert_eq!(claims, swizzle.claims, "the same counters, the same claims");
    let exact = "counter mmq_wide_kd4 ldsm_conflicts_sass 16,859,136 -> 0";
    let claim = claims.iter().find(|claim| claim.text == exact);
    assert_eq!(claim.ok_or("the claim")?.outcome, ClaimOutcome::Holds);
    Ok(())
}
