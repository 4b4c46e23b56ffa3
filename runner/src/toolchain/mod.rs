//! The CUDA toolchain: pinned from packages, or the system's; and the host's build tools. All of
//! it goes into a fingerprint, because the toolchain is part of a result.
//!
//! Must not pick a compiler silently: what is used is named in the record by version and hash.

mod fingerprint;
mod install;
mod pinned;
mod pip;
mod tools;

pub use fingerprint::{Fingerprint, PackageRecord, ToolRecord};
pub use install::installed;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::config::Cuda;
use crate::progress::Progress;

/// A toolchain ready for use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toolchain {
    /// What it is made of.
    pub fingerprint: Fingerprint,
    /// The folder that comes first on PATH; `None` without CUDA.
    pub bin: Option<PathBuf>,
    /// The disassembler; `None` where there is none, and then there is no census.
    pub nvdisasm: Option<PathBuf>,
    /// What builds and commands need in their environment besides PATH.
    pub env: BTreeMap<String, String>,
}

/// Why there is no toolchain. The machine is at fault in every case but a wrong version.
#[derive(Debug, thiserror::Error)]
pub enum ToolchainError {
    /// A version that is not pinned.
    #[error("no pinned CUDA toolchain {version}; there are: {known}; or use \"system\"")]
    UnknownVersion {
        /// The version asked for.
        version: String,
        /// The versions there are.
        known: String,
    },
    /// No wheels for this machine.
    #[error(
        "the pinned CUDA toolchain {version} has no packages for {machine}; install a toolchain \
         and set `cuda = \"system\"`"
    )]
    UnsupportedMachine {
        /// The version.
        version: String,
        /// The machine.
        machine: String,
    },
    /// A program that the installation needs is missing.
    #[error("installing CUDA {version} needs {what}; {remedy}")]
    Missing {
        /// The version.
        version: String,
        /// What is missing.
        what: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// No nvcc for `"system"`.
    #[error("`cuda = \"system\"`, but nvcc is not on PATH{hint}")]
    NoNvcc {
        /// Where one was seen; begins with `; `.
        hint: String,
    },
    /// A package's content is not what is pinned.
    #[error(
        "package {package} is not the one that is pinned: it has SHA-256 {found}, wanted {wanted}; \
         a mirror or proxy may have changed it"
    )]
    WrongHash {
        /// The package.
        package: String,
        /// The hash pinned.
        wanted: String,
        /// What was found.
        found: String,
    },
    /// A package could not be fetched.
    #[error(
        "cannot fetch {package}: {said}; check the network and pip's settings (`python3 -m pip \
         config list`), then run again: what is there already is kept by pip"
    )]
    Fetch {
        /// The package with its version.
        package: String,
        /// What pip said last.
        said: String,
    },
    /// The packages could not be unpacked.
    #[error("pip cannot unpack the toolchain into {path}: {said}")]
    Unpack {
        /// Where.
        path: PathBuf,
        /// What pip said last.
        said: String,
    },
    /// The disk is full.
    #[error("not enough room in {path} for the toolchain: {free} MiB free, about {needed} needed")]
    DiskFull {
        /// Where.
        path: PathBuf,
        /// What is free, MiB.
        free: u64,
        /// What is needed, MiB.
        needed: u64,
    },
    /// A tool does not run.
    #[error("{tool} does not run: {said}{hint}")]
    Broken {
        /// The tool's path.
        tool: PathBuf,
        /// What went wrong.
        said: String,
        /// What to do; begins with `; `, or is empty.
        hint: String,
    },
    /// Our own files.
    #[error("cannot {doing} {path}")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// To what.
        path: PathBuf,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
}

impl ToolchainError {
    fn io(doing: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> ToolchainError {
        let path = path.to_owned();
        move |source| ToolchainError::Io {
            doing,
            path,
            source,
        }
    }
}

/// SHA-256 of a program's file, hex; remembered in the cache folder for as long as the file's
/// size and time of change stay the same.
pub fn file_sha256(cache: &Path, path: &Path) -> Result<String, ToolchainError> {
    let mut tools = tools::Tools::open(cache);
    let record = tools.hash_only("", path)?;
    tools.save();
    Ok(record.sha256)
}

/// The versions that can be installed.
pub fn pinned_versions() -> Vec<&'static str> {
    pinned::PINNED.iter().map(|pinned| pinned.version).collect()
}

