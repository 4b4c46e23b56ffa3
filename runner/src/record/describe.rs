//! Stored machines and toolchains as names and values to show.

use serde_json::Value;

use crate::machine::Environment;
use crate::numbers;
use crate::toolchain::Fingerprint;

type Facts = Vec<(String, String)>;

/// A machine; a description that another version stored is shown as it is.
pub(super) fn machine(value: &Value) -> Facts {
    match serde_json::from_value::<Environment>(value.clone()) {
        Ok(environment) => environment_facts(&environment),
        Err(_) => facts(value),
    }
}

fn environment_facts(machine: &Environment) -> Facts {
    let mut found: Facts = Vec::new();
    let mut add = |name: &str, value: String| found.push((name.to_owned(), value));
    for gpu in &machine.gpus {
        let (major, minor) = gpu.cc;
        let memory = numbers::bytes(gpu.memory_bytes);
        add(
            &format!("device {}", gpu.index),
            format!(
                "{}, sm_{major}{minor}, {} SMs, {memory}, {}",
                gpu.name, gpu.sm_count, gpu.uuid
            ),
        );
        if let Some(card) = gpu.card.as_ref().map(crate::machine::Card::words) {
            add(&format!("card {}", gpu.index), card);
        }
    }
    if let Some(reason) = &machine.no_gpu {
        add("device", format!("none: {reason}"));
    }
    if let Some(driver) = &machine.driver {
        let cuda = machine
            .gpus
            .first()
            .map(|gpu| format!(", CUDA {}", gpu.driver_version));
        add("driver", format!("{driver}{}", cuda.unwrap_or_default()));
    }
    add(
        "processor",
        format!("{} x {} ({})", machine.cpus, machine.cpu, machine.arch),
    );
    if let Some(governor) = &machine.governor {
        add("governor", governor.clone());
    }
    if let Some(bytes) = machine.memory_bytes {
        add("memory", numbers::bytes(bytes));
    }
    let os = machine
        .os
        .as_ref()
        .map(|os| format!("{os}, "))
        .unwrap_or_default();
    add("system", format!("{os}kernel {}", machine.kernel));
    if let Some(container) = &machine.container {
        add("container", container.clone());
    }
    add(
        "host",
        format!("{} ({})", machine.hostname, machine.machine_id),
    );
    add("fingerprint", machine.fingerprint.clone());
    found
}

/// A toolchain; a description that another version stored is shown as it is.
pub(super) fn toolchain(value: &Value) -> Facts {
    match serde_json::from_value::<Fingerprint>(value.clone()) {
        Ok(fingerprint) => fingerprint_facts(&fingerprint),
        Err(_) => facts(value),
    }
}

fn fingerprint_facts(toolchain: &Fingerprint) -> Facts {
    let mut found = vec![(
        "source".to_owned(),
        format!("{} ({})", toolchain.source, toolchain.machine),
    )];
    for package in &toolchain.packages {
        let hash = short(&package.sha256);
        found.push((
            package.name.clone(),
            format!("{}, SHA-256 {hash}", package.version),
        ));
    }
    for tool in &toolchain.tools {
        let version = match tool.version.as_str() {
            "" => String::new(),
            version => format!("{version}, "),
        };
        let hash = short(&tool.sha256);
        found.push((
            tool.name.clone(),
            format!("{version}{}, SHA-256 {hash}", tool.path),
        ));
    }
    found.push(("fingerprint".to_owned(), toolchain.fingerprint.clone()));
    found
}

/// The first twelve digits: the whole hash is in the record.
fn short(hash: &str) -> String {
    hash.chars().take(12).collect::<String>() + "…"
}

/// A stored description (machine, toolchain) as names and values to show, nested ones with
/// dotted names.
pub(crate) fn facts(value: &serde_json::Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    flatten("", value, &mut found);
    found
}

fn flatten(name: &str, value: &serde_json::Value, found: &mut Vec<(String, String)>) {
    use serde_json::Value;
    let below = |key: &str| match name {
        "" => key.to_owned(),
        name => format!("{name}.{key}"),
    };
    match value {
        Value::Null => {}
        Value::Object(map) => {
            for (key, value) in map {
                flatten(&below(key), value, found);
            }
        }
        Value::Array(values) => {
            for (index, value) in values.iter().enumerate() {
                flatten(&below(&index.to_string()), value, found);
            }
        }
        Value::String(text) => found.push((name.to_owned(), text.clone())),
        other => found.push((name.to_owned(), other.to_string())),
    }
}
