//! Whether a card's clock may be locked, and at what. Pure.

use crate::machine::{GpuProcess, NvmlError, NvmlGpu};

/// What is known about a card before anything is changed. What could not be read is `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// Whether it is split into instances.
    pub split: Option<bool>,
    /// Processes that are not ours and compute or draw on it.
    pub foreign: Option<Vec<GpuProcess>>,
    /// The clock that applications are given, MHz.
    pub application: Option<u32>,
    /// The same as the vendor set it.
    pub default_application: Option<u32>,
    /// The highest clock, MHz.
    pub highest: Option<u32>,
    /// Whether the driver says that a setting holds the clock now.
    pub held_by_setting: Option<bool>,
}

impl Facts {
    /// Reads them. `is_ours` tells the runner's own processes by their number.
    pub fn read(gpu: &NvmlGpu, is_ours: impl Fn(u32) -> bool) -> Facts {
        let processes = || -> Result<Vec<GpuProcess>, NvmlError> {
            let mut all = gpu.compute_processes()?;
            let known: Vec<u32> = all.iter().map(|process| process.pid).collect();
            match gpu.graphics_processes() {
                Ok(graphics) => {
                    all.extend(graphics.into_iter().filter(|p| !known.contains(&p.pid)))
                }
                // Cards without a display have no such list.
                Err(NvmlError::NotSupported { .. }) => {}
                Err(error) => return Err(error),
            }
            all.retain(|process| !is_ours(process.pid));
            Ok(all)
        };
        Facts {
            split: gpu.is_split().ok(),
            foreign: processes().ok(),
            application: gpu.application_sm_clock().ok(),
            default_application: gpu.default_application_sm_clock().ok(),
            highest: gpu.max_sm_clock().ok(),
            held_by_setting: gpu.is_clock_held_by_setting().ok(),
        }
    }
}

/// What to do about a card's clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// Lock it, at this many MHz.
    Lock(u32),
    /// Leave it as it is, for this reason.
    Leave(String),
}

/// Decides. `asked` is the campaign's `sm_clock`.
pub fn decide(facts: &Facts, asked: Option<u32>) -> Choice {
    match earlier_claim(facts) {
        Some(reason) => Choice::Leave(reason),
        None => clock(facts, asked),
    }
}

/// Why the card is not ours to change.
fn earlier_claim(facts: &Facts) -> Option<String> {
    if facts.split == Some(true) {
        return Some("the card is split into instances (MIG), and they share its clock".to_owned());
    }
    let Some(foreign) = &facts.foreign else {
        return Some("the driver does not say who uses the card, so it may be shared".to_owned());
    };
    if !foreign.is_empty() {
        return Some(format!(
            "others use the card, which keeps its settings: {}",
            listed(foreign)
        ));
    }
    if let (Some(own), Some(vendors)) = (facts.application, facts.default_application)
        && own != vendors
    {
        return Some(format!(
            "somebody has set the application clock to {own} MHz (the default is {vendors}), and \
             that stays; `nvidia-smi -rac` takes it away"
        ));
    }
    // The default application clock holds clocks as well where it is below the highest.
    let by_default = matches!(
        (facts.default_application, facts.highest),
        (Some(default), Some(highest)) if default < highest
    );
    if facts.held_by_setting == Some(true) && !by_default {
        return Some(
            "a setting of somebody's holds the clock already, most likely a lock, and that \
             stays; `nvidia-smi -rgc` takes it away"
                .to_owned(),
        );
    }
    None
}

fn clock(facts: &Facts, asked: Option<u32>) -> Choice {
    let advice = "give one that the card holds under load: `sm_clock = MHZ` in [machine]; \
                  `nvidia-smi --query-gpu=clocks.sm --format=csv -l 1` during a run shows what it \
                  holds";
    match (asked, facts.default_application, facts.highest) {
        (Some(asked), _, Some(highest)) if asked > highest => Choice::Leave(format!(
            "`sm_clock = {asked}` is above the card's highest clock, {highest} MHz; {advice}"
        )),
        (Some(asked), _, _) => Choice::Lock(asked),
        (None, Some(default), Some(highest)) if default < highest => Choice::Lock(default),
        (None, Some(default), Some(_)) => Choice::Leave(format!(
            "the card's default clock, {default} MHz, is its highest, which it need not hold \
             under load; {advice}"
        )),
        (None, ..) => Choice::Leave(format!(
            "the driver does not say which clock the card holds under load; {advice}"
        )),
    }
}

/// `4711 (python3, 734 MiB), 4712`.
pub(in crate::machine) fn listed(processes: &[GpuProcess]) -> String {
    let one = |process: &GpuProcess| {
        let memory = process.memory_bytes;
        let memory = memory.map(|bytes| format!("{} MiB", bytes >> 20));
        let known: Vec<String> = process.name.clone().into_iter().chain(memory).collect();
        match known.as_slice() {
            [] => format!("process {}", process.pid),
            known => format!("process {} ({})", process.pid, known.join(", ")),
        }
    };
    let all: Vec<String> = processes.iter().map(one).collect();
    all.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn idle() -> Facts {
        Facts {
            split: Some(false),
            foreign: Some(Vec::new()),
            application: Some(1590),
            default_application: Some(1590),
            highest: Some(1980),
            held_by_setting: Some(false),
        }
    }

    fn left(facts: &Facts, asked: Option<u32>) -> String {
        match decide(facts, asked) {
            Choice::Leave(reason) => reason,
            Choice::Lock(mhz) => panic!("locked at {mhz}"),
        }
    }

    #[test]
    fn a_free_card_is_locked_at_its_sustained_clock_or_as_asked() {
        assert_eq!(decide(&idle(), None), Choice::Lock(1590));
        assert_eq!(decide(&idle(), Some(1200)), Choice::Lock(1200));
        assert!(left(&idle(), Some(1981)).contains("highest clock, 1980 MHz"));
        let held = Facts {
            held_by_setting: Some(true),
            ..idle()
        };
        assert_eq!(decide(&held, None), Choice::Lock(1590), "by its default");
    }

    #[test]
    fn without_a_sustained_clock_one_must_be_given() {
        let boost = Facts {
            application: Some(1980),
            default_application: Some(1980),
            ..idle()
        };
        assert!(left(&boost, None).contains("sm_clock = MHZ"));
        let gb10 = Facts {
            application: None,
            default_application: None,
            highest: Some(2418),
            ..idle()
        };
        assert!(left(&gb10, None).contains("sm_clock = MHZ"));
        assert_eq!(decide(&gb10, Some(2000)), Choice::Lock(2000));
    }

    #[test]
    fn a_card_that_others_use_or_have_set_stays_as_it_is() {
        let process = GpuProcess {
            pid: 4711,
            name: Some("python3".into()),
            memory_bytes: Some(734 << 20),
        };
        let shared = Facts {
            foreign: Some(vec![process]),
            ..idle()
        };
        let reason = left(&shared, Some(1200));
        assert!(reason.contains("4711 (python3, 734 MiB)"), "{reason}");
        for (facts, word) in [
            (
                Facts {
                    split: Some(true),
                    ..idle()
                },
                "MIG",
            ),
            (
                Facts {
                    foreign: None,
                    ..idle()
                },
                "may be shared",
            ),
            (
                Facts {
                    application: Some(1000),
                    ..idle()
                },
                "application clock to 1000 MHz",
            ),
            (
                Facts {
                    default_application: None,
                    application: None,
                    held_by_setting: Some(true),
                    ..idle()
                },
                "a lock",
            ),
        ] {
            let reason = left(&facts, Some(1200));
            assert!(reason.contains(word), "{reason}");
        }
    }
}
