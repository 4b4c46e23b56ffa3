//! `campaign.toml`: the checked configuration that the rest of the program uses.
//!
//! [`parse`] reads the file's text and validates it into the types here; errors name file, line,
//! column and the nearest valid key. The types here hold no file access and are stored in every
//! record, so that a replay needs no file. `docs/campaign-toml.md` is the reference for users.

mod bar;
pub(crate) mod canonical;
mod commands;
mod counters;
mod detect;
mod diagnostic;
mod file;
mod floor;
mod items;
mod launched;
mod machine;
pub(crate) mod number;
mod parse;
mod protocol;
mod reader;
mod reference;
mod schema;
mod sections;
mod template;
mod types;
mod values;

pub use bar::{BarError, bar_text, parse_bar};
pub use detect::{Found, Recipe, Unit, detect};
pub use diagnostic::{ConfigError, ConfigErrors};
pub(crate) use diagnostic::{nearest, suggestion};
pub use file::{FILE_NAME, LoadError};
pub use floor::Floor;
pub use machine::{DEFAULT_DRAIN_S, Machine};
pub use parse::{PINNED_CUDA, parse};
pub use protocol::{DEFAULT_PROTOCOL, LEAST_PAIRS};
pub use reference::{Reference, ReferenceProbe};
pub use template::render as render_template;
pub use types::*;

#[cfg(test)]
mod tests;
