//! Errors in a user's file, each with its place. Nothing here knows what the file means.

use std::cell::RefCell;
use std::fmt;
use std::ops::Range;

/// One thing that is wrong with a file, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// The file's name, as the caller gave it.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong, a sentence without the final full stop.
    pub message: String,
    /// What to do about it, where that can be said.
    pub help: Option<String>,
    /// The offending line as it is in the file; of a long one, the part around the fault.
    pub excerpt: String,
    /// Where the fault is in the excerpt, in characters from 1.
    pub mark: usize,
    /// How many characters of the excerpt are at fault; at least 1.
    pub width: usize,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.line.to_string();
        let gutter = " ".repeat(number.len());
        let (line, indent) = printable(&self.excerpt, self.mark);
        writeln!(
            f,
            "{}:{}:{}: {}",
            self.file, self.line, self.column, self.message
        )?;
        writeln!(f, " {gutter} |")?;
        writeln!(f, " {number} | {line}")?;
        write!(f, " {gutter} | {indent}{}", "^".repeat(self.width))?;
        if let Some(help) = &self.help {
            write!(f, "\n {gutter} = help: {help}")?;
        }
        Ok(())
    }
}

/// The line without control characters, and the blanks that lead to `column`: tabs stay tabs,
/// so that the caret stands under the right character whatever the tab's width.
fn printable(line: &str, column: usize) -> (String, String) {
    let shown: String = line
        .chars()
        .map(|c| {
            if c.is_control() && c != '\t' {
                '\u{fffd}'
            } else {
                c
            }
        })
        .collect();
    let indent = shown
        .chars()
        .take(column - 1)
        .map(|c| if c == '\t' { '\t' } else { ' ' })
        .collect();
    (shown, indent)
}

/// Everything that is wrong with a file, in the order of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigErrors(pub Vec<ConfigError>);

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("\n\n")?;
            }
            write!(f, "{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigErrors {}

/// The most errors that are collected; a hostile file could make any number.
const MOST_ERRORS: usize = 100;
/// The longest part of a line that is shown, characters.
const EXCERPT: usize = 160;
/// The longest message or help, characters: they quote words of the file.
const LONGEST: usize = 1000;

fn shortened(text: String) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}\u{2026}", &text[..end]),
        None => text,
    }
}

/// Collects errors while a file is read.
#[derive(Debug)]
pub(super) struct Sink<'a> {
    file: &'a str,
    text: &'a str,
    errors: RefCell<Vec<(usize, ConfigError)>>,
}

impl<'a> Sink<'a> {
    pub(super) fn new(file: &'a str, text: &'a str) -> Self {
        Sink {
            file,
            text,
            errors: RefCell::new(Vec::new()),
        }
    }

    /// The file's text.
    pub(super) fn text(&self) -> &'a str {
        self.text
    }

    /// Notes an error at a range of bytes.
    pub(super) fn error(&self, span: Range<usize>, message: impl Into<String>) {
        self.push(span, message.into(), None);
    }

    /// Notes an error together with its remedy.
    pub(super) fn error_help(
        &self,
        span: Range<usize>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.push(span, message.into(), Some(help.into()));
    }

    fn push(&self, span: Range<usize>, message: String, help: Option<String>) {
        let mut errors = self.errors.borrow_mut();
        if errors.len() >= MOST_ERRORS {
            return;
        }
        let start = floor_boundary(self.text, span.start);
        let end = floor_boundary(self.text, span.end.max(start));
        let before = &self.text[..start];
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        let line = self.text[line_start..].lines().next().unwrap_or_default();
        let column = self.text[line_start..start].chars().count() + 1;
        let marked = end.min(line_start + line.len()).max(start) - start;
        let width = self.text[start..start + marked].chars().count();
        let skipped = column.saturating_sub(EXCERPT / 2);
        let skipped = if line.len() <= EXCERPT { 0 } else { skipped };
        let error = ConfigError {
            file: self.file.to_owned(),
            line: before.matches('\n').count() + 1,
            column,
            message: shortened(message),
            help: help.map(shortened),
            excerpt: line.chars().skip(skipped).take(EXCERPT).collect(),
            mark: column - skipped,
            width: width.clamp(1, (EXCERPT + 1 + skipped).saturating_sub(column).max(1)),
        };
        errors.push((start, error));
    }

    /// Whether nothing was wrong so far.
    pub(super) fn is_empty(&self) -> bool {
        self.errors.borrow().is_empty()
    }

    /// All errors in the order of the file.
    pub(super) fn into_errors(self) -> ConfigErrors {
        let mut errors = self.errors.into_inner();
        errors.sort_by_key(|(at, _)| *at);
        errors.dedup_by(|a, b| a.1 == b.1);
        ConfigErrors(errors.into_iter().map(|(_, error)| error).collect())
    }
}

