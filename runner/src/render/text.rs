//! Untrusted text made harmless for each output. Names, config, log lines and commit messages
//! come from hostile pull requests: what they hold is shown as text, never obeyed.

use std::fmt::Write as _;

/// The longest name or cell in a comment, characters.
pub const CELL_CHARS: usize = 160;

/// What keeps GitHub from turning text into a mention, a reference or a link; it has no width.
const BREAK: &str = "&#8203;";

/// Makes control and direction-changing characters visible, takes terminal colours out, and
/// keeps line breaks (`\r\n` and `\r` become `\n`).
pub fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => skip_escape_sequence(&mut chars),
            '\r' => {
                if chars.peek() == Some(&'\n') {
                    chars.next();
                }
                out.push('\n');
            }
            '\n' => out.push('\n'),
            '\t' => out.push_str("    "),
            c if c.is_control() || is_invisible(c) => {
                let _ = write!(out, "\\u{{{:x}}}", c as u32);
            }
            c => out.push(c),
        }
    }
    out
}

fn skip_escape_sequence(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match chars.next() {
        Some('[') => {
            for c in chars.by_ref() {
                if ('@'..='~').contains(&c) {
                    break;
                }
            }
        }
        Some(']') => {
            while let Some(c) = chars.next() {
                if c == '\u{7}' {
                    break;
                }
                if c == '\u{1b}' {
                    chars.next();
                    break;
                }
            }
        }
        _ => {}
    }
}

/// Marks, embeddings, overrides and isolates of direction; zero-width and tag characters.
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{61c}'
            | '\u{200b}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

/// [`clean`] on one line: line breaks become spaces.
pub fn one_line(text: &str) -> String {
    let text = clean(text);
    if text.contains('\n') {
        text.split('\n')
            .map(str::trim)
            .collect::<Vec<_>>()
            .join(" ")
    } else {
        text
    }
}

/// At most `max` characters; what is cut is marked by `…`.
pub fn shorten(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        None => text.to_owned(),
        Some(_) => {
            let mut out: String = text.chars().take(max.saturating_sub(1)).collect();
            out.push('…');
            out
        }
    }
}

/// Text for a line or table cell of GitHub Markdown: nothing in it is markup, HTML, a mention,
/// an issue reference, a link, an emoji or a formula.
pub fn markdown(text: &str) -> String {
    let text = one_line(text);
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text.trim_start();
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        let next = rest.chars().next();
        let word_follows = next.is_some_and(|n| n.is_alphanumeric() || n == '_');
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '$' => out.push_str("&#36;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '{' | '}' | '!' | '^' => {
                out.push('\\');
                out.push(c);
            }
            '#' => {
                out.push_str("\\#");
                out.push_str(if word_follows { BREAK } else { "" });
            }
            '@' => {
                out.push('@');
                out.push_str(BREAK);
            }
            ':' if next.is_some_and(|n| n.is_ascii_digit()) && ends_with_digit(&out) => {
                out.push(':')
            }
            ':' if word_follows || next.is_some_and(|n| matches!(n, '/' | '+' | '-')) => {
                out.push(':');
                out.push_str(BREAK);
            }
            '-' if next.is_some_and(|n| n.is_ascii_digit()) && ends_with_gh(&out) => {
                out.push('-');
                out.push_str(BREAK);
            }
            '.' if ends_with_www(&out) => {
                out.push_str(BREAK);
                out.push('.');
            }
            c => out.push(c),
        }
    }
    guard_line_start(out)
}

fn ends_with_digit(out: &str) -> bool {
    out.as_bytes().last().is_some_and(u8::is_ascii_digit)
}

fn ends_with_gh(out: &str) -> bool {
    let tail = out.as_bytes();
    tail.len() >= 2 && tail[tail.len() - 2..].eq_ignore_ascii_case(b"gh")
}

fn ends_with_www(out: &str) -> bool {
    let tail = out.as_bytes();
    tail.len() >= 3 && tail[tail.len() - 3..].eq_ignore_ascii_case(b"www")
}

