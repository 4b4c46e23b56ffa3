//! Installs a pinned toolchain with pip: into a temporary folder, checked, then renamed, so
//! that an interrupted installation leaves nothing that could be taken for a toolchain.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::fingerprint::PackageRecord;
use super::pinned::{self, Package, Pinned, Wheel};
use super::pip::{complaint, last_line};
use super::tools::{Tools, ask_version, sha256_file};
use super::{ToolchainError, pinned_versions};
use crate::process::{self, Finished};
use crate::progress::Progress;

/// Room that an installation needs: wheels and their content.
const NEEDED_MIB: u64 = 600;
/// How often progress is told.
pub(super) const TICK: Duration = Duration::from_millis(250);
/// What an installation in progress is called.
const HALF: &str = ".installing-";
/// The file that an installation is finished with.
const MANIFEST: &str = "roundhouse.json";
/// The programs whose content is checked again at each use.
const CHECKED: [&str; 8] = [
    "bin/nvcc",
    "bin/ptxas",
    "bin/cudafe++",
    "bin/fatbinary",
    "bin/nvlink",
    "bin/nvdisasm",
    "bin/cuobjdump",
    "nvvm/bin/cicc",
];

#[derive(Debug, Serialize, Deserialize)]
struct Manifest {
    version: String,
    packages: Vec<PackageRecord>,
    /// SHA-256 of the programs in [`CHECKED`].
    programs: BTreeMap<String, String>,
}

/// Where the pinned toolchain is, if it is installed: the folder that holds `bin`.
pub fn installed(version: &str, cache: &Path) -> Option<PathBuf> {
    let pinned = pinned::find(version)?;
    let folder = folder_of(pinned, cache);
    folder
        .join(MANIFEST)
        .is_file()
        .then(|| folder.join(pinned.root))
}

/// The packages of a version for this machine.
pub(super) fn package_records(version: &str) -> Vec<PackageRecord> {
    let packages = pinned::find(version).map_or(&[] as &[Package], |pinned| pinned.packages);
    packages
        .iter()
        .filter_map(|package| {
            Some(PackageRecord {
                name: package.name.to_owned(),
                version: package.version.to_owned(),
                sha256: package.wheel(std::env::consts::ARCH)?.sha256.to_owned(),
            })
        })
        .collect()
}

/// Installs the toolchain unless it is there, and gives the folder that holds `bin`.
pub(super) async fn install(
    version: &str,
    cache: &Path,
    tools: &mut Tools,
    progress: &Progress,
) -> Result<PathBuf, ToolchainError> {
    let pinned = pinned::find(version).ok_or_else(|| ToolchainError::UnknownVersion {
        version: version.to_owned(),
        known: pinned_versions().join(", "),
    })?;
    let folder = folder_of(pinned, cache);
    if is_whole(pinned, &folder, tools) {
        return Ok(folder.join(pinned.root));
    }
    let parent = cache.join("toolchains");
    std::fs::create_dir_all(&parent).map_err(ToolchainError::io("create", &parent))?;
    let _lock = lock(&parent, progress).await?;
    // Another run may have installed it while we waited.
    if is_whole(pinned, &folder, tools) {
        return Ok(folder.join(pinned.root));
    }
    clear_leftovers(&parent, &folder)?;
    let half = tempfile::Builder::new()
        .prefix(HALF)
        .tempdir_in(&parent)
        .map_err(ToolchainError::io("create a folder in", &parent))?;
    let installation = Installation {
        pinned,
        half: half.path(),
        progress,
    };
    installation.run().await?;
    let ready = half.path().join("root");
    std::fs::rename(&ready, &folder).map_err(ToolchainError::io("create", &folder))?;
    // Hashes what was installed once more, at its place: the next run finds it remembered.
    if !is_whole(pinned, &folder, tools) {
        return Err(ToolchainError::Broken {
            tool: folder,
            said: "what was read back is not what was written".to_owned(),
            hint: "; look after the disk".to_owned(),
        });
    }
    Ok(folder.join(pinned.root))
}

fn folder_of(pinned: &Pinned, cache: &Path) -> PathBuf {
    let mut hash = Sha256::new();
    for package in pinned.packages {
        hash.update(package.name);
        hash.update(package.version);
        hash.update(
            package
                .wheel(std::env::consts::ARCH)
                .map_or("", |w| w.sha256),
        );
    }
    let short = hex::encode(&hash.finalize()[..6]);
    cache
        .join("toolchains")
        .join(format!("cuda-{}-{short}", pinned.version))
}

/// Whether an installation is there and its programs are what was installed.
fn is_whole(pinned: &Pinned, folder: &Path, tools: &mut Tools) -> bool {
    let manifest: Option<Manifest> = std::fs::read(folder.join(MANIFEST))
        .ok()
        .and_then(|text| serde_json::from_slice(&text).ok());
    manifest.is_some_and(|manifest| {
        !manifest.programs.is_empty()
            && manifest.programs.iter().all(|(program, sha256)| {
                tools
                    .hash_only(program, &folder.join(pinned.root).join(program))
                    .is_ok_and(|record| record.sha256 == *sha256)
            })
    })
}

