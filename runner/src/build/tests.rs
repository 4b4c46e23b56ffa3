//! Real repositories, real compilers, and what crashes leave behind.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use sha2::{Digest, Sha256};
use tempfile::TempDir;

use super::*;
use crate::config::{self, CommandLine, Config, Cuda, DeviceKind, Harness, Protocol};
use crate::git::{PairRequest, Repository};
use crate::model::{BuildEvidence, CommitInfo, PerSide, Side};
use crate::process::{HarnessSession, LaunchRequest, Launcher};
use crate::progress::Progress;
use crate::toolchain;

/// A store in a folder, without compression.
struct Folder(PathBuf);

impl ArtifactSink for Folder {
    fn contains(&self, hash: &ArtifactHash) -> io::Result<bool> {
        Ok(self.0.join(&hash.0).exists())
    }

    fn put_file(&self, path: &Path) -> io::Result<ArtifactHash> {
        self.put_bytes(&std::fs::read(path)?)
    }

    fn put_bytes(&self, bytes: &[u8]) -> io::Result<ArtifactHash> {
        let hash = hex::encode(Sha256::digest(bytes));
        std::fs::create_dir_all(&self.0)?;
        std::fs::write(self.0.join(&hash), bytes)?;
        Ok(ArtifactHash(hash))
    }
}

impl ArtifactSource for Folder {
    fn copy_to(&self, hash: &ArtifactHash, path: &Path) -> io::Result<()> {
        std::fs::copy(self.0.join(&hash.0), path).map(drop)
    }
}

/// A repository with two commits of a C++ program, and a config that builds it.
struct World {
    folder: TempDir,
    config: Config,
    commits: PerSide<CommitInfo>,
    store: Folder,
}

const MAIN: &str =
    "#include <cstdio>\nint main() { std::printf(\"%s %d\\n\", __FILE__, VALUE); }\n";

impl World {
    async fn new(base: &[(&str, &str)], head: &[(&str, &str)]) -> World {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let repo = folder.path().join("repo");
        std::fs::create_dir(&repo).expect("a folder");
        git(&repo, &["init", "-q", "-b", "main"]);
        for files in [base, head] {
            for (name, text) in files {
                std::fs::write(repo.join(name), text).expect("a file");
            }
            git(&repo, &["add", "-A"]);
            git(&repo, &["commit", "-q", "--allow-empty", "-m", "step"]);
        }
        let repository = Repository::open(&repo, &folder.path().join("cache"))
            .await
            .expect("it opens");
        let pair = repository
            .pair(PairRequest::default())
            .await
            .expect("a pair");
        let commits = PerSide {
            base: repository.commit_info(&pair.base).await.expect("facts"),
            head: repository.commit_info(&pair.head).await.expect("facts"),
        };
        World {
            store: Folder(folder.path().join("store")),
            config: config_of(
                "g++ -g -o engine \"$PWD/main.cpp\" && echo built >> ../../../../built",
            ),
            folder,
            commits,
        }
    }

