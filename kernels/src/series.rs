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
        "57b1c0b96efbb8ad928b191e5f26ea9532a8953e",
    "0002-r17-remap.patch" =>
        "99a60a7af89b7ccc9bf858ba10ba4f6f1542dff8",
    "0003-r17-revert.patch" =>
        "e63462b405f9df3abb7586ae27b13297e76387bb",
    "0004-r22-fold.patch" =>
        "498df5e51ba7052809f747b967c2a8e3e1517d32",
    "0005-r22-fold-revert.patch" =>
        "4780b88925992cffb7b033b8f3a607448c7e8025",
    "0006-r22-swizzle.patch" =>
        "3ca78cb2cbcd651a37e6ef2242c0ce86b5c5e7c7",
    "0007-baseline-nb.patch" =>
        "f21f15c04fe8ff5c281d78283d1d7e3f2ebbfedf",
    "0008-r31-q-major.patch" =>
        "ad8baae51054b3dbc755fa9bf20f3c24c3363631",
    "0009-r31-revert.patch" =>
        "7df91d5345164764e9d785648f243ff560ac69c9",
    "0010-r31-region-split.patch" =>
        "2f968eed754d260a4c97fb88a24f3eab686978ac",
}
