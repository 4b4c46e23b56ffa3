//! The habits of the field and the sequential protocol on the same simulated machine: false
//! positives, how often a true +1 % lands, and the samples that it costs.
//!
//! `cargo bench -p runner --bench protocol [-- CAMPAIGNS]` prints the tables of
//! `docs/protocol.md`; without a number, 20,000 campaigns a cell. The seeds are fixed, so that it
//! prints the same figures everywhere, but for the last line, which is a time. Nothing is asserted
//! here: `tests/protocol.rs` does that.

use std::hint::black_box;
use std::time::Instant;

use runner::stats::sequential::{LOOKS, Question, replay};
use runner::stats::simulate::{
    CLUSTER_LENGTH, CLUSTER_RATE, Cell, Machine, Noise, Order, Random, SKEWED_VARIANCE, Tally,
    in_parallel, tallies,
};
use runner::stats::{SMALLEST_WORTHWHILE, median};

const SEED: u64 = 4;
const SIGMAS: [f64; 3] = [0.3, 0.5, 0.8];
const EFFECTS: [f64; 5] = [0.0, 0.5, 1.0, 1.5, 3.0];

fn main() {
    let campaigns = std::env::args()
        .skip(1)
        .find_map(|arg| arg.parse().ok())
        .unwrap_or(20_000);
    println!("{campaigns} campaigns a cell\n");
    habits(campaigns);
    characteristics(campaigns);
    stress(campaigns);
    bar(campaigns);
    again(campaigns);
    other_machines(campaigns);
    time_of_a_look();
}

/// A way to decide, with the samples of both sides that it spends on a campaign.
struct Habit {
    name: &'static str,
    samples: u32,
    lands: fn(&mut Machine, f64) -> bool,
}

const HABITS: [Habit; 6] = [
    Habit {
        name: "3 pairs, all positive, median >= +0.5 %",
        samples: 6,
        lands: three_pairs,
    },
    Habit {
        name: "45 samples of base, then 45 of head; medians differ by +0.5 %",
        samples: 90,
        lands: unpaired_medians,
    },
    Habit {
        name: "strict ABAB, 20 pairs, t-test at 5 %",
        samples: 40,
        lands: base_first,
    },
    Habit {
        name: "the same with head first",
        samples: 40,
        lands: head_first,
    },
    Habit {
        name: "20 of base, then 20 of head; Mann-Whitney at 5 %",
        samples: 40,
        lands: mann_whitney,
    },
    Habit {
        name: "one sample above Q3 + 3 IQR of 30 earlier ones",
        samples: 1,
        lands: above_history,
    },
];

fn habits(campaigns: u32) {
    println!("| way to decide | false positives | true +1 % lands | samples |");
    println!("|---|---|---|---|");
    let cells: Vec<(&Habit, f64)> = HABITS
        .iter()
        .flat_map(|habit| [(habit, 0.0), (habit, 1.0)])
        .collect();
    let landed = in_parallel(&cells, |(habit, effect)| {
        let lands = |index: &u32| {
            let random = Random::new(SEED, u64::from(*index));
            (habit.lands)(&mut Machine::new(Noise::standard(0.5), random), *effect)
        };
        (0..campaigns).filter(lands).count() as f64 / f64::from(campaigns)
    });
    for (habit, share) in HABITS.iter().zip(landed.chunks(2)) {
        println!(
            "| {} | {:.1} % | {:.1} % | {} |",
            habit.name,
            100.0 * share[0],
            100.0 * share[1],
            habit.samples
        );
    }
    let noise = Noise::standard(0.5);
    let found = tallies(&[cell(noise, 0.0), cell(noise, 1.0)], campaigns, SEED);
    println!(
        "| **the sequential protocol** | {:.1} % | {:.1} % | {:.0} at 0, {:.0} at +1 % |\n",
        landed_percent(&found[0]),
        landed_percent(&found[1]),
        2.0 * found[0].mean_pairs(),
        2.0 * found[1].mean_pairs()
    );
}

fn three_pairs(machine: &mut Machine, effect: f64) -> bool {
    let mut d = Vec::new();
    machine.pairs(effect, 3, &mut Order::Strict, &mut d);
    d.iter().all(|value| *value > 0.0) && median(&d) >= Some(SMALLEST_WORTHWHILE)
}

/// All samples of base, then all of head, which is faster by `effect`.
fn one_after_the_other(machine: &mut Machine, effect: f64, count: usize) -> (Vec<f64>, Vec<f64>) {
    let base = (0..count).map(|_| machine.sample(false)).collect();
    let head = (0..count).map(|_| effect + machine.sample(false)).collect();
    (base, head)
}

fn unpaired_medians(machine: &mut Machine, effect: f64) -> bool {
    let (base, head) = one_after_the_other(machine, effect, 45);
    match (median(&base), median(&head)) {
        (Some(base), Some(head)) => head - base >= SMALLEST_WORTHWHILE,
        _ => false,
    }
}

/// Student's t at 19 degrees of freedom, two-sided 5 %.
const T_19: f64 = 2.093;

