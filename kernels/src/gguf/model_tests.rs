//! Files of whole, small models: what is made of sound ones, and what is said about others.

use std::io::Write;

use proptest::prelude::*;

use super::testing::Writer;
use super::{GgufError, GgufSource, Header, TensorType};
use crate::model::{Gate, LayerTensor, ModelShape, Tensor, TensorName, TensorSource};
use crate::ops::call::{Format, HeadDim};

/// Bits of 1.0 as f16.
const ONE: u16 = 0x3c00;

/// A model to be written, sound unless something is changed.
struct Model {
    architecture: &'static str,
    writer: Writer,
    /// Tensors of all layers and the rest: name, dims, type.
    tensors: Vec<(String, Vec<u64>, TensorType)>,
}

const LAYERS: u64 = 2;
const HIDDEN: u64 = 256;
const FFN: u64 = 512;
const Q: u64 = 256;
const KV: u64 = 128;
const TOKENS: u64 = 6;

impl Model {
    fn new(architecture: &'static str) -> Model {
        let mut model = Model {
            architecture,
            writer: Writer::new().string("general.architecture", architecture),
            tensors: Vec::new(),
        };
        for (key, value) in [
            ("block_count", LAYERS as u32),
            ("context_length", 2048),
            ("embedding_length", HIDDEN as u32),
            ("feed_forward_length", FFN as u32),
            ("attention.head_count", 4),
            ("attention.head_count_kv", 2),
        ] {
            model = model.u32(key, value);
        }
        model
            .f32("attention.layer_norm_rms_epsilon", 1e-5)
            .with_tokens()
            .with_tensors()
    }

    fn gemma() -> Model {
        let mut model = Model::new("gemma3")
            .u32("attention.sliding_window", 512)
            .f32("rope.freq_base", 1e6);
        for layer in 0..LAYERS {
            for (name, values) in [
                ("attn_q_norm", 64),
                ("attn_k_norm", 64),
                ("post_attention_norm", HIDDEN),
                ("post_ffw_norm", HIDDEN),
            ] {
                let name = format!("blk.{layer}.{name}.weight");
                model = model.tensor(&name, &[values], TensorType::F32);
            }
        }
        model
    }

    fn key(&self, key: &str) -> String {
        format!("{}.{key}", self.architecture)
    }

    fn u32(self, key: &str, value: u32) -> Model {
        let key = self.key(key);
        self.write(|w| w.u32(&key, value))
    }

    fn f32(self, key: &str, value: f32) -> Model {
        let key = self.key(key);
        self.write(|w| w.f32(&key, value))
    }

    fn string(self, key: &str, value: &str) -> Model {
        let key = self.key(key);
        self.write(|w| w.string(&key, value))
    }

    fn write(self, change: impl FnOnce(Writer) -> Writer) -> Model {
        Model {
            writer: change(self.writer),
            ..self
        }
    }

    fn with_tokens(self) -> Model {
        let tokens = ["a", "b", "Ġc", "d", "e", "f"];
        self.write(|w| {
            w.string("tokenizer.ggml.model", "gpt2")
                .strings("tokenizer.ggml.tokens", &tokens)
        })
    }

    fn with_tensors(mut self) -> Model {
        use TensorType::{F16, F32, Q4K, Q6K, Q8_0};
        self = self.tensor("token_embd.weight", &[HIDDEN, TOKENS], Q8_0);
        self = self.tensor("output_norm.weight", &[HIDDEN], F32);
        for layer in 0..LAYERS {
            for (name, dims, kind) in [
                ("attn_norm", &[HIDDEN][..], F32),
                ("attn_q", &[HIDDEN, Q], Q4K),
                ("attn_k", &[HIDDEN, KV], Q4K),
                ("attn_v", &[HIDDEN, KV], Q6K),
                ("attn_output", &[Q, HIDDEN], Q4K),
                ("ffn_norm", &[HIDDEN], F16),
                ("ffn_gate", &[HIDDEN, FFN], Q4K),
                ("ffn_up", &[HIDDEN, FFN], Q4K),
                ("ffn_down", &[FFN, HIDDEN], Q6K),
            ] {
                self = self.tensor(&format!("blk.{layer}.{name}.weight"), dims, kind);
            }
        }
        self
    }

