//! Texts of a file, made fit for messages.
//!
//! No message shows a text of the file in any other way: a file's names may hold what clears a
//! terminal, and be 64 KiB long.

use std::fmt::{self, Display, Formatter, Write};

/// The most characters of a text that are shown.
const LIMIT: usize = 64;

/// A text of a file as messages show it: what is not printable is escaped, and what is long is
/// cut off, with its size in its place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shown<'a>(pub(super) &'a str);

impl Display for Shown<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for character in self.0.chars().take(LIMIT) {
            match character {
                '"' | '\'' => f.write_char(character)?,
                other => write!(f, "{}", other.escape_debug())?,
            }
        }
        match self.0.chars().nth(LIMIT) {
            None => Ok(()),
            Some(_) => write!(f, "... ({} bytes)", self.0.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printable_text_stays_and_other_text_is_escaped() {
        let shown = |text| Shown(text).to_string();
        assert_eq!(shown("blk.0.attn_q.weight"), "blk.0.attn_q.weight");
        assert_eq!(shown("it's \u{df}"), "it's \u{df}");
        assert_eq!(shown("\x1b[2J\r\n\0\u{9b}"), r"\u{1b}[2J\r\n\0\u{9b}");
        // What turns the direction of the text round, and a backslash.
        assert_eq!(shown("\u{202e}\\n"), r"\u{202e}\\n");
    }

    #[test]
    fn long_text_is_cut_off() {
        let longest = "\u{df}".repeat(LIMIT);
        assert_eq!(Shown(&longest).to_string(), longest);
        let longer = longest.clone() + "a";
        assert_eq!(
            Shown(&longer).to_string(),
            format!("{longest}... ({} bytes)", 2 * LIMIT + 1)
        );
    }
}
