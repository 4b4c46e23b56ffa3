//! Reads tables of a TOML document key by key and notes every slip with its place.
//!
//! serde stops at the first error of a document; a person who writes a config wants all of
//! them. So tables are walked here, against the key lists of `schema`: an unknown key is an
//! error at once, a missing or ill-typed one when it is asked for.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::diagnostic::{Sink, nearest, suggestion};
use super::number;
use super::schema::Table;

/// A text with its place in the file.
pub(super) type Text = Spanned<String>;

/// One table of the document, with the keys it may hold.
#[derive(Clone, Copy)]
pub(super) struct Section<'a> {
    schema: &'static Table,
    table: &'a DeTable<'a>,
    at: (usize, usize),
    pub(super) sink: &'a Sink<'a>,
}

impl<'a> Section<'a> {
    /// Looks at a table and notes the keys that it must not hold.
    pub(super) fn new(
        schema: &'static Table,
        table: &'a DeTable<'a>,
        span: Range<usize>,
        sink: &'a Sink<'a>,
    ) -> Self {
        for key in table.keys() {
            let word = key.get_ref().as_ref();
            if schema.keys.contains(&word) {
                continue;
            }
            if let Some(later) = schema.reserved.iter().find(|k| **k == word) {
                sink.error_help(
                    key.span(),
                    format!("`{later}` is not supported yet"),
                    "it comes with a later version of the runner; leave it out for now",
                );
                continue;
            }
            sink.error_help(
                key.span(),
                format!("unknown key `{word}` in {}", schema.title()),
                suggestion(word, schema.keys.iter().copied()),
            );
        }
        Section {
            schema,
            table,
            at: (span.start, span.end),
            sink,
        }
    }

    /// Where the table begins.
    pub(super) fn span(&self) -> Range<usize> {
        self.at.0..self.at.1
    }

