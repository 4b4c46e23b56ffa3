//! What samples reported, from its rows.

use std::collections::BTreeMap;

use super::convert::parse;
use super::{Result, RunId};
use crate::model::Facts;

/// What a run's samples reported, by each sample's place in the order.
pub(super) async fn by_sample(conn: &mut db::Conn, run: RunId) -> Result<BTreeMap<i64, Facts>> {
    let rows = db::sample_facts_by_run(conn, run).await?;
    rows.into_iter()
        .map(|(seq, text)| Ok((seq, parse(run, "a sample's facts", &text)?)))
        .collect()
}
