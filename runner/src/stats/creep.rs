//! Slow drift within one level of a series, which no single step shows: a two-sided CUSUM (Page
//! 1954) on the deviations from where the segment began. Pure.

use super::change_points::ChangePoint;
use super::effect::median;
use super::student::mean;

/// The values whose median is where a segment began; only what comes after them can be creep.
pub const REFERENCE: usize = 20;

/// Deviations beyond so many sigmas count as so many: one outlier alone never alarms.
pub const CLIP: f64 = 3.0;

/// What a deviation has to exceed to add to the sum, sigmas.
pub const SLACK: f64 = 0.75;

/// The sum at which the alarm is raised, sigmas.
pub const ALARM: f64 = 6.0;

/// The least sigma, percent: in a series that is the same number almost always, less is no creep.
pub const LEAST_SIGMA: f64 = 0.01;

/// Turns the mean of neighbours' absolute differences (the moving range of control charts) into
/// the sd of one normal value: sqrt(pi) / 2.
const DIFFERENCE_TO_SIGMA: f64 = 0.886_226_925_452_758;

/// A creep.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Creep {
    /// The index of the segment's first value.
    pub segment: usize,
    /// The index of the value from which the sum grew: about where the creep began.
    pub from: usize,
    /// The index of the value at which the alarm was raised.
    pub at: usize,
    /// The median of the segment's first [`REFERENCE`] values.
    pub reference: f64,
    /// How far the median of the segment's last values (those since `at`, or the five up to it
    /// where there are fewer) is from the reference; positive: upwards.
    pub moved: f64,
    /// The sd of one value that deviations were measured in.
    pub sigma: f64,
}

/// How many values tell how far it went.
const LAST: usize = 5;

/// The first creep in each segment between change points, in order.
///
/// A value that is not finite is left out, and indexes are those of the whole series. Segments
/// of up to [`REFERENCE`] values have none.
pub fn creeps(series: &[f64], points: &[ChangePoint]) -> Vec<Creep> {
    let starts: Vec<usize> = [0]
        .into_iter()
        .chain(points.iter().map(|point| point.at))
        .collect();
    let ends = starts.iter().skip(1).copied().chain([series.len()]);
    starts
        .iter()
        .zip(ends)
        .filter_map(|(&start, end)| creep(start, series.get(start..end)?))
        .collect()
}

fn creep(start: usize, segment: &[f64]) -> Option<Creep> {
    let known: Vec<(usize, f64)> = segment
        .iter()
        .enumerate()
        .filter(|(_, value)| value.is_finite())
        .map(|(index, value)| (start + index, *value))
        .collect();
    let values: Vec<f64> = known.iter().map(|(_, value)| *value).collect();
    let reference = median(values.get(..REFERENCE)?)?;
    let sigma = sigma(&values)?;
    let later = || known.iter().enumerate().skip(REFERENCE);
    let mut sums = [Sum::default(), Sum::default()];
    for (position, (_, value)) in later() {
        let deviation = ((value - reference) / sigma).clamp(-CLIP, CLIP);
        for (sum, signed) in sums.iter_mut().zip([deviation, -deviation]) {
            if sum.add(signed, position) {
                let since = position.min(values.len().saturating_sub(LAST));
                return Some(Creep {
                    segment: start,
                    from: known[sum.from].0,
                    at: known[position].0,
                    reference,
                    moved: median(&values[since..])? - reference,
                    sigma,
                });
            }
        }
    }
    None
}

/// One side's sum.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    sum: f64,
    from: usize,
}

impl Sum {
    /// Adds a deviation; `true` where the alarm is raised.
    fn add(&mut self, deviation: f64, position: usize) -> bool {
        if self.sum == 0.0 {
            self.from = position;
        }
        self.sum = (self.sum + deviation - SLACK).max(0.0);
        self.sum > ALARM
    }
}

/// The sd of one value, from the differences of neighbours, which a creep hardly moves. `None` of
/// fewer than two values.
fn sigma(values: &[f64]) -> Option<f64> {
    let differences: Vec<f64> = values.windows(2).map(|w| (w[1] - w[0]).abs()).collect();
    Some((DIFFERENCE_TO_SIGMA * mean(&differences)?).max(LEAST_SIGMA))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::simulate::Random;

    /// Neighbours differ by 2 nineteen times, by 4 once and by 0 five times: 42/25 on average, so
    /// sigma is 1.68 * 0.8862 = 1.4889; the reference is 0 (median of -1 and 1). 5 is 3.36 sigmas
    /// from it, clipped to 3, and adds 2.25 each time: 2.25, 4.5, 6.75 > 6.
    #[test]
    fn the_sum_by_hand() {
        let mut series = swinging(1.0, 20);
        series.extend([5.0; 6]);
        let found = creeps(&series, &[]);
        assert_eq!(found.len(), 1);
        let creep = found[0];
        assert_eq!((creep.segment, creep.from, creep.at), (0, 20, 22));
        assert_eq!((creep.reference, creep.moved), (0.0, 5.0));
        assert!((creep.sigma - 1.488_861_2).abs() < 1e-6, "{}", creep.sigma);
        let down: Vec<f64> = series.iter().map(|value| -value).collect();
        assert_eq!(creeps(&down, &[])[0].at, 22);
        assert_eq!(creeps(&down, &[])[0].moved, -5.0);
    }

    /// -swing, +swing, and so on.
    fn swinging(swing: f64, count: i32) -> Vec<f64> {
        (0..count)
            .map(|i| if i % 2 == 0 { -swing } else { swing })
            .collect()
    }

    #[test]
    fn outliers_are_clipped() {
        let mut series = swinging(0.1, 40);
        series[30] = 5.0;
        series[31] = 5.0;
        assert_eq!(creeps(&series, &[]), [], "2 times 2.25 is 4.5");
        series[32] = 5.0;
        assert_eq!(creeps(&series, &[])[0].at, 32, "3 times 2.25 is 6.75");
    }

    #[test]
    fn constant_short_and_missing_values_are_defined() {
        assert_eq!(creeps(&[], &[]), []);
        assert_eq!(creeps(&[1.0; 20], &[]), []);
        assert_eq!(creeps(&[1.0; 300], &[]), []);
        assert_eq!(creeps(&[f64::NAN; 60], &[]), []);
        let mut series = vec![1.0; 40];
        series.extend([1.02; 4]);
        // 2 of the least sigmas add 1.25 each: 6.25 with the fifth.
        assert_eq!(creeps(&series, &[]), []);
        series.push(1.02);
        series.insert(7, f64::NAN);
        let found = creeps(&series, &[]);
        assert_eq!((found[0].from, found[0].at), (41, 45));
        let short: Vec<f64> = (0..20).map(f64::from).collect();
        assert_eq!(creeps(&short, &[]), [], "no more than the reference");
    }

    #[test]
    fn each_segment_has_a_reference_of_its_own() {
        let mut random = Random::new(22, 0);
        let mut series: Vec<f64> = (0..60).map(|_| 0.1 * random.normal()).collect();
        series.extend((0..30).map(|_| 5.0 + 0.1 * random.normal()));
        series.extend((0..20).map(|i| 5.0 + 0.1 * f64::from(i) + 0.1 * random.normal()));
        let step = ChangePoint {
            at: 60,
            before: 0.0,
            after: 5.0,
            p: 0.0,
        };
        assert_eq!(creeps(&series, &[step]).len(), 1);
        let creep = creeps(&series, &[step])[0];
        assert_eq!(creep.segment, 60);
        assert!((90..100).contains(&creep.at), "{creep:?}");
        assert!(creep.moved > 1.0);
    }
}
