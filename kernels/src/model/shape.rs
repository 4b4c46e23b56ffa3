//! How large a model is and what its layers are made of, checked before anything is allocated.

use super::tensor::{Dims, TensorName};
use crate::mmq::blocks::SUPER;
use crate::ops::call::{Format, HeadDim, Pairwise};

/// What a field of a shape may be at most: every count fits a kernel's 32-bit number.
const MOST: usize = i32::MAX as usize;

/// The angles of the rotary embedding.
#[derive(Debug, Clone, PartialEq)]
pub struct Rotation {
    /// The base of the frequencies, for example 10,000.
    pub base: f64,
    /// What the frequency of each pair is divided by; empty where none is.
    pub factors: Vec<f32>,
}

impl Rotation {
    /// Cosine and sine of every position and pair, `[positions][head_dim / 2][2]`, computed in
    /// f64 and rounded to f32 once.
    pub fn table(&self, head_dim: usize, positions: usize) -> Vec<f32> {
        let mut table = Vec::with_capacity(positions * head_dim);
        for position in 0..positions {
            for pair in 0..head_dim / 2 {
                let exponent = -2.0 * pair as f64 / head_dim as f64;
                let factor = self.factors.get(pair).map_or(1.0, |f| f64::from(*f));
                let angle = position as f64 * self.base.powf(exponent) / factor;
                table.extend([angle.cos() as f32, angle.sin() as f32]);
            }
        }
        table
    }
}

/// Layers that see only the last positions.
#[derive(Debug, Clone, PartialEq)]
pub struct LocalLayers {
    /// Positions that they see.
    pub window: usize,
    /// Their own rotation.
    pub rotation: Rotation,
    /// Every layer of this number (the 6th, the 12th) sees all positions instead.
    pub period: usize,
}

/// What joins gate and up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gate {
    /// SiLU of the gate.
    Swiglu,
    /// GELU of the gate, by its tanh formula.
    Geglu,
}

impl Gate {
    /// The kernel's kind.
    pub fn kind(self) -> Pairwise {
        match self {
            Gate::Swiglu => Pairwise::Swiglu,
            Gate::Geglu => Pairwise::Geglu,
        }
    }
}

/// The shape of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelShape {
    /// What it is called in messages.
    pub name: String,
    /// Values of a token between layers.
    pub hidden: usize,
    /// Values between gate and down.
    pub ffn: usize,
    /// Layers.
    pub layers: usize,
    /// Heads of q.
    pub heads: usize,
    /// Heads of k and v.
    pub kv_heads: usize,
    /// Values of a head.
    pub head_dim: HeadDim,
    /// Tokens that there are.
    pub vocabulary: usize,
    /// Positions for which the caches have room.
    pub positions: usize,
    /// Tokens of the prefill that is timed; the most that are processed at a time.
    pub prefill: usize,
    /// Added to the mean square in norms.
    pub eps: f32,
    /// What an embedding is multiplied by.
    pub embed_scale: f32,
    /// What the products of q and k are multiplied by.
    pub attention_scale: f32,
    /// The rotation of q and k.
    pub rotation: Rotation,
    /// Whether rotated pairs are neighbours rather than half a head apart.
    pub interleaved: bool,
    /// What joins gate and up.
    pub gate: Gate,
    /// Layers with a window, where there are such.
    pub local: Option<LocalLayers>,
    /// Whether heads of q and k are normalised.
    pub qk_norms: bool,
    /// Whether the outputs of attention and of the feed-forward part are normalised.
    pub post_norms: bool,
    /// Whether the output head is the embedding.
    pub tied_head: bool,
}

/// A shape that no model can have, or that the kernels cannot run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("model {model}: {field} is {value}: {reason}")]
pub struct ShapeError {
    /// The model.
    pub model: String,
    /// The field.
    pub field: &'static str,
    /// What it is.
    pub value: String,
    /// What it must be.
    pub reason: String,
}

impl ModelShape {
    /// A model that is generated and run within seconds anywhere.
    pub fn tiny() -> Self {
        ModelShape {
            name: "tiny".to_owned(),
            hidden: 512,
            ffn: 1536,
            layers: 6,
            heads: 8,
            kv_heads: 2,
            head_dim: HeadDim::D64,
            vocabulary: 2048,
            positions: 1024,
            prefill: 512,
            eps: 1e-6,
            embed_scale: 1.0,
            attention_scale: 0.125,
            rotation: Rotation {
                base: 10_000.0,
                factors: Vec::new(),
            },
            interleaved: false,
            gate: Gate::Swiglu,
            local: None,
            qk_norms: false,
            post_norms: false,
            tied_head: false,
        }
    }

    /// The 7B model of the campaign: about 4.5 GB of q4_K.
    pub fn qwen7b() -> Self {
        ModelShape {
            name: "qwen7b".to_owned(),
            hidden: 3584,
            ffn: 18_944,
            layers: 28,
            heads: 28,
            kv_heads: 4,
            head_dim: HeadDim::D128,
            vocabulary: 152_064,
            positions: 4096,
            prefill: 2630,
            // 1 / sqrt(128), rounded to f32.
            attention_scale: 0.088_388_35,
            rotation: Rotation {
                base: 1_000_000.0,
                factors: Vec::new(),
            },
            ..ModelShape::tiny()
        }
    }