    /// Base and head differ in a constant.
    async fn two_values() -> World {
        let base = format!("#define VALUE 1\n{MAIN}");
        let head = format!("#define VALUE 2\n{MAIN}");
        World::new(&[("main.cpp", &base)], &[("main.cpp", &head)]).await
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    async fn plan(&self) -> WorkbenchPlan {
        let cache = self.path("cache");
        WorkbenchPlan {
            repository: Repository::open(&self.path("repo"), &cache)
                .await
                .expect("it opens"),
            config: self.config.clone(),
            toolchain: toolchain::prepare(&Cuda::None, &cache, &Progress::silent())
                .await
                .expect("host tools"),
            run_id: format!("test-{}", self.folder.path().display()),
            runner_exe: PathBuf::from("/bin/true"),
            visible_devices: None,
            what: "a test".to_owned(),
            rebuild: false,
            cache,
        }
    }

    async fn open(&self) -> Workbench {
        Workbench::open(self.plan().await).expect("the slot is free")
    }

    fn source<'a>(&'a self, commit: &'a CommitInfo) -> BuildSource<'a> {
        BuildSource {
            commit,
            recipe: &self.config.build,
            arch: &self.config.toolchain.arch,
        }
    }

    async fn build(&self, bench: &mut Workbench, side: Side) -> BuildEvidence {
        bench
            .build(
                side,
                &self.source(self.commits.get(side)),
                &self.store,
                &Progress::silent(),
            )
            .await
            .expect("no fault of the machine")
    }

    /// How often the recipe has run to its end.
    fn builds(&self) -> usize {
        std::fs::read_to_string(self.path("built")).map_or(0, |text| text.lines().count())
    }
}

fn git(place: &Path, arguments: &[&str]) {
    let output = Command::new("git")
        .arg("-C")
        .arg(place)
        .args([
            "-c",
            "user.name=T",
            "-c",
            "user.email=t@t.invalid",
            "-c",
            "commit.gpgSign=false",
        ])
        .args(arguments)
        .output()
        .expect("git starts");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

fn config_of(command: &str) -> Config {
    Config {
        campaign: config::Campaign {
            name: "test".into(),
            title: "test".into(),
            default_branch: None,
        },
        toolchain: config::Toolchain {
            cuda: Cuda::None,
            arch: vec!["sm_121".into()],
        },
        device: config::Device {
            kind: DeviceKind::Cpu,
            index: 0,
        },
        build: config::Build {
            command: CommandLine::Shell(command.into()),
            directory: ".".into(),
            outputs: vec!["engine".into()],
            runtime: vec![],
            env: BTreeMap::new(),
            timeout_s: 60,
        },
        kernels: vec![],
        harness: None,
        parity: vec![],
        identity: None,
        benches: vec![],
        references: vec![],
        counters: vec![],
        claims: vec![],
        protocol: Protocol::Pairs(5),
        machine: config::Machine::default(),
        environment: config::Environment::default(),
        anchor: crate::config::Anchor::default(),
        limits: config::Limits {
            output_bytes: 1 << 20,
            free_disk_bytes: 1,
        },
    }
}

async fn launch(bench: &mut Workbench, side: Side, script: &str) -> (String, Option<Failure>) {
    let done = bench
        .launch(&LaunchRequest {
            side,
            command: &CommandLine::Shell(script.to_owned()),
            env: &BTreeMap::new(),
            timeout: Duration::from_secs(20),
        })
        .await;
    (
        String::from_utf8_lossy(&done.stdout).into_owned(),
        done.failure,
    )
}

#[tokio::test]
async fn both_sides_are_built_and_run_at_one_path() {
    let world = World::two_values().await;
    let mut bench = world.open().await;
    let mut said = Vec::new();
    for side in Side::BOTH {
        let built = world.build(&mut bench, side).await;
        assert_eq!((built.failure, built.cached), (None, false));
        assert_eq!(built.outputs.len(), 1);
        assert!(
            built.outputs[0].executable
                && world.store.0.join(&built.outputs[0].artifact.0).exists()
        );
        assert_eq!(
            bench.checked_out(side).expect("built").commit,
            world.commits.get(side).sha
        );
    }
    for side in [Side::Base, Side::Head, Side::Base, Side::Head] {
        let (text, failure) = launch(&mut bench, side, "./engine; pwd").await;
        assert_eq!(failure, None);
        said.push(text);
    }
    assert_eq!(said[0], said[2]);
    assert_eq!(said[0].replace(" 1\n", " 2\n"), said[1]);
    assert_ne!(said[0], said[1]);
    let [(path, file)] = &bench.files(Side::Base)[..] else {
        panic!("one output");
    };
    assert!(path == "engine" && file.is_file());
}

#[tokio::test]
async fn a_build_is_used_again_until_something_that_counts_changes() {
    let mut world = World::two_values().await;
    let first = {
        let mut bench = world.open().await;
        world.build(&mut bench, Side::Base).await;
        world.build(&mut bench, Side::Head).await
    };
    assert_eq!(world.builds(), 2);
    let mut bench = world.open().await;
    let again = world.build(&mut bench, Side::Head).await;
    assert!(again.cached);
    assert_eq!(
        (again.outputs, again.key.clone()),
        (first.outputs, first.key)
    );
    // The store lost it (`runner gc`): it is put back.
    std::fs::remove_dir_all(&world.store.0).expect("it goes");
    assert!(world.build(&mut bench, Side::Head).await.cached);
    assert!(world.store.contains(&first.log.expect("a log")).is_ok());
    assert_eq!(world.builds(), 2);
    // A touched file with the same content is the same; a changed one is built again.
    let (_, file) = bench.files(Side::Head).remove(0);
    let old = std::fs::File::open(&file).expect("there");
    old.set_modified(std::time::SystemTime::UNIX_EPOCH)
        .expect("touched");
    assert!(world.build(&mut bench, Side::Head).await.cached);
    std::fs::write(&file, "#!/bin/sh\necho faster\n").expect("changed");
    assert!(!world.build(&mut bench, Side::Head).await.cached);
    assert_eq!(
        launch(&mut bench, Side::Head, "./engine")
            .await
            .0
            .matches(" 2")
            .count(),
        1
    );
    assert_eq!(world.builds(), 3);
    drop(bench);
    world.config.build.env.insert("OPT".into(), "1".into());
    let mut bench = world.open().await;
    let other = world.build(&mut bench, Side::Head).await;
    assert!(!other.cached && other.key != again.key);
}

#[tokio::test]
async fn one_build_serves_equal_trees() {
    let source = format!("#define VALUE 1\n{MAIN}");
    let world = World::new(&[("main.cpp", &source)], &[]).await;
    let mut bench = world.open().await;
    assert!(!world.build(&mut bench, Side::Base).await.cached);
    assert!(world.build(&mut bench, Side::Head).await.cached);
    assert_eq!(
        launch(&mut bench, Side::Base, "./engine").await,
        launch(&mut bench, Side::Head, "./engine").await
    );
}

#[tokio::test]
async fn a_head_that_does_not_compile_is_evidence() {
    let good = format!("#define VALUE 1\n{MAIN}");
    let world = World::new(
        &[("main.cpp", &good)],
        &[("main.cpp", "int main() { return x; }\n")],
    )
    .await;
    let mut bench = world.open().await;
    assert_eq!(world.build(&mut bench, Side::Base).await.failure, None);
    let built = world.build(&mut bench, Side::Head).await;
    assert_eq!(built.failure, Some(Failure::Exit { code: 1 }));
    let error = built.first_error.expect("an error");
    assert!(error.contains("main.cpp:1:21: error:"), "{error}");
    let log =
        std::fs::read_to_string(world.store.0.join(&built.log.expect("a log").0)).expect("text");
    assert!(log.contains("main.cpp:1:21: error:"), "{log}");
    assert!(matches!(
        launch(&mut bench, Side::Head, "true").await.1,
        Some(Failure::NotStarted { .. })
    ));
    assert_eq!(launch(&mut bench, Side::Base, "./engine").await.1, None);
}

#[tokio::test]
async fn failures_of_the_machine_are_told_apart() {
    let mut world = World::two_values().await;
    type Wanted = fn(&Failure) -> bool;
    let cases: [(&str, Wanted); 5] = [
        ("cat main.cpp > /dev/full", |f| *f == Failure::DiskFull),
        (
            "nvcc-is-not-here; PATH=/nowhere nvcc -c x.cu",
            |f| matches!(f, Failure::NotStarted { reason } if reason.contains("nvcc")),
        ),
        ("sleep 60", |f| *f == Failure::TimedOut { limit_s: 1 }),
        ("yes", |f| matches!(f, Failure::TooMuchOutput { .. })),
        (
            "true",
            |f| matches!(f, Failure::MissingOutput { pattern } if pattern == "engine"),
        ),
    ];
    for (command, wanted) in cases {
        world.config.build.command = CommandLine::Shell(command.into());
        world.config.build.timeout_s = if command.starts_with("sleep") { 1 } else { 60 };
        let mut bench = world.open().await;
        let built = world.build(&mut bench, Side::Base).await;
        assert!(
            built.failure.as_ref().is_some_and(wanted),
            "{command}: {:?}",
            built.failure
        );
    }
    world.config.limits.free_disk_bytes = u64::MAX;
    let error = Workbench::open(world.plan().await).expect_err("no room");
    assert_eq!(error.failure(), Failure::DiskFull);
}

#[tokio::test]
async fn outputs_are_found_by_glob_and_never_outside_the_tree() {
    let mut world = World::two_values().await;
    world.config.build.command = CommandLine::Shell(
        "mkdir -p lib/deep && echo a > lib/a.so && echo b > lib/deep/b.so && \
         ln -s a.so lib/link.so && ln -s /etc/passwd lib/evil.so"
            .into(),
    );
    world.config.build.outputs = vec!["./lib/*.so".into(), "lib/**/b.so".into()];
    let mut bench = world.open().await;
    let built = world.build(&mut bench, Side::Base).await;
    let paths: Vec<&str> = built.outputs.iter().map(|o| o.path.as_str()).collect();
    assert_eq!(paths, ["lib/a.so", "lib/deep/b.so", "lib/link.so"]);
    drop(bench);
    world.config.build.outputs = vec!["lib/evil.so".into()];
    let mut bench = world.open().await;
    let built = world.build(&mut bench, Side::Base).await;
    assert!(matches!(built.failure, Some(Failure::MissingOutput { .. })));
}

#[tokio::test]
async fn the_slot_is_one_runs_at_a_time() {
    let world = World::two_values().await;
    let first = world.open().await;
    let error = Workbench::open(world.plan().await).expect_err("taken");
    let BuildError::Busy(held) = &error else {
        panic!("{error}");
    };
    assert!(held.to_string().contains("a test"), "{held}");
    drop(first);
    world.open().await;
}

#[tokio::test]
async fn what_a_crash_left_is_repaired() {
    let world = World::two_values().await;
    let slot = {
        let mut bench = world.open().await;
        world.build(&mut bench, Side::Base).await;
        world.build(&mut bench, Side::Head).await;
        launch(&mut bench, Side::Head, "true").await;
        bench
            .tree(Side::Head)
            .expect("built")
            .parent()
            .expect("a slot")
            .to_owned()
    };
    let builds = slot.join("builds");
    // Killed between the note and the rename: nothing is in the slot.
    let resident = std::fs::read_to_string(slot.join("resident")).expect("a note");
    std::fs::rename(slot.join("tree"), builds.join(&resident).join("tree")).expect("moved");
    let check = async || {
        let mut bench = world.open().await;
        for (side, value) in [(Side::Base, " 1\n"), (Side::Head, " 2\n")] {
            let built = world.build(&mut bench, side).await;
            assert_eq!(built.failure, None);
            assert!(
                launch(&mut bench, side, "./engine")
                    .await
                    .0
                    .ends_with(value)
            );
        }
    };
    check().await;
    assert_eq!(world.builds(), 2);
    // Killed while a build was going on: a tree in the slot that is no build.
    let resident = std::fs::read_to_string(slot.join("resident")).expect("a note");
    std::fs::remove_file(builds.join(&resident).join("build.json")).expect("removed");
    std::fs::write(slot.join("tree/engine"), "half an executable").expect("written");
    check().await;
    assert_eq!(world.builds(), 3);
    // A note that says nothing.
    std::fs::write(slot.join("resident"), "").expect("written");
    check().await;
    assert_eq!(world.builds(), 4);
    // Killed while checking out.
    std::fs::create_dir_all(builds.join("deadbeef/tree/.git")).expect("a folder");
    check().await;
    assert!(!builds.join("deadbeef").exists());
    assert_eq!(world.builds(), 4);
}

#[tokio::test]
async fn each_command_starts_with_an_empty_home() {
    let world = World::two_values().await;
    let mut bench = world.open().await;
    world.build(&mut bench, Side::Base).await;
    world.build(&mut bench, Side::Head).await;
    let script = "ls -A $HOME $TMPDIR $XDG_CACHE_HOME | grep -c kept; \
                  for d in $HOME $TMPDIR $XDG_CACHE_HOME; do mkdir $d/kept; chmod 0 $d/kept; done; \
                  readlink $(command -v runner)";
    for side in [Side::Base, Side::Base, Side::Head] {
        assert_eq!(launch(&mut bench, side, script).await.0, "0\n/bin/true\n");
    }
}

#[tokio::test]
async fn a_changed_output_is_not_launched() {
    let world = World::two_values().await;
    let mut bench = world.open().await;
    world.build(&mut bench, Side::Base).await;
    launch(&mut bench, Side::Base, "echo '#!/bin/sh' > engine").await;
    let (_, failure) = launch(&mut bench, Side::Base, "./engine").await;
    assert!(
        format!("{failure:?}").contains("changed since it was built"),
        "{failure:?}"
    );
}

#[tokio::test]
async fn a_harness_keeps_the_other_side_out() {
    let world = World::two_values().await;
    let mut bench = world.open().await;
    world.build(&mut bench, Side::Base).await;
    world.build(&mut bench, Side::Head).await;
    let harness = Harness {
        command: CommandLine::Shell("while read l; do ./engine; done".into()),
        env: BTreeMap::new(),
        start_timeout_s: 5,
    };
    let wait = Duration::from_secs(5);
    let mut session = bench.open(Side::Base, &harness).await.expect("it starts");
    assert!(
        session
            .ask("go", wait)
            .await
            .expect("an answer")
            .ends_with(" 1")
    );
    assert!(matches!(
        launch(&mut bench, Side::Head, "true").await.1,
        Some(Failure::NotStarted { .. })
    ));
    assert_eq!(launch(&mut bench, Side::Base, "true").await.1, None);
    assert!(
        session
            .ask("go", wait)
            .await
            .expect("an answer")
            .ends_with(" 1")
    );
    assert_eq!(session.close(wait).await.failure, None);
    let session = bench.open(Side::Head, &harness).await.expect("it starts");
    drop(session);
    assert_eq!(launch(&mut bench, Side::Base, "true").await.1, None);
}

#[tokio::test]
async fn stored_outputs_are_put_back() {
    let world = World::two_values().await;
    let built = {
        let mut bench = world.open().await;
        world.build(&mut bench, Side::Head).await
    };
    std::fs::remove_dir_all(world.path("cache/work")).expect("it goes");
    let mut bench = world.open().await;
    bench
        .restore(Side::Head, &world.commits.head, &built, &world.store)
        .await
        .expect("restored");
    let (said, failure) = launch(&mut bench, Side::Head, "./engine").await;
    assert_eq!(failure, None);
    assert!(said.ends_with(" 2\n"));
    assert_eq!(world.builds(), 1);
    // A record that names a place outside.
    let mut evil = built;
    evil.outputs[0].path = "../../evil".into();
    let error = bench
        .restore(Side::Base, &world.commits.base, &evil, &world.store)
        .await
        .expect_err("refused");
    assert!(
        format!("{error:?}").contains("outside the worktree"),
        "{error:?}"
    );
}

#[tokio::test]
async fn old_builds_are_pruned_and_made_again() {
    let world = World::two_values().await;
    {
        let mut bench = world.open().await;
        world.build(&mut bench, Side::Base).await;
        world.build(&mut bench, Side::Head).await;
        let cache = world.path("cache");
        assert_eq!(
            prune(&cache, Duration::ZERO).expect("busy slots are left alone"),
            0
        );
    }
    let cache = world.path("cache");
    assert_eq!(
        prune(&cache, Duration::from_secs(3600)).expect("nothing is old"),
        0
    );
    assert_eq!(prune(&cache, Duration::ZERO).expect("pruned"), 2);
    let mut bench = world.open().await;
    assert!(!world.build(&mut bench, Side::Head).await.cached);
}
