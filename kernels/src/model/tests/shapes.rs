//! Shapes that no model can have.

use super::*;

fn refused(change: impl FnOnce(&mut ModelShape)) -> String {
    let mut shape = small();
    change(&mut shape);
    let error = Synthetic::new(shape, 1).expect_err("it is wrong");
    error.to_string()
}

#[test]
fn the_models_are_right_and_as_large_as_they_say() {
    for shape in [ModelShape::tiny(), ModelShape::qwen7b(), small()] {
        assert_eq!(shape.check(), Ok(()));
    }
    assert_eq!(odd().check(), Ok(()));
    let source = Synthetic::new(ModelShape::qwen7b(), 1).expect("it is right");
    let weights = Weights::bytes(&source).expect("it is right");
    assert!(
        (4_000_000_000..4_600_000_000).contains(&weights),
        "{weights}"
    );
}

#[test]
fn errors_name_the_field_and_what_it_must_be() {
    let odd_depth = refused(|s| s.hidden = 260);
    assert_eq!(
        odd_depth,
        "model small: hidden is 260: token_embd.weight is q4_K, so it must be a multiple of 256"
    );
    assert!(refused(|s| s.ffn = 520).contains("ffn is 520"));
    assert!(refused(|s| s.hidden = 258).contains("multiple of 4"));
    assert!(refused(|s| s.kv_heads = 3).contains("kv_heads is 3: must divide the 4 heads"));
    assert!(refused(|s| s.layers = 0).contains("layers is 0"));
    assert!(refused(|s| s.vocabulary = 1 << 40).contains("vocabulary is 1099511627776"));
    assert!(refused(|s| s.prefill = 129).contains("prefill is 129"));
    assert!(refused(|s| s.eps = f32::NAN).contains("eps is NaN"));
    assert!(refused(|s| s.rotation.base = 0.0).contains("rotation.base is 0"));
    assert!(refused(|s| s.rotation.factors = vec![1.0; 3]).contains("one for each of 32 pairs"));
    let heads = refused(|s| (s.heads, s.kv_heads) = (3, 3));
    assert!(heads.contains("heads x head_dim is 192"), "{heads}");
}

#[test]
fn rows_that_overflow_a_kernels_numbers_are_refused() {
    let wide = refused(|s| {
        s.ffn = 1 << 30;
        s.prefill = 64;
    });
    assert!(wide.contains("a row of it must have at most"), "{wide}");
    let large = refused(|s| {
        s.hidden = 1 << 24;
        s.vocabulary = 1 << 30;
        s.prefill = 1;
    });
    assert!(large.contains("more than kernels can count"), "{large}");
}

#[test]
fn every_fourth_layer_of_four_is_not_local() {
    let mut shape = odd();
    if let Some(local) = &mut shape.local {
        local.period = 4;
    }
    let windows: Vec<usize> = (0..8).map(|layer| shape.window(layer)).collect();
    assert_eq!(windows, [9, 9, 9, 0, 9, 9, 9, 0]);
}
