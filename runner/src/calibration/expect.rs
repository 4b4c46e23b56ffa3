//! What is to be expected of a run before it starts: pairs, minutes, and whether the machine's noise
//! supports the bars.

use serde::Serialize;

use super::{NoiseRecord, smallest_worthwhile, what_runs};
use crate::config::{Bench, Config};
use crate::judge::role_and_bar;
use crate::model::{Bar, Registration, Role};
use crate::stats::forecast::{Forecast, guard_pairs};
use crate::stats::pair_effect;

/// The noise that is known of a campaign's benches on a machine.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// All profiles of the campaign, the newest of each bench and machine.
    pub profiles: &'a [NoiseRecord],
    /// The machine's fingerprint.
    pub machine: &'a str,
}

impl Known<'_> {
    /// The profile of what a bench runs now; `None` where it has none or ran something else.
    pub fn of(&self, config: &Config, bench: &Bench) -> Option<&NoiseRecord> {
        let what = what_runs(config, bench);
        self.profiles.iter().find(|profile| {
            profile.bench == bench.name && profile.machine == self.machine && profile.what == what
        })
    }
}

/// What is expected of a bench.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Expected {
    /// The bench.
    pub bench: String,
    /// The calibration that it rests on.
    pub run: i64,
    /// Standard deviation of a sample, percent.
    pub sigma: f64,
    /// What a launch takes, seconds.
    pub launch_s: f64,
    /// What the bench is asked.
    pub outlook: Outlook,
}

/// What is expected of a bench by what it is asked.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "asked")]
pub enum Outlook {
    /// Did it get better?
    Target(Forecast),
    /// Did it get slower?
    Guard {
        /// The pairs that it takes where it did not.
        pairs: f64,
    },
    /// A fixed number of pairs.
    Fixed {
        /// They.
        pairs: u32,
    },
}

/// What is expected of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Expectation {
    /// The benches with a profile, in the config's order.
    pub benches: Vec<Expected>,
    /// The benches without.
    pub unknown: Vec<String>,
}

impl Expectation {
    /// Simulates every bench that has a profile.
    pub fn of(config: &Config, registration: &Registration, known: Known<'_>) -> Expectation {
        let mut expectation = Expectation {
            benches: Vec::new(),
            unknown: Vec::new(),
        };
        for bench in &config.benches {
            match known.of(config, bench) {
                Some(profile) => {
                    let asked = outlook(config, bench, registration, profile);
                    expectation.benches.push(Expected {
                        bench: bench.name.clone(),
                        run: profile.run,
                        sigma: profile.noise.profile.sigma.value,
                        launch_s: profile.noise.profile.cost.launch_s,
                        outlook: asked,
                    });
                }
                None => expectation.unknown.push(bench.name.clone()),
            }
        }
        expectation
    }
}

fn outlook(
    config: &Config,
    bench: &Bench,
    registration: &Registration,
    profile: &NoiseRecord,
) -> Outlook {
    if let Some(pairs) = config.protocol.fixed_pairs() {
        return Outlook::Fixed { pairs };
    }
    let noise = profile.noise.profile.noise();
    let m0 = smallest_worthwhile(config.protocol);
    match role_and_bar(bench, registration) {
        (Role::Guard, _) => Outlook::Guard {
            pairs: guard_pairs(noise, m0),
        },
        (Role::Target, bar) => {
            // A bar that base has reached already asks for no more than any effect.
            let percent = bar
                .map(|bar| match bar {
                    Bar::Relative { percent } => percent,
                    Bar::Absolute { value } => {
                        pair_effect(profile.noise.profile.median, value, bench.better)
                    }
                })
                .filter(|percent| *percent > 0.0);
            Outlook::Target(Forecast::of(noise, percent, m0))
        }
    }
}
