//! Whether anything in the ledger got worse.

use sass::{Kernel, Ledger};

use crate::model::{CodeEvidence, KernelOccupancy};

/// What got worse from base to head, one sentence each: registers, spills, stack, static shared
/// memory or occupancy of a kernel that changed, and spills in a kernel that is new.
pub fn regressions(code: &CodeEvidence) -> Vec<String> {
    let mut found = Vec::new();
    for (before, after) in &code.delta.changed {
        for (what, b, a) in resources(&before.ledger, &after.ledger) {
            if a > b {
                found.push(format!("{what} of {} {b} -> {a}", name(after)));
            }
        }
    }
    for kernel in &code.delta.added {
        let spills = kernel.ledger.spill_stores + kernel.ledger.spill_loads;
        if spills > 0 {
            found.push(format!(
                "{spills} spill instructions in the new {}",
                name(kernel)
            ));
        }
    }
    found.extend(code.occupancy.iter().filter_map(occupancy_loss));
    found
}

/// Kernels that changed and whose occupancy is not known on both sides.
pub(super) fn unknown_occupancy(code: &CodeEvidence) -> Vec<String> {
    let known = |kernel: &Kernel| {
        code.occupancy.iter().any(|o| {
            o.kernel == kernel.name && o.arch == kernel.arch && o.base.is_some() && o.head.is_some()
        })
    };
    let changed = code.delta.changed.iter().map(|(_, after)| after);
    changed.filter(|k| !known(k)).map(name).collect()
}

fn name(kernel: &Kernel) -> String {
    format!("{} ({})", kernel.name, kernel.arch)
}

fn resources(before: &Ledger, after: &Ledger) -> [(&'static str, u32, u32); 4] {
    [
        ("registers", before.registers, after.registers),
        (
            "spill instructions",
            before.spill_stores + before.spill_loads,
            after.spill_stores + after.spill_loads,
        ),
        ("stack bytes", before.stack_bytes, after.stack_bytes),
        (
            "static shared memory bytes",
            before.static_smem,
            after.static_smem,
        ),
    ]
}

fn occupancy_loss(kernel: &KernelOccupancy) -> Option<String> {
    let before = kernel.base.as_ref()?.occupancy.warps_per_sm;
    let after = kernel.head.as_ref()?.occupancy.warps_per_sm;
    (after < before).then(|| {
        format!(
            "resident warps per SM of {} ({}) {before} -> {after}",
            kernel.kernel, kernel.arch
        )
    })
}