fn floor_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The candidate most like `word`, if one is near enough to be what was meant.
pub(crate) fn nearest<'c>(
    word: &str,
    candidates: impl IntoIterator<Item = &'c str>,
) -> Option<&'c str> {
    let wanted = word.to_lowercase();
    candidates
        .into_iter()
        .map(|candidate| {
            let score = strsim::jaro_winkler(&wanted, &candidate.to_lowercase());
            let edits = strsim::damerau_levenshtein(&wanted, &candidate.to_lowercase());
            (candidate, score, edits)
        })
        .filter(|(candidate, score, edits)| {
            *score >= 0.85 || *edits <= 1.max(candidate.chars().count() / 3)
        })
        .min_by(|a, b| {
            let lengths = |c: &str| c.chars().count().abs_diff(wanted.chars().count());
            let edits = a.2.cmp(&b.2);
            let by_length = lengths(a.0).cmp(&lengths(b.0));
            edits.then(by_length).then(b.1.total_cmp(&a.1))
        })
        .map(|(candidate, _, _)| candidate)
}

/// `did you mean …?`, or what there is to choose from.
pub(crate) fn suggestion<'c>(
    word: &str,
    candidates: impl IntoIterator<Item = &'c str> + Clone,
) -> String {
    if let Some(candidate) = nearest(word, candidates.clone()) {
        return format!("did you mean `{candidate}`?");
    }
    let all: Vec<String> = candidates.into_iter().map(|c| format!("`{c}`")).collect();
    match all.as_slice() {
        [] => "there is none".to_owned(),
        all => format!("there is {}", all.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_shows_its_line_with_a_caret_under_the_right_character() {
        let text = "a = 1\n\tµnit = \"x\"\n";
        let sink = Sink::new("campaign.toml", text);
        let at = text.find('"').expect("the text has a quote");
        sink.error_help(at..at + 3, "no such unit", "use `s`");
        let ConfigErrors(errors) = sink.into_errors();
        assert_eq!((errors[0].line, errors[0].column), (2, 9));
        assert_eq!(
            errors[0].to_string(),
            "campaign.toml:2:9: no such unit\n   |\n 2 | \tµnit = \"x\"\n   | \t       ^^^\n   = help: use `s`"
        );
    }

    #[test]
    fn a_span_past_the_end_or_inside_a_character_is_no_panic() {
        let text = "µ";
        let sink = Sink::new("f", text);
        sink.error(1..99, "x");
        sink.error(99..100, "y");
        sink.error(Range { start: 2, end: 0 }, "z");
        assert_eq!(sink.into_errors().0.len(), 3);
    }

    #[test]
    fn long_lines_and_many_errors_stay_readable() {
        let text = format!("x = '{}' + {}", "a".repeat(1000), "b".repeat(1000));
        let sink = Sink::new("f", &text);
        let at = text.find('+').expect("the text has one");
        sink.error(at..at + 900, "x".repeat(5000));
        for _ in 0..1000 {
            sink.error(3..5, "y");
            sink.error(4..6, "y");
        }
        let ConfigErrors(errors) = sink.into_errors();
        assert_eq!(errors.len(), 3, "equal errors are shown once");
        let error = &errors[2];
        assert_eq!(error.column, at + 1);
        assert_eq!(error.excerpt.chars().nth(error.mark - 1), Some('+'));
        assert!(error.mark - 1 + error.width <= EXCERPT);
        assert!(error.to_string().len() < 1500);
    }

    #[test]
    fn nearest_finds_slips_and_rejects_other_words() {
        let keys = ["command", "outputs", "directory", "bar"];
        assert_eq!(nearest("comand", keys), Some("command"));
        assert_eq!(nearest("output", keys), Some("outputs"));
        assert_eq!(nearest("bra", keys), Some("bar"));
        assert_eq!(nearest("zzz", keys), None);
    }
}
