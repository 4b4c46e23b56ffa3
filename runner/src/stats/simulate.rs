//! Simulated campaigns: what the protocol does where the truth is known.
//!
//! A seed gives the same campaigns on every machine and however many threads share the work. The
//! noise model is that of the measurement protocol; what it leaves open (the shape of the skew, how
//! often clusters come and how long they last) is chosen here, plainly, by named constants.
//! Nothing here reads a clock or a file, and nothing that is shown to a user as measured may come
//! from here.

use std::sync::Mutex;
use std::thread;

use super::sequential::{Next, Outcome, Question, Sequential};

/// SplitMix64 (Steele, Lea & Flood, OOPSLA 2014): 64 bits of state, and a campaign needs only
/// some thousand draws. Its few lines keep the fixed seeds' results across library versions.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The stream number `index` of a seed.
    pub fn new(seed: u64, index: u64) -> Self {
        let mut first = Self(seed);
        let start = first.bits() ^ index.wrapping_mul(0xD134_2543_DE82_EF95);
        Self(Self(start).bits())
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A fair coin.
    pub fn coin(&mut self) -> bool {
        self.bits() >> 63 == 1
    }

    /// Uniform in (0, 1): never an end, so that its logarithm is finite.
    pub fn uniform(&mut self) -> f64 {
        ((self.bits() >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }

    /// Standard normal, by Box and Muller (1958).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Exponential with mean 1 and standard deviation 1.
    pub fn exponential(&mut self) -> f64 {
        -self.uniform().ln()
    }
}

/// The share of a sample's variance that is skewed to the slow side: an exponential, turned
/// round and centred. The rest is normal.
///
/// This and the two constants of the clusters are not given by the measurement protocol. They were
/// chosen so that its table of operating characteristics comes out; `docs/protocol.md` says how
/// far the figures move with other choices.
pub const SKEWED_VARIANCE: f64 = 0.85;

/// The probability with which a sample begins an outlier cluster.
pub const CLUSTER_RATE: f64 = 0.0125;

/// The mean number of samples that an outlier cluster hits; the number is geometric.
pub const CLUSTER_LENGTH: f64 = 2.0;

/// The least and the greatest loss of a sample in an outlier cluster, percent; uniform.
pub const OUTLIER_LOSS: (f64, f64) = (1.0, 6.0);

/// How a machine's samples scatter; everything in d units (percent of a logarithm).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noise {
    /// Standard deviation of one sample.
    pub sigma: f64,
    /// Standard deviation of what a whole process launch is off by. A sample is a launch.
    pub launch: f64,
    /// Standard deviation of the drift, an AR(1) series over samples.
    pub drift: f64,
    /// How much of the drift one sample hands to the next.
    pub drift_phi: f64,
    /// What the second slot of a pair gains; negative: it is slower.
    pub slot_bias: f64,
    /// The share of a sample's own variance that is skewed to the slow side, 0..=1.
    pub skewed: f64,
    /// The probability with which a sample begins an outlier cluster.
    pub cluster_rate: f64,
    /// The mean number of samples that a cluster hits, at least 1.
    pub cluster_length: f64,
}

impl Noise {
    /// The noise under which the protocol's operating characteristics are stated.
    pub fn standard(sigma: f64) -> Self {
        Self {
            sigma,
            launch: 0.2,
            drift: 0.5,
            drift_phi: 0.95,
            slot_bias: -0.1,
            skewed: SKEWED_VARIANCE,
            cluster_rate: CLUSTER_RATE,
            cluster_length: CLUSTER_LENGTH,
        }
    }
}

/// The samples of one machine, one after the other.
#[derive(Debug, Clone)]
pub struct Machine {
    noise: Noise,
    random: Random,
    drift: f64,
    in_cluster: bool,
}

impl Machine {
    /// A machine whose drift has run for long.
    pub fn new(noise: Noise, random: Random) -> Self {
        let mut machine = Self {
            noise,
            random,
            drift: 0.0,
            in_cluster: false,
        };
        machine.rest();
        machine
    }

    /// A fair coin of the same stream.
    pub fn coin(&mut self) -> bool {
        self.random.coin()
    }

    /// Lets so much time pass that nothing is left of the drift and of a cluster: a new window.
    pub fn rest(&mut self) {
        self.drift = self.noise.drift * self.random.normal();
        self.in_cluster = false;
    }

    /// The next sample's deviation from the truth; `is_second` in its pair.
    pub fn sample(&mut self, is_second: bool) -> f64 {
        let noise = self.noise;
        let fresh = (1.0 - noise.drift_phi * noise.drift_phi).sqrt();
        self.drift = noise.drift_phi * self.drift + fresh * noise.drift * self.random.normal();
        let own = (1.0 - noise.skewed).sqrt() * self.random.normal()
            - noise.skewed.sqrt() * (self.random.exponential() - 1.0);
        let slot = if is_second { noise.slot_bias } else { 0.0 };
        noise.sigma * own + noise.launch * self.random.normal() + self.drift + slot + self.outlier()
    }

    fn outlier(&mut self) -> f64 {
        let chance = if self.in_cluster {
            1.0 - 1.0 / self.noise.cluster_length
        } else {
            self.noise.cluster_rate
        };
        self.in_cluster = self.random.uniform() < chance;
        if !self.in_cluster {
            return 0.0;
        }
        let (least, greatest) = OUTLIER_LOSS;
        -(least + (greatest - least) * self.random.uniform())
    }

    /// Appends the effects of pairs until there are `count`, in blocks of ABBA or BAAB by a coin;
    /// head is faster by `effect`.
    pub fn pairs(&mut self, effect: f64, count: usize, order: &mut Order, d: &mut Vec<f64>) {
        while d.len() < count {
            let base_first = order.base_first(d.len(), self);
            let (first, second) = (self.sample(false), self.sample(true));
            d.push(if base_first {
                effect + second - first
            } else {
                effect + first - second
            });
        }
    }
}

/// Which side goes first in a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Blocks of two pairs, ABBA or BAAB by a coin; the flag is the present block's coin.
    Blocks(bool),
    /// Base first, always.
    Strict,
}

