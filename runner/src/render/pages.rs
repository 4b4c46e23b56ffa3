//! The pages: one index per campaign and one page per run, each a single file that needs no
//! script and loads nothing, so that it works from disk and on any static host.

use serde::Serialize;

use super::attempts::standing_rounds;
use super::engine::{RenderError, render};
use super::input::{LeverInput, RoundRow};
use super::text::excerpt;
use super::view::{
    CommitView, DriftView, LeverView, Plot, RoundView, RoundsView, VerdictView, lever_view, plot,
    rounds_view,
};
use crate::model::{DecisionAction, Role, Side, UnixMillis, Verdict};
use crate::numbers;

/// Lines shown of a compiler's first error.
const ERROR_LINES: usize = 8;

/// The style sheet, inlined into every page.
const STYLE: &str = include_str!("../../../templates/style.css");

/// Everything on a campaign's index page.
#[derive(Debug, Clone)]
pub struct IndexInput<'a> {
    /// The campaign's name.
    pub campaign: &'a str,
    /// Its title.
    pub title: &'a str,
    /// The rounds, oldest first.
    pub rounds: &'a [RoundRow],
    /// Where it stands against its anchor; empty where nothing was measured against one.
    pub drift: &'a [DriftView],
    /// When the page is made.
    pub generated_at: UnixMillis,
}

#[derive(Serialize)]
struct Page<'a> {
    style: &'a str,
    title: String,
    root: &'a str,
}

#[derive(Serialize)]
struct IndexPage<'a> {
    page: Page<'a>,
    campaign: &'a str,
    title: &'a str,
    tally: Vec<Tally>,
    latest: Option<Latest>,
    rounds: RoundsView,
    drift: &'a [DriftView],
    count: usize,
    generated: String,
}

/// How many rounds ended with a verdict.
#[derive(Serialize)]
struct Tally {
    verdict: VerdictView,
    count: usize,
}

/// The newest round that landed.
#[derive(Serialize)]
struct Latest {
    lever: String,
    round: String,
    href: String,
    effects: Vec<String>,
    date: String,
}

#[derive(Serialize)]
struct LeverPage<'a> {
    page: Page<'a>,
    lever: &'a LeverView,
    first_errors: Vec<FirstError>,
    sides: [SideCommit<'a>; 2],
    plots: Vec<Plot>,
    previous: Option<Neighbour>,
    next: Option<Neighbour>,
}

#[derive(Serialize)]
struct FirstError {
    side: &'static str,
    text: String,
}

#[derive(Serialize)]
struct SideCommit<'a> {
    name: &'static str,
    commit: &'a CommitView,
}

#[derive(Serialize)]
struct Neighbour {
    href: String,
    lever: String,
}

/// The path of a run's page below the site's root.
pub fn lever_path(run_id: &str) -> String {
    let safe: String = run_id
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || "-_".contains(c) {
                c
            } else {
                '_'
            }
        })
        .collect();
    format!("lever/{safe}.html")
}

/// The index page of a campaign.
pub fn index_page(input: &IndexInput<'_>) -> Result<String, RenderError> {
    let mut rounds = rounds_view(input.rounds, None);
    for row in &mut rounds.rows {
        row.link.get_or_insert_with(|| lever_path(&row.run_id));
    }
    rounds.rows.reverse();
    let page = IndexPage {
        page: Page {
            style: STYLE,
            title: format!("{} · Roundhouse", input.title),
            root: "",
        },
        campaign: input.campaign,
        title: input.title,
        tally: tally(input.rounds),
        latest: latest(&rounds),
        count: input.rounds.len(),
        drift: input.drift,
        rounds,
        generated: numbers::time(input.generated_at),
    };
    render("index.html.j2", &page)
}

/// Rounds by verdict; verified reverts, which are book-keeping, are counted for themselves.
fn tally(rounds: &[RoundRow]) -> Vec<Tally> {
    let mut kinds: Vec<(Verdict, bool)> = rounds.iter().map(kind).collect();
    kinds.sort();
    kinds.dedup();
    let count = |wanted| rounds.iter().filter(|row| kind(row) == wanted).count();
    kinds
        .into_iter()
        .map(|(verdict, is_revert)| Tally {
            verdict: match is_revert {
                true => VerdictView::from(verdict).with_why("verified reverts", true),
                false => verdict.into(),
            },
            count: count((verdict, is_revert)),
        })
        .collect()
}

