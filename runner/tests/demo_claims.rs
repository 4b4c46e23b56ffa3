//! The demo's registrations against the code that nvcc makes of it: every claim holds, or needs a
//! profiler and says so.

use std::path::Path;
use std::process::Command;

use runner::claims::{ClaimContext, CounterFacts, evaluate};
use runner::config::{self, Cuda};
use runner::demo::{self, Campaign, Options};
use runner::model::{ClaimOutcome, LaunchOccupancy, PerSide, Side};
use runner::registration::from_commit;
use sass::{ComputeCapability, InspectInput, Launch, Report};

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

const ARCH: &str = "sm_121";

fn output(command: &mut Command) -> Result<String> {
    let done = command.output()?;
    if done.status.success() {
        return Ok(String::from_utf8(done.stdout)?);
    }
    Err(format!("{command:?}: {}", String::from_utf8_lossy(&done.stderr)).into())
}

/// Builds a commit of the demo in its own clone and inspects its cubins.
fn inspect(repo: &Path, commit: &str) -> Result<Report> {
    let dir = tempfile::tempdir()?;
    output(
        Command::new("git")
            .args(["clone", "-q"])
            .arg(repo)
            .arg(dir.path()),
    )?;
    let git = || {
        let mut git = Command::new("git");
        git.current_dir(dir.path());
        git
    };
    output(git().args(["checkout", "-q", "--detach", commit]))?;
    let others = std::env::var_os("PATH").unwrap_or_default();
    let path = std::iter::once(runner::testing::cuda_bin()).chain(std::env::split_paths(&others));
    let mut make = Command::new("make");
    make.current_dir(dir.path())
        .env("PATH", std::env::join_paths(path)?);
    output(make.env("CUDA_ARCH", ARCH))?;
    let inputs: Vec<InspectInput> = ["ldsm_check", "scale_read"]
        .map(|kernel| format!("build/{kernel}.{ARCH}.cubin"))
        .map(|name| InspectInput {
            path: dir.path().join(&name),
            name,
        })
        .to_vec();
    let options = sass::Options {
        nvdisasm: Some(runner::testing::cuda_bin().join("nvdisasm")),
        ..sass::Options::default()
    };
    Ok(sass::inspect_files(&inputs, &options)?)
}

fn occupancy(_: Side, kernel: &sass::Kernel) -> Option<LaunchOccupancy> {
    let launch = Launch {
        threads: 256,
        dynamic_smem: 0,
    };
    let cc: ComputeCapability = kernel.arch.parse().ok()?;
    Some(LaunchOccupancy {
        launch,
        from_launch_bound: false,
        occupancy: sass::occupancy(cc, &kernel.ledger, launch)?,
    })
}

#[test]
fn every_claim_of_the_demo_holds_on_the_compiled_code() -> Result {
    let dir = tempfile::tempdir()?;
    let options = Options {
        campaign: Campaign::Checks,
        cuda: Cuda::System,
        arch: vec![ARCH.to_owned()],
    };
    let demo = demo::create(&dir.path().join("demo"), options)?;
    let text = std::fs::read_to_string(demo.path.join("campaign.toml"))?;
    let config = config::parse(&text, "campaign.toml").map_err(|e| e.to_string())?;
    let mut reports = vec![inspect(&demo.path, demo.rounds[0].base.as_str())?];
    for round in &demo.rounds {
        reports.push(inspect(&demo.path, round.head.as_str())?);
    }
    let mut held = 0;
    for (n, round) in demo.rounds.iter().enumerate() {
        let format = ["log", "-1", "--format=%B", round.head.as_str()];
        let message = output(Command::new("git").current_dir(&demo.path).args(format))?;
        let registration = from_commit(&message, &config);
        assert_eq!(registration.errors, Vec::<String>::new(), "{}", round.title);
        let sides = PerSide {
            base: reports[n].clone(),
            head: reports[n + 1].clone(),
        };
        let context = ClaimContext {
            counters: CounterFacts::Unavailable("nothing is launched"),
            reports: &sides,
            facts: PerSide {
                base: config.kernels.as_slice(),
                head: config.kernels.as_slice(),
            },
            occupancy: &occupancy,
        };
        for claim in evaluate(&registration.claims, &context) {
            println!("{}: {claim:?}", round.title);
            match claim.outcome {
                ClaimOutcome::Holds => held += 1,
                ClaimOutcome::NotEvaluated { .. } => assert!(claim.text.starts_with("counter ")),
                ClaimOutcome::Fails => return Err(format!("{claim:?}").into()),
            }
        }
    }
    assert_eq!(held, 5 + 6 + 7);
    let delta = |n: usize| sass::diff(&reports[n], &reports[n + 1]);
    assert_eq!(delta(0).changed.len(), 1, "the swizzle changes one kernel");
    assert!(
        sass::diff(&reports[1], &reports[3]).is_identical(),
        "the revert is verified"
    );
    assert!(delta(4).is_identical(), "the last step changes no code");
    Ok(())
}