/// A list marker, a rule or a heading's underline at the start of a line is text as well.
fn guard_line_start(out: String) -> String {
    let digits = out.bytes().take_while(u8::is_ascii_digit).count();
    let mark = out.as_bytes().get(digits).copied();
    let ends = matches!(out.as_bytes().get(digits + 1), None | Some(b' '));
    let rule = out.bytes().all(|b| matches!(b, b'-' | b'=' | b' '));
    match mark {
        Some(b'.' | b')') if digits > 0 && ends => {
            format!("{}\\{}", &out[..digits], &out[digits..])
        }
        Some(b'-' | b'+' | b'=') if digits == 0 && (ends || rule) => format!("\\{out}"),
        _ => out,
    }
}

/// A code span that holds in text and in table cells. With a pipe or a backtick inside it is
/// written as `<code>` with entities, since no code span can hold both in a cell.
pub fn markdown_code(text: &str) -> String {
    let text = one_line(text);
    if text.trim().is_empty() {
        return "–".to_owned();
    }
    if !text.contains(['|', '`']) && !text.starts_with(' ') && !text.ends_with(' ') {
        return format!("`{text}`");
    }
    let mut out = String::from("<code>");
    for c in text.chars() {
        if c.is_ascii_punctuation() {
            let _ = write!(out, "&#{};", c as u32);
        } else {
            out.push(c);
        }
    }
    out.push_str("</code>");
    out
}

/// A fenced block whose fence is longer than any run of backticks inside.
pub fn markdown_fence(text: &str) -> String {
    let text = clean(text);
    let mut longest = 0;
    let mut run = 0;
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}text\n{}\n{fence}", text.trim_end_matches('\n'))
}

/// A sentence of ours that quotes others: pairs of backticks become code spans, all else is
/// text. Whatever the quoted text holds, it can only switch between the two.
pub fn markdown_prose(text: &str) -> String {
    spans(text, markdown, markdown_code)
}

/// [`markdown_prose`] for HTML.
pub fn html_prose(text: &str) -> String {
    spans(text, html, |code| format!("<code>{}</code>", html(code)))
}

fn spans(text: &str, plain: fn(&str) -> String, code: impl Fn(&str) -> String) -> String {
    let line = one_line(text);
    let parts: Vec<&str> = line.split('`').collect();
    let last = parts.len() - 1;
    let mut out = String::new();
    for (i, part) in parts.iter().enumerate() {
        let in_code = i % 2 == 1;
        match (in_code, i == last) {
            (true, false) if part.trim().is_empty() => out.push_str(&plain("``")),
            (true, false) => out.push_str(&code(part)),
            // An odd backtick at the end opens nothing.
            (true, true) => out.push_str(&plain(&format!("`{part}"))),
            (false, _) => out.push_str(&plain_inside(part, i > 0, plain)),
        }
    }
    out
}

/// Escapes text that follows something on its line, so no line start needs guarding.
fn plain_inside(part: &str, follows: bool, plain: fn(&str) -> String) -> String {
    if !follows {
        return plain(part);
    }
    let lead = part.len() - part.trim_start_matches(' ').len();
    format!("{}{}", &part[..lead], plain(&part[lead..]))
}

