//! `runner show`: the list of recorded runs, or one of them.

use std::process::ExitCode;

use super::Context;
use crate::record::{Presentable, Records, Reference, TableRow};
use crate::term::{Layout, show_summary};

/// Arguments of `runner show`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The run: its number, or its head's commit, tree or patch-id; all runs without it.
    run: Option<String>,
    /// Only runs of this campaign.
    #[arg(long)]
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
    let found = records.resolve(&Reference::parse(run)).await?;
    if let Some(caveat) = found.caveat() {
        eprintln!("note: run {} was {caveat}", found.run);
    }
    if found.runs.len() > 1 {
        let others: Vec<_> = found.runs.iter().skip(1).map(ToString::to_string).collect();
        eprintln!("note: this is the newest; earlier runs of it: {}", others.join(", "));
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
        return Ok(crate::render::comment(&view, &crate::render::CommentOptions::default())?.markdown);
    }
    Ok(show_summary(&view, Layout::stdout()))
}

async fn list(records: &Records, args: &Args) -> anyhow::Result<ExitCode> {
    let mut all = Vec::new();
    for (campaign, _) in records.campaigns().await? {
        if args.campaign.as_ref().is_none_or(|wanted| *wanted == campaign) {
            let rows = records.table(&campaign).await?;
            all.extend(rows.into_iter().map(|row| (campaign.clone(), row)));
        }
    }
    all.sort_by_key(|(_, row)| row.run);
    if args.json {
        let runs: Vec<_> = all.iter().map(|(campaign, row)| list_entry(campaign, row)).collect();
        let document = serde_json::json!({
            "schema": crate::model::SCHEMA_VERSION,
            "kind": "runs",
            "runs": runs,
        });
        println!("{document:#}");
    } else if all.is_empty() {
        println!("no runs are recorded in {}", records.db().path().display());
    } else {
        print!("{}", super::listing::table(&all, Layout::stdout()));
    }
    Ok(ExitCode::SUCCESS)
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
