//! Kernels over vectors: norms, gates, sums, the largest.

use super::exp;
use crate::device::DeviceError;
use crate::device::host::Invocation;
use crate::ops::reference;

/// The square root of 2 / pi.
const ROOT_2_OVER_PI: f32 = 0.797_884_6;

type Done = Result<(), DeviceError>;

pub(super) fn rms_norm(call: &mut Invocation<'_>) -> Done {
    let (rows, n, eps) = (
        call.geometry.grid[0] as usize,
        call.integer(0)?,
        call.float(1)?,
    );
    let mut x = call.floats(0, rows * n)?;
    let weight = call.floats(1, n)?;
    for row in x.chunks_exact_mut(n) {
        let squares: f64 = row.iter().map(|v| f64::from(*v) * f64::from(*v)).sum();
        let mean = (squares / n as f64) as f32;
        let root = (mean + eps).sqrt();
        for (value, weight) in row.iter_mut().zip(&weight) {
            *value = *value / root * weight;
        }
    }
    call.write_floats(2, &x)
}

fn pairwise(call: &mut Invocation<'_>, join: impl Fn(f32, f32) -> f32) -> Done {
    let n = call.integer(0)?;
    let (x, y) = (call.floats(0, n)?, call.floats(1, n)?);
    let joined: Vec<f32> = x.iter().zip(&y).map(|(x, y)| join(*x, *y)).collect();
    call.write_floats(2, &joined)
}

pub(super) fn add(call: &mut Invocation<'_>) -> Done {
    pairwise(call, |x, y| x + y)
}

pub(super) fn swiglu(call: &mut Invocation<'_>) -> Done {
    pairwise(call, |gate, up| gate / (1.0 + exp(-gate)) * up)
}

pub(super) fn geglu(call: &mut Invocation<'_>) -> Done {
    pairwise(call, |gate, up| {
        // tanh(x) is 1 - 2 / (e^2x + 1).
        let inner = ROOT_2_OVER_PI * (gate + 0.044_715 * gate * gate * gate);
        let tanh = 1.0 - 2.0 / (exp(2.0 * inner) + 1.0);
        0.5 * gate * (1.0 + tanh) * up
    })
}

pub(super) fn argmax(call: &mut Invocation<'_>) -> Done {
    let n = call.integer(0)?;
    let x: Vec<f64> = call.floats(0, n)?.into_iter().map(f64::from).collect();
    call.write(1, &reference::argmax(&x).to_le_bytes())
}
