//! What can be wrong with a GGUF file, said so that the file can be repaired or replaced.

use super::shown::Shown;
use crate::model::ShapeError;

/// Bytes 0 to 3 of every GGUF file.
pub const MAGIC: [u8; 4] = *b"GGUF";

/// A GGUF file that cannot be read, or holds a model that cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum GgufError {
    /// The operating system could not read the file.
    #[error("{doing} failed; check that the file is there, complete and readable")]
    Io {
        /// What was being done, to what.
        doing: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The bytes do not begin as GGUF does.
    #[error("not a GGUF file: it begins with \"{}\", not \"GGUF\"", found.escape_ascii())]
    NotGguf {
        /// The first four bytes.
        found: [u8; 4],
    },
    /// The file was written for big-endian machines.
    #[error("a big-endian GGUF file; convert the model again for little-endian machines")]
    BigEndian,
    /// A version that is not read.
    #[error("GGUF version {found} is not read, only versions 2 and 3 are; convert the model again")]
    Version {
        /// The file's version.
        found: u32,
    },
    /// A field goes on past the end of the file.
    #[error(
        "{field} at byte {at} needs {needs} bytes and the file has {left} more; it is cut off or damaged, get it again"
    )]
    Truncated {
        /// The field.
        field: String,
        /// Where it begins, bytes from the file's beginning.
        at: u64,
        /// The least that it needs, bytes.
        needs: u64,
        /// What is left of the file, bytes.
        left: u64,
    },
    /// A field holds what it must not hold.
    #[error("{field} at byte {at}: {problem}; the file is damaged or was not made for this reader")]
    Invalid {
        /// The field.
        field: String,
        /// Where it begins, bytes from the file's beginning.
        at: u64,
        /// What is wrong with it.
        problem: String,
    },
    /// The file is sound, but asks for something that is not there.
    #[error("{what} `{}` is not supported; supported: {supported}", Shown(found))]
    Unsupported {
        /// The kind of thing, with its place.
        what: String,
        /// What the file has.
        found: String,
        /// What could be read instead.
        supported: String,
    },
    /// Metadata or a tensor is missing that the model needs.
    #[error("the file has no {what}, which a {architecture} model needs; it is incomplete")]
    Missing {
        /// The metadata key or tensor.
        what: String,
        /// The model's architecture.
        architecture: String,
    },
    /// A tensor's dims are not those that the metadata promises.
    #[error(
        "tensor `{}` has dims {found:?} and the metadata promises {promised:?}; the file's parts do not belong together",
        Shown(tensor)
    )]
    Shape {
        /// The tensor.
        tensor: String,
        /// The dims that it has, innermost first.
        found: Vec<u64>,
        /// The dims that it should have, innermost first.
        promised: Vec<u64>,
    },
    /// A tensor that the model's architecture does not have: leaving it out would change results.
    #[error(
        "tensor `{}` has no place in a {architecture} model as it is run here; use a model without it",
        Shown(tensor)
    )]
    Unexpected {
        /// The tensor.
        tensor: String,
        /// The model's architecture.
        architecture: String,
    },
    /// There is no memory for a tensor.
    #[error(
        "reading tensor `{}` takes {bytes} bytes of memory, and there are not as many; use a smaller model or free memory",
        Shown(tensor)
    )]
    Memory {
        /// The tensor.
        tensor: String,
        /// What it takes in memory, bytes.
        bytes: u128,
        /// Why there are not as many.
        #[source]
        source: std::collections::TryReserveError,
    },
    /// The metadata describes a model that cannot be run.
    #[error(transparent)]
    Model(#[from] ShapeError),
}