    /// Adds a tensor, or changes the one of this name.
    fn tensor(mut self, name: &str, dims: &[u64], kind: TensorType) -> Model {
        self = self.without(name);
        self.tensors.push((name.to_owned(), dims.to_vec(), kind));
        self
    }

    fn without(mut self, name: &str) -> Model {
        self.tensors.retain(|(other, _, _)| other != name);
        self
    }

    /// Writes the model, every f16 in every tensor of value 1, and opens it.
    fn open(&self) -> Result<GgufSource, GgufError> {
        self.open_filled(ONE)
    }

    fn open_filled(&self, halves: u16) -> Result<GgufSource, GgufError> {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        let bytes = self.written(halves).bytes();
        file.write_all(&bytes).expect("written");
        GgufSource::open(file.path())
    }

    fn written(&self, halves: u16) -> Writer {
        let mut writer = self.writer.clone();
        for (name, dims, kind) in &self.tensors {
            let bytes = kind.bytes(dims.iter().product()).expect("whole blocks");
            let data = halves.to_le_bytes().repeat(bytes as usize / 2);
            writer = writer.tensor(name, dims, *kind, &data);
        }
        writer
    }

    fn shape(&self) -> ModelShape {
        self.open().expect("a sound model").shape().clone()
    }

    #[track_caller]
    fn refused(&self, words: &[&str]) {
        let message = self.open().expect_err("a refusal").to_string();
        for word in words {
            assert!(message.contains(word), "`{word}` is not in: {message}");
        }
    }
}

fn llama() -> Model {
    Model::new("llama")
}

#[test]
fn a_llama_has_the_shape_of_its_metadata() {
    let shape = llama().shape();
    let counts = [shape.hidden, shape.ffn, shape.layers, shape.heads];
    assert_eq!(counts, [256, 512, 2, 4]);
    assert_eq!((shape.kv_heads, shape.head_dim), (2, HeadDim::D64));
    assert_eq!(
        (shape.vocabulary, shape.positions, shape.prefill),
        (6, 2048, 2048)
    );
    assert_eq!((shape.eps, shape.embed_scale), (1e-5, 1.0));
    assert_eq!(shape.attention_scale, 0.125);
    assert_eq!(
        (shape.rotation.base, shape.rotation.factors.len()),
        (1e4, 0)
    );
    assert_eq!((shape.interleaved, shape.gate), (true, Gate::Swiglu));
    assert!(shape.tied_head && !shape.qk_norms && !shape.post_norms);
    assert_eq!(shape.local, None);
    assert_eq!(shape.name, "llama");
}

#[test]
fn what_the_metadata_adds_is_obeyed() {
    let model = llama()
        .write(|w| w.string("general.name", "a model"))
        .f32("rope.freq_base", 5e5)
        .u32("vocab_size", TOKENS as u32)
        .u32("rope.dimension_count", 64)
        .tensor("output.weight", &[HIDDEN, TOKENS], TensorType::Q6K);
    let shape = model.shape();
    assert_eq!((shape.name.as_str(), shape.rotation.base), ("a model", 5e5));
    assert!(!shape.tied_head);

    let model = model
        .tensor("rope_freqs.weight", &[32], TensorType::F32)
        .string("rope.scaling.type", "linear")
        .f32("rope.scaling.factor", 2.0);
    // The bits of two f16 of value 1, as an f32.
    let one = f32::from_bits(0x3c00_3c00);
    assert_eq!(model.shape().rotation.factors, [2.0 * one; 32]);
}

