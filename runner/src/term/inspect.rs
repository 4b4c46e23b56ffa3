//! Reports and deltas as text tables. Nothing is cut off: long names wrap on a terminal and stay whole
//! in a pipe.

use comfy_table::{ContentArrangement, Table, presets};
use sass::{Delta, Kernel, Ledger, Report};

use crate::inspect::{LaunchFacts, kernel_occupancy};
use crate::model::LaunchOccupancy;

/// All kernels of a report, one a line, and a line for each file.
pub fn report(report: &Report, facts: &LaunchFacts) -> String {
    let several = report
        .kernels
        .iter()
        .any(|k| k.container != report.kernels[0].container);
    let mut table = new_table();
    let mut header = vec![
        "kernel",
        "arch",
        "regs",
        "spills st/ld",
        "stack",
        "smem",
        "barriers",
        "occupancy",
        "instructions",
    ];
    if several {
        header.push("in");
    }
    table.set_header(header);
    for kernel in &report.kernels {
        let ledger = &kernel.ledger;
        let mut row = vec![
            kernel.name.clone(),
            kernel.arch.clone(),
            ledger.registers.to_string(),
            format!("{}/{}", ledger.spill_stores, ledger.spill_loads),
            ledger.stack_bytes.to_string(),
            ledger.static_smem.to_string(),
            ledger.barriers.to_string(),
            occupancy(kernel_occupancy(kernel, facts).as_ref()),
            instructions(kernel),
        ];
        if several {
            row.push(kernel.container.clone());
        }
        table.add_row(row);
    }
    let mut text = files(report);
    if report.kernels.is_empty() {
        text.push_str("no kernels\n");
    } else {
        text.push_str(&format!("{table}\n"));
    }
    text
}

fn new_table() -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_HORIZONTAL_ONLY)
        .set_content_arrangement(ContentArrangement::Dynamic);
    table
}

fn files(report: &Report) -> String {
    report
        .files
        .iter()
        .map(|file| {
            let ptx = match file.ptx_only.as_slice() {
                [] => String::new(),
                archs => format!(", only PTX for {}", archs.join(", ")),
            };
            let cubins = match file.cubins {
                0 => "no GPU machine code".to_owned(),
                1 => "1 cubin".to_owned(),
                n => format!("{n} cubins"),
            };
            format!("{}: {cubins}{ptx}\n", file.path)
        })
        .collect()
}

fn instructions(kernel: &Kernel) -> String {
    kernel
        .census
        .as_ref()
        .map_or_else(|| "-".to_owned(), |census| census.total.to_string())
}

/// An occupancy with the launch it holds for.
fn occupancy(known: Option<&LaunchOccupancy>) -> String {
    let Some(known) = known else {
        return "-".to_owned();
    };
    let limiters: Vec<String> = known
        .occupancy
        .limiters
        .iter()
        .map(|l| l.to_string())
        .collect();
    let limiters = limiters.join(", ");
    let bound = if known.from_launch_bound {
        " (launch bound)"
    } else {
        ""
    };
    let threads = known.launch.threads;
    if known.occupancy.blocks_per_sm == 0 {
        return format!("cannot launch at {threads} threads{bound}: {limiters}");
    }
    format!(
        "{} blocks, {}/{} warps at {threads} threads{bound}; {limiters}",
        known.occupancy.blocks_per_sm,
        known.occupancy.warps_per_sm,
        known.occupancy.max_warps_per_sm,
    )
}

/// What changed, in words and figures.
pub fn delta(delta: &Delta, facts: &LaunchFacts) -> String {
    let mut text = format!(
        "{} unchanged, {} changed, {} added, {} removed, {} renamed\n",
        delta.unchanged,
        delta.changed.len(),
        delta.added.len(),
        delta.removed.len(),
        delta.renamed.len(),
    );
    for (old, new) in &delta.changed {
        text.push_str(&format!("changed {} {}\n", new.name, new.arch));
        for line in changes(old, new, facts) {
            text.push_str(&format!("  {line}\n"));
        }
    }
    for kernel in &delta.added {
        text.push_str(&format!(
            "added {} {} in {}\n",
            kernel.name, kernel.arch, kernel.container
        ));
    }
    for kernel in &delta.removed {
        text.push_str(&format!(
            "removed {} {} in {}\n",
            kernel.name, kernel.arch, kernel.container
        ));
    }
    for (old, new) in &delta.renamed {
        text.push_str(&format!(
            "renamed {} -> {} {}\n",
            old.name, new.name, new.arch
        ));
    }
    for file in &delta.host_changed {
        text.push_str(&format!("host code differs: {file}\n"));
    }
    text
}

