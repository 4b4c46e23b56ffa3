//! Numbers and times as people read them, the one place where they become text: a figure in a
//! headline is the figure in the table below it. Rounding never contradicts a comparison that the
//! verdict rests on (lesson 31), and a number that is not finite never gets out (lesson 32).
//!
//! Pure: no I/O, no clock, no locale. It must not know what a figure is for, nor lay anything out.

mod effect;
mod faithful;
mod quantity;
mod time;

use serde::{Serialize, Serializer};

pub use effect::{EffectText, bar_percent, coverage, declared_bar, effect_text, interval, percent};
pub use quantity::{bytes, count, counted, duration, figure, value, value_beside};
pub use time::{day, iso, time};

/// What stands where there is no value.
pub const MISSING: &str = "–";

/// A number that is finite or missing; missing is `null` in JSON.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Finite(Option<f64>);

impl Finite {
    /// Keeps a finite value; anything else is missing.
    pub fn new(value: f64) -> Self {
        Finite(Some(value).filter(|v| v.is_finite()))
    }

    /// The value, where there is one.
    pub fn get(self) -> Option<f64> {
        self.0
    }
}

impl From<Option<f64>> for Finite {
    fn from(value: Option<f64>) -> Self {
        Finite(value.filter(|v| v.is_finite()))
    }
}

impl Serialize for Finite {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}
