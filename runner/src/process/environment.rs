//! The environment of commands: an allow-list, private folders, and nothing that looks like a
//! secret. Must not pass on a variable because nobody thought of it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use super::PrivateDir;
use crate::config;

/// The variable that marks every child of a run; [`super::sweep`] looks for it.
pub const RUN_VARIABLE: &str = "ROUNDHOUSE_RUN";

/// Names that pass through as they are. `LC_*` passes too.
const ALLOWED: [&str; 12] = [
    "PATH",
    "LANG",
    "LANGUAGE",
    "TZ",
    "USER",
    "LOGNAME",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "NVIDIA_VISIBLE_DEVICES",
    "NVIDIA_DRIVER_CAPABILITIES",
    "NVIDIA_REQUIRE_CUDA",
    "CUDA_MODULE_LOADING",
];

/// Parts of names that give a secret away, upper case.
const SECRET_PARTS: [&str; 16] = [
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "APIKEY",
    "API_KEY",
    "ACCESS_KEY",
    "PRIVATE_KEY",
    "SIGNING_KEY",
    "ASKPASS",
    "SSH_AUTH",
    "SSH_AGENT",
    "COOKIE",
    "NETRC",
];

/// How values of well-known tokens begin.
const SECRET_VALUES: [&str; 8] = [
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "-----BEGIN",
];

/// Variables that are lists of folders: additions go in front of what passed through.
const FOLDER_LISTS: [&str; 3] = ["LIBRARY_PATH", "LD_LIBRARY_PATH", "CPATH"];

/// 2026-01-01 00:00 UTC: a constant, so that builds that stamp the time give equal results.
const SOURCE_DATE_EPOCH: &str = "1767225600";

/// What an environment is made of.
#[derive(Debug, Clone, Copy)]
pub struct EnvPlan<'a> {
    /// The run that the command belongs to.
    pub run_id: &'a str,
    /// Home, cache and folder for temporary files.
    pub private: &'a PrivateDir,
    /// Folders that come first on PATH: the toolchain's.
    pub path_first: &'a [PathBuf],
    /// What the toolchain needs besides.
    pub additions: &'a BTreeMap<String, String>,
    /// `[environment]`.
    pub config: &'a config::Environment,
    /// The command's own variables; they win.
    pub extra: &'a BTreeMap<String, String>,
}

/// The whole environment of a command, from the runner's own and the plan.
pub fn effective_env(plan: &EnvPlan<'_>) -> BTreeMap<String, String> {
    effective_env_from(plan, std::env::vars_os())
}

/// [`effective_env`] with the runner's environment given. Variables that are not UTF-8 are
/// dropped.
pub fn effective_env_from(
    plan: &EnvPlan<'_>,
    inherited: impl IntoIterator<Item = (OsString, OsString)>,
) -> BTreeMap<String, String> {
    let mut env: BTreeMap<String, String> = inherited
        .into_iter()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, value)| allowed(name, plan.config) && !is_secret(name, value))
        .collect();
    let path = path_list(plan, env.get("PATH").map(String::as_str));
    env.insert("PATH".to_owned(), path);
    for (name, value) in plan.additions {
        let value = match env.get(name) {
            Some(passed) if FOLDER_LISTS.contains(&name.as_str()) && !passed.is_empty() => {
                format!("{value}:{passed}")
            }
            _ => value.clone(),
        };
        env.insert(name.clone(), value);
    }
    let folder = |name: &str| plan.private.folder(name).to_string_lossy().into_owned();
    let own = [
        ("HOME", folder("home")),
        ("TMPDIR", folder("tmp")),
        ("XDG_CACHE_HOME", folder("cache")),
        ("CUDA_CACHE_PATH", folder("cuda-cache")),
        ("SOURCE_DATE_EPOCH", SOURCE_DATE_EPOCH.to_owned()),
        ("TERM", "dumb".to_owned()),
    ];
    env.extend(own.map(|(name, value)| (name.to_owned(), value)));
    for set in [&plan.config.set, plan.extra] {
        env.extend(
            set.iter()
                .map(|(name, value)| (name.clone(), value.clone())),
        );
    }
    env.insert(RUN_VARIABLE.to_owned(), plan.run_id.to_owned());
    env
}

