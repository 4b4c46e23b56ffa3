//! The kernels of a model for the stand-in device: f32 results on the CPU, in an order of their
//! own. They follow what the kernels must compute, not how the CUDA sources go about it, so their
//! last bits differ from a GPU's.

mod attend;
mod element;
mod matrix;

use crate::device::host::Host;
use crate::mmq::Tile;

/// A stand-in device with all kernels of a model.
pub fn host() -> Host {
    let device = Host::new()
        .with("synthesise_q4k", matrix::synthesise)
        .with("embed_q4k", matrix::embed_q4k)
        .with("embed_f32", matrix::embed_f32)
        .with("quantise_q8", matrix::quantise_q8)
        .with("matvec_q4k", matrix::matvec)
        .with("matmul_f32", matrix::matmul_f32)
        .with("rms_norm", element::rms_norm)
        .with("add", element::add)
        .with("swiglu", element::swiglu)
        .with("geglu", element::geglu)
        .with("argmax", element::argmax)
        .with("rope", attend::rope);
    let device = Tile::ALL.into_iter().fold(device, |device, tile| {
        device.with(tile.kernel(), matrix::product)
    });
    [
        ("attention_hd64", 64),
        ("attention_hd128", 128),
        ("attention_hd256", 256),
        ("attention_decode_hd64", 64),
        ("attention_decode_hd128", 128),
        ("attention_decode_hd256", 256),
    ]
    .into_iter()
    .fold(device, |device, (name, head_dim)| {
        device.with(name, move |call| attend::attention(call, head_dim))
    })
}

/// The product of two rows, in eight sums side by side, so that the compiler can use vectors.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let (a, b) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let mut sums = [0f32; 8];
    for (a, b) in a.0.iter().zip(b.0) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += a * b;
        }
    }
    let rest: f32 = a.1.iter().zip(b.1).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f32>() + rest
}
