//! From a claim's text to a [`Claim`], or to what is wrong with it and where.

use std::ops::Range;
use std::str::FromStr;

use super::ast::{Claim, KernelPattern, Metric, Relation};
use super::cursor::{ClaimError, Cursor, is_word};
use crate::config::{nearest, suggestion};
use crate::counters;

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

/// Whether a kernel's name can be written without quotes.
pub(super) fn is_bare_name(name: &str) -> bool {
    let mut cursor = Cursor { text: name, at: 0 };
    matches!(
        cursor.kernel(),
        Ok(KernelPattern::Exact(read)) if read == name && cursor.at == name.len()
    )
}

impl Cursor<'_> {
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

    /// A named counter, or a metric by the profiler's own name.
    fn counter(&self, name: String, span: Range<usize>) -> Result<Metric, ClaimError> {
        if counters::is_time(&name) {
            return self.error(
                span,
                format!("`{name}` is a time, and a time under a profiler is no measurement"),
                "declare a `Bar:` on a `[[bench]]` for times",
            );
        }
        if counters::find(&name).is_some() || counters::is_raw_metric(&name) {
            return Ok(Metric::Counter { name });
        }
        let known = counters::TABLE.iter().map(|counter| counter.name);
        let help = match nearest(&name, known) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`docs/counters.md` lists them; the profiler's own names, such as \
                     `smsp__inst_executed.sum`, will do too"
                .to_owned(),
        };
        self.error(span, format!("`{name}` is not a counter"), help)
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
            return self.counter(word, span);
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
}
