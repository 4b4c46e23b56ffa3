//! What is in a file, for people and scripts: the model's shape where it can be run here, and
//! its tensors by type.

use std::path::Path;

use super::shown::Shown;
use super::{GgufError, GgufFile, GgufSource};
use crate::model::TensorSource;

/// A file in short.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Summary {
    /// The format's version.
    pub version: u32,
    /// `general.architecture`, where the file has it.
    pub architecture: Option<String>,
    /// `general.name`, where the file has it.
    pub name: Option<String>,
    /// How many metadata entries there are.
    pub metadata: usize,
    /// The tensors by type, most bytes first.
    pub types: Vec<TypeTotal>,
    /// The model's shape, where it can be run here.
    pub shape: Option<ShapeSummary>,
    /// Why it cannot be run here.
    pub refused: Option<String>,
}

/// All tensors of one type.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct TypeTotal {
    /// The type, for example `q4_K`.
    pub kind: String,
    /// How many tensors.
    pub tensors: usize,
    /// Their values.
    pub values: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// The shape of a model that can be run.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ShapeSummary {
    /// Layers.
    pub layers: usize,
    /// Values of a token between layers.
    pub hidden: usize,
    /// Values between gate and down.
    pub ffn: usize,
    /// Heads of q.
    pub heads: usize,
    /// Heads of k and v.
    pub kv_heads: usize,
    /// Tokens that there are.
    pub vocabulary: usize,
}

impl Summary {
    /// Reads a file's header, and checks whether its model can be run.
    ///
    /// # Errors
    /// Where the file cannot be read, or its header is not as it must be.
    pub fn of(path: &Path) -> Result<Summary, GgufError> {
        let file = GgufFile::open(path)?;
        let header = file.header();
        // A text of the file goes no further than it can be shown.
        let text = |key| -> Result<Option<String>, GgufError> {
            Ok(header.text(key)?.map(|text| Shown(text).to_string()))
        };
        let mut types: Vec<TypeTotal> = Vec::new();
        for tensor in header.tensors() {
            let kind = tensor.kind.to_string();
            let at = types.iter().position(|total| total.kind == kind);
            let at = at.unwrap_or_else(|| {
                types.push(TypeTotal {
                    kind,
                    tensors: 0,
                    values: 0,
                    bytes: 0,
                });
                types.len() - 1
            });
            let total = &mut types[at];
            total.tensors += 1;
            total.values += tensor.values;
            total.bytes += tensor.bytes;
        }
        types.sort_by_key(|total| std::cmp::Reverse(total.bytes));
        let summary = Summary {
            version: header.version(),
            architecture: text("general.architecture")?,
            name: text("general.name")?,
            metadata: header.metadata().count(),
            types,
            shape: None,
            refused: None,
        };
        Ok(match GgufSource::of(file) {
            Ok(source) => Summary {
                shape: Some(shape(&source)),
                ..summary
            },
            Err(error) => Summary {
                refused: Some(error.to_string()),
                ..summary
            },
        })
    }
}

fn shape(source: &GgufSource) -> ShapeSummary {
    let shape = source.shape();
    ShapeSummary {
        layers: shape.layers,
        hidden: shape.hidden,
        ffn: shape.ffn,
        heads: shape.heads,
        kv_heads: shape.kv_heads,
        vocabulary: shape.vocabulary,
    }
}
