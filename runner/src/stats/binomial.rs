//! The exact sign test: is a coin that fell so often on one side fair?

/// The two-sided probability that a fair coin, tossed `one + other` times, falls at least as
/// unevenly (Conover 1999, "Practical Nonparametric Statistics", 3.4). 1 without a toss.
pub fn fair_coin(one: u32, other: u32) -> f64 {
    let (few, tosses) = (one.min(other), one.saturating_add(other));
    if one == other {
        return 1.0;
    }
    // In logarithms: 2^-n is 0 in f64 from n = 1075 on.
    let mut ln_choose = 0.0f64;
    let ln_half = f64::from(tosses) * -std::f64::consts::LN_2;
    let mut tail = 0.0;
    for k in 0..=few {
        tail += (ln_choose + ln_half).exp();
        ln_choose += f64::from(tosses - k).ln() - f64::from(k + 1).ln();
    }
    (2.0 * tail).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sums of binomial coefficients over powers of two, by hand.
    #[test]
    fn small_tables_are_exact() {
        for (one, other, expected) in [
            (0, 0, 1.0),
            (1, 1, 1.0),
            (0, 1, 1.0),
            (0, 4, 2.0 / 16.0),
            (0, 5, 2.0 / 32.0),
            (0, 6, 2.0 / 64.0),
            (1, 7, 2.0 * 9.0 / 256.0),
            (1, 8, 2.0 * 10.0 / 512.0),
            (2, 10, 2.0 * 79.0 / 4096.0),
            (3, 4, 1.0),
        ] {
            for (a, b) in [(one, other), (other, one)] {
                let p = fair_coin(a, b);
                assert!((p - expected).abs() < 1e-12, "{a} {b}: {p} {expected}");
            }
        }
    }

    #[test]
    fn many_tosses_neither_vanish_nor_overflow() {
        let p = fair_coin(1000, 1100);
        assert!((0.025..0.04).contains(&p), "{p}");
        assert!(fair_coin(0, 5000) < 1e-300);
    }
}
