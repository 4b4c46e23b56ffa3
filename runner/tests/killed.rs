//! A runner that is killed with SIGKILL at any moment: the next one repairs what it finds, is
//! not disturbed by what the first had started, and uses what was whole.
//!
//! A program of its own, because it starts itself as the victim.

use std::collections::BTreeMap;
use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use runner::build::{ArtifactSink, BuildSource, Workbench, WorkbenchPlan};
use runner::config::{self, CommandLine, Config, Cuda, DeviceKind, Protocol};
use runner::git::{PairRequest, Repository};
use runner::model::{ArtifactHash, Side};
use runner::process::{LaunchRequest, Launcher, RUN_VARIABLE};
use runner::progress::Progress;
use runner::toolchain;
use sha2::{Digest, Sha256};

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

/// How often the victim is killed while it changes sides.
const KILLS: u32 = 12;

fn main() -> Result {
    let runtime = tokio::runtime::Runtime::new()?;
    let words: Vec<String> = std::env::args().collect();
    if let [_, role, folder, run_id] = &words[..]
        && role == "victim"
    {
        return runtime.block_on(victim(Path::new(folder), run_id));
    }
    runtime.block_on(scenario())?;
    println!("killed: ok");
    Ok(())
}

async fn scenario() -> Result {
    let folder = tempfile::tempdir()?;
    let place = folder.path().canonicalize()?;
    make_repository(&place)?;

    // While it builds: the recipe waits for a file, with a child that left its session.
    let mut child = start_victim(&place, "run-build")?;
    wait_until("the build has begun", || place.join("building").exists())?;
    child.kill()?;
    child.wait()?;
    assert!(
        !marked("run-build").is_empty(),
        "the recipe outlives its runner"
    );
    std::fs::write(place.join("go"), "")?;
    check(&place, "run-next").await?;
    assert!(
        marked("run-build").is_empty(),
        "it is swept by the next run"
    );

    // While it changes sides and launches.
    let mut coin = rand_chacha::ChaCha8Rng::seed_from_u64(22);
    let builds = built(&place);
    for kill in 0..KILLS {
        let run_id = format!("run-kill-{kill:04}");
        let _ = std::fs::remove_file(place.join("launched"));
        let mut child = start_victim(&place, &run_id)?;
        wait_until("it launches", || place.join("launched").exists())?;
        std::thread::sleep(Duration::from_micros(coin.random_range(0..40_000)));
        child.kill()?;
        child.wait()?;
        check(&place, "run-next").await?;
        assert!(marked(&run_id).is_empty(), "{run_id} left something behind");
    }
    assert_eq!(built(&place), builds, "whole builds are used again");
    Ok(())
}

/// Opens the slot as the next run, and sees that both sides are what they should be.
async fn check(place: &Path, run_id: &str) -> Result {
    let mut bench = open(place, run_id).await?;
    build_both(&mut bench, place).await?;
    for (side, value) in [
        (Side::Base, "1\n"),
        (Side::Head, "2\n"),
        (Side::Base, "1\n"),
    ] {
        assert_eq!(launch(&mut bench, side, "./engine").await, value);
    }
    Ok(())
}

/// Builds, then changes sides for ever.
async fn victim(place: &Path, run_id: &str) -> Result {
    let mut bench = open(place, run_id).await?;
    build_both(&mut bench, place).await?;
    loop {
        for side in Side::BOTH {
            launch(&mut bench, side, "./engine; touch ../../../../launched").await;
        }
    }
}

async fn open(place: &Path, run_id: &str) -> Result<Workbench> {
    let cache = place.join("cache");
    let toolchain = toolchain::prepare(&Cuda::None, &cache, &Progress::silent()).await?;
    Ok(Workbench::open(WorkbenchPlan {
        repository: Repository::open(&place.join("repo"), &cache).await?,
        config: config(),
        toolchain,
        cache,
        run_id: run_id.to_owned(),
        runner_exe: PathBuf::from("/bin/true"),
        visible_devices: None,
        what: "a test".to_owned(),
        rebuild: false,
    })?)
}

