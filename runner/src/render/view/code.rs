//! What changed in the compiled code's resources: the ledger's delta.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::model::{CodeEvidence, KernelOccupancy, LaunchOccupancy};
use crate::numbers::count;

/// How a resource moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Trend {
    /// Unchanged, or not comparable.
    Same,
    /// More room than before.
    Better,
    /// Less room than before.
    Worse,
}

/// One resource of a kernel, before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// `111 -> 109`, or one value where nothing changed.
    pub text: String,
    /// Base's value.
    pub before: Option<u64>,
    /// Head's value.
    pub after: Option<u64>,
    /// How it moved.
    pub trend: Trend,
}

impl Change {
    pub(super) fn new(before: Option<u64>, after: Option<u64>, less_is_better: bool) -> Change {
        let one = |v: Option<u64>| v.map_or_else(|| "–".to_owned(), count);
        Change::with_text(before, after, less_is_better, (one(before), one(after)))
    }

    fn with_text(
        before: Option<u64>,
        after: Option<u64>,
        less_is_better: bool,
        (old, new): (String, String),
    ) -> Change {
        let trend = match before.zip(after) {
            Some((b, a)) if b != a => {
                if (a < b) == less_is_better {
                    Trend::Better
                } else {
                    Trend::Worse
                }
            }
            _ => Trend::Same,
        };
        let text = if old == new {
            new
        } else {
            format!("{old} -> {new}")
        };
        Change {
            text,
            before,
            after,
            trend,
        }
    }

    fn moved(&self) -> bool {
        self.before != self.after
    }
}

/// A kernel that is not the same on both sides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KernelRow {
    /// Demangled name.
    pub name: String,
    /// The name without scopes and parameters where that is clear, else the whole.
    pub short: String,
    /// The name before, where it was renamed.
    pub was: Option<String>,
    /// Architecture.
    pub arch: String,
    /// `changed`, `added`, `removed` or `renamed`.
    pub kind: &'static str,
    /// Registers per thread.
    pub registers: Change,
    /// Spill instructions; stores and loads together as numbers, apart in the text.
    pub spills: Change,
    /// Shared memory per block, bytes: static, and dynamic where the launch is known.
    pub smem: Change,
    /// Blocks per SM with what limits them.
    pub blocks: Change,
    /// Machine code, bytes.
    pub code_bytes: Change,
    /// Stack frame, bytes per thread.
    pub stack: Change,
    /// Named barriers.
    pub barriers: Change,
}

/// The ledger's delta.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DeltaView {
    /// In a line: `2 kernels changed, 1 added; 14 the same`.
    pub summary: String,
    /// Whether both sides hold the same machine code.
    pub identical: bool,
    /// Kernels that differ, changed ones first.
    pub kernels: Vec<KernelRow>,
    /// Kernels that are the same.
    pub unchanged: u32,
    /// Files whose host code differs.
    pub host_changed: Vec<String>,
    /// Files read at run time that differ.
    pub runtime_files_changed: Vec<String>,
    /// Whether blocks per SM are known for any kernel.
    pub has_blocks: bool,
}

/// Builds the ledger's delta.
pub fn delta_view(
    delta: &sass::Delta,
    occupancy: &[KernelOccupancy],
    runtime_files_changed: &[String],
) -> DeltaView {
    let row = |kind, before, after| kernel_row(kind, before, after, occupancy);
    let mut kernels: Vec<KernelRow> = Vec::new();
    kernels.extend(
        delta
            .changed
            .iter()
            .map(|(b, a)| row("changed", Some(b), Some(a))),
    );
    kernels.extend(delta.added.iter().map(|a| row("added", None, Some(a))));
    kernels.extend(delta.removed.iter().map(|b| row("removed", Some(b), None)));
    kernels.extend(
        delta
            .renamed
            .iter()
            .map(|(b, a)| row("renamed", Some(b), Some(a))),
    );
    name_clearly(&mut kernels);
    DeltaView {
        summary: summary(delta),
        identical: delta.is_identical(),
        has_blocks: kernels
            .iter()
            .any(|k| k.blocks.before.or(k.blocks.after).is_some()),
        kernels,
        unchanged: delta.unchanged,
        host_changed: delta.host_changed.clone(),
        runtime_files_changed: runtime_files_changed.to_vec(),
    }
}

/// Gives kernels that would share a short name their whole one.
fn name_clearly(kernels: &mut [KernelRow]) {
    let mut seen: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    for k in kernels.iter() {
        seen.entry((k.short.clone(), k.arch.clone()))
            .or_default()
            .insert(k.name.clone());
    }
    for k in kernels {
        let key = (k.short.clone(), k.arch.clone());
        if seen.get(&key).is_some_and(|names| names.len() > 1) {
            k.short.clone_from(&k.name);
        }
    }
}

