//! Where the level of a series changes: E-divisive (Matteson & James 2014) with the t-test of
//! Hunter (Fleming et al., ICPE 2023) in place of permutations.
//!
//! A split is proposed where the energy statistic between both sides is largest, and kept where a
//! t-test between the neighbouring segments is significant. A first pass over overlapping windows
//! keeps weak splits too; then the weakest is taken out, its neighbours are tested anew, and so
//! on until every split that is left is significant and large enough. Weak splits in the first
//! pass keep a long series from hiding a short segment in the middle. Pure and without chance:
//! the same series gives the same splits.

use super::student::{difference_of_means, mean};

/// How splits are found and kept.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// The values that are looked at together; windows overlap by half.
    pub window: usize,
    /// The largest p-value of a split that is kept.
    pub p: f64,
    /// The largest p-value of a split in the first pass.
    pub p_weak: f64,
    /// The smallest change of the level that is kept, in the series' unit (percent).
    pub least: f64,
}

/// What the measurement protocol says.
pub const SETTINGS: Settings = Settings {
    window: 50,
    p: 0.001,
    p_weak: 0.01,
    least: 0.3,
};

/// The fewest values on a side of a split.
const LEAST_SIDE: usize = 2;

/// A change of the level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangePoint {
    /// The index of the first value at the new level.
    pub at: usize,
    /// The mean of the segment before it.
    pub before: f64,
    /// The mean of the segment that begins with it.
    pub after: f64,
    /// The p-value of the t-test between both.
    pub p: f64,
}

impl ChangePoint {
    /// By how much the level changes; positive: upwards.
    pub fn change(&self) -> f64 {
        self.after - self.before
    }
}

/// The change points of a series, in order.
///
/// A value that is not finite is a missing measurement: it is left out, and indexes are those of
/// the whole series. A constant series has none, and neither has one of fewer than four values.
pub fn change_points(series: &[f64], settings: &Settings) -> Vec<ChangePoint> {
    let known: Vec<(usize, f64)> = series
        .iter()
        .copied()
        .enumerate()
        .filter(|(_, value)| value.is_finite())
        .collect();
    let values: Vec<f64> = known.iter().map(|(_, value)| *value).collect();
    let weak = first_pass(&values, settings);
    let mut kept = merged(&values, weak, settings);
    for point in &mut kept {
        point.at = known[point.at].0;
    }
    kept
}

