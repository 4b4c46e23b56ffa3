//! What the metadata of a file means: the shape of the model in it.
//!
//! Every key that would change a model's results is either obeyed or refused by name; keys that
//! only describe are not looked at. Dims of tensors are compared with the shape elsewhere.

use super::shown::Shown;
use super::{GgufError, Header};
use crate::model::{Gate, LocalLayers, ModelShape, Rotation};
use crate::ops::call::HeadDim;

/// The architectures that can be run, as `general.architecture` names them.
pub const ARCHITECTURES: [&str; 2] = ["llama", "gemma3"];

/// Positions for which caches have room, at most: the campaign's prefill and room to go on.
const MOST_POSITIONS: usize = 4096;
/// Tokens of the prefill that is timed, at most: the campaign's.
const MOST_PREFILL: usize = 2630;
/// Base of the frequencies where the metadata names none.
const DEFAULT_BASE: f32 = 10_000.0;
/// Every layer of this number of a Gemma 3 model sees all positions.
const GEMMA_PERIOD: usize = 6;
/// Layers of the one Gemma 3 model, 27B, whose attention is scaled by hidden / heads.
const GEMMA_27B_LAYERS: usize = 62;
/// The tensor with what each frequency is divided by.
pub(super) const FACTORS: &str = "rope_freqs.weight";

/// Finds the shape of the model, without what is in its tensors ([`FACTORS`]).
pub(super) fn shape(header: &Header) -> Result<ModelShape, GgufError> {
    let name = architecture(header)?;
    let keys = Keys { header, name };
    keys.refuse_unknown_mathematics()?;
    let base = llama(&keys)?;
    let shape = match name {
        "gemma3" => gemma3(&keys, base)?,
        _ => base,
    };
    shape.check()?;
    Ok(shape)
}

fn architecture(header: &Header) -> Result<&'static str, GgufError> {
    let key = "general.architecture";
    let found = header.text(key)?.ok_or_else(|| GgufError::Missing {
        what: format!("metadata `{key}`"),
        architecture: "language".to_owned(),
    })?;
    let known = ARCHITECTURES.into_iter().find(|name| *name == found);
    known.ok_or_else(|| GgufError::Unsupported {
        what: "the model's architecture".to_owned(),
        found: found.to_owned(),
        supported: ARCHITECTURES.join(", "),
    })
}

/// The metadata of one architecture.
struct Keys<'a> {
    header: &'a Header,
    name: &'static str,
}

impl Keys<'_> {
    fn key(&self, key: &str) -> String {
        format!("{}.{key}", self.name)
    }

    fn count(&self, key: &str) -> Result<Option<usize>, GgufError> {
        let count = self.header.count(&self.key(key))?;
        Ok(count.map(|n| n as usize))
    }

    fn float(&self, key: &str) -> Result<Option<f32>, GgufError> {
        self.header.float(&self.key(key))
    }

    fn needed<T>(&self, key: &str, value: Option<T>) -> Result<T, GgufError> {
        value.ok_or_else(|| GgufError::Missing {
            what: format!("metadata `{}`", self.key(key)),
            architecture: self.name.to_owned(),
        })
    }

    fn needed_count(&self, key: &str) -> Result<usize, GgufError> {
        self.needed(key, self.count(key)?)
    }

    /// Refuses a value that is there and is not `only`.
    fn only(&self, key: &str, only: usize) -> Result<(), GgufError> {
        match self.count(key)? {
            Some(found) if found != only => Err(self.header.wrong(
                &self.key(key),
                format!("{found}; only {only} can be run here"),
            )),
            _ => Ok(()),
        }
    }

    /// Refuses what the kernels do not compute.
    fn refuse_unknown_mathematics(&self) -> Result<(), GgufError> {
        for key in ["expert_count", "attn_logit_softcapping"] {
            let key = self.key(key);
            let is_off = |value: &super::Value| {
                value.as_u64() == Some(0) || *value == super::Value::Float(0.0)
            };
            if self.header.get(&key).is_some_and(|value| !is_off(value)) {
                let problem = "models with it cannot be run here".to_owned();
                return Err(self.header.wrong(&key, problem));
            }
        }
        if let Some(n) = self.header.get("split.count").and_then(|v| v.as_u64())
            && n > 1
        {
            let problem = format!("one of {n} parts of a model; merge them into one file");
            return Err(self.header.wrong("split.count", problem));
        }
        Ok(())
    }

    /// What positions are divided by before they are turned into angles.
    fn linear_scale(&self) -> Result<f32, GgufError> {
        let key = self.key("rope.scaling.type");
        match self.header.text(&key)? {
            None | Some("linear") => {}
            Some("none") => return Ok(1.0),
            Some(other) => {
                return Err(GgufError::Unsupported {
                    what: format!("metadata `{key}`"),
                    found: other.to_owned(),
                    supported: "none, linear".to_owned(),
                });
            }
        }
        let factor = self.float("rope.scaling.factor")?;
        Ok(factor.or(self.float("rope.scale_linear")?).unwrap_or(1.0))
    }

    /// The count of tokens, which the file may name twice.
    fn vocabulary(&self) -> Result<usize, GgufError> {
        let tokens = self.header.strings(super::vocabulary::TOKENS)?;
        let tokens = tokens.map(super::Strings::len);
        let named = self.count("vocab_size")?;
        if let (Some(named), Some(tokens)) = (named, tokens)
            && named != tokens
        {
            let problem = format!("{named}, and the vocabulary has {tokens} tokens");
            return Err(self.header.wrong(&self.key("vocab_size"), problem));
        }
        self.needed("vocab_size", named.or(tokens))
    }
}

