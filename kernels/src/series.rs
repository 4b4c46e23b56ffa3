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
        "60c4601b8649814f34e48fe192825da476c0acb4",
    "0002-r17-remap.patch" =>
        "457270f8a072011ad1f4c5cc83097029a170381d",
    "0003-r17-revert.patch" =>
        "ab2c7702cad0463ae8995b0e31c3f12e968af143",
    "0004-r22-fold.patch" =>
        "bd704205e2f9c53fae0ec966e54580971992528f",
    "0005-r22-fold-revert.patch" =>
        "ab5e38a12d904516fdb727e2dff30a2ef0eea01a",
    "0006-r22-swizzle.patch" =>
        "3013cfa316a50703578228fea9c39e2d31e559fa",
    "0007-baseline-nb.patch" =>
        "78ddee46785072a74e325f0f0f9a6f5ef3f4734e",
    "0008-r31-q-major.patch" =>
        "f3beef423bfc6f6a8a36ec24ca8a39ff83ead15b",
    "0009-r31-revert.patch" =>
        "d75cf9de1e657691deeb76575e39db5896a5f960",
    "0010-r31-region-split.patch" =>
        "977e70f0025b3e3e1d3e1ae63a8e5240ad4d93f5",
}
