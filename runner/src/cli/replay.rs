//! `runner replay`: repeats a recorded run from its record.

use std::process::ExitCode;

use super::Context;
use crate::git::Repository;
use crate::record::Records;
use crate::replay::{Part, ReplayRequest, Replayed, replay};
use crate::term::LiveView;

/// Exit statuses and examples, below the options.
const HELP: &str = "\
Code, outputs and speed are compared separately: SAME, CHANGED, DRIFT or NOT COMPARED.

Exit status:
  0  nothing that was compared differs
  1  something is CHANGED
  2  it could not be asked: no such run, the record, the arguments
  4  nothing could be compared
  5  only the machine's speed moved: DRIFT

Examples:
  runner replay 12                  run 12, built anew
  runner replay HEAD --artifacts    the run of this commit, with the stored binaries";

/// Arguments of `runner replay`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// The run: its number, or its head by commit, branch, tree or patch-id.
    run: String,
    /// Repeat with the stored binaries instead of building.
    #[arg(long)]
    artifacts: bool,
    /// Wait for the device when another run holds it.
    #[arg(long)]
    wait: bool,
    /// Print a versioned JSON document.
    #[arg(long)]
    json: bool,
}

/// Repeats, and exits with 0 where all is the same, 1 where something changed, 5 where only the
/// machine's speed did, 4 where nothing could be compared.
pub(super) async fn run(args: Args, context: &Context) -> anyhow::Result<ExitCode> {
    let records = Records::open_existing(&context.dirs).await?;
    let found = context.find_run(&records, &args.run).await?;
    super::context::tell_caveat(&found, found.original);
    let repository = Repository::open(&context.repo, &context.dirs.cache)
        .await
        .ok();
    let request = ReplayRequest {
        run: found.original,
        artifacts: args.artifacts,
        wait: args.wait,
    };
    let live = LiveView::stderr();
    let finished = replay(
        &request,
        repository,
        &records,
        &context.dirs,
        &live.progress(),
    )
    .await;
    live.finish();
    let replayed = finished?;
    if args.json {
        println!("{:#}", document(found.original, &replayed));
    } else {
        print!("{}", text(found.original, &replayed));
    }
    Ok(ExitCode::from(replayed.comparison.exit_code()))
}

fn document(original: crate::record::RunId, replayed: &Replayed) -> serde_json::Value {
    serde_json::json!({
        "schema": crate::model::SCHEMA_VERSION,
        "kind": "replay",
        "original": original,
        "run": replayed.run,
        "comparison": replayed.comparison,
    })
}

fn text(original: crate::record::RunId, replayed: &Replayed) -> String {
    let comparison = &replayed.comparison;
    let mut out = format!("run {} repeats run {original}\n", replayed.run);
    let parts = [
        ("code", &comparison.code),
        ("outputs", &comparison.outputs),
        ("speed", &comparison.speed),
    ];
    for (name, part) in parts {
        out.push_str(&part_text(name, part));
    }
    if let (Some(was), Some(is)) = comparison.verdicts {
        out.push_str(&format!("verdict  {was} -> {is}\n"));
    }
    match comparison.environment.len() {
        0 => out.push_str("environment: no difference\n"),
        n => out.push_str(&format!("environment: {n} differences\n")),
    }
    for line in &comparison.environment {
        out.push_str(&format!("  {}\n", crate::render::text::one_line(line)));
    }
    out
}

fn part_text(name: &str, part: &Part) -> String {
    let mut out = format!("{name:<8} {}\n", part.outcome);
    for line in &part.details {
        out.push_str(&format!("  {}\n", crate::render::text::one_line(line)));
    }
    out
}
