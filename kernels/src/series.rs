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
        "4032e4788aa4c08d9a99be907890af1060d6651f",
    "0002-r17-remap.patch" =>
        "966d1c1ae366e94832cf2bc18109f15b207f91be",
    "0003-r17-revert.patch" =>
        "e193238c879fb9548e284f252a72d8a33e4f72f6",
    "0004-r22-fold.patch" =>
        "5c48c41e243a4b2f042214cda5a54a18a16cfe98",
    "0005-r22-fold-revert.patch" =>
        "e212812ec556228496183dce6f2159fce47a3f50",
    "0006-r22-swizzle.patch" =>
        "7651ad0867dc88d21ec70af58b3b820fa192a0f0",
    "0007-baseline-nb.patch" =>
        "4a839add0d29d92727606462d2469d3078dbf571",
    "0008-r31-q-major.patch" =>
        "a8180df750d02cbea42cc833234ab01ef0e0fbf0",
    "0009-r31-revert.patch" =>
        "bdab9dd174436dd1ab3d13dd0affb47a31865f6f",
    "0010-r31-region-split.patch" =>
        "26795e9b728f7089eb56316a65c32e8117d33957",
}
