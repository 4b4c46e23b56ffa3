//! What the sequential protocol can do with a machine's noise: simulated campaigns, a fixed seed.
//!
//! Everything that comes from here is an expectation under a noise profile, never a measurement.

use serde::Serialize;

use super::sequential::{Question, log_percent};
use super::simulate::{Cell, Noise, Tally, tallies, tally};

/// Campaigns to simulate for each figure: the standard error of a share is at most 1.6 %, of a
/// mean number of pairs some .4.
pub const CAMPAIGNS: u32 = 1000;

const SEED: u64 = 2026;

/// The share of runs in which an effect of the bar's size has to be found for a machine to support
/// that bar; 80 % is what studies usually ask of their power (Cohen 1988).
pub const WANTED: f64 = 0.8;

/// Bars that are tried, percent, where a machine does not support the one that was asked for.
const BARS: [f64; 7] = [0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0];

/// What is expected of a bench that a lever is to improve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Forecast {
    /// The effect that is to be found, percent: the bar, or without one the smallest effect worth
    /// having.
    pub effect: f64,
    /// Whether there is a bar.
    pub has_bar: bool,
    /// The share of runs in which a true effect of that size is shown to be real.
    pub found: f64,
    /// The pairs that such a run takes on average.
    pub pairs_at_effect: f64,
    /// The pairs that a run takes on average where there is no effect.
    pub pairs_at_none: f64,
    /// The smallest of a few usual bars that the machine supports, where it does not support this
    /// one, and in what share of runs an effect of its size is found.
    pub supported: Option<(f64, f64)>,
}

impl Forecast {
    /// Whether the machine supports the bar.
    pub fn is_supported(&self) -> bool {
        self.found >= WANTED
    }

    /// Simulates a bench with a bar in percent, or without one. `m0` is the smallest effect worth
    /// having, percent.
    pub fn of(noise: Noise, bar: Option<f64>, m0: f64) -> Forecast {
        let effect = bar.unwrap_or(m0);
        let [at_effect, at_none] = both(noise, bar, effect, m0);
        let found = found(&at_effect);
        let supported = (found < WANTED)
            .then(|| supported(noise, effect, m0))
            .flatten();
        Forecast {
            effect,
            has_bar: bar.is_some(),
            found,
            pairs_at_effect: at_effect.mean_pairs(),
            pairs_at_none: at_none.mean_pairs(),
            supported,
        }
    }
}

/// The pairs that a bench takes on average which only must not get slower, and does not.
pub fn guard_pairs(noise: Noise, m0: f64) -> f64 {
    let cell = cell(noise, Question::Regression, 0.0, m0);
    tally(&cell, CAMPAIGNS, SEED).mean_pairs()
}

fn both(noise: Noise, bar: Option<f64>, effect: f64, m0: f64) -> [Tally; 2] {
    let question = Question::Improvement {
        bar: bar.map(log_percent),
    };
    let cells = [effect, 0.0].map(|effect| cell(noise, question, effect, m0));
    let mut both = tallies(&cells, CAMPAIGNS, SEED).into_iter();
    [both.next(), both.next()].map(Option::unwrap_or_default)
}

fn supported(noise: Noise, above: f64, m0: f64) -> Option<(f64, f64)> {
    BARS.into_iter()
        .filter(|bar| *bar > above)
        .map(|bar| {
            let question = Question::Improvement {
                bar: Some(log_percent(bar)),
            };
            let at_bar = tally(&cell(noise, question, bar, m0), CAMPAIGNS, SEED);
            (bar, found(&at_bar))
        })
        .find(|(_, found)| *found >= WANTED)
}

/// Real, whether it reaches the bar or not: an effect of just the bar's size reaches it half the
/// time, on any machine.
fn found(tally: &Tally) -> f64 {
    tally.share(tally.landed + tally.sub_bar)
}

fn cell(noise: Noise, question: Question, effect: f64, m0: f64) -> Cell {
    Cell {
        question,
        m0: log_percent(m0),
        noise,
        effect: log_percent(effect),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of operating characteristics, which is for no bar: +.5 is found in 76 % of runs at
    /// sigma .5, with 23.6 pairs, and 11.0 pairs where there is nothing.
    #[test]
    fn the_forecast_agrees_with_the_protocols_table() {
        let forecast = Forecast::of(Noise::standard(0.5), None, 0.5);
        assert!((forecast.found - 0.76).abs() < 0.06, "{forecast:?}");
        assert!(
            (forecast.pairs_at_effect - 23.6).abs() < 1.5,
            "{forecast:?}"
        );
        assert!((forecast.pairs_at_none - 11.0).abs() < 1.0, "{forecast:?}");
        assert!(!forecast.is_supported());
        let (bar, found) = forecast.supported.expect("a larger bar");
        assert!(bar == 1.0 && found > 0.97, "{forecast:?}");
        let guard = guard_pairs(Noise::standard(0.5), 0.5);
        assert!((guard - 11.0).abs() < 1.0, "{guard}");
    }

    #[test]
    fn a_machine_without_noise_ends_at_the_first_looks() {
        let silent = Noise {
            sigma: 0.0,
            launch: 0.0,
            drift: 0.0,
            slot_bias: 0.0,
            cluster_rate: 0.0,
            ..Noise::standard(0.0)
        };
        let forecast = Forecast::of(silent, Some(1.5), 0.5);
        assert_eq!((forecast.found, forecast.supported), (1.0, None));
        assert_eq!(
            (forecast.pairs_at_none, forecast.pairs_at_effect),
            (6.0, 10.0)
        );
        assert!(forecast.is_supported());
    }

    #[test]
    fn where_no_usual_bar_is_supported_none_is_named() {
        let forecast = Forecast::of(Noise::standard(40.0), Some(0.5), 0.5);
        assert!(forecast.found < 0.2, "{forecast:?}");
        assert_eq!(forecast.supported, None);
    }
}
