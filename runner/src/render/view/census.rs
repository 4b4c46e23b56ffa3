//! What changed in the compiled code's instructions: the census' delta.

use serde::Serialize;

use super::code::Change;

/// The census' delta of one kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CensusView {
    /// Demangled name.
    pub kernel: String,
    /// Architecture.
    pub arch: String,
    /// All instructions.
    pub total: Change,
    /// Opcodes whose count changed, the largest change first.
    pub rows: Vec<CensusRow>,
}

/// One opcode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CensusRow {
    /// With its modifiers.
    pub opcode: String,
    /// Base's count.
    pub before: u64,
    /// Head's count.
    pub after: u64,
    /// The difference with its sign.
    pub difference: String,
}

/// The census' delta of every changed kernel that has a census on both sides.
pub(super) fn census_views(delta: &sass::Delta) -> Vec<CensusView> {
    delta
        .changed
        .iter()
        .filter_map(|(before, after)| census_view(before, after))
        .collect()
}

fn census_view(before: &sass::Kernel, after: &sass::Kernel) -> Option<CensusView> {
    let (old, new) = (before.census.as_ref()?, after.census.as_ref()?);
    let mut names: Vec<&String> = old.opcodes.keys().chain(new.opcodes.keys()).collect();
    names.sort();
    names.dedup();
    let counts = |name: &String| {
        let of = |census: &sass::Census| census.opcodes.get(name).copied().unwrap_or(0);
        (of(old), of(new))
    };
    let mut rows: Vec<CensusRow> = names
        .into_iter()
        .map(|name| (name, counts(name)))
        .filter(|(_, (b, a))| b != a)
        .map(|(name, (b, a))| CensusRow {
            opcode: name.clone(),
            before: b,
            after: a,
            difference: format!("{:+}", i128::from(a) - i128::from(b)),
        })
        .collect();
    rows.sort_by_key(|r| std::cmp::Reverse(r.before.abs_diff(r.after)));
    Some(CensusView {
        kernel: after.name.clone(),
        arch: after.arch.clone(),
        total: Change::new(Some(old.total), Some(new.total), true),
        rows,
    })
}
