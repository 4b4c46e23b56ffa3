//! What the profiler says went wrong, in its own log. What the command printed is never read for
//! it; its last line is quoted.

use super::table::{self, not_understood};
use crate::model::{Failure, ProfileFailure};
use crate::process::Finished;

/// How the profiler says that the command failed.
const COMMAND_FAILED: &str = "The application returned an error code";

/// The most kernels that are named where none matched.
const SEEN: usize = 12;

/// The most of the profiler's error lines that are read, and of each so many characters: each is
/// searched for every metric.
const MOST_ERRORS: usize = 1_000;
const LONGEST_ERROR: usize = 1_000;

/// The metrics, of those asked for, that the profiler does not know on this chip.
pub(super) fn unknown_metrics(log: &str, asked: &[String]) -> Vec<String> {
    let complaint = "Failed to find metric";
    let complaints: Vec<String> = errors(log)
        .filter(|line| line.contains(complaint))
        // The profiler may print an expression that it made of the name.
        .map(|line| line.replace('\\', ""))
        .collect();
    let named = |metric: &str| complaints.iter().any(|line| names(line, metric));
    let exactly: Vec<String> = asked.iter().filter(|m| named(m)).cloned().collect();
    if !exactly.is_empty() {
        return exactly;
    }
    // It may also name what stands before the first point only.
    let base = |metric: &str| metric.split('.').next().unwrap_or_default().to_owned();
    let by_base = asked.iter().filter(|metric| named(&base(metric)));
    by_base.cloned().collect()
}

/// Whether a line names a metric, and not only one whose name is longer.
fn names(line: &str, metric: &str) -> bool {
    let belongs = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    line.match_indices(metric).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + metric.len()..].chars().next();
        !before.is_some_and(belongs) && !after.is_some_and(|c| belongs(c) && c != '.')
    })
}

/// Why nothing was counted; `None` where the table is there. The command is at fault only where
/// the profiler says so: when the profiler itself is killed, nothing is known of the command.
pub(super) fn failure(log: &str, finished: &Finished, pattern: &str) -> Option<ProfileFailure> {
    if errors(log).any(|line| line.contains("ERR_NVGPUCTRPERM")) {
        return Some(ProfileFailure::NotPermitted);
    }
    let own = own_errors(log);
    match &finished.failure {
        Some(Failure::Exit { .. }) if !own.is_empty() => Some(gave_up(&own)),
        Some(Failure::Exit { .. }) | None if log.trim().is_empty() => {
            Some(not_understood("", "it printed nothing"))
        }
        Some(failure) => Some(match (failure, command_status(log)) {
            (Failure::Exit { .. }, Some(code)) => command(Failure::Exit { code }, finished),
            _ => {
                let ended = format!("it {}", crate::judge::failure_words(failure));
                gave_up(&[ended.as_str()])
            }
        }),
        None if found_no_kernel(log) => Some(ProfileFailure::NoKernel {
            pattern: pattern.to_owned(),
            seen: available(log),
        }),
        // It may end well and still have profiled nothing.
        None if !own.is_empty() && !table::is_in(log) => Some(gave_up(&own)),
        None => None,
    }
}

fn found_no_kernel(log: &str) -> bool {
    let mut lines = log.lines().map(str::trim_start);
    lines.any(|line| line.starts_with("==WARNING==") && line.contains("No kernels were profiled"))
}

/// What the profiler complains of, besides that the command failed.
fn own_errors(log: &str) -> Vec<&str> {
    errors(log)
        .filter(|line| !line.contains(COMMAND_FAILED))
        .filter(|line| !line.ends_with("An error was reported by the driver"))
        .take(3)
        .collect()
}

fn gave_up(errors: &[&str]) -> ProfileFailure {
    ProfileFailure::Profiler {
        said: crate::judge::shortened(&errors.join("; "), 400),
    }
}

fn command(failure: Failure, finished: &Finished) -> ProfileFailure {
    let lines = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let last = text.lines().map(str::trim).rfind(|line| !line.is_empty());
        last.map(|line| crate::judge::shortened(line, 200))
    };
    ProfileFailure::Command {
        failure,
        said: lines(&finished.stderr).or_else(|| lines(&finished.stdout)),
    }
}

/// The status with which the profiler says that the command ended.
fn command_status(log: &str) -> Option<i32> {
    let after = errors(log).find_map(|line| line.strip_prefix(COMMAND_FAILED))?;
    after.strip_prefix(" (")?.split(')').next()?.parse().ok()
}

/// The profiler's error lines, without their mark.
fn errors(log: &str) -> impl Iterator<Item = &str> {
    let marked = log.lines().map(str::trim);
    marked
        .filter_map(|line| line.strip_prefix("==ERROR=="))
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .take(MOST_ERRORS)
        .map(|line| match line.char_indices().nth(LONGEST_ERROR) {
            Some((end, _)) => &line[..end],
            None => line,
        })
}

