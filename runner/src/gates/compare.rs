//! Byte comparison of two outputs, and where they first differ. Pure.

use regex::bytes::Regex;

/// A gate's output without the lines that may differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept<'a> {
    /// Lines with their line breaks, each with its number (from 1) in the whole output.
    lines: Vec<(usize, &'a [u8])>,
}

impl<'a> Kept<'a> {
    /// Leaves out every line that one of the expressions matches.
    pub fn of(output: &'a [u8], drop_lines: &[Regex]) -> Self {
        let lines = (1..)
            .zip(output.split_inclusive(|b| *b == b'\n'))
            .filter(|(_, line)| {
                let text = line.strip_suffix(b"\n").unwrap_or(line);
                !drop_lines.iter().any(|regex| regex.is_match(text))
            })
            .collect();
        Kept { lines }
    }

    /// What was kept, line breaks included.
    pub fn bytes(&self) -> Vec<u8> {
        self.lines
            .iter()
            .flat_map(|(_, line)| line.iter().copied())
            .collect()
    }

    /// How many bytes were kept, line breaks aside.
    pub fn content_bytes(&self) -> usize {
        let is_break = |b: &&u8| matches!(**b, b'\n' | b'\r');
        self.lines
            .iter()
            .map(|(_, line)| line.iter().filter(|b| !is_break(b)).count())
            .sum()
    }
}

/// The first place at which two outputs differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The line's number in base's output, from 1 (in head's, where base's has ended).
    pub line: usize,
    /// The token's (word's) index in that line, from 1.
    pub token: usize,
    /// Offset of the first differing byte in the compared output, from 0.
    pub byte: usize,
    /// A few characters of base around the place; `None` where base's output has ended.
    pub base: Option<String>,
    /// The same of head.
    pub head: Option<String>,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let side = |excerpt: &Option<String>| match excerpt {
            Some(text) => format!("`{text}`"),
            None => "nothing (its output has ended)".to_owned(),
        };
        write!(
            f,
            "outputs differ first at line {}, token {}, byte {}: base has {}, head has {}",
            self.line,
            self.token,
            self.byte,
            side(&self.base),
            side(&self.head)
        )
    }
}

/// Compares byte by byte; `None` where both are equal.
pub fn difference(base: &Kept<'_>, head: &Kept<'_>) -> Option<Difference> {
    let mut before = 0;
    let longest = base.lines.len().max(head.lines.len());
    for index in 0..longest {
        let (of_base, of_head) = (base.lines.get(index), head.lines.get(index));
        let b = of_base.map_or(&b""[..], |(_, line)| line);
        let h = of_head.map_or(&b""[..], |(_, line)| line);
        if b == h {
            before += b.len();
            continue;
        }
        let at = b.iter().zip(h).take_while(|(x, y)| x == y).count();
        let common = &b[..at];
        return Some(Difference {
            line: of_base.or(of_head).map_or(0, |(number, _)| *number),
            token: token_index(common),
            byte: before + at,
            base: of_base.map(|_| excerpt(b, at)),
            head: of_head.map(|_| excerpt(h, at)),
        });
    }
    None
}

/// The index, from 1, of the word in which the byte after `common` stands.
fn token_index(common: &[u8]) -> usize {
    let words = common
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
        .count();
    let in_a_word = common.last().is_some_and(|b| !b.is_ascii_whitespace());
    if in_a_word { words } else { words + 1 }
}

/// About forty bytes around a place, control characters shown as escapes.
fn excerpt(line: &[u8], at: usize) -> String {
    const BEFORE: usize = 16;
    const AFTER: usize = 24;
    let (from, to) = (at.saturating_sub(BEFORE), line.len().min(at + AFTER));
    let text: String = String::from_utf8_lossy(&line[from..to])
        .chars()
        .map(|c| {
            if c.is_control() {
                c.escape_default().to_string()
            } else {
                c.to_string()
            }
        })
        .collect();
    let start = if from > 0 { "…" } else { "" };
    let end = if to < line.len() { "…" } else { "" };
    format!("{start}{text}{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compare(base: &str, head: &str, drop: &[&str]) -> Option<Difference> {
        let drop: Vec<Regex> = drop.iter().map(|d| Regex::new(d).expect("regex")).collect();
        let (b, h) = (
            Kept::of(base.as_bytes(), &drop),
            Kept::of(head.as_bytes(), &drop),
        );
        difference(&b, &h)
    }

    #[test]
    fn dropped_lines_do_not_count() {
        let base = "load 3.1 s\nthe cat sat\n1311.8 tok/s\n";
        let head = "load 2.9 s\nthe cat sat\n1350.0 tok/s\n";
        assert!(compare(base, head, &[]).is_some());
        assert_eq!(compare(base, head, &["tok/s", "^load"]), None);
    }

    #[test]
    fn the_first_difference_is_named_by_line_token_and_byte() {
        let base = "t 1\nalpha\nthe cat sat on\n";
        let head = "t 2\nalpha\nthe cat sits on\n";
        let found = compare(base, head, &["^t "]).expect("they differ");
        assert_eq!((found.line, found.token, found.byte), (3, 3, 15));
        assert_eq!(
            found.to_string(),
            "outputs differ first at line 3, token 3, byte 15: base has `the cat sat on\\n`, \
             head has `the cat sits on\\n`"
        );
    }

    #[test]
    fn an_output_that_ends_early_differs() {
        let found = compare("a b\nc\n", "a b\n", &[]).expect("they differ");
        assert_eq!((found.line, found.token, found.byte), (2, 1, 4));
        assert_eq!(found.head, None);
        let found = compare("a b", "a b\n", &[]).expect("the line break counts");
        assert_eq!((found.line, found.token, found.byte), (1, 2, 3));
        assert_eq!(found.head.as_deref(), Some("a b\\n"));
    }

    #[test]
    fn a_new_word_is_a_new_token() {
        let found = compare("one two three\n", "one two four\n", &[]).expect("they differ");
        assert_eq!(found.token, 3);
        let found = compare("x", "y", &[]).expect("they differ");
        assert_eq!((found.line, found.token, found.byte), (1, 1, 0));
    }

    #[test]
    fn excerpts_are_short_and_printable() {
        let base = format!("{}\u{1b}[0m{}", "a".repeat(50), "b".repeat(50));
        let head = base.replace('\u{1b}', "X");
        let found = compare(&base, &head, &[]).expect("they differ");
        let text = found.base.expect("an excerpt");
        assert!(text.starts_with("…aaaa") && text.ends_with("bb…"), "{text}");
        assert!(text.contains("\\u{1b}[0m") && text.len() < 60, "{text}");
    }

    #[test]
    fn content_leaves_out_line_breaks() {
        assert_eq!(Kept::of(b"\n\r\n\n", &[]).content_bytes(), 0);
        assert_eq!(Kept::of(b"ab\ncd", &[]).content_bytes(), 4);
    }
}
