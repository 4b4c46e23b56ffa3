//! `runner correct`: a later, better figure. The earlier one stays in the record.

use std::process::ExitCode;

use anyhow::Context as _;

use super::Context;
use crate::record::{CorrectionRequest, Records};

/// Arguments of `runner correct`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: runner correct 12 --field bench:prefill:estimate --value 1.2 --source 15 \
                        --reason 'wrong binary'"
)]
pub(super) struct Args {
    /// The run whose record is corrected: its number, or its head by commit, branch,
    /// tree or patch-id where that fits one run only.
    run: String,
    /// What is corrected: `verdict`, or `bench:NAME:FIGURE` with FIGURE one of estimate, low,
    /// high, base_median, head_median.
    #[arg(long, value_name = "NAME")]
    field: String,
    /// The value that counts from now on.
    #[arg(long, value_name = "VALUE")]
    value: String,
    /// Why.
    #[arg(long, value_name = "TEXT", value_parser = super::context::reason)]
    reason: String,
    /// The later run that gave the new value.
    #[arg(long, value_name = "RUN")]
    source: Option<String>,
    /// Who corrects [default: git's user.name, else USER].
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
}

/// Records the correction.
pub(super) async fn run(args: Args, context: &Context) -> anyhow::Result<ExitCode> {
    let records = Records::open_existing(&context.dirs).await?;
    let found = context.find_one_run(&records, &args.run).await?;
    let source = match &args.source {
        Some(text) => Some(context.find_one_run(&records, text).await?.run),
        None => None,
    };
    let by = super::person(args.by, &context.repo).await?;
    let request = CorrectionRequest {
        field: &args.field,
        value: &args.value,
        reason: &args.reason,
        by: &by,
        source,
    };
    let old = records
        .correct(found.run, &request)
        .await
        .with_context(|| format!("correcting {} of run {}", args.field, found.run))?;
    println!(
        "run {}: {} was {old}, is {} from now on",
        found.run, args.field, args.value
    );
    Ok(ExitCode::SUCCESS)
}
