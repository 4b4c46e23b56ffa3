//! The command line: arguments, dispatch, exit statuses. The only module that uses clap.
//! Each subcommand has a file of its own; none of them holds logic beyond turning arguments
//! into calls and results into output.

mod anchor;
mod bisect;
mod calibrate;
mod campaign;
mod canary;
mod check;
mod compare;
mod confirm;
mod context;
mod correct;
mod counters;
mod decide;
mod demo;
mod dirs;
mod export;
mod gc;
mod guard;
mod harness;
mod import;
mod index;
mod init;
mod inspect;
mod replay;
mod run;
mod show;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

pub use context::Context;
pub use dirs::{DATABASE, Dirs};

/// How to start, below the list of commands.
const START: &str = "\
To start, in a repository of CUDA code:
  runner init      writes campaign.toml; add a [[bench]] to it and commit it
  runner check     says what is still missing
  runner run       HEAD against its base: a verdict

Each command ends with status 2 where it was asked something that it cannot do.";

/// Reproducible regression tracking for CUDA-kernel campaigns.
///
/// Builds a commit and its base, inspects their kernels, checks parity and identity, measures
/// interleaved pairs, and books a verdict that can be replayed.
#[derive(Debug, Parser)]
#[command(name = "runner", version, max_term_width = 100, after_help = START)]
struct Arguments {
    #[command(flatten)]
    context: context::Args,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Write a commented campaign.toml for the repository at hand.
    Init(init::Args),
    /// Say what is right and wrong with config, toolchain, device, permissions and disk.
    Check(check::Args),
    /// Judge one commit against its base.
    Run(run::Args),
    /// Measure one commit against itself: this machine's noise, and which bars it supports.
    Calibrate(calibrate::Args),
    /// Show what compiled kernels hold, in any binary.
    Inspect(inspect::Args),
    /// List the recorded runs, or show one.
    Show(show::Args),
    /// Compare two recorded runs: their heads' code, and each one's effects.
    Compare(compare::Args),
    /// Measure a lever with a flaky verdict once more; that verdict then stands.
    Confirm(confirm::Args),
    /// Record a person's decision on a run.
    Decide(decide::Args),
    /// Record a correction of a figure; the earlier one stays.
    Correct(correct::Args),
    /// Profile both sides with Nsight Compute, and add that to a recorded run.
    Counters(counters::Args),
    /// Pin a commit, and measure later ones against it: the cumulated effect, steps and creep.
    Anchor(anchor::Args),
    /// Find the first commit between two that made a bench slower.
    Bisect(bisect::Args),
    /// Write the campaign index: static pages that work from disk.
    Index(index::Args),
    /// Rebuild and repeat a recorded run from its record.
    Replay(replay::Args),
    /// Write a run with everything that belongs to it to one file.
    Export(export::Args),
    /// Take runs from such files into the record.
    Import(import::Args),
    /// Remove artefacts and built trees that no kept round needs.
    Gc(gc::Args),
    /// Make the sample campaign's repository and run its rounds.
    Demo(demo::Args),
    /// Serve the sample campaign's kernels by JSON lines on stdin and stdout.
    Harness(harness::Args),
    /// Time the canary's fixed work once, and print it as JSON.
    #[command(hide = true)]
    Canary(canary::Args),
    /// Lock a card's clock until standard input ends.
    #[command(hide = true)]
    GuardClocks(guard::Args),
}

/// Who acts: as given, else git's `user.name` in the repository, else the system's user.
async fn person(given: Option<String>, repo: &std::path::Path) -> anyhow::Result<String> {
    if let Some(name) = given {
        return Ok(name);
    }
    if let Some(name) = crate::git::user_name(repo).await {
        return Ok(name);
    }
    std::env::var("USER").map_err(|_| {
        anyhow::anyhow!("cannot tell who acts: give --by NAME, or set git's user.name")
    })
}

/// The exit status of a usage or internal error.
const FAILED: u8 = 2;

/// Parses the arguments, runs the command, and gives the exit status.
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("error: cannot start the asynchronous runtime: {error}");
            return ExitCode::from(FAILED);
        }
    };
    match runtime.block_on(dispatch(arguments)) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(FAILED)
        }
    }
}

async fn dispatch(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let context = Context::new(arguments.context)?;
    match arguments.command {
        Command::Init(args) => init::run(args, &context.repo).await,
        Command::Check(args) => check::run(args, &context).await,
        Command::Run(args) => run::run(args, &context).await,
        Command::Calibrate(args) => calibrate::run(args, &context).await,
        Command::Inspect(args) => inspect::run(args, context.installed_nvdisasm()).await,
        Command::Show(args) => show::run(args, &context).await,
        Command::Compare(args) => compare::run(args, &context).await,
        Command::Confirm(args) => confirm::run(args, &context).await,
        Command::Decide(args) => decide::run(args, &context).await,
        Command::Correct(args) => correct::run(args, &context).await,
        Command::Counters(args) => counters::run(args, &context).await,
        Command::Anchor(args) => anchor::run(args, &context).await,
        Command::Bisect(args) => bisect::run(args, &context).await,
        Command::Index(args) => index::run(args, &context).await,
        Command::Replay(args) => replay::run(args, &context).await,
        Command::Export(args) => export::run(args, &context).await,
        Command::Import(args) => import::run(args, &context).await,
        Command::Gc(args) => gc::run(args, &context).await,
        Command::Demo(args) => demo::run(args, &context).await,
        Command::Harness(args) => harness::run(&args),
        Command::Canary(args) => canary::run(&args),
        Command::GuardClocks(args) => Ok(guard::run(args)),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_arguments_are_sound() {
        Arguments::command().debug_assert();
    }

    /// clap takes two arguments of one name for the same, and panics where their types differ.
    #[test]
    fn no_command_takes_the_name_of_an_argument_of_all() {
        let root = Arguments::command();
        let globals = root.get_arguments().filter(|arg| arg.is_global_set());
        let globals: Vec<_> = globals.map(|arg| arg.get_id().clone()).collect();
        assert!(!globals.is_empty());
        for command in root.get_subcommands() {
            for arg in command.get_arguments() {
                let name = command.get_name();
                assert!(!globals.contains(arg.get_id()), "{name} --{}", arg.get_id());
            }
        }
    }

    /// One voice: what a command or an argument does, in the imperative or as a noun.
    #[test]
    fn help_does_not_retell_in_the_third_person() {
        let root = Arguments::command();
        for command in root.get_subcommands() {
            let about = command.get_about().map(ToString::to_string);
            let helps = command.get_arguments().filter_map(|arg| arg.get_help());
            for help in about.into_iter().chain(helps.map(ToString::to_string)) {
                let first = help.split(' ').next().unwrap_or_default();
                let retells = first.ends_with('s') && !first.ends_with("ss");
                let noun = ["Files", "Threads", "Architectures"].contains(&first);
                assert!(!retells || noun, "{}: {help}", command.get_name());
            }
        }
    }
}
