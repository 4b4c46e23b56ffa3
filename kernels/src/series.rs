//! The patch series, one commit a patch, carried inside the program: the demo campaign's, and that
//! of the matrix products.
//!
//! The patches are in mail format, made by `git format-patch`; `series/README.md` says how to
//! change them. Applying them (with fixed identity and dates, so that the commits come out the
//! same everywhere) is the caller's.

/// One commit of the series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patch {
    /// The file's name in its folder.
    pub file: &'static str,
    /// The commit that the patch makes when the series is applied to an empty repository.
    pub commit: &'static str,
    /// The whole mail.
    pub mail: &'static str,
}

macro_rules! patches {
    ($(#[$doc:meta])* $name:ident in $folder:literal: $($file:literal => $commit:literal,)*) => {
        $(#[$doc])*
        pub const $name: &[Patch] = &[$(Patch {
            file: $file,
            commit: $commit,
            mail: include_str!(concat!("../", $folder, "/", $file)),
        },)*];
    };
}

patches! {
    /// The demo's series, in the order in which it is applied. The first patch makes the root
    /// commit.
    PATCHES in "series":
    "0001-baseline.patch" =>
        "aae4c508318c27e5586f00db79b97976132b8baa",
    "0002-r22-swizzle.patch" =>
        "7cb8e9b37853975804c1c371341a4ab8abb849a0",
    "0003-r31-q-major.patch" =>
        "02fe31ac4d23b38140c87c8641f1afd041a5681c",
    "0004-r31-revert.patch" =>
        "1d9c9504dde85cf3e9974bb4af8ab81a5f3d7acc",
    "0005-r31-region-split.patch" =>
        "91698ee8006e4e7f3f8cc164205ea5a012f9e2a4",
    "0006-docs.patch" =>
        "29b2708d96dd2e164309307f07951cd25dfde660",
}

patches! {
    /// The series of the matrix products, to be applied to a repository of its own.
    MMQ_PATCHES in "mmq":
    "0001-baseline-wide.patch" =>
        "4eaa8fd1fee2845b9b971295dbda389949027beb",
    "0002-r17-remap.patch" =>
        "ddcb7cc86487a17eecdd115169b9ac928b6ff0a7",
    "0003-r17-revert.patch" =>
        "979a188234a49d553af522d25d8bd53feb6340d9",
    "0004-r22-fold.patch" =>
        "faba07283a4849ac1d2d03e9ada3360633745616",
    "0005-r22-fold-revert.patch" =>
        "3d9993196f322ca77adbe819007206891a01d1d4",
    "0006-r22-swizzle.patch" =>
        "a5d91185992cf0c5ae7073ad0fc852e34bb417ef",
    "0007-baseline-nb.patch" =>
        "9c29e42655acfe2c41c77735d07af20b81de73f2",
    "0008-r31-q-major.patch" =>
        "bfce0ada967976c6b929d96e6a7eea1f5684890e",
    "0009-r31-revert.patch" =>
        "ba8075e784e3b0f40cd28d84dd95180098124ee3",
    "0010-r31-region-split.patch" =>
        "37dddf41d44f9c8b2d11ebe21f521259bb6b576c",
}
