//! Which model: one of the synthetic ones, or a file.

use std::path::PathBuf;
use std::str::FromStr;

use super::ModelError;
use super::shape::ModelShape;
use super::synthetic::Synthetic;
use super::tensor::TensorSource;
use crate::gguf::GgufSource;

/// The seed of the synthetic models' weights.
const SEED: u32 = 1;

/// Which model to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelChoice {
    /// Synthetic, seconds anywhere.
    Tiny,
    /// Synthetic, about 4.5 GB.
    Qwen7b,
    /// A GGUF file.
    Gguf(PathBuf),
}

impl ModelChoice {
    /// Opens the source of the tensors; a file's tensors are not read yet.
    ///
    /// # Errors
    /// Where the file is damaged, or its model cannot be run here.
    pub fn open(&self) -> Result<Box<dyn TensorSource>, ModelError> {
        Ok(match self {
            ModelChoice::Tiny => Box::new(Synthetic::new(ModelShape::tiny(), SEED)?),
            ModelChoice::Qwen7b => Box::new(Synthetic::new(ModelShape::qwen7b(), SEED)?),
            ModelChoice::Gguf(path) => {
                let source = GgufSource::open(path).map_err(|source| ModelError::File {
                    file: path.display().to_string(),
                    source,
                });
                Box::new(source?)
            }
        })
    }
}

/// No model's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no model `{0}`; there are tiny, qwen7b, and files whose names end in .gguf")]
pub struct UnknownModel(String);

impl FromStr for ModelChoice {
    type Err = UnknownModel;

    fn from_str(text: &str) -> Result<Self, UnknownModel> {
        match text {
            "tiny" => Ok(ModelChoice::Tiny),
            "qwen7b" => Ok(ModelChoice::Qwen7b),
            file if file.ends_with(".gguf") => Ok(ModelChoice::Gguf(file.into())),
            other => Err(UnknownModel(other.to_owned())),
        }
    }
}
