//! The rows of a campaign's table.

use super::convert::parse;
use super::load::CodeDocument;
use super::present::correction_notes;
use super::{Records, Result, RunId};
use crate::model::{
    CodeEvidence, Decision, DecisionAction, Judgement, PerSide, Registration, Sha, UnixMillis,
};
use crate::render::{CorrectionNote, Registered, RoundBench, RoundRow};

/// One run in a list: judged or not.
#[derive(Debug, Clone)]
pub struct TableRow {
    /// The run.
    pub run: RunId,
    /// The run's state.
    pub state: db::RunState,
    /// The run it repeats.
    pub replay_of: Option<RunId>,
    /// Whether the run that it repeats is not here: it came in a bundle.
    pub original_is_absent: bool,
    /// What it is for.
    pub purpose: db::Purpose,
    /// The head commit's subject.
    pub subject: String,
    /// When it began.
    pub started_at: UnixMillis,
    /// The newest judgement's sentence.
    pub headline: Option<String>,
    /// The row for tables of rounds; `None` while the run is not judged.
    pub round: Option<RoundRow>,
}

impl TableRow {
    /// Whether it is a round of its campaign: a lever, and no replay of one, here or elsewhere.
    pub fn is_round(&self) -> bool {
        self.purpose == db::Purpose::Lever && self.replay_of.is_none() && !self.original_is_absent
    }

    /// The verdict that counts and what it was, or what became of a run without one.
    pub fn outcome(&self) -> String {
        match (&self.round, self.state) {
            (Some(round), _) => {
                let view = round.verdict_view();
                match view.why.as_str() {
                    "" => view.text(round.corrected),
                    why => format!("{}: {why}", view.text(round.corrected)),
                }
            }
            (None, db::RunState::Open) => "in progress, or killed".to_owned(),
            (None, db::RunState::Interrupted) => "interrupted".to_owned(),
            (None, db::RunState::Ended) if self.purpose == db::Purpose::Calibration => {
                "calibration".to_owned()
            }
            (None, db::RunState::Ended) => "not judged".to_owned(),
        }
    }
}

/// The most rows that a table holds.
const ROWS: u32 = 10_000;

impl Records {
    /// The names of all campaigns with their titles.
    pub async fn campaigns(&self) -> Result<Vec<(String, String)>> {
        let mut read = self.db.read().await?;
        let rows = db::campaigns(&mut read).await?;
        Ok(rows.into_iter().map(|row| (row.name, row.title)).collect())
    }

    /// The runs of a campaign, oldest first.
    pub async fn table(&self, campaign: &str) -> Result<Vec<TableRow>> {
        let mut read = self.db.read().await?;
        let conn: &mut db::Conn = &mut read;
        let mut rows = db::campaign_table(conn, campaign, ROWS).await?;
        rows.reverse();
        let mut table = Vec::with_capacity(rows.len());
        let lone = db::bundle::replays_of_absent(conn, campaign).await?;
        for row in rows {
            let original_is_absent = lone.contains(&row.run_id);
            table.push(TableRow {
                original_is_absent,
                ..table_row(conn, row).await?
            });
        }
        Ok(table)
    }

    /// The judged rounds of a campaign before a run and after it, oldest first.
    pub async fn rounds_around(
        &self,
        campaign: &str,
        run: RunId,
    ) -> Result<(Vec<RoundRow>, Vec<RoundRow>)> {
        let mut around = (Vec::new(), Vec::new());
        for row in self.table(campaign).await? {
            let is_round = row.is_round();
            match row.round.filter(|_| is_round) {
                Some(round) if row.run < run => around.0.push(round),
                Some(round) if row.run > run => around.1.push(round),
                _ => {}
            }
        }
        Ok(around)
    }

    /// What tables say became of runs: verdicts, corrected where they were.
    pub async fn outcomes(&self, runs: &[RunId]) -> Result<Vec<(RunId, String)>> {
        let mut found = Vec::new();
        for (campaign, _) in self.campaigns().await? {
            let rows = self.table(&campaign).await?;
            let wanted = rows.iter().filter(|row| runs.contains(&row.run));
            found.extend(wanted.map(|row| (row.run, row.outcome())));
        }
        found.sort();
        Ok(found)
    }
}

