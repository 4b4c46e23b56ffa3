//! Lines of text, wrapped: a line that begins with a label hangs on it.

use super::layout::Layout;
use super::writer::Out;

/// The longest label that text hangs on, characters; below a longer one it is indented.
const LABEL_CHARS: usize = 16;

/// Wraps each line to the layout. Blanks at its begin indent it; what follows `label: ` stays to
/// the right of the label.
pub fn wrapped(lines: &[String], layout: Layout) -> String {
    let mut out = Out::new(layout);
    for line in lines {
        let text = line.trim_start();
        let indent = line.len() - text.len();
        let label = text.find(": ").map_or(0, |at| at + 2);
        match text.get(..label) {
            Some(mark) if label > 0 && mark.chars().count() <= LABEL_CHARS => {
                out.hanging(mark, &text[label..], indent);
            }
            _ => out.paragraph(text, indent),
        }
    }
    out.text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_hangs_on_a_short_label_and_is_indented_below_a_long_one() {
        let lines = [
            "  A/A: no effect after 10 pairs, as it should be".to_owned(),
            "a label that is longer than that: and its text".to_owned(),
            String::new(),
        ];
        assert_eq!(
            wrapped(&lines, Layout::plain(40)),
            "  A/A: no effect after 10 pairs, as it\n       should be\n\
             a label that is longer than that: and\nits text\n\n"
        );
    }
}
