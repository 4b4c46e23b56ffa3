//! How much a bundle may hold. All sizes are bytes, unpacked.

/// The manifest.
pub(super) const MANIFEST_BYTES: u64 = 8 << 20;
/// All rows together: they are read into memory.
pub(super) const ROW_BYTES: u64 = 128 << 20;
/// All rows together.
pub(super) const ROWS: u64 = 1_000_000;
/// Contents.
pub(super) const CONTENTS: usize = 100_000;
/// One content; the header's field for the size ends at 8 GiB.
pub(super) const CONTENT_BYTES: u64 = 4 << 30;
/// All of the bundle.
pub(super) const TOTAL_BYTES: u64 = 32 << 30;
/// What any bundle may unpack to, however small its file is.
pub(super) const FREE_BYTES: u64 = 256 << 20;
/// How many times its size a file may unpack to beyond that: logs and disassembly shrink to a
/// twentieth, a bomb to a ten-thousandth.
pub(super) const EXPANSION: u64 = 200;
/// The largest compression window that reading accepts, as a power of two (128 MiB): as in the
/// artefact store.
pub(super) const WINDOW_LOG_MAX: u32 = 27;
/// zstd's level, as in the artefact store.
pub(super) const LEVEL: i32 = 3;
/// What may follow the end mark: archivers fill the last record with zeros.
pub(super) const PADDING_BYTES: usize = 20 * 512;
