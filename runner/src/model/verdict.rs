//! Verdicts and judgements.

use serde::{Deserialize, Serialize};

use super::{Bar, Better};

/// The outcome of a round's lever.
///
/// Stored and exchanged under its word, [`Verdict::word`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "&'static str")]
pub enum Verdict {
    /// The effect is real and reaches the bar.
    Landed,
    /// Real but below the bar, with mechanism confirmed, ledger not worse, and a decision.
    LandedSubBar,
    /// No worthwhile effect, a regression, or a verified revert.
    Reverted,
    /// The measurements do not settle it; it does not land.
    Inconclusive,
    /// Both sides hold the same machine code.
    NoChange,
    /// The lever's kernel never ran.
    NotExercised,
    /// The sides did different work.
    NotComparable,
    /// Head is at fault: it does not build, fails its gates or its commands.
    Broken,
    /// The machine or the apparatus is at fault.
    EnvInvalid,
    /// No device of the wanted kind was at hand.
    NotMeasured,
    /// A round without a lever: measured.
    Measured,
    /// A round without a lever: analysed.
    Analysed,
}

/// The text is none of the verdicts' words.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a verdict")]
pub struct NotAVerdict(String);

impl TryFrom<String> for Verdict {
    type Error = NotAVerdict;

    fn try_from(word: String) -> Result<Self, NotAVerdict> {
        let found = Verdict::ALL
            .into_iter()
            .find(|verdict| verdict.word() == word);
        found.ok_or(NotAVerdict(word))
    }
}

impl From<Verdict> for &'static str {
    fn from(verdict: Verdict) -> &'static str {
        verdict.word()
    }
}

impl Verdict {
    /// Every verdict.
    pub const ALL: [Verdict; 12] = [
        Verdict::Landed,
        Verdict::LandedSubBar,
        Verdict::Reverted,
        Verdict::Inconclusive,
        Verdict::NoChange,
        Verdict::NotExercised,
        Verdict::NotComparable,
        Verdict::Broken,
        Verdict::EnvInvalid,
        Verdict::NotMeasured,
        Verdict::Measured,
        Verdict::Analysed,
    ];

    /// The word for tables and pages, as in the design's vocabulary.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Landed => "LANDED",
            Verdict::LandedSubBar => "LANDED (sub-bar)",
            Verdict::Reverted => "REVERTED",
            Verdict::Inconclusive => "INCONCLUSIVE",
            Verdict::NoChange => "NO CHANGE",
            Verdict::NotExercised => "NOT EXERCISED",
            Verdict::NotComparable => "NOT COMPARABLE",
            Verdict::Broken => "BROKEN",
            Verdict::EnvInvalid => "ENV-INVALID",
            Verdict::NotMeasured => "NOT MEASURED",
            Verdict::Measured => "MEASURED",
            Verdict::Analysed => "ANALYSED",
        }
    }

    /// The exit status of `runner run`: 0 where the lever may be kept, 1 where it may not,
    /// 3 where the machine is at fault, 4 where nothing was measured. (2 is a usage error.)
    pub fn exit_code(self) -> u8 {
        match self {
            Verdict::Landed
            | Verdict::LandedSubBar
            | Verdict::NoChange
            | Verdict::Measured
            | Verdict::Analysed => 0,
            Verdict::Reverted
            | Verdict::Inconclusive
            | Verdict::NotExercised
            | Verdict::NotComparable
            | Verdict::Broken => 1,
            Verdict::EnvInvalid => 3,
            Verdict::NotMeasured => 4,
        }
    }
}

impl Judgement {
    /// The exit status of `runner run`: the verdict's, and 0 for a verified revert, which may be
    /// kept as it is.
    pub fn exit_code(&self) -> u8 {
        match (self.verdict, self.revert_verified) {
            (Verdict::Reverted, Some(true)) if self.benches.iter().all(|b| b.pairs == 0) => 0,
            (verdict, _) => verdict.exit_code(),
        }
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.word())
    }
}

