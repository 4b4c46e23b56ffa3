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
        "6da73ee757af61911d6dc4af913a140539f8b074",
    "0002-r17-remap.patch" =>
        "823014a8718d467b9859e557a4084610ec1cc9a3",
    "0003-r17-revert.patch" =>
        "2e6892f66e5c0d10a50c669a8dad4ab7a4f31cda",
    "0004-r22-fold.patch" =>
        "03cd824612316254665c1e18efe3f2598f5c264f",
    "0005-r22-fold-revert.patch" =>
        "919c8ba859100ac0ee52e1035bda1f3128cd58d8",
    "0006-r22-swizzle.patch" =>
        "b66f9bccaf872c96700d5087edd5731a8f725e76",
    "0007-baseline-nb.patch" =>
        "4596e52de0772bebb281f1378959ceeb66d03ff8",
    "0008-r31-q-major.patch" =>
        "22e3c51942d40ec43f57a3b3df3fe270705e9d56",
    "0009-r31-revert.patch" =>
        "88ec3aece1ce1a4c9817d1e8f777d8fea98261f0",
    "0010-r31-region-split.patch" =>
        "7833000170af06155532445cd3b8f0dbac04821f",
}
