//! The seam to the store.

use std::future::Future;

use crate::model::{ArtifactHash, BenchPlan, ReferenceSample, Sample, UnixMillis};

/// Keeps what was observed, at once: a sample is stored before the next launch.
pub trait Recorder {
    /// Stores the output of a command and gives its name in the store.
    fn log(&mut self, bytes: Vec<u8>) -> impl Future<Output = anyhow::Result<ArtifactHash>>;

    /// Stores a sample.
    fn sample(&mut self, sample: &Sample) -> impl Future<Output = anyhow::Result<()>>;

    /// Stores how a bench's samples are taken, before the first of a pair.
    fn plan(&mut self, bench: &str, plan: &BenchPlan) -> impl Future<Output = anyhow::Result<()>>;
    /// Stores a reference's sample.
    fn reference(&mut self, sample: &ReferenceSample) -> impl Future<Output = anyhow::Result<()>>;

    /// The clock; asked only where a process could not be started and so has no times itself.
    fn now(&self) -> UnixMillis;
}

/// Standard output, and after it standard error under a heading where there is any.
pub(crate) fn log_bytes(stdout: &[u8], stderr: &[u8]) -> Vec<u8> {
    let mut bytes = stdout.to_vec();
    if !stderr.is_empty() {
        if !bytes.is_empty() && !bytes.ends_with(b"\n") {
            bytes.push(b'\n');
        }
        bytes.extend_from_slice(b"--- standard error ---\n");
        bytes.extend_from_slice(stderr);
    }
    bytes
}
