//! `runner decide`: a person's decision, kept beside the verdict.

use std::process::ExitCode;

use anyhow::Context as _;

use super::Context;
use crate::model::DecisionAction;
use crate::record::Records;
use crate::render::text::one_line;

/// Exit status and an example, below the options.
const HELP: &str = "\
The decision is kept beside the verdict. It makes LANDED (sub-bar) of an effect that is real and
below its bar where all claims hold and nothing in the ledger got worse; it changes no other verdict.

Exit status: 0 where the decision was recorded, whatever the verdict; else 2.

Example: runner decide 12 --land --reason 'opens the way for r33'";

/// Arguments of `runner decide`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
#[command(group(clap::ArgGroup::new("action").required(true)))]
pub(super) struct Args {
    /// The run: its number, or its head by commit, branch, tree or patch-id where that fits one
    /// run only.
    run: String,
    /// The lever lands.
    #[arg(long, group = "action")]
    land: bool,
    /// The lever is reverted.
    #[arg(long, group = "action")]
    revert: bool,
    /// Why.
    #[arg(long, value_name = "TEXT", value_parser = super::context::reason)]
    reason: String,
    /// Who decides [default: git's user.name, else USER].
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
}

/// Records the decision, judges the run again with it, and prints both.
pub(super) async fn run(args: Args, context: &Context) -> anyhow::Result<ExitCode> {
    let records = Records::open_existing(&context.dirs).await?;
    let found = context.find_one_run(&records, &args.run).await?;
    let by = super::person(args.by, &context.repo).await?;
    let action = if args.land {
        DecisionAction::Land
    } else {
        DecisionAction::Revert
    };
    records
        .decide(found.run, action, &args.reason, &by)
        .await
        .with_context(|| format!("recording the decision on run {}", found.run))?;
    super::context::tell_caveat(&found, found.run);
    let word = if args.land { "land" } else { "revert" };
    let recorded = format!(
        "recorded on run {}: {word}, by {by}: {}",
        found.run, args.reason
    );
    println!("{}", one_line(&recorded));
    let view = records.present(found.run).await?.view();
    let verdict = view.verdict.text(!view.corrections.is_empty());
    println!("run {}: {verdict}", found.run);
    println!("{}", one_line(&view.headline));
    if let Some(standing) = view.standing.filter(|standing| !standing.own) {
        println!(
            "this changes nothing that counts: {}; decide on run {}",
            standing.text, standing.run_id
        );
    }
    Ok(ExitCode::SUCCESS)
}
