//! The pull-request comment as GitHub Markdown, within GitHub's limit: whole sections are left
//! out, with a line that says which and where they are, and the text is measured again after.

use std::collections::BTreeMap;

use serde::Serialize;

use super::engine::{RenderError, render};
use super::text::excerpt;
use super::view::{KernelRow, LeverView};

/// GitHub's limit for a comment, characters.
pub const COMMENT_LIMIT: usize = 65_536;

/// Changed kernels in the visible table; the others are folded.
const VISIBLE_KERNELS: usize = 20;

/// Lines shown of a compiler's first error.
const ERROR_LINES: usize = 4;

/// The sections that may be left out, the most dispensable first: key in the template, and title.
const SECTIONS: [(&str, &str); 13] = [
    ("samples", "sample counts"),
    ("counters", "hardware counters"),
    ("census", "instruction census"),
    ("logs", "log excerpts"),
    ("setup", "commands and environment"),
    ("machine", "machine and toolchain"),
    ("more_kernels", "the folded part of the kernel table"),
    ("rounds", "campaign table"),
    ("gates", "gates"),
    ("claims", "claims"),
    ("kernels", "kernel table"),
    ("registration", "registration"),
    ("reasons", "reasons"),
];

/// How a comment is to be made.
#[derive(Debug, Clone)]
pub struct CommentOptions {
    /// The most characters.
    pub limit: usize,
    /// Where the whole record is: a link, or `None` for the command that shows it.
    pub record_link: Option<String>,
}

impl Default for CommentOptions {
    fn default() -> Self {
        CommentOptions {
            limit: COMMENT_LIMIT,
            record_link: None,
        }
    }
}

/// A comment, ready to post.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    /// The Markdown.
    pub markdown: String,
    /// The titles of the sections that were left out.
    pub dropped: Vec<&'static str>,
}

/// What the template sees.
#[derive(Serialize)]
struct CommentView<'a> {
    lever: &'a LeverView,
    first_errors: Vec<FirstError>,
    kernels: &'a [KernelRow],
    more_kernels: &'a [KernelRow],
    more_kernels_count: usize,
    show: BTreeMap<&'static str, bool>,
    dropped: String,
    record_link: Option<String>,
    brief: bool,
}

#[derive(Serialize)]
struct FirstError {
    side: &'static str,
    text: String,
}

/// Renders the comment of one run.
pub fn comment(lever: &LeverView, options: &CommentOptions) -> Result<Comment, RenderError> {
    for dropped in 0..=SECTIONS.len() {
        let markdown = render_without(lever, options, dropped, false)?;
        if characters(&markdown) <= options.limit {
            return Ok(Comment {
                markdown,
                dropped: titles(dropped, lever),
            });
        }
    }
    let markdown = render_without(lever, options, SECTIONS.len(), true)?;
    Ok(Comment {
        markdown,
        dropped: titles(SECTIONS.len(), lever),
    })
}

/// GitHub's count of a text. It is not documented what a character is; UTF-16 units are never
/// fewer than code points.
pub fn characters(text: &str) -> usize {
    text.encode_utf16().count()
}

/// The first `dropped` sections' titles, as far as the run has them at all.
fn titles(dropped: usize, lever: &LeverView) -> Vec<&'static str> {
    let gone = SECTIONS.iter().take(dropped);
    gone.filter(|(key, _)| has_section(lever, key))
        .map(|(_, title)| *title)
        .collect()
}

fn has_section(lever: &LeverView, key: &str) -> bool {
    let kernels = lever.delta.as_ref().map_or(0, |d| d.kernels.len());
    match key {
        "samples" => lever.benches.iter().any(|b| !b.missing.is_empty()),
        "census" => lever.census.iter().any(|c| !c.rows.is_empty()),
        "logs" => !lever.logs.is_empty(),
        "setup" => !lever.setup.is_empty(),
        "machine" => !lever.machine.is_empty() || !lever.toolchain.is_empty(),
        "more_kernels" => kernels > VISIBLE_KERNELS,
        "counters" => !lever.counters.kernels.is_empty() || !lever.counters.notes.is_empty(),
        "kernels" => kernels > 0,
        "gates" => !lever.gates.rows.is_empty(),
        "claims" => !lever.claims.rows.is_empty(),
        "reasons" => !lever.reasons.is_empty(),
        _ => true,
    }
}

fn render_without(
    lever: &LeverView,
    options: &CommentOptions,
    dropped: usize,
    brief: bool,
) -> Result<String, RenderError> {
    let kernels = lever
        .delta
        .as_ref()
        .map_or(&[][..], |d| d.kernels.as_slice());
    let (visible, more) = kernels.split_at(kernels.len().min(VISIBLE_KERNELS));
    let show = SECTIONS
        .iter()
        .enumerate()
        .map(|(i, (key, _))| (*key, i >= dropped && has_section(lever, key)))
        .collect();
    let view = CommentView {
        lever,
        first_errors: lever
            .first_errors()
            .map(|(side, text)| FirstError {
                side: side.as_str(),
                text: excerpt(text, ERROR_LINES, 0),
            })
            .collect(),
        kernels: visible,
        more_kernels: more,
        more_kernels_count: more.len(),
        show,
        dropped: titles(dropped, lever).join(", "),
        record_link: options
            .record_link
            .as_deref()
            .and_then(super::text::link_target),
        brief,
    };
    let markdown = render("comment.md.j2", &view)?;
    Ok(squeeze_blank_lines(&markdown))
}

/// One blank line is enough anywhere outside fenced blocks, and no line ends in spaces there.
fn squeeze_blank_lines(markdown: &str) -> String {
    let mut out = String::with_capacity(markdown.len());
    let mut fence: Option<&str> = None;
    let mut blank = true;
    for line in markdown.lines() {
        let ticks = line.trim_start_matches('`').len();
        let run = &line[..line.len() - ticks];
        let was_inside = fence.is_some();
        match fence {
            None if run.len() >= 3 => fence = Some(run),
            Some(open) if run == open && ticks == 0 => fence = None,
            _ => {}
        }
        let line = if was_inside { line } else { line.trim_end() };
        if !line.is_empty() || was_inside || !blank {
            out.push_str(line);
            out.push('\n');
        }
        blank = line.is_empty() && !was_inside;
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_lines_are_squeezed_outside_fences_only() {
        let text = "a\n\n\nb  \n```text\nx\n\n\ny  \n```\n\n\nc\n";
        assert_eq!(
            squeeze_blank_lines(text),
            "a\n\nb\n```text\nx\n\n\ny  \n```\n\nc\n"
        );
    }
}