/// Removes what a killed or damaged installation left. Only under the lock.
fn clear_leftovers(parent: &Path, folder: &Path) -> Result<(), ToolchainError> {
    let entries = std::fs::read_dir(parent).map_err(ToolchainError::io("read", parent))?;
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with(HALF) {
            process::remove_tree(&entry.path())
                .map_err(ToolchainError::io("remove", &entry.path()))?;
        }
    }
    process::remove_tree(folder).map_err(ToolchainError::io("remove", folder))
}

async fn lock(parent: &Path, progress: &Progress) -> Result<File, ToolchainError> {
    let path = parent.join(".lock");
    let file = File::create(&path).map_err(ToolchainError::io("create", &path))?;
    let mut told = false;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(std::fs::TryLockError::WouldBlock) => {
                if !told {
                    progress.note("waiting for another run that installs the toolchain");
                    told = true;
                }
                tokio::time::sleep(TICK).await;
            }
            Err(std::fs::TryLockError::Error(source)) => {
                return Err(ToolchainError::io("lock", &path)(source));
            }
        }
    }
}

/// An installation in progress.
pub(super) struct Installation<'a> {
    /// What is installed.
    pub pinned: &'static Pinned,
    /// The folder that it is put together in.
    pub half: &'a Path,
    /// Who is told.
    pub progress: &'a Progress,
}

impl Installation<'_> {
    async fn run(&self) -> Result<(), ToolchainError> {
        let wheels = self.wheels()?;
        self.check_room()?;
        let python = self.python().await?;
        for name in ["wheels", "tmp", "root"] {
            let path = self.half.join(name);
            std::fs::create_dir(&path).map_err(ToolchainError::io("create", &path))?;
        }
        let total = wheels.iter().map(|(_, wheel)| wheel.bytes).sum();
        let mut requirements = String::new();
        for (package, wheel) in &wheels {
            let line = format!(
                "{}=={} --hash=sha256:{}\n",
                package.name, package.version, wheel.sha256
            );
            self.download(&python, package, *wheel, &line, total)
                .await?;
            requirements += &line;
        }
        self.unpack(&python, &requirements).await?;
        self.finish().await
    }

    fn wheels(&self) -> Result<Vec<(&'static Package, Wheel)>, ToolchainError> {
        let machine = std::env::consts::ARCH;
        self.pinned
            .packages
            .iter()
            .map(|package| Some((package, package.wheel(machine)?)))
            .collect::<Option<Vec<_>>>()
            .ok_or_else(|| ToolchainError::UnsupportedMachine {
                version: self.pinned.version.to_owned(),
                machine: machine.to_owned(),
            })
    }

    fn check_room(&self) -> Result<(), ToolchainError> {
        match free_mib(self.half) {
            Some(free) if free < NEEDED_MIB => Err(self.full(free)),
            _ => Ok(()),
        }
    }

    fn full(&self, free: u64) -> ToolchainError {
        ToolchainError::DiskFull {
            path: self.half.parent().unwrap_or(self.half).to_owned(),
            free,
            needed: NEEDED_MIB,
        }
    }

    async fn download(
        &self,
        python: &str,
        package: &Package,
        wheel: Wheel,
        requirement: &str,
        total: u64,
    ) -> Result<(), ToolchainError> {
        let list = self.half.join("one.txt");
        std::fs::write(&list, requirement).map_err(ToolchainError::io("write", &list))?;
        let fetch = self.pip(
            python,
            &[
                "download",
                "--quiet",
                "--no-deps",
                "--only-binary=:all:",
                "--require-hashes",
                "--retries=3",
                "--dest=wheels",
                "--requirement=one.txt",
            ],
        );
        let what = format!("CUDA {}: {}", self.pinned.version, package.name);
        let watched = [self.half.join("wheels"), self.half.join("tmp")];
        let done = self.watch(fetch, &what, &watched, Some(total)).await;
        if done.failure.is_some() {
            return Err(self.fetch_error(package, wheel, &done));
        }
        self.check_hash(package, wheel)
    }

    fn fetch_error(&self, package: &Package, wheel: Wheel, done: &Finished) -> ToolchainError {
        let said = complaint(done);
        if said.contains("No space left") {
            return self.full(free_mib(self.half).unwrap_or(0));
        }
        if said.contains("DO NOT MATCH THE HASHES") {
            let found = said
                .lines()
                .find_map(|line| line.trim().strip_prefix("Got"))
                .map_or("another", str::trim);
            return ToolchainError::WrongHash {
                package: package.name.to_owned(),
                wanted: wheel.sha256.to_owned(),
                found: found.to_owned(),
            };
        }
        ToolchainError::Fetch {
            package: format!("{} {}", package.name, package.version),
            said: last_line(&said),
        }
    }

    /// Pip has checked it; the record says so in our name, so it is checked in our name.
    fn check_hash(&self, package: &Package, wheel: Wheel) -> Result<(), ToolchainError> {
        let folder = self.half.join("wheels");
        let prefix = format!("{}-{}-", package.name.replace('-', "_"), package.version);
        let entries = std::fs::read_dir(&folder).map_err(ToolchainError::io("read", &folder))?;
        let file = entries
            .flatten()
            .find(|entry| entry.file_name().to_string_lossy().starts_with(&prefix));
        let found = match file {
            Some(file) => sha256_file(&file.path()).map_err(ToolchainError::io("read", &folder))?,
            None => "no file".to_owned(),
        };
        if found == wheel.sha256 {
            return Ok(());
        }
        Err(ToolchainError::WrongHash {
            package: package.name.to_owned(),
            wanted: wheel.sha256.to_owned(),
            found,
        })
    }

    async fn unpack(&self, python: &str, requirements: &str) -> Result<(), ToolchainError> {
        let list = self.half.join("all.txt");
        std::fs::write(&list, requirements).map_err(ToolchainError::io("write", &list))?;
        let install = self.pip(
            python,
            &[
                "install",
                "--quiet",
                "--no-deps",
                "--no-index",
                "--find-links=wheels",
                "--require-hashes",
                "--no-compile",
                "--target=root",
                "--requirement=all.txt",
            ],
        );
        let what = format!("CUDA {}: unpacking", self.pinned.version);
        // Pip unpacks beside the target and moves at the end.
        let watched = [self.half.join("root"), self.half.join("tmp")];
        let done = self.watch(install, &what, &watched, None).await;
        if done.failure.is_none() {
            return Ok(());
        }
        let said = complaint(&done);
        if said.contains("No space left") {
            return Err(self.full(free_mib(self.half).unwrap_or(0)));
        }
        Err(ToolchainError::Unpack {
            path: self.half.to_owned(),
            said: last_line(&said),
        })
    }

    /// Adds the links that build systems look for, sees that the programs run, and writes the
    /// manifest.
    async fn finish(&self) -> Result<(), ToolchainError> {
        let root = self.half.join("root").join(self.pinned.root);
        for (link, target) in [("lib64", "lib"), ("lib/libcudart.so", "libcudart.so.13")] {
            let path = root.join(link);
            if !path.exists() {
                std::os::unix::fs::symlink(target, &path)
                    .map_err(ToolchainError::io("create", &path))?;
            }
        }
        for name in ["nvcc", "nvdisasm"] {
            let tool = root.join("bin").join(name);
            ask_version(&tool)
                .await
                .map_err(|said| ToolchainError::Broken {
                    tool,
                    said,
                    hint: "; this is a fault of the machine, not of the campaign".to_owned(),
                })?;
        }
        let mut programs = BTreeMap::new();
        for program in CHECKED {
            let sha256 = sha256_file(&root.join(program))
                .map_err(ToolchainError::io("read", &root.join(program)))?;
            programs.insert(program.to_owned(), sha256);
        }
        let manifest = Manifest {
            version: self.pinned.version.to_owned(),
            packages: package_records(self.pinned.version),
            programs,
        };
        let path = self.half.join("root").join(MANIFEST);
        let text = serde_json::to_vec_pretty(&manifest).map_err(std::io::Error::from);
        text.and_then(|text| std::fs::write(&path, text))
            .map_err(ToolchainError::io("write", &path))
    }
}

