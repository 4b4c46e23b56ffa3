//! The exact null distribution of Wilcoxon's signed-rank statistic.
//!
//! Under the null each of the ranks 1..n carries a plus or a minus with probability one half, so
//! the statistic is a subset sum of 1..n (Wilcoxon 1945). Adding one rank halves and shifts the
//! distribution; halving is exact in binary floating point, so the probabilities are exact while
//! the counts fit 53 bits (n <= 53) and correctly rounded sums beyond.

/// Probability of each value 0..=n(n+1)/2 of the signed-rank statistic under the null.
pub fn null_distribution(n: usize) -> Vec<f64> {
    let mut probability = vec![1.0];
    for rank in 1..=n {
        let mut next = vec![0.0; probability.len() + rank];
        for (sum, p) in probability.iter().enumerate() {
            next[sum] += 0.5 * p;
            next[sum + rank] += 0.5 * p;
        }
        probability = next;
    }
    probability
}

/// P(W <= k) for n pairs: the one-sided error of an interval that begins at order statistic `k`.
pub fn tail(n: usize, k: usize) -> f64 {
    null_distribution(n).iter().take(k + 1).sum()
}

/// Two-sided coverage of `[w[k], w[M-1-k]]` over the M = n(n+1)/2 sorted Walsh averages; 0 where
/// the two ends would cross.
pub fn coverage(n: usize, k: usize) -> f64 {
    if 2 * k >= n * (n + 1) / 2 {
        return 0.0;
    }
    (1.0 - 2.0 * tail(n, k)).max(0.0)
}

/// The largest order statistic `k` (from 0) for which the interval's one-sided error is at most
/// `alpha`, that is the narrowest interval allowed; `None` where even the widest has more.
pub fn k_for(n: usize, alpha: f64) -> Option<usize> {
    let distribution = null_distribution(n);
    let ends_meet = distribution.len().saturating_sub(2) / 2;
    let mut cumulative = 0.0;
    let mut best = None;
    for (k, p) in distribution.iter().enumerate().take(ends_meet + 1) {
        cumulative += p;
        if n == 0 || cumulative > alpha {
            break;
        }
        best = Some(k);
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts subset sums of 1..n one subset at a time.
    fn by_enumeration(n: usize) -> Vec<f64> {
        let mut counts = vec![0u32; n * (n + 1) / 2 + 1];
        for subset in 0u32..1 << n {
            let sum: usize = (1..=n).filter(|rank| subset >> (rank - 1) & 1 == 1).sum();
            counts[sum] += 1;
        }
        let all = f64::from(1u32 << n);
        counts.into_iter().map(|c| f64::from(c) / all).collect()
    }

    #[test]
    fn equals_brute_force_enumeration() {
        for n in 0..=12 {
            assert_eq!(null_distribution(n), by_enumeration(n), "n = {n}");
        }
    }

    #[test]
    fn sums_to_one_and_is_symmetric() {
        for n in [1, 2, 13, 45, 200] {
            let p = null_distribution(n);
            assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-12, "n = {n}");
            let mirrored: Vec<f64> = p.iter().rev().copied().collect();
            for (a, b) in p.iter().zip(&mirrored) {
                assert!((a - b).abs() <= 1e-15 * a.max(*b).max(1e-300), "n = {n}");
            }
        }
    }

    /// Critical values of the signed-rank test as printed in tables (reject when W <= T):
    /// two-sided 5 % and 1 %.
    #[test]
    fn agrees_with_tabulated_critical_values() {
        let table = [
            (6, Some(0), None),
            (7, Some(2), None),
            (8, Some(3), Some(0)),
            (9, Some(5), Some(1)),
            (10, Some(8), Some(3)),
            (15, Some(25), Some(15)),
            (20, Some(52), Some(37)),
            (25, Some(89), Some(68)),
            (30, Some(137), Some(109)),
        ];
        for (n, five, one) in table {
            assert_eq!(k_for(n, 0.025), five, "n = {n}, 5 %");
            assert_eq!(k_for(n, 0.005), one, "n = {n}, 1 %");
        }
        assert_eq!(k_for(5, 0.025), None);
    }

    /// The order statistics of the measurement protocol. `k_10` is one-sided 10 %; `k_alpha`
    /// spends the same one-sided .0033 at each look, which makes .0098 in all.
    #[test]
    fn agrees_with_the_protocols_looks() {
        let looks = [
            (6, None, 3),
            (10, Some(2), 14),
            (16, Some(17), 42),
            (26, Some(70), 124),
            (44, Some(265), 384),
        ];
        for (n, k_alpha, k_10) in looks {
            assert_eq!(k_for(n, 0.0033), k_alpha, "k_alpha at n = {n}");
            assert_eq!(k_for(n, 0.10), Some(k_10), "k_10 at n = {n}");
        }
    }

    #[test]
    fn coverage_of_the_small_protocols() {
        assert_eq!(coverage(1, 0), 0.0);
        assert_eq!(coverage(2, 0), 0.5);
        assert_eq!(coverage(3, 0), 0.75);
        assert_eq!(coverage(5, 0), 0.9375);
        assert_eq!(coverage(6, 0), 0.96875);
        assert_eq!(coverage(3, 3), 0.0, "the ends cross");
        assert_eq!(coverage(0, 0), 0.0);
    }
}
