//! One pass of tokens through the layers, as launches in order: the prompt's tokens or a single
//! one, from the embedding to the next token. Nothing runs here.

use super::ModelError;
use super::buffers::Buffers;
use super::shape::ModelShape;
use super::weights::{LayerWeights, Matrix, Weights};
use crate::device::{Buffer, Device, DeviceError, Launch};
use crate::mmq::Tile;
use crate::mmq::blocks::CHUNK;
use crate::ops::call::{
    Attention, Call, Embed, Format, Pairwise, Place, RmsNorm, Rope, Sizes, argmax, quantise,
};

/// Launches in order, with what they are.
#[derive(Debug, Clone, Default)]
pub struct Pass {
    /// The launches.
    pub launches: Vec<Launch>,
    /// The kernel of each launch.
    pub kernels: Vec<&'static str>,
    /// Multiplications of its matrix products.
    pub multiplications: u64,
}

/// Which tokens go through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    /// The position of the first.
    pub(super) first: usize,
    /// How many: 1 to the shape's `prefill`.
    pub(super) tokens: usize,
    /// Whether the next token is wanted.
    pub(super) next: bool,
}

/// What passes are built from.
pub(super) struct Parts<'a> {
    pub(super) shape: &'a ModelShape,
    pub(super) tile: Tile,
    pub(super) weights: &'a Weights,
    pub(super) buffers: &'a Buffers,
}

impl Parts<'_> {
    /// Builds a pass.
    ///
    /// # Errors
    /// Where the device lacks a kernel.
    pub(super) fn pass(&self, device: &mut dyn Device, span: Span) -> Result<Pass, ModelError> {
        let mut builder = Builder {
            parts: self,
            device,
            span,
            pass: Pass::default(),
        };
        builder.embed()?;
        for (layer, weights) in self.weights.layers.iter().enumerate() {
            builder.attention(layer, weights)?;
            builder.feed_forward(weights)?;
        }
        if span.next {
            builder.next_token()?;
        }
        Ok(builder.pass)
    }
}

struct Builder<'a> {
    parts: &'a Parts<'a>,
    device: &'a mut dyn Device,
    span: Span,
    pass: Pass,
}

fn at(buffer: Buffer, element: usize) -> Place {
    let offset = element * 4;
    Place { buffer, offset }
}

