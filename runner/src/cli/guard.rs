//! `runner guard-clocks`: the process that takes a clock's lock away when its runner is gone. No
//! command for people; `machine::clocks` starts it.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::machine::clocks::{Guard, guard};

/// Lock a card's clock until standard input ends.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The card
    #[arg(long)]
    uuid: String,
    /// The SM clock, MHz
    #[arg(long)]
    mhz: u32,
    /// Where the marker is
    #[arg(long)]
    marker: PathBuf,
    /// What for
    #[arg(long)]
    what: String,
}

/// Guards.
pub fn run(args: Args) -> ExitCode {
    let done = guard(&Guard {
        uuid: args.uuid,
        mhz: args.mhz,
        marker: args.marker,
        what: args.what,
    });
    match done {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}
