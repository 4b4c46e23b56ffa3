//! The effect over a set of pairs: the Hodges-Lehmann estimate with its exact interval.

use crate::model::{Better, Effect};

use super::signed_rank::{coverage, k_for};

/// One pair's effect in percent: by how much head does more in the same time. 100 -> 122 tok/s is
/// +22 %, 122 -> 100 us is +22 % as well; positive is better whichever way the unit counts.
pub fn pair_effect(base: f64, head: f64, better: Better) -> f64 {
    percent(log_ratio(base, head, better))
}

/// One pair's effect in d units: 100 times the logarithm of the ratio, positive where head is
/// better.
pub fn log_effect(base: f64, head: f64, better: Better) -> f64 {
    100.0 * log_ratio(base, head, better)
}

/// An effect in d units as percent of base's speed.
pub fn percent_of_log(d: f64) -> f64 {
    percent(d / 100.0)
}

/// The logarithm of the ratio, positive where head is better. Statistics are taken on it: it is
/// symmetric (a gain and its loss cancel), and percent is a monotone function of it, so that
/// ranks, estimate and interval carry over.
fn log_ratio(base: f64, head: f64, better: Better) -> f64 {
    match better {
        Better::Higher => (head / base).ln(),
        Better::Lower => (base / head).ln(),
    }
}

/// A logarithm of a ratio as percent, to a billionth: 100 -> 120 is exactly 20 %, and the rounding
/// of the arithmetic never decides at a bar.
fn percent(log: f64) -> f64 {
    (100.0 * log.exp_m1() * 1e9).round() / 1e9
}

/// The n(n+1)/2 averages of every two values, each value with itself included, ascending.
pub fn walsh_averages(values: &[f64]) -> Vec<f64> {
    let mut averages = Vec::with_capacity(values.len() * (values.len() + 1) / 2);
    for (i, a) in values.iter().enumerate() {
        averages.extend(values[i..].iter().map(|b| f64::midpoint(*a, *b)));
    }
    averages.sort_unstable_by(f64::total_cmp);
    averages
}

/// The Hodges-Lehmann estimate: the median of sorted Walsh averages; `None` without any.
pub fn hodges_lehmann(walsh: &[f64]) -> Option<f64> {
    middle(walsh)
}

/// The median; `None` of nothing.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    middle(&sorted)
}

fn middle(sorted: &[f64]) -> Option<f64> {
    let half = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[half]),
        _ => Some(f64::midpoint(sorted[half - 1], sorted[half])),
    }
}