/// Whether a variable of this name would carry a secret.
pub fn looks_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    name.ends_with("_KEY")
        || name.ends_with("_AUTH")
        || SECRET_PARTS.iter().any(|part| name.contains(part))
}

fn is_secret(name: &str, value: &str) -> bool {
    looks_secret(name) || SECRET_VALUES.iter().any(|start| value.starts_with(start))
}

fn allowed(name: &str, config: &config::Environment) -> bool {
    ALLOWED.contains(&name)
        || name.starts_with("LC_")
        || config.allow.iter().any(|allowed| allowed == name)
}

fn path_list(plan: &EnvPlan<'_>, inherited: Option<&str>) -> String {
    let mut folders = vec![plan.private.folder("bin").to_string_lossy().into_owned()];
    folders.extend(
        plan.path_first
            .iter()
            .map(|p| p.to_string_lossy().into_owned()),
    );
    folders.push(
        inherited
            .unwrap_or("/usr/local/bin:/usr/bin:/bin")
            .to_owned(),
    );
    folders.join(":")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env_of(
        inherited: &[(&str, &str)],
        config: &config::Environment,
        additions: &[(&str, &str)],
    ) -> BTreeMap<String, String> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let private = PrivateDir::fresh(&folder.path().join("p"), "/bin/true".as_ref())
            .expect("a private folder");
        let additions = additions
            .iter()
            .map(|(n, v)| (n.to_string(), v.to_string()))
            .collect();
        let plan = EnvPlan {
            run_id: "run-1",
            private: &private,
            path_first: &[PathBuf::from("/tc/bin")],
            additions: &additions,
            config,
            extra: &BTreeMap::new(),
        };
        effective_env_from(
            &plan,
            inherited
                .iter()
                .map(|(n, v)| (OsString::from(n), OsString::from(v))),
        )
    }

    #[test]
    fn no_secret_passes_even_when_it_is_allowed() {
        let secrets = [
            ("GITHUB_TOKEN", "x"),
            ("ACTIONS_RUNTIME_TOKEN", "x"),
            ("ACTIONS_ID_TOKEN_REQUEST_URL", "x"),
            ("AWS_SECRET_ACCESS_KEY", "x"),
            ("AWS_ACCESS_KEY_ID", "x"),
            ("SSH_AUTH_SOCK", "/tmp/agent"),
            ("HF_TOKEN", "x"),
            ("my_password", "x"),
            ("OPENAI_KEY", "x"),
            ("NPM_CONFIG__AUTH", "x"),
            ("GIT_ASKPASS", "x"),
            ("HARMLESS_NAME", "ghp_0123456789"),
        ];
        let config = config::Environment {
            allow: secrets.iter().map(|(name, _)| name.to_string()).collect(),
            set: BTreeMap::new(),
        };
        let env = env_of(&secrets, &config, &[]);
        for (name, _) in secrets {
            assert!(!env.contains_key(name), "{name} passed");
        }
    }

    #[test]
    fn only_the_allow_list_passes() {
        let inherited = [
            ("PATH", "/usr/bin"),
            ("LC_ALL", "C.UTF-8"),
            ("HOME", "/home/me"),
            ("LD_PRELOAD", "/evil.so"),
            ("ENGINE_MMQ", "1"),
            ("MODEL_DIR", "/models"),
            ("LD_LIBRARY_PATH", "/opt/lib"),
        ];
        let config = config::Environment {
            allow: vec!["MODEL_DIR".into(), "LD_LIBRARY_PATH".into()],
            set: BTreeMap::from([("X".into(), "1".into())]),
        };
        let env = env_of(&inherited, &config, &[("LD_LIBRARY_PATH", "/tc/lib")]);
        assert!(
            env["PATH"].ends_with("/p/bin:/tc/bin:/usr/bin"),
            "{}",
            env["PATH"]
        );
        assert!(env["HOME"].ends_with("/p/home"));
        assert_eq!(env["MODEL_DIR"], "/models");
        assert_eq!(env["LD_LIBRARY_PATH"], "/tc/lib:/opt/lib");
        assert_eq!(env["LC_ALL"], "C.UTF-8");
        assert_eq!(env["X"], "1");
        assert_eq!(env[RUN_VARIABLE], "run-1");
        assert!(!env.contains_key("LD_PRELOAD") && !env.contains_key("ENGINE_MMQ"));
    }
}
