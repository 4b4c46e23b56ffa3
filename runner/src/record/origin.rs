//! From where a run came, for people and for scripts.

use db::bundle::Import;

use crate::model::UnixMillis;
use crate::numbers;

/// A machine's facts with the imports before them.
pub(super) fn with_imports(
    machine: Vec<(String, String)>,
    imports: &[Import],
) -> Vec<(String, String)> {
    let imports = imports.iter().map(|import| {
        let name = match import.brought.as_str() {
            "run" => "imported",
            _ => "added by import",
        };
        (name.to_owned(), sentence(import))
    });
    imports.chain(machine).collect()
}

fn sentence(import: &Import) -> String {
    let judged = match import.judged.as_str() {
        "same" => "judged again here: the same",
        "details-differ" => "judged again here: the same verdict, with other details",
        "verdict-differs" => "judged again here: NOT the verdict that it came with",
        _ => "it came without a judgement",
    };
    format!(
        "{}, from a bundle of {} (SHA-256 {}); {judged}",
        numbers::time(UnixMillis(import.at)),
        import.writer,
        import.bundle_sha256,
    )
}

/// An import as a document.
pub(super) fn document(import: &Import) -> serde_json::Value {
    serde_json::json!({
        "at": import.at,
        "bundle_sha256": import.bundle_sha256,
        "bundle_schema": import.bundle_schema,
        "writer": import.writer,
        "brought": import.brought,
        "judged": import.judged,
    })
}