/// The kernels that were launched, as the profiler lists them where none matched.
fn available(log: &str) -> Vec<String> {
    let lines = log.lines().map(str::trim);
    let listed = lines
        .skip_while(|line| *line != "Available Kernels:")
        .skip(1);
    let names = listed.map_while(|line| {
        let (number, name) = line.split_once(". ")?;
        number.bytes().all(|b| b.is_ascii_digit()).then_some(name)
    });
    names
        .take(SEEN)
        .map(|name| crate::judge::shortened(name, 120))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::model::UnixMillis;

    fn finished(stdout: &str, failure: Option<Failure>) -> Finished {
        Finished {
            stdout: stdout.as_bytes().to_vec(),
            stderr: Vec::new(),
            failure,
            started_at: UnixMillis(0),
            wall: Duration::ZERO,
        }
    }

    /// What is made of a log, where the command printed `no such bench`.
    fn said(log: &str, code: i32) -> Option<ProfileFailure> {
        let exit = (code != 0).then_some(Failure::Exit { code });
        failure(log, &finished("no such bench\n", exit), "mmq")
    }

    #[test]
    fn each_way_to_fail_is_told_from_the_others() {
        let line = "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access \
                    NVIDIA GPU Performance Counters on the target device 0.";
        for code in [0, 1] {
            assert_eq!(said(line, code), Some(ProfileFailure::NotPermitted));
        }
        let none = "==WARNING== No kernels were profiled.\nAvailable Kernels:\n\
                    1. quantise(const float *)\n2. rms_norm\nbye\n";
        assert_eq!(
            said(none, 0),
            Some(ProfileFailure::NoKernel {
                pattern: "mmq".into(),
                seen: vec!["quantise(const float *)".into(), "rms_norm".into()],
            })
        );
        let crashed = "==PROF== Disconnected from process 1\n\
                       ==ERROR== The application returned an error code (3).\n\
                       ==WARNING== No kernels were profiled.\n";
        assert_eq!(
            said(crashed, 1),
            Some(ProfileFailure::Command {
                failure: Failure::Exit { code: 3 },
                said: Some("no such bench".into()),
            })
        );
        let busy = "==ERROR== An error was reported by the driver\n\n\
                    ==ERROR== Profiling failed because a driver resource was unavailable.\n\
                    ==ERROR== Failed to profile \"k\" in process 7\n\
                    ==ERROR== The application returned an error code (9).\n";
        assert_eq!(
            said(busy, 1),
            Some(ProfileFailure::Profiler {
                said: "Profiling failed because a driver resource was unavailable.; Failed to \
                       profile \"k\" in process 7"
                    .into(),
            })
        );
        assert!(matches!(
            said("==ERROR== Failed to profile \"k\" in process 7\n", 0),
            Some(ProfileFailure::Profiler { .. })
        ));
        let mended = "==ERROR== something\n\"ID\",\"Kernel Name\"\n";
        assert_eq!(said(mended, 0), None);
        assert_eq!(said("==PROF== nothing of note\n", 0), None);
        assert_eq!(said("\"ID\",\"Kernel Name\"\n", 0), None);
    }

    #[test]
    fn the_command_is_at_fault_only_where_the_profiler_says_so() {
        for ended in [
            Failure::TimedOut { limit_s: 5 },
            Failure::Signal { signal: 9 },
            Failure::TooMuchOutput { limit_bytes: 5 },
            Failure::Exit { code: 1 },
        ] {
            let connected = "==PROF== Connected to process 7\n";
            let failure = failure(connected, &finished("", Some(ended.clone())), "mmq");
            let words = crate::judge::failure_words(&ended);
            let said = format!("it {words}");
            assert_eq!(failure, Some(ProfileFailure::Profiler { said }));
        }
        for code in [0, 1] {
            let nothing = not_understood("", "it printed nothing");
            assert_eq!(said(" \n", code), Some(nothing));
        }
    }

    #[test]
    fn what_the_command_prints_is_not_read() {
        let lies = "==ERROR== ERR_NVGPUCTRPERM\n==ERROR== boom\n\
                    ==ERROR== The application returned an error code (3).\n\
                    ==WARNING== No kernels were profiled.\n";
        let table = "\"ID\",\"Kernel Name\"\n";
        assert_eq!(failure(table, &finished(lies, None), "mmq"), None);
    }

    #[test]
    fn of_very_many_errors_the_first_are_read() {
        let line = "==ERROR== Failed to find metric x\n";
        let last = "==ERROR== Failed to find metric dram__bytes.sum\n";
        let asked = ["dram__bytes.sum".to_owned()];
        let few = line.repeat(MOST_ERRORS - 1) + last;
        assert_eq!(unknown_metrics(&few, &asked), asked);
        let many = line.repeat(MOST_ERRORS) + last;
        assert_eq!(unknown_metrics(&many, &asked), [""; 0]);
    }

    #[test]
    fn metrics_that_a_chip_does_not_have_are_named_by_the_profiler() {
        let asked = [
            "dram__bytes_read.sum",
            "dram__bytes.sum",
            "sm__cycles_active.avg",
        ]
        .map(str::to_owned);
        let found = |line: &str| unknown_metrics(line, &asked);
        assert_eq!(
            found("==ERROR== Failed to find metric dram__bytes_read.sum\n"),
            ["dram__bytes_read.sum"]
        );
        assert_eq!(
            found(r"==ERROR== Failed to find metric regex:^dram__bytes\.sum$"),
            ["dram__bytes.sum"]
        );
        assert_eq!(
            found("==ERROR== Failed to find metrics dram__bytes_read.sum\n"),
            ["dram__bytes_read.sum"]
        );
        assert_eq!(
            found("==ERROR== Failed to find metric regex:^dram__bytes_read.(avg|sum)$\n"),
            ["dram__bytes_read.sum"]
        );
        assert!(found("==ERROR== Failed to find metric xdram__bytes.sum2").is_empty());
        assert!(found("dram__bytes.sum is what the program printed").is_empty());
    }
}
