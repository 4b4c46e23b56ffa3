//! `runner show`: the list of recorded runs, or one of them.

use std::process::ExitCode;

use super::Context;
use crate::numbers;
use crate::record::{Presentable, Records, TableRow};
use crate::render::view::DriftView;
use crate::render::{self, RoundRow};
use crate::term::{Layout, RunLine, run_list, show_summary};

/// Arguments of `runner show`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The run: its number, or its head by commit, branch, tree or patch-id [default: list them].
    run: Option<String>,
    /// Only runs of this campaign [default: the one of the repository's campaign.toml, as far as
    /// the database has it].
    #[arg(long, value_name = "NAME", conflicts_with = "run")]
    campaign: Option<String>,
    /// The runs of all campaigns.
    #[arg(long, conflicts_with_all = ["run", "campaign"])]
    all: bool,
    /// Print a versioned JSON document.
    #[arg(long, conflicts_with = "markdown")]
    json: bool,
    /// Print the pull-request comment.
    #[arg(long, requires = "run")]
    markdown: bool,
}

/// Shows one run or the list.
pub(super) async fn run(args: Args, context: &Context) -> anyhow::Result<ExitCode> {
    let records = Records::open_existing(&context.dirs).await?;
    let Some(run) = &args.run else {
        return list(&records, &args, context).await;
    };
    let found = context.find_run(&records, run).await?;
    super::context::tell_caveat(&found, found.run);
    if found.runs.len() > 1 {
        let others: Vec<_> = found.runs.iter().skip(1).map(ToString::to_string).collect();
        eprintln!(
            "note: this is the newest; earlier runs of it: {}",
            others.join(", ")
        );
    }
    if let Some(text) = super::calibrate::recorded(&records, found.run, args.json).await? {
        print!("{text}");
        return Ok(ExitCode::SUCCESS);
    }
    let presentable = records.present(found.run).await?;
    print!("{}", presented(&presentable, &args)?);
    Ok(ExitCode::SUCCESS)
}

fn presented(presentable: &Presentable, args: &Args) -> anyhow::Result<String> {
    if args.json {
        return Ok(format!("{:#}\n", presentable.document()));
    }
    let view = presentable.view();
    if args.markdown {
        return Ok(render::comment(&view, &render::CommentOptions::default())?.markdown);
    }
    Ok(show_summary(&view, Layout::stdout()))
}

async fn list(records: &Records, args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let wanted = wanted_campaign(records, args, context).await?;
    let mut shown = Vec::new();
    let mut hidden = 0;
    for (campaign, _) in records.campaigns().await? {
        let rows = records.table(&campaign).await?;
        match wanted.as_ref().is_none_or(|wanted| *wanted == campaign) {
            true => shown.extend(rows.into_iter().map(|row| (campaign.clone(), row))),
            false => hidden += rows.len(),
        }
    }
    shown.sort_by_key(|(_, row)| row.run);
    let mut campaigns: Vec<&str> = shown.iter().map(|(name, _)| name.as_str()).collect();
    campaigns.sort_unstable();
    campaigns.dedup();
    let mut drift = Vec::new();
    for campaign in campaigns {
        let views = crate::anchor::views(campaign, records).await?;
        drift.extend(views.into_iter().map(|view| (campaign.to_owned(), view)));
    }
    if args.json {
        println!("{:#}", list_document(&shown, &drift, hidden));
        return Ok(ExitCode::SUCCESS);
    }
    match shown.is_empty() {
        true => println!("no runs are recorded in {}", records.db().path().display()),
        false => print!("{}", list_text(&shown)),
    }
    for (campaign, view) in &drift {
        let line = format!(
            "{campaign} {}: {} (runner anchor show)",
            view.bench,
            view.sentence()
        );
        println!("{}", crate::render::text::one_line(&line));
    }
    if hidden > 0 {
        let hidden = numbers::counted(hidden, "run");
        println!("{hidden} of other campaigns not shown: runner show --all");
    }
    Ok(ExitCode::SUCCESS)
}

/// The campaign to list; `None` for all.
async fn wanted_campaign(
    records: &Records,
    args: &Args,
    context: &Context,
) -> anyhow::Result<Option<String>> {
    if args.all {
        return Ok(None);
    }
    if let Some(named) = &args.campaign {
        let found = crate::site::choose(records, Some(named), None).await?;
        return Ok(Some(found.name));
    }
    let known = records.campaigns().await?;
    let own = context.own_campaign();
    Ok(own.filter(|own| known.iter().any(|(name, _)| name == own)))
}

