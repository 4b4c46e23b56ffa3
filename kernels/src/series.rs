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
        "96bfae27db9e4165ea453cf98fbd84727c305d03",
    "0002-r17-remap.patch" =>
        "10ce8d8f1b555d6c3f2586a7d11645439b0e862c",
    "0003-r17-revert.patch" =>
        "66d59b201d6f3dc0dfe28ead5a69deba4352418d",
    "0004-r22-fold.patch" =>
        "68803a6614ee49adf03163cc2befed18d1bed3cb",
    "0005-r22-fold-revert.patch" =>
        "b1f8e5e06fe08c22fab4506975ebb3af7047638a",
    "0006-r22-swizzle.patch" =>
        "9fb5d96233de69771b77412b5e565d1001f093a3",
    "0007-baseline-nb.patch" =>
        "8fcd3201eba02f13827c375a9c3bf19847563d74",
    "0008-r31-q-major.patch" =>
        "93aaad686692d078220ab366f5c92885e4551eed",
    "0009-r31-revert.patch" =>
        "715f7296014c10b7dc18291448db6e534e1e1208",
    "0010-r31-region-split.patch" =>
        "f4ee938da9ec43d2c643e23ab54760f522915e1c",
}