impl Order {
    fn base_first(&mut self, pair: usize, machine: &mut Machine) -> bool {
        match self {
            Self::Strict => true,
            Self::Blocks(coin) if pair.is_multiple_of(2) => {
                *coin = machine.coin();
                *coin
            }
            Self::Blocks(coin) => !*coin,
        }
    }
}

/// What is simulated: one question, one machine, one truth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cell {
    /// What the campaign asks.
    pub question: Question,
    /// The smallest effect worth having, d units.
    pub m0: f64,
    /// The machine.
    pub noise: Noise,
    /// The true effect, d units.
    pub effect: f64,
}

/// How the campaigns of a cell ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// All campaigns.
    pub campaigns: u32,
    /// [`Outcome::Landed`].
    pub landed: u32,
    /// [`Outcome::SubBar`].
    pub sub_bar: u32,
    /// [`Outcome::NoEffect`] and [`Outcome::Pass`].
    pub no_effect: u32,
    /// [`Outcome::Regression`].
    pub regression: u32,
    /// [`Outcome::Open`].
    pub open: u32,
    /// The pairs that all of them took together.
    pub pairs: u64,
    /// The sum of the squares of each campaign's pairs.
    pub pairs_squared: u64,
}

impl Tally {
    fn count(&mut self, outcome: Outcome, pairs: usize) {
        let place = match outcome {
            Outcome::Landed => &mut self.landed,
            Outcome::SubBar => &mut self.sub_bar,
            Outcome::NoEffect | Outcome::Pass => &mut self.no_effect,
            Outcome::Regression => &mut self.regression,
            Outcome::Open => &mut self.open,
        };
        *place += 1;
        self.campaigns += 1;
        self.pairs += pairs as u64;
        self.pairs_squared += (pairs * pairs) as u64;
    }

