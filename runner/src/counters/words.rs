//! Failures of profiling as sentences, with what to do.

use crate::model::ProfileFailure;

/// What went wrong and what to do about it: `ncu was not found: …; install …`.
pub fn failure_words(failure: &ProfileFailure) -> String {
    match failure {
        ProfileFailure::Missing { detail } => format!(
            "the profiler is missing: {detail}; install Nsight Compute (it comes with CUDA) and put \
             `ncu` on PATH"
        ),
        ProfileFailure::NotPermitted => {
            "the driver does not let this user read performance counters (ERR_NVGPUCTRPERM): load \
             the driver with `options nvidia NVreg_RestrictProfilingToAdminUsers=0` in \
             /etc/modprobe.d and start the machine again, or give the runner CAP_SYS_ADMIN"
                .to_owned()
        }
        ProfileFailure::NoKernel { pattern, seen } => {
            let there = match seen.as_slice() {
                [] => String::new(),
                names => {
                    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
                    format!(" (it launched {})", names.join(", "))
                }
            };
            format!(
                "the command launched no kernel that matches `{pattern}`{there}; change `kernels` or \
                 `command` of its [[counters]]"
            )
        }
        ProfileFailure::Command { failure, said } => {
            let said = match said {
                Some(line) => format!(" (its last line: {line})"),
                None => String::new(),
            };
            format!(
                "the command {} under the profiler{said}",
                crate::judge::failure_words(failure)
            )
        }
        ProfileFailure::Profiler { said } => {
            let hint = match said.contains("driver resource") {
                true => "; no other tool (such as DCGM) may read counters at the same time",
                false => "",
            };
            format!("the profiler gave up: {said}{hint}")
        }
        ProfileFailure::NotUnderstood { line, why } => {
            let place = match line.is_empty() {
                true => String::new(),
                false => format!(", in the line `{line}`"),
            };
            format!(
                "the profiler's table cannot be read: {why}{place}; its whole output is in the \
                 record"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_tools_are_blamed_for_a_driver_resource_only() {
        let gave_up = |said: &str| {
            failure_words(&ProfileFailure::Profiler {
                said: said.to_owned(),
            })
        };
        let busy = "Profiling failed because a driver resource was unavailable.";
        assert!(gave_up(busy).contains("DCGM"));
        assert_eq!(
            gave_up("it was ended by signal 9"),
            "the profiler gave up: it was ended by signal 9"
        );
    }

    #[test]
    fn no_line_is_quoted_where_there_is_none() {
        let nothing = ProfileFailure::NotUnderstood {
            line: String::new(),
            why: "it printed nothing".to_owned(),
        };
        assert_eq!(
            failure_words(&nothing),
            "the profiler's table cannot be read: it printed nothing; its whole output is in the \
             record"
        );
    }
}
