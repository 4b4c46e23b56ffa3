//! One text for one value, whatever the order of its fields: what hashes are taken over.

use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// SHA-256 of a value's canonical JSON (keys sorted, no blanks), lower-case hex.
///
/// The value must serialise to JSON; the types of this crate that are hashed do.
pub(crate) fn canonical_sha256(value: &impl Serialize) -> String {
    let mut text = String::new();
    // Serialising plain data into memory fails only for maps whose keys are no texts, and the
    // hashed types have none; the error itself would still make a distinct hash.
    match serde_json::to_value(value) {
        Ok(value) => write(&value, &mut text),
        Err(error) => text.push_str(&format!("unserialisable: {error}")),
    }
    hex::encode(Sha256::digest(text.as_bytes()))
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| key.as_str());
            out.push('{');
            for (i, (key, value)) in entries.into_iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                write(value, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        scalar => out.push_str(&scalar.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_keys_does_not_matter_and_every_value_does() {
        let a: Value =
            serde_json::from_str(r#"{"b":[1,{"y":null,"x":"é\n"}],"a":1.5}"#).expect("valid JSON");
        let b: Value =
            serde_json::from_str(r#"{"a":1.5,"b":[1,{"x":"é\n","y":null}]}"#).expect("valid JSON");
        let c: Value =
            serde_json::from_str(r#"{"a":1.5,"b":[1,{"x":"é","y":null}]}"#).expect("valid JSON");
        assert_eq!(canonical_sha256(&a), canonical_sha256(&b));
        assert_ne!(canonical_sha256(&a), canonical_sha256(&c));
    }

    #[test]
    fn the_hash_is_that_of_the_text() {
        // sha256 of `{"a":1}`.
        assert_eq!(
            canonical_sha256(&serde_json::json!({"a": 1})),
            "015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862"
        );
    }
}
