//! The rows of a campaign's table.

use super::convert::parse;
use super::load::CodeDocument;
use super::{Records, Result, RunId};
use crate::model::{
    CodeEvidence, Decision, DecisionAction, Judgement, PerSide, Registration, UnixMillis, Verdict,
};
use crate::render::{RoundBench, RoundRow};

/// One run in a list: judged or not.
#[derive(Debug, Clone)]
pub struct TableRow {
    /// The run.
    pub run: RunId,
    /// The run's state.
    pub state: db::RunState,
    /// The run it repeats.
    pub replay_of: Option<RunId>,
    /// The head commit's subject.
    pub subject: String,
    /// When it began.
    pub started_at: UnixMillis,
    /// The newest judgement's sentence.
    pub headline: Option<String>,
    /// The row for tables of rounds; `None` while the run is not judged.
    pub round: Option<RoundRow>,
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
        for row in rows {
            table.push(table_row(conn, row).await?);
        }
        Ok(table)
    }

    /// The judged rounds of a campaign before a run, oldest first; replays are no rounds.
    pub async fn rounds_before(&self, campaign: &str, run: RunId) -> Result<Vec<RoundRow>> {
        let rows = self.table(campaign).await?;
        let earlier = rows
            .into_iter()
            .filter(|row| row.run < run && row.replay_of.is_none());
        Ok(earlier.filter_map(|row| row.round).collect())
    }
}

async fn table_row(conn: &mut db::Conn, row: db::CampaignRow) -> Result<TableRow> {
    let round = match (&row.verdict, &row.judgement_json) {
        (Some(verdict), Some(judgement)) => {
            let code = db::run_document_get(conn, row.run_id, "code").await?;
            Some(round(&row, verdict, judgement, code)?)
        }
        _ => None,
    };
    Ok(TableRow {
        run: row.run_id,
        state: row.state,
        replay_of: row.replay_of,
        subject: row.head_subject,
        started_at: UnixMillis(row.started_at),
        headline: row.headline,
        round,
    })
}

fn round(
    row: &db::CampaignRow,
    verdict: &str,
    judgement: &str,
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
    let head = row
        .head_sha
        .parse()
        .map_err(
            |error: crate::model::NotASha| super::RecordError::Unreadable {
                run,
                what: "head commit",
                detail: error.to_string(),
            },
        )?;
    Ok(RoundRow {
        run_id: run.to_string(),
        round: registration.round,
        lever,
        verdict: Verdict::try_from(verdict.to_owned()).unwrap_or(judgement.verdict),
        benches: judgement
            .benches
            .iter()
            .map(RoundBench::from_judgement)
            .collect(),
        resources,
        date: UnixMillis(row.started_at),
        head,
        link: None,
        corrected: row.corrections > 0,
        decision: decision(row),
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
