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
        "361457ed6831ced840164abd79163cb937132468",
    "0002-r17-remap.patch" =>
        "b77d9c66ef2a29ac5a76b3be69936bf10cd58972",
    "0003-r17-revert.patch" =>
        "598045560be1729a23078e74b21b3a8d64abf539",
    "0004-r22-fold.patch" =>
        "e2e18ea0fe51a7baf0b1ef3e0de2c9ea45589fa5",
    "0005-r22-fold-revert.patch" =>
        "f01865dec4ce985100c852301d715d01b33fa221",
    "0006-r22-swizzle.patch" =>
        "95a5a72fbf50dfb7f218970f2cc303dfef142da5",
    "0007-baseline-nb.patch" =>
        "b4ba6f92e60af8be90c3aa81029306ab2485beaf",
    "0008-r31-q-major.patch" =>
        "7a6a662b95093b43a9821acaa044370862bb8c4b",
    "0009-r31-revert.patch" =>
        "fa154761a7c8a756d4f8e307ecfb7c01a35d5ec0",
    "0010-r31-region-split.patch" =>
        "9c30237fb04d2280cc05c71a3feaa130935a7038",
}
