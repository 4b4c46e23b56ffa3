//! What a run's events say, for its evidence.

use serde::Deserialize;

use super::convert::parse;
use super::{Result, RunId};
use crate::model::Fault;

/// The faults of a run, in order.
pub(super) async fn faults(conn: &mut db::Conn, run: RunId) -> Result<Vec<Fault>> {
    let events = db::events_by_run(conn, run).await?;
    let faults = events.iter().filter(|event| event.kind == "fault");
    faults
        .map(|event| parse(run, "fault", &event.detail_json))
        .collect()
}

/// The notes of a run, in order.
pub(super) async fn notes(conn: &mut db::Conn, run: RunId) -> Result<Vec<String>> {
    #[derive(Deserialize)]
    struct Note {
        text: String,
    }
    let events = db::events_by_run(conn, run).await?;
    let notes = events.iter().filter(|event| event.kind == "note");
    notes
        .map(|event| Ok(parse::<Note>(run, "note", &event.detail_json)?.text))
        .collect()
}
