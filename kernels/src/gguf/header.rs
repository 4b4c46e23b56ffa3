//! The beginning of a GGUF file: version, metadata, and where which tensor lies.
//!
//! Reading checks everything that can be checked without the tensors' bytes: after it, every
//! tensor is known to lie in the file, aligned and apart from all others, and its dims and bytes
//! agree. What the metadata means for a model is not known here.

use std::collections::BTreeMap;
use std::io::Read;

use super::cursor::Cursor;
use super::error::MAGIC;
use super::kind::TensorType;
use super::shown::Shown;
use super::value::{self, Strings, Value};
use super::{GgufError, tensors};

/// The longest metadata key, bytes; the format's own limit.
const KEY_LIMIT: u64 = 65535;
/// Alignment of tensors where the metadata names none, bytes.
const DEFAULT_ALIGNMENT: u64 = 32;
/// The metadata key of the alignment.
const ALIGNMENT: &str = "general.alignment";
/// The least that a metadata entry takes: a key's length, its type, a value, bytes.
const LEAST_ENTRY: u64 = 8 + 4 + 1;

/// Where a tensor lies, and what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorInfo {
    /// The tensor's name.
    pub name: String,
    /// How its values are kept.
    pub kind: TensorType,
    /// 1 to 4 dims, innermost first: a matrix of `rows` rows of `k` values is `[k, rows]`.
    pub dims: Vec<u64>,
    /// How many values it has: the product of the dims.
    pub values: u64,
    /// Where its bytes begin, from the file's beginning.
    pub begin: u64,
    /// How many bytes it has.
    pub bytes: u64,
    /// Where its entry in the header begins, from the file's beginning.
    pub(super) at: u64,
}

/// A metadata value with its place in the file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    pub(super) at: u64,
    pub(super) value: Value,
}

/// Version, metadata and tensor infos of a GGUF file.
#[derive(Debug, Clone, PartialEq)]
pub struct Header {
    version: u32,
    alignment: u64,
    metadata: BTreeMap<String, Entry>,
    /// In the order of their names.
    tensors: Vec<TensorInfo>,
}

impl Header {
    /// Reads the header of a file that is in memory as a whole.
    ///
    /// # Errors
    /// Where anything about it is not as it must be; the error names the field and its place.
    pub fn parse(file: &[u8]) -> Result<Header, GgufError> {
        Header::read(file, file.len() as u64)
    }

    /// Reads the header from the beginning of a file of `len` bytes. Takes at most a few times
    /// the memory that metadata and tensor infos take in the file.
    ///
    /// # Errors
    /// As [`Header::parse`], and where the reader fails.
    pub fn read<R: Read>(reader: R, len: u64) -> Result<Header, GgufError> {
        let mut cursor = Cursor::new(reader, len);
        let version = version(&mut cursor)?;
        let tensor_count =
            cursor.count(format_args!("the count of tensors"), tensors::LEAST_INFO)?;
        let metadata = metadata(&mut cursor)?;
        let alignment = alignment(&metadata)?;
        let tensors = tensors::read(&mut cursor, tensor_count, alignment)?;
        Ok(Header {
            version,
            alignment,
            metadata,
            tensors,
        })
    }

    /// The format's version: 2 or 3.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// What tensors' offsets are multiples of, bytes.
    pub fn alignment(&self) -> u64 {
        self.alignment
    }

    /// The metadata, in the order of the keys.
    pub fn metadata(&self) -> impl Iterator<Item = (&str, &Value)> {
        let entries = self.metadata.iter();
        entries.map(|(key, entry)| (key.as_str(), &entry.value))
    }

