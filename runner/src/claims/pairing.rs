//! Which kernel of base a kernel of head is compared with.

use sass::Kernel;

use crate::model::PerSide;

/// The kernel of base that a kernel of head is compared with.
#[derive(Debug, Clone, Copy)]
pub(super) enum Counterpart<'a> {
    /// This one.
    One(&'a Kernel),
    /// Base has none.
    None,
    /// Base has several that differ.
    Several,
}

/// By name and architecture, in the same container if there are several; else, where the
/// pattern matches a single kernel on each side, that one: a kernel that was renamed.
pub(super) fn counterpart<'a>(
    kernel: &Kernel,
    matched: &PerSide<Vec<&'a Kernel>>,
) -> Counterpart<'a> {
    let same_arch = |k: &&&Kernel| k.arch == kernel.arch;
    let named: Vec<&'a Kernel> = matched
        .base
        .iter()
        .filter(|k| k.arch == kernel.arch && k.name == kernel.name)
        .copied()
        .collect();
    if let Some(same) = named.iter().find(|k| k.container == kernel.container) {
        return Counterpart::One(same);
    }
    if let [first, others @ ..] = named.as_slice() {
        let agree = others.iter().all(|k| k.code_hash == first.code_hash);
        return match agree {
            true => Counterpart::One(first),
            false => Counterpart::Several,
        };
    }
    let mut base = matched.base.iter().filter(same_arch);
    let alone = matched.head.iter().filter(same_arch).count() == 1;
    match (base.next(), base.next()) {
        (Some(only), None) if alone => Counterpart::One(only),
        _ => Counterpart::None,
    }
}

/// Kernels of base that no kernel of head is compared with: those that head has lost.
pub(super) fn lost<'a>(matched: &PerSide<Vec<&'a Kernel>>) -> Vec<&'a Kernel> {
    let kept: Vec<&Kernel> = matched
        .head
        .iter()
        .filter_map(|kernel| match counterpart(kernel, matched) {
            Counterpart::One(base) => Some(base),
            Counterpart::None | Counterpart::Several => None,
        })
        .collect();
    let is_kept = |kernel: &Kernel| {
        kept.iter()
            .chain(&matched.head)
            .any(|k| k.name == kernel.name && k.arch == kernel.arch)
    };
    let base = matched.base.iter().copied();
    base.filter(|kernel| !is_kept(kernel)).collect()
}
