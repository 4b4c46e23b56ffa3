//! Turns events into lines and a status: a state machine without a terminal and without a clock.

use std::time::Duration;

use crate::model::{Sample, SampleRole, Side, Stage};
use crate::numbers;
use crate::progress::Event;
use crate::render::text::one_line;
use crate::render::view;

/// Sample lines are at least this far apart.
const SAMPLE_LINE_EVERY: Duration = Duration::from_secs(10);

/// What follows from an event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Update {
    /// Lines that stay.
    pub lines: Vec<Line>,
    /// The line that says what is going on; `None` leaves it as it is.
    pub status: Option<String>,
    /// Whether the status' time starts anew.
    pub restart: bool,
}

/// A line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// What it is.
    pub mark: Mark,
    /// Its text, clean.
    pub text: String,
}

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// A stage began; shown where there is no live status.
    Begun,
    /// A stage went well.
    Done,
    /// A stage or sample did not.
    Failed,
    /// Samples or a transfer go on; shown where there is no live status.
    Running,
    /// For the log.
    Note,
}

struct Open {
    stage: Stage,
    side: Option<Side>,
    since: Duration,
}

/// A transfer that goes on, and the quarters of it that were told.
struct Transfer {
    what: String,
    quarters: u64,
}

/// The state between events.
#[derive(Default)]
pub struct Reporter {
    open: Vec<Open>,
    /// How many samples come; `None` where only [`Reporter::most`] is known.
    planned: Option<u32>,
    most: u32,
    taken: u32,
    planned_at: Duration,
    last: [Option<f64>; 2],
    last_bench: String,
    transfer: Option<Transfer>,
    last_sample_line: Option<Duration>,
}

impl Reporter {
    /// Takes an event at `now`, the time since the reporter began.
    pub fn step(&mut self, event: &Event, now: Duration) -> Update {
        match event {
            Event::StageStarted { stage, side } => self.begin(*stage, *side, now),
            Event::StageEnded {
                stage,
                side,
                summary,
                ok,
            } => self.end(*stage, *side, (summary, *ok), now),
            Event::Transfer { what, done, total } => self.transferred(what, *done, *total),
            Event::SamplesPlanned { most, exact } => {
                self.planned = Some(*most).filter(|_| *exact);
                self.most = *most;
                self.taken = 0;
                self.planned_at = now;
                Update {
                    status: Some(format!(
                        "{}{} planned",
                        if *exact { "" } else { "at most " },
                        numbers::counted(*most as usize, "sample")
                    )),
                    ..Update::default()
                }
            }
            Event::SampleTaken { sample } => self.sample(sample, now),
            Event::Note { text } => Update {
                lines: vec![Line {
                    mark: Mark::Note,
                    text: one_line(text),
                }],
                ..Update::default()
            },
        }
    }

    fn begin(&mut self, stage: Stage, side: Option<Side>, now: Duration) -> Update {
        self.open.push(Open {
            stage,
            side,
            since: now,
        });
        let name = stage_name(stage, side);
        Update {
            lines: vec![Line {
                mark: Mark::Begun,
                text: name.clone(),
            }],
            status: Some(name),
            restart: true,
        }
    }

    fn end(
        &mut self,
        stage: Stage,
        side: Option<Side>,
        (summary, ok): (&str, bool),
        now: Duration,
    ) -> Update {
        let at = self
            .open
            .iter()
            .rposition(|o| o.stage == stage && o.side == side);
        let since = at.map(|i| self.open.remove(i).since);
        let took = since.map_or_else(String::new, |since| {
            numbers::duration(now.saturating_sub(since).as_millis() as u64)
        });
        let name = stage_name(stage, side);
        let text = format!("{name:<14} {took:>12}  {}", one_line(summary));
        let mark = if ok { Mark::Done } else { Mark::Failed };
        let status = self
            .open
            .last()
            .map(|o| stage_name(o.stage, o.side))
            .unwrap_or_default();
        Update {
            lines: vec![Line {
                mark,
                text: text.trim_end().to_owned(),
            }],
            status: Some(status),
            restart: false,
        }
    }