#[test]
fn a_gemma_has_local_layers_and_more_norms() {
    let shape = Model::gemma().shape();
    let local = shape.local.as_ref().expect("local layers");
    assert_eq!((local.window, local.period), (512, 6));
    assert_eq!((local.rotation.base, shape.rotation.base), (1e4, 1e6));
    assert_eq!((shape.embed_scale, shape.attention_scale), (16.0, 0.125));
    assert_eq!((shape.interleaved, shape.gate), (false, Gate::Geglu));
    assert!(shape.qk_norms && shape.post_norms && shape.tied_head);
}

#[test]
fn tensors_come_in_the_format_that_was_promised() {
    let mut source = llama().open().expect("a sound model");
    let shape = source.shape().clone();
    for name in TensorName::all(&shape) {
        let dims = name.dims(&shape);
        let format = source.format(name).expect("there");
        match source.tensor(name).expect("readable") {
            Tensor::Q4K(bytes) => {
                assert_eq!(format, Format::Q4K, "{name}");
                assert_eq!(bytes.len(), dims.rows * dims.k / 256 * 144, "{name}");
            }
            Tensor::F32(values) => {
                assert_eq!(format, Format::F32, "{name}");
                assert_eq!(values.len(), dims.rows * dims.k, "{name}");
            }
            Tensor::Synthetic(_) => panic!("{name} is in the file"),
        }
    }
    let format = |tensor| source.format(TensorName::Layer(1, tensor)).expect("there");
    assert_eq!(format(LayerTensor::Q), Format::Q4K);
    assert_eq!(format(LayerTensor::V), Format::F32);
    let norm = TensorName::Layer(1, LayerTensor::FfnNorm);
    let values = source.tensor(norm).expect("readable");
    assert_eq!(values, Tensor::F32(vec![1.0; HIDDEN as usize]));
    assert_eq!(source.text(&[0, 2, 5]).as_deref(), Some("a cf"));
    assert!(source.format(TensorName::Head).is_err());
}

#[test]
fn values_that_are_no_numbers_are_refused() {
    const NAN: u16 = 0x7e00;
    let mut source = llama().open_filled(NAN).expect("its header is sound");
    for tensor in [LayerTensor::Q, LayerTensor::V, LayerTensor::FfnNorm] {
        let name = TensorName::Layer(0, tensor);
        let error = source.tensor(name).expect_err("no numbers").to_string();
        assert!(error.contains(&name.to_string()), "{error}");
        assert!(error.contains("no numbers"), "{error}");
    }
}

#[test]
fn architectures_that_are_not_known_are_named_with_those_that_are() {
    Model::new("qwen2").refused(&["`qwen2`", "llama, gemma3"]);
    let nameless = Model {
        writer: Writer::new(),
        ..llama()
    };
    nameless.refused(&["general.architecture"]);
}

#[test]
fn mathematics_that_is_not_known_is_refused() {
    llama()
        .u32("expert_count", 8)
        .refused(&["llama.expert_count"]);
    llama().u32("expert_count", 0).shape();
    let soft = llama().f32("attn_logit_softcapping", 50.0);
    soft.refused(&["attn_logit_softcapping"]);
    let yarn = llama().string("rope.scaling.type", "yarn");
    yarn.refused(&["llama.rope.scaling.type", "`yarn`", "linear"]);
    llama()
        .u32("rope.dimension_count", 32)
        .refused(&["rope.dimension_count", "64"]);
    llama()
        .u32("attention.value_length", 32)
        .refused(&["attention.value_length"]);
    llama()
        .u32("attention.key_length", 80)
        .refused(&["key_length", "`80`", "64, 128"]);
    let bias = llama().tensor("blk.0.attn_q.bias", &[Q], TensorType::F32);
    bias.refused(&["`blk.0.attn_q.bias`", "no place in a llama"]);
    let split = llama().write(|w| w.raw("split.count", 2, &[3, 0]));
    split.refused(&["split.count", "3 parts"]);
    let zero = llama().tensor("rope_freqs.weight", &[32], TensorType::F32);
    let error = zero.open_filled(0).expect_err("a refusal").to_string();
    assert!(error.contains("rope_freqs.weight"), "{error}");
    let few = llama().tensor("rope_freqs.weight", &[16], TensorType::F32);
    few.refused(&["`rope_freqs.weight` has dims [16]", "promises [32]"]);
    let other = llama().tensor("rope_freqs.weight", &[32], TensorType::F16);
    other.refused(&["the type of tensor `rope_freqs.weight`", "`f16`", "f32"]);
}

