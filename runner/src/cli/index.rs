//! `runner index`: the campaign's pages as static files.

use std::path::PathBuf;
use std::process::ExitCode;

use super::Context;
use crate::numbers::counted;
use crate::record::Records;

/// Arguments of `runner index`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The folder to write to; made where it is missing. Pages of earlier calls are replaced.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// The campaign [default: the one of the repository's campaign.toml, else the database's only
    /// one].
    #[arg(long, value_name = "NAME")]
    campaign: Option<String>,
    /// Print the rounds as a versioned JSON document as well.
    #[arg(long)]
    json: bool,
}

/// Writes the pages and says where they are.
pub(super) async fn run(args: Args, context: &Context) -> anyhow::Result<ExitCode> {
    let records = Records::open_existing(&context.dirs).await?;
    let campaign = crate::site::choose(
        &records,
        args.campaign.as_deref(),
        context.own_campaign().as_deref(),
    )
    .await?;
    let site = crate::site::write(&records, &campaign, &args.out).await?;
    if args.json {
        print!("{}", site.document);
    } else {
        println!(
            "{} of {}: {}",
            counted(site.rounds, "round"),
            campaign.title,
            site.index.display()
        );
    }
    Ok(ExitCode::SUCCESS)
}
