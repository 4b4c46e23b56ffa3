//! What a claim says, and how it is written.

use std::fmt;

/// A statement about every kernel that a pattern matches.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// What is looked at.
    pub metric: Metric,
    /// Which kernels.
    pub kernel: KernelPattern,
    /// Which architecture; all where none is given.
    pub arch: Option<String>,
    /// What must hold.
    pub relation: Relation,
}

/// A property of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Metric {
    /// Number of SASS instructions of an opcode, as [`sass::Census::count`] counts.
    Sass {
        /// The opcode with as many modifiers as matter.
        opcode: String,
    },
    /// Registers per thread.
    Registers,
    /// Spill stores and reloads together.
    Spills,
    /// Stack frame, bytes per thread.
    Stack,
    /// Shared memory, bytes per block: static, and the dynamic part that `[[kernel]]` gives.
    SharedMemory,
    /// Resident blocks per SM.
    Occupancy,
    /// Named barriers.
    Barriers,
    /// All SASS instructions.
    Instructions,
    /// A hardware counter.
    Counter {
        /// Its name.
        name: String,
    },
    /// How often the kernel ran.
    Live,
    /// The machine code itself.
    Code,
}

impl Metric {
    /// The word with which a claim begins.
    pub fn keyword(&self) -> &'static str {
        match self {
            Metric::Sass { .. } => "sass",
            Metric::Registers => "regs",
            Metric::Spills => "spills",
            Metric::Stack => "stack",
            Metric::SharedMemory => "smem",
            Metric::Occupancy => "occupancy",
            Metric::Barriers => "barriers",
            Metric::Instructions => "instructions",
            Metric::Counter { .. } => "counter",
            Metric::Live => "live",
            Metric::Code => "unchanged",
        }
    }

    /// What the numbers are numbers of, for people: `LDS.64`, `regs`.
    pub fn label(&self) -> &str {
        match self {
            Metric::Sass { opcode } => opcode,
            Metric::Counter { name } => name,
            Metric::Code => "code",
            _ => self.keyword(),
        }
    }

    /// Whether the metric is a number of bytes.
    pub fn is_bytes(&self) -> bool {
        matches!(self, Metric::Stack | Metric::SharedMemory)
    }
}

/// Which kernels a claim is about. What a name leaves out (namespaces, template arguments) is
/// not compared; parameters never are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KernelPattern {
    /// The function's name.
    Exact(String),
    /// The function's name, with `*` for any characters.
    Glob(String),
    /// A regular expression, searched in the whole demangled name.
    Regex(String),
}

/// What must hold of a metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Relation {
    /// Head against a number or base.
    Compare {
        /// How.
        op: Comparison,
        /// With what.
        with: Operand,
        /// How far an equal value may be off; exact in other comparisons.
        within: Tolerance,
    },
    /// Base is the first value, head the second.
    Transition {
        /// Base's value.
        from: f64,
        /// Head's value.
        to: f64,
        /// How far each may be off.
        within: Tolerance,
    },
    /// Head equals base.
    Unchanged,
    /// Head is below base.
    Down,
    /// Head is above base.
    Up,
    /// Head differs from base by so many percent of base.
    Change {
        /// The change, percent.
        percent: f64,
        /// How far the change may be from it, percentage points.
        tolerance: f64,
    },
}

impl Relation {
    /// Whether base's value is needed to decide.
    pub fn needs_base(&self) -> bool {
        !matches!(
            self,
            Relation::Compare {
                with: Operand::Number(_),
                ..
            }
        )
    }
}

/// How far a value may be from the one that a claim gives.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Tolerance {
    /// Not at all.
    Exact,
    /// So much.
    Absolute(f64),
    /// So many percent of the given value.
    Percent(f64),
}

impl Tolerance {
    /// Whether a value is the given one, within the tolerance.
    pub fn allows(self, given: f64, value: f64) -> bool {
        let off = (value - given).abs();
        match self {
            Tolerance::Exact => value == given,
            Tolerance::Absolute(most) => off <= most,
            Tolerance::Percent(percent) => off <= given.abs() * percent / 100.0,
        }
    }
}

/// The right side of a comparison.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Operand {
    /// A number; bytes where the metric is bytes.
    Number(f64),
    /// Base's value plus an offset.
    Base {
        /// The offset, 0 for base itself.
        offset: f64,
    },
}

/// A comparison of two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    More,
    /// `>=`
    AtLeast,
}

impl Comparison {
    /// How it is written.
    pub fn symbol(self) -> &'static str {
        match self {
            Comparison::Equal => "==",
            Comparison::NotEqual => "!=",
            Comparison::Less => "<",
            Comparison::AtMost => "<=",
            Comparison::More => ">",
            Comparison::AtLeast => ">=",
        }
    }

    /// Whether it holds.
    pub fn holds(self, left: f64, right: f64) -> bool {
        match self {
            Comparison::Equal => left == right,
            Comparison::NotEqual => left != right,
            Comparison::Less => left < right,
            Comparison::AtMost => left <= right,
            Comparison::More => left > right,
            Comparison::AtLeast => left >= right,
        }
    }
}

/// Numbers up to here are whole numbers that a float holds exactly.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// A number as claims write it, with commas between thousands.
pub(super) fn number_text(value: f64) -> String {
    if value.fract() == 0.0 && (0.0..EXACT).contains(&value) {
        crate::numbers::count(value as u64)
    } else {
        value.to_string()
    }
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Relation::Compare { op, with, within } => {
                write!(f, "{} {with}{within}", op.symbol())
            }
            Relation::Transition { from, to, within } => {
                write!(f, "{} -> {}{within}", number_text(from), number_text(to))
            }
            Relation::Unchanged => f.write_str("unchanged"),
            Relation::Down => f.write_str("down"),
            Relation::Up => f.write_str("up"),
            Relation::Change { percent, tolerance } => {
                write!(f, "{percent:+}% +- {tolerance}%")
            }
        }
    }
}

impl fmt::Display for Tolerance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Tolerance::Exact => Ok(()),
            Tolerance::Absolute(most) => write!(f, " +- {}", number_text(most)),
            Tolerance::Percent(percent) => write!(f, " +- {percent}%"),
        }
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Operand::Number(value) => f.write_str(&number_text(value)),
            Operand::Base { offset } if offset > 0.0 => {
                write!(f, "base + {}", number_text(offset))
            }
            Operand::Base { offset } if offset < 0.0 => {
                write!(f, "base - {}", number_text(-offset))
            }
            Operand::Base { .. } => f.write_str("base"),
        }
    }
}

impl fmt::Display for KernelPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KernelPattern::Exact(name) if super::parse::is_bare_name(name) => f.write_str(name),
            KernelPattern::Exact(name) => {
                write!(f, "\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
            }
            KernelPattern::Glob(glob) => f.write_str(glob),
            KernelPattern::Regex(regex) => write!(f, "/{}/", regex.replace('/', "\\/")),
        }
    }
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.metric.keyword(), self.kernel)?;
        if let Some(arch) = &self.arch {
            write!(f, " @{arch}")?;
        }
        match &self.metric {
            Metric::Sass { opcode: detail } | Metric::Counter { name: detail } => {
                write!(f, " {detail}")?;
            }
            Metric::Code => return Ok(()),
            _ => {}
        }
        write!(f, " {}", self.relation)
    }
}
