//! Profiles and expectations in words, for the terminal.

use super::{Aa, AaOutcome, Expectation, Expected, NoiseRecord, Outlook, StoredNoise};
use crate::numbers;
use crate::stats::forecast::Forecast;
use crate::stats::noise::{Drift, Outliers};

impl Expectation {
    /// A line for each bench with a profile, and one for those without.
    pub fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.benches.iter().map(Expected::line).collect();
        if !self.unknown.is_empty() {
            lines.push(format!(
                "how many pairs {} will take here is not known: `runner calibrate` measures this \
                 machine's noise",
                self.unknown.join(", ")
            ));
        }
        lines
    }

    /// A line for each bench whose bar the machine does not support.
    pub fn warnings(&self) -> Vec<String> {
        self.benches.iter().filter_map(Expected::warning).collect()
    }
}

impl Expected {
    /// What it will take.
    fn line(&self) -> String {
        let time = |pairs: f64| numbers::duration(self.milliseconds(pairs));
        let took = |pairs: f64| format!("about {} ({})", pairs_words(pairs), time(pairs));
        let says = match &self.outlook {
            Outlook::Target(forecast) => format!(
                "{} where head changes nothing, {} at {}, which is found in {} of runs",
                took(forecast.pairs_at_none),
                took(forecast.pairs_at_effect),
                percent(forecast.effect),
                share(forecast.found)
            ),
            Outlook::Guard { pairs } => format!("{} to see that it is no slower", took(*pairs)),
            Outlook::Fixed { pairs } => format!(
                "{} ({})",
                numbers::counted(*pairs as usize, "pair"),
                time(f64::from(*pairs))
            ),
        };
        format!(
            "{}: {says}; sigma {} by run {}",
            self.bench,
            about(self.sigma),
            self.run
        )
    }

    fn milliseconds(&self, pairs: f64) -> u64 {
        // The throw-aways come on top.
        ((2.0 * pairs + 2.0) * self.launch_s * 1e3) as u64
    }

    /// Says so where the machine does not support what is asked of it.
    fn warning(&self) -> Option<String> {
        let Outlook::Target(forecast) = &self.outlook else {
            return None;
        };
        (!forecast.is_supported()).then(|| format!("{}: {}", self.bench, unsupported(forecast)))
    }
}

fn unsupported(forecast: &Forecast) -> String {
    let what = match forecast.has_bar {
        true => format!("a {} bar", percent(forecast.effect)),
        false => format!("an effect of {}", percent(forecast.effect)),
    };
    let instead = match forecast.supported {
        Some((bar, found)) => format!("{} is found in {}", percent(bar), share(found)),
        None => "no usual bar is found reliably".to_owned(),
    };
    format!(
        "{what} needs about {} here and is found in {} of runs; {instead}. A quieter machine, a \
         longer bench or a higher bar helps",
        pairs_words(forecast.pairs_at_effect),
        share(forecast.found)
    )
}

fn pairs_words(pairs: f64) -> String {
    numbers::counted(pairs.round() as usize, "pair")
}

fn percent(value: f64) -> String {
    numbers::bar_percent(value)
}

/// A share of runs; what is not all of them is never called 100 %.
fn share(share: f64) -> String {
    let rounded = (share * 100.0).round();
    match rounded {
        100.0 if share < 1.0 => "over 99 %".to_owned(),
        _ => format!("{rounded:.0} %"),
    }
}

/// A size in percent with two significant digits.
pub fn about(value: f64) -> String {
    match value {
        0.0 => "0 %".to_owned(),
        v if v.abs() < 0.01 => "below 0.01 %".to_owned(),
        v if v.abs() < 1.0 => format!("{v:.2} %"),
        v => format!("{v:.1} %"),
    }
}

fn signed(value: f64) -> String {
    format!("{value:+.2}")
}

