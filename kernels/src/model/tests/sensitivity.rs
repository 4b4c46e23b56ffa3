//! x
use super::*;
#[test]
#[ignore = "the child process of an experiment"]
fn experiment() {
    let env =
        |name: &str, or: f64| std::env::var(name).map_or(or, |v| v.parse().expect("a number"));
    let gains = Gains {
        embedding: env("EMB", 1.0),
        qk: env("QK", 2.0),
        v: env("V", 1.0),
        output: env("O", 1.0),
        gate: env("GATE", 1.0),
        up: env("UP", 1.0),
        down: env("DOWN", 1.0),
        head: env("HEAD", 1.0),
        growth: env("GROWTH", 1.0),
    };
    let shape = ModelShape {
        layers: env("LAYERS", 4.0) as usize,
        ..ModelShape::tiny()
    };
    let n = env("PROMPT", 16.0) as usize;
    let mut source = Synthetic::with_gains(shape.clone(), 1, gains).expect("shape");
    let mut device = cpu::host();
    let mut stack = Stack::new(&mut device, &mut source, Tile::Wide8).expect("built");
    let prompt = prompt(env("SEED", 0.0) as u64, n, shape.vocabulary);
    let start = std::time::Instant::now();
    let clean = stack.generate(&mut device, &prompt, 32).expect("generated");
    let clean_logits = stack.logits(&mut device).expect("l");
    eprintln!("{:?} {clean:?}", start.elapsed());
    let std =
        |x: &[f32]| (x.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>() / x.len() as f64).sqrt();
    eprintln!("logit std {}", std(&clean_logits));
    use LayerTensor as L;
    let l = {
        let mut l = clean_logits.clone();
        l.sort_by(f32::total_cmp);
        l
    };
    eprintln!("gap {}", l[l.len() - 1] - l[l.len() - 2]);
    for kind in ["d", "scale"] {
        let (mut caught, mut all) = (0, 0);
        for layer in 0..shape.layers {
            let mut line = String::new();
            for tensor in [L::Q, L::K, L::V, L::Output, L::Gate, L::Up, L::Down] {
                let matrix = stack
                    .weights()
                    .find(TensorName::Layer(layer, tensor))
                    .expect("m");
                let blocks = matrix.dims.rows * matrix.dims.k / 256;
                let block = (synthetic::hash(layer as u32 * 31 + tensor as u32) as usize) % blocks;
                let content = device.content(matrix.buffer).expect("c");
                let at = block * 144;
                let saved: Vec<u8> = content[at..at + 16].to_vec();
                if kind == "d" {
                    let d = half::f16::from_le_bytes([saved[0], saved[1]]).to_f32();
                    content[at..at + 2]
                        .copy_from_slice(&half::f16::from_f32(2.0 * d).to_le_bytes());
                } else {
                    content[at + 4] ^= 8;
                }
                let tokens = stack.generate(&mut device, &prompt, 32).expect("g");
                let first = tokens.iter().zip(&clean).position(|(a, b)| a != b);
                all += 1;
                caught += usize::from(first.is_some());
                // The logits of the first token: how far a prefill is off.
                let _ = stack.generate(&mut device, &prompt, 1);
                let off = stack.logits(&mut device).expect("l");
                device.content(matrix.buffer).expect("c")[at..at + 16].copy_from_slice(&saved);
                let _ = stack.generate(&mut device, &prompt, 1);
                let right = stack.logits(&mut device).expect("l");
                let diff: Vec<f32> = off.iter().zip(&right).map(|(a, b)| a - b).collect();
                line += &format!(
                    " {:.1e}/{}",
                    std(&diff) / std(&right),
                    first.map_or("-".into(), |f| f.to_string())
                );
            }
            eprintln!("{kind} layer {layer}:{line}");
        }
        eprintln!("{kind}: {caught} of {all}");
    }
    // Rounding noise: the reference in f64.
    let mut reference = Reference::new(&mut source).expect("r");
    let mut logits = Vec::new();
    for token in &prompt {
        logits = reference.step(*token);
    }
    let _ = stack.generate(&mut device, &prompt, 1);
    let right = stack.logits(&mut device).expect("l");
    let diff: Vec<f32> = logits
        .iter()
        .zip(&right)
        .map(|(a, b)| *a as f32 - b)
        .collect();
    let mut reference = Reference::new(&mut source).expect("r");
    let tokens = reference.generate(&prompt, 32);
    let first = tokens.iter().zip(&clean).position(|(a, b)| a != b);
    eprintln!("f64: {:.1e} {first:?}", std(&diff) / std(&right));
}
