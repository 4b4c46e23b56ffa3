//! `runner calibrate`: base against base, and what that says about the machine.

use std::path::PathBuf;
use std::process::ExitCode;

use super::Context;
use crate::calibration::{Calibrated, Expectation, Known, NoiseRecord, profile_lines};
use crate::config::Config;
use crate::machine::Environment;
use crate::numbers::{counted, day};
use crate::pipeline::{CalibrationPlan, CalibrationRequest, CalibrationRun, calibrate};
use crate::record::{Records, RunId};
use crate::term::{Layout, LiveView, wrapped};

/// Exit statuses and examples, below the options.
const HELP: &str = "\
One build of one commit is measured against itself, in pairs, as a run measures base and head. The
noise that shows is this machine's, and is kept as the bench's profile; the newest one counts. It
says how many pairs and minutes a run will take, and which bars the machine supports.

Exit status: 0, or 1 where a bench has no profile after it, 2 where it could not be asked, 4 where
there was no device.

Examples:
  runner calibrate                      every bench, 26 pairs of HEAD
  runner calibrate --bench prefill      one bench
  runner calibrate --show               the profiles that count here";

/// The pairs of a calibration: those of the protocol's last look but one.
const PAIRS: u32 = 26;

/// Arguments of `runner calibrate`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// The commit to measure against itself [default: HEAD].
    #[arg(long, value_name = "REV", conflicts_with = "show")]
    commit: Option<String>,
    /// A bench to calibrate; may be given several times [default: all].
    #[arg(long = "bench", value_name = "NAME", conflicts_with = "show")]
    benches: Vec<String>,
    /// How many pairs of each bench.
    #[arg(long, value_name = "N", default_value_t = PAIRS, conflicts_with = "show",
          value_parser = clap::value_parser!(u32).range(6..=1000))]
    pairs: u32,
    /// A campaign.toml to use instead of the commit's own.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The seed of the measuring order [default: drawn, and recorded].
    #[arg(long, value_name = "N", conflicts_with = "show")]
    seed: Option<u64>,
    /// Wait for the device when another run holds it.
    #[arg(long, conflicts_with = "show")]
    wait: bool,
    /// Measure nothing: show the profiles that count on this machine.
    #[arg(long)]
    show: bool,
    /// Print a versioned JSON document.
    #[arg(long)]
    json: bool,
}

/// Calibrates, or shows what is known.
pub(super) async fn run(args: Args, context: &Context) -> anyhow::Result<ExitCode> {
    if args.show {
        return show(&args, context).await;
    }
    let request = CalibrationRequest {
        repo: context.repo.clone(),
        commit: args.commit.clone(),
        config: args.config.clone(),
        plan: CalibrationPlan {
            benches: args.benches.clone(),
            pairs: args.pairs,
        },
        seed: args.seed,
        wait: args.wait,
    };
    let records = Records::open(&context.dirs).await?;
    let live = LiveView::stderr();
    let finished = calibrate(&request, &records, &context.dirs, &live.progress()).await;
    live.finish();
    let made = finished?;
    let stored = records.load(made.run).await?;
    let machine = Environment::read().fingerprint;
    let profiles = records.noise_of(&stored.row.campaign).await?;
    let known = Known {
        profiles: &profiles,
        machine: &machine,
    };
    let expectation = expectation(&stored.evidence.config, known);
    let own: Vec<&NoiseRecord> = profiles.iter().filter(|p| p.run == made.run.0).collect();
    if args.json {
        println!("{:#}", document(&own, Some(&expectation)));
    } else {
        print!("{}", made_text(&made, &own, &expectation));
    }
    Ok(ExitCode::from(status(&made)))
}

fn status(made: &CalibrationRun) -> u8 {
    let complete = made.benches.iter().all(|bench| bench.result.is_ok());
    match (made.has_device, &made.why_not) {
        (false, _) => 4,
        (true, None) if complete && !made.benches.is_empty() => 0,
        _ => 1,
    }
}

/// What is expected of a lever that brings no registration of its own.
fn expectation(config: &Config, known: Known<'_>) -> Expectation {
    Expectation::of(config, &crate::registration::from_commit("", config), known)
}

fn made_text(
    made: &CalibrationRun,
    profiles: &[&NoiseRecord],
    expectation: &Expectation,
) -> String {
    let mut out = match &made.why_not {
        Some(why) => format!("NOT CALIBRATED (run {}): {why}\n", made.run),
        None => format!(
            "{} calibrated, run {}\n",
            counted(profiles.len(), "bench"),
            made.run
        ),
    };
    for bench in &made.benches {
        if let Calibrated {
            bench,
            result: Err(why),
        } = bench
        {
            out.push_str(&format!("{bench}: no profile: {why}\n"));
        }
    }
    for profile in profiles {
        out.push('\n');
        out.push_str(&text_of(profile, expectation));
    }
    out
}