fn kind(row: &RoundRow) -> (Verdict, bool) {
    let is_revert = row.is_verified_revert && row.verdict == Verdict::Reverted;
    (row.verdict, is_revert)
}

fn latest(newest_first: &RoundsView) -> Option<Latest> {
    let landed = |v: Verdict| matches!(v, Verdict::Landed | Verdict::LandedSubBar);
    // What a person decided to revert is not where the campaign stands.
    let stays = |row: &RoundView| {
        let decided = row.decision.as_ref().map(|decision| decision.action);
        decided != Some(DecisionAction::Revert)
    };
    let mut rows = newest_first.rows.iter();
    let row = rows.find(|row| landed(row.verdict.key) && stays(row))?;
    let effects = row
        .cells
        .iter()
        .flatten()
        .filter(|cell| cell.role == Role::Target)
        .filter_map(|cell| Some(format!("{} {}", cell.bench, cell.effect.as_ref()?.estimate)))
        .collect();
    Some(Latest {
        lever: row.lever.clone(),
        round: row.round.clone(),
        href: row.link.clone().unwrap_or_else(|| lever_path(&row.run_id)),
        effects,
        date: row.date.clone(),
    })
}

fn first_errors(lever: &LeverView) -> Vec<FirstError> {
    let error = |(side, text): (Side, &str)| FirstError {
        side: side.as_str(),
        text: excerpt(text, ERROR_LINES, 0),
    };
    lever.first_errors().map(error).collect()
}

/// The rounds before and after in the index' order, where each registration stands once.
fn neighbours(input: &LeverInput<'_>) -> (Option<Neighbour>, Option<Neighbour>) {
    let own = RoundRow::from_run(input);
    let all = [
        input.previous_rounds,
        std::slice::from_ref(&own),
        input.later_rounds,
    ];
    let all = standing_rounds(&all.concat());
    let same = |row: &RoundRow| row.registered.same_registration(&own.registered);
    let Some(at) = all.iter().position(same) else {
        return (None, None);
    };
    let neighbour = |row: &RoundRow| Neighbour {
        href: format!("../{}", lever_path(&row.run_id)),
        lever: row.lever.clone(),
    };
    let before = at.checked_sub(1).and_then(|at| all.get(at));
    (before.map(neighbour), all.get(at + 1).map(neighbour))
}

/// The page of one run.
pub fn lever_page(input: &LeverInput<'_>) -> Result<String, RenderError> {
    let mut lever = lever_view(input);
    for row in &mut lever.rounds.rows {
        row.link
            .get_or_insert_with(|| format!("../{}", lever_path(&row.run_id)));
    }
    for attempt in &mut lever.attempts {
        attempt
            .link
            .get_or_insert_with(|| format!("../{}", lever_path(&attempt.run_id)));
    }
    let plots = input
        .judgement
        .benches
        .iter()
        .enumerate()
        .filter_map(|(id, judged)| {
            let taken = input
                .evidence
                .benches
                .iter()
                .find(|t| t.bench == judged.bench)?;
            let corrected = lever.benches.iter().any(|bench| {
                bench.name == judged.bench
                    && (bench.effect_was.is_some() || bench.medians_was.is_some())
            });
            let plot = plot(id, judged, taken)?;
            Some(Plot { corrected, ..plot })
        })
        .collect();
    let (previous, next) = neighbours(input);
    let round = lever
        .round
        .as_deref()
        .map_or(String::new(), |round| format!("{round} "));
    let page = LeverPage {
        page: Page {
            style: STYLE,
            title: format!("{round}{}: {}", lever.lever, lever.verdict.word),
            root: "../",
        },
        previous,
        next,
        first_errors: first_errors(&lever),
        sides: [
            SideCommit {
                name: "head",
                commit: &lever.head,
            },
            SideCommit {
                name: "base",
                commit: &lever.base,
            },
        ],
        lever: &lever,
        plots,
    };
    render("lever.html.j2", &page)
}
