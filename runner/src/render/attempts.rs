//! A lever that was measured more than once. The first attempt that decided something stands in
//! every table, or the one confirmation of its registration; attempts are never pooled, and the
//! best of them is never picked. None is hidden: each keeps its page, and the one that stands
//! names the others.

use super::input::RoundRow;
use crate::model::{Finding, Role, Verdict};
use crate::numbers::counted;

/// All attempts at one registration, oldest first. Replays are none.
#[derive(Debug, Clone)]
pub struct Attempts<'a> {
    rows: Vec<&'a RoundRow>,
}

/// Why an attempt is the one that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Because {
    /// It is the first that decided something.
    FirstDecided,
    /// It was declared to replace a flaky verdict.
    Confirms,
    /// None decided anything, and it is the newest.
    NoneDecided,
}

/// A confirmation run that may be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confirmable {
    /// The run whose verdict stands now, as tables name it.
    pub confirms: String,
    /// In what way it is flaky.
    pub reason: String,
}

/// Whether a run settled something about its lever: the machine was in order, and it was not cut
/// short. What was judged once was seen, so a correction to ENV-INVALID does not make room for
/// another try; [`Attempts::confirmable`] does, once.
pub fn is_decided(row: &RoundRow) -> bool {
    !row.registered.interrupted
        && (says_something(row.verdict) || says_something(row.judged_verdict))
}

fn says_something(verdict: Verdict) -> bool {
    !matches!(verdict, Verdict::EnvInvalid | Verdict::NotMeasured)
}

/// One row for each registration, the attempt that stands, in the order of the first attempts'
/// places; it says which attempt it is and which others there are. Rows come oldest first.
pub fn standing_rounds(rows: &[RoundRow]) -> Vec<RoundRow> {
    let groups = Attempts::all(rows);
    let mut shown: Vec<RoundRow> = Vec::with_capacity(groups.len());
    for (at, group) in groups.iter().enumerate() {
        let (index, _) = group.standing();
        let mut row = group.rows[index].clone();
        let ids = |rows: &[&RoundRow]| rows.iter().map(|r| r.run_id.clone()).collect();
        row.attempt = index + 1;
        row.earlier = ids(&group.rows[..index]);
        row.later = ids(&group.rows[index + 1..]);
        row.attempt_text = group.text(before(&groups[..at], &row));
        shown.push(row);
    }
    let place = |row: &RoundRow| rows.iter().position(|other| other.run_id == row.run_id);
    shown.sort_by_key(place);
    shown
}

/// The newest registration of the same code before this one, where that decided something.
pub fn before<'g, 'a>(earlier: &'g [Attempts<'a>], row: &RoundRow) -> Option<&'g RoundRow>
where
    'a: 'g,
{
    let mut same = earlier
        .iter()
        .rev()
        .filter(|group| group.rows[0].registered.same_code(&row.registered));
    same.find_map(|group| Some(group.stands()).filter(|row| is_decided(row)))
}

impl<'a> Attempts<'a> {
    /// All rows by registration, each group where its first attempt is. Rows come oldest first.
    pub fn all(rows: &'a [RoundRow]) -> Vec<Attempts<'a>> {
        let mut groups: Vec<Attempts<'a>> = Vec::new();
        for row in rows {
            let own = |group: &&mut Attempts<'a>| {
                let mut members = group.rows.iter();
                members.any(|other| other.registered.same_registration(&row.registered))
            };
            match groups.iter_mut().find(own) {
                Some(group) => group.rows.push(row),
                None => groups.push(Attempts { rows: vec![row] }),
            }
        }
        groups
    }

    /// The attempts, oldest first; at least one.
    pub fn rows(&self) -> &[&'a RoundRow] {
        &self.rows
    }

    /// Which attempt a run is, from 0.
    pub fn position(&self, run_id: &str) -> Option<usize> {
        self.rows.iter().position(|row| row.run_id == run_id)
    }

    /// Which attempt counts, from 0, and why.
    pub fn standing(&self) -> (usize, Because) {
        let confirms = |row: &&&RoundRow| row.registered.confirms.is_some() && is_decided(row);
        let find =
            |wanted: &dyn Fn(&&&RoundRow) -> bool| self.rows.iter().position(|row| wanted(&row));
        if let Some(at) = find(&confirms) {
            return (at, Because::Confirms);
        }
        match find(&|row| is_decided(row)) {
            Some(at) => (at, Because::FirstDecided),
            None => (self.rows.len() - 1, Because::NoneDecided),
        }
    }