/// The pairs of the habits that are tested by t: one more than its degrees of freedom.
const T_PAIRS: usize = 20;

fn base_first(machine: &mut Machine, effect: f64) -> bool {
    let mut d = Vec::new();
    machine.pairs(effect, T_PAIRS, &mut Order::Strict, &mut d);
    is_significant(&d)
}

fn head_first(machine: &mut Machine, effect: f64) -> bool {
    let pair = |_| {
        let head = effect + machine.sample(false);
        head - machine.sample(true)
    };
    is_significant(&(0..T_PAIRS).map(pair).collect::<Vec<_>>())
}

fn is_significant(d: &[f64]) -> bool {
    let n = d.len() as f64;
    let mean = d.iter().sum::<f64>() / n;
    let variance = d.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    mean / (variance / n).sqrt() > T_19
}

/// The normal quantile of a two-sided 5 %; at 20 against 20 the approximation is a good one.
const Z: f64 = 1.960;

fn mann_whitney(machine: &mut Machine, effect: f64) -> bool {
    let (base, head) = one_after_the_other(machine, effect, 20);
    let above = |h: &f64| base.iter().filter(|b| h > b).count();
    let u = head.iter().map(above).sum::<usize>() as f64;
    let (n, m) = (base.len() as f64, head.len() as f64);
    (u - n * m / 2.0) / (n * m * (n + m + 1.0) / 12.0).sqrt() > Z
}

/// Every sample is from a window of its own, so that its drift is its own as well.
fn above_history(machine: &mut Machine, effect: f64) -> bool {
    let mut sample = || {
        machine.rest();
        machine.sample(false)
    };
    let mut history: Vec<f64> = (0..30).map(|_| sample()).collect();
    history.sort_unstable_by(f64::total_cmp);
    let (q1, q3) = (history[7], history[22]);
    effect + sample() > q3 + 3.0 * (q3 - q1)
}

fn cell(noise: Noise, effect: f64) -> Cell {
    Cell {
        question: Question::Improvement { bar: None },
        m0: SMALLEST_WORTHWHILE,
        noise,
        effect,
    }
}

fn landed_percent(tally: &Tally) -> f64 {
    100.0 * tally.share(tally.landed)
}

fn characteristics(campaigns: u32) {
    println!("| sigma | false positives | lands at +.5/+1/+1.5/+3 | mean pairs at 0/+.5/+1/+3 |");
    println!("|---|---|---|---|");
    for sigma in SIGMAS {
        let cells = EFFECTS.map(|effect| cell(Noise::standard(sigma), effect));
        let found = tallies(&cells, campaigns, SEED);
        let power: Vec<String> = found[1..]
            .iter()
            .map(|tally| format!("{:.1}", landed_percent(tally)))
            .collect();
        let pairs = [0, 1, 2, 4].map(|place| format!("{:.1}", found[place].mean_pairs()));
        println!(
            "| {sigma} | {:.2} % | {} | {} |",
            landed_percent(&found[0]),
            power.join("/"),
            pairs.join("/")
        );
    }
    println!();
}

