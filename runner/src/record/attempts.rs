//! The attempts at a run's registration, from the record: which one stands, and whether its
//! verdict may be confirmed.

use super::{Confirms, RecordError, Records, Result, RunId};
use crate::render::{Attempts, RoundRow};

impl Records {
    /// The flaky verdict of a run's registration that may be measured once more.
    ///
    /// # Errors
    /// Says why there is none, or why not again.
    pub async fn confirmable(&self, run: RunId) -> Result<Confirms> {
        let refuse = |why: String| RecordError::CannotConfirm { run, why };
        let stored = self.load(run).await?;
        if let Some(original) = stored.row.replay_of {
            return Err(refuse(format!(
                "it repeats run {original}, and a replay has no verdict that counts: confirm run \
                 {original}"
            )));
        }
        let rounds = self.rounds_of(&stored.row.campaign).await?;
        let groups = Attempts::all(&rounds);
        let own = groups
            .iter()
            .find(|group| group.position(&run.to_string()).is_some())
            .ok_or_else(|| refuse("it has no verdict: it was never judged".to_owned()))?;
        let found = own.confirmable().map_err(refuse)?;
        let run = found
            .confirms
            .parse()
            .map(RunId)
            .map_err(|_| refuse(format!("`{}` is no run's number", found.confirms)))?;
        Ok(Confirms {
            run,
            reason: found.reason,
        })
    }

    /// The judged rounds of a campaign, oldest first; replays are none.
    async fn rounds_of(&self, campaign: &str) -> Result<Vec<RoundRow>> {
        let rows = self.table(campaign).await?;
        let rounds = rows.into_iter().filter(|row| row.replay_of.is_none());
        Ok(rounds.filter_map(|row| row.round).collect())
    }
}
