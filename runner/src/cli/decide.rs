//! `runner decide`: a person's decision, kept beside the verdict.

use std::process::ExitCode;

use anyhow::Context as _;

use super::Context;
use crate::model::DecisionAction;
use crate::record::Records;

/// Arguments of `runner decide`.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("action").required(true)))]
pub(super) struct Args {
    /// The run: its number, or its head's commit (or its name in git), tree or patch-id.
    run: String,
    /// The lever stays.
    #[arg(long, group = "action")]
    land: bool,
    /// The lever goes.
    #[arg(long, group = "action")]
    revert: bool,
    /// Why.
    #[arg(long, value_parser = super::context::reason)]
    reason: String,
    /// Who decides [default: git's user.name, else USER].
    #[arg(long)]
    by: Option<String>,
}

/// Records the decision, judges the run again with it, and prints the verdict.
pub(super) async fn run(args: Args, context: &Context) -> anyhow::Result<ExitCode> {
    let records = Records::open_existing(&context.dirs).await?;
    let found = context.find_run(&records, &args.run).await?;
    let by = super::person(args.by, &context.repo).await?;
    let action = if args.land {
        DecisionAction::Land
    } else {
        DecisionAction::Revert
    };
    let judgement = records
        .decide(found.run, action, &args.reason, &by)
        .await
        .with_context(|| format!("recording the decision on run {}", found.run))?;
    if let Some(caveat) = found.caveat() {
        eprintln!("note: run {} was {caveat}", found.run);
    }
    println!("run {}: {}", found.run, judgement.verdict);
    println!("{}", judgement.headline);
    Ok(ExitCode::from(judgement.verdict.exit_code()))
}
