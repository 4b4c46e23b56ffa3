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
        ProfileFailure::Profiler { said } => format!(
            "the profiler gave up: {said}; no other tool (such as DCGM) may read counters at the \
             same time"
        ),
        ProfileFailure::NotUnderstood { line, why } => format!(
            "the profiler's table cannot be read: {why}, in the line `{line}`; its whole output is \
             in the record"
        ),
    }
}
