//! `runner bisect`: the first commit between two that made a bench slower.

use std::path::PathBuf;
use std::process::ExitCode;

use super::Context;
use crate::anchor::Places;
use crate::bisect::{Bisection, Report, bisect};
use crate::git::Repository;
use crate::record::Records;
use crate::term::{Layout, LiveView, bisect_summary};

/// How it searches, exit statuses and examples, below the options.
const HELP: &str = "\
GOOD is base of every comparison, and the question is the protocol's guard question: is the commit
slower? Bad is compared first. Then the commits between them are halved: about log2 of their number.
A commit that does not build is skipped; a comparison that stays open is made once more from the
start, and skipped where it stays open again. Every comparison is a run on record: the same command
goes on where it was stopped, and nothing is measured twice.

Exit status:
  0  the commit was found
  1  bad is not slower, or the commits that are left cannot be told apart
  2  it could not be asked: arguments, campaign.toml, commits
  3  stopped: the machine or the apparatus is at fault, or someone stopped it
  4  no device

Examples:
  runner bisect prefill v1 main
  runner bisect prefill v1 main --threshold 1%   losses up to 1 % count as good";

/// Arguments of `runner bisect`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// The bench, by its name in campaign.toml.
    bench: String,
    /// A commit at which it was fast.
    good: String,
    /// A later commit at which it is slow.
    bad: String,
    /// How much slower than GOOD a commit may be and still count as good, percent [default: none;
    /// what the protocol cannot tell from none passes].
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    threshold: Option<f64>,
    /// Also look at the commits of merged branches; otherwise a merge counts as one commit.
    #[arg(long)]
    all_parents: bool,
    /// A campaign.toml to use for all commits instead of their own.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Wait for the device when another run holds it.
    #[arg(long)]
    wait: bool,
    /// Print a versioned JSON document.
    #[arg(long)]
    json: bool,
}

/// A percentage above 0 and below 100, with or without its sign.
fn percent(text: &str) -> Result<f64, String> {
    let digits = text.trim().trim_end_matches('%').trim_end();
    match digits.parse::<f64>() {
        Ok(value) if value > 0.0 && value < 100.0 => Ok(value),
        _ => Err("give a percentage above 0 and below 100, such as 1%".to_owned()),
    }
}

/// Searches, and prints what was found.
pub(super) async fn run(args: Args, context: &Context) -> anyhow::Result<ExitCode> {
    let repository = Repository::open(&context.repo, &context.dirs.cache).await?;
    let records = Records::open(&context.dirs).await?;
    let what = Bisection {
        bench: args.bench,
        good: args.good,
        bad: args.bad,
        allowed_loss: args.threshold,
        all_parents: args.all_parents,
        config: args.config,
        wait: args.wait,
    };
    let live = LiveView::stderr();
    let progress = live.progress();
    let places = Places {
        repository: &repository,
        records: &records,
        dirs: &context.dirs,
        progress: &progress,
    };
    let finished = bisect(&what, &places).await;
    live.finish();
    let report = finished?;
    if args.json {
        println!("{:#}", document(&report));
    } else {
        print!("{}", bisect_summary(&report, Layout::stdout()));
    }
    Ok(ExitCode::from(report.exit_code()))
}

fn document(report: &Report) -> serde_json::Value {
    let (made, reused) = report.counts();
    serde_json::json!({
        "schema": crate::model::SCHEMA_VERSION,
        "kind": "bisect",
        "bisect": report,
        "comparisons_made": made,
        "comparisons_on_record": reused,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_percentages() {
        for (text, value) in [("1%", 1.0), ("0.5", 0.5), (" 2.5 % ", 2.5)] {
            assert_eq!(percent(text), Ok(value));
        }
        for text in ["0", "-1%", "100%", "NaN", "inf", "", "%", "one"] {
            assert!(percent(text).is_err(), "{text}");
        }
    }
}
