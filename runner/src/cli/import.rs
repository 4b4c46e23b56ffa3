//! `runner import`: runs from other databases.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;

use super::Context;
use crate::bundle::{Imported, Judged, import, peek};
use crate::record::Records;
use crate::render::text::one_line;

/// What importing trusts, below the options.
const HELP: &str = "\
A bundle's measurements are taken as they are: import from people whose numbers you would believe.
Its judgement is not: the run is judged again here, and where that differs, both are kept and the
one made here counts. Importing a bundle again changes nothing; a newer bundle of the same run adds
what was added to it.

A later `runner replay` of the run builds and starts what its commits and config say.";

/// Arguments of `runner import`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// The bundles, as `runner export` wrote them.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Print a versioned JSON document.
    #[arg(long)]
    json: bool,
}

/// Imports each file, those of earlier runs first, so that what they refer to is there.
pub(super) async fn run(args: Args, context: &Context) -> anyhow::Result<ExitCode> {
    let mut files = Vec::new();
    for file in args.files {
        let manifest = peek(&file).with_context(|| format!("importing {}", file.display()))?;
        files.push((manifest.run.started_at, file));
    }
    files.sort();
    let records = Records::open(&context.dirs).await?;
    let mut documents = Vec::new();
    for (_, file) in files {
        let done = import(&records, &file)
            .await
            .with_context(|| format!("importing {}", file.display()))?;
        match args.json {
            true => documents.push(document(&file, &done)),
            false => print!("{}", text(&done)),
        }
    }
    if args.json {
        let all = serde_json::json!({
            "schema": crate::model::SCHEMA_VERSION,
            "kind": "import",
            "bundles": documents,
        });
        println!("{all:#}");
    }
    Ok(ExitCode::SUCCESS)
}

fn text(done: &Imported) -> String {
    let run = done.run;
    let mut out = match (&done.judged, done.is_new) {
        (None, _) => format!("run {run} was here already: nothing changed\n"),
        (Some(_), true) => {
            format!(
                "run {run} is new here: campaign {}\n",
                one_line(&done.campaign)
            )
        }
        (Some(_), false) => {
            let added: Vec<String> = done
                .added
                .iter()
                .map(|(table, n)| format!("{n} of {table}"))
                .collect();
            format!("run {run} was here; added: {}\n", added.join(", "))
        }
    };
    let judged = match &done.judged {
        None => None,
        Some(Judged::Same) => Some("judged again from its evidence: the same".to_owned()),
        Some(Judged::DetailsDiffer) => Some(
            "judged again from its evidence: the same verdict, with other details; both are kept"
                .to_owned(),
        ),
        Some(Judged::VerdictDiffers { was, is }) => Some(format!(
            "NOT as the bundle says: it says {was}, its evidence gives {is}; both are kept, and \
             {is} counts"
        )),
        Some(Judged::NeverJudged) => Some("it was never judged".to_owned()),
    };
    for line in judged.iter().chain(&done.notes) {
        out.push_str(&format!("  {}\n", one_line(line)));
    }
    out
}

fn document(file: &std::path::Path, done: &Imported) -> serde_json::Value {
    serde_json::json!({
        "file": file,
        "sha256": done.bundle_sha256,
        "run": done.run,
        "uuid": done.uuid,
        "campaign": done.campaign,
        "new": done.is_new,
        "added": done.added,
        "judged": done.judged.as_ref().map(Judged::word),
        "notes": done.notes,
    })
}
