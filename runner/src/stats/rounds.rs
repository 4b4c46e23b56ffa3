//! Simulated series over rounds: what change points and creep find where the truth is known.
//!
//! One value per round. Each round is a window of its own on the machine of
//! [`super::simulate`], and between windows the machine's level moves in sessions. Measured
//! against the anchor in the same window, that level cancels; the raw value keeps it. How sessions
//! move is chosen here, plainly: the protocol says only that they move by far more than a lever.

use super::effect::{hodges_lehmann, median, walsh_averages};
use super::simulate::{Machine, Noise, Order, Random};

/// The pairs of one anchor measurement where the campaign has no fixed number.
pub const ANCHOR_PAIRS: usize = 26;

/// How the machine's level moves between sessions (reboots, driver updates, other tenants).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sessions {
    /// The mean number of rounds in one session; geometric.
    pub rounds: f64,
    /// The standard deviation of a session's level, percent.
    pub sd: f64,
}

/// Chosen: a session lasts ten rounds, and its level scatters by 2 %. LESSONS of real campaigns
/// say -9 to +38 % between sessions, so this is mild.
pub const SESSIONS: Sessions = Sessions {
    rounds: 10.0,
    sd: 2.0,
};

/// A series of both kinds.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Head against the anchor in one window, d units.
    pub anchored: Vec<f64>,
    /// 100 times the logarithm of head's own median.
    pub raw: Vec<f64>,
}

/// Simulates a campaign; `truth` gives the cumulated effect at each round, d units.
pub fn series(noise: Noise, rounds: usize, truth: impl Fn(usize) -> f64, random: Random) -> Series {
    let mut sessions = random.clone();
    let mut machine = Machine::new(noise, random);
    let mut level = 0.0;
    let mut series = Series {
        anchored: Vec::with_capacity(rounds),
        raw: Vec::with_capacity(rounds),
    };
    for round in 0..rounds {
        // A stream of its own, so that sessions do not depend on how many draws a window takes.
        if round == 0 || sessions.uniform() < 1.0 / SESSIONS.rounds {
            level = SESSIONS.sd * sessions.normal();
        }
        machine.rest();
        let effect = truth(round);
        let mut d = Vec::with_capacity(ANCHOR_PAIRS);
        machine.pairs(effect, ANCHOR_PAIRS, &mut Order::Blocks(false), &mut d);
        series
            .anchored
            .push(hodges_lehmann(&walsh_averages(&d)).unwrap_or(effect));
        machine.rest();
        let heads: Vec<f64> = (0..ANCHOR_PAIRS)
            .map(|pair| machine.sample(pair % 2 == 1))
            .collect();
        let own = median(&heads).unwrap_or(0.0);
        series.raw.push(level + effect + own);
    }
    series
}
