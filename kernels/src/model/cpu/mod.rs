//! The kernels of a model for the stand-in device: f32 results on the CPU, in an order of their
//! own. They follow what the kernels must compute, not how the CUDA sources go about it, so their
//! last bits differ from a GPU's, but not from one machine to the next: no function of the system's
//! library is called, and no fused multiply-add, which is a slow function where the instruction is
//! missing.

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

/// `e^x` within a few units in the last place; 0 where that is less than any normal number.
fn exp(x: f32) -> f32 {
    // ln 2 in two parts, so that the multiples that occur are exact.
    const LN2_HIGH: f32 = 0.693_359_4;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    if x.is_nan() {
        return x;
    }
    if x < -87.0 {
        return 0.0;
    }
    let n = (x.min(88.0) * std::f32::consts::LOG2_E).round_ties_even();
    let r = x.min(88.0) - n * LN2_HIGH - n * LN2_LOW;
    // Taylor's polynomial: |r| is at most half of ln 2.
    let factors = [
        1.0 / 5040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
        1.0,
        1.0,
    ];
    let power = factors.iter().fold(0f32, |sum, factor| sum * r + factor);
    power * f32::from_bits(((n as i32 + 127) as u32) << 23)
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

#[cfg(test)]
mod tests {
    use super::exp;

    #[test]
    fn the_exponential_is_close_everywhere() {
        for step in -8700..=8800 {
            let x = step as f32 / 100.0;
            let exact = f64::from(x).exp();
            let off = (f64::from(exp(x)) - exact).abs() / exact;
            assert!(off < 3e-7, "{x}: {off:e}");
        }
        assert_eq!(
            (exp(0.0), exp(-100.0), exp(f32::NEG_INFINITY)),
            (1.0, 0.0, 0.0)
        );
        assert!(exp(f32::NAN).is_nan());
    }
}
