//! `runner demo`: the arguments, and where the repository goes.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;

use super::Context;
use crate::config::Cuda;
use crate::demo::{Campaign, DemoRepo, DemoRound, Options, create, default_arch};
use crate::model::{Evidence, Fault, Stage, Verdict};
use crate::pipeline::{self, Request};
use crate::record::{Records, RunId, TableRow};
use crate::term::LiveView;

/// Makes a git repository from the sample campaign and runs every round of it.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folder for the repository, empty or new [default: a temporary one]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,

    /// Keep the temporary folder
    #[arg(long)]
    pub keep: bool,

    /// Make the repository in DIR and run nothing: kernels, recipe and registrations to copy
    #[arg(long, requires = "dir")]
    pub only_repository: bool,

    /// Which campaign: `checks`, two small kernels, or `mmq`, the matrix products of a 7B model
    #[arg(long, value_name = "NAME", default_value = "checks", value_parser = parse_campaign)]
    pub campaign: Campaign,

    /// Measure also where a claim does not hold
    #[arg(long)]
    pub measure_anyway: bool,

    /// CUDA toolchain: a version that the runner installs, or `system` for what is on PATH
    #[arg(long, value_name = "VERSION", default_value = "13.0", value_parser = parse_cuda)]
    pub toolchain: Cuda,

    /// Architectures, separated by commas [default: sm_121 and this machine's own]
    #[arg(long, value_name = "SM", value_delimiter = ',', value_parser = parse_arch)]
    pub arch: Vec<String>,
}

fn parse_arch(text: &str) -> Result<String, String> {
    let known: Result<sass::ComputeCapability, _> = text.parse();
    match known {
        Ok(_) => Ok(text.to_owned()),
        Err(_) => Err("an architecture is written as nvcc does, for example sm_121".to_owned()),
    }
}

fn parse_cuda(text: &str) -> Result<Cuda, String> {
    match text {
        "system" => Ok(Cuda::System),
        "13.0" => Ok(Cuda::Pinned(text.to_owned())),
        _ => Err("known are 13.0 and system".to_owned()),
    }
}

fn parse_campaign(text: &str) -> Result<Campaign, String> {
    let found = Campaign::ALL.into_iter().find(|c| c.name() == text);
    found.ok_or_else(|| {
        let known = Campaign::ALL.map(Campaign::name);
        format!("known are {}", known.join(" and "))
    })
}

/// Makes the repository, books every round, and ends with the table and where the pages are.
pub(super) async fn run(args: Args, context: &Context) -> anyhow::Result<ExitCode> {
    let records = Records::open(&context.dirs).await?;
    let campaign = args.campaign.recorded_name();
    let measure_anyway = args.measure_anyway;
    let live = LiveView::stderr();
    let progress = live.progress();
    let each = async |demo: &DemoRepo, round: &DemoRound| {
        progress.note(format!("== {}", round.title));
        let request = Request {
            repo: demo.path.clone(),
            base: Some(round.base.to_string()),
            head: Some(round.head.to_string()),
            toolchain: Some(demo.toolchain()),
            options: crate::pipeline::Options {
                measure_anyway,
                ..crate::pipeline::Options::default()
            },
            ..Request::default()
        };
        let run = pipeline::run(&request, &records, &context.dirs, &progress).await?;
        let presentable = records.present(run).await?;
        let judgement = presentable.judgement();
        progress.note(format!("   {}: {}", judgement.verdict, judgement.headline));
        stays_possible(run, &presentable.stored.evidence)
    };
    let finish = async |_: &DemoRepo| {
        live.finish();
        show(&records, campaign, context).await
    };
    walk(args, each, finish).await
}

/// Whether the next round has a chance: not where someone stopped this one, who wants the demo to
/// stop, and not without a toolchain.
fn stays_possible(run: RunId, evidence: &Evidence) -> anyhow::Result<()> {
    if evidence.interrupted {
        anyhow::bail!("run {run} was stopped; the rounds after it were not run");
    }
    let toolchain = |fault: &&Fault| fault.stage == Stage::Toolchain;
    if let Some(fault) = evidence.faults.iter().find(toolchain) {
        anyhow::bail!("{}", fault.message);
    }
    Ok(())
}

async fn show(records: &Records, name: &str, context: &Context) -> anyhow::Result<ExitCode> {
    let campaign = crate::site::choose(records, Some(name), None).await?;
    let site = context.dirs.data.join("site").join(name);
    let site = crate::site::write(records, &campaign, &site).await?;
    let rows = records.table(name).await?;
    let rows = super::show::standing_rounds(name, rows);
    print!("{}", super::show::list_text(&rows));
    println!();
    println!("the campaign's page: {}", site.index.display());
    let changed = rows.iter().rev().find(|(_, row)| {
        let verdict = row.round.as_ref().map(|round| round.verdict);
        row.round
            .as_ref()
            .is_some_and(|round| !round.resources.is_empty())
            && verdict != Some(Verdict::Reverted)
    });
    if let Some((_, row)) = changed {
        let program = std::env::args()
            .next()
            .unwrap_or_else(|| "runner".to_owned());
        println!("one round in full:   {program} show {}", row.run);
        println!("repeat that round:   {program} replay {}", row.run);
    }
    let invalid = |(_, row): &(String, TableRow)| {
        let verdict = row.round.as_ref().map(|round| round.verdict);
        verdict == Some(Verdict::EnvInvalid)
    };
    match rows.iter().all(invalid) {
        // Not one round could be built: that is no success.
        true => Ok(ExitCode::from(Verdict::EnvInvalid.exit_code())),
        false => Ok(ExitCode::SUCCESS),
    }
}

