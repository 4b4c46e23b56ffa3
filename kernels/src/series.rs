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
        "1db8fce8bdb1c902f4541af42a7a49d21af8330b",
    "0002-r22-swizzle.patch" =>
        "3b8e374b9d4547f2d8f748dd600f2260cbedc914",
    "0003-r31-q-major.patch" =>
        "88b7bf75a1c9e51451525a024561099bc9d74aeb",
    "0004-r31-revert.patch" =>
        "3dbe983d242386defdd18fa0fa7f1bc3e557d0bd",
    "0005-r31-region-split.patch" =>
        "c1b3e1b54e4a9f592a56c02ff0b674a704c3635c",
    "0006-docs.patch" =>
        "09a882e032f44735b7d09ed572c76dad92ca3d74",
}

patches! {
    /// The series of the matrix products, to be applied to a repository of its own.
    MMQ_PATCHES in "mmq":
    "0001-baseline-wide.patch" =>
        "f5c1b365d09b2e29df4ac408ba91e8b57e30b74a",
    "0002-r17-remap.patch" =>
        "e1a21bb24f3323155d4cdbf729986ffbef55d12f",
    "0003-r17-revert.patch" =>
        "125e0aade6c5bd7be2e701d8f1433e2b1b2db7e3",
    "0004-r22-fold.patch" =>
        "d4de2b97167b4d70fb748e31c6253b0a27da6c87",
    "0005-r22-fold-revert.patch" =>
        "d20e8aeffd07d8fa9b7da1c55093c44a095eaa7b",
    "0006-r22-swizzle.patch" =>
        "eac8162f203ef6b17c9d2df92ea7d7d806428665",
    "0007-baseline-nb.patch" =>
        "eb217d4b52cd75fce45cc154fc2659d1cf84868d",
    "0008-r31-q-major.patch" =>
        "febb775d249f0c3254d782e5fff0a6f400c6a65f",
    "0009-r31-revert.patch" =>
        "3767a95274aec134255f5dba29a2e586b4eee02f",
    "0010-r31-region-split.patch" =>
        "f67cc8211b3fa771c44b6c37e6591ce6233b9aef",
}
