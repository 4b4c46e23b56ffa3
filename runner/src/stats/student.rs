//! Student's t distribution for whole degrees of freedom, and the test of two means on it.

/// The probability of a |t| at least this large under the null, by the finite sums of Abramowitz
/// & Stegun 26.7.3 and 26.7.4. Without degrees of freedom nothing can be said: 1.
pub fn two_sided(t: f64, freedom: usize) -> f64 {
    if freedom == 0 || t.is_nan() {
        return 1.0;
    }
    let angle = (t.abs() / (freedom as f64).sqrt()).atan();
    let (sine, cosine) = angle.sin_cos();
    // Each term is the one before times cos^2 and a ratio of neighbouring whole numbers.
    let sum = |first: f64, from: usize| {
        let mut term = first;
        let mut sum = term;
        for k in (from..freedom - 1).step_by(2) {
            term *= cosine * cosine * k as f64 / (k + 1) as f64;
            sum += term;
        }
        sum
    };
    let inside = match (freedom, freedom % 2) {
        (1, _) => angle * std::f64::consts::FRAC_2_PI,
        (_, 1) => (angle + sine * sum(cosine, 2)) * std::f64::consts::FRAC_2_PI,
        _ => sine * sum(1.0, 1),
    };
    (1.0 - inside).clamp(0.0, 1.0)
}

/// The mean; `None` of nothing.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The two-sided p-value of the t-test for two means with one variance.
///
/// With fewer than three values in all, or none on a side, it is 1. Two constant sides differ for
/// certain (0) or not at all (1).
pub fn difference_of_means(left: &[f64], right: &[f64]) -> f64 {
    let (Some(a), Some(b)) = (mean(left), mean(right)) else {
        return 1.0;
    };
    if left.len() + right.len() < 3 {
        return 1.0;
    }
    let freedom = left.len() + right.len() - 2;
    let squares = |values: &[f64], mean: f64| -> f64 {
        values.iter().map(|value| (value - mean).powi(2)).sum()
    };
    let variance = (squares(left, a) + squares(right, b)) / freedom as f64;
    let error = variance * (1.0 / left.len() as f64 + 1.0 / right.len() as f64);
    match (a - b, error > 0.0) {
        (difference, true) => two_sided(difference / error.sqrt(), freedom),
        (0.0, false) => 1.0,
        (_, false) => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Quantiles as every table of the t distribution prints them.
    #[test]
    fn p_values_are_those_of_the_published_table() {
        for (t, freedom, p, within) in [
            (12.706, 1, 0.05, 1e-5),
            (63.657, 1, 0.01, 1e-6),
            (4.303, 2, 0.05, 2e-5),
            (9.925, 2, 0.01, 1e-6),
            (3.182, 3, 0.05, 3e-5),
            (2.571, 5, 0.05, 3e-5),
            (2.228, 10, 0.05, 3e-5),
            (4.587, 10, 0.001, 1e-6),
            (2.093, 19, 0.05, 5e-5),
            (2.750, 30, 0.01, 1e-5),
            (3.390, 100, 0.001, 2e-6),
        ] {
            let found = two_sided(t, freedom);
            assert!((found - p).abs() < within, "{t} {freedom}: {found}");
            assert_eq!(two_sided(-t, freedom), found);
        }
    }

    #[test]
    fn ends_are_defined() {
        assert_eq!(two_sided(0.0, 7), 1.0);
        assert!(two_sided(f64::INFINITY, 4) < 1e-12);
        assert_eq!(two_sided(2.0, 0), 1.0);
        assert_eq!(two_sided(f64::NAN, 4), 1.0);
    }

    /// By hand: means 2 and 5, squares 2 and 2, variance 1, error 2/3, t = 3.674 on 4: p = .0213.
    #[test]
    fn a_test_worked_by_hand() {
        let p = difference_of_means(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]);
        assert!((p - 0.021_311_64).abs() < 1e-7, "{p}");
    }

    #[test]
    fn constant_and_short_sides() {
        assert_eq!(difference_of_means(&[1.0, 1.0], &[1.0, 1.0]), 1.0);
        assert_eq!(difference_of_means(&[1.0, 1.0], &[2.0, 2.0]), 0.0);
        assert_eq!(difference_of_means(&[1.0], &[2.0]), 1.0);
        assert_eq!(difference_of_means(&[], &[2.0, 3.0, 4.0]), 1.0);
    }
}
