//! How many timed runs a launch should have (Kalibera & Jones, ISMM 2013): launching anew costs
//! much and shows what differs between launches, a further run costs little and shows only what
//! differs within one.

use serde::{Deserialize, Serialize};

use super::median;
use super::noise::{median_factor, run_variance};

/// Timed runs of a launch where nothing is known to say better.
pub const DEFAULT_INNER: u32 = 8;

/// The fewest timed runs: the median of fewer has no protection against a single bad one.
pub const MIN_INNER: u32 = 3;

/// The most timed runs. Where launches hardly differ the rule asks for ever more; beyond this a
/// sample's scatter no longer gets smaller by what is worth the time.
pub const MAX_INNER: u32 = 64;

/// The fewest launches from which their scatter is estimated.
pub const LEAST_LAUNCHES: usize = 8;

/// What the rule takes in.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Ingredients {
    /// A launch without its runs, seconds.
    pub launch_s: f64,
    /// One run, seconds.
    pub run_s: f64,
    /// Variance of the runs of one launch, squared percent.
    pub run_variance: f64,
    /// Variance between launches beyond that, squared percent.
    pub launch_variance: f64,
}

/// m = ceil(sqrt((cost of a launch / cost of a run) * (variance of runs / variance of launches))),
/// kept between [`MIN_INNER`] and [`MAX_INNER`]. `None` where an ingredient is no number that
/// the rule can take: no time, or neither runs nor launches that differ.
pub fn inner_runs(of: &Ingredients) -> Option<u32> {
    let all = [of.launch_s, of.run_s, of.run_variance, of.launch_variance];
    if !all.iter().all(|value| value.is_finite() && *value >= 0.0) || of.run_s == 0.0 {
        return None;
    }
    if of.launch_variance == 0.0 {
        return (of.run_variance > 0.0).then_some(MAX_INNER);
    }
    let wanted = ((of.launch_s / of.run_s) * (of.run_variance / of.launch_variance)).sqrt();
    // `as` keeps a number that is too large at the type's largest.
    Some((wanted.ceil() as u32).clamp(MIN_INNER, MAX_INNER))
}

/// What the scatter between launches is taken for where it cannot be told from none: this share of
/// what the runs put into a sample. A variance from some fifty launches has a standard error of a
/// fifth, so that less than this is not to be seen.
const TELLABLE: f64 = 0.25;

/// The variance between launches, and at least what could be told from none.
pub fn at_least(launch_variance: f64, run_variance: f64, runs: u32) -> f64 {
    launch_variance.max(TELLABLE * run_variance * median_factor(runs))
}

/// The variance between a side's launches beyond what their runs explain, squared percent, from
/// the runs' values of launches in the order in which they were made, and at least what could be told
/// from none. `None` for too few.
///
/// Neighbours are compared with one another, so that drift counts little, and the median is taken
/// of the squared differences (.4549 is a chi-square's with one degree of freedom), so that a
/// disturbed launch does not count for many.
pub fn launch_variance(launches: &[Vec<f64>]) -> Option<f64> {
    let usable: Vec<&Vec<f64>> = launches
        .iter()
        .filter(|inner| inner.len() >= 2 && inner.iter().all(|v| v.is_finite() && *v > 0.0))
        .collect();
    if usable.len() < LEAST_LAUNCHES {
        return None;
    }
    let logs: Option<Vec<f64>> = usable
        .iter()
        .map(|inner| Some(100.0 * median(inner)?.ln()))
        .collect();
    let squares: Vec<f64> = logs?
        .windows(2)
        .map(|pair| (pair[1] - pair[0]).powi(2) / 2.0)
        .collect();
    let between = median(&squares)? / CHI_SQUARE_MEDIAN;
    let counts: Vec<f64> = usable.iter().map(|inner| inner.len() as f64).collect();
    let runs = median(&counts)? as u32;
    let single = run_variance(usable.iter().map(|inner| inner.as_slice()))?;
    Some(at_least(
        between - single * median_factor(runs),
        single,
        runs,
    ))
}

/// The median of a chi-square variable with one degree of freedom.
const CHI_SQUARE_MEDIAN: f64 = 0.4549;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::simulate::Random;

    const USUAL: Ingredients = Ingredients {
        launch_s: 8.0,
        run_s: 0.5,
        run_variance: 0.36,
        launch_variance: 0.09,
    };

    #[test]
    fn the_rule_by_hand() {
        // sqrt(16 * 4) = 8; a little more of anything asks for one more.
        assert_eq!(inner_runs(&USUAL), Some(8));
        let dearer = Ingredients {
            launch_s: 8.1,
            ..USUAL
        };
        assert_eq!(inner_runs(&dearer), Some(9));
    }

    #[test]
    fn bounds_and_what_is_no_ingredient() {
        let with = |change: fn(&mut Ingredients)| {
            let mut of = USUAL;
            change(&mut of);
            inner_runs(&of)
        };
        assert_eq!(with(|of| of.launch_s = 0.0), Some(MIN_INNER));
        assert_eq!(with(|of| of.run_variance = 0.0), Some(MIN_INNER));
        assert_eq!(with(|of| of.launch_variance = 0.0), Some(MAX_INNER));
        assert_eq!(with(|of| of.launch_variance = 1e-300), Some(MAX_INNER));
        assert_eq!(with(|of| of.run_s = 0.0), None);
        assert_eq!(with(|of| of.run_variance = f64::NAN), None);
        assert_eq!(with(|of| of.launch_s = -1.0), None);
        let constant = |of: &mut Ingredients| (of.run_variance, of.launch_variance) = (0.0, 0.0);
        assert_eq!(with(constant), None);
    }

    #[test]
    fn the_scatter_between_launches_is_recovered() {
        let mut found: Vec<f64> = (0..60)
            .map(|stream| {
                let mut random = Random::new(31, stream);
                let launches: Vec<Vec<f64>> = (0..40)
                    .map(|_| {
                        let offset = 0.3 * random.normal();
                        let run = |_| ((offset + 0.4 * random.normal()) / 100.0).exp();
                        (0..8).map(run).collect()
                    })
                    .collect();
                launch_variance(&launches).expect("launches").sqrt()
            })
            .collect();
        found.sort_unstable_by(f64::total_cmp);
        assert!((found[30] - 0.3).abs() < 0.04, "{}", found[30]);
        assert!(
            found[3] > 0.14 && found[56] < 0.45,
            "{} {}",
            found[3],
            found[56]
        );
    }

    #[test]
    fn too_few_launches_and_launches_without_runs_say_nothing() {
        let launches = vec![vec![1.0, 1.1, 1.2]; LEAST_LAUNCHES - 1];
        assert_eq!(launch_variance(&launches), None);
        assert_eq!(launch_variance(&vec![vec![1.0]; 20]), None);
        assert_eq!(launch_variance(&vec![vec![1.0, 1.0]; 20]), Some(0.0));
    }
}
