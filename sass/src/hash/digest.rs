//! A SHA-256 over fields that cannot run into each other.

use sha2::{Digest as _, Sha256};

/// Collects tagged, length-prefixed fields.
pub(crate) struct Digest(Sha256);

impl Digest {
    /// A digest for one purpose; digests of different purposes never agree.
    pub(crate) fn new(purpose: &str) -> Digest {
        let mut digest = Digest(Sha256::new());
        digest.text(purpose);
        digest
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.update(bytes);
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    pub(crate) fn number(&mut self, number: u64) {
        self.0.update(number.to_le_bytes());
    }

    pub(crate) fn hex(self) -> String {
        hex::encode(self.0.finalize())
    }
}

/// SHA-256 of `bytes`, hex.
pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}
