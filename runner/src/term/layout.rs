//! How wide the terminal is and whether it has colours.

use std::io::IsTerminal;

use crate::render::view::Tone;

/// The width used where the output is no terminal.
const DEFAULT_WIDTH: u16 = 80;
/// The widest that text is laid out.
const MAX_WIDTH: u16 = 120;
/// Below this a table cannot be read anyway.
const MIN_WIDTH: u16 = 40;

/// Width and colours of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Columns.
    pub width: u16,
    /// Whether to colour.
    pub color: bool,
}

impl Layout {
    /// Plain text of the given width.
    pub fn plain(width: u16) -> Layout {
        Layout {
            width: width.clamp(MIN_WIDTH, MAX_WIDTH),
            color: false,
        }
    }

    /// For standard output: the terminal's width, and colours unless `NO_COLOR` is set.
    pub fn stdout() -> Layout {
        let stdout = std::io::stdout();
        Layout::of(
            stdout.is_terminal(),
            rustix::termios::tcgetwinsize(&stdout).ok(),
        )
    }

    /// For standard error.
    pub fn stderr() -> Layout {
        let stderr = std::io::stderr();
        Layout::of(
            stderr.is_terminal(),
            rustix::termios::tcgetwinsize(&stderr).ok(),
        )
    }

    /// For standard output of a command whose lines other programs read: as [`Layout::stdout`],
    /// and of any width where the output is no terminal.
    pub fn stdout_or_unwrapped() -> Layout {
        match std::io::stdout().is_terminal() {
            true => Layout::stdout(),
            false => Layout {
                width: u16::MAX,
                color: false,
            },
        }
    }

    fn of(terminal: bool, size: Option<rustix::termios::Winsize>) -> Layout {
        let columns = size.map(|s| s.ws_col).filter(|c| terminal && *c > 0);
        let set = |name: &str| std::env::var_os(name).is_some_and(|v| !v.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|v| v == "dumb");
        Layout {
            width: columns.unwrap_or(DEFAULT_WIDTH).clamp(MIN_WIDTH, MAX_WIDTH),
            color: terminal && !dumb && !set("NO_COLOR"),
        }
    }

    /// The text in bold.
    pub(super) fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    /// The text in grey.
    pub(super) fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    /// The text in the colour of what it means.
    pub(super) fn toned(self, tone: Tone, text: &str) -> String {
        let code = match tone {
            Tone::Good => "1;32",
            Tone::Fair => "1;33",
            Tone::Bad => "1;31",
            Tone::Open => "1",
            Tone::Machine => "1;35",
        };
        self.paint(code, text)
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.color {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
}
