//! `runner run`: one commit against its base.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;

use super::Context;
use crate::pipeline::{self, Options, Request};
use crate::record::{Presentable, Records};
use crate::term::{Layout, LiveView, run_summary};

/// Arguments of `runner run`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The state before the lever [default: head's merge-base with the default branch, or its
    /// parent where head is on it].
    #[arg(long, value_name = "REF")]
    base: Option<String>,
    /// The state with the lever [default: HEAD].
    #[arg(long, value_name = "REF")]
    head: Option<String>,
    /// A campaign.toml to use for both sides instead of the commits' own.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The seed of the measuring order [default: drawn, and recorded].
    #[arg(long)]
    seed: Option<u64>,
    /// Wait for the device when another run holds it.
    #[arg(long)]
    wait: bool,
    /// Print the whole record as a versioned JSON document.
    #[arg(long)]
    json: bool,
    /// Write the pull-request comment to a file.
    #[arg(long, value_name = "FILE")]
    comment: Option<PathBuf>,
}

/// Runs, prints the verdict with its reasons, and exits with the verdict's status.
pub(super) async fn run(args: Args, context: &Context) -> anyhow::Result<ExitCode> {
    let request = Request {
        repo: context.repo.clone(),
        base: args.base,
        head: args.head,
        config: args.config,
        toolchain: None,
        options: Options {
            seed: args.seed,
            wait: args.wait,
            ..Options::default()
        },
    };
    let records = Records::open(&context.dirs).await?;
    let live = LiveView::stderr();
    let finished = pipeline::run(&request, &records, &context.dirs, &live.progress()).await;
    live.finish();
    let run = finished?;
    let presentable = records.present(run).await?;
    if let Some(path) = &args.comment {
        write_comment(&presentable, path)?;
    }
    if args.json {
        println!("{:#}", presentable.document());
    } else {
        print!("{}", run_summary(&presentable.view(), Layout::stdout()));
    }
    Ok(ExitCode::from(presentable.judgement().verdict.exit_code()))
}

fn write_comment(presentable: &Presentable, path: &std::path::Path) -> anyhow::Result<()> {
    let options = crate::render::CommentOptions::default();
    let comment = crate::render::comment(&presentable.view(), &options)?;
    std::fs::write(path, comment.markdown)
        .with_context(|| format!("writing the comment to {}", path.display()))
}
