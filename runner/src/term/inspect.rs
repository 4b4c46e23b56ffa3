//! Reports and deltas of compiled kernels as text. No name is cut off: long ones wrap on a terminal
//! and stay whole in a pipe; parameters are left out where the name is clear without them.

use std::collections::{BTreeMap, BTreeSet};

use sass::{Delta, Kernel, Ledger, Report};

use super::layout::Layout;
use super::table::{figures, text, words};
use super::writer::Out;
use crate::inspect::{LaunchFacts, kernel_occupancy};
use crate::model::LaunchOccupancy;
use crate::numbers::{MISSING, count, counted};

/// What is in the files, and all kernels, one a line.
pub fn report(report: &Report, facts: &LaunchFacts, layout: Layout) -> String {
    let mut out = Out::new(layout);
    files(&mut out, report);
    if report.kernels.is_empty() {
        return out.text;
    }
    out.blank();
    let names = Names::of(report.kernels.iter());
    let first = report.kernels.first().map(|k| &k.container);
    let several = report.kernels.iter().any(|k| Some(&k.container) != first);
    let mut columns = vec![
        words("Arch"),
        figures("Regs"),
        figures("Spills").rank(4),
        figures("Stack").rank(8),
        figures("Shared").rank(3),
        figures("Barriers").rank(9),
        figures("Threads").rank(6),
        figures("Blocks/SM").rank(1),
        figures("Warps/SM").rank(5),
        words("Limited by").rank(2),
        figures("Instructions").rank(7),
        text("Kernel").whole(),
    ];
    if several {
        columns.push(text("In").whole().rank(10));
    }
    let known: Vec<_> = report
        .kernels
        .iter()
        .map(|kernel| kernel_occupancy(kernel, facts))
        .collect();
    let rows: Vec<Vec<String>> = report
        .kernels
        .iter()
        .zip(&known)
        .map(|(kernel, known)| cells(kernel, known.as_ref(), &names, several))
        .collect();
    out.table(&columns, &rows);
    let unknown = known.iter().filter(|known| known.is_none()).count();
    summary(&mut out, report, unknown);
    out.text
}

fn cells(
    kernel: &Kernel,
    known: Option<&LaunchOccupancy>,
    names: &Names,
    several: bool,
) -> Vec<String> {
    let ledger = &kernel.ledger;
    let missing = || MISSING.to_owned();
    let census = kernel.census.as_ref();
    let mut row = vec![
        kernel.arch.clone(),
        ledger.registers.to_string(),
        match (ledger.spill_stores, ledger.spill_loads) {
            (0, 0) => "0".to_owned(),
            (stores, loads) => format!("{stores} st + {loads} ld"),
        },
        count(ledger.stack_bytes.into()),
        count(ledger.static_smem.into()),
        ledger.barriers.to_string(),
        known.map_or_else(missing, |known| threads(kernel, known)),
        known.map_or_else(missing, |k| k.occupancy.blocks_per_sm.to_string()),
        known.map_or_else(missing, |k| {
            let o = &k.occupancy;
            format!("{}/{}", o.warps_per_sm, o.max_warps_per_sm)
        }),
        known.map_or_else(missing, limits),
        census.map_or_else(missing, |census| count(census.total)),
        names.of_kernel(kernel).to_owned(),
    ];
    if several {
        row.push(kernel.container.clone());
    }
    row
}

/// `256`, or `≤256` where it is the launch bound.
fn threads(kernel: &Kernel, known: &LaunchOccupancy) -> String {
    let bound = known.from_launch_bound && kernel.ledger.required_threads.is_none();
    let sign = if bound { "≤" } else { "" };
    format!("{sign}{}", known.launch.threads)
}

fn limits(known: &LaunchOccupancy) -> String {
    let all: Vec<String> = known
        .occupancy
        .limiters
        .iter()
        .map(ToString::to_string)
        .collect();
    match known.occupancy.blocks_per_sm {
        0 => format!("{}: cannot launch", all.join(", ")),
        _ => all.join(", "),
    }
}