/// The effect over pairs of (base, head) values.
///
/// The interval is the narrowest whose exact coverage is at least `confidence` (in 0..1); where
/// there are too few pairs for that, the widest there is, with its true coverage: 75 % for three
/// pairs, 93.75 % for five. `None` without pairs, or where a value is not finite and positive:
/// such a value is a missing measurement and must not get here.
pub fn effect(pairs: &[(f64, f64)], better: Better, confidence: f64) -> Option<Effect> {
    let usable = |v: f64| v.is_finite() && v > 0.0;
    if !pairs
        .iter()
        .all(|(base, head)| usable(*base) && usable(*head))
    {
        return None;
    }
    let effects: Vec<f64> = pairs
        .iter()
        .map(|(base, head)| log_ratio(*base, *head, better))
        .collect();
    let walsh = walsh_averages(&effects);
    let estimate = hodges_lehmann(&walsh)?;
    let k = k_for(pairs.len(), (1.0 - confidence) / 2.0).unwrap_or(0);
    Some(Effect {
        estimate: percent(estimate),
        low: percent(walsh[k]),
        high: percent(walsh[walsh.len() - 1 - k]),
        coverage: coverage(pairs.len(), k),
        min: percent(effects.iter().copied().fold(f64::INFINITY, f64::min)),
        max: percent(effects.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
    })
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{Rng, SeedableRng};

    use super::*;
    use crate::stats::{CONFIDENCE, tail};

    fn from_effects(percent: &[f64]) -> Vec<(f64, f64)> {
        percent.iter().map(|d| (100.0, 100.0 + d)).collect()
    }

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-9, "{a} against {b}");
    }

    #[test]
    fn walsh_averages_and_estimate_by_hand() {
        let walsh = walsh_averages(&[3.0, 1.0, 8.0]);
        assert_eq!(walsh, [1.0, 2.0, 3.0, 4.5, 5.5, 8.0]);
        assert_eq!(hodges_lehmann(&walsh), Some(3.75));
        assert_eq!(hodges_lehmann(&[]), None);
    }

    #[test]
    fn three_pairs_give_their_range_at_75_percent() {
        let e = effect(&from_effects(&[1.0, 2.0, 0.5]), Better::Higher, CONFIDENCE)
            .expect("three pairs");
        close(e.low, 0.5);
        close(e.high, 2.0);
        close(e.min, 0.5);
        close(e.max, 2.0);
        // The median of the pairs' averages, taken on logarithms: (0.5 + 2.0) / 2 and 1.0, halved.
        assert!((e.estimate - 1.125).abs() < 0.01, "{}", e.estimate);
        assert_eq!(e.coverage, 0.75);
    }

    #[test]
    fn five_pairs_cover_93_75_percent_and_six_go_over_95() {
        let five = from_effects(&[1.0, 2.0, 0.5, 1.5, 1.1]);
        let e = effect(&five, Better::Higher, CONFIDENCE).expect("five pairs");
        assert_eq!(e.coverage, 0.9375);
        let six = from_effects(&[1.0, 2.0, 0.5, 1.5, 1.1, 1.2]);
        let e = effect(&six, Better::Higher, CONFIDENCE).expect("six pairs");
        assert_eq!(e.coverage, 0.96875);
        close(e.low, 0.5);
    }

    #[test]
    fn forty_five_pairs_use_the_narrowest_interval_over_95_percent() {
        let values: Vec<f64> = (0..45).map(f64::from).collect();
        let e = effect(&from_effects(&values), Better::Higher, CONFIDENCE).expect("45 pairs");
        assert!(e.coverage >= 0.95 && e.coverage < 0.952, "{}", e.coverage);
        let k = k_for(45, 0.025).expect("k");
        assert!(tail(45, k + 1) > 0.025);
        assert!(e.low > 15.0 && e.high < 29.0, "{e:?}");
    }

    #[test]
    fn lower_is_better_flips_every_sign() {
        let pairs = [(10.0, 9.0), (10.0, 9.5), (10.0, 9.2)];
        let lower = effect(&pairs, Better::Lower, CONFIDENCE).expect("pairs");
        let higher = effect(&pairs, Better::Higher, CONFIDENCE).expect("pairs");
        assert!(lower.low > 0.0);
        // What is a gain one way is the loss that cancels it the other way.
        let cancels = |a: f64, b: f64| close((1.0 + a / 100.0) * (1.0 + b / 100.0), 1.0);
        cancels(lower.estimate, higher.estimate);
        cancels(lower.low, higher.high);
        cancels(lower.min, higher.max);
    }

    #[test]
    fn percent_is_percent_of_bases_speed() {
        for (base, head, better, expected) in [
            (100.0, 122.0, Better::Higher, 22.0),
            (122.0, 100.0, Better::Lower, 22.0),
            (100.0, 50.0, Better::Higher, -50.0),
            (100.0, 120.0, Better::Higher, 20.0),
            (100.0, 101.5, Better::Higher, 1.5),
        ] {
            assert_eq!(pair_effect(base, head, better), expected, "{base} {head}");
            let e = effect(&[(base, head); 6], better, CONFIDENCE).expect("pairs");
            assert_eq!((e.low, e.estimate, e.high), (expected, expected, expected));
        }
    }

    #[test]
    fn logarithms_and_percent_are_two_ways_to_say_it() {
        for (base, head, better, expected) in [
            (100.0, 101.5, Better::Higher, 1.5),
            (122.0, 100.0, Better::Lower, 22.0),
            (100.0, 50.0, Better::Higher, -50.0),
        ] {
            assert_eq!(percent_of_log(log_effect(base, head, better)), expected);
        }
        let there = log_effect(100.0, 130.0, Better::Higher);
        close(there, -log_effect(100.0, 130.0, Better::Lower));
    }

    #[test]
    fn no_pairs_and_impossible_values_give_no_effect() {
        assert!(effect(&[], Better::Higher, CONFIDENCE).is_none());
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(effect(&[(1.0, bad)], Better::Higher, CONFIDENCE).is_none());
            assert!(effect(&[(bad, 1.0)], Better::Higher, CONFIDENCE).is_none());
        }
    }

    /// A uniform number in [-1, 1): symmetric, which is all that the exact null asks for.
    fn symmetric(rng: &mut ChaCha8Rng) -> f64 {
        f64::from(rng.next_u32()) / f64::from(1u32 << 31) - 1.0
    }

    #[test]
    fn intervals_cover_the_truth_as_often_as_they_say() {
        let mut rng = ChaCha8Rng::seed_from_u64(20_131);
        for n in [3usize, 5, 8, 20] {
            let trials = 4_000;
            let mut covered = 0;
            let mut stated = 0.0;
            for _ in 0..trials {
                let truth = 1.5;
                let values: Vec<f64> = (0..n).map(|_| truth + symmetric(&mut rng)).collect();
                let e = effect(&from_effects(&values), Better::Higher, CONFIDENCE).expect("pairs");
                covered += u32::from(e.low <= truth && truth <= e.high);
                stated = e.coverage;
            }
            let share = f64::from(covered) / f64::from(trials);
            let sd = (stated * (1.0 - stated) / f64::from(trials)).sqrt();
            assert!(
                (share - stated).abs() < 3.5 * sd,
                "n = {n}: covered {share}, stated {stated}"
            );
        }
    }

    /// The one-sided error of `k_alpha` over all looks of the sequential protocol is .0098.
    #[test]
    fn the_looks_together_spend_their_alpha() {
        let mut rng = ChaCha8Rng::seed_from_u64(44);
        let looks = [(10usize, 2usize), (16, 17), (26, 70), (44, 265)];
        let trials = 6_000;
        let mut crossed = 0;
        for _ in 0..trials {
            let values: Vec<f64> = (0..44).map(|_| symmetric(&mut rng)).collect();
            crossed += u32::from(looks.iter().any(|(n, k)| {
                let walsh = walsh_averages(&values[..*n]);
                walsh[*k] > 0.0
            }));
        }
        let share = f64::from(crossed) / f64::from(trials);
        assert!((share - 0.0098).abs() < 0.004, "crossed {share}");
    }
}
