//! `runner init`: writes a commented `campaign.toml` for the repository at hand.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};

use crate::config::{FILE_NAME, Found, Recipe, detect, render_template};

/// Writes a commented campaign.toml for the repository at hand.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A folder of the repository, at whose root the file is written [default: that of --repo].
    pub path: Option<PathBuf>,
    /// Replace a campaign.toml that is already there.
    #[arg(long)]
    pub force: bool,
    /// Print the file instead of writing it.
    #[arg(long, conflicts_with = "force")]
    pub print: bool,
}

/// Looks at the repository and writes or prints the file.
pub async fn run(args: Args, repo: &Path) -> anyhow::Result<ExitCode> {
    let path = args.path.clone().unwrap_or_else(|| repo.to_owned());
    tokio::task::spawn_blocking(move || init(&args, &path))
        .await
        .context("looking at the repository")?
}

fn init(args: &Args, path: &Path) -> anyhow::Result<ExitCode> {
    let folder = path
        .canonicalize()
        .with_context(|| format!("looking for the folder `{}`", path.display()))?;
    let root = folder
        .ancestors()
        .find(|folder| folder.join(".git").exists());
    let found = detect(root.unwrap_or(&folder));
    let text = render_template(&found);
    if args.print {
        std::io::stdout()
            .write_all(text.as_bytes())
            .context("printing the file")?;
        return Ok(ExitCode::SUCCESS);
    }
    let path = root.unwrap_or(&folder).join(FILE_NAME);
    write(&path, &text, args.force)?;
    report(&path, &found, root.is_some()).context("telling what was written")?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the file whole or not at all, and never over another without `force`.
fn write(path: &Path, text: &str, force: bool) -> anyhow::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let context = || format!("writing `{}`", path.display());
    let mut file = tempfile::Builder::new()
        .prefix(".campaign.toml.")
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))
        .tempfile_in(folder)
        .with_context(context)?;
    file.write_all(text.as_bytes()).with_context(context)?;
    let kept = match force {
        true => file.persist(path),
        false => file.persist_noclobber(path),
    };
    match kept {
        Ok(_) => Ok(()),
        Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => bail!(
            "`{}` is already there; `runner init --print` shows what would be written, `--force` \
             replaces it",
            path.display()
        ),
        Err(error) => Err(error.error).with_context(context),
    }
}

fn report(path: &Path, found: &Found, in_git: bool) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    let what = match &found.recipe {
        Recipe::Make { file, .. } => format!("make ({file})"),
        Recipe::CMake { .. } => "CMake".to_owned(),
        Recipe::Nvcc { units, .. } => {
            let sources: usize = units.iter().map(|unit| unit.sources.len()).sum();
            format!("CUDA sources without a build file ({sources})")
        }
        Recipe::Unknown => "no build that is known here; fill in [build]".to_owned(),
    };
    writeln!(out, "recognised: {what}")?;
    match found.archs.as_slice() {
        [] => writeln!(
            out,
            "architectures: none named in the build files; check `arch`"
        )?,
        archs => writeln!(out, "architectures: {}", archs.join(", "))?,
    }
    writeln!(out, "wrote {}", path.display())?;
    if !in_git {
        writeln!(
            out,
            "note: this folder is in no git repository; `git init` comes first"
        )?;
    }
    writeln!(
        out,
        "next: read it through, fill in a [[bench]], then `runner check`, and commit the file"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(path: &Path) -> Args {
        Args {
            path: Some(path.to_owned()),
            force: false,
            print: false,
        }
    }

    #[tokio::test]
    async fn the_file_lands_at_the_root_and_is_not_overwritten() -> anyhow::Result<()> {
        let dir = tempfile::tempdir()?;
        let root = dir.path();
        let elsewhere = Path::new("/no/such/folder");
        std::fs::create_dir_all(root.join(".git"))?;
        std::fs::create_dir_all(root.join("src"))?;
        std::fs::write(
            root.join("Makefile"),
            "engine: a.cu\n\tnvcc -arch=sm_90 -o $@ $<\n",
        )?;
        run(args(&root.join("src")), elsewhere).await?;
        let path = root.join(FILE_NAME);
        let config = crate::config::Config::from_file(&path)?;
        assert_eq!(config.build.outputs, ["engine"]);
        assert_eq!(config.toolchain.arch, ["sm_90"]);

        std::fs::write(&path, "mine")?;
        let error = run(args(root), elsewhere).await.expect_err("it is there");
        assert!(error.to_string().contains("--force"), "{error}");
        assert_eq!(std::fs::read_to_string(&path)?, "mine");

        // Without a path, the repository that all commands are given.
        let forced = Args {
            force: true,
            path: None,
            ..args(root)
        };
        run(forced, root).await?;
        crate::config::Config::from_file(&path)?;
        let left = std::fs::read_dir(root)?.count();
        assert_eq!(left, 4, "no temporary file is left");
        Ok(())
    }

    #[tokio::test]
    async fn a_folder_that_is_not_there_is_named() {
        let error = run(args(Path::new("/no/such/folder")), Path::new("."))
            .await
            .expect_err("not there");
        assert!(error.to_string().contains("/no/such/folder"), "{error}");
    }
}
