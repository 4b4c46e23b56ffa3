//! Change points and creep over simulated rounds: false alarms, detection, and why raw tok/s are
//! no series to look for them in. Prints the tables of `docs/drift.md`.
//!
//! ```sh
//! cargo bench -p runner --bench drift              # `-- 5000` for more series a row
//! ```

use runner::stats::change_points::{SETTINGS, change_points};
use runner::stats::creep::creeps;
use runner::stats::rounds::{Series, series};
use runner::stats::simulate::{Noise, Random, in_parallel};

const SEED: u64 = 15;
const ROUNDS: usize = 100;

/// What is found in one series.
#[derive(Clone, Copy, Default)]
struct Found {
    steps: usize,
    creeps: usize,
    /// The first step near the true one, by how many rounds it is off.
    off_by: Option<usize>,
    change: f64,
}

fn look(values: &[f64], at: usize) -> Found {
    let points = change_points(values, &SETTINGS);
    let near = points
        .iter()
        .filter(|point| point.at.abs_diff(at) <= 3)
        .min_by_key(|point| point.at.abs_diff(at));
    Found {
        steps: points.len(),
        creeps: creeps(values, &points).len(),
        off_by: near.map(|point| point.at.abs_diff(at)),
        change: near.map_or(0.0, |point| point.change()),
    }
}

fn all(count: u64, sigma: f64, truth: impl Fn(usize) -> f64 + Sync) -> Vec<Series> {
    let indexes: Vec<u64> = (0..count).collect();
    in_parallel(&indexes, |&index| {
        series(
            Noise::standard(sigma),
            ROUNDS,
            &truth,
            Random::new(SEED, index),
        )
    })
}

fn share<T>(all: &[T], holds: impl Fn(&T) -> bool) -> f64 {
    100.0 * all.iter().filter(|one| holds(one)).count() as f64 / all.len() as f64
}

fn main() {
    let count = std::env::args()
        .find_map(|arg| arg.parse::<u64>().ok())
        .unwrap_or(2_000);
    println!("{count} series of {ROUNDS} rounds a row, seed {SEED}\n");
    println!("Nothing changes: share of series with any alarm\n");
    println!("| series | sigma | change point | creep | either |");
    println!("|---|---|---|---|---|");
    for sigma in [0.3, 0.5, 0.8] {
        let simulated = all(count, sigma, |_| 0.0);
        for (name, of) in [
            (
                "head against anchor",
                (|s| &s.anchored) as fn(&Series) -> &Vec<f64>,
            ),
            ("raw tok/s", |s| &s.raw),
        ] {
            let found: Vec<Found> = simulated.iter().map(|s| look(of(s), 0)).collect();
            println!(
                "| {name} | {sigma} | {:.1} % | {:.1} % | {:.1} % |",
                share(&found, |f| f.steps > 0),
                share(&found, |f| f.creeps > 0),
                share(&found, |f| f.steps + f.creeps > 0),
            );
        }
    }
    println!("\nA step at round 50\n");
    println!(
        "| step | sigma | found within 3 rounds | at the very round | mean change | other alarms |"
    );
    println!("|---|---|---|---|---|---|");
    for step in [0.5, 1.0, -1.0] {
        for sigma in [0.3, 0.5, 0.8] {
            let simulated = all(count, sigma, |round| if round < 50 { 0.0 } else { step });
            let found: Vec<Found> = simulated.iter().map(|s| look(&s.anchored, 50)).collect();
            let hits: Vec<&Found> = found.iter().filter(|f| f.off_by.is_some()).collect();
            let mean = hits.iter().map(|f| f.change).sum::<f64>() / hits.len().max(1) as f64;
            println!(
                "| {step:+} | {sigma} | {:.1} % | {:.1} % | {mean:+.2} | {:.1} % |",
                share(&found, |f| f.off_by.is_some()),
                share(&found, |f| f.off_by == Some(0)),
                share(&found, |f| f.steps + f.creeps
                    > usize::from(f.off_by.is_some())),
            );
        }
    }
    println!("\nA creep from round 30 on\n");
    println!("| a round | sigma | found by round 50 | by 60 | by 100 |");
    println!("|---|---|---|---|---|");
    for slope in [0.05, 0.1, -0.1] {
        for sigma in [0.3, 0.5, 0.8] {
            let truth = |round: usize| slope * round.saturating_sub(30) as f64;
            let simulated = all(count, sigma, truth);
            let by = |end: usize| {
                share(&simulated, |s| {
                    let values = &s.anchored[..end];
                    let points = change_points(values, &SETTINGS);
                    !points.is_empty() || !creeps(values, &points).is_empty()
                })
            };
            println!(
                "| {slope:+} | {sigma} | {:.1} % | {:.1} % | {:.1} % |",
                by(50),
                by(60),
                by(100)
            );
        }
    }
}