/// Finds or installs the toolchain and takes its fingerprint.
pub async fn prepare(
    cuda: &Cuda,
    cache: &Path,
    progress: &Progress,
) -> Result<Toolchain, ToolchainError> {
    let mut tools = tools::Tools::open(cache);
    let toolchain = match cuda {
        Cuda::Pinned(version) => {
            let root = install::install(version, cache, &mut tools, progress).await?;
            pinned_toolchain(version, &root, &mut tools).await?
        }
        Cuda::System => system_toolchain(&mut tools).await?,
        Cuda::None => Toolchain {
            fingerprint: Fingerprint::new("none", Vec::new(), tools.host().await),
            bin: None,
            nvdisasm: None,
            env: BTreeMap::new(),
        },
    };
    tools.save();
    Ok(toolchain)
}

async fn pinned_toolchain(
    version: &str,
    root: &Path,
    tools: &mut tools::Tools,
) -> Result<Toolchain, ToolchainError> {
    let bin = root.join("bin");
    let mut records = Vec::new();
    for name in ["nvcc", "nvdisasm"] {
        let hint = format!("; remove {} to have it installed again", root.display());
        records.push(tools.record(name, &bin.join(name), &hint).await?);
    }
    records.extend(tools.host().await);
    let packages = install::package_records(version);
    let text = |path: PathBuf| path.to_string_lossy().into_owned();
    let env = BTreeMap::from([
        ("CUDA_HOME".to_owned(), text(root.to_owned())),
        ("CUDA_PATH".to_owned(), text(root.to_owned())),
        ("CUDACXX".to_owned(), text(bin.join("nvcc"))),
        ("LIBRARY_PATH".to_owned(), text(root.join("lib"))),
        ("LD_LIBRARY_PATH".to_owned(), text(root.join("lib"))),
    ]);
    Ok(Toolchain {
        fingerprint: Fingerprint::new(&format!("pinned {version}"), packages, records),
        nvdisasm: Some(bin.join("nvdisasm")),
        bin: Some(bin),
        env,
    })
}

async fn system_toolchain(tools: &mut tools::Tools) -> Result<Toolchain, ToolchainError> {
    let nvcc = which::which("nvcc").map_err(|_| ToolchainError::NoNvcc {
        hint: if Path::new("/usr/local/cuda/bin/nvcc").is_file() {
            "; there is one in /usr/local/cuda/bin: add that to PATH".to_owned()
        } else {
            "; install the CUDA toolkit, or set `cuda = \"13.0\"` to have it installed".to_owned()
        },
    })?;
    let real = nvcc
        .canonicalize()
        .map_err(ToolchainError::io("find", &nvcc))?;
    let bin = nvcc.parent().unwrap_or(Path::new("/")).to_owned();
    let mut records = vec![tools.record("nvcc", &nvcc, "").await?];
    // The parts that nvcc calls lie beside it. What is not there is called from elsewhere, and
    // nvcc's version has to do.
    let beside = real.parent().unwrap_or(Path::new("/"));
    for part in [
        "ptxas",
        "nvlink",
        "fatbinary",
        "cudafe++",
        "../nvvm/bin/cicc",
    ] {
        let path = beside.join(part);
        if path.is_file() {
            let name = part.rsplit('/').next().unwrap_or(part);
            records.push(tools.hash_only(name, &path)?);
        }
    }
    let mut nvdisasm = None;
    for name in ["nvdisasm", "cuobjdump"] {
        let found = which::which(name).ok().or_else(|| {
            let path = beside.join(name);
            path.is_file().then_some(path)
        });
        if let Some(path) = found
            && let Ok(record) = tools.record(name, &path, "").await
        {
            records.push(record);
            if name == "nvdisasm" {
                nvdisasm = Some(path);
            }
        }
    }
    records.extend(tools.host().await);
    Ok(Toolchain {
        fingerprint: Fingerprint::new("system", Vec::new(), records),
        bin: Some(bin),
        nvdisasm,
        env: BTreeMap::new(),
    })
}