/// Weak splits, found window by window.
fn first_pass(values: &[f64], settings: &Settings) -> Vec<usize> {
    let step = (settings.window / 2).max(1);
    let mut found: Vec<usize> = Vec::new();
    let mut start = 0;
    while start < values.len() {
        let end = values
            .len()
            .min(start + settings.window.max(2 * LEAST_SIDE));
        let own = divisive(&values[start..end], settings.p_weak);
        let own: Vec<usize> = own.into_iter().map(|at| at + start).collect();
        // The next window begins at the last split, so that it sees one whole segment.
        let last = own.last().copied().unwrap_or(0);
        found.extend(own);
        if end == values.len() {
            break;
        }
        start = last.max(start + step);
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Splits the segment with the largest statistic, again and again, while the split is significant
/// against its neighbouring segments.
fn divisive(values: &[f64], p_weak: f64) -> Vec<usize> {
    let mut splits: Vec<usize> = Vec::new();
    loop {
        let ends: Vec<usize> = [0]
            .into_iter()
            .chain(splits.iter().copied())
            .chain([values.len()])
            .collect();
        let best = ends
            .windows(2)
            .filter_map(|ends| {
                let (at, energy) = best_split(&values[ends[0]..ends[1]])?;
                Some((ends[0] + at, energy, ends[0], ends[1]))
            })
            .max_by(|a, b| a.1.total_cmp(&b.1));
        let Some((at, _, from, to)) = best else {
            return splits;
        };
        if difference_of_means(&values[from..at], &values[at..to]) >= p_weak {
            return splits;
        }
        splits.push(at);
        splits.sort_unstable();
    }
}

/// The split of a segment with the largest energy statistic
/// `mn/(m+n) (2/(mn) sum |x-y| - 2/(m(m-1)) sum |x-x'| - 2/(n(n-1)) sum |y-y'|)`, and that;
/// `None` where none is above zero.
fn best_split(segment: &[f64]) -> Option<(usize, f64)> {
    let distance = |i: usize, j: usize| (segment[i] - segment[j]).abs();
    let to_all =
        |i: usize, others: std::ops::Range<usize>| -> f64 { others.map(|j| distance(i, j)).sum() };
    let len = segment.len();
    let all: f64 = (0..len).map(|i| to_all(i, 0..i)).sum();
    let (mut left, mut right) = (0.0, all);
    let mut best: Option<(usize, f64)> = None;
    for at in 1..len {
        // The value before the split goes over to the left.
        left += to_all(at - 1, 0..at - 1);
        right -= to_all(at - 1, at..len);
        if at < LEAST_SIDE || len - at < LEAST_SIDE {
            continue;
        }
        let (m, n) = (at as f64, (len - at) as f64);
        let between = 2.0 * (all - left - right) / (m * n);
        let within = 2.0 * left / (m * (m - 1.0)) + 2.0 * right / (n * (n - 1.0));
        let energy = m * n / (m + n) * (between - within);
        if energy > 0.0 && best.is_none_or(|(_, most)| energy > most) {
            best = Some((at, energy));
        }
    }
    best
}

/// Takes out the weakest split until all are significant and large enough.
fn merged(values: &[f64], weak: Vec<usize>, settings: &Settings) -> Vec<ChangePoint> {
    let mut splits = weak;
    loop {
        let points = tested(values, &splits);
        let least_sure = points.iter().max_by(|a, b| a.p.total_cmp(&b.p));
        let smallest = points
            .iter()
            .min_by(|a, b| a.change().abs().total_cmp(&b.change().abs()));
        let out = match (least_sure, smallest) {
            (Some(point), _) if point.p >= settings.p => point.at,
            (_, Some(point)) if point.change().abs() < settings.least => point.at,
            _ => return points,
        };
        splits.retain(|at| *at != out);
    }
}

/// Each split tested against its two neighbouring segments.
fn tested(values: &[f64], splits: &[usize]) -> Vec<ChangePoint> {
    let ends: Vec<usize> = [0]
        .into_iter()
        .chain(splits.iter().copied())
        .chain([values.len()])
        .collect();
    ends.windows(3)
        .filter_map(|ends| {
            let (left, right) = (&values[ends[0]..ends[1]], &values[ends[1]..ends[2]]);
            Some(ChangePoint {
                at: ends[1],
                before: mean(left)?,
                after: mean(right)?,
                p: difference_of_means(left, right),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::simulate::Random;

    fn found(series: &[f64]) -> Vec<usize> {
        let points = change_points(series, &SETTINGS);
        points.iter().map(|point| point.at).collect()
    }

    fn noise(random: &mut Random, level: f64, count: usize) -> Vec<f64> {
        (0..count).map(|_| level + 0.15 * random.normal()).collect()
    }

    /// [0, 0, 3, 3]: between 2*12/4 = 6, within 0, times 2*2/4: 6. And an uneven one: [0, 1, 4] has
    /// no split with two on each side.
    #[test]
    fn the_energy_statistic_by_hand() {
        assert_eq!(best_split(&[0.0, 0.0, 3.0, 3.0]), Some((2, 6.0)));
        assert_eq!(best_split(&[0.0, 1.0, 4.0]), None);
        // Split at 2: between 2*(3+4+5+2+3+4)/6 = 7; within left 2*1/2 = 1, right 2*(1+2+1)/6 = 4/3;
        // times 6/5: 5.6. Split at 3: between 2*(4+5+3+4+1+2)/6 = 19/3; left 2*(1+3+2)/6 = 2, right
        // 2*1/2 = 1; times 6/5: 4.
        let (at, energy) = best_split(&[0.0, 1.0, 3.0, 4.0, 5.0]).expect("a split");
        assert_eq!(at, 2);
        assert!((energy - 5.6).abs() < 1e-12, "{energy}");
    }

    #[test]
    fn a_step_is_found_where_it_is() {
        let series = [
            0.0, 0.1, -0.1, 0.05, 0.0, 0.1, 1.0, 1.1, 0.95, 1.05, 1.0, 0.9,
        ];
        let points = change_points(&series, &SETTINGS);
        assert_eq!(points.len(), 1);
        assert_eq!(points[0].at, 6);
        assert!((points[0].before - 0.025).abs() < 1e-12);
        assert!((points[0].change() - 0.975).abs() < 1e-12);
        assert!(points[0].p < 1e-6);
    }

    #[test]
    fn steps_up_and_down_in_a_long_series() {
        let mut random = Random::new(11, 0);
        let mut series = noise(&mut random, 0.0, 40);
        series.extend(noise(&mut random, 1.0, 45));
        series.extend(noise(&mut random, -1.0, 60));
        assert_eq!(found(&series), [40, 85]);
    }

    #[test]
    fn what_is_significant_but_small_is_merged() {
        let mut random = Random::new(12, 0);
        let mut series: Vec<f64> = (0..60).map(|_| 0.02 * random.normal()).collect();
        series.extend((0..60).map(|_| 0.2 + 0.02 * random.normal()));
        assert_eq!(found(&series), [0; 0]);
        let finer = Settings {
            least: 0.1,
            ..SETTINGS
        };
        let points = change_points(&series, &finer);
        assert_eq!(points.iter().map(|p| p.at).collect::<Vec<_>>(), [60]);
    }

    #[test]
    fn constant_short_and_missing_values_are_defined() {
        assert_eq!(found(&[]), [0; 0]);
        assert_eq!(found(&[1.0]), [0; 0]);
        assert_eq!(found(&[1.0, 9.0, 1.0]), [0; 0]);
        assert_eq!(found(&[2.5; 200]), [0; 0]);
        let mut series = vec![0.0; 10];
        series.extend([5.0; 10]);
        assert_eq!(found(&series), [10], "two constants");
        series.insert(3, f64::NAN);
        series.insert(15, f64::INFINITY);
        assert_eq!(found(&series), [11], "indexes of the whole series");
        assert_eq!(found(&[f64::NAN; 9]), [0; 0]);
    }

    #[test]
    fn ties_are_no_special_case() {
        let series: Vec<f64> = (0..60)
            .map(|i| f64::from(i % 2) * 0.1 + if i < 30 { 0.0 } else { 1.0 })
            .collect();
        assert_eq!(found(&series), [30]);
    }
}