impl Builder<'_> {
    fn add(&mut self, call: &Call, pointers: &[Place]) -> Result<(), DeviceError> {
        let kernel = self.device.kernel(call.kernel)?;
        self.pass.launches.push(call.launch(kernel, pointers));
        self.pass.kernels.push(call.kernel);
        Ok(())
    }

    fn embed(&mut self) -> Result<(), DeviceError> {
        let Parts {
            shape,
            weights,
            buffers,
            ..
        } = self.parts;
        let call = Embed {
            format: weights.embedding.format,
            tokens: self.span.tokens,
            hidden: shape.hidden,
            scale: shape.embed_scale,
        }
        .call();
        let pointers = [
            at(buffers.tokens, self.span.first),
            weights.embedding.buffer.into(),
            buffers.x.into(),
        ];
        self.add(&call, &pointers)
    }

    /// Normalises `rows` rows as long as the weight.
    fn norm(
        &mut self,
        from: Place,
        weight: &Matrix,
        rows: usize,
        to: Place,
    ) -> Result<(), DeviceError> {
        let shape = RmsNorm {
            rows,
            n: weight.dims.k,
            eps: self.parts.shape.eps,
        };
        self.add(&shape.call(), &[from, weight.buffer.into(), to])
    }

    /// Multiplies rows of `from` with matrices of the same depth. They are quantised once, and
    /// only if a matrix is q4_K.
    fn project(
        &mut self,
        from: Buffer,
        tokens: usize,
        matrices: &[(&Matrix, Place)],
    ) -> Result<(), DeviceError> {
        let q8 = self.parts.buffers.q8;
        let quantised = matrices
            .iter()
            .find(|(matrix, _)| matrix.format == Format::Q4K);
        if let Some((matrix, _)) = quantised {
            let blocks = tokens * matrix.dims.k / CHUNK;
            self.add(&quantise(blocks), &[from.into(), q8.into()])?;
        }
        for (matrix, to) in matrices {
            let sizes = Sizes {
                k: matrix.dims.k,
                ods: matrix.dims.rows,
                tokens,
            };
            let (call, from) = match (matrix.format, tokens) {
                (Format::F32, _) => (sizes.matmul_f32(), from),
                (Format::Q4K, 1) => (sizes.matvec(), q8),
                (Format::Q4K, _) => (sizes.product(self.parts.tile), q8),
            };
            self.pass.multiplications += (sizes.k * sizes.ods * tokens) as u64;
            self.add(&call, &[from.into(), matrix.buffer.into(), *to])?;
        }
        Ok(())
    }

    fn rotate(&mut self, layer: usize, heads: usize, x: Place) -> Result<(), DeviceError> {
        let Parts { shape, buffers, .. } = self.parts;
        let table = match shape.local_at(layer) {
            Some(_) => buffers.local_rotation,
            None => buffers.rotation,
        };
        let rope = Rope {
            tokens: self.span.tokens,
            heads,
            head_dim: shape.head_dim.get(),
            first_position: self.span.first,
            interleaved: shape.interleaved,
        };
        self.add(&rope.call(), &[x, table.into(), x])
    }

    fn attention(&mut self, layer: usize, weights: &LayerWeights) -> Result<(), DeviceError> {
        let Parts { shape, buffers, .. } = self.parts;
        let (tokens, first) = (self.span.tokens, self.span.first);
        let (keys, values) = (buffers.keys[layer], buffers.values[layer]);
        // The tokens' own rows in the caches.
        let (new_keys, new_values) = (
            at(keys, first * shape.kv_width()),
            at(values, first * shape.kv_width()),
        );
        let q = buffers.q.into();
        self.norm(
            buffers.x.into(),
            &weights.attn_norm,
            tokens,
            buffers.n.into(),
        )?;
        let matrices = [
            (&weights.q, q),
            (&weights.k, new_keys),
            (&weights.v, new_values),
        ];
        self.project(buffers.n, tokens, &matrices)?;
        if let Some([q_norm, k_norm]) = &weights.qk_norms {
            self.norm(q, q_norm, tokens * shape.heads, q)?;
            self.norm(new_keys, k_norm, tokens * shape.kv_heads, new_keys)?;
        }
        self.rotate(layer, shape.heads, q)?;
        self.rotate(layer, shape.kv_heads, new_keys)?;
        let attention = Attention {
            tokens,
            first_position: first,
            heads: shape.heads,
            kv_heads: shape.kv_heads,
            head_dim: shape.head_dim,
            window: shape.window(layer),
            scale: shape.attention_scale,
        };
        let attended = buffers.attended.into();
        self.add(
            &attention.call(),
            &[q, keys.into(), values.into(), attended],
        )?;
        self.project(
            buffers.attended,
            tokens,
            &[(&weights.output, buffers.n.into())],
        )?;
        self.add_branch(weights.post_attn_norm.as_ref())
    }

    /// Adds what is in `n` to the stream, normalised first where the model does that.
    fn add_branch(&mut self, norm: Option<&Matrix>) -> Result<(), DeviceError> {
        let Parts { shape, buffers, .. } = self.parts;
        let (x, n, tokens) = (buffers.x.into(), buffers.n.into(), self.span.tokens);
        if let Some(norm) = norm {
            self.norm(n, norm, tokens, n)?;
        }
        let call = Pairwise::Add.call(tokens * shape.hidden);
        self.add(&call, &[x, n, x])
    }

    fn feed_forward(&mut self, weights: &LayerWeights) -> Result<(), DeviceError> {
        let Parts { shape, buffers, .. } = self.parts;
        let tokens = self.span.tokens;
        self.norm(
            buffers.x.into(),
            &weights.ffn_norm,
            tokens,
            buffers.n.into(),
        )?;
        let matrices = [
            (&weights.gate, buffers.gate.into()),
            (&weights.up, buffers.up.into()),
        ];
        self.project(buffers.n, tokens, &matrices)?;
        let (gate, up) = (buffers.gate.into(), buffers.up.into());
        let call = shape.gate.kind().call(tokens * shape.ffn);
        self.add(&call, &[gate, up, gate])?;
        self.project(buffers.gate, tokens, &[(&weights.down, buffers.n.into())])?;
        self.add_branch(weights.post_ffn_norm.as_ref())
    }

    /// The token after the last one, written behind it.
    fn next_token(&mut self) -> Result<(), DeviceError> {
        let Parts {
            shape,
            weights,
            buffers,
            ..
        } = self.parts;
        let last = at(buffers.x, (self.span.tokens - 1) * shape.hidden);
        self.norm(last, &weights.final_norm, 1, buffers.n.into())?;
        self.project(buffers.n, 1, &[(&weights.head, buffers.logits.into())])?;
        let next = at(buffers.tokens, self.span.first + self.span.tokens);
        self.add(&argmax(shape.vocabulary), &[buffers.logits.into(), next])
    }
}
