//! The order in which the two sides are launched.
//!
//! For each bench: one throw-away launch of each side, then pairs. A block of two pairs is ABBA
//! or BAAB by a seeded coin, so that neither side profits from drift or from the slot; an odd
//! last pair's order is tossed for itself. One bench after another; how many pairs, and whether a
//! lost one is replaced, is the driver's business.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};

use super::inner::DEFAULT_INNER;
use crate::model::{SampleRole, Side};

/// The launch index of the base launch that is made after head has failed for good, to see
/// whether the machine still works. The two throw-aways before the pairs have 0 and 1.
pub const CONTROL_LAUNCH: u32 = 2;

/// One launch of the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedLaunch {
    /// The bench's name.
    pub bench: String,
    /// The side to launch.
    pub side: Side,
    /// What the launch is for.
    pub role: SampleRole,
    /// The pair's index from 0; for a throw-away the launch's index.
    pub pair: u32,
    /// 0 for the pair's first launch, 1 for its second.
    pub slot: u8,
    /// A seed for harnesses that take one: the same for both halves of a pair, so that they do
    /// the same work, and another one for each pair. Below 2^32, so that any JSON reader keeps it.
    pub seed: u64,
    /// Timed runs inside the launch, for harnesses.
    pub inner: u32,
}

/// The launches of one bench, one after another. The same seed gives the same launches, and a
/// bench's order does not depend on the other benches: each draws from a stream of its own.
#[derive(Debug, Clone)]
pub struct Schedule {
    bench: String,
    rng: ChaCha8Rng,
    /// The side that begins the newest pair.
    first: Side,
    /// Places of blocks that were given out; a replacement takes none.
    places: u32,
    /// Pairs that were given out, replacements included.
    pairs: u32,
    /// Timed runs of the launches to come.
    inner: u32,
}

impl Schedule {
    /// The schedule of the bench at `position` in the config.
    pub fn new(bench: &str, position: u64, seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(position);
        Schedule {
            bench: bench.to_owned(),
            rng,
            first: Side::Base,
            places: 0,
            pairs: 0,
            inner: DEFAULT_INNER,
        }
    }

    /// Sets how many timed runs the launches from here on have.
    pub fn set_inner(&mut self, inner: u32) {
        self.inner = inner;
    }

    /// One launch of each side that is thrown away; asked for once, before the first pair.
    pub fn throw_aways(&mut self) -> [PlannedLaunch; 2] {
        let seed = u64::from(self.rng.next_u32());
        let launch = |pair, side| PlannedLaunch {
            bench: self.bench.clone(),
            side,
            role: SampleRole::ThrowAway,
            pair,
            slot: 0,
            seed,
            inner: self.inner,
        };
        [launch(0, Side::Base), launch(1, Side::Head)]
    }

    /// The next pair.
    pub fn pair(&mut self) -> [PlannedLaunch; 2] {
        if self.places.is_multiple_of(2) {
            let heads_up = self.rng.next_u32() & 1 == 1;
            self.first = if heads_up { Side::Head } else { Side::Base };
        } else {
            self.first = self.first.other();
        }
        self.places += 1;
        self.numbered()
    }

    /// The number of the next pair that is given out.
    pub fn next_number(&self) -> u32 {
        self.pairs
    }

    /// A pair in the order of the newest one, which could not be measured: it takes that one's
    /// place in its block, and a number of its own.
    pub fn replacement(&mut self) -> [PlannedLaunch; 2] {
        self.numbered()
    }

