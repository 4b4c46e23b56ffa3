//! The stack on the stand-in device against the f64 reference, and against itself.

mod faults;
mod sensitivity;
mod shapes;

use super::reference::Reference;
use super::synthetic::{Gains, prompt, super_block};
use super::*;
use crate::device::host::Host;
use crate::mmq::Tile;
use crate::ops::call::{Format, HeadDim};
use crate::ops::reference::embed_q4k;
use crate::standalone::data;

/// A model that is run within milliseconds.
fn small() -> ModelShape {
    ModelShape {
        name: "small".to_owned(),
        hidden: 256,
        ffn: 512,
        layers: 2,
        heads: 4,
        kv_heads: 2,
        vocabulary: 300,
        positions: 128,
        prefill: 64,
        ..ModelShape::tiny()
    }
}

/// Everything that a shape can have beyond that, in sizes that q4_K cannot have.
fn odd() -> ModelShape {
    ModelShape {
        name: "odd".to_owned(),
        hidden: 132,
        ffn: 204,
        layers: 3,
        heads: 6,
        kv_heads: 2,
        head_dim: HeadDim::D64,
        embed_scale: 3.5,
        interleaved: true,
        gate: Gate::Geglu,
        rotation: Rotation {
            base: 50_000.0,
            factors: (0..32).map(|pair| 1.0 + pair as f32 / 8.0).collect(),
        },
        local: Some(LocalLayers {
            window: 9,
            rotation: Rotation {
                base: 1000.0,
                factors: Vec::new(),
            },
            period: 2,
        }),
        qk_norms: true,
        post_norms: true,
        tied_head: true,
        ..small()
    }
}

/// Synthetic weights as f32: without q4_K there is no quantiser, and rounding stays small.
struct AsF32 {
    shape: ModelShape,
}

impl TensorSource for AsF32 {
    fn shape(&self) -> &ModelShape {
        &self.shape
    }

    fn format(&self, _name: TensorName) -> Result<Format, SourceError> {
        Ok(Format::F32)
    }

    fn tensor(&mut self, name: TensorName) -> Result<Tensor, SourceError> {
        let Dims { rows, k } = name.dims(&self.shape);
        let mut hash = synthetic::hash(name.to_string().bytes().map(u32::from).sum());
        let values = (0..rows * k).map(|_| {
            hash = synthetic::hash(hash.wrapping_add(0x9e37_79b9));
            let unit = (hash >> 8) as f32 / (1 << 24) as f32;
            match name.is_norm() {
                true => 0.5 + unit,
                false => (unit - 0.5) * 4.0 / (k as f32).sqrt(),
            }
        });
        Ok(Tensor::F32(values.collect()))
    }
}

fn synthetic(shape: ModelShape) -> Synthetic {
    Synthetic::new(shape, 3).expect("the shape is right")
}

/// The logits after a prompt.
fn logits(source: &mut dyn TensorSource, tile: Tile, prompt: &[i32]) -> Vec<f32> {
    let mut device = cpu::host();
    let mut stack = Stack::new(&mut device, source, tile).expect("it is built");
    stack.generate(&mut device, prompt, 1).expect("it runs");
    let logits = stack.logits(&mut device).expect("they are there");
    stack.free(&mut device);
    assert_eq!(device.live(), 0, "everything is given back");
    logits
}

fn nmse(got: &[f32], want: &[f64]) -> f64 {
    assert_eq!(got.len(), want.len());
    let pairs = got.iter().zip(want);
    let error: f64 = pairs.map(|(g, w)| (f64::from(*g) - w).powi(2)).sum();
    error / want.iter().map(|w| w * w).sum::<f64>()
}

fn reference_logits(source: &mut dyn TensorSource, prompt: &[i32]) -> Vec<f64> {
    let mut reference = Reference::new(source).expect("the shape is right");
    let steps = prompt.iter().map(|token| reference.step(*token));
    steps.last().expect("a prompt is not empty")
}

/// A token, two, a ragged number, as many as are processed at a time, one more, several pieces.
const LENGTHS: [usize; 6] = [1, 2, 37, 64, 65, 100];

#[test]
fn logits_are_the_references() {
    for shape in [small(), odd()] {
        for length in LENGTHS {
            let prompt = prompt(5, length, shape.vocabulary);
            let mut source = AsF32 {
                shape: shape.clone(),
            };
            let got = logits(&mut source, Tile::Wide8, &prompt);
            let off = nmse(&got, &reference_logits(&mut source, &prompt));
            assert!(off < 1e-9, "{}, {length} tokens: {off:e}", shape.name);
        }
    }
}

