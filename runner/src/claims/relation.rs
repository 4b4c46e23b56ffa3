//! The part of a claim that says what must hold.

use super::ast::{Comparison, Metric, Operand, Relation, Tolerance};
use super::cursor::{ClaimError, Cursor, is_word};
use crate::config::{nearest, number};

const RELATIONS_HELP: &str = "write one of `== N`, `!= N`, `< N`, `<= N`, `> N`, `>= N`, `A -> B`, `unchanged`, \
     `not above base`, `base - N`, `down`, `up`, `-5.8% +- 0.5%`";

impl Cursor<'_> {
    pub(super) fn relation(&mut self, metric: &Metric) -> Result<Relation, ClaimError> {
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
        let before = self.at;
        let within = self.tolerance(metric, &[with])?;
        if *op != Comparison::Equal && within != Tolerance::Exact {
            return self.error(
                before..self.at,
                format!("a tolerance says nothing beside `{}`", op.symbol()),
                "it goes with `==` and `->`; add it to the number instead",
            );
        }
        Ok(Relation::Compare {
            op: *op,
            with,
            within,
        })
    }

    /// What may follow `values` that must be met: `+- N` or `+- N%`.
    fn tolerance(&mut self, metric: &Metric, values: &[Operand]) -> Result<Tolerance, ClaimError> {
        let before = self.at;
        self.skip_blanks();
        if !self.take("+-") && !self.take("\u{b1}") {
            self.at = before;
            return Ok(Tolerance::Exact);
        }
        self.skip_blanks();
        let start = self.at;
        let most = self.quantity(metric)?;
        let after = self.at;
        self.skip_blanks();
        if self.take("%") {
            return self.percent_tolerance(most, start, values);
        }
        self.at = after;
        Ok(Tolerance::Absolute(most))
    }

    /// A tolerance in percent, where it says something.
    fn percent_tolerance(
        &self,
        percent: f64,
        start: usize,
        values: &[Operand],
    ) -> Result<Tolerance, ClaimError> {
        let span = start..self.at;
        if values.contains(&Operand::Number(0.0)) {
            return self.error(
                span,
                "a percentage of 0 allows nothing",
                "write how far it may be off as a number, `+- N`",
            );
        }
        if percent >= 100.0 {
            return self.error(
                span,
                "a tolerance of 100 % or more allows nearly everything",
                "write a smaller one, or a comparison such as `<= N`",
            );
        }
        Ok(Tolerance::Percent(percent))
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
        // `+-` begins a tolerance.
        let sign = if !self.rest().starts_with("+-") && self.take("+") {
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
        let values = [from, to].map(Operand::Number);
        let within = self.tolerance(metric, &values)?;
        Ok(Relation::Transition { from, to, within })
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
            "base" => {
                let with = self.offset(metric)?;
                let within = self.tolerance(metric, &[with])?;
                Ok(Relation::Compare {
                    op: Comparison::Equal,
                    with,
                    within,
                })
            }
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
        Ok(Relation::Compare {
            op,
            with: self.operand(metric)?,
            within: Tolerance::Exact,
        })
    }
}
