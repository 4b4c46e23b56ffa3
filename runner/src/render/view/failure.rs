//! How a command ended, in words.

use crate::model::Failure;
use crate::numbers;

/// The failure as a few words that fit after `head: `.
pub fn failure_text(failure: &Failure) -> String {
    match failure {
        Failure::Exit { code } => format!("exit status {code}"),
        Failure::Signal { signal } => match signal_name(*signal) {
            Some(name) => format!("ended by signal {signal} ({name})"),
            None => format!("ended by signal {signal}"),
        },
        Failure::TimedOut { limit_s } => {
            let limit = numbers::duration(limit_s.saturating_mul(1000));
            format!("ran past its limit of {limit} and was stopped")
        }
        Failure::TooMuchOutput { limit_bytes } => {
            let limit = numbers::bytes(*limit_bytes);
            format!("printed more than {limit} and was stopped")
        }
        Failure::NotStarted { reason } => format!("could not be started: {reason}"),
        Failure::NoValue => "ended well but printed no value".to_owned(),
        Failure::NotANumber { text } => format!("printed `{text}`, which is not a finite number"),
        Failure::NotPositive { value } => {
            format!("printed {}, which is not a positive number", value.0)
        }
        Failure::Impossible { message } => format!("impossible: {message}"),
        Failure::OtherUnit { found } => format!("printed the unit `{found}`, not the declared one"),
        Failure::MissingOutput { pattern } => format!("did not make `{pattern}`"),
        Failure::Harness { message } => format!("harness: {message}"),
        Failure::Device { message } => format!("device: {message}"),
        Failure::DiskFull => "the disk is full".to_owned(),
    }
}

/// The names of the signals that a crash or a limit raises; their numbers are the same on all
/// Linux architectures that CUDA runs on.
fn signal_name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        1 => "hang-up",
        2 => "interrupt",
        4 => "illegal instruction",
        6 => "abort",
        7 => "bus error",
        8 => "arithmetic error",
        9 => "killed",
        11 => "segmentation fault",
        13 => "broken pipe",
        15 => "terminated",
        24 => "CPU time limit",
        25 => "file size limit",
        _ => return None,
    })
}