/// A profile, a line for each thing it tells; the first says how noisy the bench is.
pub fn profile_lines(record: &NoiseRecord) -> Vec<String> {
    let StoredNoise {
        profile, aa, unit, ..
    } = &record.noise;
    let mut lines = vec![
        format!(
            "{}: sigma {} ({} to {}) of {} {unit}, {}, run {}",
            record.bench,
            about(profile.sigma.value),
            about(profile.sigma.low),
            about(profile.sigma.high),
            numbers::value(profile.median),
            numbers::counted(profile.pairs, "pair"),
            record.run
        ),
        format!("  A/A: {}", aa_words(aa)),
    ];
    if let Some(inside) = profile.inside {
        lines.push(format!(
            "  launches differ by {}, runs of one launch by {} ({} timed runs)",
            about(inside.launch_sd),
            about(inside.run_sd),
            inside.runs
        ));
    }
    let slot = profile.slot;
    let biased = match slot.low <= 0.0 && slot.high >= 0.0 {
        true => "no bias that can be told",
        false if slot.value < 0.0 => "the second of a pair is slower",
        false => "the second of a pair is faster",
    };
    lines.push(format!(
        "  slot: {} % [{}, {}], {biased}",
        signed(slot.value),
        signed(slot.low),
        signed(slot.high)
    ));
    lines.push(format!(
        "  drift: {}",
        drift_words(&profile.drift, profile.pairs)
    ));
    lines.push(format!("  outliers: {}", outlier_words(&profile.outliers)));
    let run = profile
        .cost
        .run_s
        .map(|run| format!(", a run inside it {}", seconds(run)));
    lines.push(format!(
        "  a launch takes {}{}",
        seconds(profile.cost.launch_s),
        run.unwrap_or_default()
    ));
    lines
}

fn seconds(seconds: f64) -> String {
    match seconds {
        s if s < 1e-3 => format!("{:.0} us", s * 1e6),
        s if s < 1.0 => format!("{:.0} ms", s * 1e3),
        s => format!("{s:.1} s"),
    }
}

fn drift_words(drift: &Drift, pairs: usize) -> String {
    let correlation = format!(
        "a pair's mean is correlated with the one before by {:.2} +- {:.2}",
        drift.autocorrelation, drift.standard_error
    );
    match drift.series {
        Some(series) => format!(
            "{} with phi {} from sample to sample, both rough after {pairs} pairs ({correlation})",
            about(series.sd),
            phi(series.phi)
        ),
        None => format!("not told from scatter by {pairs} pairs ({correlation})"),
    }
}

/// What a sample hands to the next; never all of it.
fn phi(phi: f64) -> String {
    match phi {
        p if p > 0.99 => "over 0.99".to_owned(),
        p => format!("{p:.2}"),
    }
}

fn outlier_words(outliers: &Outliers) -> String {
    match outliers.mean {
        Some(mean) => format!(
            "{:.0} % of the samples, off by {} % on average",
            outliers.share * 100.0,
            signed(mean)
        ),
        None => "none".to_owned(),
    }
}

/// What the protocol says about base against base, and what that means.
fn aa_words(aa: &Aa) -> String {
    let pairs = numbers::counted(aa.pairs, "pair");
    let by = aa.estimate.map_or(String::new(), |estimate| {
        format!(" by {}", numbers::percent(estimate, None))
    });
    match aa.outcome {
        AaOutcome::NoEffect => format!("no effect after {pairs}, as it should be"),
        AaOutcome::FalseLanding => format!(
            "FALSE LANDING: base was found better than itself{by} after {pairs}; by chance this \
             happens to one calibration in a hundred or fewer, so calibrate again, and where it \
             comes back look for what favours one side"
        ),
        AaOutcome::FalseRegression => format!(
            "FALSE REGRESSION: base was found slower than itself{by} after {pairs}; by chance this \
             happens to one calibration in a hundred or fewer, so calibrate again, and where it \
             comes back look for what favours one side"
        ),
        AaOutcome::Open => format!("left open after {pairs}: a lever here would be INCONCLUSIVE"),
        AaOutcome::Unsettled => {
            format!("not settled after {pairs}; a run would take more of them")
        }
    }
}
