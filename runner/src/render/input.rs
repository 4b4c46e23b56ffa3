//! What the caller supplies besides evidence and judgement: facts that only the database and
//! the caller's clock know. Plain borrowed data.

use crate::model::{
    ArtifactHash, Decision, Evidence, Finding, Judgement, Registration, Role, Sha, UnixMillis,
    Verdict,
};

use super::view::resource_summary;

/// Everything that a comment, page or table about one run is made of.
#[derive(Debug, Clone)]
pub struct LeverInput<'a> {
    /// The run's id, as `runner show` takes it.
    pub run_id: &'a str,
    /// What was observed.
    pub evidence: &'a Evidence,
    /// What follows from it.
    pub judgement: &'a Judgement,
    /// Corrections of this record, oldest first.
    pub corrections: &'a [CorrectionNote],
    /// When the run began.
    pub started_at: UnixMillis,
    /// When the registration was stored.
    pub registered_at: UnixMillis,
    /// The stored registration's SHA-256, hex.
    pub registration_sha256: &'a str,
    /// The machine: name and value of each fact, in the order to show.
    pub machine: &'a [(String, String)],
    /// The toolchain: each package with its version or hash.
    pub toolchain: &'a [(String, String)],
    /// Earlier rounds of the campaign, oldest first; this run is not among them.
    pub previous_rounds: &'a [RoundRow],
    /// Texts of logs named in the evidence, as far as the caller has them at hand.
    pub logs: &'a [LogExcerpt],
    /// The command that repeats this run.
    pub replay_command: &'a str,
}

/// A correction, as it is shown beside what it corrects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CorrectionNote {
    /// What is corrected, for people: `prefill estimate`.
    pub field: String,
    /// The value as first recorded.
    pub old: String,
    /// The value that counts.
    pub new: String,
    /// Why.
    pub reason: String,
    /// Who.
    pub by: String,
    /// When.
    pub at: UnixMillis,
}

/// The text of a stored log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogExcerpt {
    /// The log's name in the artefact store.
    pub artifact: ArtifactHash,
    /// Its text, whole or cut by the caller.
    pub text: String,
}

/// One row of a campaign's table.
#[derive(Debug, Clone, PartialEq)]
pub struct RoundRow {
    /// The run's id; names its page.
    pub run_id: String,
    /// The round, where one was registered.
    pub round: Option<String>,
    /// The lever.
    pub lever: String,
    /// The newest judgement's verdict.
    pub verdict: Verdict,
    /// The benches, targets first.
    pub benches: Vec<RoundBench>,
    /// Resource deltas in a few words: `mmq_nb regs 111 -> 109`; empty where nothing changed.
    pub resources: String,
    /// When the run began.
    pub date: UnixMillis,
    /// The head commit.
    pub head: Sha,
    /// Where the whole record is: http(s) or relative. Pages link to their own by default.
    pub link: Option<String>,
    /// Whether a figure was corrected after it was recorded.
    pub corrected: bool,
    /// The newest decision.
    pub decision: Option<Decision>,
}

/// A bench in a campaign's table.
#[derive(Debug, Clone, PartialEq)]
pub struct RoundBench {
    /// Its name.
    pub bench: String,
    /// Target or guard.
    pub role: Role,
    /// Estimate, percent.
    pub estimate: Option<f64>,
    /// Interval, percent.
    pub interval: Option<(f64, f64)>,
    /// Bar, percent.
    pub bar_percent: Option<f64>,
    /// What the numbers say.
    pub finding: Finding,
    /// Valid pairs.
    pub pairs: u32,
    /// Pairs in which head was better.
    pub pairs_positive: u32,
}

impl RoundRow {
    /// The row of a run whose evidence is at hand. `corrected` and `link` are left unset.
    pub fn from_run(
        run_id: &str,
        date: UnixMillis,
        evidence: &Evidence,
        judgement: &Judgement,
    ) -> RoundRow {
        RoundRow {
            run_id: run_id.to_owned(),
            round: evidence.registration.round.clone(),
            lever: lever_name(&evidence.registration, &evidence.commits.head.subject),
            verdict: judgement.verdict,
            benches: judgement
                .benches
                .iter()
                .map(RoundBench::from_judgement)
                .collect(),
            resources: evidence
                .code
                .as_ref()
                .map(resource_summary)
                .unwrap_or_default(),
            date,
            head: evidence.commits.head.sha.clone(),
            link: None,
            corrected: false,
            decision: evidence.decision.clone(),
        }
    }
}

impl RoundBench {
    pub(crate) fn from_judgement(bench: &crate::model::BenchJudgement) -> RoundBench {
        RoundBench {
            bench: bench.bench.clone(),
            role: bench.role,
            estimate: bench.effect.map(|e| e.estimate),
            interval: bench.effect.map(|e| (e.low, e.high)),
            bar_percent: bench.bar_percent,
            finding: bench.finding,
            pairs: bench.pairs,
            pairs_positive: bench.pairs_positive,
        }
    }
}

/// The lever's name: as registered, else the commit's subject.
pub(super) fn lever_name(registration: &Registration, subject: &str) -> String {
    if registration.lever.trim().is_empty() {
        subject.to_owned()
    } else {
        registration.lever.clone()
    }
}
