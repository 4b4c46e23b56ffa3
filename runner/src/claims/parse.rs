//! From a claim's text to a [`Claim`], or to what is wrong with it and where.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use super::ast::{Claim, Comparison, KernelPattern, Metric, Operand, Relation};
use crate::config::{nearest, number, suggestion};

/// Why a claim cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimError {
    /// The claim.
    pub text: String,
    /// The bytes of the text that are at fault; empty at its end.
    pub span: Range<usize>,
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub help: Option<String>,
}

impl ClaimError {
    /// The column of the fault, in characters from 1.
    pub fn column(&self) -> usize {
        self.text[..self.span.start].chars().count() + 1
    }

    /// The error over several lines, with a caret under the fault.
    pub fn with_caret(&self) -> String {
        let width = self.text[self.span.clone()].chars().count().max(1);
        let indent = " ".repeat(self.column() - 1);
        format!("{self}\n  {}\n  {indent}{}", self.text, "^".repeat(width))
    }
}

impl fmt::Display for ClaimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "column {}: {}", self.column(), self.message)?;
        if let Some(help) = &self.help {
            write!(f, " ({help})")?;
        }
        Ok(())
    }
}

impl std::error::Error for ClaimError {}

impl FromStr for Claim {
    type Err = ClaimError;

    fn from_str(text: &str) -> Result<Self, ClaimError> {
        Cursor { text, at: 0 }.claim()
    }
}

/// The metrics' words.
const METRICS: &[&str] = &[
    "sass",
    "census",
    "regs",
    "spills",
    "stack",
    "smem",
    "occupancy",
    "barriers",
    "instructions",
    "counter",
    "live",
    "unchanged",
];

const RELATIONS_HELP: &str = "write one of `== N`, `!= N`, `< N`, `<= N`, `> N`, `>= N`, `A -> B`, `unchanged`, \
     `not above base`, `base - N`, `down`, `up`, `-5.8% +- 0.5%`";

/// Whether a kernel's name can be written without quotes.
pub(super) fn is_bare_name(name: &str) -> bool {
    let mut cursor = Cursor { text: name, at: 0 };
    matches!(
        cursor.kernel(),
        Ok(KernelPattern::Exact(read)) if read == name && cursor.at == name.len()
    )
}

