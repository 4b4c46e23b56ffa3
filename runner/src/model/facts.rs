//! What a launch reports about itself besides its value.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The most facts, or kernels, that a launch may report.
pub const MOST_FACTS: usize = 256;
/// The longest name of a fact, and the longest text, bytes.
pub const LONGEST_FACT: usize = 1024;

/// What a launch reported: what work it did, what came out, and which kernels ran. Everything is
/// optional; what is not reported is not known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    /// Facts about the work by name: token counts, shapes, seeds, hashes of inputs. Texts, numbers
    /// and truth values.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub work: BTreeMap<String, Value>,
    /// A hash of the output of the timed runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// How often each kernel ran, by its name or symbol; `None` where that was not reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ran: Option<BTreeMap<String, u64>>,
}

impl Facts {
    /// Whether nothing was reported.
    pub fn is_empty(&self) -> bool {
        self == &Facts::default()
    }

    /// What is wrong with what was reported: a fact that is a list or an object, or too much of
    /// it. `None` where it can be kept.
    pub fn fault(&self) -> Option<String> {
        let scalar =
            |value: &Value| matches!(value, Value::String(_) | Value::Number(_) | Value::Bool(_));
        if let Some((name, _)) = self.work.iter().find(|(_, value)| !scalar(value)) {
            return Some(format!("`work.{name}` is no text, number or truth value"));
        }
        let texts = self.work.values().filter_map(Value::as_str);
        let ran = self.ran.iter().flatten().map(|(name, _)| name.as_str());
        let names = self.work.keys().map(String::as_str).chain(ran);
        if texts
            .chain(names)
            .chain(self.output.as_deref())
            .any(|text| text.len() > LONGEST_FACT)
        {
            return Some(format!(
                "a name or text is longer than {LONGEST_FACT} bytes"
            ));
        }
        if self.output.as_deref() == Some("") {
            return Some("`output` is empty".to_owned());
        }
        let count = self.work.len() + self.ran.as_ref().map_or(0, BTreeMap::len);
        (count > MOST_FACTS).then(|| format!("{count} facts; at most {MOST_FACTS} are kept"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(value: Value) -> Facts {
        serde_json::from_value(value).expect("facts")
    }

    #[test]
    fn facts_are_scalars_of_a_bounded_size() {
        let good = read(
            json!({"work": {"tokens": 512, "seed": 7, "hot": true, "shape": "4x4"},
                               "output": "ab12", "ran": {"mmq": 3}}),
        );
        assert_eq!(good.fault(), None);
        assert!(!good.is_empty());
        for (value, part) in [
            (json!({"work": {"shape": [4, 4]}}), "`work.shape`"),
            (json!({"work": {"tokens": null}}), "`work.tokens`"),
            (json!({"output": ""}), "empty"),
            (json!({"output": "x".repeat(2000)}), "longer"),
            (json!({"ran": {"k".repeat(2000): 1}}), "longer"),
        ] {
            let fault = read(value.clone()).fault().expect("refused");
            assert!(fault.contains(part), "{value}: {fault}");
        }
        let many: BTreeMap<String, u64> = (0..300).map(|n| (n.to_string(), n)).collect();
        assert!(read(json!({ "ran": many })).fault().is_some());
    }

    #[test]
    fn nothing_reported_is_an_empty_document_and_no_kernel_ran_is_not() {
        assert!(read(json!({})).is_empty());
        assert_eq!(
            serde_json::to_value(Facts::default()).expect("JSON"),
            json!({})
        );
        let none_ran = read(json!({"ran": {}}));
        assert!(!none_ran.is_empty());
        assert_eq!(
            serde_json::to_value(&none_ran).expect("JSON"),
            json!({"ran": {}})
        );
    }
}
