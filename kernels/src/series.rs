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
        "de8f4e55a4d8e46f664a492eb8ca1a310606a867",
    "0002-r17-remap.patch" =>
        "e244dca8aafc1d364b3100b3e0a8b1cdf8d3dbbe",
    "0003-r17-revert.patch" =>
        "30032724d319681f0dc5d76895d6e99e4177d92e",
    "0004-r22-fold.patch" =>
        "9d01fa044bce94b321c02057d779b6b9181065aa",
    "0005-r22-fold-revert.patch" =>
        "cf6a7233e6268dc4e88bf4f51abd07816b18c2bd",
    "0006-r22-swizzle.patch" =>
        "85b27c3b9720d1d1593dcbaa4d0931534e7cd921",
    "0007-baseline-nb.patch" =>
        "9c239acfa4081784b80d98e34796209b6966861e",
    "0008-r31-q-major.patch" =>
        "7a8b306f9fcedc84d242483ec05d908d473f5467",
    "0009-r31-revert.patch" =>
        "502059fb704a7420c62438fc771771968870dade",
    "0010-r31-region-split.patch" =>
        "0886919e54ed38eb4aa684154b09a82e5a657fac",
}