fn free_mib(path: &Path) -> Option<u64> {
    let facts = rustix::fs::statvfs(path).ok()?;
    Some(facts.f_bavail.saturating_mul(facts.f_frsize) >> 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKAGE: Package = Package {
        name: "nvidia-cuda-crt",
        version: "13.0.88",
        x86_64: WRONG,
        aarch64: WRONG,
    };
    const WRONG: Wheel = Wheel {
        sha256: "0000000000000000000000000000000000000000000000000000000000000000",
        bytes: 1,
    };

    async fn download(version: &'static str) -> ToolchainError {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for name in ["wheels", "tmp"] {
            std::fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        let progress = Progress::silent();
        let installation = Installation {
            pinned: pinned::find("13.0").expect("it is pinned"),
            half: folder.path(),
            progress: &progress,
        };
        let package = Package { version, ..PACKAGE };
        let line = format!(
            "{}=={version} --hash=sha256:{}\n",
            package.name, WRONG.sha256
        );
        let python = installation.python().await.expect("python3 with pip");
        installation
            .download(&python, &package, WRONG, &line, 1)
            .await
            .expect_err("it is not there")
    }

    #[tokio::test]
    async fn a_package_with_another_content_is_refused() {
        let error = download("13.0.88").await;
        let ToolchainError::WrongHash { wanted, found, .. } = &error else {
            panic!("{error}");
        };
        assert_eq!(wanted, WRONG.sha256);
        assert!(found.len() == 64 && found != wanted, "{error}");
    }

    #[tokio::test]
    async fn a_package_that_is_not_to_be_had_is_named() {
        let error = download("0.0.1").await.to_string();
        assert!(error.contains("nvidia-cuda-crt 0.0.1"), "{error}");
    }

    #[tokio::test]
    async fn an_unknown_version_lists_the_known_ones() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut tools = Tools::open(folder.path());
        let error = install("12.3", folder.path(), &mut tools, &Progress::silent())
            .await
            .expect_err("it is not pinned");
        assert!(error.to_string().contains("there are: 13.0"), "{error}");
    }
}