    /// The value of a key, if it is there.
    pub(super) fn get(&self, key: &'static str) -> Option<Item<'a>> {
        debug_assert!(
            self.schema.keys.contains(&key),
            "`{key}` is missing in the schema of {}",
            self.schema.title()
        );
        let (_, value) = self.table.iter().find(|(k, _)| k.get_ref() == key)?;
        Some(Item {
            key,
            value,
            sink: self.sink,
        })
    }

    /// The value of a key that must be there.
    pub(super) fn required(&self, key: &'static str, example: &str) -> Option<Item<'a>> {
        let item = self.get(key);
        if item.is_none() && !self.misspelt(key) {
            self.sink.error_help(
                self.span(),
                format!("{} has no `{key}`", self.schema.title()),
                format!("add a line such as `{key} = {example}`"),
            );
        }
        item
    }

    /// Whether an unknown key was taken for this one: it is reported once, not also as missing.
    pub(super) fn misspelt(&self, key: &str) -> bool {
        self.table.keys().any(|found| {
            let found = found.get_ref().as_ref();
            !self.schema.keys.contains(&found)
                && nearest(found, self.schema.keys.iter().copied()) == Some(key)
        })
    }

    /// A table below this one.
    pub(super) fn section(&self, schema: &'static Table) -> Option<Section<'a>> {
        self.get(schema.key()).and_then(|item| item.section(schema))
    }

    /// An array of tables below this one.
    pub(super) fn sections(&self, schema: &'static Table) -> Vec<Section<'a>> {
        let Some(item) = self.get(schema.key()) else {
            return Vec::new();
        };
        let Some(array) = item.value.get_ref().as_array() else {
            item.wrong_type(&format!("tables, each headed `[[{}]]`", schema.path));
            return Vec::new();
        };
        array
            .iter()
            .filter_map(|value| {
                Item {
                    key: item.key,
                    value,
                    sink: item.sink,
                }
                .section(schema)
            })
            .collect()
    }

    /// A table of texts, such as `env`; empty where there is none.
    pub(super) fn texts(&self, key: &'static str) -> BTreeMap<String, (Text, Text)> {
        let Some(item) = self.get(key) else {
            return BTreeMap::new();
        };
        let Some(table) = item.value.get_ref().as_table() else {
            item.wrong_type("a table, such as `{ NAME = \"value\" }`");
            return BTreeMap::new();
        };
        let mut texts = BTreeMap::new();
        for (name, value) in table.iter() {
            let value = Item {
                key: item.key,
                value,
                sink: item.sink,
            };
            if let Some(text) = value.text() {
                let spanned = Spanned::new(name.span(), name.get_ref().to_string());
                texts.insert(name.get_ref().to_string(), (spanned, text));
            }
        }
        texts
    }
}

/// The value of one key.
#[derive(Clone, Copy)]
pub(super) struct Item<'a> {
    pub(super) key: &'static str,
    pub(super) value: &'a Spanned<DeValue<'a>>,
    pub(super) sink: &'a Sink<'a>,
}

impl<'a> Item<'a> {
    /// Where the value is.
    pub(super) fn span(&self) -> Range<usize> {
        self.value.span()
    }

    /// Notes that the value has the wrong type.
    pub(super) fn wrong_type(&self, wanted: &str) {
        let found = self.value.get_ref();
        let article = match found.type_str() {
            "integer" | "array" => "an",
            _ => "a",
        };
        let message = format!(
            "`{}` must be {wanted}, not {article} {}",
            self.key,
            found.type_str()
        );
        let quoted =
            wanted.starts_with("a text") && !matches!(found, DeValue::Array(_) | DeValue::Table(_));
        if quoted {
            let raw = self.sink.text().get(self.span()).unwrap_or_default();
            self.sink.error_help(
                self.span(),
                message,
                format!("put it in quotes: `\"{raw}\"`"),
            );
        } else {
            self.sink.error(self.span(), message);
        }
    }

    /// Notes that the value will not do.
    pub(super) fn reject(&self, message: impl Into<String>, help: impl Into<String>) {
        self.sink.error_help(self.span(), message, help);
    }

    /// A table.
    pub(super) fn section(&self, schema: &'static Table) -> Option<Section<'a>> {
        let Some(table) = self.value.get_ref().as_table() else {
            self.wrong_type("a table");
            return None;
        };
        Some(Section::new(schema, table, self.span(), self.sink))
    }

    /// A text that is not empty.
    pub(super) fn text(&self) -> Option<Text> {
        let Some(text) = self.value.get_ref().as_str() else {
            self.wrong_type("a text in quotes");
            return None;
        };
        if text.contains('\0') {
            self.reject(
                format!("`{}` holds a NUL character", self.key),
                "take it out",
            );
            return None;
        }
        Some(Spanned::new(self.span(), text.to_owned()))
    }

    /// A text that is not blank.
    pub(super) fn filled(&self) -> Option<Text> {
        let text = self.text()?;
        if text.get_ref().trim().is_empty() {
            self.reject(
                format!("`{}` is empty", self.key),
                "fill it in or leave the key out",
            );
            return None;
        }
        Some(text)
    }

    /// A list of texts that are not blank.
    pub(super) fn list(&self) -> Vec<Text> {
        let Some(array) = self.value.get_ref().as_array() else {
            self.wrong_type("a list, such as `[\"…\"]`");
            return Vec::new();
        };
        array
            .iter()
            .filter_map(|value| {
                Item {
                    key: self.key,
                    value,
                    sink: self.sink,
                }
                .filled()
            })
            .collect()
    }

    /// A whole number within bounds.
    pub(super) fn integer(&self, bounds: Range<u64>, meaning: &str) -> Option<u64> {
        let DeValue::Integer(integer) = self.value.get_ref() else {
            self.wrong_type("a whole number");
            return None;
        };
        let value = u64::from_str_radix(integer.as_str(), integer.radix()).ok();
        match value {
            Some(value) if bounds.contains(&value) => Some(value),
            _ => {
                self.reject(
                    format!("`{}` = {integer} is out of range", self.key),
                    format!(
                        "{meaning}; it must be at least {} and at most {}",
                        crate::numbers::count(bounds.start),
                        crate::numbers::count(bounds.end - 1)
                    ),
                );
                None
            }
        }
    }

    /// Bytes: a whole number, or a text with a unit (`"64 MiB"`).
    pub(super) fn bytes(&self, bounds: Range<u64>, meaning: &str) -> Option<u64> {
        let Some(text) = self.value.get_ref().as_str() else {
            return self.integer(bounds, meaning);
        };
        let bytes = number::scan(text.trim()).and_then(|number| {
            let per = number::bytes_per(number.rest.trim_start())?;
            Some(number.value * per as f64)
        });
        match bytes {
            Some(b) if b.fract() == 0.0 && b >= bounds.start as f64 && b < bounds.end as f64 => {
                Some(b as u64)
            }
            Some(_) => {
                self.reject(
                    format!("`{}` is out of range", self.key),
                    format!(
                        "{meaning}; it must be a whole number of bytes, at least {} and at most {}",
                        crate::numbers::count(bounds.start),
                        crate::numbers::count(bounds.end - 1)
                    ),
                );
                None
            }
            None => {
                self.reject(
                    format!("`{text}` is not a number of bytes"),
                    format!(
                        "write a number, or a text with a unit: {}",
                        number::BYTE_UNITS
                    ),
                );
                None
            }
        }
    }

    /// A finite number that is not negative.
    pub(super) fn positive_or_zero(&self) -> Option<f64> {
        let value = match self.value.get_ref() {
            DeValue::Integer(integer) => i128::from_str_radix(integer.as_str(), integer.radix())
                .ok()
                .map(|i| i as f64),
            DeValue::Float(float) => float.as_str().parse().ok(),
            _ => {
                self.wrong_type("a number");
                return None;
            }
        };
        match value {
            Some(value) if value.is_finite() && value >= 0.0 => Some(value),
            _ => {
                self.reject(
                    format!("`{}` must be a finite number, 0 or above", self.key),
                    "a negative limit always fails, and infinity or NaN checks nothing",
                );
                None
            }
        }
    }

    /// `true` or `false`.
    pub(super) fn truth(&self) -> Option<bool> {
        let truth = self.value.get_ref().as_bool();
        if truth.is_none() {
            self.wrong_type("`true` or `false`");
        }
        truth
    }

    /// One of a list of words.
    pub(super) fn word<T: Copy>(&self, words: &[(&'static str, T)]) -> Option<T> {
        let text = self.text()?;
        let found = words.iter().find(|(word, _)| word == text.get_ref());
        if found.is_none() {
            self.reject(
                format!("`{}` is not a value of `{}`", text.get_ref(), self.key),
                suggestion(text.get_ref(), words.iter().map(|(word, _)| *word)),
            );
        }
        found.map(|(_, value)| *value)
    }
}
