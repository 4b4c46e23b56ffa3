//! `runner show`: the list of recorded runs, or one of them.

use std::process::ExitCode;

use super::Context;
use crate::numbers;
use crate::record::{Presentable, Records, TableRow};
use crate::term::{Layout, RunLine, run_list, show_summary};

/// Arguments of `runner show`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The run: its number, or its head by commit, branch, tree or patch-id [default: list all].
    run: Option<String>,
    /// Only runs of this campaign.
    #[arg(long, value_name = "NAME")]
    campaign: Option<String>,
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
        return list(&records, &args).await;
    };
    let found = context.find_run(&records, run).await?;
    if let Some(caveat) = found.caveat() {
        eprintln!("note: run {} was {caveat}", found.run);
    }
    if found.runs.len() > 1 {
        let others: Vec<_> = found.runs.iter().skip(1).map(ToString::to_string).collect();
        eprintln!(
            "note: this is the newest; earlier runs of it: {}",
            others.join(", ")
        );
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
        return Ok(
            crate::render::comment(&view, &crate::render::CommentOptions::default())?.markdown,
        );
    }
    Ok(show_summary(&view, Layout::stdout()))
}

async fn list(records: &Records, args: &Args) -> anyhow::Result<ExitCode> {
    let mut all = Vec::new();
    for (campaign, _) in records.campaigns().await? {
        if args
            .campaign
            .as_ref()
            .is_none_or(|wanted| *wanted == campaign)
        {
            let rows = records.table(&campaign).await?;
            all.extend(rows.into_iter().map(|row| (campaign.clone(), row)));
        }
    }
    all.sort_by_key(|(_, row)| row.run);
    if args.json {
        let runs: Vec<_> = all
            .iter()
            .map(|(campaign, row)| list_entry(campaign, row))
            .collect();
        let document = serde_json::json!({
            "schema": crate::model::SCHEMA_VERSION,
            "kind": "runs",
            "runs": runs,
        });
        println!("{document:#}");
    } else if all.is_empty() {
        println!("no runs are recorded in {}", records.db().path().display());
    } else {
        print!("{}", list_text(&all));
    }
    Ok(ExitCode::SUCCESS)
}

/// The list for a terminal.
pub(super) fn list_text(rows: &[(String, TableRow)]) -> String {
    let lines: Vec<RunLine> = rows
        .iter()
        .map(|(campaign, row)| line(campaign, row))
        .collect();
    run_list(&lines, Layout::stdout())
}

fn line(campaign: &str, row: &TableRow) -> RunLine {
    let round = row.round.as_ref();
    let effects = round.map(|round| {
        let known = round.benches.iter().filter_map(|bench| {
            let text = numbers::percent(bench.estimate?, bench.bar_percent);
            Some(format!("{} {text}", bench.bench))
        });
        known.collect::<Vec<_>>().join(", ")
    });
    RunLine {
        run: match row.replay_of {
            Some(original) => format!("{} (replay of {original})", row.run),
            None => row.run.to_string(),
        },
        campaign: campaign.to_owned(),
        round: round
            .and_then(|round| round.round.clone())
            .unwrap_or_default(),
        lever: round.map_or_else(|| row.subject.clone(), |round| round.lever.clone()),
        verdict: verdict(row),
        effects: effects.unwrap_or_default(),
        date: numbers::day(row.started_at),
        head: round
            .map(|round| round.head.short().to_owned())
            .unwrap_or_default(),
    }
}

fn verdict(row: &TableRow) -> String {
    match (&row.round, row.state) {
        (Some(round), _) if round.corrected => format!("{} (corrected)", round.verdict),
        (Some(round), _) => round.verdict.to_string(),
        (None, db::RunState::Open) => "in progress, or killed".to_owned(),
        (None, db::RunState::Interrupted) => "interrupted".to_owned(),
        (None, db::RunState::Ended) => "not judged".to_owned(),
    }
}

fn list_entry(campaign: &str, row: &TableRow) -> serde_json::Value {
    let round = row.round.as_ref();
    serde_json::json!({
        "id": row.run,
        "campaign": campaign,
        "state": row.state,
        "replay_of": row.replay_of,
        "started_at": row.started_at,
        "subject": row.subject,
        "round": round.and_then(|round| round.round.clone()),
        "lever": round.map(|round| round.lever.clone()),
        "head": round.map(|round| round.head.clone()),
        "verdict": round.map(|round| round.verdict),
        "corrected": round.is_some_and(|round| round.corrected),
        "headline": row.headline,
    })
}