/// With q4_K a value that rounding moves across the edge of a quantiser's step makes a whole step
/// of difference, so the bound is wider.
#[test]
fn logits_of_quantised_products_are_the_references() {
    for length in LENGTHS {
        let prompt = prompt(6, length, small().vocabulary);
        let want = reference_logits(&mut synthetic(small()), &prompt);
        let got = logits(&mut synthetic(small()), Tile::Wide8, &prompt);
        let off = nmse(&got, &want);
        assert!(off < 1e-3, "{length} tokens: {off:e}");
    }
}

#[test]
fn all_tiles_give_the_same_logits() {
    let prompt = prompt(7, 37, small().vocabulary);
    let of = |tile| logits(&mut synthetic(small()), tile, &prompt);
    assert_eq!(of(Tile::Wide4), of(Tile::Wide8));
    assert_eq!(of(Tile::Wide4), of(Tile::Narrow));
}

/// The caches are at their positions: a token that follows a prefill, and one that was in it.
#[test]
fn a_prefill_then_a_token_is_a_longer_prefill() {
    let mut device = cpu::host();
    let mut source = synthetic(small());
    let mut stack = Stack::new(&mut device, &mut source, Tile::Narrow).expect("it is built");
    for length in [1, 36, 63] {
        let prompt = prompt(8, length, stack.shape().vocabulary);
        let two = stack.generate(&mut device, &prompt, 2).expect("it runs");
        let decoded = stack.logits(&mut device).expect("they are there");
        let longer: Vec<i32> = prompt.iter().chain(&two[..1]).copied().collect();
        let one = stack.generate(&mut device, &longer, 1).expect("it runs");
        assert_eq!(one, two[1..]);
        assert_eq!(stack.logits(&mut device).expect("they are there"), decoded);
    }
}

#[test]
fn launches_are_counted_by_kernel() {
    let mut device = cpu::host();
    let mut stack =
        Stack::new(&mut device, &mut synthetic(small()), Tile::Wide4).expect("it is built");
    let prompt = prompt(0, 20, stack.shape().vocabulary);
    stack.generate(&mut device, &prompt, 3).expect("it runs");
    let counts = stack.launches();
    // Two layers of seven matrices; the head and two decoded tokens are single rows.
    assert_eq!(counts["mmq_wide_kd4"], 2 * 7);
    assert_eq!(counts["matvec_q4k"], 1 + 2 * (2 * 7 + 1));
    assert_eq!((counts["embed_q4k"], counts["argmax"]), (3, 3));
    assert_eq!(counts["attention_hd64"], 2);
    assert_eq!(counts["attention_decode_hd64"], 2 * 2);
}

#[test]
fn weights_are_about_zero_and_as_wide_as_their_gain_says() {
    let shape = ModelShape::tiny();
    let name = TensorName::Layer(0, LayerTensor::Down);
    let Ok(Tensor::Synthetic(tensor)) = synthetic(shape.clone()).tensor(name) else {
        panic!("matrices are synthetic");
    };
    let words: Vec<u32> = (0..600).flat_map(|b| super_block(tensor, b)).collect();
    let values = embed_q4k(&data::le_bytes(&words), 1.0);
    let mean = values.iter().map(|v| f64::from(*v)).sum::<f64>() / values.len() as f64;
    let square = values.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>() / values.len() as f64;
    // A few per cent more, since scales and mins vary, too.
    let wanted = Gains::MODEL.down / (shape.ffn as f64).sqrt();
    assert!(
        (square.sqrt() / wanted - 1.0).abs() < 0.06,
        "{}",
        square.sqrt()
    );
    assert!(mean.abs() < 0.03 * wanted, "{mean}");
}

#[test]
fn super_blocks_and_tensors_differ() {
    let names = TensorName::all(&small());
    let mut firsts: Vec<_> = names
        .iter()
        .filter_map(|name| match synthetic(small()).tensor(*name) {
            Ok(Tensor::Synthetic(tensor)) => Some(tensor),
            _ => None,
        })
        .flat_map(|tensor| {
            [
                super_block(tensor, 0)[4..].to_vec(),
                super_block(tensor, 1)[4..].to_vec(),
            ]
        })
        .collect();
    let count = firsts.len();
    firsts.sort();
    firsts.dedup();
    assert_eq!(firsts.len(), count);
    assert_eq!(count, 2 * (2 + 2 * 7));
}

/// The gains grow from layer to layer, and `d` is an f16.
#[test]
fn scales_of_all_synthetic_models_are_within_an_f16() {
    for shape in [ModelShape::tiny(), ModelShape::qwen7b()] {
        for name in TensorName::all(&shape) {
            if let Ok(Tensor::Synthetic(tensor)) = synthetic(shape.clone()).tensor(name) {
                let largest_min = tensor.d * 1.25 * 7.5;
                assert!(largest_min < 60_000.0, "{name}: {largest_min}");
                // An f16 below 2^-14 has steps of 2^-24: here they are 1 % at most.
                assert!(tensor.d * 0.75 > 2f32.powi(-17), "{name}: {}", tensor.d);
            }
        }
    }
}
