//! What changed between two reports.

use std::collections::{BTreeMap, BTreeSet};

use crate::names::without_parameters;
use crate::{Census, Delta, FileReport, Kernel, Report};

/// Compares two reports. Kernels are matched by name and architecture, where one name occurs
/// several times (in an object file and the executable made of it) by container, then by order;
/// what is left over by code hash, as renamed, and then by the name without its parameters: a
/// kernel that takes other arguments than before has changed, and its resources are compared.
pub fn diff(before: &Report, after: &Report) -> Delta {
    let mut delta = Delta::default();
    let mut olds = by_name(before);
    let mut news = by_name(after);
    let keys: BTreeSet<_> = olds.keys().chain(news.keys()).copied().collect();
    for key in keys {
        let old = olds.remove(&key).unwrap_or_default();
        let new = news.remove(&key).unwrap_or_default();
        match_group(old, new, &mut delta);
    }
    find_renamed(&mut delta);
    find_other_parameters(&mut delta);
    delta.host_changed = host_changed(&before.files, &after.files);
    delta
}

/// How the counts of two censuses differ: opcode to (before, after), equal counts left out.
pub fn census_delta(before: &Census, after: &Census) -> BTreeMap<String, (u64, u64)> {
    let opcodes: BTreeSet<&String> = before.opcodes.keys().chain(after.opcodes.keys()).collect();
    let count = |census: &Census, opcode: &String| census.opcodes.get(opcode).copied().unwrap_or(0);
    opcodes
        .into_iter()
        .map(|opcode| {
            (
                opcode.clone(),
                (count(before, opcode), count(after, opcode)),
            )
        })
        .filter(|(_, (old, new))| old != new)
        .collect()
}

fn by_name(report: &Report) -> BTreeMap<(&str, &str), Vec<&Kernel>> {
    let mut groups: BTreeMap<_, Vec<&Kernel>> = BTreeMap::new();
    for kernel in &report.kernels {
        groups
            .entry((kernel.name.as_str(), kernel.arch.as_str()))
            .or_default()
            .push(kernel);
    }
    groups
}

/// Matches the kernels of one name and architecture.
fn match_group<'k>(mut old: Vec<&'k Kernel>, mut new: Vec<&'k Kernel>, delta: &mut Delta) {
    for rule in [same_code_and_place as Rule, same_code] {
        delta.unchanged += take_pairs(&mut old, &mut new, rule).len() as u32;
    }
    for rule in [same_place as Rule, |_, _| true] {
        let pairs = take_pairs(&mut old, &mut new, rule);
        delta
            .changed
            .extend(pairs.into_iter().map(|(a, b)| (a.clone(), b.clone())));
    }
    delta.removed.extend(old.into_iter().cloned());
    delta.added.extend(new.into_iter().cloned());
}

/// Says whether two kernels of one name belong together.
type Rule = fn(&Kernel, &Kernel) -> bool;

fn same_code(a: &Kernel, b: &Kernel) -> bool {
    a.code_hash == b.code_hash
}

fn same_place(a: &Kernel, b: &Kernel) -> bool {
    a.container == b.container
}

fn same_code_and_place(a: &Kernel, b: &Kernel) -> bool {
    same_code(a, b) && same_place(a, b)
}

/// Takes out the pairs that `rule` accepts, first come first served.
fn take_pairs<'k>(
    old: &mut Vec<&'k Kernel>,
    new: &mut Vec<&'k Kernel>,
    rule: Rule,
) -> Vec<(&'k Kernel, &'k Kernel)> {
    let mut pairs = Vec::new();
    old.retain(|a| match new.iter().position(|b| rule(a, b)) {
        Some(index) => {
            pairs.push((*a, new.remove(index)));
            false
        }
        None => true,
    });
    pairs
}

/// Turns a removed and an added kernel with the same code into a renamed one.
fn find_renamed(delta: &mut Delta) {
    let added = &mut delta.added;
    let renamed = &mut delta.renamed;
    delta.removed.retain(|old| {
        let found = added
            .iter()
            .position(|new| new.arch == old.arch && new.code_hash == old.code_hash);
        if let Some(index) = found {
            renamed.push((old.clone(), added.remove(index)));
        }
        found.is_none()
    });
}

/// Turns a removed and an added kernel of one name, with other parameters, into a changed one,
/// where there is no other that it could be.
fn find_other_parameters(delta: &mut Delta) {
    let alike = |a: &Kernel, b: &Kernel| {
        a.arch == b.arch && without_parameters(&a.name) == without_parameters(&b.name)
    };
    let alone = |kernel: &Kernel, among: &[Kernel]| {
        among.iter().filter(|other| alike(kernel, other)).count() == 1
    };
    let (mut removed, mut added) = (Vec::new(), std::mem::take(&mut delta.added));
    let olds = std::mem::take(&mut delta.removed);
    for old in &olds {
        let found = added.iter().position(|new| alike(old, new));
        match found {
            Some(index) if alone(old, &olds) && alone(old, &added) => {
                delta.changed.push((old.clone(), added.remove(index)));
            }
            _ => removed.push(old.clone()),
        }
    }
    (delta.removed, delta.added) = (removed, added);
}

/// Files of which one side has other host code or other PTX, or that only one side has; a file of
/// kernels alone is none of them: its kernels are told as added or removed.
fn host_changed(before: &[FileReport], after: &[FileReport]) -> Vec<String> {
    let kernels_alone =
        |file: &FileReport| file.cubins > 0 && file.host_hash.is_none() && file.ptx_hash.is_none();
    let index = |files: &[FileReport]| -> BTreeMap<String, _> {
        files
            .iter()
            .filter(|file| !kernels_alone(file))
            .map(|f| {
                (
                    f.path.clone(),
                    (f.host_hash.clone(), f.ptx_only.clone(), f.ptx_hash.clone()),
                )
            })
            .collect()
    };
    let (old, new) = (index(before), index(after));
    let paths: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    paths
        .into_iter()
        .filter(|path| old.get(*path) != new.get(*path))
        .cloned()
        .collect()
}
