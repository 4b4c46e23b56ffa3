//! The order in which the two sides are launched.
//!
//! For each bench: one throw-away launch of each side, then pairs. A block of two pairs is ABBA
//! or BAAB by a seeded coin, so that neither side profits from drift or from the slot; an odd
//! last pair's order is tossed for itself. One bench after another.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};

use crate::config::{Bench, Protocol};
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
}

/// Plans every launch of a run. The same seed gives the same plan, and a bench's order does not
/// depend on the benches after it: each draws from a stream of its own.
pub fn plan(benches: &[Bench], protocol: Protocol, seed: u64) -> Vec<PlannedLaunch> {
    let mut launches = Vec::new();
    for (stream, bench) in (0u64..).zip(benches) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(stream);
        plan_bench(&bench.name, protocol.pairs(), &mut rng, &mut launches);
    }
    launches
}

fn plan_bench(name: &str, pairs: u32, rng: &mut ChaCha8Rng, launches: &mut Vec<PlannedLaunch>) {
    let launch = |side, role, pair, slot, seed| PlannedLaunch {
        bench: name.to_owned(),
        side,
        role,
        pair,
        slot,
        seed,
    };
    let warm_up = u64::from(rng.next_u32());
    for (index, side) in (0u32..).zip(Side::BOTH) {
        launches.push(launch(side, SampleRole::ThrowAway, index, 0, warm_up));
    }
    let mut first = Side::Base;
    for pair in 0..pairs {
        if pair % 2 == 0 {
            let heads_up = rng.next_u32() & 1 == 1;
            first = if heads_up { Side::Head } else { Side::Base };
        } else {
            first = first.other();
        }
        let seed = u64::from(rng.next_u32());
        launches.push(launch(first, SampleRole::Pair, pair, 0, seed));
        launches.push(launch(first.other(), SampleRole::Pair, pair, 1, seed));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::config::{CommandLine, Probe};
    use crate::model::Better;

    fn bench(name: &str) -> Bench {
        Bench {
            name: name.to_owned(),
            probe: Probe::Command(CommandLine::Shell("true".to_owned())),
            value: None,
            unit: "s".to_owned(),
            better: Better::Lower,
            bar: None,
            env: BTreeMap::new(),
            timeout_s: 1,
            warmup: 0,
            inner: 1,
        }
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
        let order = |seed| letters(&plan(&[bench("a")], Protocol::Pairs(5), seed));
        assert_eq!(order(1), "BHbhhbhbbhbh");
        assert_eq!(order(2), "BHhbbhhbbhbh");
        assert_eq!(order(22), "BHbhhbbhhbhb");
    }

    #[test]
    fn blocks_are_abba_or_baab_and_both_occur() {
        let launches = plan(&[bench("a")], Protocol::Samples(45), 7);
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
    fn benches_follow_one_another_and_keep_their_order_when_one_is_added() {
        let one = plan(&[bench("a")], Protocol::Pairs(4), 9);
        let two = plan(&[bench("a"), bench("b")], Protocol::Pairs(4), 9);
        assert_eq!(one.as_slice(), &two[..one.len()]);
        assert!(two[one.len()..].iter().all(|l| l.bench == "b"));
        assert_eq!(two.len(), 2 * (2 + 8));
    }

    #[test]
    fn both_halves_of_a_pair_share_a_seed_and_pairs_differ() {
        let launches = plan(&[bench("a")], Protocol::Pairs(6), 3);
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
