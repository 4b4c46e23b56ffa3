//! What a toolchain is made of, as it stands in the record.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// A toolchain's parts and a hash over what matters of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint {
    /// `pinned 13.0`, `system` or `none`.
    pub source: String,
    /// Processor architecture of the host.
    pub machine: String,
    /// The packages of a pinned toolchain.
    pub packages: Vec<PackageRecord>,
    /// The programs, CUDA's and the host's.
    pub tools: Vec<ToolRecord>,
    /// SHA-256, hex, over all of the above but the paths.
    pub fingerprint: String,
}

/// A package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackageRecord {
    /// Name.
    pub name: String,
    /// Version.
    pub version: String,
    /// SHA-256 of the wheel.
    pub sha256: String,
}

/// A program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolRecord {
    /// Name.
    pub name: String,
    /// Where it was found.
    pub path: String,
    /// What it says of its version; empty where it was not asked.
    pub version: String,
    /// SHA-256 of the file.
    pub sha256: String,
}

impl Fingerprint {
    /// Takes the hash over the parts.
    pub(super) fn new(source: &str, packages: Vec<PackageRecord>, tools: Vec<ToolRecord>) -> Self {
        let machine = std::env::consts::ARCH.to_owned();
        let mut hash = Sha256::new();
        let mut add = |text: &str| {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text.as_bytes());
        };
        add(source);
        add(&machine);
        for package in &packages {
            add("package");
            add(&package.name);
            add(&package.version);
            add(&package.sha256);
        }
        for tool in &tools {
            add("tool");
            add(&tool.name);
            add(&tool.version);
            add(&tool.sha256);
        }
        Fingerprint {
            source: source.to_owned(),
            fingerprint: hex::encode(hash.finalize()),
            machine,
            packages,
            tools,
        }
    }

    /// What differs between two fingerprints, a line each, for people.
    pub fn differences(&self, now: &Fingerprint) -> Vec<String> {
        let mut lines = Vec::new();
        let mut compare = |what: String, before: Option<&str>, after: Option<&str>| {
            if before != after {
                let text = |value: Option<&str>| value.unwrap_or("none").to_owned();
                lines.push(format!("{what}: {} -> {}", text(before), text(after)));
            }
        };
        compare("toolchain".into(), Some(&self.source), Some(&now.source));
        compare("machine".into(), Some(&self.machine), Some(&now.machine));
        let packages: Vec<&String> =
            names(self.packages.iter().chain(&now.packages).map(|p| &p.name));
        for name in packages {
            let of = |f: &Fingerprint| {
                let package = f.packages.iter().find(|p| p.name == *name)?;
                Some(format!("{} ({:.12})", package.version, package.sha256))
            };
            compare(
                format!("package {name}"),
                of(self).as_deref(),
                of(now).as_deref(),
            );
        }
        let tools: Vec<&String> = names(self.tools.iter().chain(&now.tools).map(|t| &t.name));
        for name in tools {
            let of = |f: &Fingerprint| {
                let tool = f.tools.iter().find(|t| t.name == *name)?;
                Some(format!("{} ({:.12})", tool.version, tool.sha256))
            };
            compare(name.clone(), of(self).as_deref(), of(now).as_deref());
        }
        lines
    }
}

fn names<'a>(all: impl Iterator<Item = &'a String>) -> Vec<&'a String> {
    let mut seen: Vec<&String> = Vec::new();
    for name in all {
        if !seen.contains(&name) {
            seen.push(name);
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, path: &str, version: &str) -> ToolRecord {
        ToolRecord {
            name: name.into(),
            path: path.into(),
            version: version.into(),
            sha256: "ab".repeat(32),
        }
    }

    #[test]
    fn the_path_does_not_count_and_the_version_does() {
        let a = Fingerprint::new("system", vec![], vec![tool("g++", "/a", "12")]);
        let b = Fingerprint::new("system", vec![], vec![tool("g++", "/b", "12")]);
        let c = Fingerprint::new("system", vec![], vec![tool("g++", "/a", "13")]);
        assert_eq!(a.fingerprint, b.fingerprint);
        assert_ne!(a.fingerprint, c.fingerprint);
        assert!(a.differences(&b).is_empty());
        assert_eq!(
            a.differences(&c),
            ["g++: 12 (abababababab) -> 13 (abababababab)"]
        );
    }
}
