//! Metadata values: every type of the format, arrays of numbers as the bytes that they are.

use std::io::Read;

use super::GgufError;
use super::cursor::Cursor;
use super::shown::Shown;

/// The longest metadata string; chat templates take a few kilobytes.
const STRING_LIMIT: u64 = 16 << 20;

/// A metadata value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Any unsigned integer.
    Unsigned(u64),
    /// Any signed integer.
    Signed(i64),
    /// A float of 32 or 64 bits.
    Float(f64),
    /// Yes or no.
    Bool(bool),
    /// Text.
    String(String),
    /// An array of numbers or Booleans.
    Numbers(Numbers),
    /// An array of strings.
    Strings(Strings),
}

impl Value {
    /// What it is, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Unsigned(_) => "an unsigned integer",
            Value::Signed(_) => "a signed integer",
            Value::Float(_) => "a float",
            Value::Bool(_) => "a Boolean",
            Value::String(_) => "a string",
            Value::Numbers(_) => "an array of numbers",
            Value::Strings(_) => "an array of strings",
        }
    }

    /// A number itself, or what else it is, for messages.
    pub(super) fn shown(&self) -> String {
        match self {
            Value::Unsigned(n) => n.to_string(),
            Value::Signed(n) => n.to_string(),
            Value::Float(x) => format!("{x:?}"),
            other => other.kind().to_owned(),
        }
    }

    /// The integer, where it is one and not negative.
    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Value::Unsigned(n) => Some(*n),
            Value::Signed(n) => u64::try_from(*n).ok(),
            _ => None,
        }
    }

    /// Bytes on the heap.
    pub(super) fn memory(&self) -> usize {
        match self {
            Value::String(text) => text.capacity(),
            Value::Numbers(numbers) => numbers.bytes.capacity(),
            Value::Strings(strings) => strings.bytes.capacity() + 4 * strings.ends.capacity(),
            _ => 0,
        }
    }
}

/// The types of scalars in the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scalar {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    F32,
    Bool,
    U64,
    I64,
    F64,
}

const STRING: u32 = 8;
const ARRAY: u32 = 9;

impl Scalar {
    fn find(id: u32) -> Option<Scalar> {
        Some(match id {
            0 => Scalar::U8,
            1 => Scalar::I8,
            2 => Scalar::U16,
            3 => Scalar::I16,
            4 => Scalar::U32,
            5 => Scalar::I32,
            6 => Scalar::F32,
            7 => Scalar::Bool,
            10 => Scalar::U64,
            11 => Scalar::I64,
            12 => Scalar::F64,
            _ => return None,
        })
    }

    fn bytes(self) -> usize {
        match self {
            Scalar::U8 | Scalar::I8 | Scalar::Bool => 1,
            Scalar::U16 | Scalar::I16 => 2,
            Scalar::U32 | Scalar::I32 | Scalar::F32 => 4,
            Scalar::U64 | Scalar::I64 | Scalar::F64 => 8,
        }
    }

    /// The value whose little-endian bytes these are; those beyond the type's own are zero.
    fn decode(self, bytes: [u8; 8]) -> Value {
        let wide = u64::from_le_bytes(bytes);
        match self {
            Scalar::U8 | Scalar::U16 | Scalar::U32 | Scalar::U64 => Value::Unsigned(wide),
            Scalar::I8 => Value::Signed(i64::from(wide as i8)),
            Scalar::I16 => Value::Signed(i64::from(wide as i16)),
            Scalar::I32 => Value::Signed(i64::from(wide as i32)),
            Scalar::I64 => Value::Signed(wide as i64),
            Scalar::F32 => Value::Float(f64::from(f32::from_bits(wide as u32))),
            Scalar::F64 => Value::Float(f64::from_bits(wide)),
            Scalar::Bool => Value::Bool(wide != 0),
        }
    }
}

/// An array of numbers or Booleans.
#[derive(Debug, Clone, PartialEq)]
pub struct Numbers {
    scalar: Scalar,
    bytes: Vec<u8>,
}

impl Numbers {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.bytes.len() / self.scalar.bytes()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The values, in order.
    pub fn iter(&self) -> impl Iterator<Item = Value> + '_ {
        let each = self.scalar.bytes();
        self.bytes.chunks_exact(each).map(move |chunk| {
            let mut wide = [0; 8];
            wide[..each].copy_from_slice(chunk);
            self.scalar.decode(wide)
        })
    }
}