/// What to know of a long list, and how to see less or more of it.
fn summary(out: &mut Out, report: &Report, unknown: usize) {
    let kernels = &report.kernels;
    let spilling = kernels
        .iter()
        .filter(|k| k.ledger.spill_stores + k.ledger.spill_loads > 0)
        .count();
    let registers = kernels.iter().map(|k| k.ledger.registers);
    let (least, most) = (registers.clone().min(), registers.max());
    out.blank();
    out.paragraph(
        &format!(
            "{}; registers {} to {}; {spilling} with spills. Shared memory and stack in bytes, \
             shared memory as compiled.",
            counted(kernels.len(), "kernel"),
            least.unwrap_or(0),
            most.unwrap_or(0),
        ),
        0,
    );
    if unknown > 0 {
        out.paragraph(
            &format!(
                "Occupancy of {} is not known, for want of a launch bound: give --threads N.",
                counted(unknown, "kernel")
            ),
            0,
        );
    }
}

fn files(out: &mut Out, report: &Report) {
    for file in &report.files {
        let ptx = match file.ptx_only.as_slice() {
            [] => String::new(),
            archs => format!(", only PTX for {}", archs.join(", ")),
        };
        let cubins = match file.cubins {
            0 => "no GPU machine code".to_owned(),
            n => counted(n as usize, "cubin"),
        };
        out.line(&format!("{}: {cubins}{ptx}", file.path));
    }
}

/// The names of kernels for people: without scope and parameters where no other kernel has the
/// same name then, else whole.
struct Names(BTreeMap<String, BTreeSet<String>>);

impl Names {
    fn of<'a>(kernels: impl Iterator<Item = &'a Kernel>) -> Names {
        let mut names: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for kernel in kernels {
            let short = sass::short_name(&kernel.name).to_owned();
            names.entry(short).or_default().insert(kernel.name.clone());
        }
        Names(names)
    }

    fn of_kernel<'a>(&self, kernel: &'a Kernel) -> &'a str {
        let short = sass::short_name(&kernel.name);
        match self.0.get(short).map_or(0, BTreeSet::len) {
            1 => short,
            _ => &kernel.name,
        }
    }
}

/// What the files hold, and what changed in them, in words and figures.
pub fn delta(report: &Report, delta: &Delta, facts: &LaunchFacts, layout: Layout) -> String {
    let mut out = Out::new(layout);
    files(&mut out, report);
    out.line(&format!(
        "{} unchanged, {} changed, {} added, {} removed, {} renamed",
        delta.unchanged,
        delta.changed.len(),
        delta.added.len(),
        delta.removed.len(),
        delta.renamed.len(),
    ));
    let pairs = delta.changed.iter().chain(&delta.renamed);
    let kernels = pairs.flat_map(|(old, new)| [old, new]);
    let names = Names::of(kernels.chain(&delta.added).chain(&delta.removed));
    for (old, new) in &delta.changed {
        out.line(&format!("changed {} {}", new.arch, names.of_kernel(new)));
        for line in changes(old, new, facts) {
            out.hanging("", &line, 2);
        }
    }
    for (what, kernels) in [("added", &delta.added), ("removed", &delta.removed)] {
        for kernel in kernels {
            let name = names.of_kernel(kernel);
            out.line(&format!(
                "{what} {} {name} in {}",
                kernel.arch, kernel.container
            ));
        }
    }
    for (old, new) in &delta.renamed {
        let (old, arch, new) = (names.of_kernel(old), &new.arch, names.of_kernel(new));
        out.line(&format!("renamed {arch} {old} -> {new}"));
    }
    for file in &delta.host_changed {
        out.line(&format!("host code differs: {file}"));
    }
    out.text
}

/// How a changed kernel's figures, occupancy and opcodes differ, each on a line of its own; a line
/// that says so when none does.
fn changes(old: &Kernel, new: &Kernel, facts: &LaunchFacts) -> Vec<String> {
    let mut resources: Vec<String> = ledger_figures(&old.ledger)
        .into_iter()
        .zip(ledger_figures(&new.ledger))
        .filter(|(old, new)| old != new)
        .map(|((name, old), (_, new))| format!("{name} {old} -> {new}"))
        .collect();
    let mut opcodes: Vec<String> = Vec::new();
    if let (Some(before), Some(after)) = (&old.census, &new.census) {
        if before.total != after.total {
            resources.push(format!("instructions {} -> {}", before.total, after.total));
        }
        let changed = sass::census_delta(before, after).into_iter();
        opcodes.extend(changed.map(|(opcode, (was, is))| format!("{opcode} {was} -> {is}")));
    }
    let before = occupancy(kernel_occupancy(old, facts).as_ref());
    let after = occupancy(kernel_occupancy(new, facts).as_ref());
    let occupancy = (before != after).then(|| format!("occupancy {before} -> {after}"));
    let mut lines: Vec<String> = [resources, occupancy.into_iter().collect(), opcodes]
        .into_iter()
        .filter(|parts| !parts.is_empty())
        .map(|parts| parts.join(", "))
        .collect();
    if lines.is_empty() {
        lines.push(
            "other operands, order, data or launch attributes; resources are the same".to_owned(),
        );
    }
    lines
}

