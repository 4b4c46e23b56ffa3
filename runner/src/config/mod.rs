//! `campaign.toml`: the checked configuration that the rest of the program uses.
//!
//! `parse` (in `parse.rs`) reads the file into raw serde structs, then validates them into the
//! types here; errors name file, line, column and the nearest valid key. The types here hold no
//! file access and are stored in every record, so that a replay needs no file.

mod types;

pub use types::*;