#[test]
fn no_tensor_is_read_before_the_dims_of_all_are_checked() {
    // Factors that would be refused for their values, and a matrix for its dims.
    let model = llama()
        .tensor("rope_freqs.weight", &[32], TensorType::F32)
        .tensor("blk.1.ffn_up.weight", &[HIDDEN, 1], TensorType::F32);
    let error = model.open_filled(0).expect_err("a refusal").to_string();
    assert!(error.contains("`blk.1.ffn_up.weight` has dims"), "{error}");
}

#[test]
fn a_sparse_file_of_any_size_is_refused_without_memory_for_it() {
    for (kind, dim) in [(TensorType::F32, 1 << 38), (TensorType::Q4_0, 1 << 32)] {
        // Its info, and none of its bytes.
        let writer = llama().written(ONE);
        let bytes = writer
            .tensor("rope_freqs.weight", &[dim], kind, &[])
            .bytes();
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(&bytes).expect("written");
        let sparse = kind.bytes(dim).expect("whole blocks");
        let len = bytes.len() as u64 + sparse;
        file.as_file().set_len(len).expect("a sparse file");
        let error = GgufSource::open(file.path()).expect_err("a refusal");
        let promised =
            format!("`rope_freqs.weight` has dims [{dim}] and the metadata promises [32]");
        assert!(error.to_string().contains(&promised), "{error}");
    }
}

#[test]
fn dims_that_the_metadata_does_not_promise_are_named() {
    let cases: [(&str, &[u64]); 5] = [
        ("blk.1.attn_q.weight", &[HIDDEN, 2 * Q]),
        ("blk.1.attn_norm.weight", &[2 * HIDDEN]),
        ("blk.0.attn_norm.weight", &[HIDDEN, 1]),
        ("token_embd.weight", &[HIDDEN, TOKENS, 1]),
        ("output.weight", &[TOKENS, HIDDEN]),
    ];
    for (name, dims) in cases {
        let model = llama().tensor(name, dims, TensorType::F32);
        model.refused(&[name, &format!("dims {dims:?}"), "promises ["]);
    }
}

#[test]
fn what_is_missing_is_named() {
    llama()
        .without("blk.1.ffn_up.weight")
        .refused(&["`blk.1.ffn_up.weight`", "llama"]);
    let model = |change: fn(Writer) -> Writer| Model {
        writer: change(Writer::new().string("general.architecture", "llama")),
        ..llama()
    };
    model(|w| w).refused(&["llama.block_count"]);
    model(|w| w.u32("llama.block_count", 0)).refused(&["llama.block_count", "0, not"]);
    let deep = model(|w| w.u32("llama.block_count", u32::MAX));
    deep.refused(&["llama.block_count", "20 tensors"]);
    let other = llama().u32("vocab_size", 7);
    other.refused(&["llama.vocab_size", "7", "6 tokens"]);
    Model::new("gemma3").refused(&["gemma3.attention.sliding_window"]);
}