/// An array of strings, kept as one piece. Vocabularies hold bytes that are no UTF-8, so these
/// are bytes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Strings {
    bytes: Vec<u8>,
    ends: Vec<u32>,
}

impl Strings {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Adds a string; false where all of them would be over 4 GiB.
    pub(super) fn push(&mut self, string: &[u8]) -> bool {
        self.bytes.extend(string);
        self.end()
    }

    /// Ends a string here; false where all of them are over 4 GiB.
    fn end(&mut self) -> bool {
        let end = u32::try_from(self.bytes.len());
        self.ends.extend(end);
        end.is_ok()
    }

    /// String number `n`, from 0.
    pub fn get(&self, n: usize) -> Option<&[u8]> {
        let end = *self.ends.get(n)? as usize;
        let begin = n.checked_sub(1).map_or(0, |before| self.ends[before]) as usize;
        self.bytes.get(begin..end)
    }
}

/// Reads the value of metadata `key`, its type first.
pub(super) fn read<R: Read>(cursor: &mut Cursor<R>, key: Shown<'_>) -> Result<Value, GgufError> {
    let at = cursor.at();
    let id = cursor.u32(format_args!("the type of metadata `{key}`"))?;
    match id {
        STRING => cursor
            .string(format_args!("metadata `{key}`"), STRING_LIMIT)
            .map(Value::String),
        ARRAY => array(cursor, key),
        _ => match Scalar::find(id) {
            Some(scalar) => one(cursor, key, scalar),
            None => Err(unknown(key, at, id)),
        },
    }
}

fn unknown(key: Shown<'_>, at: u64, id: u32) -> GgufError {
    GgufError::Invalid {
        field: format!("the type of metadata `{key}`"),
        at,
        problem: format!("there is no value type {id}, only 0 to 12"),
    }
}

fn one<R: Read>(
    cursor: &mut Cursor<R>,
    key: Shown<'_>,
    scalar: Scalar,
) -> Result<Value, GgufError> {
    let numbers = numbers(cursor, key, scalar, 1)?;
    let missing = || cursor.invalid(format_args!("metadata `{key}`"), "no value".to_owned());
    numbers.iter().next().ok_or_else(missing)
}

fn array<R: Read>(cursor: &mut Cursor<R>, key: Shown<'_>) -> Result<Value, GgufError> {
    let at = cursor.at();
    let id = cursor.u32(format_args!("the element type of metadata `{key}`"))?;
    let field = format_args!("the length of metadata `{key}`");
    match id {
        STRING => {
            let count = cursor.count(field, 8)?;
            strings(cursor, key, count).map(Value::Strings)
        }
        ARRAY => Err(GgufError::Unsupported {
            what: format!("the element type of metadata `{key}` at byte {at},"),
            found: "array".to_owned(),
            supported: "arrays of numbers, Booleans and strings".to_owned(),
        }),
        _ => {
            let scalar = Scalar::find(id).ok_or_else(|| unknown(key, at, id))?;
            let count = cursor.count(field, scalar.bytes() as u64)?;
            numbers(cursor, key, scalar, count).map(Value::Numbers)
        }
    }
}

fn numbers<R: Read>(
    cursor: &mut Cursor<R>,
    key: Shown<'_>,
    scalar: Scalar,
    count: u64,
) -> Result<Numbers, GgufError> {
    let at = cursor.at();
    let mut bytes = Vec::new();
    let field = format_args!("metadata `{key}`");
    let size = count.saturating_mul(scalar.bytes() as u64);
    cursor.append(field, size, &mut bytes)?;
    let bad = match scalar {
        Scalar::Bool => bytes.iter().position(|byte| *byte > 1),
        _ => None,
    };
    if let Some(n) = bad {
        return Err(GgufError::Invalid {
            field: field.to_string(),
            at: at + n as u64,
            problem: format!("a Boolean of value {}, only 0 and 1 are", bytes[n]),
        });
    }
    Ok(Numbers { scalar, bytes })
}

fn strings<R: Read>(
    cursor: &mut Cursor<R>,
    key: Shown<'_>,
    count: u64,
) -> Result<Strings, GgufError> {
    let mut out = Strings::default();
    for n in 0..count {
        let length = cursor.count(format_args!("the length of metadata `{key}`[{n}]"), 1)?;
        cursor.append(
            format_args!("metadata `{key}`[{n}]"),
            length,
            &mut out.bytes,
        )?;
        if !out.end() {
            return Err(cursor.invalid(format_args!("metadata `{key}`"), "over 4 GiB".to_owned()));
        }
    }
    Ok(out)
}
