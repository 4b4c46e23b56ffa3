//! GGUF files (versions 2 and 3, little-endian): what is in them, read without trust.
//!
//! [`Header`] reads metadata and tensor infos and refuses everything that does not fit the file;
//! [`GgufFile`] reads tensors when they are asked for; [`GgufSource`] makes them the tensors of a
//! [`model`](crate::model), and [`Vocabulary`] has the text of its tokens. Nothing here runs
//! anything, panics on any input, or allocates for a count that the file is too small for.

mod architecture;
mod cursor;
mod dequantise;
mod error;
mod file;
mod header;
mod kind;
#[cfg(test)]
mod model_tests;
mod shown;
mod source;
mod summary;
mod tensors;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod value;
mod vocabulary;

pub use architecture::ARCHITECTURES;
pub use dequantise::{SizeMismatch, dequantise};
pub use error::GgufError;
pub use file::GgufFile;
pub use header::{Header, TensorInfo};
pub use kind::TensorType;
pub use source::GgufSource;
pub use summary::{ShapeSummary, Summary, TypeTotal};
pub use value::{Numbers, Strings, Value};
pub use vocabulary::Vocabulary;