    /// A count as a share of all campaigns.
    pub fn share(&self, count: u32) -> f64 {
        f64::from(count) / f64::from(self.campaigns)
    }

    /// The pairs that a campaign takes on average.
    pub fn mean_pairs(&self) -> f64 {
        self.pairs as f64 / f64::from(self.campaigns)
    }

    /// The variance of a campaign's number of pairs.
    pub fn pairs_variance(&self) -> f64 {
        self.pairs_squared as f64 / f64::from(self.campaigns) - self.mean_pairs().powi(2)
    }
}

/// Runs so many campaigns of a cell, one seeded stream each.
pub fn tally(cell: &Cell, campaigns: u32, seed: u64) -> Tally {
    let mut tally = Tally::default();
    for index in 0..campaigns {
        let (outcome, pairs) = campaign(cell, Random::new(seed, u64::from(index)));
        tally.count(outcome, pairs);
    }
    tally
}

/// [`tally`] of each cell, in order, with the work shared among so many threads as there are
/// processors.
pub fn tallies(cells: &[Cell], campaigns: u32, seed: u64) -> Vec<Tally> {
    in_parallel(cells, |cell| tally(cell, campaigns, seed))
}

/// Applies a function to each item, on all processors; the results are in the items' order.
pub fn in_parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let queue = Mutex::new(items.iter().enumerate());
    let next = || queue.lock().ok().and_then(|mut queue| queue.next());
    let worker = || {
        let mut done = Vec::new();
        while let Some((index, item)) = next() {
            done.push((index, work(item)));
        }
        done
    };
    let mut results: Vec<(usize, R)> = thread::scope(|scope| {
        let started: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        started
            .into_iter()
            .flat_map(|thread| match thread.join() {
                Ok(done) => done,
                Err(panic) => std::panic::resume_unwind(panic),
            })
            .collect()
    });
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Runs one campaign to its end: the outcome and the pairs that it took.
fn campaign(cell: &Cell, random: Random) -> (Outcome, usize) {
    let mut machine = Machine::new(cell.noise, random);
    let mut order = Order::Blocks(false);
    let mut sequential = Sequential::new(cell.question, cell.m0);
    let mut d = Vec::new();
    loop {
        match sequential.look(&d) {
            Next::Pairs(wanted) => machine.pairs(cell.effect, wanted, &mut order, &mut d),
            Next::Done(outcome) => return (outcome, d.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean_and_sd(values: &[f64]) -> (f64, f64) {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n;
        (mean, variance.sqrt())
    }

    const SILENT: Noise = Noise {
        sigma: 0.0,
        launch: 0.0,
        drift: 0.0,
        drift_phi: 0.95,
        slot_bias: 0.0,
        skewed: SKEWED_VARIANCE,
        cluster_rate: 0.0,
        cluster_length: CLUSTER_LENGTH,
    };

    fn samples(noise: Noise, count: usize) -> Vec<f64> {
        let mut machine = Machine::new(noise, Random::new(3, 0));
        (0..count).map(|_| machine.sample(false)).collect()
    }

    #[test]
    fn splitmix_gives_the_published_numbers() {
        let mut random = Random(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| random.bits()).collect();
        assert_eq!(
            first,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423
            ]
        );
    }

    #[test]
    fn each_part_of_the_noise_has_the_size_that_it_says() {
        let own = samples(
            Noise {
                sigma: 0.5,
                ..SILENT
            },
            100_000,
        );
        let (mean, sd) = mean_and_sd(&own);
        assert!(mean.abs() < 0.01 && (sd - 0.5).abs() < 0.01, "{mean} {sd}");
        // Skewed to the slow side: the third moment is -2 w^(3/2) for an exponential's share w.
        let third = own.iter().map(|v| ((v - mean) / sd).powi(3)).sum::<f64>() / 1e5;
        let expected = -2.0 * SKEWED_VARIANCE.powf(1.5);
        assert!((third - expected).abs() < 0.15, "{third} {expected}");

        let (_, sd) = mean_and_sd(&samples(
            Noise {
                launch: 0.2,
                ..SILENT
            },
            100_000,
        ));
        assert!((sd - 0.2).abs() < 0.005, "{sd}");

        let drift = samples(
            Noise {
                drift: 0.5,
                ..SILENT
            },
            400_000,
        );
        let (_, sd) = mean_and_sd(&drift);
        assert!((sd - 0.5).abs() < 0.03, "{sd}");
        let handed: f64 = drift.windows(2).map(|w| w[0] * w[1]).sum::<f64>() / 4e5;
        assert!((handed / (sd * sd) - 0.95).abs() < 0.01, "{handed}");
    }

    #[test]
    fn outliers_come_in_clusters_and_cost_1_to_6_percent() {
        let noise = Noise {
            cluster_rate: CLUSTER_RATE,
            ..SILENT
        };
        let values = samples(noise, 200_000);
        let hit: Vec<f64> = values.iter().copied().filter(|v| *v != 0.0).collect();
        assert!(hit.iter().all(|v| (-6.0..=-1.0).contains(v)));
        let begun = values
            .windows(2)
            .filter(|w| w[0] == 0.0 && w[1] != 0.0)
            .count();
        let length = hit.len() as f64 / begun as f64;
        assert!((length - CLUSTER_LENGTH).abs() < 0.1, "{length}");
        let share = hit.len() as f64 / values.len() as f64;
        assert!((share - 0.0244).abs() < 0.002, "{share}");
    }

    #[test]
    fn blocks_cancel_the_slot_and_a_strict_order_does_not() {
        let noise = Noise {
            slot_bias: -0.5,
            ..SILENT
        };
        let d = |mut order: Order| {
            let mut d = Vec::new();
            Machine::new(noise, Random::new(5, 1)).pairs(1.0, 8, &mut order, &mut d);
            d
        };
        assert_eq!(d(Order::Strict), [0.5; 8]);
        for block in d(Order::Blocks(false)).chunks(2) {
            assert_eq!(block[0] + block[1], 2.0);
            assert_ne!(block[0], block[1]);
        }
    }

    #[test]
    fn after_a_rest_the_drift_is_another_one() {
        let noise = Noise {
            drift: 0.5,
            ..SILENT
        };
        let mut machine = Machine::new(noise, Random::new(8, 0));
        let firsts: Vec<f64> = (0..20_000)
            .map(|_| {
                machine.rest();
                machine.sample(false)
            })
            .collect();
        let (_, sd) = mean_and_sd(&firsts);
        assert!((sd - 0.5).abs() < 0.02, "{sd}");
        let handed: f64 = firsts.windows(2).map(|w| w[0] * w[1]).sum::<f64>() / 2e4;
        assert!(handed.abs() < 0.01, "{handed}");
    }

    #[test]
    fn a_seed_gives_the_same_campaigns_however_they_are_shared() {
        let cell = |effect| Cell {
            question: Question::Improvement { bar: None },
            m0: 0.5,
            noise: Noise::standard(0.5),
            effect,
        };
        let cells = [cell(0.0), cell(0.5), cell(1.0)];
        let together = tallies(&cells, 50, 9);
        let alone: Vec<Tally> = cells.iter().map(|c| tally(c, 50, 9)).collect();
        assert_eq!(together, alone);
        let all = together[1];
        let counts = all.landed + all.sub_bar + all.no_effect + all.regression + all.open;
        assert_eq!((counts, all.campaigns), (50, 50));
        assert!(all.pairs_variance() > 0.0 && all.mean_pairs() > 6.0);
        assert!(together[0].landed < together[2].landed);
        assert_ne!(tally(&cells[1], 50, 10), all);
    }
}
