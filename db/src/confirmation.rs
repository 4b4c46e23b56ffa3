//! Runs that confirm another one's verdict.

use crate::error::{Doing, Result};
use crate::{Conn, RunId};

/// What a run was declared to confirm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confirmation {
    /// The run whose verdict stood until then.
    pub confirms: RunId,
    /// When it was declared.
    pub at: i64,
    /// In what way that verdict is flaky.
    pub reason: String,
}

/// Declares a run to be a confirmation, before its first sample. The database refuses a second
/// one of the same run while the first is in progress.
pub async fn confirmation_insert(conn: &mut Conn, run: RunId, new: &Confirmation) -> Result<()> {
    sqlx::query!(
        "INSERT INTO confirmation (run_id, confirms, at, reason) VALUES (?, ?, ?, ?)",
        run,
        new.confirms,
        new.at,
        new.reason
    )
    .execute(conn)
    .await
    .doing("declare a confirmation run")?;
    Ok(())
}

/// What a run confirms; `None` for any other run.
pub async fn confirmation_get(conn: &mut Conn, run: RunId) -> Result<Option<Confirmation>> {
    sqlx::query_as!(
        Confirmation,
        r#"SELECT confirms AS "confirms: RunId", at, reason FROM confirmation WHERE run_id = ?"#,
        run
    )
    .fetch_optional(conn)
    .await
    .doing("look up what a run confirms")
}