/// A profile with what is to be expected under it.
fn text_of(profile: &NoiseRecord, expectation: &Expectation) -> String {
    let mut lines = profile_lines(profile);
    let own = |line: &&String| line.starts_with(&format!("{}: ", profile.bench));
    let under = [
        ("  a run: ", expectation.lines()),
        ("  WARNING: ", expectation.warnings()),
    ];
    for (lead, said) in &under {
        if let Some((_, text)) = said.iter().find(own).and_then(|line| line.split_once(": ")) {
            lines.push(format!("{lead}{text}"));
        }
    }
    wrapped(&lines, Layout::stdout())
}

/// A recorded calibration for `runner show`; `None` for any other run.
pub(super) async fn recorded(
    records: &Records,
    run: RunId,
    json: bool,
) -> anyhow::Result<Option<String>> {
    let stored = records.load(run).await?;
    if stored.row.purpose != db::Purpose::Calibration {
        return Ok(None);
    }
    let profiles = records.noise_by_run(run).await?;
    if json {
        let mut document = document(&profiles.iter().collect::<Vec<_>>(), None);
        document["run"] = crate::record::run_document(&stored);
        document["evidence"] = serde_json::to_value(&stored.evidence)?;
        return Ok(Some(format!("{document:#}\n")));
    }
    let state = match stored.row.state {
        db::RunState::Ended => "",
        db::RunState::Open => ": in progress, or killed",
        db::RunState::Interrupted => ": it was stopped, so it made no profile",
    };
    let commit = &stored.evidence.commits.base;
    let mut out = format!(
        "calibration of {}, run {run}{state}\n{} {}\n",
        stored.row.campaign,
        commit.sha.short(),
        crate::render::text::one_line(&commit.subject)
    );
    for fault in &stored.evidence.faults {
        out.push_str(&format!("{}\n", fault.message));
    }
    for profile in &profiles {
        let lines = profile_lines(profile);
        out.push_str(&format!("\n{}", wrapped(&lines, Layout::stdout())));
    }
    Ok(Some(out))
}

async fn show(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let file = match &args.config {
        Some(path) => path.clone(),
        None => context.repo.join(crate::config::FILE_NAME),
    };
    let config = Config::from_file(&file)?;
    let records = Records::open_existing(&context.dirs).await?;
    let profiles = records.noise_of(&config.campaign.name).await?;
    let machine = Environment::read().fingerprint;
    let known = Known {
        profiles: &profiles,
        machine: &machine,
    };
    let counting: Vec<&NoiseRecord> = config
        .benches
        .iter()
        .filter_map(|bench| known.of(&config, bench))
        .collect();
    let expectation = expectation(&config, known);
    if args.json {
        println!("{:#}", document(&counting, Some(&expectation)));
        return Ok(ExitCode::SUCCESS);
    }
    print!("{}", shown_text(&counting, &expectation));
    let missing = !expectation.unknown.is_empty();
    Ok(ExitCode::from(u8::from(missing)))
}

fn shown_text(counting: &[&NoiseRecord], expectation: &Expectation) -> String {
    let mut out = format!(
        "{} of this campaign with a noise profile on this machine\n",
        counted(counting.len(), "bench")
    );
    for profile in counting {
        out.push_str(&format!("\n{}", text_of(profile, expectation)));
        out.push_str(&format!("  made on {}\n", day(profile.at)));
    }
    if !expectation.unknown.is_empty() {
        out.push_str(&format!(
            "\nwithout: {} (never calibrated here, or the bench runs something else now): runner \
             calibrate\n",
            expectation.unknown.join(", ")
        ));
    }
    out
}

fn document(profiles: &[&NoiseRecord], expectation: Option<&Expectation>) -> serde_json::Value {
    let profiles: Vec<_> = profiles
        .iter()
        .map(|profile| {
            serde_json::json!({
                "run": profile.run,
                "at": profile.at,
                "bench": profile.bench,
                "what": profile.what,
                "unit": profile.noise.unit,
                "noise": profile.noise.profile,
                "aa": profile.noise.aa,
            })
        })
        .collect();
    serde_json::json!({
        "schema": crate::model::SCHEMA_VERSION,
        "kind": "noise",
        "profiles": profiles,
        "expected": expectation,
    })
}
