//! The template engine: the embedded templates, strict about undefined names, escaping every
//! value for the template's format. The only module that uses minijinja.

use std::sync::LazyLock;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment, Error, ErrorKind, Output, State, UndefinedBehavior};
use serde::Serialize;

use super::text;

/// The name of the Markdown escape mode.
const MARKDOWN: &str = "markdown";

/// The longest sentence in a comment, characters.
const PROSE_CHARS: usize = 1_500;

/// Every template, by name. The extension before `.j2` decides how values are escaped.
const TEMPLATES: [(&str, &str); 6] = [
    (
        "comment.md.j2",
        include_str!("../../../templates/comment.md.j2"),
    ),
    (
        "drift.html.j2",
        include_str!("../../../templates/drift.html.j2"),
    ),
    (
        "index.html.j2",
        include_str!("../../../templates/index.html.j2"),
    ),
    (
        "layout.html.j2",
        include_str!("../../../templates/layout.html.j2"),
    ),
    (
        "lever.html.j2",
        include_str!("../../../templates/lever.html.j2"),
    ),
    (
        "parts.html.j2",
        include_str!("../../../templates/parts.html.j2"),
    ),
];

/// A template could not be rendered: a fault of this program, not of the input.
#[derive(Debug, thiserror::Error)]
#[error("rendering the template `{template}` (please report this)")]
pub struct RenderError {
    /// The template.
    pub template: String,
    /// What the engine says.
    #[source]
    source: Error,
}

static ENGINE: LazyLock<Result<Environment<'static>, String>> =
    LazyLock::new(|| environment().map_err(|error| format!("{error:#}")));

/// Renders one embedded template from its view.
pub(super) fn render(template: &str, view: &impl Serialize) -> Result<String, RenderError> {
    let fail = |source| RenderError {
        template: template.to_owned(),
        source,
    };
    let engine = ENGINE
        .as_ref()
        .map_err(|text| fail(Error::new(ErrorKind::SyntaxError, text.clone())))?;
    engine
        .get_template(template)
        .and_then(|t| t.render(Serde(view)))
        .map_err(fail)
}

fn environment() -> Result<Environment<'static>, Error> {
    let mut env = Environment::new();
    env.set_undefined_behavior(UndefinedBehavior::Strict);
    env.set_syntax(
        SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .build()?,
    );
    env.set_auto_escape_callback(|name| {
        if name.ends_with(".md.j2") {
            AutoEscape::Custom(MARKDOWN.into())
        } else {
            AutoEscape::Html
        }
    });
    env.set_formatter(write_escaped);
    env.add_filter("code", |state: &State<'_, '_>, value: String| {
        Value::from_safe_string(if is_markdown(state) {
            text::markdown_code(&text::shorten(&value, text::CELL_CHARS))
        } else {
            format!("<code>{}</code>", text::html(&value))
        })
    });
    env.add_filter("prose", |state: &State<'_, '_>, value: String| {
        Value::from_safe_string(if is_markdown(state) {
            text::markdown_prose(&text::shorten(&value, PROSE_CHARS))
        } else {
            text::html_prose(&value)
        })
    });
    env.add_filter("short", |value: String| {
        text::shorten(&value, text::CELL_CHARS)
    });
    env.add_filter("num", number);
    env.add_filter("num_text", real_minus);
    env.add_filter("arrow", arrow);
    env.add_filter("fence", |value: String| {
        Value::from_safe_string(text::markdown_fence(&value))
    });
    for (name, source) in TEMPLATES {
        env.add_template(name, source)?;
    }
    Ok(env)
}

/// A figure that must not break over lines and has a real minus sign.
fn number(state: &State<'_, '_>, value: String) -> Value {
    Value::from_safe_string(if is_markdown(state) {
        text::markdown_prose(&value).replace(' ', "&nbsp;")
    } else {
        format!(
            "<span class=\"num\">{}</span>",
            text::html(&real_minus(value))
        )
    })
}

/// A minus sign in place of a hyphen before a digit at the start or after a space or bracket.
fn real_minus(value: String) -> String {
    let chars: Vec<char> = value.chars().collect();
    let sign_at = |i: usize| {
        chars[i] == '-'
            && chars.get(i + 1).is_some_and(char::is_ascii_digit)
            && (i == 0 || matches!(chars[i - 1], ' ' | '['))
    };
    (0..chars.len())
        .map(|i| if sign_at(i) { '\u{2212}' } else { chars[i] })
        .collect()
}

/// A change `before -> after` with a real arrow, as a figure.
fn arrow(state: &State<'_, '_>, value: String) -> Value {
    let short = text::shorten(&value.replace(" -> ", " → "), 4 * text::CELL_CHARS);
    Value::from_safe_string(if is_markdown(state) {
        text::markdown(&short)
    } else {
        text::html(&short)
    })
}

fn is_markdown(state: &State<'_, '_>) -> bool {
    matches!(state.auto_escape(), AutoEscape::Custom(name) if name == MARKDOWN)
}

fn write_escaped(
    out: &mut Output<'_>,
    state: &mut State<'_, '_>,
    value: &Value,
) -> Result<(), Error> {
    let text = value.to_string();
    let escaped = if value.is_safe() {
        text
    } else if is_markdown(state) {
        text::markdown(&text::shorten(&text, 4 * text::CELL_CHARS))
    } else {
        text::html(&text)
    };
    out.write_str(&escaped).map_err(Error::from)
}
