//! JSON documents inside a program's output, which may hold other lines as well.

use serde_json::{Deserializer, Value};

/// Every JSON object or array that begins at the start of a line, in order; a document may span
/// lines. Lines that begin like one but are not (`[INFO] …`) are passed over.
///
/// NaN and infinities, which are not JSON but are printed by many programs, are read as the
/// strings `NaN`, `Infinity` and `-Infinity`, so that they can be refused by name.
pub(super) fn all(text: &str) -> Vec<Value> {
    let text = quote_not_finite(text);
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let to_next_line = rest.find('\n').map_or(rest.len(), |end| end + 1);
        if !rest.starts_with(['{', '[']) {
            at += to_next_line;
            continue;
        }
        let mut documents = Deserializer::from_str(rest).into_iter::<Value>();
        match documents.next() {
            Some(Ok(document)) => {
                found.push(document);
                at += documents.byte_offset();
            }
            _ => at += to_next_line,
        }
    }
    found
}

/// The whole output where it is one JSON document (of any kind), else its last one.
pub(super) fn last(text: &str) -> Option<Value> {
    serde_json::from_str(&quote_not_finite(text))
        .ok()
        .or_else(|| all(text).pop())
}

fn quote_not_finite(text: &str) -> String {
    const NAMES: [&str; 4] = ["-Infinity", "Infinity", "NaN", "-NaN"];
    if !NAMES.iter().any(|name| text.contains(name)) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut in_string = false;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if in_string && c == '\\' {
            let two = rest.char_indices().nth(2).map_or(rest.len(), |(i, _)| i);
            out.push_str(&rest[..two]);
            rest = &rest[two..];
            continue;
        }
        // A string cannot span lines, so a stray quote in a log line ends with its line.
        in_string = if c == '\n' {
            false
        } else {
            in_string ^ (c == '"')
        };
        let name = NAMES.iter().find(|name| rest.starts_with(**name));
        if let (false, Some(name)) = (in_string, name) {
            out.push('"');
            out.push_str(name);
            out.push('"');
            rest = &rest[name.len()..];
        } else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn documents_between_log_lines() {
        let text = "[INFO] loading\n{\"a\": 1}\nnoise {\"b\": 2}\n[\n  {\"c\": 3}\n]\ndone\n";
        assert_eq!(all(text), [json!({"a": 1}), json!([{"c": 3}])]);
        assert_eq!(last(text), Some(json!([{"c": 3}])));
        assert_eq!(last(" 42\n"), Some(json!(42)));
        assert_eq!(last("nothing here\n"), None);
    }

    #[test]
    fn not_finite_numbers_keep_their_names() {
        let text = "{\"x\": NaN, \"y\": -Infinity, \"z\": \"NaN \\\" Infinity\"}";
        assert_eq!(
            last(text),
            Some(json!({"x": "NaN", "y": "-Infinity", "z": "NaN \" Infinity"}))
        );
    }
}
