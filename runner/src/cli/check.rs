//! `runner check`.

use std::path::PathBuf;
use std::process::ExitCode;

use serde::Serialize;

use super::Context;
use crate::config::Config;
use crate::doctor::{self, Finding, Request, Status};
use crate::model::SCHEMA_VERSION;

/// Says what is right and wrong with config, toolchain, device, permissions and disk, each with
/// the remedy. Exit status 1 if anything is bad.
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit status: 0, or 1 where anything is bad.")]
pub struct Args {
    /// The campaign's file, below the repository's folder.
    #[arg(long, default_value = "campaign.toml", value_name = "FILE")]
    pub config: PathBuf,
    /// Print a versioned JSON document.
    #[arg(long)]
    pub json: bool,
}

/// The JSON document.
#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    ok: bool,
    findings: &'a [Finding],
}

/// Runs the command.
pub(super) async fn run(args: Args, context: &Context) -> anyhow::Result<ExitCode> {
    let dirs = &context.dirs;
    let file = context.repo.join(&args.config);
    let findings = doctor::examine(&Request {
        config: Config::from_file(&file).map_err(|error| error.to_string()),
        config_file: &file,
        repository: &context.repo,
        data: &dirs.data,
        cache: &dirs.cache,
        locks: &dirs.locks,
    })
    .await;
    let ok = findings.iter().all(|finding| finding.status != Status::Bad);
    if args.json {
        let document = Document {
            schema: SCHEMA_VERSION,
            ok,
            findings: &findings,
        };
        println!("{}", serde_json::to_string_pretty(&document)?);
    } else {
        print!("{}", text(&findings));
    }
    Ok(if ok {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// A line for each finding, and its remedy on the next.
fn text(findings: &[Finding]) -> String {
    let mut text = String::new();
    for finding in findings {
        let word = match finding.status {
            Status::Ok => "ok  ",
            Status::Warn => "warn",
            Status::Bad => "bad ",
        };
        let found = finding.found.trim_end().replace('\n', "\n      ");
        text += &format!("{word}  {}: {found}\n", finding.topic);
        if let Some(remedy) = &finding.remedy {
            text += &format!("      -> {remedy}\n");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_folder_without_anything_is_bad_and_says_what_to_do() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = |name: &str| folder.path().join(name);
        let repo = path("repo");
        std::fs::create_dir(&repo).expect("a folder");
        let findings = doctor::examine(&Request {
            config: Err("no such file".to_owned()),
            config_file: &repo.join("campaign.toml"),
            repository: &repo,
            data: &path("data"),
            cache: &path("cache"),
            locks: &path("locks"),
        })
        .await;
        let text = text(&findings);
        assert!(text.contains("bad   config: there is no "), "{text}");
        assert!(text.contains("-> `runner init` writes one"), "{text}");
        assert!(text.contains("bad   git: "), "{text}");
        assert!(text.contains("ok    cache folder: "), "{text}");
        for finding in &findings {
            assert_eq!(
                finding.remedy.is_none(),
                finding.status == Status::Ok,
                "{finding:?}"
            );
        }
        assert!(!path("data").exists() && !path("locks").exists());
    }
}