/// A stress case: its name, and what it does to the machine.
type Stress = (&'static str, fn(Noise) -> Noise);

#[rustfmt::skip]
const STRESS: [Stress; 4] = [
    ("four times the outliers", |n| Noise { cluster_rate: 4.0 * n.cluster_rate, ..n }),
    ("drift sd 1.5 %", |n| Noise { drift: 1.5, ..n }),
    ("launch offset sd .6 %", |n| Noise { launch: 0.6, ..n }),
    ("slot bias -.5 %", |n| Noise { slot_bias: -0.5, ..n }),
];

fn stress(campaigns: u32) {
    println!(
        "| stress, sigma .3/.5/.8 | false positives | lands at +1 | mean pairs at 0 | at +1 |"
    );
    println!("|---|---|---|---|---|");
    for (name, change) in STRESS {
        let at = |effect| {
            let cells = SIGMAS.map(|sigma| cell(change(Noise::standard(sigma)), effect));
            tallies(&cells, campaigns, SEED)
        };
        let (none, one) = (at(0.0), at(1.0));
        println!(
            "| {name} | {} % | {} % | {} | {} |",
            joined(&none, |tally| format!("{:.2}", landed_percent(tally))),
            joined(&one, |tally| format!("{:.1}", landed_percent(tally))),
            joined(&none, |tally| format!("{:.1}", tally.mean_pairs())),
            joined(&one, |tally| format!("{:.1}", tally.mean_pairs())),
        );
    }
    println!();
}

/// One figure of each, with slashes between.
fn joined(tallies: &[Tally], figure: fn(&Tally) -> String) -> String {
    let figures: Vec<String> = tallies.iter().map(figure).collect();
    figures.join("/")
}

fn bar(campaigns: u32) {
    println!("| effect, bar +1.5 | lands | sub-bar | mean pairs |");
    println!("|---|---|---|---|");
    for effect in [1.0, 1.25, 1.5, 1.75, 2.0] {
        let with_bar = Cell {
            question: Question::Improvement { bar: Some(1.5) },
            ..cell(Noise::standard(0.5), effect)
        };
        let found = tallies(&[with_bar], campaigns, SEED);
        println!(
            "| {effect} | {:.2} % | {:.2} % | {:.1} |",
            landed_percent(&found[0]),
            100.0 * found[0].share(found[0].sub_bar),
            found[0].mean_pairs()
        );
    }
    println!();
}

/// What the design leaves open about the machine, chosen otherwise: (share of skew, cluster rate,
/// mean cluster length). The first is the standard.
const CHOICES: [(f64, f64, f64); 6] = [
    (SKEWED_VARIANCE, CLUSTER_RATE, CLUSTER_LENGTH),
    (0.25, 0.005, 3.0),
    (0.25, 0.01, 3.0),
    (0.75, 0.01, 3.0),
    (1.0, 0.01, 3.0),
    (0.5, 0.015, 3.0),
];

/// What measuring again does. Attempts are windows of their own, so their outcomes are independent:
/// a confirmation lands as often as a first attempt, whatever that said.
fn again(campaigns: u32) {
    println!(
        "| sigma, effect | lands once | left open | open ones confirmed | again until one lands, \
         then confirmed | best of 3 | best of 10 |"
    );
    println!("|---|---|---|---|---|---|---|");
    let cases: Vec<(f64, f64)> = SIGMAS
        .iter()
        .flat_map(|sigma| [0.0, 0.5, 1.0].map(|effect| (*sigma, effect)))
        .collect();
    let cells: Vec<Cell> = cases
        .iter()
        .map(|(sigma, effect)| cell(Noise::standard(*sigma), *effect))
        .collect();
    for ((sigma, effect), found) in cases.iter().zip(tallies(&cells, campaigns, SEED)) {
        let (lands, open) = (found.share(found.landed), found.share(found.open));
        let columns = [
            lands,
            open,
            lands + open * lands,
            // Who stops at a first landing, and else goes on until some attempt lands.
            lands + (1.0 - lands) * lands,
            1.0 - (1.0 - lands).powi(3),
            1.0 - (1.0 - lands).powi(10),
        ]
        .map(|share| format!("{:.2} %", 100.0 * share));
        println!("| {sigma}, +{effect} | {} |", columns.join(" | "));
    }
    println!();
}

fn other_machines(campaigns: u32) {
    println!(
        "| skew, cluster rate, length | false positives at sigma .3/.5/.8 | +.5 lands, sigma .8 \
         | +1 lands, sigma .8 | outliers x 4, +1 lands | launch offset .6, +1 lands |"
    );
    println!("|---|---|---|---|---|---|");
    for (skewed, cluster_rate, cluster_length) in CHOICES {
        let noise = |sigma| Noise {
            skewed,
            cluster_rate,
            cluster_length,
            ..Noise::standard(sigma)
        };
        let outliers = Noise {
            cluster_rate: 4.0 * cluster_rate,
            ..noise(0.5)
        };
        let launch = Noise {
            launch: 0.6,
            ..noise(0.5)
        };
        let [low, middle, high] = SIGMAS.map(|sigma| cell(noise(sigma), 0.0));
        let power = [
            cell(noise(0.8), 0.5),
            cell(noise(0.8), 1.0),
            cell(outliers, 1.0),
            cell(launch, 1.0),
        ];
        let found = tallies(&[low, middle, high], campaigns, SEED);
        let rates: Vec<String> = found
            .iter()
            .map(|tally| format!("{:.2}", landed_percent(tally)))
            .collect();
        let lands: Vec<String> = tallies(&power, campaigns, SEED)
            .iter()
            .map(|tally| format!("{:.1} %", landed_percent(tally)))
            .collect();
        println!(
            "| {:.0} %, {:.2} %, {cluster_length} | {} % | {} |",
            100.0 * skewed,
            100.0 * cluster_rate,
            rates.join("/"),
            lands.join(" | ")
        );
    }
    println!();
}

/// The time that a campaign's five looks take together, on the first stream that needs them all.
fn time_of_a_look() {
    const TIMES: u32 = 1_000;
    let question = Question::Improvement { bar: Some(1.5) };
    let stream = |index| {
        let mut d = Vec::new();
        let mut machine = Machine::new(Noise::standard(0.8), Random::new(SEED, index));
        machine.pairs(1.5, 44, &mut Order::Blocks(false), &mut d);
        d
    };
    let all_looks = |d: &Vec<f64>| replay(question, SMALLEST_WORTHWHILE, d).1.len() == LOOKS.len();
    let Some(d) = (0..1_000).map(stream).find(all_looks) else {
        println!("no stream of a thousand takes all looks");
        return;
    };
    let start = Instant::now();
    for _ in 0..TIMES {
        black_box(replay(
            black_box(question),
            SMALLEST_WORTHWHILE,
            black_box(&d),
        ));
    }
    println!(
        "all five looks of a campaign: {:.1?}",
        start.elapsed() / TIMES
    );
}