/// An occupancy with the launch it holds for.
fn occupancy(known: Option<&LaunchOccupancy>) -> String {
    let Some(known) = known else {
        return "not known".to_owned();
    };
    let bound = match known.from_launch_bound {
        true => " (launch bound)",
        false => "",
    };
    format!(
        "{} blocks, {}/{} warps at {} threads{bound} ({})",
        known.occupancy.blocks_per_sm,
        known.occupancy.warps_per_sm,
        known.occupancy.max_warps_per_sm,
        known.launch.threads,
        limits(known)
    )
}

/// A ledger's figures by name.
fn ledger_figures(ledger: &Ledger) -> Vec<(&'static str, String)> {
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

    const WIDE: Layout = Layout {
        width: u16::MAX,
        color: false,
    };

    #[test]
    fn names_are_whole_and_without_parameters_where_they_are_clear() {
        let arguments = "very_long_type, ".repeat(40);
        let name = format!("void ns::mmq<{arguments}>(float*)");
        let overloads = ["scale(float*)", "scale(double*)"].map(|n| kernel(n, 8, "LDG"));
        let mut kernels = vec![kernel(&name, 64, "LDS.64")];
        kernels.extend(overloads);
        let text = report(&side(kernels), &LaunchFacts::default(), WIDE);
        let row = |end: &str| text.lines().any(|line| line.ends_with(end));
        assert!(row(&format!("  mmq<{arguments}>")), "{text}");
        assert!(row("  scale(float*)") && row("  scale(double*)"), "{text}");
        assert!(
            text.contains("engine: 1 cubin, only PTX for compute_90"),
            "{text}"
        );
        let figures = ["≤256", "4", "32/48", "registers"];
        let line = text.lines().find(|l| l.contains("mmq<")).expect("a row");
        let cells: Vec<&str> = line.split_whitespace().collect();
        assert!(figures.iter().all(|f| cells.contains(f)), "{line}");
    }

    #[test]
    fn five_hundred_kernels_fit_eighty_columns() {
        let names = (0..500).map(|i| format!("void flash_attn_ext_f16<{i}, 8>(char const*, int)"));
        let kernels = names.map(|name| kernel(&name, 128, "LDS")).collect();
        let text = report(&side(kernels), &LaunchFacts::default(), Layout::plain(80));
        let widest = text.lines().map(|l| l.chars().count()).max();
        assert!(widest <= Some(80), "{widest:?}");
        assert!(text.contains("500 kernels; registers 128 to 128; 0 with spills"));
        assert!(text.lines().count() < 2 * 500 + 20, "names wrap to shreds");
    }

    #[test]
    fn says_what_changed() {
        let before = side(vec![kernel("mmq", 64, "LDS.64"), kernel("gone", 8, "LDG")]);
        let after = side(vec![kernel("mmq", 128, "LDS.128"), kernel("new", 9, "LDG")]);
        let facts = LaunchFacts::default();
        let text = delta(&after, &sass::diff(&before, &after), &facts, WIDE);
        for line in [
            "0 unchanged, 1 changed, 1 added, 1 removed, 0 renamed",
            "changed sm_121 mmq",
            "  registers 64 -> 128",
            "  LDS.128 0 -> 8, LDS.64 8 -> 0",
            "added sm_121 new in engine#0",
            "removed sm_121 gone in engine#0",
        ] {
            assert!(
                text.lines().any(|l| l == line),
                "{line} is missing from\n{text}"
            );
        }
    }

    #[test]
    fn a_file_without_kernels_has_no_table() {
        let mut none = side(Vec::new());
        none.files[0].cubins = 0;
        none.files[0].ptx_only.clear();
        let text = report(&none, &LaunchFacts::default(), WIDE);
        assert_eq!(text, "engine: no GPU machine code\n");
    }
}