/// Reads the keys that all architectures have. A Llama without more is this.
fn llama(keys: &Keys<'_>) -> Result<ModelShape, GgufError> {
    let layers = keys.needed_count("block_count")?;
    if layers > keys.header.tensors().len() {
        let problem = format!(
            "{layers} layers, and the file has {} tensors in all",
            keys.header.tensors().len()
        );
        return Err(keys.header.wrong(&keys.key("block_count"), problem));
    }
    let hidden = keys.needed_count("embedding_length")?;
    let heads = keys.needed_count("attention.head_count")?;
    let head_dim = head_dim(keys, hidden, heads)?;
    let positions = keys.needed_count("context_length")?.min(MOST_POSITIONS);
    let scale = 1.0 / (head_dim.get() as f64).sqrt();
    let name = keys.header.text("general.name")?;
    Ok(ModelShape {
        // It is for messages only.
        name: Shown(name.unwrap_or(keys.name)).to_string(),
        hidden,
        ffn: keys.needed_count("feed_forward_length")?,
        layers,
        heads,
        kv_heads: keys.count("attention.head_count_kv")?.unwrap_or(heads),
        head_dim,
        vocabulary: keys.vocabulary()?,
        positions,
        prefill: positions.min(MOST_PREFILL),
        eps: {
            let key = "attention.layer_norm_rms_epsilon";
            keys.needed(key, keys.float(key)?)?
        },
        embed_scale: 1.0,
        attention_scale: keys.float("attention.scale")?.unwrap_or(scale as f32),
        rotation: rotation(keys, head_dim)?,
        interleaved: true,
        gate: Gate::Swiglu,
        local: None,
        qk_norms: false,
        post_norms: false,
        tied_head: keys.header.tensor("output.weight").is_none(),
    })
}

fn head_dim(keys: &Keys<'_>, hidden: usize, heads: usize) -> Result<HeadDim, GgufError> {
    let key = "attention.key_length";
    let length = match keys.count(key)? {
        Some(length) => length,
        None if hidden.is_multiple_of(heads) => hidden / heads,
        None => {
            let problem = format!("{heads} heads do not divide {hidden} values");
            let key = keys.key("attention.head_count");
            return Err(keys.header.wrong(&key, problem));
        }
    };
    keys.only("attention.value_length", length)?;
    keys.only("rope.dimension_count", length)?;
    HeadDim::new(length).ok_or_else(|| GgufError::Unsupported {
        what: format!("the head size, metadata `{}`,", keys.key(key)),
        found: length.to_string(),
        supported: HeadDim::ALL.map(|d| d.get().to_string()).join(", "),
    })
}

fn rotation(keys: &Keys<'_>, head_dim: HeadDim) -> Result<Rotation, GgufError> {
    let scale = keys.linear_scale()?;
    let scaled = if scale == 1.0 { 0 } else { head_dim.get() / 2 };
    Ok(Rotation {
        base: f64::from(keys.float("rope.freq_base")?.unwrap_or(DEFAULT_BASE)),
        factors: vec![scale; scaled],
    })
}

/// What Gemma 3 has beyond a Llama.
fn gemma3(keys: &Keys<'_>, base: ModelShape) -> Result<ModelShape, GgufError> {
    let window = keys.needed_count("attention.sliding_window")?;
    let period = keys.count("attention.sliding_window_pattern")?;
    let local_base = keys.float("rope.freq_base_swa")?.unwrap_or(DEFAULT_BASE);
    let scaled_by = match base.layers {
        GEMMA_27B_LAYERS => base.hidden / base.heads,
        _ => base.head_dim.get(),
    };
    Ok(ModelShape {
        embed_scale: (base.hidden as f32).sqrt(),
        attention_scale: (1.0 / (scaled_by as f64).sqrt()) as f32,
        interleaved: false,
        gate: Gate::Geglu,
        local: Some(LocalLayers {
            window,
            rotation: Rotation {
                base: f64::from(local_base),
                factors: Vec::new(),
            },
            period: period.unwrap_or(GEMMA_PERIOD),
        }),
        qk_norms: true,
        post_norms: true,
        ..base
    })
}
