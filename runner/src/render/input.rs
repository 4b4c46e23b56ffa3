//! What the caller supplies besides evidence and judgement: facts that only the database and
//! the caller's clock know. Plain borrowed data.

use crate::model::{
    ArtifactHash, Decision, Evidence, Finding, Judgement, Registration, Role, Sha, UnixMillis,
    Verdict,
};

use super::corrected::{Shown, ShownBench, shown};
use super::registered::Registered;
use super::view::{VerdictView, resource_summary};

/// Everything that a comment, page or table about one run is made of.
#[derive(Debug, Clone)]
pub struct LeverInput<'a> {
    /// The run's id, as `runner show` takes it.
    pub run_id: &'a str,
    /// What was observed.
    pub evidence: &'a Evidence,
    /// What follows from it, as judged.
    pub judgement: &'a Judgement,
    /// Corrections of this record, oldest first.
    pub corrections: &'a [CorrectionNote],
    /// When the run began.
    pub started_at: UnixMillis,
    /// When the registration was stored.
    pub registered_at: UnixMillis,
    /// The stored registration's SHA-256, hex.
    pub registration_sha256: &'a str,
    /// What makes other runs attempts at the same thing.
    pub registered: Registered,
    /// The machine: name and value of each fact, in the order to show.
    pub machine: &'a [(String, String)],
    /// The toolchain: each package with its version or hash.
    pub toolchain: &'a [(String, String)],
    /// Earlier rounds of the campaign, oldest first; this run is not among them.
    pub previous_rounds: &'a [RoundRow],
    /// Later ones.
    pub later_rounds: &'a [RoundRow],
    /// The run that this one repeats, where it is a replay.
    pub replay_of: Option<String>,
    /// Texts of logs named in the evidence, as far as the caller has them at hand.
    pub logs: &'a [LogExcerpt],
    /// The command that repeats this run.
    pub replay_command: &'a str,
}

/// A correction, as it is shown beside what it corrects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CorrectionNote {
    /// What is corrected: `verdict`, or `bench:NAME:FIGURE`.
    pub field: String,
    /// The value that counted before.
    pub old: String,
    /// The value that counts, where no later correction of the field follows.
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
    /// The verdict that counts.
    pub verdict: Verdict,
    /// The newest judgement's; another one where the verdict was corrected.
    pub judged_verdict: Verdict,
    /// The judge's reason in a few words; may be empty.
    pub why: String,
    /// Whether head is a revert whose machine code was found equal to the state before.
    pub is_verified_revert: bool,
    /// The benches, targets first.
    pub benches: Vec<RoundBench>,
    /// Resource deltas in a few words: `mmq_nb regs 111 -> 109`; empty where nothing changed.
    pub resources: String,
    /// When the run began.
    pub date: UnixMillis,
    /// The base commit.
    pub base: Sha,
    /// The head commit.
    pub head: Sha,
    /// What makes other runs attempts at the same thing.
    pub registered: Registered,
    /// Which attempt at its registration it is, from 1; set by [`super::standing_rounds`], as are
    /// the next three.
    pub attempt: usize,
    /// The earlier attempts' run ids.
    pub earlier: Vec<String>,
    /// The later ones'.
    pub later: Vec<String>,
    /// Which attempt stands, and that the code was registered before, in words.
    pub attempt_text: Option<String>,
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
    /// The judged estimate, where that was corrected; percent.
    pub estimate_was: Option<f64>,
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
    /// The row of a run whose evidence is at hand. `link` is left unset.
    pub fn from_run(input: &LeverInput<'_>) -> RoundRow {
        let (evidence, judgement) = (input.evidence, input.judgement);
        let shown = shown(judgement, input.corrections);
        RoundRow {
            run_id: input.run_id.to_owned(),
            round: evidence.registration.round.clone(),
            lever: lever_name(&evidence.registration, &evidence.commits.head.subject),
            verdict: shown.verdict,
            judged_verdict: judgement.verdict,
            why: judgement.why.clone(),
            is_verified_revert: judgement.revert_verified == Some(true),
            benches: RoundBench::all(judgement, &shown),
            resources: evidence
                .code
                .as_ref()
                .map(resource_summary)
                .unwrap_or_default(),
            date: input.started_at,
            base: evidence.commits.base.sha.clone(),
            head: evidence.commits.head.sha.clone(),
            registered: Registered {
                samples: evidence.benches.iter().map(|b| b.samples.len()).sum(),
                interrupted: evidence.interrupted,
                ..input.registered.clone()
            },
            attempt: 1,
            earlier: Vec::new(),
            later: Vec::new(),
            attempt_text: None,
            link: None,
            corrected: shown.corrected,
            decision: evidence.decision.clone(),
        }
    }

    /// The verdict that counts, with its marks.
    pub(crate) fn verdict_view(&self) -> VerdictView {
        VerdictView::corrected(self.verdict, self.judged_verdict)
            .with_why(&self.why, self.is_verified_revert)
    }
}

impl RoundBench {
    /// The benches of a judgement with the figures that count.
    pub(crate) fn all(judgement: &Judgement, shown: &Shown) -> Vec<RoundBench> {
        let both = judgement.benches.iter().zip(&shown.benches);
        both.map(|(judged, shown)| RoundBench::new(judged, shown))
            .collect()
    }

    fn new(bench: &crate::model::BenchJudgement, shown: &ShownBench) -> RoundBench {
        let judged = bench.effect.map(|e| e.estimate);
        RoundBench {
            bench: bench.bench.clone(),
            role: bench.role,
            estimate: shown.estimate.get(),
            estimate_was: judged.filter(|_| shown.has_corrected("estimate")),
            interval: shown.interval(),
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
