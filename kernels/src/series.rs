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
        "ea094d2d8f95f1a78cf3a5eafb99ea1533373c80",
    "0002-r17-remap.patch" =>
        "a8e7e605d650d245834aaf4eb3c9ddbca83628f2",
    "0003-r17-revert.patch" =>
        "fc5c447e5b96a07c9c3cabc0970e157356614c02",
    "0004-r22-fold.patch" =>
        "b077cced58f61a706a66d2f3fe56fff62370da1c",
    "0005-r22-fold-revert.patch" =>
        "d7cffbf9c61fd3ae800498bda16c5da59df5b0c2",
    "0006-r22-swizzle.patch" =>
        "8755c31d3677add7086617c8ab7aae179db63674",
    "0007-baseline-nb.patch" =>
        "1f767eed1701cdb482d29549dcd4159a927b0127",
    "0008-r31-q-major.patch" =>
        "4ad757cb8e2fe1873ec0391b47cb2008aa50b22f",
    "0009-r31-revert.patch" =>
        "c6536bf98f3fdbc5ed23f051d1920a12bffea2a8",
    "0010-r31-region-split.patch" =>
        "3093581fa90fcaa8c1539235d99e641d1d2bc367",
}
