//! `runner compare A B`: two recorded runs side by side.

use std::process::ExitCode;

use super::Context;
use crate::record::Records;
use crate::render::compare_view;
use crate::term::{Layout, compare_summary};

/// Arguments of `runner compare`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: runner compare 12 HEAD")]
pub(super) struct Args {
    /// The first run: its number, or its head by commit, branch, tree or patch-id.
    a: String,
    /// The second run, named likewise.
    b: String,
    /// Print a versioned JSON document.
    #[arg(long)]
    json: bool,
}

/// Compares the heads of two runs.
pub(super) async fn run(args: Args, context: &Context) -> anyhow::Result<ExitCode> {
    let records = Records::open_existing(&context.dirs).await?;
    let a = records
        .present(context.find_run(&records, &args.a).await?.run)
        .await?;
    let b = records
        .present(context.find_run(&records, &args.b).await?.run)
        .await?;
    let reports = (a.stored.head_report(), b.stored.head_report());
    let delta = match reports {
        (Some(a), Some(b)) => Some(sass::diff(a, b)),
        _ => None,
    };
    let view = compare_view(&a.view(), &b.view(), delta.as_ref(), &[]);
    if args.json {
        print!("{}", crate::render::json::compare_document(&view)?);
    } else {
        print!("{}", compare_summary(&view, Layout::stdout()));
    }
    Ok(ExitCode::SUCCESS)
}
