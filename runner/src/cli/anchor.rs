//! `runner anchor`: pin a commit, measure later ones against it, show the series.

use std::path::PathBuf;
use std::process::ExitCode;

use super::Context;
use crate::anchor::{self, Pinning, Places, Series};
use crate::git::Repository;
use crate::model::Verdict;
use crate::record::{AnchorPin, Presentable, Records};
use crate::render::text::one_line;
use crate::render::view::{DriftView, drift_views};
use crate::site::choose;
use crate::term::{Layout, LiveView, anchor_summary};

/// What an anchor is for, and examples, below the commands.
const HELP: &str = "\
Effects of single rounds do not add up to what a campaign gained: each is an estimate that was
selected for being large. An anchor's stored binary is measured against a later head in one window,
so that the machine's own level cancels. The series shows the cumulated effect, steps, and creep,
each beside what the rounds that landed there were booked with.

Examples:
  runner anchor pin v1                 v1's stored build is the anchor from now on
  runner anchor measure                HEAD against it, in a window of its own
  runner anchor show                   claimed, measured, steps and creep";

/// Arguments of `runner anchor`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Make a commit's stored build the campaign's anchor; a new series begins.
    Pin(Pin),
    /// Measure a head against the anchor, and add that to the series.
    Measure(Measure),
    /// Show where the campaign stands against its anchor.
    Show(Show),
}

#[derive(Debug, clap::Args)]
struct Pin {
    /// The commit: a base or head of a recorded run, so that its build is stored.
    commit: String,
    /// Only this bench; may be given again [default: all].
    #[arg(long, value_name = "NAME")]
    bench: Vec<String>,
    /// How many pairs each measurement takes [default: the campaign's fixed number, else 26].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(6..=1000))]
    pairs: Option<u32>,
    /// A campaign.toml to use instead of the commit's own.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Who pins it [default: git's user.name, else USER].
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
}

