//! Reads one stream of a child up to a limit, beside everything else that goes on. Must not
//! hold more than the limit in memory, whatever the child prints.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// A stream being read.
#[derive(Debug)]
pub(super) struct Capture {
    held: Arc<Mutex<Held>>,
    task: JoinHandle<()>,
}

/// What has been read.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// The bytes, at most the limit.
    pub bytes: Vec<u8>,
    /// Whether there was more than the limit.
    pub overflowed: bool,
}

impl Capture {
    /// Starts to read `stream`; `overflow` is notified when it gives more than `limit` bytes,
    /// and reading stops there.
    pub fn start(
        stream: impl AsyncRead + Unpin + Send + 'static,
        limit: u64,
        overflow: Arc<Notify>,
    ) -> Self {
        let held = Arc::new(Mutex::new(Held::default()));
        let task = tokio::spawn(read_all(stream, limit, Arc::clone(&held), overflow));
        Capture { held, task }
    }

    /// Waits for the end of the stream, no longer than `grace`, and gives what was read.
    /// Someone may hold the other end for ever; then the rest is given up.
    pub async fn finish(mut self, grace: Duration) -> Held {
        if tokio::time::timeout(grace, &mut self.task).await.is_err() {
            self.task.abort();
        }
        std::mem::take(&mut *lock(&self.held))
    }
}

fn lock(held: &Mutex<Held>) -> std::sync::MutexGuard<'_, Held> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn read_all(
    mut stream: impl AsyncRead + Unpin,
    limit: u64,
    held: Arc<Mutex<Held>>,
    overflow: Arc<Notify>,
) {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut chunk = vec![0_u8; 64 * 1024];
    loop {
        let read = match stream.read(&mut chunk).await {
            Ok(0) | Err(_) => return,
            Ok(read) => read,
        };
        let mut held = lock(&held);
        let room = limit - held.bytes.len();
        held.bytes.extend_from_slice(&chunk[..read.min(room)]);
        if read > room {
            held.overflowed = true;
            overflow.notify_one();
            return;
        }
    }
}
