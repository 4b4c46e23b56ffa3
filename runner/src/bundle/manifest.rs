//! The first file of a bundle: what it is, what it holds, and how large that is.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{BundleError, Result, damaged, limits, refused};

/// The format's name.
pub(super) const FORMAT: &str = "roundhouse-bundle";
/// The version of the container and of the manifest. Columns may be added without a new one.
pub(super) const VERSION: i64 = 1;

/// What a bundle says about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// `roundhouse-bundle`.
    pub format: String,
    /// Of the container and the manifest: 1.
    pub version: i64,
    /// The schema of the database that it was written from.
    pub schema: i64,
    /// The program that wrote it.
    pub writer: String,
    /// The run.
    pub run: About,
    /// The files of rows, in order.
    pub tables: Vec<TableFile>,
    /// The contents, in order.
    pub artifacts: Vec<Content>,
    /// Contents that rows refer to and that are not in the bundle.
    pub left_out: Vec<LeftOut>,
}

/// The run in a few words, for those who look into a bundle. The rows count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct About {
    /// Its identity across databases.
    pub uuid: String,
    /// Its campaign.
    pub campaign: String,
    /// The base commit.
    pub base: String,
    /// The head commit.
    pub head: String,
    /// When it began, milliseconds since 1970.
    pub started_at: i64,
}

/// One table's rows, a JSON object a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableFile {
    /// The table.
    pub name: String,
    /// Lines.
    pub rows: u64,
    /// Size.
    pub bytes: u64,
    /// SHA-256 of the lines, hex.
    pub sha256: String,
}

/// One content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Content {
    /// SHA-256, hex: its name.
    pub sha256: String,
    /// Size.
    pub bytes: u64,
}

/// A content that is not there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeftOut {
    /// SHA-256, hex.
    pub sha256: String,
    /// Size.
    pub bytes: u64,
    /// Why.
    pub reason: String,
}

impl Manifest {
    /// Reads and checks a manifest; `file_bytes` is the size of the whole bundle.
    pub(super) fn parse(text: &[u8], file_bytes: u64) -> Result<Manifest> {
        /// What every version has.
        #[derive(Deserialize)]
        struct Head {
            format: String,
            version: i64,
            schema: i64,
        }
        let Ok(head) = serde_json::from_slice::<Head>(text) else {
            return damaged("its manifest is none");
        };
        if head.format != FORMAT {
            return damaged("its manifest is of another kind of file");
        }
        newer("format", head.version, VERSION)?;
        newer("schema", head.schema, db::Db::known_schema())?;
        let manifest: Manifest = match serde_json::from_slice(text) {
            Ok(manifest) => manifest,
            Err(error) => return damaged(format!("its manifest cannot be read: {error}")),
        };
        manifest.sound()?;
        manifest.small_enough(file_bytes)?;
        Ok(manifest)
    }

    fn sound(&self) -> Result<()> {
        if self.version < 1 || self.schema < 1 {
            return refused("its format or schema is less than 1");
        }
        if !is_hex(&self.run.uuid, 32) {
            return refused("its run's uuid is not 32 hex digits");
        }
        let words = [
            &self.writer,
            &self.run.campaign,
            &self.run.base,
            &self.run.head,
        ];
        if words.iter().any(|word| !is_word(word)) {
            return refused("a name in its manifest is empty, too long, or has control characters");
        }
        let mut tables = BTreeSet::new();
        for table in &self.tables {
            let known = table
                .name
                .bytes()
                .all(|b| b == b'_' || b.is_ascii_lowercase());
            if !known || table.name.is_empty() || table.name.len() > 60 {
                return refused("a table's name in its manifest is none");
            }
            if !tables.insert(&table.name) || !is_hex(&table.sha256, 64) {
                return refused(format!(
                    "its manifest lists {} twice, or without a hash",
                    table.name
                ));
            }
        }
        let mut contents = BTreeSet::new();
        let there = self.artifacts.iter().map(|content| &content.sha256);
        for sha256 in there.chain(self.left_out.iter().map(|left| &left.sha256)) {
            if !is_hex(sha256, 64) || !contents.insert(sha256) {
                return refused("its manifest lists a content twice, or without a hash");
            }
        }
        if self
            .left_out
            .iter()
            .any(|left| i64::try_from(left.bytes).is_err())
        {
            return refused("its manifest gives a size that no content has");
        }
        Ok(())
    }

    /// Whether a bundle of that size is within the limits.
    pub(super) fn small_enough(&self, file_bytes: u64) -> Result<()> {
        let too_large = |what: String| Err(BundleError::TooLarge(what));
        let sum = |sizes: &mut dyn Iterator<Item = u64>| sizes.fold(0u64, u64::saturating_add);
        let rows = sum(&mut self.tables.iter().map(|table| table.rows));
        let row_bytes = sum(&mut self.tables.iter().map(|table| table.bytes));
        if rows > limits::ROWS || row_bytes > limits::ROW_BYTES {
            return too_large(format!(
                "it says that it has {rows} rows of {row_bytes} bytes; at most {} rows of {} bytes \
                 are taken",
                limits::ROWS,
                limits::ROW_BYTES
            ));
        }
        let contents = self.artifacts.len() + self.left_out.len();
        if contents > limits::CONTENTS {
            return too_large(format!(
                "it says that it has {contents} contents; at most {} are taken",
                limits::CONTENTS
            ));
        }
        if let Some(large) = self
            .artifacts
            .iter()
            .find(|c| c.bytes > limits::CONTENT_BYTES)
        {
            return too_large(format!(
                "a content has {} bytes; at most {} are taken",
                large.bytes,
                limits::CONTENT_BYTES
            ));
        }
        let total = sum(&mut self.artifacts.iter().map(|content| content.bytes));
        let total = total.saturating_add(row_bytes);
        let allowed = file_bytes
            .saturating_mul(limits::EXPANSION)
            .saturating_add(limits::FREE_BYTES)
            .min(limits::TOTAL_BYTES);
        if total > allowed {
            return too_large(format!(
                "it says that it unpacks to {total} bytes; a file of {file_bytes} may unpack to \
                 {allowed}"
            ));
        }
        Ok(())
    }
}

fn newer(what: &'static str, found: i64, known: i64) -> Result<()> {
    match found > known {
        true => Err(BundleError::Newer { what, found, known }),
        false => Ok(()),
    }
}

pub(super) fn is_hex(text: &str, digits: usize) -> bool {
    let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    text.len() == digits && text.bytes().all(hex)
}

/// A name that can be shown as it is.
fn is_word(text: &str) -> bool {
    !text.is_empty() && text.len() <= 200 && !text.chars().any(char::is_control)
}
