//! Small conversions that every part of the record needs.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{RecordError, Result, RunId};

/// A value as JSON text. The model's types have string keys and finite numbers only, so this
/// cannot fail for them; a value that does would be stored as `null`.
pub(super) fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned())
}

/// Stored JSON text as a value.
pub(super) fn parse<T: DeserializeOwned>(run: RunId, what: &'static str, text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| RecordError::Unreadable {
        run,
        what,
        detail: error.to_string(),
    })
}

/// The `tag` of an internally tagged enum, as its serde form spells it.
pub(super) fn tag<T: Serialize>(value: &T, key: &str) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value
        .get(key)
        .or(Some(&value))
        .and_then(|v| v.as_str())
        .unwrap_or_default()
        .to_owned()
}
