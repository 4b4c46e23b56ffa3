//! The profiler: where it is, which version, and its command line.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::config::{CommandLine, Counters};
use crate::model::ProfileFailure;
use crate::process::{self, Spec};

/// Where CUDA's installers put it.
const USUAL: &str = "/usr/local/cuda/bin";

/// The most characters of a version.
const LONGEST_VERSION: usize = 80;

/// Nsight Compute's command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profiler {
    path: PathBuf,
    version: String,
}

/// Finds `ncu` on PATH, in the toolchain's folder or in CUDA's usual one, and asks it for its
/// version.
///
/// # Errors
/// [`ProfileFailure::Missing`] where there is none, or the one found does not run.
pub async fn find_profiler(toolchain: Option<&Path>) -> Result<Profiler, ProfileFailure> {
    let missing = |detail: String| ProfileFailure::Missing { detail };
    let folders: Vec<&Path> = toolchain.into_iter().chain([Path::new(USUAL)]).collect();
    let elsewhere = folders.iter().map(|folder| folder.join("ncu"));
    let found = which::which("ncu")
        .ok()
        .or_else(|| elsewhere.into_iter().find(|path| path.is_file()));
    let Some(path) = found else {
        let others: Vec<String> = folders.iter().map(|f| f.display().to_string()).collect();
        return Err(missing(format!(
            "there is no `ncu` on PATH, nor in {}",
            others.join(" or ")
        )));
    };
    let version = version_of(&path)
        .await
        .map_err(|said| missing(format!("{} does not run: {said}", path.display())))?;
    Ok(Profiler { path, version })
}

async fn version_of(path: &Path) -> Result<String, String> {
    let inherited = |name: &str| Some((name.to_owned(), std::env::var(name).ok()?));
    let done = process::run(&Spec {
        command: CommandLine::Argv(vec![text(path), "--version".to_owned()]),
        cwd: PathBuf::from("/"),
        env: ["PATH", "HOME"].into_iter().filter_map(inherited).collect(),
        timeout: Duration::from_secs(60),
        output_limit: 1 << 20,
    })
    .await;
    if let Some(failure) = done.failure {
        return Err(format!("it {}", crate::judge::failure_words(&failure)));
    }
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    let line = said
        .lines()
        .find_map(|line| line.trim().strip_prefix("Version "));
    let version = line.unwrap_or("of unknown version").trim();
    let version = version.trim_end_matches("(public-release)").trim();
    // A page shows it, whatever program was found under the profiler's name.
    Ok(crate::judge::shortened(version, LONGEST_VERSION))
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

impl Profiler {
    /// Name and version, as the record keeps it.
    pub fn description(&self) -> String {
        format!("Nsight Compute {}", self.version)
    }

    /// The command of an entry under the profiler, whose own output goes to `log`. Clocks are left
    /// alone and no set is collected: only what is asked for.
    pub(super) fn command(&self, entry: &Counters, metrics: &[String], log: &Path) -> CommandLine {
        let options: [String; 14] = [
            "--target-processes".to_owned(),
            "all".to_owned(),
            "--clock-control".to_owned(),
            "none".to_owned(),
            "--csv".to_owned(),
            "--page".to_owned(),
            "raw".to_owned(),
            "--print-units".to_owned(),
            "base".to_owned(),
            "--kernel-name".to_owned(),
            format!("regex:{}", entry.kernels),
            "--launch-count".to_owned(),
            entry.launches.to_string(),
            "--metrics".to_owned(),
        ];
        let program: Vec<String> = match &entry.command {
            CommandLine::Argv(words) => words.clone(),
            CommandLine::Shell(script) => {
                vec!["/bin/sh".to_owned(), "-c".to_owned(), script.clone()]
            }
        };
        let mut words = vec![text(&self.path)];
        words.extend(options);
        words.extend([metrics.join(","), "--log-file".to_owned(), text(log)]);
        words.extend(program);
        CommandLine::Argv(words)
    }
}

#[cfg(test)]
impl Profiler {
    /// A profiler that is not there, for scripted launchers.
    pub(super) fn stand_in() -> Profiler {
        Profiler {
            path: PathBuf::from("ncu"),
            version: "1.0".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[tokio::test]
    async fn a_version_is_one_short_line_without_control_characters() {
        let folder = tempfile::tempdir().expect("a folder");
        let ncu = folder.path().join("ncu");
        let script = format!(
            "#!/bin/sh\nprintf 'Version 1\\033[31m.2{}\\nmore\\n'\n",
            "x".repeat(500)
        );
        std::fs::write(&ncu, script).expect("a script");
        std::fs::set_permissions(&ncu, PermissionsExt::from_mode(0o755)).expect("permissions");
        let version = version_of(&ncu).await.expect("it runs");
        assert!(version.starts_with("1 [31m.2xx"), "{version:?}");
        assert!(!version.contains(char::is_control), "{version:?}");
        assert_eq!(version.chars().count(), LONGEST_VERSION + 1);
    }
}
