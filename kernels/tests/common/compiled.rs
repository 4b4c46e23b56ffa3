//! What nvcc makes of the kernels: resources, and instructions by opcode.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use crate::common::{Result, run};
use crate::cuda::{cuda_bin, make};

/// What a kernel was compiled to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiled {
    /// The instructions as text.
    pub code: String,
    /// How often each opcode stands in the code.
    pub opcodes: BTreeMap<String, u64>,
    /// Static, bytes a block.
    pub smem: u64,
    /// A thread.
    pub registers: u64,
    /// Bytes a thread; spills show here.
    pub stack: u64,
}

impl Compiled {
    /// Instructions of an opcode, whatever its further modifiers.
    pub fn count(&self, opcode: &str) -> u64 {
        let of = |name: &str| {
            name.strip_prefix(opcode)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        self.opcodes
            .iter()
            .filter(|(name, _)| of(name))
            .map(|(_, n)| n)
            .sum()
    }
}

/// A `KEY:number` in cuobjdump's words.
fn usage(text: &str, key: &str) -> Result<u64> {
    let found = text
        .split_whitespace()
        .find_map(|word| word.strip_prefix(key)?.strip_prefix(':'));
    Ok(found
        .ok_or_else(|| format!("no {key} in {text}"))?
        .parse()?)
}

/// Compiles a file of kernels, and gives each kernel of it by its name.
pub fn compile(dir: &Path, file: &str, arch: &str) -> Result<BTreeMap<String, Compiled>> {
    let bin = cuda_bin();
    make(dir, arch, &format!("build/{file}.{arch}.cubin"))?;
    let cubin = dir.join(format!("build/{file}.{arch}.cubin"));
    let json = run(Command::new(bin.join("nvdisasm")).arg("-json").arg(&cubin))?;
    let parsed: serde_json::Value = serde_json::from_str(&json)?;
    let usages = run(Command::new(bin.join("cuobjdump"))
        .arg("-res-usage")
        .arg(&cubin))?;
    let mut kernels = BTreeMap::new();
    for function in parsed[1].as_array().ok_or("no functions")? {
        let name = function["function-name"].as_str().ok_or("no name")?;
        // For some architectures nvcc keeps the rare part of a division as a function of its own.
        if name.starts_with("$__internal") {
            continue;
        }
        let (_, usage_text) = usages
            .split_once(&format!("Function {name}:"))
            .ok_or_else(|| format!("no resources of {name}"))?;
        let line = usage_text.lines().nth(1).ok_or("no resources")?;
        let mut compiled = Compiled {
            code: String::new(),
            opcodes: BTreeMap::new(),
            smem: usage(line, "SHARED")?,
            registers: usage(line, "REG")?,
            stack: usage(line, "STACK")?,
        };
        // sm_90 and later count 1,024 reserved bytes; no kernel here has less of its own.
        if !arch.starts_with("sm_8") {
            compiled.smem = compiled.smem.saturating_sub(1024);
        }
        for instruction in function["sass-instructions"].as_array().ok_or("no code")? {
            let opcode = instruction["opcode"].as_str().ok_or("no opcode")?;
            *compiled.opcodes.entry(opcode.to_owned()).or_default() += 1;
            compiled.code.push_str(&instruction.to_string());
        }
        kernels.insert(name.to_owned(), compiled);
    }
    Ok(kernels)
}