    fn numbered(&mut self) -> [PlannedLaunch; 2] {
        let seed = u64::from(self.rng.next_u32());
        let pair = self.pairs;
        self.pairs += 1;
        let launch = |slot, side| PlannedLaunch {
            bench: self.bench.clone(),
            side,
            role: SampleRole::Pair,
            pair,
            slot,
            seed,
            inner: self.inner,
        };
        [launch(0, self.first), launch(1, self.first.other())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The throw-aways and so many pairs of the bench at this position.
    fn launches(position: u64, pairs: u32, seed: u64) -> Vec<PlannedLaunch> {
        let mut schedule = Schedule::new("a", position, seed);
        let mut launches = schedule.throw_aways().to_vec();
        launches.extend((0..pairs).flat_map(|_| schedule.pair()));
        launches
    }

    /// `bH|hb|…`: throw-aways in capitals, pairs in order.
    fn letters(launches: &[PlannedLaunch]) -> String {
        launches
            .iter()
            .map(|l| match (l.role, l.side) {
                (SampleRole::ThrowAway, Side::Base) => 'B',
                (SampleRole::ThrowAway, Side::Head) => 'H',
                (SampleRole::Pair, Side::Base) => 'b',
                (SampleRole::Pair, Side::Head) => 'h',
            })
            .collect()
    }

    #[test]
    fn golden_orders() {
        let order = |seed| letters(&launches(0, 5, seed));
        assert_eq!(order(1), "BHbhhbhbbhbh");
        assert_eq!(order(2), "BHhbbhhbbhbh");
        assert_eq!(order(22), "BHbhhbbhhbhb");
    }

    #[test]
    fn blocks_are_abba_or_baab_and_both_occur() {
        let launches = launches(0, 45, 7);
        let all = letters(&launches);
        let pairs = &all[2..];
        assert_eq!(pairs.len(), 90);
        let blocks: Vec<&str> = (0..22).map(|b| &pairs[b * 4..b * 4 + 4]).collect();
        assert!(
            blocks.iter().all(|b| *b == "bhhb" || *b == "hbbh"),
            "{pairs}"
        );
        assert!(blocks.contains(&"bhhb") && blocks.contains(&"hbbh"));
    }

    #[test]
    fn every_bench_has_an_order_of_its_own() {
        let orders: Vec<String> = (0..4).map(|at| letters(&launches(at, 45, 9))).collect();
        for (i, order) in orders.iter().enumerate() {
            assert!(!orders[i + 1..].contains(order), "{order}");
        }
    }

    #[test]
    fn a_replacement_takes_the_order_of_the_pair_that_was_lost() {
        let whole = launches(0, 6, 2);
        for lost in 0..6 {
            let mut schedule = Schedule::new("a", 0, 2);
            let mut taken = schedule.throw_aways().to_vec();
            for place in 0..6 {
                let pair = schedule.pair();
                if place == lost {
                    let again = schedule.replacement();
                    assert_eq!((again[0].pair, again[1].pair), (lost + 1, lost + 1));
                    assert_eq!(again[0].side, pair[0].side);
                    assert_ne!(again[0].seed, pair[0].seed);
                    taken.extend(again);
                } else {
                    taken.extend(pair);
                }
            }
            let blocks = letters(&taken[2..]);
            let is_block = |block: &[u8]| block == b"bhhb" || block == b"hbbh";
            assert!(blocks.as_bytes().chunks(4).all(is_block), "{blocks}");
            let before = 2 + 2 * lost as usize;
            assert_eq!(taken[..before], whole[..before]);
            let last = taken.last().map(|launch| launch.pair);
            assert_eq!(last, Some(6), "numbers go on");
        }
    }

    #[test]
    fn both_halves_of_a_pair_share_a_seed_and_pairs_differ() {
        let launches = launches(0, 6, 3);
        let pairs: Vec<&[PlannedLaunch]> = launches[2..].chunks(2).collect();
        for (index, pair) in (0u32..).zip(&pairs) {
            assert_eq!((pair[0].pair, pair[1].pair), (index, index));
            assert_eq!((pair[0].slot, pair[1].slot), (0, 1));
            assert_eq!(pair[0].seed, pair[1].seed);
            assert_ne!(pair[0].side, pair[1].side);
        }
        assert_ne!(pairs[0][0].seed, pairs[1][0].seed);
    }
}
