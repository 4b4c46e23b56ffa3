//! What NVML says about the campaign's card: whether it is there, who uses the card, whether its
//! clock can be locked. Changes nothing, so whether this user *may* lock is known only where it is
//! the superuser.

use std::path::Path;

use super::Finding;
use crate::config::Config;
use crate::machine::clocks::{Choice, Facts, Left, decide, left_behind};
use crate::machine::{NvmlGpu, drain};

const NVML: &str = "NVML";
const USERS: &str = "other users";
const CLOCKS: &str = "clocks";

/// Everything about a card.
pub(super) fn card(config: &Config, uuid: &str, locks: &Path) -> Vec<Finding> {
    let gpu = match NvmlGpu::open(uuid) {
        Ok(gpu) => gpu,
        Err(error) => {
            return vec![Finding::warn(
                NVML,
                error.to_string(),
                "runs go on without it: other users of the card, clocks and temperatures are not \
                 looked at",
            )];
        }
    };
    let mut findings = vec![Finding::ok(NVML, format!("knows {uuid}"))];
    findings.extend(users(&gpu));
    if let Left::Behind(mark) = left_behind(locks, uuid) {
        findings.push(Finding::warn(
            CLOCKS,
            format!(
                "a killed runner ({}) has left the SM clock locked at {} MHz",
                mark.what, mark.mhz
            ),
            "the next `runner run` on this card undoes it",
        ));
    }
    if config.machine.lock_clocks {
        let facts = Facts::read(&gpu, |_| false);
        let is_root = rustix::process::geteuid().is_root();
        findings.push(clocks(&decide(&facts, config.machine.sm_clock), is_root));
    }
    findings
}

fn users(gpu: &NvmlGpu) -> Option<Finding> {
    match drain::Users::read(gpu, |_| false) {
        Ok(users) => users.in_the_way(None).map(|who| {
            Finding::warn(
                USERS,
                format!("the card is in use: {who}"),
                "a run waits for it (`drain_s` in [machine]), and ends as ENV-INVALID where it \
                 does not come free",
            )
        }),
        Err(error) => Some(Finding::warn(
            USERS,
            error.to_string(),
            "runs cannot see who else uses the card",
        )),
    }
}

fn clocks(choice: &Choice, is_root: bool) -> Finding {
    match choice {
        Choice::Leave(reason) => Finding::warn(
            CLOCKS,
            format!("will not be locked: {reason}"),
            "runs go on unlocked, and their record says so (docs/machine-control.md)",
        ),
        Choice::Lock(mhz) if is_root => Finding::ok(CLOCKS, format!("will be locked at {mhz} MHz")),
        Choice::Lock(mhz) => Finding::warn(
            CLOCKS,
            format!("would be locked at {mhz} MHz; this user is not root and most likely may not"),
            "run as a user who may; otherwise runs go on unlocked, and their record says so",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Status;

    #[test]
    fn what_becomes_of_the_clock_is_said_beforehand() {
        let ok = clocks(&Choice::Lock(1500), true);
        assert_eq!(
            (ok.status, ok.found.as_str()),
            (Status::Ok, "will be locked at 1500 MHz")
        );
        assert_eq!(clocks(&Choice::Lock(1500), false).status, Status::Warn);
        let left = clocks(&Choice::Leave("others use the card".into()), true);
        assert_eq!(left.status, Status::Warn);
        assert!(left.found.ends_with("others use the card"));
    }
}
