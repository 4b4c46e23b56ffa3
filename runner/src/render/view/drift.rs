//! Where a campaign stands against its anchor: what the landed rounds claim together, what was
//! measured, and where the level changed.

use serde::Serialize;

use super::drift_plot::{DriftPlot, drift_plot};
use crate::anchor::{Change, Claimed, Drift, Standing};
use crate::numbers::{self, counted};

/// One bench.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DriftView {
    /// The bench.
    pub bench: String,
    /// What the landed rounds claim together: `+9.10 %`; `None` where none has a figure.
    pub claimed: Option<String>,
    /// From how many rounds: `5 rounds`.
    pub rounds: String,
    /// The estimate of the newest head: `+6.80 %`.
    pub measured: String,
    /// Its interval: `[+6.10, +7.40]`.
    pub interval: String,
    /// The interval's coverage.
    pub coverage: String,
    /// The measured head, short.
    pub head: String,
    /// The anchor, short.
    pub anchor: String,
    /// The run.
    pub run: String,
    /// Its page, below the site's root.
    pub link: String,
    /// The day it was measured.
    pub date: String,
    /// How many measurements the series has: `12 measurements`.
    pub measurements: String,
    /// Steps, creeps, and what limits the comparison, a sentence each.
    pub notes: Vec<String>,
    /// The series; `None` of a single measurement.
    pub plot: Option<DriftPlot>,
}

impl DriftView {
    /// `claimed +9.10 %, measured +6.80 % [+6.10, +7.40]`.
    pub fn sentence(&self) -> String {
        let claimed = match &self.claimed {
            Some(claimed) => format!("claimed {claimed}"),
            None => "nothing claimed".to_owned(),
        };
        format!("{claimed}, measured {} {}", self.measured, self.interval)
    }
}

/// Builds the views; `anchor` is the pinned commit, short.
pub fn drift_views(standings: &[Standing], anchor: &str) -> Vec<DriftView> {
    let views = standings.iter().enumerate();
    views
        .filter_map(|(id, standing)| drift_view(id, standing, anchor))
        .collect()
}

fn drift_view(id: usize, standing: &Standing, anchor: &str) -> Option<DriftView> {
    let newest = standing.newest()?;
    let claimed = standing.claimed.percent;
    let text = numbers::effect_text(newest.estimate, newest.interval, None);
    Some(DriftView {
        bench: standing.bench.clone(),
        claimed: claimed.map(|percent| numbers::percent(percent, None)),
        rounds: counted(standing.claimed.rounds.len(), "round"),
        measured: text.estimate,
        interval: text.interval,
        coverage: numbers::coverage(newest.coverage),
        head: newest.head.short().to_owned(),
        anchor: anchor.to_owned(),
        run: newest.run.to_string(),
        link: crate::render::pages::lever_path(&newest.run.to_string()),
        date: numbers::day(newest.at),
        measurements: counted(standing.points.len(), "measurement"),
        notes: notes(standing),
        plot: drift_plot(id, standing),
    })
}

fn notes(standing: &Standing) -> Vec<String> {
    let mut notes: Vec<String> = standing.changes.iter().map(change_words).collect();
    notes.extend(standing.drifts.iter().map(drift_words));
    let claimed = &standing.claimed;
    let without = claimed.rounds.iter().filter(|(_, own)| own.is_none());
    let without: Vec<&str> = without.map(|(name, _)| name.as_str()).collect();
    if !without.is_empty() {
        notes.push(format!(
            "landed without a figure on {}: {}",
            standing.bench,
            without.join(", ")
        ));
    }
    if claimed.other_machine > 0 {
        notes.push(format!(
            "{} of the {} that claim were measured on another machine than this series",
            claimed.other_machine,
            counted(claimed.rounds.len(), "round")
        ));
    }
    if !standing.not_in_head.is_empty() {
        notes.push(format!(
            "landed, but not among the commits of the measured head since the anchor: {}",
            standing.not_in_head.join(", ")
        ));
    }
    notes
}

/// `+2.10 % between 1f0c and 7ab3: r22 claimed +1.40 %`.
fn change_words(change: &Change) -> String {
    format!(
        "{} between {} and {}: {}",
        numbers::percent(change.percent, None),
        change.from.short(),
        change.to.short(),
        claims_words(&change.claimed)
    )
}

fn drift_words(drift: &Drift) -> String {
    format!(
        "crept by {} from {} to {}: {}",
        numbers::percent(drift.percent, None),
        drift.from.short(),
        drift.to.short(),
        claims_words(&drift.claimed)
    )
}

fn claims_words(claimed: &Claimed) -> String {
    if claimed.rounds.is_empty() {
        return "no round landed there".to_owned();
    }
    let own = |(name, estimate): &(String, Option<f64>)| match estimate {
        Some(estimate) => format!("{name} claimed {}", numbers::percent(*estimate, None)),
        None => format!("{name} claimed no figure"),
    };
    let all: Vec<String> = claimed.rounds.iter().map(own).collect();
    let together = match (claimed.rounds.len(), claimed.percent) {
        (2.., Some(percent)) => format!(", together {}", numbers::percent(percent, None)),
        _ => String::new(),
    };
    format!("{}{together}", all.join(", "))
}