    /// A line where a transfer begins and where another quarter of it is done.
    fn transferred(&mut self, what: &str, done: u64, total: Option<u64>) -> Update {
        let text = transfer_text(what, done, total);
        let quarters = total
            .filter(|total| *total > 0)
            .map_or(0, |total| (percent(done, total) / 25).min(4));
        let told = self.transfer.as_ref().filter(|told| told.what == what);
        let is_news = told.is_none_or(|told| quarters > told.quarters);
        if is_news {
            self.transfer = Some(Transfer {
                what: what.to_owned(),
                quarters,
            });
        }
        let line = is_news.then(|| Line {
            mark: Mark::Running,
            text: text.clone(),
        });
        Update {
            lines: line.into_iter().collect(),
            status: Some(text),
            restart: false,
        }
    }

    fn sample(&mut self, sample: &Sample, now: Duration) -> Update {
        self.taken += 1;
        if self.last_bench != sample.bench {
            self.last_bench.clone_from(&sample.bench);
            self.last = [None, None];
        }
        let value = sample.value.filter(|v| v.is_finite());
        self.last[usize::from(sample.side == Side::Head)] = value;
        let status = self.sample_status(sample, now);
        let mut lines = Vec::new();
        if value.is_none() {
            let why = sample
                .failure
                .as_ref()
                .map_or_else(|| "no value".to_owned(), view::failure_text);
            let text = format!(
                "{}, {}, {}: {why}",
                sample.bench,
                place(sample),
                sample.side
            );
            lines.push(Line {
                mark: Mark::Failed,
                text: one_line(&text),
            });
        }
        let due = self
            .last_sample_line
            .is_none_or(|at| now.saturating_sub(at) >= SAMPLE_LINE_EVERY);
        if due || Some(self.taken) == self.planned {
            self.last_sample_line = Some(now);
            lines.push(Line {
                mark: Mark::Running,
                text: status.clone(),
            });
        }
        Update {
            lines,
            status: Some(status),
            restart: false,
        }
    }

    fn sample_status(&self, sample: &Sample, now: Duration) -> String {
        let mut text = match self.planned {
            Some(planned) => format!("{} of {}", self.taken, planned.max(self.taken)),
            None if self.most > 0 => {
                let taken = numbers::counted(self.taken as usize, "sample");
                format!("{taken}, at most {}", self.most.max(self.taken))
            }
            None => numbers::counted(self.taken as usize, "sample"),
        };
        if let Some(left) = self.time_left(now) {
            text.push_str(&format!(
                ", {} left",
                numbers::duration(left.as_millis() as u64)
            ));
        }
        let shown = |v: Option<f64>| v.map_or_else(|| numbers::MISSING.to_owned(), numbers::value);
        text.push_str(&format!(
            "; {} {}: base {}, head {}",
            one_line(&sample.bench),
            place(sample),
            shown(self.last[0]),
            shown(self.last[1])
        ));
        text
    }

    /// From the mean time of the samples so far; nothing before the second.
    fn time_left(&self, now: Duration) -> Option<Duration> {
        let left = self
            .planned?
            .checked_sub(self.taken)
            .filter(|left| *left > 0)?;
        (self.taken >= 2).then(|| now.saturating_sub(self.planned_at) / self.taken * left)
    }
}

fn place(sample: &Sample) -> String {
    match sample.role {
        SampleRole::ThrowAway => "throw-away".to_owned(),
        SampleRole::Pair => format!("pair {}", sample.pair + 1),
    }
}

fn stage_name(stage: Stage, side: Option<Side>) -> String {
    let name = view::stage_word(stage);
    match side {
        Some(side) => format!("{name} {side}"),
        None => name.to_owned(),
    }
}

/// The share of a total that is not zero, rounded down.
fn percent(done: u64, total: u64) -> u64 {
    (u128::from(done.min(total)) * 100 / u128::from(total)) as u64
}

