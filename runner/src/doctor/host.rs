//! The tools, the device and the folders of the machine.

use std::path::Path;

use super::project::with_causes;
use super::{Finding, existing};
use crate::config::{CommandLine, Config, Cuda, DeviceKind};
use crate::machine::{Environment, device_state};
use crate::model::DeviceState;
use crate::progress::Progress;
use crate::toolchain;

/// The CUDA toolchain: there, or to be had. Without a readable config, whether it could be
/// installed.
pub(super) async fn toolchain(config: Option<&Config>, cache: &Path) -> Vec<Finding> {
    let cuda = config.map(|config| &config.toolchain.cuda);
    if let Some(Cuda::None) = cuda {
        return vec![Finding::ok("toolchain", "none wanted")];
    }
    if let Some(Cuda::Pinned(version)) = cuda
        && toolchain::installed(version, cache).is_none()
    {
        return vec![
            Finding::ok(
                "toolchain",
                format!("CUDA {version} is not installed yet; the first run does it"),
            ),
            pip(true),
        ];
    }
    let Some(cuda) = cuda else {
        return vec![pip(false)];
    };
    vec![
        match toolchain::prepare(cuda, cache, &Progress::silent()).await {
            Ok(found) => {
                let nvcc = found
                    .fingerprint
                    .tools
                    .iter()
                    .find(|tool| tool.name == "nvcc");
                let nvcc = nvcc.map_or("no nvcc", |tool| &tool.version);
                match found.nvdisasm {
                    Some(_) => {
                        Finding::ok("toolchain", format!("{}: {nvcc}", found.fingerprint.source))
                    }
                    None => Finding::warn(
                        "toolchain",
                        format!("{}: {nvcc}, without nvdisasm", found.fingerprint.source),
                        "without nvdisasm there is no census and claims about SASS are not \
                     evaluated; install it, or set `cuda = \"13.0\"`",
                    ),
                }
            }
            Err(error) => Finding::bad("toolchain", with_causes(&error), "see the message"),
        },
    ]
}

/// python3 with pip, with which a pinned toolchain is installed.
fn pip(needed: bool) -> Finding {
    let works = std::process::Command::new("python3")
        .args(["-m", "pip", "--version"])
        .output()
        .is_ok_and(|output| output.status.success());
    let remedy = "install them (for example `apt install python3-pip`)";
    let missing = "python3 with pip is not there; a pinned toolchain is installed with it";
    match (works, needed) {
        (true, _) => Finding::ok("pip", "python3 -m pip works"),
        (false, true) => Finding::bad("pip", missing, remedy),
        (false, false) => Finding::warn("pip", missing, remedy),
    }
}