#[test]
fn texts_of_the_file_are_escaped_and_shortened() {
    let hostile = format!("\x1b[2J{}", "long".repeat(4000));
    let named = |name: &str| llama().write(|w| w.string("general.name", name));
    let architecture = Model {
        writer: Writer::new().string("general.architecture", &hostile),
        ..llama()
    };
    for model in [
        architecture,
        named(&hostile).f32("rope.freq_base", 0.5),
        llama().string("rope.scaling.type", &hostile),
        llama().tensor("\x1b[2Jlong", &[1], TensorType::F32),
    ] {
        let message = model.open().expect_err("a refusal").to_string();
        assert!(
            message.contains(r"`\u{1b}[2Jlong") || message.contains(r"model \u{1b}[2Jlong"),
            "{message:?}"
        );
        assert!(!message.contains('\x1b'), "{message:?}");
        assert!(message.len() < 400, "{} bytes: {message}", message.len());
    }
    let name = named(&hostile).shape().name;
    assert!(
        name.starts_with(r"\u{1b}[2Jlong") && name.len() < 100,
        "{name:?}"
    );
}

#[test]
fn numbers_that_cannot_be_are_refused() {
    for (key, value) in [
        ("rope.freq_base", 0.0),
        ("rope.freq_base", f32::NAN),
        ("attention.scale", f32::INFINITY),
        ("rope.freq_base", 0.5),
    ] {
        llama().f32(key, value).refused(&[match key {
            "rope.freq_base" if value == 0.5 => "rotation.base",
            key => key,
        }]);
    }
    let tokens = llama().write(|w| w.u32("tokenizer.ggml.token_type", 1));
    tokens.refused(&["tokenizer.ggml.token_type", "not numbers"]);
}

/// What is written of a sound model up to its tensors' bytes, and how many bytes those have.
fn header_of(model: &Model) -> (Vec<u8>, usize) {
    let mut writer = model.writer.clone();
    for (name, dims, kind) in &model.tensors {
        let bytes = kind.bytes(dims.iter().product()).expect("whole blocks");
        writer = writer.tensor(name, dims, *kind, &vec![0; bytes as usize]);
    }
    let mut bytes = writer.bytes();
    let header = Header::parse(&bytes).expect("sound");
    let begins = header.tensors().iter().map(|tensor| tensor.begin);
    let begin = begins.min().expect("tensors") as usize;
    let data = bytes.len() - begin;
    bytes.truncate(begin);
    (bytes, data)
}

/// What opening a file does, without the file.
fn open_header(bytes: &[u8], data: usize) -> Result<ModelShape, GgufError> {
    let header = Header::read(bytes, (bytes.len() + data) as u64)?;
    let shape = super::architecture::shape(&header)?;
    super::source::check_tensors(&header, &shape)?;
    super::Vocabulary::new(&header)?;
    Ok(shape)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn damaged_models_are_refused_or_have_a_shape_that_can_be(
        gemma in any::<bool>(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let model = if gemma { Model::gemma() } else { llama() };
        let (mut bytes, data) = header_of(&model);
        prop_assert!(open_header(&bytes, data).is_ok());
        for (at, value) in damage {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Ok(shape) = open_header(&bytes, data) {
            prop_assert!(shape.check().is_ok());
            prop_assert!(shape.layers <= 64);
        }
    }
}

#[test]
fn the_page_lists_what_loads() {
    let page = include_str!("../../../docs/gguf.md");
    let line = |label: &str| {
        let row = page
            .lines()
            .find(|line| line.starts_with(&format!("| {label} |")));
        row.expect("a row").to_owned()
    };
    let listed = |names: &[&str]| names.join("`, `");
    let types = line("tensor types");
    assert!(
        types.contains(&listed(&TensorType::ALL.map(TensorType::name))),
        "{types}"
    );
    let architectures = line("architectures");
    assert!(
        architectures.contains(&listed(&super::ARCHITECTURES)),
        "{architectures}"
    );
    let sizes = HeadDim::ALL.map(|d| d.get().to_string()).join(", ");
    assert!(line("head sizes").contains(&sizes));
    let mib = super::cursor::HEADER_LIMIT >> 20;
    assert!(page.contains(&format!("more than {mib} MiB")));
}
