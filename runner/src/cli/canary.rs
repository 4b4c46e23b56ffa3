//! `runner canary`: the fixed work that shows whether the machine is as fast as it was. A run
//! starts it before and after its window.

use std::process::ExitCode;

/// Time the canary's fixed work once, and print it as JSON.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The CUDA device, as `nvidia-smi -L` names it; the CPU where none is given
    #[arg(long, value_name = "GPU-…")]
    uuid: Option<String>,
}

/// Runs it.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    println!("{}", crate::machine::canary::report(args.uuid.as_deref())?);
    Ok(ExitCode::SUCCESS)
}
