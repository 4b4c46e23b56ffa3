//! Failures and lists in words.

use crate::model::{Failure, GateEvidence, GateKind, GateOutcome};
pub(super) use crate::numbers::counted as count;

/// A failure as the second half of a sentence: `exited with status 3`.
pub fn failure_words(failure: &Failure) -> String {
    match failure {
        Failure::Exit { code } => format!("exited with status {code}"),
        Failure::Signal { signal } => match signal_name(*signal) {
            Some(name) => format!("was ended by signal {signal} ({name})"),
            None => format!("was ended by signal {signal}"),
        },
        Failure::TimedOut { limit_s } => format!("ran past its limit of {limit_s} s"),
        Failure::TooMuchOutput { limit_bytes } => {
            format!("printed more than {limit_bytes} bytes")
        }
        Failure::NotStarted { reason } => format!("could not be started: {reason}"),
        Failure::NoValue => "printed no value".to_owned(),
        Failure::NotANumber { text } => {
            format!("printed no finite number: {}", shortened(text, 120))
        }
        Failure::NotPositive { value } => format!("printed {}, which is not positive", value.0),
        Failure::Impossible { message } => format!("gave what is impossible: {message}"),
        Failure::OtherUnit { found } if found.is_empty() => "printed no unit".to_owned(),
        Failure::OtherUnit { found } => {
            format!("printed the unit `{}`", shortened(found, 40))
        }
        Failure::MissingOutput { pattern } => format!("made nothing that matches `{pattern}`"),
        Failure::Harness { message } => format!("broke off: {}", shortened(message, 240)),
        Failure::Device { message } => {
            format!(
                "reported that the device is at fault: {}",
                shortened(message, 240)
            )
        }
        Failure::DiskFull => "found the disk full".to_owned(),
    }
}

/// A gate as a sentence: `parity KD=4 on head failed: nmse is 0.1, over its limit of 0.001`.
pub fn gate_words(gate: &GateEvidence) -> String {
    let kind = match gate.kind {
        GateKind::Parity => "parity",
        GateKind::Identity => "identity",
    };
    let side = gate
        .side
        .map_or(String::new(), |side| format!(" on {side}"));
    let what = format!("{kind} {}{side}", gate.name);
    match &gate.outcome {
        GateOutcome::Passed => format!("{what} passed"),
        GateOutcome::Flaky { first } => {
            format!("{what} is flaky: passed when run again, at first: {first}")
        }
        GateOutcome::Failed { reason } => format!("{what} failed: {reason}"),
        GateOutcome::NoData { reason } => format!("{what} gave no data: {reason}"),
        GateOutcome::NotRun { reason } => format!("{what} was not run: {reason}"),
    }
}

/// Names of the signals that end programs, by their Linux numbers (the same on aarch64 and
/// x86-64).
fn signal_name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        2 => "SIGINT",
        4 => "SIGILL",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        _ => return None,
    })
}

/// The first `limit` characters, with an ellipsis where there are more; line breaks as blanks.
pub(crate) fn shortened(text: &str, limit: usize) -> String {
    let flat: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if flat.chars().count() <= limit {
        return flat;
    }
    let kept: String = flat.chars().take(limit).collect();
    format!("{kept}…")
}

/// `a`, `a and b`, `a, b and c`.
pub(super) fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_read_as_sentences() {
        let words = |f| failure_words(&f);
        assert_eq!(words(Failure::Exit { code: 3 }), "exited with status 3");
        assert_eq!(
            words(Failure::Signal { signal: 11 }),
            "was ended by signal 11 (SIGSEGV)"
        );
        assert_eq!(
            words(Failure::Signal { signal: 40 }),
            "was ended by signal 40"
        );
        assert_eq!(
            words(Failure::NotANumber {
                text: "nan\n".to_owned() + &"x".repeat(300)
            })
            .chars()
            .count(),
            "printed no finite number: ".len() + 121
        );
    }

    #[test]
    fn lists_and_counts() {
        let items = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(list(&items), "a, b and c");
        assert_eq!(list(&items[..2]), "a and b");
        assert_eq!(count(1, "pair"), "1 pair");
        assert_eq!(count(3, "pair"), "3 pairs");
    }
}