async fn table_row(conn: &mut db::Conn, row: db::CampaignRow) -> Result<TableRow> {
    let round = match (&row.verdict, &row.judgement_json) {
        (Some(_), Some(judgement)) => {
            let code = db::run_document_get(conn, row.run_id, "code").await?;
            let corrections = match row.corrections {
                0 => Vec::new(),
                _ => db::corrections_by_run(conn, row.run_id).await?,
            };
            Some(round(
                &row,
                judgement,
                &correction_notes(&corrections),
                code,
            )?)
        }
        _ => None,
    };
    Ok(TableRow {
        run: row.run_id,
        state: row.state,
        replay_of: row.replay_of,
        original_is_absent: false,
        purpose: row.purpose,
        subject: row.head_subject,
        started_at: UnixMillis(row.started_at),
        headline: row.headline,
        round,
    })
}

fn round(
    row: &db::CampaignRow,
    judgement: &str,
    corrections: &[CorrectionNote],
    code: Option<String>,
) -> Result<RoundRow> {
    let run = row.run_id;
    let registration: Registration = parse(run, "registration", &row.registration_json)?;
    let judgement: Judgement = parse(run, "judgement", judgement)?;
    let resources = match code {
        Some(text) => resources(parse(run, "code", &text)?),
        None => String::new(),
    };
    let lever = match registration.lever.trim() {
        "" => row.head_subject.clone(),
        lever => lever.to_owned(),
    };
    let shown = crate::render::shown(&judgement, corrections);
    Ok(RoundRow {
        run_id: run.to_string(),
        round: registration.round,
        lever,
        verdict: shown.verdict,
        judged_verdict: judgement.verdict,
        is_verified_revert: judgement.revert_verified == Some(true),
        why: judgement.why.clone(),
        benches: RoundBench::all(&judgement, &shown),
        resources,
        date: UnixMillis(row.started_at),
        base: commit(run, "base commit", &row.base_sha)?,
        head: commit(run, "head commit", &row.head_sha)?,
        registered: registered(row)?,
        attempt: 1,
        earlier: Vec::new(),
        later: Vec::new(),
        attempt_text: None,
        link: None,
        corrected: shown.corrected,
        decision: decision(row),
    })
}

fn commit(run: RunId, what: &'static str, sha: &str) -> Result<Sha> {
    sha.parse().map_err(
        |error: crate::model::NotASha| super::RecordError::Unreadable {
            run,
            what,
            detail: error.to_string(),
        },
    )
}

fn registered(row: &db::CampaignRow) -> Result<Registered> {
    let is_child = row.head_parent.as_ref() == Some(&row.base_sha);
    Ok(Registered {
        base_tree: commit(row.run_id, "base tree", &row.base_tree)?,
        head_tree: commit(row.run_id, "head tree", &row.head_tree)?,
        patch: row.head_patch_id.clone().filter(|_| is_child),
        config: row.config_sha256.clone(),
        registration: row.registration_sha256.clone(),
        confirms: row.confirms.map(|run| run.to_string()),
        samples: usize::try_from(row.samples).unwrap_or(0),
        interrupted: row.state == db::RunState::Interrupted,
    })
}

/// The resource deltas in a few words; they need the stored comparison only, not the reports.
fn resources(document: CodeDocument) -> String {
    crate::render::view::resource_summary(&CodeEvidence {
        reports: PerSide::default(),
        delta: document.delta,
        occupancy: document.occupancy,
        runtime_files_changed: document.runtime_files_changed,
    })
}

fn decision(row: &db::CampaignRow) -> Option<Decision> {
    Some(Decision {
        action: match row.decision.as_deref()? {
            "land" => DecisionAction::Land,
            _ => DecisionAction::Revert,
        },
        reason: row.decision_reason.clone().unwrap_or_default(),
        by: row.decision_by.clone().unwrap_or_default(),
        at: UnixMillis(row.decision_at.unwrap_or_default()),
    })
}
