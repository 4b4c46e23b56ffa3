//! What the runner itself costs, on a real repository with the release build of the program:
//! what `runner run` adds to the commands' own wall time, how soon the second run of an already
//! built pair takes its first sample, and how long the demo takes with its toolchain in the cache.
//!
//! `cargo bench -p runner --bench figures [-- overhead|second-run|demo]`. Nothing is asserted: what else the
//! machine does is in the figures, and the commands' own times are taken in the same minutes.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

const CAMPAIGN: &str = r#"
[campaign]
name = "figures"
[toolchain]
cuda = "none"
[build]
command = "cc -O1 -o engine engine.c"
outputs = ["engine"]
[[bench]]
name = "speed"
command = ["./engine"]
value = { regex = '(\S+) tok/s' }
unit = "tok/s"
better = "higher"
bar = "+1.5%"
[protocol]
samples = 45
"#;

/// Takes a second and prints a value near VALUE.
const ENGINE: &str = r#"
#include <stdio.h>
#include <time.h>
#include <unistd.h>
#ifndef SECONDS
#define SECONDS 1
#endif
int main(void) {
    struct timespec t, wait = {SECONDS, 0};
    nanosleep(&wait, 0);
    clock_gettime(CLOCK_MONOTONIC, &t);
    printf("%.3f tok/s\n", VALUE + t.tv_nsec % 1000 * 1e-4);
}
"#;

fn main() -> Result {
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| !arg.starts_with('-'))
        .collect();
    let wants = |name: &str| wanted.is_empty() || wanted.iter().any(|want| want == name);
    let place = tempfile::tempdir()?;
    if wants("second-run") {
        second_run(&place.path().join("second-run"))?;
    }
    if wants("overhead") {
        overhead(&place.path().join("overhead"))?;
    }
    if wants("demo") {
        demo(&place.path().join("demo"))?;
    }
    Ok(())
}

/// A repository of two commits below `place`, whose engine takes so many seconds.
fn repository(place: &Path, seconds: u32) -> Result {
    let repo = place.join("repo");
    std::fs::create_dir_all(&repo)?;
    git(&repo, &["init", "-q", "-b", "main"])?;
    std::fs::write(repo.join("campaign.toml"), CAMPAIGN)?;
    for value in [100, 103] {
        let head = format!("#define VALUE {value}\n#define SECONDS {seconds}\n");
        std::fs::write(repo.join("engine.c"), head + ENGINE)?;
        git(&repo, &["add", "-A"])?;
        git(&repo, &["commit", "-q", "-m", &format!("engine: {value}")])?;
    }
    Ok(())
}

fn git(repo: &Path, args: &[&str]) -> Result {
    let done = Command::new("git")
        .current_dir(repo)
        .args([
            "-c",
            "user.name=A Person",
            "-c",
            "user.email=person@example.invalid",
        ])
        .args(args)
        .status()?;
    if done.success() {
        Ok(())
    } else {
        Err(format!("git {args:?} failed").into())
    }
}

fn runner(place: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_runner"));
    command
        .args(args)
        .env("ROUNDHOUSE_DATA", place.join("data"))
        .env("ROUNDHOUSE_LOCKS", place.join("locks"))
        .stderr(Stdio::null());
    command
}

fn run(place: &Path) -> Result<serde_json::Value> {
    let output = runner(place, &["run", "--json"])
        .env("ROUNDHOUSE_CACHE", place.join("cache"))
        .current_dir(place.join("repo"))
        .output()?;
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The median wall time of a program that is started from here.
fn bare(program: &Path, times: u32) -> Result<Duration> {
    let mut walls = Vec::new();
    for _ in 0..times {
        let started = Instant::now();
        Command::new(program).stdout(Stdio::null()).status()?;
        walls.push(started.elapsed());
    }
    walls.sort();
    Ok(walls[walls.len() / 2])
}

fn overhead(place: &Path) -> Result {
    repository(place, 1)?;
    let engine = place.join("bare");
    let mut cc = Command::new("cc");
    cc.args(["-O1", "-o"]).arg(&engine);
    assert_command(cc.arg(place.join("repo/engine.c")))?;
    let before = bare(&engine, 5)?;
    let started = Instant::now();
    let document = run(place)?;
    let wall = started.elapsed();
    let after = bare(&engine, 5)?;
    let launches = samples(&document).len();
    let own = (before + after) / 2 * u32::try_from(launches)?;
    let added = wall.saturating_sub(own);
    let allowed = own.mul_f64(0.01) + Duration::from_secs(1);
    println!(
        "overhead: {launches} launches of a command of {:.3} s",
        before.as_secs_f64()
    );
    println!(
        "  the commands alone {:.2} s, runner run {:.2} s",
        own.as_secs_f64(),
        wall.as_secs_f64()
    );
    println!(
        "  added {:.2} s, checkout, builds and inspection included; 1 % + 1 s would be {:.2} s",
        added.as_secs_f64(),
        allowed.as_secs_f64()
    );
    Ok(())
}

fn assert_command(command: &mut Command) -> Result {
    if command.status()?.success() {
        Ok(())
    } else {
        Err(format!("{command:?} failed").into())
    }
}

fn samples(document: &serde_json::Value) -> Vec<serde_json::Value> {
    document["evidence"]["benches"][0]["samples"]
        .as_array()
        .cloned()
        .unwrap_or_default()
}

fn second_run(place: &Path) -> Result {
    repository(place, 0)?;
    run(place)?;
    for attempt in 1..=3 {
        let started = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
        let document = run(place)?;
        let first = samples(&document)
            .iter()
            .filter_map(|sample| sample["started_at"].as_u64())
            .min()
            .ok_or("no sample was taken")?;
        let after = u128::from(first).saturating_sub(started.as_millis());
        println!("second run, attempt {attempt}: first sample {after} ms after the start");
    }
    Ok(())
}

fn demo(place: &Path) -> Result {
    let home = std::env::var_os("HOME").ok_or("HOME is not set")?;
    let cache = std::env::var_os("ROUNDHOUSE_CACHE")
        .map_or_else(|| Path::new(&home).join(".cache/roundhouse"), Into::into);
    // Its own cache for everything but the toolchain.
    std::fs::create_dir_all(place.join("cache"))?;
    std::fs::create_dir_all(place.join("data"))?;
    runner::testing::cuda_bin();
    std::os::unix::fs::symlink(cache.join("toolchains"), place.join("cache/toolchains"))?;
    let started = Instant::now();
    let status = runner(place, &["demo"])
        .env("ROUNDHOUSE_CACHE", place.join("cache"))
        .stdout(Stdio::null())
        .status()?;
    println!(
        "demo: {:.1} s with the toolchain in the cache ({status})",
        started.elapsed().as_secs_f64()
    );
    Ok(())
}