/// How a changed kernel's figures differ; a line that says so when none does.
fn changes(old: &Kernel, new: &Kernel, facts: &LaunchFacts) -> Vec<String> {
    let mut lines: Vec<String> = figures(&old.ledger)
        .into_iter()
        .zip(figures(&new.ledger))
        .filter(|(old, new)| old != new)
        .map(|((name, old), (_, new))| format!("{name} {old} -> {new}"))
        .collect();
    let before = occupancy(kernel_occupancy(old, facts).as_ref());
    let after = occupancy(kernel_occupancy(new, facts).as_ref());
    if before != after {
        lines.push(format!("occupancy {before} -> {after}"));
    }
    if let (Some(old), Some(new)) = (&old.census, &new.census) {
        if old.total != new.total {
            lines.push(format!("instructions {} -> {}", old.total, new.total));
        }
        let opcodes = sass::census_delta(old, new);
        lines.extend(
            opcodes
                .into_iter()
                .map(|(opcode, (old, new))| format!("{opcode} {old} -> {new}")),
        );
    }
    if lines.is_empty() {
        lines.push(
            "other operands, order, data or launch attributes; resources are the same".to_owned(),
        );
    }
    lines
}

/// A ledger's figures by name.
fn figures(ledger: &Ledger) -> Vec<(&'static str, String)> {
    let bound = |threads: Option<u32>| threads.map_or_else(|| "none".to_owned(), |t| t.to_string());
    let shape = ledger
        .required_threads
        .map_or_else(|| "none".to_owned(), |[x, y, z]| format!("{x}x{y}x{z}"));
    vec![
        ("registers", ledger.registers.to_string()),
        ("spill stores", ledger.spill_stores.to_string()),
        ("spill loads", ledger.spill_loads.to_string()),
        ("stack", ledger.stack_bytes.to_string()),
        ("static shared memory", ledger.static_smem.to_string()),
        ("barriers", ledger.barriers.to_string()),
        ("launch bound", bound(ledger.max_threads)),
        ("required threads", shape),
        ("parameter bytes", ledger.param_bytes.to_string()),
        ("code bytes", ledger.code_bytes.to_string()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use sass::{Census, FileReport};

    fn kernel(name: &str, registers: u32, loads: &str) -> Kernel {
        Kernel {
            symbol: name.to_owned(),
            name: name.to_owned(),
            arch: "sm_121".to_owned(),
            container: "engine#0".to_owned(),
            ledger: Ledger {
                registers,
                max_threads: Some(256),
                ..Ledger::default()
            },
            census: Some(Census {
                total: 8,
                opcodes: [(loads.to_owned(), 8)].into(),
            }),
            code_hash: format!("{registers}{loads}"),
        }
    }

    fn side(kernels: Vec<Kernel>) -> Report {
        let file = FileReport {
            path: "engine".to_owned(),
            sha256: String::new(),
            bytes: 0,
            cubins: 1,
            host_hash: None,
            ptx_only: vec!["compute_90".to_owned()],
            ptx_hash: None,
        };
        Report {
            files: vec![file],
            kernels,
        }
    }

    #[test]
    fn shows_long_names_whole() {
        let name = format!("void mmq<{}>(float*)", "very_long_type, ".repeat(40));
        let text = report(
            &side(vec![kernel(&name, 64, "LDS.64")]),
            &LaunchFacts::default(),
        );
        assert!(text.contains(&name), "{text}");
        assert!(
            text.contains("engine: 1 cubin, only PTX for compute_90"),
            "{text}"
        );
        assert!(
            text.contains("4 blocks, 32/48 warps at 256 threads (launch bound); registers"),
            "{text}"
        );
    }

    #[test]
    fn says_what_changed() {
        let before = side(vec![kernel("mmq", 64, "LDS.64"), kernel("gone", 8, "LDG")]);
        let after = side(vec![kernel("mmq", 128, "LDS.128"), kernel("new", 9, "LDG")]);
        let text = delta(&sass::diff(&before, &after), &LaunchFacts::default());
        for line in [
            "0 unchanged, 1 changed, 1 added, 1 removed, 0 renamed",
            "changed mmq sm_121",
            "  registers 64 -> 128",
            "  LDS.64 8 -> 0",
            "  LDS.128 0 -> 8",
            "added new sm_121 in engine#0",
            "removed gone sm_121 in engine#0",
        ] {
            assert!(
                text.lines().any(|l| l == line),
                "{line} is missing from\n{text}"
            );
        }
    }

    #[test]
    fn says_so_when_there_is_nothing() {
        let empty = Report::default();
        assert_eq!(report(&empty, &LaunchFacts::default()), "no kernels\n");
    }
}
