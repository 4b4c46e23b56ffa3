//! What a run tells while it goes on. The pipeline sends [`Event`]s; the terminal shows them.

use std::sync::Arc;

use crate::model::{Sample, Side, Stage};

/// One thing that happened.
#[derive(Debug, Clone)]
pub enum Event {
    /// A stage began.
    StageStarted {
        /// Which.
        stage: Stage,
        /// On which side, where it is one side's.
        side: Option<Side>,
    },
    /// A stage ended.
    StageEnded {
        /// Which.
        stage: Stage,
        /// On which side.
        side: Option<Side>,
        /// A few words: `cached`, `3 kernels changed`, `failed: …`.
        summary: String,
        /// Whether it went well.
        ok: bool,
    },
    /// Something is being fetched or unpacked; both numbers in bytes.
    Transfer {
        /// What.
        what: String,
        /// Bytes so far.
        done: u64,
        /// Bytes in all, where known.
        total: Option<u64>,
    },
    /// How many samples are planned, over all benches.
    SamplesPlanned {
        /// The most that may come, throw-aways included and failures aside.
        most: u32,
        /// Whether it is also the fewest: a fixed protocol.
        exact: bool,
    },
    /// A sample was taken and stored.
    SampleTaken {
        /// The sample.
        sample: Box<Sample>,
    },
    /// A line for the log.
    Note {
        /// The line.
        text: String,
    },
}

/// Where events go; cheap to clone.
#[derive(Clone)]
pub struct Progress(Arc<dyn Fn(Event) + Send + Sync>);

impl Progress {
    /// Sends every event to `sink`.
    pub fn new(sink: impl Fn(Event) + Send + Sync + 'static) -> Self {
        Progress(Arc::new(sink))
    }

    /// Drops every event.
    pub fn silent() -> Self {
        Progress::new(|_| {})
    }

    /// Tells one event.
    pub fn emit(&self, event: Event) {
        (self.0)(event);
    }

    /// Tells a line for the log.
    pub fn note(&self, text: impl Into<String>) {
        self.emit(Event::Note { text: text.into() });
    }
}

impl std::fmt::Debug for Progress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Progress")
    }
}
