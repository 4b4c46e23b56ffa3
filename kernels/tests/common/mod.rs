//! What the tests of the series share: git and the running of programs.

use std::path::Path;
use std::process::Command;

use kernels::series::Patch;
use tempfile::TempDir;

pub type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Runs a program to its end; what it printed, or an error that holds what it complained about.
pub fn run(command: &mut Command) -> Result<String> {
    let output = command
        .output()
        .map_err(|e| format!("{command:?} cannot be started: {e}"))?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("{command:?}: {}\n{complaint}", output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

pub fn git(dir: &Path) -> Command {
    let mut command = Command::new("git");
    command
        .current_dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .env("GIT_COMMITTER_NAME", "Roundhouse")
        .env("GIT_COMMITTER_EMAIL", "demo@roundhouse.invalid")
        .args([
            "-c",
            "commit.gpgSign=false",
            "-c",
            "core.hooksPath=/dev/null",
        ]);
    command
}

/// A repository with the patches applied.
pub fn apply(patches: &[Patch]) -> Result<TempDir> {
    let dir = TempDir::new()?;
    run(git(dir.path()).args(["init", "-q", "-b", "main", "--object-format=sha1", "."]))?;
    for patch in patches {
        let mail = dir.path().join(".git/mail");
        std::fs::write(&mail, patch.mail)?;
        run(git(dir.path())
            .args(["am", "-q", "-k", "--committer-date-is-author-date"])
            .arg(&mail))?;
    }
    Ok(dir)
}