fn list_document(
    rows: &[(String, TableRow)],
    drift: &[(String, DriftView)],
    not_shown: usize,
) -> serde_json::Value {
    let against_anchor: Vec<_> = drift
        .iter()
        .map(|(campaign, view)| serde_json::json!({ "campaign": campaign, "drift": view }))
        .collect();
    let runs: Vec<_> = rows
        .iter()
        .map(|(campaign, row)| list_entry(campaign, row))
        .collect();
    serde_json::json!({
        "schema": crate::model::SCHEMA_VERSION,
        "kind": "runs",
        "runs": runs,
        "against_anchor": against_anchor,
        "not_shown": not_shown,
    })
}

/// The list for a terminal.
pub(super) fn list_text(rows: &[(String, TableRow)]) -> String {
    let lines: Vec<RunLine> = rows
        .iter()
        .map(|(campaign, row)| line(campaign, row))
        .collect();
    run_list(&lines, Layout::stdout())
}

/// A campaign's judged rounds, the attempt that stands of each registration.
pub(super) fn standing_rounds(campaign: &str, rows: Vec<TableRow>) -> Vec<(String, TableRow)> {
    let rounds = rows.iter().filter(|row| row.is_round());
    let rounds: Vec<RoundRow> = rounds.filter_map(|row| row.round.clone()).collect();
    let standing = render::standing_rounds(&rounds);
    rows.into_iter()
        .filter_map(|mut row| {
            let run = row.run.to_string();
            let round = standing.iter().find(|round| round.run_id == run)?;
            row.round = Some(round.clone());
            Some((campaign.to_owned(), row))
        })
        .collect()
}

fn line(campaign: &str, row: &TableRow) -> RunLine {
    let round = row.round.as_ref();
    let effects = round.map(|round| {
        let known = round.benches.iter().filter_map(|bench| {
            let text = numbers::percent(bench.estimate?, bench.bar_percent);
            let was = bench
                .estimate_was
                .map(|was| format!(" (was {})", numbers::percent(was, None)));
            Some(format!("{} {text}{}", bench.bench, was.unwrap_or_default()))
        });
        known.collect::<Vec<_>>().join(", ")
    });
    RunLine {
        run: match row.replay_of {
            Some(original) => format!("{} (replay of {original})", row.run),
            None if row.original_is_absent => format!("{} (replay)", row.run),
            None => row.run.to_string(),
        },
        campaign: campaign.to_owned(),
        round: round
            .and_then(|round| round.round.clone())
            .unwrap_or_default(),
        lever: match round {
            Some(round) => match &round.attempt_text {
                Some(text) => format!("{} ({text})", round.lever),
                None => round.lever.clone(),
            },
            None => row.subject.clone(),
        },
        verdict: row.outcome(),
        effects: effects.unwrap_or_default(),
        date: numbers::day(row.started_at),
        head: round
            .map(|round| round.head.short().to_owned())
            .unwrap_or_default(),
    }
}

fn list_entry(campaign: &str, row: &TableRow) -> serde_json::Value {
    let round = row.round.as_ref();
    serde_json::json!({
        "id": row.run,
        "campaign": campaign,
        "state": row.state,
        "replay_of": row.replay_of,
        "purpose": row.purpose,
        "started_at": row.started_at,
        "subject": row.subject,
        "round": round.and_then(|round| round.round.clone()),
        "lever": round.map(|round| round.lever.clone()),
        "head": round.map(|round| round.head.clone()),
        "verdict": round.map(|round| round.verdict),
        "judged_verdict": round.map(|round| round.judged_verdict),
        "corrected": round.is_some_and(|round| round.corrected),
        "headline": row.headline,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::RunId;

    #[test]
    fn the_demo_lists_each_lever_once_however_often_it_was_run() {
        let history = render::fixtures::history();
        let row = |run: i64, replay_of: Option<i64>, round: Option<&RoundRow>| TableRow {
            run: RunId(run),
            state: db::RunState::Ended,
            replay_of: replay_of.map(RunId),
            original_is_absent: false,
            purpose: db::Purpose::Lever,
            subject: "mmq: a lever".to_owned(),
            started_at: crate::model::UnixMillis(0),
            headline: None,
            round: round.map(|round| RoundRow {
                run_id: run.to_string(),
                ..round.clone()
            }),
        };
        let rows = vec![
            row(1, None, Some(&history[0])),
            row(2, None, Some(&history[1])),
            row(3, None, Some(&history[0])),
            row(4, Some(2), Some(&history[1])),
            row(5, None, None),
        ];
        let shown = standing_rounds("mmq", rows);
        let runs: Vec<i64> = shown.iter().map(|(_, row)| row.run.0).collect();
        assert_eq!(runs, [1, 2]);
        let line = line("mmq", &shown[0].1);
        let text = "attempt 1 of 2 stands";
        assert_eq!(line.lever, format!("{} ({text})", history[0].lever));
    }
}