/// Whether a reason speaks for, against, or merely informs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Weight {
    /// Decided the verdict.
    Decisive,
    /// Worth a reader's attention: flaky parity, an unverified revert, a suspicious delta.
    Warning,
    /// Context.
    Note,
}

/// One reason of a judgement, a whole sentence without the final full stop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// Its weight.
    pub weight: Weight,
    /// The sentence.
    pub text: String,
}

/// What a bench is to the lever.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The verdict rests on it.
    Target,
    /// It must not get worse.
    Guard,
}

/// The statistics of one bench over its valid pairs. All effects in percent of base's speed, however
/// the unit counts: 100 -> 122 tok/s and 122 -> 100 us are both +22 %; positive is better.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BenchJudgement {
    /// The bench.
    pub bench: String,
    /// Its unit.
    pub unit: String,
    /// Its direction.
    pub better: Better,
    /// Target or guard.
    pub role: Role,
    /// Its bar, if it has one.
    pub bar: Option<Bar>,
    /// The bar as an effect in percent (an absolute bar measured from the base's median).
    pub bar_percent: Option<f64>,
    /// Valid pairs.
    pub pairs: u32,
    /// Pairs of a fixed plan that have no valid value on both sides, and under the sequential
    /// protocol pairs that were begun and lost; 0 where measuring never began.
    pub pairs_missing: u32,
    /// Pairs in which head was better.
    pub pairs_positive: u32,
    /// Median of the base side's values in valid pairs; `None` without a valid pair.
    pub base_median: Option<f64>,
    /// Median of the head side's.
    pub head_median: Option<f64>,
    /// The effect over the valid pairs, under the sequential protocol over those of the last look;
    /// `None` without a valid pair.
    pub effect: Option<Effect>,
    /// What the numbers say.
    pub finding: Finding,
    /// The looks of the sequential protocol, in order; empty under a fixed protocol, and left out
    /// then, as in judgements from before there was another.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub looks: Vec<LookReading>,
}

/// What one look of the sequential protocol saw. Effects in percent, positive is better.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LookReading {
    /// The valid pairs that were looked at.
    pub pairs: u32,
    /// The Hodges-Lehmann estimate.
    pub estimate: f64,
    /// The interval that decides whether there is an effect; `None` at the first look.
    pub real: Option<Interval>,
    /// The interval that decides about the bar, and whether to give up.
    pub close: Interval,
    /// Whether the effect in question (for a guard: the loss) was real at this look or before.
    pub is_real: bool,
}

/// An interval in percent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The exact two-sided coverage under the null, in 0..1.
    pub coverage: f64,
}

/// The Hodges-Lehmann estimate with its exact signed-rank interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// The estimate, percent.
    pub estimate: f64,
    /// The interval's lower end, percent.
    pub low: f64,
    /// The interval's upper end, percent.
    pub high: f64,
    /// The interval's exact two-sided coverage under the null, in 0..1.
    pub coverage: f64,
    /// The smallest pair effect, percent.
    pub min: f64,
    /// The largest pair effect, percent.
    pub max: f64,
}

/// What a bench's numbers say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finding {
    /// Real, and at or above the bar (or no bar was set).
    ReachesBar,
    /// Real, and below the bar.
    BelowBar,
    /// No effect of a worthwhile size.
    NoEffect,
    /// Real, and in the wrong direction.
    Regression,
    /// A guard under the sequential protocol: no loss of a size worth mentioning.
    NotWorse,
    /// The interval leaves it open.
    Open,
    /// Measuring began, and there is no valid pair.
    NoData,
    /// The run ended before measuring began; nothing is missing.
    NotMeasured,
}

/// A verdict with all that led to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// One sentence on which a reviewer can act.
    pub headline: String,
    /// Why in a few words, for tables: `2 claims fail`; empty where the verdict and the effects
    /// beside it say it all.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// Why, the decisive reasons first.
    pub reasons: Vec<Reason>,
    /// The benches, targets first.
    pub benches: Vec<BenchJudgement>,
    /// For a head commit that reverts an earlier one: whether its machine code equals the state
    /// before the experiment. `None` when head is no revert or it could not be compared.
    pub revert_verified: Option<bool>,
}
