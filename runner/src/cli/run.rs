//! `runner run`: one commit against its base.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;

use super::Context;
use crate::pipeline::{self, Options, Request};
use crate::record::{Presentable, Records};
use crate::term::{Layout, LiveView, run_summary};

/// Exit statuses and examples, below the options.
const HELP: &str = "\
Exit status:
  0  the lever may be kept: LANDED, LANDED (sub-bar), NO CHANGE, MEASURED, ANALYSED
  1  it may not: REVERTED, INCONCLUSIVE, NOT EXERCISED, NOT COMPARABLE, BROKEN
  2  it could not be asked: arguments, campaign.toml, commits, the database
  3  the machine is at fault: ENV-INVALID
  4  there was no device: NOT MEASURED

Examples:
  runner run                                  HEAD against its base
  runner run --base main --head my-branch     any two commits
  runner run --comment comment.md             and the pull-request comment in a file";

/// Arguments of `runner run`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
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
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Wait for the device when another run holds it.
    #[arg(long)]
    wait: bool,
    /// Measure also where a claim does not hold. The verdict stays REVERTED; its effect is known.
    #[arg(long)]
    measure_anyway: bool,
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
            measure_anyway: args.measure_anyway,
            ..Options::default()
        },
    };
    let records = Records::open(&context.dirs).await?;
    let live = LiveView::stderr();
    let finished = pipeline::run(&request, &records, &context.dirs, &live.progress()).await;
    live.finish();
    let run = finished?;
    let presentable = records.present(run).await?;
    super::anchor::after_landing(&presentable, &records, context).await;
    if let Some(path) = &args.comment {
        write_comment(&presentable, path)?;
    }
    if args.json {
        println!("{:#}", presentable.document());
    } else {
        print!("{}", run_summary(&presentable.view(), Layout::stdout()));
    }
    Ok(ExitCode::from(presentable.exit_code()))
}

fn write_comment(presentable: &Presentable, path: &std::path::Path) -> anyhow::Result<()> {
    let options = crate::render::CommentOptions::default();
    let comment = crate::render::comment(&presentable.view(), &options)?;
    std::fs::write(path, comment.markdown)
        .with_context(|| format!("writing the comment to {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Verdict;

    #[test]
    fn the_help_gives_the_exit_status_of_every_verdict() {
        for verdict in Verdict::ALL {
            let status = format!("  {}  ", verdict.exit_code());
            let line = HELP.lines().find(|line| line.starts_with(&status));
            let words = line.and_then(|line| line.split_once(": ")).map(|(_, w)| w);
            let words: Vec<&str> = words.unwrap_or_default().split(", ").collect();
            assert!(words.contains(&verdict.word()), "{verdict}: {words:?}");
        }
    }
}
