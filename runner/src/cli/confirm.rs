//! `runner confirm`: the one confirmation run of a registration with a flaky verdict.

use std::process::ExitCode;

use super::Context;
use crate::git::Repository;
use crate::pipeline::{self, Options};
use crate::record::Records;
use crate::replay;
use crate::term::{Layout, LiveView, run_summary};

/// What it is for and exit statuses, below the options.
const HELP: &str = "\
A verdict is flaky where decided attempts at the same registration disagree, or where the
measurements left a target open (INCONCLUSIVE). Its registration may then be measured once more. The
confirmation is stored as such before its first sample, and its verdict replaces the flaky one
whatever it says. A second one is refused. One that the machine spoiled (ENV-INVALID, NOT MEASURED)
may be made again; one that was stopped after its first sample may not.

Exit status: that of the verdict, as of `runner run`; 2 where there is nothing to confirm.

Example: runner confirm 12";

/// Arguments of `runner confirm`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// The run: its number, or its head by commit, branch, tree or patch-id.
    run: String,
    /// Wait for the device when another run holds it.
    #[arg(long)]
    wait: bool,
    /// Print the whole record as a versioned JSON document.
    #[arg(long)]
    json: bool,
}

/// Measures the recorded lever once more, with a seed of its own.
pub(super) async fn run(args: Args, context: &Context) -> anyhow::Result<ExitCode> {
    let records = Records::open_existing(&context.dirs).await?;
    let found = context.find_run(&records, &args.run).await?;
    super::context::tell_caveat(&found, found.original);
    let confirms = records.confirmable(found.original).await?;
    eprintln!("confirming: {}", confirms.reason);
    let original = records.load(confirms.run).await?;
    let repository = Repository::open(&context.repo, &context.dirs.cache)
        .await
        .ok();
    let mut prepared = replay::prepared(&original, repository, &records, &context.dirs).await?;
    prepared.notes.push(format!(
        "declared before its first sample: it confirms run {} ({}), and its verdict stands",
        confirms.run, confirms.reason
    ));
    let options = Options {
        wait: args.wait,
        confirms: Some(confirms),
        ..Options::default()
    };
    let live = LiveView::stderr();
    let progress = live.progress();
    let finished = pipeline::execute(prepared, &options, &records, &context.dirs, &progress).await;
    live.finish();
    let presentable = records.present(finished?).await?;
    if args.json {
        println!("{:#}", presentable.document());
    } else {
        print!("{}", run_summary(&presentable.view(), Layout::stdout()));
    }
    Ok(ExitCode::from(presentable.exit_code()))
}
