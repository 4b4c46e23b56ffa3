//! `runner gc`: frees disk.

use std::process::ExitCode;

use anyhow::Context as _;

use super::Context;
use crate::record::{Records, now};

/// Arguments of `runner gc`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Say what would be removed and why, and remove nothing.
    #[arg(long)]
    dry_run: bool,
    /// Keep everything younger than so many days.
    #[arg(long, default_value_t = 30, value_name = "DAYS")]
    keep_days: u32,
    /// Remove also what landed rounds and their bases need. Commits and rows always stay.
    #[arg(long)]
    also_kept_rounds: bool,
    /// Remove also built trees that were not used for that long from the cache folder; they are
    /// built again when needed.
    #[arg(long)]
    built_trees: bool,
    /// Print the plan as a JSON document.
    #[arg(long)]
    json: bool,
}

/// Plans, and removes unless it is a dry run.
pub(super) async fn run(args: Args, context: &Context) -> anyhow::Result<ExitCode> {
    let records = Records::open_existing(&context.dirs).await?;
    let store = records.vault().store();
    let policy = records.gc_policy(args.keep_days, !args.also_kept_rounds, now());
    let plan = {
        let mut read = records.db().read().await?;
        db::gc::plan(&mut read, store, &policy)
            .await
            .context("planning what to remove")?
    };
    if args.json {
        println!("{}", plan_document(&plan, args.dry_run));
    } else {
        print_plan(&plan, args.dry_run);
    }
    if args.dry_run {
        return Ok(ExitCode::SUCCESS);
    }
    let applied = db::gc::apply(records.db(), store, &plan)
        .await
        .context("removing")?;
    if !args.json {
        println!(
            "removed {} files, {} freed",
            applied.files,
            size(applied.bytes)
        );
    }
    if args.built_trees {
        let unused = std::time::Duration::from_secs(u64::from(args.keep_days) * 24 * 60 * 60);
        let trees = crate::build::prune(&context.dirs.cache, unused)?;
        if !args.json {
            println!("removed {trees} built trees from the cache");
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn size(bytes: i64) -> String {
    crate::numbers::bytes(u64::try_from(bytes).unwrap_or(0))
}

fn print_plan(plan: &db::gc::Plan, dry_run: bool) {
    let verb = if dry_run { "would remove" } else { "removing" };
    for removal in plan.remove.iter().chain(&plan.orphans) {
        let size = size(removal.stored_bytes);
        println!(
            "{verb} {}  {size:>10}  {}",
            &removal.sha256[..12],
            removal.reason
        );
    }
    for missing in &plan.missing {
        println!(
            "missing  {}: the record expects it, and its file is gone",
            &missing[..12]
        );
    }
    let kept = size(plan.kept_bytes);
    println!(
        "{verb} {}; {} artefacts ({kept}) stay, and every row of the record",
        size(plan.freed_bytes()),
        plan.kept,
    );
}

fn plan_document(plan: &db::gc::Plan, dry_run: bool) -> serde_json::Value {
    let removals: Vec<_> = plan
        .remove
        .iter()
        .chain(&plan.orphans)
        .map(|removal| {
            serde_json::json!({
                "artifact": removal.sha256,
                "stored_bytes": removal.stored_bytes,
                "reason": removal.reason,
            })
        })
        .collect();
    serde_json::json!({
        "schema": crate::model::SCHEMA_VERSION,
        "kind": "gc",
        "dry_run": dry_run,
        "remove": removals,
        "missing": plan.missing,
        "freed_bytes": plan.freed_bytes(),
        "kept": plan.kept,
        "kept_bytes": plan.kept_bytes,
    })
}
