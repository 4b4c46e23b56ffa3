//! `runner counters`: hardware counters of both sides, of a recorded run or of any two commits.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;

use super::Context;
use crate::config::{Config, Counters};
use crate::counters;
use crate::git::Repository;
use crate::model::{CommitInfo, CounterProfile, Evidence, PerSide, failed_on_head_only};
use crate::pipeline::{self, Prepared, Profiling, Request};
use crate::progress::Progress;
use crate::record::{Records, RunId};
use crate::render::counters_view;
use crate::term::{Layout, LiveView, counters_summary};

/// What it does, exit statuses and examples, below the options.
const HELP: &str = "\
Each command of [[counters]] in campaign.toml runs once on each side under Nsight Compute.
With a RUN its stored binaries are profiled, the counters are added to its record, its
claims are evaluated with them, and it is judged again. Without, both sides are built, the
counters are printed, and nothing is recorded.

Exit status:
  0  every command was profiled
  1  a command fails on head only
  2  it could not be asked: arguments, campaign.toml, commits, no device
  3  something could not be profiled: no profiler, no permission, no such kernel

Examples:
  runner counters                      HEAD against its base, printed
  runner counters --base v1 --head v2  any two commits
  runner counters 12                   the binaries of run 12, added to its record";

/// Arguments of `runner counters`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// The run to add counters to: its number, or its head by commit, branch, tree or patch-id.
    #[arg(conflicts_with_all = ["base", "head"])]
    run: Option<String>,
    /// The state before the lever [default: as in `runner run`].
    #[arg(long, value_name = "REF")]
    base: Option<String>,
    /// The state with the lever [default: HEAD].
    #[arg(long, value_name = "REF")]
    head: Option<String>,
    /// A campaign.toml to use; with RUN, only its [[counters]] count.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Wait for the device when another run holds it.
    #[arg(long)]
    wait: bool,
    /// Print a versioned JSON document.
    #[arg(long)]
    json: bool,
}

/// What was profiled.
struct Done {
    run: Option<RunId>,
    commits: PerSide<CommitInfo>,
    profiles: Vec<CounterProfile>,
    /// What became of the run's record.
    notes: Vec<String>,
}

/// Profiles both sides and prints what was counted.
pub(super) async fn run(args: Args, context: &Context) -> anyhow::Result<ExitCode> {
    let live = LiveView::stderr();
    let progress = live.progress();
    let finished = match &args.run {
        Some(text) => of_run(text, &args, context, &progress).await,
        None => of_commits(&args, context, &progress).await,
    };
    live.finish();
    let done = finished?;
    if args.json {
        println!("{:#}", document(&done));
    } else {
        let commits = &done.commits;
        let (base, head) = (commits.base.sha.short(), commits.head.sha.short());
        println!("{head} against {base}");
        let view = counters_view(&done.profiles);
        print!("{}", counters_summary(&view, Layout::stdout()));
        for note in &done.notes {
            println!("{note}");
        }
    }
    Ok(exit_code(&done.profiles))
}

fn exit_code(profiles: &[CounterProfile]) -> ExitCode {
    let failed = profiles.iter().any(|profile| profile.failure.is_some());
    match (failed_on_head_only(profiles).is_empty(), failed) {
        (false, _) => ExitCode::from(1),
        (true, true) => ExitCode::from(3),
        (true, false) => ExitCode::SUCCESS,
    }
}

/// Both sides of any two commits; nothing is recorded.
async fn of_commits(args: &Args, context: &Context, progress: &Progress) -> anyhow::Result<Done> {
    let request = Request {
        repo: context.repo.clone(),
        base: args.base.clone(),
        head: args.head.clone(),
        config: args.config.clone(),
        ..Request::default()
    };
    let records = Records::open(&context.dirs).await?;
    let prepared = pipeline::prepare(&request, &context.dirs.cache).await?;
    for note in &prepared.notes {
        progress.note(note.clone());
    }
    let profiles = pipeline::profile(&Profiling {
        prepared: &prepared,
        stored_builds: None,
        wait: args.wait,
        records: &records,
        dirs: &context.dirs,
        progress,
    })
    .await?;
    Ok(Done {
        run: None,
        commits: prepared.commits,
        profiles,
        notes: Vec::new(),
    })
}

/// The stored binaries of a run; what is counted becomes part of its record.
async fn of_run(
    text: &str,
    args: &Args,
    context: &Context,
    progress: &Progress,
) -> anyhow::Result<Done> {
    let records = Records::open_existing(&context.dirs).await?;
    let run = context.find_one_run(&records, text).await?.original;
    let original = records.load(run).await?;
    let repository = Repository::open(&context.repo, &context.dirs.cache)
        .await
        .ok();
    let mut prepared: Prepared =
        crate::replay::prepared(&original, repository, &records, &context.dirs).await?;
    if let Some(file) = &args.config {
        let given = Config::from_file(file)?.counters;
        same_commands(&original.evidence.config.counters, &given, run)?;
        prepared.config.counters = given;
    }
    let stored_builds = crate::replay::stored_builds(&original)?;
    let profiles = pipeline::profile(&Profiling {
        prepared: &prepared,
        stored_builds: Some(&stored_builds),
        wait: args.wait,
        records: &records,
        dirs: &context.dirs,
        progress,
    })
    .await?;
    let notes = vec![added(&records, run, &original.evidence, &profiles).await?];
    Ok(Done {
        run: Some(run),
        commits: original.evidence.commits,
        profiles,
        notes,
    })
}

/// Refuses an entry that has the name of a recorded one and launches something else: its counters
/// would take the place of the recorded entry's.
fn same_commands(recorded: &[Counters], given: &[Counters], run: RunId) -> anyhow::Result<()> {
    let work = |entry: &Counters| (entry.command.clone(), entry.env.clone());
    let other = given.iter().find(|entry| {
        let known = recorded.iter().find(|known| known.name == entry.name);
        known.is_some_and(|known| work(known) != work(entry))
    });
    match other {
        None => Ok(()),
        Some(entry) => bail!(
            "[[counters]] `{}` runs another command than run {run} has under that name, and would \
             replace what was counted there; give it another name",
            entry.name
        ),
    }
}

/// Adds what was counted to a run's record, and says what became of the run. What an earlier
/// taking found out stays where this one could not count it.
async fn added(
    records: &Records,
    run: RunId,
    evidence: &Evidence,
    profiles: &[CounterProfile],
) -> anyhow::Result<String> {
    if profiles.iter().all(|profile| profile.failure.is_some()) {
        return Ok(format!("nothing was counted, so run {run} stays as it is"));
    }
    let counting = counters::merged(&evidence.counters, profiles);
    if counting == evidence.counters {
        return Ok(format!(
            "no entry was counted on both sides, so run {run} stays as it is"
        ));
    }
    let claims = pipeline::claims_with(evidence, &counting)?;
    let judgement = records.counters_add(run, &counting, &claims).await?;
    Ok(format!(
        "added to run {run}: {}, {}",
        judgement.verdict, judgement.headline
    ))
}

fn document(done: &Done) -> serde_json::Value {
    serde_json::json!({
        "schema": crate::model::SCHEMA_VERSION,
        "kind": "counters",
        "run": done.run,
        "base": done.commits.base.sha,
        "head": done.commits.head.sha,
        "counters": counters_view(&done.profiles),
        "profiles": done.profiles,
    })
}