fn transfer_text(what: &str, done: u64, total: Option<u64>) -> String {
    let what = one_line(what);
    match total.filter(|t| *t > 0) {
        Some(total) => {
            format!(
                "{what}: {} of {}, {} %",
                numbers::bytes(done),
                numbers::bytes(total),
                percent(done, total)
            )
        }
        None => format!("{what}: {}", numbers::bytes(done)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Better, Failure};
    use crate::render::fixtures;

    fn seconds(s: u64) -> Duration {
        Duration::from_secs(s)
    }

    #[test]
    fn a_stage_is_one_line_with_its_time() {
        let mut reporter = Reporter::default();
        let side = Some(Side::Head);
        let begun = reporter.step(
            &Event::StageStarted {
                stage: Stage::Build,
                side,
            },
            seconds(1),
        );
        assert_eq!(begun.status.as_deref(), Some("build head"));
        let ended = reporter.step(
            &Event::StageEnded {
                stage: Stage::Build,
                side,
                summary: "failed: exit\u{1b}[31m status 2\nx".to_owned(),
                ok: false,
            },
            seconds(42),
        );
        let line = &ended.lines[0];
        assert_eq!(line.mark, Mark::Failed);
        assert_eq!(
            line.text,
            "build head           41.0 s  failed: exit status 2 x"
        );
        assert_eq!(ended.status.as_deref(), Some(""));
    }

    #[test]
    fn samples_are_counted_with_the_time_left() {
        let mut reporter = Reporter::default();
        reporter.step(
            &Event::SamplesPlanned {
                most: 6,
                exact: true,
            },
            seconds(0),
        );
        let taken = fixtures::bench_evidence("prefill", 1311.8, Better::Higher, &[Some(2.0), None]);
        let mut last = Update::default();
        let mut lines = Vec::new();
        for (i, sample) in taken.samples.iter().enumerate() {
            let event = Event::SampleTaken {
                sample: Box::new(sample.clone()),
            };
            last = reporter.step(&event, seconds(4 * (i as u64 + 1)));
            lines.extend(last.lines.clone());
            if i == 3 {
                assert_eq!(
                    last.status.as_deref(),
                    Some("4 of 6, 8.0 s left; prefill pair 1: base 1,306.6, head 1,332.7")
                );
            }
        }
        assert_eq!(
            taken.samples[4].failure,
            Some(Failure::Signal { signal: 11 })
        );
        assert!(lines.iter().any(|l| l.mark == Mark::Failed
            && l.text == "prefill, pair 2, head: ended by signal 11 (segmentation fault)"));
        let running = lines.iter().filter(|l| l.mark == Mark::Running).count();
        assert_eq!(
            running, 3,
            "one at first, one after ten seconds, one at the end"
        );
        assert!(
            last.status
                .is_some_and(|s| s.starts_with("6 of 6; prefill"))
        );
    }

    #[test]
    fn a_number_that_is_only_the_most_gives_no_time_left() {
        let mut reporter = Reporter::default();
        let (most, exact) = (90, false);
        let begun = reporter.step(&Event::SamplesPlanned { most, exact }, seconds(0));
        let said = begun.status.expect("a status");
        assert_eq!(said, "at most 90 samples planned");
        let taken = fixtures::bench_evidence("prefill", 1311.8, Better::Higher, &[Some(2.0)]);
        let mut last = Update::default();
        for (i, sample) in taken.samples.iter().enumerate() {
            let sample = Box::new(sample.clone());
            last = reporter.step(&Event::SampleTaken { sample }, seconds(i as u64));
        }
        assert_eq!(
            last.status.as_deref(),
            Some("4 samples, at most 90; prefill pair 1: base 1,306.6, head 1,332.7")
        );
    }

    #[test]
    fn a_transfer_is_told_at_its_start_and_at_each_quarter() {
        let mut reporter = Reporter::default();
        let mut lines = Vec::new();
        let mut tell = |what: &str, done: u64, total| {
            let what = what.to_owned();
            let update = reporter.step(&Event::Transfer { what, done, total }, seconds(1));
            assert!(update.status.is_some(), "the live status always moves");
            assert!(update.lines.iter().all(|l| l.mark == Mark::Running));
            lines.extend(update.lines.into_iter().map(|line| line.text));
        };
        for percent in 0..=100 {
            tell("CUDA", percent << 20, Some(100 << 20));
        }
        tell("CUDA", 100 << 20, Some(100 << 20));
        for done in [0, 10, 20] {
            tell("unpacking", done, None);
        }
        assert_eq!(
            lines,
            [
                "CUDA: 0 B of 100.0 MiB, 0 %",
                "CUDA: 25.0 MiB of 100.0 MiB, 25 %",
                "CUDA: 50.0 MiB of 100.0 MiB, 50 %",
                "CUDA: 75.0 MiB of 100.0 MiB, 75 %",
                "CUDA: 100.0 MiB of 100.0 MiB, 100 %",
                "unpacking: 0 B",
            ]
        );
    }

    #[test]
    fn transfers_show_their_share() {
        assert_eq!(
            transfer_text("nvcc", 1 << 20, Some(4 << 20)),
            "nvcc: 1.0 MiB of 4.0 MiB, 25 %"
        );
        assert_eq!(transfer_text("nvcc", 10, None), "nvcc: 10 B");
        assert_eq!(transfer_text("nvcc", 10, Some(0)), "nvcc: 10 B");
    }
}