/// Says what to do with a repository that was made and not run.
fn made_only(demo: &DemoRepo) -> ExitCode {
    println!("{} rounds; the first of them:", demo.rounds.len());
    if let Some(first) = demo.rounds.first() {
        println!(
            "  runner run -C {} --base {} --head {}",
            demo.path.display(),
            first.base.short(),
            first.head.short()
        );
    }
    ExitCode::SUCCESS
}

/// Runs the rounds. The pipeline is the caller's: `each` runs one round, `finish` shows them all.
///
/// # Errors
/// Where the repository could not be made, or the caller's part failed.
async fn walk(
    args: Args,
    mut each: impl AsyncFnMut(&DemoRepo, &DemoRound) -> anyhow::Result<()>,
    finish: impl AsyncFnOnce(&DemoRepo) -> anyhow::Result<ExitCode>,
) -> anyhow::Result<ExitCode> {
    let arch = match args.arch.is_empty() {
        true => default_arch(),
        false => args.arch,
    };
    let options = Options {
        campaign: args.campaign,
        cuda: args.toolchain,
        arch,
    };
    let mut temporary = None;
    let dir = match args.dir {
        Some(dir) => dir,
        None => {
            let made = tempfile::Builder::new()
                .prefix("roundhouse-demo-")
                .disable_cleanup(args.keep)
                .tempdir()
                .context("making a temporary folder for the demo's repository")?;
            temporary.insert(made).path().to_owned()
        }
    };
    let demo = create(&dir, options).context("making the demo's repository")?;
    eprintln!("demo repository: {}", demo.path.display());
    if args.only_repository {
        return Ok(made_only(&demo));
    }
    for round in &demo.rounds {
        each(&demo, round).await?;
    }
    finish(&demo).await
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn args(line: &[&str]) -> Args {
        let words = std::iter::once(&"demo").chain(line);
        Line::try_parse_from(words).expect("good arguments").args
    }

    async fn titles(args: Args) -> (Vec<String>, PathBuf, Vec<String>) {
        let mut titles = Vec::new();
        let mut seen = None;
        let each = async |_: &DemoRepo, round: &DemoRound| {
            titles.push(round.title.clone());
            Ok(())
        };
        let finish = async |demo: &DemoRepo| {
            assert!(
                demo.path.join("campaign.toml").is_file(),
                "still there at the end"
            );
            seen = Some((demo.path.clone(), demo.options.arch.clone()));
            Ok(ExitCode::SUCCESS)
        };
        walk(args, each, finish).await.expect("the demo runs");
        let (path, arch) = seen.expect("finish ran");
        (titles, path, arch)
    }

    #[tokio::test]
    async fn every_round_is_run_and_the_temporary_folder_goes() {
        let (titles, path, arch) = titles(args(&["--arch", "sm_90,sm_121"])).await;
        assert_eq!(titles.len(), 5, "the small campaign is the default");
        assert!(
            titles[0].starts_with("ldsm_check: XOR swizzle"),
            "{titles:?}"
        );
        assert_eq!(arch, ["sm_90", "sm_121"]);
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn a_kept_folder_stays() {
        let (_, path, _) = titles(args(&["--keep"])).await;
        assert!(path.join(".git").exists());
        std::fs::remove_dir_all(path).expect("ours to remove");
    }

    #[tokio::test]
    async fn a_given_folder_stays() {
        let dir = tempfile::tempdir().expect("a folder");
        let given = dir.path().join("demo");
        let line = ["--dir", given.to_str().expect("UTF-8")];
        let (_, path, _) = titles(args(&line)).await;
        assert!(path.join(".git").exists());
    }

    #[tokio::test]
    async fn a_repository_alone_is_made_and_nothing_is_run() {
        let dir = tempfile::tempdir().expect("a folder");
        let given = dir.path().join("demo");
        let words = ["--only-repository", "--dir", given.to_str().expect("UTF-8")];
        let each = async |_: &DemoRepo, _: &DemoRound| anyhow::bail!("a round was run");
        let finish = async |_: &DemoRepo| anyhow::bail!("the table was shown");
        walk(args(&words), each, finish).await.expect("made");
        assert!(given.join("campaign.toml").is_file());
        Line::try_parse_from(["demo", "--only-repository"]).expect_err("needs a folder");
    }

    #[tokio::test]
    async fn the_matrix_products_are_there_for_the_asking() {
        let (titles, _, _) = titles(args(&["--campaign", "mmq"])).await;
        assert_eq!(titles.len(), 9);
        assert!(titles[0].starts_with("mmq_wide: warps of"), "{titles:?}");
        let error = Line::try_parse_from(["demo", "--campaign", "x"]).expect_err("unknown");
        assert!(error.to_string().contains("known are checks and mmq"));
    }

    #[test]
    fn unknown_toolchains_are_refused() {
        let error = Line::try_parse_from(["demo", "--toolchain", "11.8"]).expect_err("unknown");
        assert!(error.to_string().contains("known are 13.0 and system"));
        for arch in ["sm_1", ""] {
            let error = Line::try_parse_from(["demo", "--arch", arch]).expect_err("no arch");
            assert!(error.to_string().contains("for example sm_121"), "{error}");
        }
    }
}
