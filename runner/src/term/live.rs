//! The live view of a run on standard error: a spinner with what is going on where that is a
//! terminal, plain lines where it is not. Results never go here; they belong on standard output.

use std::io::{IsTerminal, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use super::layout::Layout;
use super::reporter::{Line, Mark, Reporter, Update};
use crate::progress::{Event, Progress};
use crate::render::view::Tone;

/// How often the spinner turns.
const TICK: Duration = Duration::from_millis(120);

/// The live view. Clones share one display.
#[derive(Clone)]
pub struct LiveView {
    shared: Arc<Mutex<Shared>>,
}

struct Shared {
    reporter: Reporter,
    begun: Instant,
    layout: Layout,
    spinner: Option<ProgressBar>,
}

impl LiveView {
    /// A view on standard error, live where that is a terminal.
    pub fn stderr() -> LiveView {
        let layout = Layout::stderr();
        let dumb = std::env::var_os("TERM").is_some_and(|v| v == "dumb");
        let live = std::io::stderr().is_terminal() && !dumb;
        LiveView {
            shared: Arc::new(Mutex::new(Shared {
                reporter: Reporter::default(),
                begun: Instant::now(),
                layout,
                spinner: live.then(spinner),
            })),
        }
    }

    /// Where the pipeline sends its events.
    pub fn progress(&self) -> Progress {
        let view = self.clone();
        Progress::new(move |event| view.show(&event))
    }

    /// Takes the status line away; lines that were printed stay.
    pub fn finish(&self) {
        if let Some(spinner) = self.lock().spinner.take() {
            spinner.finish_and_clear();
        }
    }

    fn show(&self, event: &Event) {
        let mut shared = self.lock();
        let now = shared.begun.elapsed();
        let update = shared.reporter.step(event, now);
        shared.draw(&update);
    }

    /// A panic elsewhere must not silence the display.
    fn lock(&self) -> std::sync::MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for LiveView {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LiveView")
    }
}

fn spinner() -> ProgressBar {
    let spinner = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed:>4} {wide_msg}") {
        spinner.set_style(style);
    }
    spinner.enable_steady_tick(TICK);
    spinner
}

impl Shared {
    fn draw(&self, update: &Update) {
        for line in &update.lines {
            let only_plain = matches!(line.mark, Mark::Begun | Mark::Running);
            match &self.spinner {
                Some(_) if only_plain => {}
                Some(spinner) => spinner.println(line_text(line, self.layout)),
                // A closed standard error must not stop a run.
                None => drop(writeln!(
                    std::io::stderr(),
                    "{}",
                    line_text(line, self.layout)
                )),
            }
        }
        if let (Some(spinner), Some(status)) = (&self.spinner, &update.status) {
            if update.restart {
                spinner.reset_elapsed();
            }
            spinner.set_message(status.clone());
        }
    }
}

fn line_text(line: &Line, layout: Layout) -> String {
    let mark = match line.mark {
        Mark::Begun => layout.dim("…"),
        Mark::Done => layout.toned(Tone::Good, "✓"),
        Mark::Failed => layout.toned(Tone::Bad, "✗"),
        Mark::Running => layout.dim("·"),
        Mark::Note => layout.dim("-"),
    };
    format!("{mark} {}", line.text)
}
