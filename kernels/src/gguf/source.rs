//! A GGUF file as the source of a model's tensors.
//!
//! Opening it checks that the file holds every tensor of the shape that its metadata promises,
//! with these dims, and no other; no tensor is read before all of them are checked. Tensors are
//! read one at a time: matrices of q4_K as they are, everything else as f32.

use std::path::Path;

use super::architecture::{self, FACTORS};
use super::{GgufError, GgufFile, Header, TensorInfo, TensorType, Vocabulary};
use crate::model::{ModelShape, SourceError, Tensor, TensorName, TensorSource};
use crate::ops::call::Format;

/// A model in a GGUF file.
#[derive(Debug)]
pub struct GgufSource {
    file: GgufFile,
    shape: ModelShape,
    vocabulary: Option<Vocabulary>,
}

impl GgufSource {
    /// Opens a file and checks everything but the tensors' bytes.
    ///
    /// # Errors
    /// Where the file is damaged, or its model cannot be run here.
    pub fn open(path: &Path) -> Result<GgufSource, GgufError> {
        GgufSource::of(GgufFile::open(path)?)
    }

    /// The same for a file whose header was read before.
    ///
    /// # Errors
    /// Where its model cannot be run here.
    pub fn of(file: GgufFile) -> Result<GgufSource, GgufError> {
        let header = file.header();
        let mut shape = architecture::shape(header)?;
        check_tensors(header, &shape)?;
        let vocabulary = Vocabulary::new(header)?;
        divide_frequencies(&file, &mut shape)?;
        Ok(GgufSource {
            shape,
            vocabulary,
            file,
        })
    }

    /// The file's version, metadata and tensor infos.
    pub fn header(&self) -> &Header {
        self.file.header()
    }

    /// The text of tokens, where the file has a vocabulary.
    pub fn vocabulary(&self) -> Option<&Vocabulary> {
        self.vocabulary.as_ref()
    }

    fn info(&self, name: TensorName) -> Result<&TensorInfo, SourceError> {
        let found = self.header().tensor(&name.to_string());
        found.ok_or_else(|| SourceError {
            name,
            reason: "the file does not have it".to_owned(),
        })
    }
}

/// Divides the frequencies of the rotary embedding by [`FACTORS`], where the file has them. The
/// tensor's dims must have been checked.
fn divide_frequencies(file: &GgufFile, shape: &mut ModelShape) -> Result<(), GgufError> {
    let Some(tensor) = file.header().tensor(FACTORS) else {
        return Ok(());
    };
    let factors = file.values(tensor)?;
    let all = &mut shape.rotation.factors;
    all.resize(factors.len(), 1.0);
    for (all, factor) in all.iter_mut().zip(&factors) {
        *all *= factor;
        if !(all.is_finite() && *all > 0.0) {
            return Err(GgufError::Invalid {
                field: format!("tensor `{FACTORS}`"),
                at: tensor.begin,
                problem: format!("it holds {factor}, and frequencies are divided by it"),
            });
        }
    }
    Ok(())
}

/// Checks that [`FACTORS`], where it is there, has a value for each pair of a head.
fn check_factors(header: &Header, shape: &ModelShape) -> Result<(), GgufError> {
    let Some(tensor) = header.tensor(FACTORS) else {
        return Ok(());
    };
    let promised = vec![shape.head_dim.get() as u64 / 2];
    if tensor.dims != promised {
        return Err(GgufError::Shape {
            tensor: FACTORS.to_owned(),
            found: tensor.dims.clone(),
            promised,
        });
    }
    match tensor.kind {
        TensorType::F32 => Ok(()),
        other => Err(GgufError::Unsupported {
            what: format!("the type of tensor `{FACTORS}` at byte {},", tensor.at),
            found: other.to_string(),
            supported: TensorType::F32.to_string(),
        }),
    }
}

/// Compares the tensors that are there with those that must be.
pub(super) fn check_tensors(header: &Header, shape: &ModelShape) -> Result<(), GgufError> {
    check_factors(header, shape)?;
    let architecture = || header.text("general.architecture").ok().flatten();
    let architecture = || architecture().unwrap_or_default().to_owned();
    let mut expected = std::collections::BTreeSet::from([FACTORS.to_owned()]);
    for name in TensorName::all(shape) {
        let spelled = name.to_string();
        let Some(tensor) = header.tensor(&spelled) else {
            return Err(GgufError::Missing {
                what: format!("tensor `{spelled}`"),
                architecture: architecture(),
            });
        };
        let dims = name.dims(shape);
        let mut promised = vec![dims.k as u64];
        if !name.is_norm() {
            promised.push(dims.rows as u64);
        }
        if tensor.dims != promised {
            return Err(GgufError::Shape {
                tensor: spelled,
                found: tensor.dims.clone(),
                promised,
            });
        }
        shape.check_format(name, format(name, tensor))?;
        expected.insert(spelled);
    }
    let other = header
        .tensors()
        .iter()
        .find(|t| !expected.contains(&t.name));
    match other {
        None => Ok(()),
        Some(tensor) => Err(GgufError::Unexpected {
            tensor: tensor.name.clone(),
            architecture: architecture(),
        }),
    }
}

fn format(name: TensorName, tensor: &TensorInfo) -> Format {
    match tensor.kind {
        TensorType::Q4K if !name.is_norm() => Format::Q4K,
        _ => Format::F32,
    }
}

/// Whether the scales of q4_K super-blocks are numbers; the values then are.
fn scales_are_finite(blocks: &[u8]) -> bool {
    let size = TensorType::Q4K.block_bytes() as usize;
    let finite = |bits: &[u8]| half::f16::from_le_bytes([bits[0], bits[1]]).is_finite();
    let mut blocks = blocks.chunks_exact(size);
    blocks.all(|block| finite(&block[..2]) && finite(&block[2..4]))
}

impl TensorSource for GgufSource {
    fn shape(&self) -> &ModelShape {
        &self.shape
    }

    fn format(&self, name: TensorName) -> Result<Format, SourceError> {
        self.info(name).map(|tensor| format(name, tensor))
    }

    fn tensor(&mut self, name: TensorName) -> Result<Tensor, SourceError> {
        let info = self.info(name)?;
        let failed = |error: GgufError| SourceError {
            name,
            reason: with_source(&error),
        };
        let (tensor, finite) = match format(name, info) {
            Format::Q4K => {
                let bytes = self.file.bytes(info).map_err(failed)?;
                let finite = scales_are_finite(&bytes);
                (Tensor::Q4K(bytes), finite)
            }
            Format::F32 => {
                let values = self.file.values(info).map_err(failed)?;
                let finite = values.iter().all(|value| value.is_finite());
                (Tensor::F32(values), finite)
            }
        };
        if finite {
            return Ok(tensor);
        }
        Err(SourceError {
            name,
            reason: "it holds values that are no numbers; the file is damaged, get it again"
                .to_owned(),
        })
    }

    fn text(&self, tokens: &[i32]) -> Option<String> {
        self.vocabulary.as_ref()?.text(tokens)
    }
}

/// An error with its cause, in one line.
fn with_source(error: &GgufError) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}
