//! Walks over a claim's text, and errors that point into it.

use std::fmt;
use std::ops::Range;

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

/// A place in a claim's text.
pub(super) struct Cursor<'t> {
    pub(super) text: &'t str,
    pub(super) at: usize,
}

impl<'t> Cursor<'t> {
    pub(super) fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    pub(super) fn skip_blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    /// Moves past `symbol` if it comes next.
    pub(super) fn take(&mut self, symbol: &str) -> bool {
        let found = self.rest().starts_with(symbol);
        if found {
            self.at += symbol.len();
        }
        found
    }

    /// Moves past a word of the given characters; empty if there is none.
    pub(super) fn word(&mut self, belongs: impl Fn(char) -> bool) -> (&'t str, Range<usize>) {
        let rest = self.rest();
        let end = rest.find(|c| !belongs(c)).unwrap_or(rest.len());
        let span = self.at..self.at + end;
        self.at = span.end;
        (&rest[..end], span)
    }

    /// Moves past a whole word if it comes next.
    pub(super) fn take_word(&mut self, wanted: &str) -> bool {
        let before = self.at;
        let (word, _) = self.word(is_word);
        let found = word == wanted;
        if !found {
            self.at = before;
        }
        found
    }

    /// What comes next, up to the next blank: what errors point at.
    pub(super) fn next_span(&self) -> Range<usize> {
        let rest = self.rest();
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        self.at..self.at + end
    }

    pub(super) fn error<T>(
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
}

/// Whether a character belongs to a word.
pub(super) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
