//! The sample campaigns' registrations against the code that nvcc makes of them. Of the small one
//! every claim holds, or needs a profiler and says so; of the matrix products those fail that their
//! README names, and no other.

use std::path::Path;
use std::process::Command;

use runner::claims::{ClaimContext, CounterFacts, evaluate};
use runner::config::{self, Cuda};
use runner::demo::{self, Campaign, Options};
use runner::model::{ClaimEvidence, ClaimOutcome, LaunchOccupancy, PerSide, RegisteredClaim, Side};
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

/// Builds the sources that levers change, of a commit, in a clone, and inspects their cubins.
fn inspect(repo: &Path, commit: &str, sources: &[&str]) -> Result<Report> {
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
    let cubins: Vec<String> = sources
        .iter()
        .filter(|name| dir.path().join(format!("kernels/{name}.cu")).exists())
        .map(|name| format!("build/{name}.{ARCH}.cubin"))
        .collect();
    let mut make = Command::new("make");
    make.current_dir(dir.path())
        .env("PATH", std::env::join_paths(path)?)
        .env("CUDA_ARCH", ARCH)
        .args(&cubins);
    output(&mut make)?;
    let inputs: Vec<InspectInput> = cubins
        .into_iter()
        .map(|name| InspectInput {
            path: dir.path().join(&name),
            name,
        })
        .collect();
    let options = sass::Options {
        nvdisasm: Some(runner::testing::cuda_bin().join("nvdisasm")),
        ..sass::Options::default()
    };
    Ok(sass::inspect_files(&inputs, &options)?)
}

fn occupancy(_: Side, kernel: &sass::Kernel) -> Option<LaunchOccupancy> {
    let launch = Launch {
        threads: 256,
        dynamic_smem: match kernel.name.as_str() {
            "mmq_wide_kd4" => 73_728,
            "mmq_wide_kd8" => 98_304,
            _ => 0,
        },
    };
    let cc: ComputeCapability = kernel.arch.parse().ok()?;
    Some(LaunchOccupancy {
        launch,
        from_launch_bound: false,
        occupancy: sass::occupancy(cc, &kernel.ledger, launch)?,
    })
}

/// A campaign's commits as compiled, and what became of each lever's claims.
struct Evaluated {
    reports: Vec<Report>,
    /// The round's title and the claim.
    claims: Vec<(String, ClaimEvidence)>,
}

impl Evaluated {
    fn of(campaign: Campaign, sources: &[&str]) -> Result<Evaluated> {
        let dir = tempfile::tempdir()?;
        let options = Options {
            campaign,
            cuda: Cuda::System,
            arch: vec![ARCH.to_owned()],
        };
        let demo = demo::create(&dir.path().join("demo"), options)?;
        let first = &demo.rounds[0].base;
        let mut evaluated = Evaluated {
            reports: vec![inspect(&demo.path, first.as_str(), sources)?],
            claims: Vec::new(),
        };
        for round in &demo.rounds {
            let head = round.head.as_str();
            evaluated.reports.push(inspect(&demo.path, head, sources)?);
            let git =
                |args: &[&str]| output(Command::new("git").current_dir(&demo.path).args(args));
            let text = git(&["show", &format!("{head}:campaign.toml")])?;
            let config = config::parse(&text, "campaign.toml").map_err(|e| e.to_string())?;
            let message = git(&["log", "-1", "--format=%B", head])?;
            let registration = from_commit(&message, &config);
            assert_eq!(registration.errors, Vec::<String>::new(), "{}", round.title);
            for claim in evaluated.last(&registration.claims, &config) {
                println!("{}: {claim:?}", round.title);
                evaluated.claims.push((round.title.clone(), claim));
            }
        }
        Ok(evaluated)
    }

    /// Claims of the newest commit against the one before it.
    fn last(&self, claims: &[RegisteredClaim], config: &config::Config) -> Vec<ClaimEvidence> {
        let n = self.reports.len();
        let sides = PerSide {
            base: self.reports[n - 2].clone(),
            head: self.reports[n - 1].clone(),
        };
        let facts = config.kernels.as_slice();
        let context = ClaimContext {
            reports: &sides,
            facts: PerSide {
                base: facts,
                head: facts,
            },
            occupancy: &occupancy,
            counters: CounterFacts::Unavailable("no device"),
        };
        evaluate(claims, &context)
    }

    /// How many claims hold, and the texts of those that fail.
    fn outcome(&self) -> (usize, Vec<&str>) {
        let mut held = 0;
        let mut failed = Vec::new();
        for (_, claim) in &self.claims {
            match &claim.outcome {
                ClaimOutcome::Holds => held += 1,
                ClaimOutcome::NotEvaluated { .. } => assert!(claim.text.starts_with("counter ")),
                ClaimOutcome::Fails => failed.push(claim.text.as_str()),
            }
        }
        (held, failed)
    }
}

#[test]
fn every_claim_of_the_small_campaign_holds_on_the_compiled_code() -> Result {
    let checks = Evaluated::of(Campaign::Checks, &["ldsm_check", "scale_read"])?;
    assert_eq!(checks.outcome(), (5 + 6 + 7, vec![]));
    let reports = &checks.reports;
    let delta = |n: usize| sass::diff(&reports[n], &reports[n + 1]);
    assert_eq!(delta(0).changed.len(), 1, "the swizzle changes one kernel");
    assert!(
        sass::diff(&reports[1], &reports[3]).is_identical(),
        "the revert is verified"
    );
    assert!(delta(4).is_identical(), "the last step changes no code");
    Ok(())
}

/// Claims are the campaign's, and are not edited to fit: those that fail here are known, and each
/// stands in the README of the patches.
#[test]
fn of_the_matrix_products_those_claims_fail_that_are_known_to() -> Result {
    let mmq = Evaluated::of(Campaign::Mmq, &["mmq_wide", "mmq_nb"])?;
    let (held, failed) = mmq.outcome();
    let expected = [
        "instructions mmq_wide_* -5.8% +- 0.5%",
        "regs mmq_wide_kd4 not above 141",
        "regs mmq_wide_kd8 not above 149",
        "regs mmq_nb 111 -> 109",
    ];
    assert_eq!(failed, expected);
    assert_eq!(held, 3 + 4 + 5 + 5);
    let readme = include_str!("../../kernels/mmq/README.md");
    for claim in expected {
        assert!(readme.contains(claim), "the README does not name `{claim}`");
    }
    for (lever, revert) in [(1, 2), (3, 4), (7, 8)] {
        let reports = (&mmq.reports[lever - 1], &mmq.reports[revert]);
        assert!(sass::diff(reports.0, reports.1).is_identical(), "{revert}");
    }
    Ok(())
}
