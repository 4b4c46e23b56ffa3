//! What a lever declares before it is measured.

use serde::{Deserialize, Serialize};

/// Whether a larger or a smaller value is the better one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// Throughput and the like.
    Higher,
    /// Times, bytes and the like.
    Lower,
}

/// The smallest effect on a bench for which a lever lands.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Bar {
    /// An improvement over base in percent (`+1.5 %`); always positive, whichever way is better.
    Relative {
        /// The improvement, percent.
        percent: f64,
    },
    /// A value that head must reach, in the bench's unit (`>= 1350`, or `<= 2.1` where lower is
    /// better).
    Absolute {
        /// The value, in the bench's unit.
        value: f64,
    },
}

/// Where a bar or claim was declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// A trailer of the head commit.
    Trailer,
    /// `campaign.toml`.
    File,
}

/// The bar of one bench.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RegisteredBar {
    /// The bench's name in `campaign.toml`.
    pub bench: String,
    /// The bar.
    pub bar: Bar,
    /// Where it was declared.
    pub source: Source,
    /// The text as it was written.
    pub text: String,
}

/// One claim as it was written; `crate::claims` parses and evaluates it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegisteredClaim {
    /// The claim's text, for example `sass mmq_nb LDS.64 == 0`.
    pub text: String,
    /// Where it was declared.
    pub source: Source,
}

/// What kind of step the head commit says it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RoundKind {
    /// A change to be judged.
    #[default]
    Lever,
    /// A measurement without a lever (`Kind: measured`).
    Measured,
    /// An analysis without a lever (`Kind: analysed`).
    Analysed,
    /// Two commits held against each other by the runner itself, for an anchor or a bisection; no
    /// commit declares it. Every bench is a guard, and a bar is how much slower head may be.
    Compared,
}

/// What the head commit declares before it is measured, merged with the file's bars and claims.
///
/// The record keeps it with a hash and the time at which it was stored, before the first sample.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Registration {
    /// `Round:`, for example `r22`.
    pub round: Option<String>,
    /// `Lever:`, a few words; the commit's subject where there is no trailer.
    pub lever: String,
    /// `Hypothesis:`.
    pub hypothesis: Option<String>,
    /// `Kind:`.
    pub kind: RoundKind,
    /// The benches on which the verdict rests, each with its bar.
    pub bars: Vec<RegisteredBar>,
    /// The claims, in the order in which they were written; trailers first.
    pub claims: Vec<RegisteredClaim>,
    /// `Retry-When:` conditions, as written.
    pub retry_when: Vec<String>,
    /// Trailers that look like one of ours but could not be read: text and what is wrong. They
    /// are shown, and the run stops before the first sample.
    pub errors: Vec<String>,
}