#[derive(Debug, clap::Args)]
struct Measure {
    /// The commit to measure.
    #[arg(default_value = "HEAD")]
    head: String,
    /// The campaign [default: the one of the repository's campaign.toml].
    #[arg(long, value_name = "NAME")]
    campaign: Option<String>,
    /// Wait for the device when another run holds it.
    #[arg(long)]
    wait: bool,
    /// Print the whole record as a versioned JSON document.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
struct Show {
    /// The campaign [default: the one of the repository's campaign.toml].
    #[arg(long, value_name = "NAME")]
    campaign: Option<String>,
    /// Print a versioned JSON document.
    #[arg(long)]
    json: bool,
}

/// Pins, measures or shows.
pub(super) async fn run(args: Args, context: &Context) -> anyhow::Result<ExitCode> {
    match args.command {
        Command::Pin(args) => pin(args, context).await,
        Command::Measure(args) => measure(args, context).await,
        Command::Show(args) => show(args, context).await,
    }
}

async fn pin(args: Pin, context: &Context) -> anyhow::Result<ExitCode> {
    let repository = Repository::open(&context.repo, &context.dirs.cache).await?;
    let records = Records::open(&context.dirs).await?;
    let what = Pinning {
        commit: args.commit,
        benches: args.bench,
        pairs: args.pairs,
        config: args.config,
        by: super::person(args.by, &context.repo).await?,
    };
    let campaign = anchor::pin(&what, &repository, &records).await?;
    let pin = anchor::current(&campaign, &records).await?;
    println!("{}", one_line(&pinned_words(&pin)));
    Ok(ExitCode::SUCCESS)
}

/// `the anchor of toy is 1f0c2a9 (engine: first version) from now on: speed, 26 pairs each`.
fn pinned_words(pin: &AnchorPin) -> String {
    let benches: Vec<&str> = pin.config.benches.iter().map(|b| b.name.as_str()).collect();
    let pairs = pin.config.protocol.fixed_pairs().unwrap_or(0);
    let before = match &pin.replaces {
        Some(before) => format!("; a new series, that of {} stays", before.short()),
        None => String::new(),
    };
    format!(
        "the anchor of {} is {} ({}) from now on: {}, {pairs} pairs each{before}",
        pin.config.campaign.name,
        pin.sha.short(),
        pin.subject,
        benches.join(", ")
    )
}

async fn measure(args: Measure, context: &Context) -> anyhow::Result<ExitCode> {
    let repository = Repository::open(&context.repo, &context.dirs.cache).await?;
    let records = Records::open_existing(&context.dirs).await?;
    let own = context.own_campaign();
    let campaign = choose(&records, args.campaign.as_deref(), own.as_deref()).await?;
    let live = LiveView::stderr();
    let progress = live.progress();
    let places = Places {
        repository: &repository,
        records: &records,
        dirs: &context.dirs,
        progress: &progress,
    };
    let finished = anchor::measure(&campaign.name, &args.head, args.wait, &places).await;
    live.finish();
    let measured = finished?;
    if args.json {
        println!("{:#}", records.present(measured.run).await?.document());
    } else {
        let judgement = &measured.judgement;
        let line = format!("{}: {}", judgement.verdict, judgement.headline);
        println!("{}", one_line(&line));
        let views = anchor::views(&campaign.name, &records).await?;
        print!("{}", anchor_summary(&views, Layout::stdout()));
        println!("The whole record: runner show {}", measured.run);
    }
    Ok(ExitCode::from(measured.judgement.exit_code()))
}

/// Measures a round that landed against the anchor, where the campaign wants that and has one.
/// Nothing that goes wrong here is the round's.
pub(super) async fn after_landing(round: &Presentable, records: &Records, context: &Context) {
    let config = &round.stored.evidence.config;
    let landed = matches!(
        round.judgement().verdict,
        Verdict::Landed | Verdict::LandedSubBar
    );
    if !landed || !config.anchor.after_landing {
        return;
    }
    let campaign = &config.campaign.name;
    let head = round.stored.evidence.commits.head.sha.to_string();
    match measured(campaign, &head, records, context).await {
        Ok(lines) => eprint!("{lines}"),
        Err(error) => eprintln!("note: it was not measured against the anchor: {error:#}"),
    }
}

async fn measured(
    campaign: &str,
    head: &str,
    records: &Records,
    context: &Context,
) -> anyhow::Result<String> {
    let repository = Repository::open(&context.repo, &context.dirs.cache).await?;
    let live = LiveView::stderr();
    let progress = live.progress();
    let places = Places {
        repository: &repository,
        records,
        dirs: &context.dirs,
        progress: &progress,
    };
    let measured = anchor::measure(campaign, head, true, &places).await;
    live.finish();
    measured?;
    let views = anchor::views(campaign, records).await?;
    Ok(anchor_summary(&views, Layout::stderr()))
}

async fn show(args: Show, context: &Context) -> anyhow::Result<ExitCode> {
    let records = Records::open_existing(&context.dirs).await?;
    let own = context.own_campaign();
    let campaign = choose(&records, args.campaign.as_deref(), own.as_deref()).await?;
    let pins = records.anchors(&campaign.name).await?;
    let mut shown = Vec::new();
    for pin in &pins {
        shown.push((pin, anchor::all_series(pin, &records).await?));
    }
    if args.json {
        println!("{:#}", document(&campaign.name, &shown));
        return Ok(ExitCode::SUCCESS);
    }
    if shown.is_empty() {
        println!(
            "no anchor is pinned for {}: `runner anchor pin COMMIT` pins one",
            campaign.name
        );
    }
    for (index, (pin, series)) in shown.iter().enumerate() {
        let state = match index {
            0 => "the anchor is",
            _ => "earlier:",
        };
        let words = format!(
            "{state} {} ({}), pinned {} by {}",
            pin.sha.short(),
            pin.subject,
            crate::numbers::day(pin.at),
            pin.by
        );
        println!("{}", one_line(&words));
        if series.is_empty() {
            println!("nothing was measured against it yet: `runner anchor measure`");
        }
        for (machine, views) in by_machine(pin, series) {
            println!("{}", one_line(&format!("on {machine}")));
            print!("{}", anchor_summary(&views, Layout::stdout()));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The series of each machine, in the order in which machines measured first.
fn by_machine<'a>(pin: &AnchorPin, series: &'a [Series]) -> Vec<(&'a str, Vec<DriftView>)> {
    let mut machines: Vec<&str> = series.iter().map(|one| one.machine.as_str()).collect();
    machines.dedup();
    let mut seen = std::collections::BTreeSet::new();
    machines.retain(|machine| seen.insert(*machine));
    let views = machines.into_iter().map(|machine| {
        let own = series.iter().filter(|one| one.machine == machine);
        let standings: Vec<_> = own.map(|one| one.standing.clone()).collect();
        (machine, drift_views(&standings, pin.sha.short()))
    });
    views.collect()
}

fn document(campaign: &str, shown: &[(&AnchorPin, Vec<Series>)]) -> serde_json::Value {
    let anchors: Vec<_> = shown
        .iter()
        .map(|(pin, series)| {
            let series: Vec<_> = series
                .iter()
                .map(|one| {
                    serde_json::json!({
                        "machine": one.machine,
                        "standing": one.standing,
                    })
                })
                .collect();
            serde_json::json!({
                "commit": pin.sha,
                "pinned_at": pin.at,
                "by": pin.by,
                "replaces": pin.replaces,
                "benches": pin.config.benches.iter().map(|b| &b.name).collect::<Vec<_>>(),
                "pairs": pin.config.protocol.fixed_pairs(),
                "series": series,
            })
        })
        .collect();
    serde_json::json!({
        "schema": crate::model::SCHEMA_VERSION,
        "kind": "anchor",
        "campaign": campaign,
        "anchors": anchors,
    })
}