/// Text for HTML, in elements and in quoted attributes.
pub fn html(text: &str) -> String {
    let text = clean(text);
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// A link's target for Markdown or HTML: http, https or relative; `None` for anything else.
pub fn link_target(target: &str) -> Option<String> {
    let scheme = target.split(['/', '?', '#']).next().unwrap_or_default();
    let lower = target.to_ascii_lowercase();
    let known = lower.starts_with("https://") || lower.starts_with("http://");
    if target.is_empty() || target.starts_with("//") || (scheme.contains(':') && !known) {
        return None;
    }
    let mut out = String::new();
    for c in target.chars() {
        let safe = c.is_ascii_alphanumeric() || "-._~:/?#@!&+,;=%".contains(c);
        if safe {
            out.push(c);
        } else {
            let mut buffer = [0u8; 4];
            for byte in c.encode_utf8(&mut buffer).bytes() {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    Some(out)
}

/// The parts of a log that say most: its first `head` and last `tail` lines, each shortened.
pub fn excerpt(text: &str, head: usize, tail: usize) -> String {
    const LINE_CHARS: usize = 300;
    let text = clean(text);
    let lines: Vec<&str> = text.trim_end_matches('\n').split('\n').collect();
    let short = |lines: &[&str]| {
        let lines: Vec<String> = lines.iter().map(|l| shorten(l, LINE_CHARS)).collect();
        lines.join("\n")
    };
    if lines.len() <= head + tail {
        return short(&lines);
    }
    let left_out = lines.len() - head - tail;
    format!(
        "{}\n… {left_out} lines left out …\n{}",
        short(&lines[..head]),
        short(&lines[lines.len() - tail..])
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_text_is_never_markup() {
        assert_eq!(markdown("a|b `c` <script>"), "a\\|b \\`c\\` &lt;script&gt;");
        assert_eq!(markdown("@everyone"), "@&#8203;everyone");
        assert_eq!(markdown("see #12, GH-7"), "see \\#&#8203;12, GH-&#8203;7");
        assert_eq!(
            markdown("https://x.y www.z.w"),
            "https:&#8203;//x.y www&#8203;.z.w"
        );
        assert_eq!(markdown("- item"), "\\- item");
        assert_eq!(markdown("1. item"), "1\\. item");
        assert_eq!(
            markdown("+1.5 % at 14:02, 580.95"),
            "+1.5 % at 14:02, 580.95"
        );
        assert_eq!(markdown("---"), "\\---");
        assert_eq!(markdown("a\nb\r\nc"), "a b c");
        assert_eq!(markdown("x\u{202e}y\u{7}"), "x\\\\u\\{202e\\}y\\\\u\\{7\\}");
        assert_eq!(markdown("&lt;"), "&amp;lt;");
    }

    #[test]
    fn code_spans_hold_in_cells() {
        assert_eq!(markdown_code("mmq<8, true>"), "`mmq<8, true>`");
        assert_eq!(markdown_code("a|b"), "<code>a&#124;b</code>");
        assert_eq!(
            markdown_code("`x`<b>"),
            "<code>&#96;x&#96;&#60;b&#62;</code>"
        );
        assert_eq!(markdown_code("  "), "–");
    }

    #[test]
    fn a_fence_is_longer_than_what_it_holds() {
        assert_eq!(markdown_fence("a\n````\nb"), "`````text\na\n````\nb\n`````");
        assert_eq!(
            markdown_fence("\u{1b}[31merror\u{1b}[0m: x"),
            "```text\nerror: x\n```"
        );
    }

    #[test]
    fn prose_has_code_but_no_markup() {
        assert_eq!(markdown_prose("run `a <b>` *now*"), "run `a <b>` \\*now\\*");
        assert_eq!(markdown_prose("an `odd one"), "an \\`odd one");
        assert_eq!(markdown_prose("x `` y"), "x \\`\\` y");
        assert_eq!(
            html_prose("run `a <b>` <i>"),
            "run <code>a &lt;b&gt;</code> &lt;i&gt;"
        );
    }

    #[test]
    fn links_lead_to_the_web_or_beside() {
        assert_eq!(link_target("javascript:alert(1)"), None);
        assert_eq!(link_target("//evil"), None);
        assert_eq!(link_target("lever/7.html").as_deref(), Some("lever/7.html"));
        assert_eq!(
            link_target("https://h/a b)(<>").as_deref(),
            Some("https://h/a%20b%29%28%3C%3E")
        );
    }

    #[test]
    fn long_logs_keep_their_ends() {
        let log: Vec<String> = (0..100).map(|i| i.to_string()).collect();
        assert_eq!(
            excerpt(&log.join("\n"), 1, 1),
            "0\n… 98 lines left out …\n99"
        );
        assert_eq!(shorten("ünïcode", 3), "ün…");
    }
}
