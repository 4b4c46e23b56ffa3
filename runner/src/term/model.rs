//! A GGUF model in a few lines.

use kernels::gguf::Summary;

use crate::numbers::{MISSING, bytes, count, counted};

/// What is in a file: whether the model runs here, its shape, and the tensors by type.
pub fn gguf_summary(file: &str, model: &Summary) -> String {
    let text = |text: &Option<String>| text.clone().unwrap_or_else(|| MISSING.to_owned());
    let mut lines = vec![format!(
        "{file}: GGUF {}, architecture {}, name {}",
        model.version,
        text(&model.architecture),
        text(&model.name)
    )];
    lines.push(match (&model.shape, &model.refused) {
        (Some(shape), _) => format!(
            "  can be run: {}, hidden {}, ffn {}, {} / {} heads, vocabulary {}",
            counted(shape.layers, "layer"),
            number(shape.hidden),
            number(shape.ffn),
            shape.heads,
            shape.kv_heads,
            number(shape.vocabulary)
        ),
        (None, reason) => format!("  cannot be run: {}", text(reason)),
    });
    lines.extend(model.types.iter().map(|total| {
        format!(
            "  {:<5} {}, {} values, {}",
            total.kind,
            counted(total.tensors, "tensor"),
            count(total.values),
            bytes(total.bytes)
        )
    }));
    lines.join("\n") + "\n"
}

fn number(n: usize) -> String {
    count(n as u64)
}