fn summary(delta: &sass::Delta) -> String {
    let parts: Vec<String> = [
        (delta.changed.len(), "changed"),
        (delta.added.len(), "added"),
        (delta.removed.len(), "removed"),
        (delta.renamed.len(), "renamed"),
    ]
    .into_iter()
    .filter(|(n, _)| *n > 0)
    .enumerate()
    .map(|(i, (n, what))| match (i, n) {
        (0, 1) => format!("1 kernel {what}"),
        (0, n) => format!("{n} kernels {what}"),
        (_, n) => format!("{n} {what}"),
    })
    .collect();
    if parts.is_empty() {
        format!("no kernel differs; {} the same", delta.unchanged)
    } else {
        format!("{}; {} the same", parts.join(", "), delta.unchanged)
    }
}

fn kernel_row(
    kind: &'static str,
    before: Option<&sass::Kernel>,
    after: Option<&sass::Kernel>,
    occupancy: &[KernelOccupancy],
) -> KernelRow {
    let newest = after.or(before);
    let name = newest.map_or("", |k| k.name.as_str());
    let arch = newest.map_or("", |k| k.arch.as_str());
    let known = occupancy
        .iter()
        .find(|o| o.kernel == name && o.arch == arch);
    let base = known.and_then(|o| o.base.as_ref());
    let head = known.and_then(|o| o.head.as_ref());
    let ledger = |f: fn(&sass::Ledger) -> u64| {
        Change::new(
            before.map(|k| f(&k.ledger)),
            after.map(|k| f(&k.ledger)),
            true,
        )
    };
    KernelRow {
        name: name.to_owned(),
        short: sass::short_name(name).to_owned(),
        was: before.map(|k| k.name.clone()).filter(|was| was != name),
        arch: arch.to_owned(),
        kind,
        registers: ledger(|l| l.registers.into()),
        spills: spills(before, after),
        smem: Change::new(smem(before, base), smem(after, head), true),
        blocks: blocks(base, head),
        code_bytes: ledger(|l| l.code_bytes),
        stack: ledger(|l| l.stack_bytes.into()),
        barriers: ledger(|l| l.barriers.into()),
    }
}

fn spills(before: Option<&sass::Kernel>, after: Option<&sass::Kernel>) -> Change {
    let sum = |k: &sass::Kernel| u64::from(k.ledger.spill_stores) + u64::from(k.ledger.spill_loads);
    let text = |k: Option<&sass::Kernel>| match k {
        None => "–".to_owned(),
        Some(k) if sum(k) == 0 => "0".to_owned(),
        Some(k) => format!("{} st + {} ld", k.ledger.spill_stores, k.ledger.spill_loads),
    };
    Change::with_text(
        before.map(sum),
        after.map(sum),
        true,
        (text(before), text(after)),
    )
}

fn smem(kernel: Option<&sass::Kernel>, launch: Option<&LaunchOccupancy>) -> Option<u64> {
    let dynamic = launch.map_or(0, |l| u64::from(l.launch.dynamic_smem));
    kernel.map(|k| u64::from(k.ledger.static_smem) + dynamic)
}

fn blocks(base: Option<&LaunchOccupancy>, head: Option<&LaunchOccupancy>) -> Change {
    let number = |l: Option<&LaunchOccupancy>| l.map(|l| u64::from(l.occupancy.blocks_per_sm));
    let text = |l: Option<&LaunchOccupancy>| match l {
        None => "–".to_owned(),
        Some(l) if l.occupancy.blocks_per_sm == 0 => "0 (cannot launch)".to_owned(),
        Some(l) => {
            let limits: Vec<String> = l.occupancy.limiters.iter().map(|m| m.to_string()).collect();
            format!("{} ({})", l.occupancy.blocks_per_sm, limits.join(", "))
        }
    };
    Change::with_text(number(base), number(head), false, (text(base), text(head)))
}

/// The resource deltas of a run in a few words, for a campaign's table.
pub fn resource_summary(code: &CodeEvidence) -> String {
    const KERNELS_NAMED: usize = 2;
    let view = delta_view(&code.delta, &code.occupancy, &code.runtime_files_changed);
    let mut moved: Vec<String> = Vec::new();
    for words in view.kernels.iter().filter_map(resource_words) {
        // The same for several architectures is said once.
        if !moved.contains(&words) {
            moved.push(words);
        }
    }
    let mut text = moved
        .iter()
        .take(KERNELS_NAMED)
        .cloned()
        .collect::<Vec<_>>()
        .join("; ");
    match moved.len().saturating_sub(KERNELS_NAMED) {
        0 => {}
        1 => text.push_str("; 1 more kernel"),
        n => text.push_str(&format!("; {n} more kernels")),
    }
    text
}

fn resource_words(row: &KernelRow) -> Option<String> {
    let name = sass::short_name(&row.name);
    if row.kind != "changed" {
        return Some(format!("{name} {}", row.kind));
    }
    let parts: Vec<String> = [
        ("regs", &row.registers),
        ("spills", &row.spills),
        ("smem", &row.smem),
        ("blocks/SM", &row.blocks),
    ]
    .into_iter()
    .filter(|(_, change)| change.moved())
    .map(|(what, change)| format!("{what} {}", change.text))
    .collect();
    (!parts.is_empty()).then(|| format!("{name} {}", parts.join(", ")))
}
