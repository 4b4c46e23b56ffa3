//! `runner export`: a run as one file.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, bail};

use super::Context;
use crate::bundle::{ExportOptions, Exported, export};
use crate::numbers;
use crate::record::{Records, RunId};

/// Arguments of `runner export`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: runner export 12 --out r22.tar.zst\n\nThe file's format: docs/bundles.md"
)]
pub(super) struct Args {
    /// The runs: each by its number, or its head by commit, branch, tree or patch-id.
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<String>,
    /// The file to write, or a folder for files named by their runs [default: the current
    /// folder].
    #[arg(long, value_name = "PATH")]
    out: Option<PathBuf>,
    /// Leave out what was built; a replay builds it anew.
    #[arg(long)]
    without_binaries: bool,
    /// Print a versioned JSON document.
    #[arg(long)]
    json: bool,
}

/// Writes a file for each run.
pub(super) async fn run(args: Args, context: &Context) -> anyhow::Result<ExitCode> {
    let records = Records::open_existing(&context.dirs).await?;
    let out = args.out.unwrap_or_else(|| PathBuf::from("."));
    if args.runs.len() > 1 && !out.is_dir() {
        bail!(
            "{} runs need a folder: --out {} is none",
            args.runs.len(),
            out.display()
        );
    }
    let options = ExportOptions {
        without_binaries: args.without_binaries,
    };
    let mut documents = Vec::new();
    for text in &args.runs {
        let found = context.find_run(&records, text).await?;
        super::context::tell_caveat(&found, found.original);
        if found.runs.len() > 1 {
            let others = found.runs.iter().filter(|run| **run != found.original);
            let others: Vec<_> = others.map(ToString::to_string).collect();
            eprintln!(
                "note: `{text}` fits several runs; this is {}, the others are {}",
                found.original,
                others.join(", ")
            );
        }
        let run = found.original;
        let (path, done) = export(&records, run, &out, options)
            .await
            .with_context(|| format!("exporting run {run}"))?;
        match args.json {
            true => documents.push(document(run, &path, &done)),
            false => print!("{}", line(run, &path, &done)),
        }
    }
    if args.json {
        let all = serde_json::json!({
            "schema": crate::model::SCHEMA_VERSION,
            "kind": "export",
            "bundles": documents,
        });
        println!("{all:#}");
    }
    Ok(ExitCode::SUCCESS)
}

fn line(run: RunId, path: &std::path::Path, done: &Exported) -> String {
    let manifest = &done.manifest;
    let mut out = format!(
        "run {run} is in {}: {}, {}\n",
        path.display(),
        numbers::bytes(done.bytes),
        numbers::counted(manifest.artifacts.len(), "content"),
    );
    for left in &manifest.left_out {
        out.push_str(&format!(
            "  without {} ({}): {}\n",
            &left.sha256[..12],
            numbers::bytes(left.bytes),
            crate::render::text::one_line(&left.reason)
        ));
    }
    out
}

fn document(run: RunId, path: &std::path::Path, done: &Exported) -> serde_json::Value {
    serde_json::json!({
        "run": run,
        "uuid": done.manifest.run.uuid,
        "file": path,
        "bytes": done.bytes,
        "contents": done.manifest.artifacts.len(),
        "left_out": done.manifest.left_out,
    })
}
