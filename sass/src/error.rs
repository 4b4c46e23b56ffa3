//! The errors of this crate. Each names the file, and the offset where one is known.

use std::path::PathBuf;

/// Why a binary could not be inspected.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be read.
    #[error("could not read `{path}` to inspect it; check that it exists and may be read")]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: std::io::Error,
    },
    /// A file is damaged, or of a form that this version does not know.
    #[error(
        "`{container}` is damaged or of an unknown form at offset {offset:#x} of the file: {what}; \
         build it again, or check it with `cuobjdump -lelf`"
    )]
    Malformed {
        /// The file, with the archive member and image inside it.
        container: String,
        /// Bytes from the start of the file. For compressed images: of the compressed image.
        offset: u64,
        /// What is wrong.
        what: String,
    },
    /// The disassembler could not be run, failed, or printed something else than expected.
    #[error("`{program}` could not disassemble `{container}`: {what}")]
    Disassembler {
        /// The program.
        program: PathBuf,
        /// The cubin.
        container: String,
        /// What went wrong, and what to do.
        what: String,
        /// The underlying reason, where there is one.
        #[source]
        source: Option<std::io::Error>,
    },
}

impl Error {
    /// A [`Error::Malformed`].
    pub(crate) fn malformed(container: &str, offset: u64, what: impl Into<String>) -> Error {
        Error::Malformed {
            container: container.to_owned(),
            offset,
            what: what.into(),
        }
    }
}
