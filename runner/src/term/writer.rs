//! Text under construction: titles, wrapped paragraphs, tables.

use super::layout::Layout;
use super::table::{Column, table};
use crate::render::text::{one_line, shorten};

/// The longest paragraph, characters.
const PARAGRAPH_CHARS: usize = 2_000;

/// A text and how wide it may be.
pub(super) struct Out {
    pub(super) text: String,
    pub(super) layout: Layout,
}

impl Out {
    pub(super) fn new(layout: Layout) -> Out {
        Out {
            text: String::new(),
            layout,
        }
    }

    pub(super) fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    pub(super) fn blank(&mut self) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
    }

    pub(super) fn title(&mut self, title: &str) {
        self.blank();
        let title = self.layout.bold(title);
        self.line(&title);
    }

    pub(super) fn table(&mut self, columns: &[Column], rows: &[Vec<String>]) {
        let text = table(columns, rows, self.layout);
        self.text.push_str(&text);
    }

    /// Text wrapped at spaces, every line indented; words longer than a line are left whole.
    pub(super) fn paragraph(&mut self, text: &str, indent: usize) {
        self.hanging("", text, indent);
    }

    pub(super) fn hanging(&mut self, mark: &str, text: &str, indent: usize) {
        let text = shorten(&one_line(text), PARAGRAPH_CHARS);
        let inner = indent + mark.chars().count();
        let room = usize::from(self.layout.width).saturating_sub(inner).max(20);
        let mut lead = format!("{}{mark}", " ".repeat(indent));
        let mut line = String::new();
        for word in text.split(' ').filter(|w| !w.is_empty()) {
            if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > room {
                self.line(&format!("{lead}{line}"));
                lead = " ".repeat(inner);
                line.clear();
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        self.line(format!("{lead}{line}").trim_end());
    }
}