async fn build_both(bench: &mut Workbench, place: &Path) -> Result {
    let repository = Repository::open(&place.join("repo"), &place.join("cache")).await?;
    let pair = repository.pair(PairRequest::default()).await?;
    for side in Side::BOTH {
        let commit = repository.commit_info(pair.get(side)).await?;
        let store = Store(place.join("store"));
        let config = config();
        let source = BuildSource {
            commit: &commit,
            recipe: &config.build,
            arch: &config.toolchain.arch,
        };
        let built = bench
            .build(side, &source, &store, &Progress::silent())
            .await?;
        assert_eq!(built.failure, None);
    }
    Ok(())
}

async fn launch(bench: &mut Workbench, side: Side, script: &str) -> String {
    let done = bench
        .launch(&LaunchRequest {
            side,
            command: &CommandLine::Shell(script.to_owned()),
            env: &BTreeMap::new(),
            timeout: Duration::from_secs(20),
        })
        .await;
    assert_eq!(done.failure, None);
    String::from_utf8_lossy(&done.stdout).into_owned()
}

fn start_victim(place: &Path, run_id: &str) -> Result<Child> {
    Ok(Command::new(std::env::current_exe()?)
        .arg("victim")
        .arg(place)
        .arg(run_id)
        // As in a hook, or under `git rebase --exec`: none of it may reach our git commands.
        .envs(["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"].map(|name| (name, "/nowhere")))
        .spawn()?)
}

fn wait_until(what: &str, mut done: impl FnMut() -> bool) -> Result {
    let clock = Instant::now();
    while !done() {
        if clock.elapsed() > Duration::from_secs(60) {
            return Err(format!("waited for a minute until {what}").into());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// The processes that carry the mark of a run.
fn marked(run_id: &str) -> Vec<String> {
    let entry = format!("{RUN_VARIABLE}={run_id}\0");
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter(|process| {
            std::fs::read(process.path().join("environ"))
                .is_ok_and(|environ| String::from_utf8_lossy(&environ).contains(&entry))
        })
        .map(|process| process.file_name().to_string_lossy().into_owned())
        .collect()
}

fn built(place: &Path) -> usize {
    std::fs::read_to_string(place.join("built")).map_or(0, |text| text.lines().count())
}

fn make_repository(place: &Path) -> Result {
    let repo = place.join("repo");
    std::fs::create_dir(&repo)?;
    git(&repo, &["init", "-q", "-b", "main"])?;
    for value in ["1", "2"] {
        std::fs::write(repo.join("engine.sh"), format!("#!/bin/sh\necho {value}\n"))?;
        git(&repo, &["add", "-A"])?;
        git(&repo, &["commit", "-q", "-m", value])?;
    }
    Ok(())
}

fn git(repo: &Path, arguments: &[&str]) -> Result {
    let status = Command::new("git")
        .arg("-C")
        .arg(repo)
        .args([
            "-c",
            "user.name=T",
            "-c",
            "user.email=t@t.invalid",
            "-c",
            "commit.gpgSign=false",
        ])
        .args(arguments)
        .status()?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("git {arguments:?} failed").into())
    }
}

fn config() -> Config {
    let recipe = "touch ../../../../building; \
                  setsid sh -c 'while ! test -e ../../../../go; do sleep 0.05; done; sleep 30' & \
                  while ! test -e ../../../../go; do sleep 0.05; done; \
                  install -m 755 engine.sh engine; echo built >> ../../../../built";
    Config {
        campaign: config::Campaign {
            name: "killed".into(),
            title: "killed".into(),
            default_branch: None,
        },
        toolchain: config::Toolchain {
            cuda: Cuda::None,
            arch: vec![],
        },
        device: config::Device {
            kind: DeviceKind::Cpu,
            index: 0,
        },
        build: config::Build {
            command: CommandLine::Shell(recipe.into()),
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
        anchor: runner::config::Anchor::default(),
        limits: config::Limits {
            output_bytes: 1 << 20,
            free_disk_bytes: 1,
        },
    }
}

/// A store in a folder, without compression.
struct Store(PathBuf);

impl ArtifactSink for Store {
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