    /// The attempt that counts.
    pub fn stands(&self) -> &'a RoundRow {
        self.rows[self.standing().0]
    }

    /// What a table says beside the attempt that stands; `again` is the registration before this
    /// one of the same code.
    fn text(&self, again: Option<&RoundRow>) -> Option<String> {
        let (index, because) = self.standing();
        let (number, all) = (index + 1, self.rows.len());
        let attempts = match because {
            _ if all == 1 => None,
            Because::FirstDecided => Some(format!("attempt {number} of {all} stands")),
            Because::Confirms => Some(format!("attempt {number} of {all}, a confirmation, stands")),
            Because::NoneDecided => Some(format!("attempt {number}; none decided anything")),
        };
        // One that was stopped while it measured was seen, and may have been stopped for that.
        let seen = |row: &&&RoundRow| row.registered.interrupted && row.registered.samples > 0;
        let stopped = match self.rows.iter().filter(seen).count() {
            0 => None,
            n if n == all => None,
            n => Some(format!("{} stopped while measuring", counted(n, "attempt"))),
        };
        let parts = [attempts, stopped, again.map(again_words)];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// Whether the registration's verdict is flaky and may be confirmed, once; else why not.
    pub fn confirmable(&self) -> Result<Confirmable, String> {
        let (index, because) = self.standing();
        let stands = self.rows[index];
        if because == Because::NoneDecided {
            return Err(format!(
                "no attempt has decided anything yet ({} by run {}): that is no verdict to \
                 confirm; make another attempt with `runner run`",
                stands.verdict, stands.run_id
            ));
        }
        let used = self.rows.iter().find(|row| {
            let cut_short = row.registered.interrupted && row.registered.samples > 0;
            row.registered.confirms.is_some() && (is_decided(row) || cut_short)
        });
        if let Some(used) = used {
            let how = match used.registered.interrupted {
                true => format!(
                    "was cut short after {} samples, and {} by run {} stands",
                    used.registered.samples, stands.verdict, stands.run_id
                ),
                false => format!("gave {}, which stands", used.verdict),
            };
            return Err(format!(
                "a registration is confirmed once, and its confirmation, run {}, {how}",
                used.run_id
            ));
        }
        match self.flaky() {
            Some(reason) => Ok(Confirmable {
                confirms: stands.run_id.clone(),
                reason,
            }),
            None => Err(format!(
                "{} by run {} is not flaky: no decided attempt at its registration differs, and \
                 its measurements left nothing open",
                stands.verdict, stands.run_id
            )),
        }
    }

    /// In what way the verdict is flaky: it was corrected to one that decides nothing, decided
    /// attempts disagree, or the measurements left a target open.
    fn flaky(&self) -> Option<String> {
        let (index, _) = self.standing();
        let stands = self.rows[index];
        if !says_something(stands.verdict) {
            return Some(format!(
                "{} by run {} was corrected to {}",
                stands.judged_verdict, stands.run_id, stands.verdict
            ));
        }
        let other = |row: &&&RoundRow| is_decided(row) && row.verdict != stands.verdict;
        if let Some(other) = self.rows.iter().find(other) {
            return Some(format!(
                "attempts disagree: {} by run {}, {} by run {}",
                stands.verdict, stands.run_id, other.verdict, other.run_id
            ));
        }
        let judged_open = stands.verdict == Verdict::Inconclusive
            && stands.judged_verdict == Verdict::Inconclusive;
        let open: Vec<&str> = stands
            .benches
            .iter()
            .filter(|b| judged_open && b.role == Role::Target && b.finding == Finding::Open)
            .map(|b| b.bench.as_str())
            .collect();
        (!open.is_empty()).then(|| {
            format!(
                "{} by run {}: its measurements leave {} open",
                stands.verdict,
                stands.run_id,
                open.join(", ")
            )
        })
    }
}

/// `registered again after run 12 was REVERTED`.
pub(super) fn again_words(before: &RoundRow) -> String {
    format!(
        "registered again after run {} was {}",
        before.run_id, before.verdict
    )
}

#[cfg(test)]
#[path = "attempts_tests.rs"]
mod tests;
