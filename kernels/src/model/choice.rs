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
#[derive(Debug, Clone, PartialEq)]
pub enum ModelChoice {
    /// Synthetic weights in this shape.
    Synthetic(ModelShape),
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
            ModelChoice::Synthetic(shape) => Box::new(Synthetic::new(shape.clone(), SEED)?),
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
            "tiny" => Ok(ModelChoice::Synthetic(ModelShape::tiny())),
            "qwen7b" => Ok(ModelChoice::Synthetic(ModelShape::qwen7b())),
            file if file.ends_with(".gguf") => Ok(ModelChoice::Gguf(file.into())),
            other => Err(UnknownModel(other.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_models_and_other_names_say_what_there_is() {
        let tiny: ModelChoice = "tiny".parse().expect("there is one");
        assert_eq!(tiny, ModelChoice::Synthetic(ModelShape::tiny()));
        let file: ModelChoice = "some/model.gguf".parse().expect("it is a file");
        assert_eq!(file, ModelChoice::Gguf("some/model.gguf".into()));
        let error = "huge".parse::<ModelChoice>().expect_err("there is none");
        assert!(error.to_string().contains("tiny, qwen7b"), "{error}");
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let choice = ModelChoice::Gguf("/no/such.gguf".into());
        let error = choice.open().err().expect("it is not there");
        assert!(error.to_string().contains("/no/such.gguf"), "{error}");
    }
}