    /// Values of all heads of q.
    pub fn q_width(&self) -> usize {
        self.heads * self.head_dim.get()
    }

    /// Values of all heads of k, or of v.
    pub fn kv_width(&self) -> usize {
        self.kv_heads * self.head_dim.get()
    }

    /// The window of a layer; 0 where it sees all positions.
    pub fn window(&self, layer: usize) -> usize {
        self.local_at(layer).map_or(0, |local| local.window)
    }

    /// The local kind of a layer, if it is one.
    pub fn local_at(&self, layer: usize) -> Option<&LocalLayers> {
        let local = self.local.as_ref()?;
        (!(layer + 1).is_multiple_of(local.period)).then_some(local)
    }

    /// Checks everything that does not depend on how tensors are kept.
    ///
    /// # Errors
    /// The first field that is wrong.
    pub fn check(&self) -> Result<(), ShapeError> {
        self.check_counts()?;
        if !self.heads.is_multiple_of(self.kv_heads) {
            let reason = format!("must divide the {} heads", self.heads);
            return Err(self.error("kv_heads", self.kv_heads, reason));
        }
        for (field, value) in [("hidden", self.hidden), ("ffn", self.ffn)] {
            if !value.is_multiple_of(4) {
                return Err(self.error(field, value, "must be a multiple of 4"));
            }
        }
        if self.prefill > self.positions {
            let reason = format!("must not exceed the {} positions", self.positions);
            return Err(self.error("prefill", self.prefill, reason));
        }
        let pairs = self.head_dim.get() / 2;
        let local = self.local.iter().map(|local| &local.rotation);
        for rotation in local.chain([&self.rotation]) {
            let count = rotation.factors.len();
            if count != 0 && count != pairs {
                let reason = format!("must have one for each of {pairs} pairs, or none");
                return Err(self.error("rotation.factors", count, reason));
            }
            if !(rotation.base.is_finite() && rotation.base > 1.0) {
                let reason = "must be a number above 1";
                return Err(self.error("rotation.base", rotation.base, reason));
            }
        }
        let numbers = [
            ("eps", self.eps),
            ("embed_scale", self.embed_scale),
            ("attention_scale", self.attention_scale),
        ];
        for (field, value) in numbers {
            if !(value.is_finite() && value >= 0.0) {
                return Err(self.error(field, value, "must be a number, not negative"));
            }
        }
        Ok(())
    }

    fn check_counts(&self) -> Result<(), ShapeError> {
        let counts = [
            ("hidden", self.hidden),
            ("ffn", self.ffn),
            ("layers", self.layers),
            ("heads", self.heads),
            ("kv_heads", self.kv_heads),
            ("vocabulary", self.vocabulary),
            ("positions", self.positions),
            ("prefill", self.prefill),
            ("local.window", self.local.as_ref().map_or(1, |l| l.window)),
            ("local.period", self.local.as_ref().map_or(1, |l| l.period)),
        ];
        for (field, value) in counts {
            if value == 0 || value > MOST {
                return Err(self.error(field, value, format!("must be 1 to {MOST}")));
            }
        }
        let widest = self.hidden.max(self.ffn).max(self.vocabulary);
        let heads = self.heads.saturating_mul(self.head_dim.get());
        // Element counts of kernels are 32-bit numbers.
        let most = MOST / self.prefill.max(1);
        if heads > most || widest.max(self.hidden) > MOST || self.ffn > most || self.hidden > most {
            let reason = format!("a row of it must have at most {most} values");
            return Err(self.error("prefill", self.prefill, reason));
        }
        Ok(())
    }

    /// Checks that a tensor can be kept in a format.
    ///
    /// # Errors
    /// Where q4_K is asked for a depth that is no multiple of its super-blocks, or the tensor is
    /// larger than any kernel takes.
    pub fn check_format(&self, name: TensorName, format: Format) -> Result<(), ShapeError> {
        let Dims { rows, k } = name.dims(self);
        if rows
            .checked_mul(k)
            .is_none_or(|values| values / SUPER > MOST)
        {
            let reason = format!("{name} would have {rows} rows, more than kernels can count");
            return Err(self.error(name.depth_field(), k, reason));
        }
        if format == Format::Q4K && !k.is_multiple_of(SUPER) {
            let reason = format!("{name} is q4_K, so it must be a multiple of {SUPER}");
            return Err(self.error(name.depth_field(), k, reason));
        }
        Ok(())
    }

    fn error(
        &self,
        field: &'static str,
        value: impl ToString,
        reason: impl Into<String>,
    ) -> ShapeError {
        ShapeError {
            model: self.name.clone(),
            field,
            value: value.to_string(),
            reason: reason.into(),
        }
    }
}