struct Cursor<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Cursor<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn skip_blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    /// Moves past `symbol` if it comes next.
    fn take(&mut self, symbol: &str) -> bool {
        let found = self.rest().starts_with(symbol);
        if found {
            self.at += symbol.len();
        }
        found
    }

    /// Moves past a word of the given characters; empty if there is none.
    fn word(&mut self, belongs: impl Fn(char) -> bool) -> (&'t str, Range<usize>) {
        let rest = self.rest();
        let end = rest.find(|c| !belongs(c)).unwrap_or(rest.len());
        let span = self.at..self.at + end;
        self.at = span.end;
        (&rest[..end], span)
    }

    /// Moves past a whole word if it comes next.
    fn take_word(&mut self, wanted: &str) -> bool {
        let before = self.at;
        let (word, _) = self.word(is_word);
        let found = word == wanted;
        if !found {
            self.at = before;
        }
        found
    }

    /// What comes next, up to the next blank: what errors point at.
    fn next_span(&self) -> Range<usize> {
        let rest = self.rest();
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        self.at..self.at + end
    }

    fn error<T>(
        &self,
        span: Range<usize>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Result<T, ClaimError> {
        Err(ClaimError {
            text: self.text.to_owned(),
            span,
            message: message.into(),
            help: Some(help.into()),
        })
    }

    fn claim(mut self) -> Result<Claim, ClaimError> {
        self.skip_blanks();
        let metric = self.metric()?;
        self.skip_blanks();
        let kernel = self.kernel()?;
        let arch = self.arch()?;
        let metric = self.detail(metric)?;
        self.skip_blanks();
        let relation = match metric {
            Metric::Code => Relation::Unchanged,
            _ => self.relation(&metric)?,
        };
        self.skip_blanks();
        if !self.rest().is_empty() {
            let span = self.at..self.text.trim_end().len();
            return self.error(
                span,
                format!("`{}` is left over after the claim", self.rest().trim_end()),
                "one claim says one thing; write a second `Claim:` for the rest",
            );
        }
        Ok(Claim {
            metric,
            kernel,
            arch,
            relation,
        })
    }

    fn metric(&mut self) -> Result<Metric, ClaimError> {
        let (word, span) = self.word(is_word);
        Ok(match word {
            "sass" | "census" => Metric::Sass {
                opcode: String::new(),
            },
            "regs" => Metric::Registers,
            "spills" => Metric::Spills,
            "stack" => Metric::Stack,
            "smem" => Metric::SharedMemory,
            "occupancy" => Metric::Occupancy,
            "barriers" => Metric::Barriers,
            "instructions" => Metric::Instructions,
            "counter" => Metric::Counter {
                name: String::new(),
            },
            "live" => Metric::Live,
            "unchanged" => Metric::Code,
            "" => {
                let help = suggestion("", METRICS.iter().copied());
                return self.error(
                    self.next_span(),
                    "a claim begins with what it is about",
                    help,
                );
            }
            other => {
                let help = suggestion(other, METRICS.iter().copied());
                return self.error(span, format!("`{other}` is not a metric"), help);
            }
        })
    }

    /// A kernel pattern: `"quoted"`, `/regex/`, or bare, with `*` for a glob.
    fn kernel(&mut self) -> Result<KernelPattern, ClaimError> {
        match self.rest().chars().next() {
            Some('"') => self.quoted(),
            Some('/') => self.regex(),
            Some(c) if c.is_alphabetic() || matches!(c, '_' | '*' | '(' | '$') => self.bare(),
            _ => self.error(
                self.next_span(),
                "here the kernel should be named",
                "write its name, a glob such as `mmq_*`, `/a regex/`, or a name in double quotes",
            ),
        }
    }

    /// Up to the next blank or `@` outside brackets.
    fn bare(&mut self) -> Result<KernelPattern, ClaimError> {
        let start = self.at;
        let mut open: Vec<(char, usize)> = Vec::new();
        let mut end = self.text.len();
        for (i, c) in self.rest().char_indices() {
            let inside_parens = matches!(open.last(), Some(('(', _)));
            match c {
                '<' if !inside_parens => open.push((c, start + i)),
                '(' => open.push((c, start + i)),
                '>' if matches!(open.last(), Some(('<', _))) => drop(open.pop()),
                ')' if inside_parens => drop(open.pop()),
                _ if open.is_empty() && (c.is_whitespace() || c == '@') => {
                    end = start + i;
                    break;
                }
                _ => {}
            }
        }
        if let Some((bracket, at)) = open.first() {
            return self.error(
                *at..*at + 1,
                format!("`{bracket}` is not closed"),
                "put a blank before a comparison; put an odd name in double quotes",
            );
        }
        self.at = end;
        let name = &self.text[start..end];
        if name.contains(['"', '\\']) || name.chars().any(char::is_control) {
            return self.error(
                start..end,
                format!("`{}` is an odd name", name.escape_debug()),
                "put it in double quotes",
            );
        }
        Ok(match name.contains('*') {
            true => KernelPattern::Glob(name.to_owned()),
            false => KernelPattern::Exact(name.to_owned()),
        })
    }

    fn quoted(&mut self) -> Result<KernelPattern, ClaimError> {
        let start = self.at;
        let mut name = String::new();
        let mut chars = self.rest().char_indices().skip(1);
        while let Some((i, c)) = chars.next() {
            match c {
                '"' if name.trim().is_empty() => {
                    let span = start..start + i + 1;
                    return self.error(span, "the kernel's name is empty", "name the kernel");
                }
                '"' => {
                    self.at = start + i + 1;
                    return Ok(KernelPattern::Exact(name));
                }
                '\\' => match chars.next() {
                    Some((_, c @ ('"' | '\\'))) => name.push(c),
                    _ => {
                        let span = start + i..start + i + 1;
                        return self.error(
                            span,
                            "a backslash in quotes stands before `\"` or `\\` only",
                            "double it",
                        );
                    }
                },
                _ => name.push(c),
            }
        }
        self.error(
            start..self.text.len(),
            "the quoted name does not end",
            "close it with `\"`",
        )
    }

    fn regex(&mut self) -> Result<KernelPattern, ClaimError> {
        let start = self.at;
        let mut pattern = String::new();
        let mut chars = self.rest().char_indices().skip(1);
        while let Some((i, c)) = chars.next() {
            match c {
                '/' => {
                    let span = start..start + i + 1;
                    if pattern.is_empty() {
                        return self.error(
                            span,
                            "the regular expression is empty",
                            "write `/…/`, or `*` for every kernel",
                        );
                    }
                    if let Err(error) = regex::Regex::new(&pattern) {
                        let reason = error.to_string();
                        let reason = reason.lines().last().unwrap_or_default();
                        return self.error(
                            span,
                            format!("`{pattern}` is not a regular expression"),
                            reason,
                        );
                    }
                    self.at = span.end;
                    return Ok(KernelPattern::Regex(pattern));
                }
                '\\' => match chars.next() {
                    Some((_, '/')) => pattern.push('/'),
                    Some((_, c)) => pattern.extend(['\\', c]),
                    None => break,
                },
                _ => pattern.push(c),
            }
        }
        self.error(
            start..self.text.len(),
            "the regular expression does not end",
            "close it with `/`",
        )
    }

    fn arch(&mut self) -> Result<Option<String>, ClaimError> {
        let before = self.at;
        self.skip_blanks();
        if !self.take("@") {
            self.at = before;
            return Ok(None);
        }
        let (word, span) = self.word(is_word);
        let number = word.strip_prefix("sm_").unwrap_or_default();
        let digits = number.trim_end_matches(|c: char| c.is_ascii_lowercase());
        let valid = digits.len() >= 2
            && number.len() - digits.len() <= 1
            && digits.bytes().all(|b| b.is_ascii_digit());
        if valid {
            return Ok(Some(word.to_owned()));
        }
        self.error(
            span,
            format!("`{word}` is not an architecture"),
            "write it as nvcc does, such as `@sm_121`",
        )
    }

    /// The opcode or counter of metrics that have one.
    fn detail(&mut self, metric: Metric) -> Result<Metric, ClaimError> {
        let (what, example) = match metric {
            Metric::Sass { .. } => ("opcode", "LDS.64"),
            Metric::Counter { .. } => ("counter", "shared_ld_conflicts"),
            other => return Ok(other),
        };
        self.skip_blanks();
        let (word, span) = self.word(|c| is_word(c) || c == '.');
        let relation_word = matches!(word, "unchanged" | "down" | "up" | "not" | "base");
        if word.is_empty() || relation_word || word.starts_with(|c: char| c.is_ascii_digit()) {
            let span = if word.is_empty() {
                self.next_span()
            } else {
                span
            };
            return self.error(
                span,
                format!("here the {what} should be named"),
                format!("such as `{example}`"),
            );
        }
        let word = word.to_owned();
        if matches!(metric, Metric::Counter { .. }) {
            return Ok(Metric::Counter { name: word });
        }
        let root = word.split('.').next().unwrap_or_default();
        if word.ends_with('.') || word.contains("..") || root.contains(|c: char| c.is_lowercase()) {
            return self.error(
                span,
                format!("`{word}` is not an opcode"),
                format!("write it as nvdisasm prints it, such as `{}`", {
                    let upper = word.to_uppercase();
                    let trimmed = upper.trim_matches('.');
                    if trimmed.is_empty() || trimmed.contains("..") {
                        example.to_owned()
                    } else {
                        trimmed.to_owned()
                    }
                }),
            );
        }
        Ok(Metric::Sass { opcode: word })
    }

    fn relation(&mut self, metric: &Metric) -> Result<Relation, ClaimError> {
        let start = self.at;
        let first = self.rest().chars().next();
        match first {
            None => self.error(
                start..start,
                "the claim ends before it says what must hold",
                RELATIONS_HELP,
            ),
            Some('=' | '!' | '<' | '>' | '\u{2264}' | '\u{2265}') => self.comparison(metric),
            Some('+' | '-' | '\u{2212}') => self.change(),
            Some(c) if c.is_ascii_digit() => self.transition(metric),
            _ => self.worded(metric),
        }
    }

    fn comparison(&mut self, metric: &Metric) -> Result<Relation, ClaimError> {
        const SYMBOLS: &[(&str, Comparison)] = &[
            ("==", Comparison::Equal),
            ("!=", Comparison::NotEqual),
            ("<=", Comparison::AtMost),
            (">=", Comparison::AtLeast),
            ("\u{2264}", Comparison::AtMost),
            ("\u{2265}", Comparison::AtLeast),
            ("<", Comparison::Less),
            (">", Comparison::More),
        ];
        let span = self.next_span();
        let found = SYMBOLS.iter().find(|(symbol, _)| self.take(symbol));
        let Some((_, op)) = found else {
            let symbol: String = self.rest().chars().take(1).collect();
            let help = match symbol.as_str() {
                "=" => "did you mean `==`?",
                _ => "did you mean `!=`?",
            };
            return self.error(
                span.start..span.start + 1,
                format!("`{symbol}` is not a comparison"),
                help,
            );
        };
        self.skip_blanks();
        let with = self.operand(metric)?;
        Ok(Relation::Compare { op: *op, with })
    }

    fn operand(&mut self, metric: &Metric) -> Result<Operand, ClaimError> {
        if self.take_word("base") {
            return self.offset(metric);
        }
        self.quantity(metric).map(Operand::Number)
    }

    /// What may follow `base`: `+ N` or `- N`.
    fn offset(&mut self, metric: &Metric) -> Result<Operand, ClaimError> {
        let before = self.at;
        self.skip_blanks();
        let sign = if self.take("+") {
            1.0
        } else if self.take("-") || self.take("\u{2212}") {
            -1.0
        } else {
            self.at = before;
            return Ok(Operand::Base { offset: 0.0 });
        };
        self.skip_blanks();
        let offset = sign * self.quantity(metric)?;
        let after = self.at;
        self.skip_blanks();
        if self.take("%") {
            return self.error(
                self.at - 1..self.at,
                "an offset from base is a number, not a percentage",
                "write a relative change as `-5.8% +- 0.5%`",
            );
        }
        self.at = after;
        Ok(Operand::Base { offset })
    }

    /// A number; with a unit where the metric is bytes.
    fn quantity(&mut self, metric: &Metric) -> Result<f64, ClaimError> {
        let start = self.at;
        let value = self.number()?;
        let before = self.at;
        self.skip_blanks();
        let (unit, span) = self.word(char::is_alphabetic);
        let plain = !metric.is_bytes();
        if unit.is_empty() || (plain && number::bytes_per(unit).is_none()) {
            self.at = before;
            return Ok(value);
        }
        if plain {
            return self.error(
                span,
                format!("`{}` is a plain number, without a unit", metric.label()),
                format!("leave `{unit}` out"),
            );
        }
        let Some(per) = number::bytes_per(unit) else {
            return self.error(
                span,
                format!("`{unit}` is not a unit of bytes"),
                format!("write {}", number::BYTE_UNITS),
            );
        };
        let bytes = value * per as f64;
        if bytes.is_finite() {
            return Ok(bytes);
        }
        self.error(start..span.end, "the number is too large", "check its unit")
    }

    fn number(&mut self) -> Result<f64, ClaimError> {
        match number::scan(self.rest()) {
            Some(scanned) => {
                self.at += scanned.text.len();
                Ok(scanned.value)
            }
            None => self.error(
                self.next_span(),
                "here a number should stand",
                "write it plainly or with commas between thousands, such as `45,056`; \
                 it is never negative",
            ),
        }
    }

    fn transition(&mut self, metric: &Metric) -> Result<Relation, ClaimError> {
        let start = self.at;
        let from = self.quantity(metric)?;
        let end = self.at;
        self.skip_blanks();
        if !self.take("->") && !self.take("\u{2192}") {
            return self.error(
                start..end,
                "a number alone is not a statement",
                format!(
                    "write `== {0}`, or `{0} -> N` for base and head",
                    self.text[start..end].trim()
                ),
            );
        }
        self.skip_blanks();
        let to = self.quantity(metric)?;
        Ok(Relation::Transition { from, to })
    }

    fn change(&mut self) -> Result<Relation, ClaimError> {
        let start = self.at;
        let sign = if self.take("+") { 1.0 } else { -1.0 };
        if sign < 0.0 && !self.take("-") {
            self.take("\u{2212}");
        }
        self.skip_blanks();
        let percent = sign * self.number()?;
        self.percent_sign(start)?;
        let end = self.at;
        self.skip_blanks();
        if !self.take("+-") && !self.take("\u{b1}") {
            return self.error(
                start..end,
                "a relative change needs a tolerance",
                format!("such as `{} +- 0.5%`", &self.text[start..end]),
            );
        }
        self.skip_blanks();
        let from = self.at;
        let tolerance = self.number()?;
        self.percent_sign(from)?;
        Ok(Relation::Change { percent, tolerance })
    }

    fn percent_sign(&mut self, start: usize) -> Result<(), ClaimError> {
        let end = self.at;
        self.skip_blanks();
        if self.take("%") {
            return Ok(());
        }
        self.error(
            start..end,
            "a change is given in percent",
            format!(
                "write `{0}%`; a change by a number is `base {0}`",
                &self.text[start..end]
            ),
        )
    }

    fn worded(&mut self, metric: &Metric) -> Result<Relation, ClaimError> {
        const WORDS: &[&str] = &["unchanged", "not", "base", "down", "up"];
        let (word, span) = self.word(is_word);
        match word {
            "unchanged" => Ok(Relation::Unchanged),
            "down" => Ok(Relation::Down),
            "up" => Ok(Relation::Up),
            "base" => Ok(Relation::Compare {
                op: Comparison::Equal,
                with: self.offset(metric)?,
            }),
            "not" => self.not(metric),
            other => {
                let span = if other.is_empty() {
                    self.next_span()
                } else {
                    span
                };
                let found = &self.text[span.clone()];
                let help = match nearest(found, WORDS.iter().copied()) {
                    Some(word) => format!("did you mean `{word}`?"),
                    None => RELATIONS_HELP.to_owned(),
                };
                self.error(span, format!("`{found}` is not a relation"), help)
            }
        }
    }

    /// `not above …` and `not below …`.
    fn not(&mut self, metric: &Metric) -> Result<Relation, ClaimError> {
        self.skip_blanks();
        let op = if self.take_word("above") {
            Comparison::AtMost
        } else if self.take_word("below") {
            Comparison::AtLeast
        } else {
            return self.error(
                self.next_span(),
                "after `not` comes `above` or `below`",
                "such as `not above base`",
            );
        };
        self.skip_blanks();
        let with = self.operand(metric)?;
        Ok(Relation::Compare { op, with })
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
