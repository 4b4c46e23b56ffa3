//! The sections of a summary that hold the rest of the record: registration, builds, machine,
//! logs, the campaign.

use super::table::{figures, text, words};
use super::writer::Out;
use crate::render::text::{clean, one_line, shorten};
use crate::render::view::{Fact, LeverView, RoundCell, RoundsView};

impl Out {
    pub(super) fn registration(&mut self, lever: &LeverView) {
        let registration = &lever.registration;
        let mut facts: Vec<Fact> = Vec::new();
        let mut add = |name: &str, value: &str| {
            facts.push(Fact {
                name: name.to_owned(),
                value: value.to_owned(),
            });
        };
        if let Some(hypothesis) = &registration.hypothesis {
            add("hypothesis", hypothesis);
        }
        registration.bars.iter().for_each(|b| add("bar", &b.text));
        registration
            .claims
            .iter()
            .for_each(|c| add("claim", &c.text));
        registration
            .retry_when
            .iter()
            .for_each(|c| add("retry when", c));
        registration
            .errors
            .iter()
            .for_each(|e| add("could not be read", e));
        add("stored", &registration.registered_at);
        add("SHA-256", &registration.sha256);
        self.facts("Registration", &facts);
    }

    pub(super) fn builds(&mut self, lever: &LeverView) {
        let facts: Vec<Fact> = lever
            .builds
            .iter()
            .map(|b| Fact {
                name: b.side.to_string(),
                value: b.text.clone(),
            })
            .collect();
        self.facts("Builds", &facts);
    }

    pub(super) fn facts(&mut self, title: &str, facts: &[Fact]) {
        if facts.is_empty() {
            return;
        }
        self.title(title);
        let width = facts
            .iter()
            .map(|f| f.name.chars().count())
            .max()
            .unwrap_or(0)
            .min(24);
        for fact in facts {
            let name = shorten(&one_line(&fact.name), 40);
            self.hanging(&format!("{name:<width$}  "), &fact.value, 2);
        }
    }

    pub(super) fn logs(&mut self, lever: &LeverView) {
        for log in &lever.logs {
            self.title(&format!(
                "Log: {} ({})",
                one_line(&log.title),
                shorten(&log.artifact, 13)
            ));
            for line in log
                .excerpt
                .iter()
                .flat_map(|text| clean(text).lines().map(str::to_owned).collect::<Vec<_>>())
            {
                self.line(&format!("  {}", line.trim_end()));
            }
        }
    }

    pub(super) fn rounds(&mut self, rounds: &RoundsView) {
        if rounds.rows.len() < 2 {
            return;
        }
        self.title("Campaign");
        let rows: Vec<Vec<String>> = rounds
            .rows
            .iter()
            .map(|r| {
                let effects: Vec<String> = r.cells.iter().flatten().filter_map(cell_text).collect();
                let lever = shorten(&r.lever, 60);
                vec![
                    r.round.clone(),
                    match &r.attempt_text {
                        None => lever,
                        Some(text) => format!("{lever} ({text})"),
                    },
                    r.verdict.text(r.corrected),
                    effects.join(", "),
                    r.date.clone(),
                    r.head.clone(),
                ]
            })
            .collect();
        let columns = [
            words("Round"),
            text("Lever"),
            text("Verdict"),
            text("Effect"),
            figures("Date").rank(2),
            figures("Commit").rank(1),
        ];
        self.table(&columns, &rows);
        if rounds.earlier > 0 {
            self.paragraph(&format!("and {} earlier", rounds.earlier), 2);
        }
    }

    pub(super) fn attempts(&mut self, lever: &LeverView) {
        if lever.attempts.is_empty() {
            return;
        }
        self.title("Other attempts at the same registration");
        for attempt in &lever.attempts {
            let verdict = attempt.verdict.text(attempt.corrected);
            let stands = if attempt.stands { ", stands" } else { "" };
            let line = format!(
                "attempt {}, {}: {verdict}{stands}; runner show {}",
                attempt.attempt, attempt.date, attempt.run_id
            );
            self.paragraph(&line, 2);
        }
    }
}

/// A bench's estimate, with what it was before a correction.
fn cell_text(cell: &RoundCell) -> Option<String> {
    let estimate = &cell.effect.as_ref()?.estimate;
    let was = cell.was.as_ref().map(|was| format!(" (was {was})"));
    Some(format!(
        "{} {estimate}{}",
        cell.bench,
        was.unwrap_or_default()
    ))
}