/// The host's compiler, and the build tools that the recipe names.
pub(super) fn build_tools(config: &Config) -> Vec<Finding> {
    let recipe = match &config.build.command {
        CommandLine::Shell(script) => script.clone(),
        CommandLine::Argv(words) => words.join(" "),
    };
    let mut wanted = Vec::new();
    if config.toolchain.cuda != Cuda::None {
        wanted.push(("g++", "nvcc needs it"));
    }
    for tool in ["make", "cmake", "ninja"] {
        let named = recipe
            .split(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_')
            .any(|word| word == tool);
        if named {
            wanted.push((tool, "the build command names it"));
        }
    }
    wanted
        .into_iter()
        .map(|(tool, why)| match which::which(tool) {
            Ok(path) => Finding::ok(tool, path.display().to_string()),
            Err(_) => Finding::bad(
                tool,
                format!("not on PATH; {why}"),
                format!("install it (for example `apt install {tool}`)"),
            ),
        })
        .collect()
}

/// The device, and whether its counters may be read.
pub(super) fn device(config: &Config, locks: &Path) -> Vec<Finding> {
    let environment = Environment::read();
    let state = device_state(config, &environment);
    let mut findings = vec![match &state {
        DeviceState::Present { name, id } => Finding::ok("device", format!("{name} ({id})")),
        DeviceState::Absent { reason } => Finding::warn(
            "device",
            reason.clone(),
            "runs here build, inspect and check claims, and end as NOT MEASURED; measure on a \
             machine with the device",
        ),
    }];
    if let DeviceState::Present { id, .. } = &state
        && config.device.kind == DeviceKind::Cuda
    {
        findings.extend(counters(
            &std::fs::read_to_string("/proc/driver/nvidia/params").unwrap_or_default(),
        ));
        findings.extend(super::card::card(config, id, locks));
    }
    findings
}

/// The profiler, where the campaign takes counters.
pub(super) async fn profiler(config: &Config) -> Option<Finding> {
    if config.counters.is_empty() {
        return None;
    }
    Some(match crate::counters::find_profiler(None).await {
        Ok(profiler) => Finding::ok("profiler", profiler.description()),
        Err(failure) => Finding::warn(
            "profiler",
            crate::counters::failure_words(&failure),
            "without it claims on counters stay open",
        ),
    })
}

/// Whether users may read performance counters, by the driver's parameters.
fn counters(params: &str) -> Option<Finding> {
    let value = params
        .lines()
        .find_map(|line| line.strip_prefix("RmProfilingAdminOnly:"))?;
    Some(if value.trim() == "0" {
        Finding::ok("counters", "open to all users")
    } else if rustix::process::geteuid().is_root() {
        Finding::ok("counters", "open to root, and this is root")
    } else {
        Finding::warn(
            "counters",
            "only root may read performance counters (ERR_NVGPUCTRPERM)",
            "put `options nvidia NVreg_RestrictProfilingToAdminUsers=0` into a file in \
             /etc/modprobe.d and load the driver again",
        )
    })
}

/// A folder of ours: whether it can be written, and the room in it.
pub(super) fn folder(topic: &str, folder: &Path, needed: u64) -> Finding {
    let place = existing(folder);
    let shown = folder.display();
    if let Some(taken) = folder.ancestors().find(|path| path.exists())
        && !taken.is_dir()
    {
        return Finding::bad(
            topic,
            format!("{shown}: {} is not a folder", taken.display()),
            "move it away, or name another folder by ROUNDHOUSE_DATA, ROUNDHOUSE_CACHE or \
             ROUNDHOUSE_LOCKS",
        );
    }
    if tempfile::Builder::new()
        .prefix(".check-")
        .tempfile_in(&place)
        .is_err()
    {
        return Finding::bad(
            topic,
            format!("{shown}: cannot write to {}", place.display()),
            "correct its permissions, or name another by ROUNDHOUSE_DATA, ROUNDHOUSE_CACHE or \
             ROUNDHOUSE_LOCKS",
        );
    }
    let Ok(facts) = rustix::fs::statvfs(&place) else {
        return Finding::ok(topic, shown.to_string());
    };
    let free = facts.f_bavail.saturating_mul(facts.f_frsize);
    let found = format!("{shown}: {} MiB free", free >> 20);
    if free < needed && topic != "locks folder" {
        Finding::bad(
            topic,
            format!("{found}, {} needed", needed.div_ceil(1 << 20)),
            "free some space, for example with `runner gc`",
        )
    } else {
        Finding::ok(topic, found)
    }
}

/// The database, where there is one: whether this program can read it, and whether it is whole.
pub(super) async fn database(data: &Path) -> Option<Finding> {
    const TOPIC: &str = "database";
    let path = data.join(crate::cli::DATABASE);
    if !path.exists() {
        return None;
    }
    let checked = match db::Db::open_existing(&path).await {
        Ok(db) => db.integrity_check().await,
        Err(error) => Err(error),
    };
    let wrong = match checked {
        Ok(wrong) if wrong.is_empty() => {
            return Some(Finding::ok(TOPIC, format!("{}: whole", path.display())));
        }
        Ok(wrong) => format!(
            "{}: {} faults, the first: {}",
            path.display(),
            wrong.len(),
            wrong.first().map_or("", String::as_str)
        ),
        Err(error) => format!("{:#}", anyhow::Error::from(error)),
    };
    Some(Finding::bad(
        TOPIC,
        wrong,
        "put a copy in its place, or move it away to begin a new one",
    ))
}

/// bubblewrap, with which commands can be kept off the network.
pub(super) fn sandbox() -> Finding {
    match which::which("bwrap") {
        Ok(path) => Finding::ok("bubblewrap", path.display().to_string()),
        Err(_) => Finding::warn(
            "bubblewrap",
            "not installed (optional): commands can reach the network",
            "install it (for example `apt install bubblewrap`) before you run code of strangers",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Status;

    #[test]
    fn counters_are_read_from_the_drivers_parameters() {
        let finding = counters("EnableMSI: 1\nRmProfilingAdminOnly: 0\n").expect("a finding");
        assert_eq!(finding.status, Status::Ok);
        assert_eq!(counters("EnableMSI: 1\n"), None);
        assert!(counters("RmProfilingAdminOnly: 1\n").is_some());
    }

    #[test]
    fn a_folder_without_room_or_permission_is_bad() {
        let here = tempfile::tempdir().expect("a temporary folder");
        let missing = here.path().join("not/yet");
        assert_eq!(folder("cache folder", &missing, 1).status, Status::Ok);
        assert!(!missing.exists());
        let full = folder("cache folder", &missing, u64::MAX);
        assert_eq!(full.status, Status::Bad);
        assert!(full.remedy.is_some());
        assert_eq!(
            folder("data folder", Path::new("/proc/1"), 0).status,
            Status::Bad
        );
    }
}