    /// A metadata value.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.metadata.get(key).map(|entry| &entry.value)
    }

    /// The tensors, in the order of their names.
    pub fn tensors(&self) -> &[TensorInfo] {
        &self.tensors
    }

    /// Finds a tensor by its name.
    pub fn tensor(&self, name: &str) -> Option<&TensorInfo> {
        let found = self
            .tensors
            .binary_search_by(|tensor| tensor.name.as_str().cmp(name));
        found.ok().and_then(|n| self.tensors.get(n))
    }

    /// Bytes that the header holds on the heap, apart from the map's own nodes.
    pub fn memory(&self) -> usize {
        let metadata = self.metadata.iter();
        let entry = size_of::<(String, Entry)>();
        let values = metadata.map(|(key, e)| entry + key.capacity() + e.value.memory());
        let infos = self.tensors.iter();
        let dims = infos.map(|t| t.name.capacity() + 8 * t.dims.capacity());
        let table = self.tensors.capacity() * size_of::<TensorInfo>();
        values.sum::<usize>() + dims.sum::<usize>() + table
    }

    /// An error about a metadata value that is there and not as it must be.
    pub(super) fn wrong(&self, key: &str, problem: String) -> GgufError {
        wrong(&self.metadata, key, problem)
    }

    /// A positive integer of at most 32 bits.
    ///
    /// # Errors
    /// Where the value is something else.
    pub fn count(&self, key: &str) -> Result<Option<u32>, GgufError> {
        let Some(value) = self.get(key) else {
            return Ok(None);
        };
        match value.as_u64().and_then(|n| u32::try_from(n).ok()) {
            Some(n) if n > 0 => Ok(Some(n)),
            _ => Err(self.wrong(
                key,
                format!("{}, not a positive integer of 32 bits", value.shown()),
            )),
        }
    }

    /// A float that is positive and finite as an f32.
    ///
    /// # Errors
    /// Where the value is something else.
    pub fn float(&self, key: &str) -> Result<Option<f32>, GgufError> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Float(x)) if *x as f32 > 0.0 && (*x as f32).is_finite() => {
                Ok(Some(*x as f32))
            }
            Some(other) => Err(self.wrong(
                key,
                format!("{}, not a positive, finite float", other.shown()),
            )),
        }
    }

    /// Text.
    ///
    /// # Errors
    /// Where the value is something else.
    pub fn text(&self, key: &str) -> Result<Option<&str>, GgufError> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.wrong(key, format!("{}, not a string", other.kind()))),
        }
    }

    /// An array of strings.
    ///
    /// # Errors
    /// Where the value is something else.
    pub fn strings(&self, key: &str) -> Result<Option<&Strings>, GgufError> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Strings(strings)) => Ok(Some(strings)),
            Some(other) => Err(self.wrong(key, format!("{}, not strings", other.kind()))),
        }
    }
}

fn wrong(metadata: &BTreeMap<String, Entry>, key: &str, problem: String) -> GgufError {
    GgufError::Invalid {
        field: format!("metadata `{}`", Shown(key)),
        at: metadata.get(key).map_or(0, |entry| entry.at),
        problem,
    }
}

fn version<R: Read>(cursor: &mut Cursor<R>) -> Result<u32, GgufError> {
    let found = cursor.array(format_args!("the magic"))?;
    if found != MAGIC {
        return Err(GgufError::NotGguf { found });
    }
    match cursor.u32(format_args!("the version"))? {
        version @ (2 | 3) => Ok(version),
        // The versions are small numbers: with its bytes turned round, one has its low half empty.
        swapped if swapped & 0xffff == 0 && swapped != 0 => Err(GgufError::BigEndian),
        found => Err(GgufError::Version { found }),
    }
}

fn metadata<R: Read>(cursor: &mut Cursor<R>) -> Result<BTreeMap<String, Entry>, GgufError> {
    let count = cursor.count(format_args!("the count of metadata"), LEAST_ENTRY)?;
    let mut metadata = BTreeMap::new();
    for n in 0..count {
        let at = cursor.at();
        let invalid = |problem: &str| GgufError::Invalid {
            field: format!("metadata key {n}"),
            at,
            problem: problem.to_owned(),
        };
        let key = cursor.string(format_args!("metadata key {n}"), KEY_LIMIT)?;
        if key.is_empty() {
            return Err(invalid("empty"));
        }
        let place = cursor.at();
        let value = value::read(cursor, Shown(&key))?;
        if metadata.contains_key(&key) {
            return Err(invalid(&format!("`{}` is there twice", Shown(&key))));
        }
        metadata.insert(key, Entry { at: place, value });
    }
    Ok(metadata)
}

fn alignment(metadata: &BTreeMap<String, Entry>) -> Result<u64, GgufError> {
    let Some(entry) = metadata.get(ALIGNMENT) else {
        return Ok(DEFAULT_ALIGNMENT);
    };
    match entry.value {
        Value::Unsigned(n) if n >= 8 && n.is_power_of_two() && n <= 1 << 30 => Ok(n),
        ref other => {
            let problem = format!("{}, not a power of two from 8 to 2^30", other.shown());
            Err(wrong(metadata, ALIGNMENT, problem))
        }
    }
}
